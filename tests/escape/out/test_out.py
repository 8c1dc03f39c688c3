#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""--out given a folder that matters: what a run writes there must never become the host's own code.

    VIV=build/viv tests/escape/out/test_out.py
"""

import os
import subprocess
import tempfile
import unittest

ATTACK = """
import os
for name in ({names}):
    os.makedirs(os.path.dirname("/workspace/" + name), exist_ok=True)
    with open("/workspace/" + name, "w") as file:
        file.write({text!r})
"""


class Out(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="viv-out-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def write(self, text, *names):
        os.makedirs(os.path.dirname(self.path(*names)), exist_ok=True)
        with open(self.path(*names), "w", encoding="utf-8") as file:
            file.write(text)

    def read(self, *names):
        with open(self.path(*names), encoding="utf-8") as file:
            return file.read()

    def viv(self, *words):
        return subprocess.run([os.environ["VIV"], "run", "--no-daemon", *words], cwd=self.folder,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
                              check=False)

    def attack(self, text, *names):
        listed = ", ".join(repr(name) for name in names) + ","
        self.viv("--out", ".", "-c", ATTACK.format(names=listed, text=text))

    def test_what_programs_obey_is_not_written(self):
        self.write("theirs", ".git", "config")
        self.write("theirs", ".bashrc")
        self.attack("mine", ".git/config", ".bashrc", ".ssh/authorized_keys", ".git/hooks/x")
        self.assertEqual(self.read(".git", "config"), "theirs")
        self.assertEqual(self.read(".bashrc"), "theirs")
        self.assertEqual(sorted(os.listdir(self.folder)), [".bashrc", ".git"])
        self.assertEqual(os.listdir(self.path(".git")), ["config"])

    def test_a_run_sets_no_policy_for_the_next(self):
        self.write("secret", "vault", "key")
        self.attack(f"policies:\n  default:\n    data: {self.path('vault')}\n", "vivarium.yaml")
        answer = self.viv("-c", "print(open('/data/key').read())")
        self.assertNotIn("secret", answer.stdout)

    def test_plain_results_still_come_out(self):
        self.viv("--out", "results", "-c", ATTACK.format(names="'a.txt', 'b/c.txt',", text="mine"))
        self.assertEqual(self.read("results", "a.txt"), "mine")
        self.assertEqual(self.read("results", "b", "c.txt"), "mine")


if __name__ == "__main__":
    unittest.main()
