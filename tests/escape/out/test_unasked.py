#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Whose ./vivarium.yaml viv obeys when nobody named it: it may lie in /tmp, or in somebody's tree.

    VIV=build/viv tests/escape/out/test_unasked.py
"""

import os
import subprocess
import tempfile
import unittest

NOBODY = 65534
NAME = "vivarium.yaml"


class Unasked(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="viv-unasked-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.path = os.path.join(self.folder, NAME)
        self.write(self.path, 0o644)

    @staticmethod
    def write(path, mode):
        with open(path, "w", encoding="utf-8") as file:
            file.write("policies:\n  mine: {base: default}\n")
        os.chmod(path, mode)

    def viv(self, *words, before=(), **environment):
        clean = {name: value for name, value in os.environ.items() if name != "VIVARIUM_CONFIG"}
        return subprocess.run(
            [*before, os.environ["VIV"], "run", "--no-daemon", "--policy", "mine", *words, "-c",
             "print('it ran')"], cwd=self.folder, env={**clean, **environment},
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)

    def assert_obeyed(self, done):
        self.assertEqual((done.returncode, done.stdout), (0, "it ran\n"), done.stderr)

    def assert_refused(self, done, why):
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertIn(why, done.stderr)
        self.assertIn(f"--config {NAME}", done.stderr)

    def test_ones_own_is_obeyed(self):
        self.assert_obeyed(self.viv())

    def test_one_that_others_can_change_is_refused(self):
        for mode in (0o664, 0o646, 0o620, 0o666):
            with self.subTest(oct(mode)):
                os.chmod(self.path, mode)
                self.assert_refused(self.viv(), f"{mode:04o}")
                self.assert_obeyed(self.viv("--config", NAME))
                self.assert_obeyed(self.viv(VIVARIUM_CONFIG=NAME))

    def test_anothers_is_refused(self):
        if os.geteuid() == 0:
            os.chown(self.path, NOBODY, NOBODY)
            done = self.viv()
        else:
            # To the only user of a new namespace the real root's files are a stranger's.
            os.unlink(self.path)
            os.symlink("/usr/bin/env", self.path)
            done = self.viv(before=["unshare", "--user", "--map-root-user"])
        self.assert_refused(done, f"belongs to uid {NOBODY}")

    def test_a_link_is_as_good_as_both_its_ends(self):
        target = os.path.join(self.folder, "target.yaml")
        self.write(target, 0o644)
        os.unlink(self.path)
        os.symlink("target.yaml", self.path)
        self.assert_obeyed(self.viv())
        os.chmod(target, 0o664)
        self.assert_refused(self.viv(), "0664")
        os.chmod(target, 0o644)
        if os.geteuid() == 0:
            os.lchown(self.path, NOBODY, NOBODY)
            self.assert_refused(self.viv(), f"belongs to uid {NOBODY}")

    def test_a_pipe_does_not_hang_it(self):
        os.unlink(self.path)
        os.mkfifo(self.path, 0o644)
        done = self.viv()
        self.assertEqual(done.returncode, 2)
        self.assertIn("is not a regular file", done.stderr)


if __name__ == "__main__":
    unittest.main()
