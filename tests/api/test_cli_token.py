# SPDX-License-Identifier: Apache-2.0
"""viv token: a secret that is shown once, and the lines that let it in."""

import base64
import hashlib
import os
import re
import subprocess
import unittest

from vivcli import VIV, VivCase, strict_json


class Token(VivCase):
    def environment(self):
        return {**super().environment(), "XDG_CONFIG_HOME": self.path("config")}

    def made(self, *words):
        done = self.viv("token", "new", *words, "--json")
        self.assertEqual(done.code, 0, done.err)
        self.assertEqual(done.err, b"")
        return strict_json(done.out)

    def refused(self, *words):
        done = self.viv("token", *words)
        self.assertEqual((done.code, done.out), (2, b""), done.err)
        return done.err.decode()

    def test_the_secret_is_random_and_its_sum_fits(self):
        first, second = self.made("alice"), self.made("alice")
        self.assertNotEqual(first["secret"], second["secret"])
        for made in (first, second):
            self.assertRegex(made["secret"], r"^[A-Za-z0-9_-]{43}$")
            self.assertEqual(len(base64.urlsafe_b64decode(made["secret"] + "=")), 32)
            self.assertEqual(made["sha256"], hashlib.sha256(made["secret"].encode()).hexdigest())
            self.assertEqual((made["name"], made["policies"]), ("alice", None))

    def test_no_secret_looks_like_an_option(self):
        """One in 64 would begin with a dash."""
        self.assertNotIn("-", {self.made("alice")["secret"][0] for _ in range(200)})

    def test_people_see_the_secret_once_and_the_lines(self):
        done = self.viv("token", "new", "alice", "--policies", "default,analysis")
        self.assertEqual(done.code, 0, done.err)
        text = done.out.decode()
        secret = re.search(r"^secret: ([A-Za-z0-9_-]{43})$", text, re.M).group(1)
        self.assertEqual(text.count(secret), 1)
        digest = hashlib.sha256(secret.encode()).hexdigest()
        self.assertTrue(text.endswith(f"tokens:\n  - name: alice\n    sha256: {digest}\n"
                                      "    policies: [default, analysis]\n"), text)

    def test_the_lines_are_a_config_that_loads(self):
        # Names that YAML could take for something else than a text.
        for name in ("alice", "123", "1.5", "true", "null", "0x1f", "1e3", "no", "a-b_c.d"):
            lines = "tokens:\n" + self.made(name, "--policies", "default")["config"]
            self.write("new.yaml", lines)
            told = self.refused("new", name, "--config", "new.yaml")
            self.assertIn(f"there is a token {name} in new.yaml", told)

    def test_a_second_token_goes_below_the_first(self):
        self.write("vivarium.yaml", "tokens:\n" + self.made("alice")["config"])
        text = self.viv("token", "new", "bob").out.decode()
        self.assertNotIn("tokens:\n", text)
        with open(self.path("vivarium.yaml"), "a", encoding="ascii") as file:
            file.write(text[text.index("  - name: bob"):])
        self.assertIn("there is a token bob", self.refused("new", "bob"))

    def test_nothing_is_written(self):
        def listing():
            return sorted(os.path.join(folder, name) for folder, folders, names
                          in os.walk(self.folder) for name in folders + names)
        before = listing()
        self.made("alice")
        self.viv("token", "new", "alice")
        self.assertEqual(listing(), before)

    def test_bad_usage(self):
        for words in ((), ("new",), ("old", "alice"), ("new", "alice", "bob"), ("list",)):
            self.assertIn("usage: viv token new NAME", self.refused(*words))
        self.assertIn("is not a name", self.refused("new", "a b"))
        self.assertIn("is not a name", self.refused("new", "x" * 33))
        self.assertIn("is not a name", self.refused("new", ""))

    def test_a_policy_must_be_there(self):
        self.assertIn("there is no policy nope; there are: default,",
                      self.refused("new", "alice", "--policies", "default,nope"))
        for text in ("", ",", "default,", ",default", "x" * 40):
            self.assertIn("is not a list of names", self.refused("new", "a", "--policies", text))
        self.write("vivarium.yaml", "policies: {tight: {pids: 4}}\n")
        made = self.made("alice", "--policies", "tight,tight")
        self.assertEqual(made["policies"], ["tight"])
        self.assertIn("    policies: [tight]\n", made["config"])

    def test_a_broken_config_is_told(self):
        self.write("vivarium.yaml", "tokns: []\n")
        self.assertIn("vivarium.yaml:1: unknown key tokns", self.refused("new", "alice"))

    def test_a_secret_that_cannot_be_shown_is_a_failure(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([VIV, "token", "new", "alice"], stdout=full,
                                  stderr=subprocess.PIPE, cwd=self.folder,
                                  env=self.environment(), check=False)
        self.assertEqual(done.returncode, 125, done.stderr)
        self.assertIn(b"cannot write the secret", done.stderr)


if __name__ == "__main__":
    unittest.main()
