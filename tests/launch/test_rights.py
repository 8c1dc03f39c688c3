# SPDX-License-Identifier: Apache-2.0
"""A client of viv-launch gets nothing that it could not have had itself."""

import os
import shutil
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from launcher import ATTACHED, Staying

NOBODY = 65534


class RightsTest(unittest.TestCase):
    """As root, launch serves somebody who is not: then the rights of both differ."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="viv-rights-")
        self.addCleanup(shutil.rmtree, self.folder)
        os.chmod(self.folder, 0o711)
        self.owner = NOBODY if os.geteuid() == 0 else os.geteuid()

    def client(self):
        path = os.path.join(self.folder, "launch.sock")
        staying = Staying(path, owner=self.owner)
        self.addCleanup(staying.close)
        os.chmod(path, 0o777)
        before = os.geteuid(), os.getegid(), os.getgroups()
        try:
            if before[0] == 0:
                os.setgroups([])
                os.setegid(NOBODY)
                os.seteuid(NOBODY)
            client = staying.connect()  # the kernel notes who we are now
        finally:
            if before[0] == 0:
                os.seteuid(before[0])
                os.setegid(before[1])
                os.setgroups(before[2])
        self.addCleanup(client.socket.close)
        self.assertEqual(client.hello.error, "")
        self.assertEqual(client.event().type, ATTACHED)
        return client

    def tree(self, name, mode):
        """A folder that all may read, in one of this mode."""
        inner = os.path.join(self.folder, name, "inner")
        os.makedirs(inner)
        os.chmod(inner, 0o755)
        os.chmod(os.path.dirname(inner), mode)
        self.addCleanup(os.chmod, os.path.dirname(inner), 0o700)
        return inner

    def test_what_lies_behind_a_closed_folder_cannot_be_bound(self):
        client = self.client()
        for mode in (0o000, 0o700, 0o750) if os.geteuid() == 0 else (0o000,):
            with self.subTest(mode=oct(mode)):
                made = client.root(0, [(self.tree(f"closed{mode}", mode), "/data")])
                self.assertIn("Permission denied", made.error)

    def test_what_the_client_may_enter_can_be_bound(self):
        self.assertEqual(self.client().root(0, [(self.tree("open", 0o711), "/data")]).error, "")

    def test_no_link_leads_out_of_the_tree_that_is_bound(self):
        client = self.client()
        for target in (f"/proc/{os.getpid()}/root", "/proc/self/root", "/proc/1/cwd"):
            self.assertNotEqual(client.root(0, [(target, "/data")]).error, "")


if __name__ == "__main__":
    unittest.main()
