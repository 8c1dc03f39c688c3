# SPDX-License-Identifier: Apache-2.0
"""Where a daemon keeps its sockets and its state."""

import os
import unittest

from case import BARE, Case, wait_for


class Places(Case):
    def test_a_second_daemon_beside_the_first_needs_only_a_folder(self):
        first = self.serve(BARE)
        same = BARE + f"runtime_dir: {first.path('run')}\nstate_dir: {first.path('state')}\n"
        second = self.serve(same, flags=["--dir", "."], beside=[first])
        self.assertEqual(second.run("print(2)")["stdout"], "2\n")
        self.assertEqual(first.run("print(1)")["stdout"], "1\n")
        for daemon in (second, first):
            self.assertEqual(sorted(os.listdir(daemon.path("run"))), sorted(os.listdir(first.path("run"))))
            self.assertTrue(os.path.exists(daemon.path("state", "audit.jsonl")))
        second.stop()
        self.assertEqual(first.run("print(3)")["stdout"], "3\n")
        first.stop()

    def test_an_audit_file_of_the_config_stays_where_it_is(self):
        daemon = self.serve(BARE, start=False, flags=["--dir", "."])
        os.mkdir(daemon.path("kept"))
        os.chmod(daemon.path("kept"), 0o777)
        daemon.write_config(BARE + f"audit: {{file: {daemon.path('kept', 'a.jsonl')}}}\n")
        daemon.start()
        daemon.run("1")
        wait_for(lambda: os.path.getsize(daemon.path("kept", "a.jsonl")) > 0, what="a line in the file")
        self.assertFalse(os.path.exists(daemon.path("state", "audit.jsonl")))
        daemon.stop()

    def test_a_folder_that_is_closed_to_the_daemons_user_is_refused_by_name(self):
        daemon = self.serve(BARE, start=False)
        closed = daemon.path("closed")
        os.mkdir(closed, 0o700)
        daemon.write_config(BARE + f"runtime_dir: {closed}/run\n")
        if os.geteuid() != 0:  # it stays the user that it is, and can enter
            daemon.start()
            daemon.stop()
            return
        process = daemon.spawn()
        self.assertNotEqual(process.wait(60), 0)
        self.assertIn(f"cannot enter {closed}; chmod o+x {closed}, or set another runtime_dir", daemon.log())


if __name__ == "__main__":
    unittest.main()
