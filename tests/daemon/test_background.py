# SPDX-License-Identifier: Apache-2.0
"""Processes that runs leave running are bounded: by the policy, not by the runner's word."""

from case import BARE, DaemonCase, has_freezer, wait_for

LEFT = """
import os, subprocess
child = subprocess.Popen(['sleep', '1000'])
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execvp('sleep', ['sleep', '1001'])
    os._exit(0)
os.wait()
"""
# A process that is another one all the time.
CHAIN = """
import os, time
if os.fork() == 0:
    os.setsid()
    while os.fork() == 0 or time.sleep(0.001):
        pass
    os._exit(0)
"""
SPIN = "import threading\nspinner = threading.Thread(target=lambda: [0 for _ in iter(int, 1)], daemon=True)\nspinner.start()"


class Case(DaemonCase):
    def sleepers(self):
        return [pid for pid, name in self.daemon.processes().items() if name == "sleep"]

    def is_frozen(self, session):
        return self.daemon.state(session)["state"] == "frozen"


class RestTest(Case):
    """Where there is a freezer all of the session stands after its rest."""

    CONFIG = BARE + "sessions: {freeze_ms: 100}\npolicies: {short: {background: 400ms}, long: {background: 1h}}\n"

    def setUp(self):
        if not has_freezer(self.daemon):
            self.skipTest("needs root: an ordinary user has no freezer here")

    def test_processes_that_were_left_are_frozen_when_their_time_is_over(self):
        session = self.new_session(policy="short")
        self.daemon.run(LEFT, session)
        wait_for(lambda: self.is_frozen(session), what="the freezing")
        self.assertEqual(len(self.sleepers()), 2)
        self.assertTrue(self.daemon.value("child.poll() is None", session))

    def test_before_that_they_go_on(self):
        busy = self.new_session(policy="long")
        self.daemon.run(LEFT, busy)
        free = self.new_session(policy="long")
        self.daemon.run("1", free)
        wait_for(lambda: self.is_frozen(free), what="the freezing")
        self.assertFalse(self.is_frozen(busy))

    def test_what_a_runner_says_keeps_nothing_awake(self):
        session = self.new_session(policy="long")
        done = '{"kind": "ok", "exit_code": 0, "message": "", "remedy": "", "blocked": "child process 7 (x)"}'
        self.daemon.run(f"import _vivarium\n_vivarium.send(5, 0, {done.encode()!r})", session)
        wait_for(lambda: self.is_frozen(session), what="the freezing")


class EndTest(Case):
    """Where nothing is frozen what is no interpreter is ended."""

    CONFIG = BARE + "sessions: {freeze_ms: 0}\npolicies: {none: {background: 0s}, short: {background: 300ms}}\n"

    def test_processes_end_with_their_run(self):
        session = self.new_session(policy="none")
        self.daemon.run(LEFT + "x = 5", session)
        wait_for(lambda: not self.sleepers(), what="the end of what was left")
        self.assertEqual(self.daemon.value("x, child.wait()", session), [5, -9])

    def test_a_process_that_is_another_one_all_the_time_ends(self):
        session = self.new_session(policy="none")
        before = set(self.daemon.processes())
        self.daemon.run(CHAIN, session, kind=None)

        def is_over():
            mine = [pid for pid, name in self.daemon.processes().items() if name == "python3" and pid not in before]
            return self.daemon.state(session)["state"] == "lost" or len(mine) <= 2

        wait_for(is_over, what="the end of the chain")

    def test_they_go_on_while_a_branch_is_at_work(self):
        session = self.new_session(policy="short")
        self.daemon.run("x = 1", session)
        branch = self.daemon.ask("POST", f"/v1/sessions/{session}/fork", {})["sessions"][0]["id"]
        self.addCleanup(self.daemon.request, "DELETE", f"/v1/sessions/{branch}")
        self.daemon.run(LEFT, session)
        run = self.daemon.start_run("input()", branch, stdin="live", timeout_ms=60000)
        quiet = self.new_session(policy="short")
        self.daemon.run(LEFT, quiet)
        wait_for(lambda: len(self.sleepers()) == 2, what="the end of what the quiet one left")
        self.daemon.ask("POST", f"/v1/runs/{run}/stdin", {"text": "\n"})
        wait_for(lambda: not self.sleepers(), what="the end of the rest")

    def test_a_thread_that_computes_on_costs_the_head(self):
        session = self.new_session(policy="short")
        self.daemon.run("x = 1", session)
        self.daemon.run("x = 2\n" + SPIN, session)
        wait_for(lambda: f"session={session} head=" in self.daemon.log(), what="the end of the head")
        self.assertEqual(self.daemon.value("x", session), 1)
