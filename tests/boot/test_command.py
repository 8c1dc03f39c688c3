# SPDX-License-Identifier: Apache-2.0
"""Runs of a shell command."""

import os
import unittest

from harness import Runner


class Command(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.runner = Runner()

    @classmethod
    def tearDownClass(cls):
        cls.runner.close()

    def run_it(self, command, kind="ok", exit_code=0, **meta):
        outcome = self.runner.run(command=command, **meta)
        self.assertEqual((outcome.done["kind"], outcome.done["exit_code"]), (kind, exit_code))
        return outcome

    def test_its_output_is_the_runs(self):
        outcome = self.run_it("echo out; echo err >&2")
        self.assertEqual((outcome.stdout, outcome.stderr), (b"out\n", b"err\n"))

    def test_its_exit_code_is_told(self):
        self.run_it("exit 3", "exit", 3)
        self.run_it("false", "exit", 1)

    def test_a_signal_is_128_and_its_number(self):
        outcome = self.run_it("kill -9 $$", "exit", 137)
        self.assertIn("SIGKILL", outcome.done["message"])

    def test_stdin_env_and_folder_are_its_own(self):
        where = self.runner.path("sub")
        outcome = self.run_it("cat; echo $K; pwd", stdin="in\n", env={"K": "v"}, cwd=where)
        self.assertEqual(outcome.text, f"in\nv\n{where}\n")

    def test_files_it_makes_are_told(self):
        self.assertEqual(len(self.run_it("echo x > made.txt").of("file")), 1)

    def test_a_broken_pipe_is_silent_as_in_a_shell(self):
        self.assertEqual(self.run_it("yes | head -1").stderr, b"")

    def test_a_very_long_command_runs(self):
        outcome = self.run_it("echo start #" + "x" * 200000 + "\necho end")
        self.assertEqual(outcome.text, "start\nend\n")

    def test_a_nul_byte_is_refused(self):
        self.run_it(b"echo \0", "exception", 1)

    def test_an_interrupt_reaches_what_the_shell_waits_for(self):
        outcome = self.runner.run(command="mkfifo go; (echo > go; exec sleep 1000); echo over",
                                  on_start=self._interrupt_when_started)
        self.assertEqual((outcome.done["kind"], outcome.done["exit_code"]), ("interrupted", 130))

    @staticmethod
    def _interrupt_when_started(runner):
        while not os.path.exists(runner.path("go")):
            os.sched_yield()
        with open(runner.path("go"), "rb") as pipe:
            pipe.read()  # returns when the shell has written
        runner.interrupt()


if __name__ == "__main__":
    unittest.main()
