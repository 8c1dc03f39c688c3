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

# Entries that a runner would never send: empty files, each at the end of a path of its own through thousands
# of folders, and some that are just not too deep.
DEEP = """
import struct, _vivarium
for number in range(40):
    for depth in (2000, 60):
        path = b"/workspace/%d" % number + b"/d" * depth + b"/f"
        _vivarium.send(4, 4, struct.pack("<I", len(path)) + path)
"""


class Out(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="viv-out-")
        # Not shutil: it gives up on what the deep attack leaves where it succeeds.
        self.addCleanup(subprocess.run, ["rm", "-rf", "--", self.folder], check=True)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def write(self, text, *names):
        os.makedirs(os.path.dirname(self.path(*names)), exist_ok=True)
        with open(self.path(*names), "w", encoding="utf-8") as file:
            file.write(text)

    def read(self, *names):
        with open(self.path(*names), encoding="utf-8") as file:
            return file.read()

    def viv(self, *words, cwd=None, home="/nonexistent"):
        return subprocess.run([os.environ["VIV"], "run", "--no-daemon", *words],
                              cwd=cwd or self.folder, env={**os.environ, "HOME": home},
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
                              check=False)

    def attack(self, text, *names, out=".", flags=()):
        listed = ", ".join(repr(name) for name in names) + ","
        done = self.viv("--out", out, *flags, "-c", ATTACK.format(names=listed, text=text))
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stderr

    def assert_not_written(self, told, name, why):
        line = [line for line in told.splitlines() if f"not written: /workspace/{name}: " in line]
        self.assertEqual(len(line), 1, told)
        self.assertIn(why, line[0])

    def test_what_programs_obey_is_not_written(self):
        self.write("theirs", ".git", "config")
        self.write("theirs", ".bashrc")
        told = self.attack("mine", ".git/config", ".bashrc", ".ssh/authorized_keys", ".git/hooks/x")
        self.assertEqual(self.read(".git", "config"), "theirs")
        self.assertEqual(self.read(".bashrc"), "theirs")
        self.assertEqual(sorted(os.listdir(self.folder)), [".bashrc", ".git"])
        self.assertEqual(os.listdir(self.path(".git")), ["config"])
        for name in (".git/config", ".bashrc", ".ssh/authorized_keys", ".git/hooks/x"):
            self.assert_not_written(told, name, "begin with a dot")

    def test_a_hidden_file_is_told_and_the_others_come(self):
        told = self.attack("mine", ".hidden", "a/.hidden", "a/shown", out="results")
        self.assert_not_written(told, ".hidden", "begin with a dot")
        self.assert_not_written(told, "a/.hidden", "begin with a dot")
        self.assertNotIn("overwrite", told)
        self.assertIn("viv run: 1 file in results", told)
        self.assertEqual(os.listdir(self.path("results")), ["a"])
        self.assertEqual(os.listdir(self.path("results", "a")), ["shown"])

    def test_a_run_sets_no_policy_for_the_next(self):
        self.write("secret", "vault", "key")
        told = self.attack(f"policies:\n  default:\n    data: {self.path('vault')}\n",
                           "vivarium.yaml", "VIVARIUM.yaml", "vault/vivarium.yaml")
        self.assert_not_written(told, "vivarium.yaml", "viv would obey it")
        self.assertEqual(os.listdir(self.folder), ["vault"])
        self.assertEqual(os.listdir(self.path("vault")), ["key"])
        answer = self.viv("-c", "print(open('/data/key').read())")
        self.assertNotIn("secret", answer.stdout)

    def test_the_folder_becomes_no_repository(self):
        """A folder with HEAD, config, objects and refs is one to git, without any dot."""
        told = self.attack("ref: refs/heads/x\n", "HEAD", "config", "objects/x", "refs/x", out="new")
        self.assert_not_written(told, "HEAD", "git")
        self.assertEqual(sorted(os.listdir(self.path("new"))), ["config", "objects", "refs"])

    def test_what_is_there_is_kept(self):
        self.write("theirs", "Makefile")
        self.write("theirs", "src", "main.py")
        told = self.attack("mine", "Makefile", "src/main.py", "src/new.py")
        self.assertEqual(self.read("Makefile"), "theirs")
        self.assertEqual(self.read("src", "main.py"), "theirs")
        self.assertEqual(self.read("src", "new.py"), "mine")
        self.assert_not_written(told, "Makefile", "taken")
        self.assert_not_written(told, "src/main.py", "taken")
        self.assertIn("remedy: choose an empty or new folder\n", told)

    def test_a_second_time_needs_overwrite(self):
        self.attack("first", "a.txt", "b/c.txt", out="results")
        told = self.attack("second", "a.txt", "b/c.txt", "d.txt", out="results")
        self.assertEqual(self.read("results", "a.txt"), "first")
        self.assertEqual(self.read("results", "d.txt"), "second")
        self.assertIn("remedy: choose an empty or new folder, or add --overwrite\n", told)
        told = self.attack("third", "a.txt", "b/c.txt", "d.txt", out="results",
                           flags=["--overwrite"])
        self.assertNotIn("not written", told)
        for names in (("a.txt",), ("b", "c.txt"), ("d.txt",)):
            self.assertEqual(self.read("results", *names), "third")

    def test_overwrite_replaces_nothing_but_regular_files(self):
        self.write("theirs", "victim")
        self.write("theirs", "results", ".bashrc")
        self.write("theirs", "results", "vivarium.yaml")
        os.symlink("../victim", self.path("results", "link"))
        told = self.attack("mine", ".bashrc", "vivarium.yaml", "link", out="results",
                           flags=["--overwrite"])
        self.assertEqual(told.count("not written"), 3)
        self.assertEqual(self.read("results", ".bashrc"), "theirs")
        self.assertEqual(self.read("results", "vivarium.yaml"), "theirs")
        self.assertEqual(self.read("victim"), "theirs")
        self.assertTrue(os.path.islink(self.path("results", "link")))

    def test_overwrite_is_refused_where_people_live(self):
        home, below = self.path("home", "me"), self.path("home", "me", "work")
        os.makedirs(below)
        os.symlink(below, self.path("alias"))
        for out in (".", "..", "/", below, home, self.path("home"), self.path("alias")):
            with self.subTest(out):
                done = self.viv("--overwrite", "--out", out, "-c", "1", cwd=below, home=home)
                self.assertEqual(done.returncode, 2)
                self.assertIn("--overwrite: ", done.stderr)
        done = self.viv("--overwrite", "-c", "1")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--out", done.stderr)

    def test_many_refusals_are_counted(self):
        names = [f"f{number:03}" for number in range(50)]
        self.attack("first", *names, out="results")
        told = self.attack("second", *names, out="results")
        self.assertEqual(told.count("viv run: not written: /workspace/"), 20)
        self.assertIn("viv run: not written: 30 more\n", told)

    def test_folders_do_not_fill_the_disk(self):
        self.viv("--out", "results", "-c", DEEP)
        made = subprocess.run(["find", self.path("results"), "-mindepth", "1", "-type", "d"],
                              capture_output=True, check=True).stdout.count(b"\n")
        # Those of 62 names: a folder for each but the last. The deep ones leave none.
        self.assertEqual(made, 40 * 61)

    def test_folders_count_as_disk(self):
        self.write("policies:\n  small: {base: default, disk: 64KiB}\n", "small.yaml")
        self.viv("--config", "small.yaml", "--policy", "small", "--out", "results", "-c", DEEP)
        made = subprocess.run(["find", self.path("results"), "-mindepth", "1", "-type", "d"],
                              capture_output=True, check=True).stdout.count(b"\n")
        self.assertTrue(0 < made <= (64 + 1024) // 4, made)

    def test_plain_results_still_come_out(self):
        self.attack("mine", "a.txt", "b/c.txt", out="results")
        self.assertEqual(self.read("results", "a.txt"), "mine")
        self.assertEqual(self.read("results", "b", "c.txt"), "mine")


if __name__ == "__main__":
    unittest.main()
