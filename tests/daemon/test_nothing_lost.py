# SPDX-License-Identifier: Apache-2.0
"""Nothing is lost when `viv serve` or viv-launch is killed."""

import concurrent.futures
import http.client
import os
import random
import signal
import threading
import time

from case import BARE, Case, has_freezer, wait_for

def printer(tag, count, pause=0.01):
    """A line a moment, so that output is under way whenever somebody is killed. At the end all of it counts."""
    return (f"import time\nfor i in range({count}):\n    print('{tag}', f'{{i:05d}}', flush=True)\n"
            f"    time.sleep({pause})\ndone = True\n")


# Never ends, and is known from outside by its name.
PR_SET_NAME = 15
SPIN = (f"import ctypes\nctypes.CDLL(None).prctl({PR_SET_NAME}, b'spinner', 0, 0, 0)\n"
        "print('on', flush=True)\nwhile True: pass")


def lines_of(tag, count):
    return "".join(f"{tag} {i:05d}\n" for i in range(count))


class KillServeTest(Case):
    def test_fifty_sessions_go_on_as_if_nothing_had_happened(self):
        daemon = self.serve(BARE + "sessions: {freeze_ms: 500}\nlimits: {concurrent_runs: 64}\n")
        sessions = [daemon.session(runtime="bare") for _ in range(50)]
        for i, session in enumerate(sessions):
            daemon.run(f"me = {i}\nopen('me', 'w').write('{i}')", session)
        frozen = sessions[:10]
        if has_freezer(daemon):
            for session in frozen:
                with daemon.events(session) as events:
                    events.until("frozen")
        printing = {session: daemon.start_run(printer(f"p{i}", 200), session)
                    for i, session in enumerate(sessions[10:20])}
        computing = {session: daemon.start_run("n = 0\nfor k in range(3000000): n += 1\ncomputed = n", session,
                                               timeout_ms=120000)
                     for session in sessions[20:30]}
        waiting = {session: daemon.start_run("line = input()", session, stdin="live", timeout_ms=120000)
                   for session in sessions[30:33]}
        for run in [*printing.values(), *computing.values(), *waiting.values()]:
            with daemon.events(run) as events:
                events.until("started")  # what has not begun would end as `backend`
        ephemeral = [daemon.start_run(printer(f"e{i}", 150)) for i in range(5)]
        seen = {}
        for i, run in enumerate(ephemeral):
            with daemon.events(run) as events:
                events.until_text(f"e{i} 00003")
                seen[run] = events.seq
        before = {session: daemon.state(session) for session in sessions}

        daemon.restart()

        for session in sessions:
            after = daemon.state(session)
            self.assertEqual(after["created_ms"], before[session]["created_ms"])
            self.assertNotEqual(after["state"], "lost", after)
        for i, session in enumerate(sessions):
            if session in waiting:
                continue
            self.assertEqual(daemon.value("[me, open('me').read()]", session), [i, str(i)])
        for i, (session, run) in enumerate(printing.items()):
            self.assertEqual(self.output(self.read_all(daemon, run)), lines_of(f"p{i}", 200))
            self.assertIs(daemon.value("done", session), True)
        for session, run in computing.items():
            self.assertEqual(self.read_all(daemon, run)[-1]["verdict"]["kind"], "ok")
            self.assertEqual(daemon.value("computed", session), 3000000)
        for session, run in waiting.items():
            daemon.ask("POST", f"/v1/runs/{run}/stdin", {"text": "after the crash\n"})
            self.assertEqual(self.read_all(daemon, run)[-1]["verdict"]["kind"], "ok")
            self.assertEqual(daemon.value("line", session), "after the crash")
        for i, run in enumerate(ephemeral):
            self.assertEqual(self.output(self.read_all(daemon, run)), lines_of(f"e{i}", 150))
            with daemon.events(run, seen[run]) as rest:
                self.assertEqual(list(rest)[-1]["type"], "verdict")
        daemon.stop()

    def test_transactions_hold_across_a_restart(self):
        daemon = self.serve()
        session = daemon.session(runtime="bare")
        daemon.run("x = 1\nopen('f', 'w').write('1')", session)
        made = daemon.ask("POST", f"/v1/sessions/{session}/checkpoints", {"name": "one"})["id"]
        daemon.run("x = 2\nopen('f', 'w').write('2')", session)
        run = daemon.start_run("x = 3\nopen('f', 'w').write('3')\nprint('on', flush=True)\nwhile True: pass",
                               session, timeout_ms=3000)
        with daemon.events(run) as events:
            events.until_text("on")
        daemon.restart()
        result = daemon.result(run)
        self.assertEqual((result["verdict"]["kind"], result["state"]), ("timeout", "rolled_back"))
        self.assertEqual(daemon.value("[x, open('f').read()]", session), [2, "2"])
        daemon.ask("POST", f"/v1/sessions/{session}/rollback", {"checkpoint": made})
        self.assertEqual(daemon.value("[x, open('f').read()]", session), [1, "1"])
        daemon.stop()

    def test_a_deadline_that_passes_while_nobody_serves_is_kept(self):
        daemon = self.serve()
        session = daemon.session(runtime="bare")
        daemon.run("x = 1", session)
        run = daemon.start_run("x = 2\n" + SPIN, session, timeout_ms=3000)
        alone = daemon.start_run(SPIN, timeout_ms=3000)
        for one in (run, alone):
            with daemon.events(one) as events:
                events.until_text("on")
        self.assertEqual(len(self.spinning(daemon)), 2)
        daemon.kill9()
        wait_for(lambda: not self.spinning(daemon), what="the end of both")
        daemon.start()
        self.assertEqual(daemon.result(alone)["verdict"]["kind"], "timeout")
        result = daemon.result(run)
        self.assertEqual((result["verdict"]["kind"], result["state"]), ("timeout", "rolled_back"))
        self.assertEqual(daemon.value("x", session), 1)
        daemon.stop()

    def test_what_ended_in_time_counts_though_its_deadline_passed_before_the_next_daemon(self):
        """The runs end while there is no daemon; a third one goes on beyond its time and tells when the deadlines were."""
        daemon = self.serve()
        sessions = [daemon.session(runtime="bare") for _ in range(2)]
        code = ("import time\nbegin = time.monotonic()\nprint('on', flush=True)\ntime.sleep(1.5)\nprint('end')\nx = 2\n"
                "[round((time.monotonic() - begin) * 1000)]")
        runs = []
        for session in sessions:
            daemon.run("x = 1", session)
        for body, session in ((code, sessions[0]), (code, None), (SPIN, sessions[1])):
            runs.append(daemon.start_run(body, session, timeout_ms=4000))
            with daemon.events(runs[-1]) as events:
                events.until_text("on")
        self.assertEqual(len(self.spinning(daemon)), 1)
        daemon.kill9()
        wait_for(lambda: not self.spinning(daemon), what="the end of the last one")
        daemon.start()
        for run in runs[:2]:
            result = daemon.result(run)
            self.assertEqual((result["verdict"]["kind"], result["stdout"]), ("ok", "on\nend\n"), result)
            self.assertLess(result["usage"]["wall_ms"], 4000)
        self.assertEqual(daemon.value("x", sessions[0]), 2)
        result = daemon.result(runs[2])
        self.assertEqual((result["verdict"]["kind"], result["state"]), ("timeout", "rolled_back"))
        self.assertLess(result["usage"]["wall_ms"], 6000)
        self.assertEqual(daemon.value("x", sessions[1]), 1)
        daemon.stop()

    def test_a_daemon_that_dies_while_a_run_is_taken_back_leaves_the_truth(self):
        """The run has timed out; the checkpoint, held up, cannot give the next head yet."""
        daemon = self.serve()
        session = daemon.session(runtime="bare")
        before = daemon.run("x = 1\nopen('f', 'w').write('1')", session)
        run = daemon.start_run("x = 2\nopen('f', 'w').write('2')\n" + SPIN, session, timeout_ms=3000)
        with daemon.events(run) as events:
            events.until_text("on")
        head, = self.spinning(daemon)
        checkpoint = parent_of(head)
        os.kill(checkpoint, signal.SIGSTOP)
        wait_for(lambda: daemon.ask("GET", f"/v1/sessions/{session}")["state"] == "idle", what="the way back")
        self.assertIsNone(daemon.ask("GET", f"/v1/runs/{run}")["verdict"])
        daemon.ask("PATCH", f"/v1/sessions/{session}", {"name": "recorded-on-its-way"})
        daemon.kill9()
        os.kill(checkpoint, signal.SIGCONT)
        daemon.start()
        result = daemon.result(run)
        self.assertEqual((result["verdict"]["kind"], result["state"]), ("timeout", "rolled_back"))
        told = result["checkpoint"]
        self.assertEqual((told["id"], told["after"], told["undone"]),
                         (before["checkpoint"]["id"], before["id"], [run]))
        self.assertIn("rolled back: variables and the files of /workspace", told["note"])
        with daemon.events(session, follow=False) as events:
            self.assertEqual([one["undone"] for one in events if one["type"] == "rolled_back"], [[run]])
        self.assertEqual(daemon.value("[x, open('f').read()]", session), [1, "1"])
        daemon.stop()

    @staticmethod
    def spinning(daemon):
        return [pid for pid, name in daemon.processes().items() if name == "spinner"]

    def test_runs_that_waited_end_as_backend_and_harm_nothing(self):
        daemon = self.serve()
        session = daemon.session(runtime="bare")
        first = daemon.start_run("print('on', flush=True)\nimport time\ntime.sleep(1)\nx = 1", session)
        with daemon.events(first) as events:
            events.until_text("on")
        queued = [daemon.start_run("x = 2", session) for _ in range(3)]
        daemon.restart()
        self.assertEqual(daemon.result(first)["verdict"]["kind"], "ok")
        for run in queued:
            result = daemon.result(run)
            self.assertEqual((result["verdict"]["kind"], result["state"]), ("backend", "preserved"))
            self.assertIn("before this run began", result["verdict"]["message"])
            self.assertEqual(result["verdict"]["remedy_key"], "again")
        self.assertEqual(daemon.value("x", session), 1)
        daemon.stop()

    def test_results_name_the_same_walls_after_a_restart(self):
        daemon = self.serve()
        session = daemon.session(runtime="bare")
        branch = daemon.ask("POST", f"/v1/sessions/{session}/fork", {"n": 1})["sessions"][0]["id"]
        walls = daemon.run("x = 1", session)["walls"]
        self.assertIn("seccomp", walls)
        for _ in range(2):  # a daemon passes on what it was told
            daemon.restart()
            for one in (session, branch):
                self.assertEqual(daemon.run("x = 2", one)["walls"], walls)
        daemon.stop()

    def test_a_run_after_a_restart_says_nothing_of_the_one_before(self):
        daemon = self.serve()
        session = daemon.session(runtime="bare")
        branch = daemon.ask("POST", f"/v1/sessions/{session}/fork", {"n": 1})["sessions"][0]["id"]
        for one in (session, branch):
            daemon.run("import sys\nprint('before')\nprint('e', file=sys.stderr)", one)
        daemon.restart()
        for one in (session, branch):
            result = daemon.run("print('after')", one)
            self.assertEqual((result["stdout"], result["stderr"]), ("after\n", ""))
            self.assertEqual(daemon.run("print('later')", one)["stdout"], "later\n")
        daemon.stop()

    def test_a_sandbox_that_is_full_of_states_lives_on(self):
        daemon = self.serve()
        session = daemon.session(runtime="bare")
        daemon.run("x = 1", session)
        told = daemon.ask("POST", f"/v1/sessions/{session}/fork", {"n": 13})
        everyone = [session, *(one["id"] for one in told["sessions"])]
        for one in everyone:
            daemon.run("x += 1", one)
        daemon.restart()
        answer = daemon.request("POST", f"/v1/sessions/{session}/fork", {})
        self.assertEqual(answer.status, 409, answer)
        for one in everyone:
            result = daemon.run("x = 'bad'\nimport os\nos._exit(1)", one, kind="exit")
            self.assertEqual(result["state"], "rolled_back")
            self.assertEqual(daemon.value("x", one), 2)
        daemon.stop()

    def test_branches_live_on(self):
        daemon = self.serve()
        session = daemon.session(runtime="bare")
        daemon.run("x = 1", session)
        told = daemon.ask("POST", f"/v1/sessions/{session}/fork", {"n": 2})
        branches = [one["id"] for one in told["sessions"]]
        for i, branch in enumerate(branches):
            daemon.run(f"x += {i + 1}", branch)
        run = daemon.start_run(printer("b", 100), branches[0])
        with daemon.events(run) as events:
            events.until_text("b 00002")
        daemon.restart()
        self.assertEqual(self.output(self.read_all(daemon, run)), lines_of("b", 100))
        self.assertEqual([daemon.value("x", one) for one in [session, *branches]], [1, 2, 3])
        self.assertEqual(daemon.run("print('mine')", branches[1])["stdout"], "mine\n")
        daemon.stop()

    def test_a_branch_knows_the_runs_that_it_goes_on_from(self):
        def listed(session):
            rows = daemon.ask("GET", f"/v1/runs?session={session}")["runs"]
            return [(row["id"], row["session"], row.get("inherited", False)) for row in rows]

        def fork(session, **body):
            return daemon.ask("POST", f"/v1/sessions/{session}/fork", body)["sessions"][0]["id"]

        daemon = self.serve()
        root = daemon.session(runtime="bare")
        first = daemon.run("x = 1", root)
        second = daemon.run("x = 2", root)["id"]
        whole = fork(root)
        older = fork(root, checkpoint=first["checkpoint"]["id"])
        daemon.run("x = 3", root)  # it is nobody's but the root's
        own = daemon.run("x += 10", whole)["id"]
        leaf = fork(whole)
        first = first["id"]
        of_root = [(second, root, True), (first, root, True)]
        for _ in range(2):
            self.assertEqual(listed(older), [(first, root, True)])
            self.assertEqual(listed(whole), [(own, whole, False), *of_root])
            self.assertEqual(listed(leaf), [(own, whole, True), *of_root])
            self.assertEqual([is_inherited for _, _, is_inherited in listed(root)], [False] * 3)
            daemon.restart()
        daemon.ask("DELETE", f"/v1/sessions/{whole}", status=204)
        daemon.ask("DELETE", f"/v1/sessions/{root}", status=204)
        self.assertEqual(listed(leaf), [(own, whole, True), *of_root])
        daemon.stop()

    def test_what_launch_was_asked_last_is_done_before_it_meets_the_next_daemon(self):
        """A launch that is slow to read finds the end of one daemon and the call of the next together."""
        daemon = self.serve()
        wait_for(lambda: any(pool["runtime"] == "bare" and pool["ready"] > 1
                             for pool in daemon.ask("GET", "/v1/status")["pools"]), what="ready sandboxes")
        os.kill(daemon.launch_pid, signal.SIGSTOP)
        runs = [daemon.start_run(printer(f"k{i}", 100)) for i in range(2)]  # launch is only told of them
        for i, run in enumerate(runs):
            with daemon.events(run) as events:
                events.until_text(f"k{i} 00002")
        daemon.kill9()
        daemon.start()
        os.kill(daemon.launch_pid, signal.SIGCONT)
        for i, run in enumerate(runs):
            self.assertEqual(self.output(self.read_all(daemon, run)), lines_of(f"k{i}", 100))
        daemon.stop()

    def test_a_run_that_the_daemon_has_not_met_yet_is_not_said_to_be_over(self):
        daemon = self.serve(BARE)
        session = daemon.session(runtime="bare")
        run = daemon.start_run("x = input('?')", session, stdin="live")
        with daemon.events(run) as events:
            events.until("stdout")
        daemon.kill9()
        os.kill(daemon.launch_pid, signal.SIGSTOP)
        daemon.start()
        ask = ("POST", f"/v1/runs/{run}/stdin", {"text": "go\n"})
        message = self.expect_error(daemon.request(*ask), 503, "busy")["message"]
        self.assertIn("has not resumed this run yet", message)
        os.kill(daemon.launch_pid, signal.SIGCONT)
        wait_for(lambda: daemon.request(*ask).status == 200, what="the answer")
        with daemon.events(run) as events:
            self.assertEqual(events.until("verdict")["verdict"]["kind"], "ok")
        self.assertEqual(daemon.value("x", session), "go")
        daemon.stop()

    def test_requests_wait_until_launch_has_told_what_it_kept(self):
        """The new daemon takes requests before it has met launch: for sessions it knows by their record only."""
        daemon = self.serve(BARE + "sessions: {freeze_ms: 200}\n")
        sessions = [daemon.session(runtime="bare") for _ in range(4)]
        for session in sessions:
            daemon.run("x = 1\nopen('f', 'w').write('f')", session)
        if has_freezer(daemon):
            for session in sessions:
                with daemon.events(session) as events:
                    events.until("frozen")
        daemon.kill9()
        os.kill(daemon.launch_pid, signal.SIGSTOP)
        daemon.start()
        with concurrent.futures.ThreadPoolExecutor() as pool:
            asked = [pool.submit(daemon.value, "x", sessions[0]),
                     pool.submit(daemon.ask, "GET", f"/v1/sessions/{sessions[1]}/vars"),
                     pool.submit(daemon.ask, "POST", f"/v1/sessions/{sessions[2]}/fork", {}),
                     pool.submit(daemon.request, "GET", f"/v1/sessions/{sessions[2]}/files/f"),
                     pool.submit(daemon.request, "DELETE", f"/v1/sessions/{sessions[3]}"),
                     pool.submit(daemon.value, "2 + 2")]
            wait_for(lambda: asked[4].done(), what="the end of one")
            os.kill(daemon.launch_pid, signal.SIGCONT)
            told = [one.result() for one in asked]
        self.assertEqual((told[0], told[4].status, told[5]), (1, 204, 4))
        self.assertEqual([one["name"] for one in told[1]["vars"]], ["x"])
        self.assertEqual(told[3].body, b"f")
        self.assertEqual(daemon.value("x", told[2]["sessions"][0]["id"]), 1)
        self.assertEqual([daemon.value("x", session) for session in sessions[:3]], [1, 1, 1])
        daemon.stop()

    def test_what_a_dying_daemon_was_told_and_did_not_read_is_there_for_the_next(self):
        """Sandboxes and interpreters that end while the daemon is still attached, but hears nothing."""
        daemon = self.serve()
        session = daemon.session(runtime="bare")
        daemon.run("x = 1", session)
        name = f"import ctypes\nctypes.CDLL(None).prctl({PR_SET_NAME}, b'spinner', 0, 0, 0)\n"
        alone = daemon.start_run(name + printer("a", 30))
        inside = daemon.start_run(name + "x = 2\n" + printer("s", 30) +
                                  "import os\nos._exit(3)", session)
        for run, line in ((alone, "a 00002"), (inside, "s 00002")):
            with daemon.events(run) as events:
                events.until_text(line)
        os.kill(daemon.serve_pid, signal.SIGSTOP)
        wait_for(lambda: not self.spinning(daemon), what="the end of both")
        wait_for(lambda: launch_sleeps(daemon), what="launch to have told of both")
        daemon.kill9()
        daemon.start()
        events = self.read_all(daemon, alone)
        self.assertEqual((self.output(events), events[-1]["verdict"]["kind"]), (lines_of("a", 30), "ok"))
        events = self.read_all(daemon, inside)
        self.assertEqual((self.output(events), events[-1]["verdict"]["exit_code"]), (lines_of("s", 30), 3))
        self.assertEqual(daemon.value("x", session), 1)
        daemon.stop()

    def test_twenty_kills_at_any_moment_under_load(self):
        """Whatever was answered is kept, and each log is whole; a moment is drawn, and its seed told."""
        seed = int(os.environ.get("VIV_TEST_SEED", time.time_ns() % 10 ** 6))
        chance = random.Random(seed)
        daemon = self.serve()
        sessions = [daemon.session(runtime="bare") for _ in range(6)]
        counts = {session: 0 for session in sessions}
        for session in sessions:
            daemon.run("n = 0", session)
        logs = []
        for turn in range(20):
            logs += [(f"t{turn}", daemon.start_run(printer(f"t{turn}", 30, 0.002)))]
            load = Load(daemon, sessions, counts)
            load.start()
            time.sleep(chance.random() * 0.15)  # the moment is the test
            daemon.kill9()
            load.join()
            daemon.start()
        with self.subTest(seed=seed):
            for session in sessions:
                known = daemon.value("n", session)
                self.assertGreaterEqual(known, counts[session])  # an answer may be lost, a run not
            for tag, run in logs:
                events = self.read_all(daemon, run)
                if events[-1]["verdict"]["kind"] == "backend":  # it had not begun
                    self.assertEqual(self.output(events), "", events[-1])
                else:
                    self.assertEqual(self.output(events), lines_of(tag, 30))
        daemon.stop()

    def test_the_death_of_the_one_that_minds_it_loses_nothing_either(self):
        daemon = self.serve()
        session = daemon.session(runtime="bare")
        daemon.run("x = 1", session)
        os.kill(daemon.process.pid, signal.SIGKILL)
        daemon.process.wait()
        wait_for(lambda: daemon.serve_pid not in daemon.processes(), what="the end of the daemon")
        daemon.start()
        self.assertEqual(daemon.value("x", session), 1)
        daemon.stop()


class Load(threading.Thread):
    """Adds one to `n` of one session after the other, until nobody answers."""

    def __init__(self, daemon, sessions, counts):
        super().__init__()
        self.daemon_under_load, self.sessions, self.counts = daemon, sessions, counts

    def run(self):
        try:
            while True:
                for session in self.sessions:
                    result = self.daemon_under_load.run("n += 1\nn", session, kind=None)
                    if result["verdict"]["kind"] == "ok":
                        self.counts[session] = result["result"]["application/json"]
        except (OSError, EOFError, AssertionError, ValueError, http.client.HTTPException):
            pass


def launch_sleeps(daemon):
    """Whether both halves of viv-launch wait for something to happen."""
    states = []
    for pid, name in daemon.processes_below(daemon.launch_pid).items():
        if name == "viv-launch-in":
            states.append(state_of(pid))
    return [state_of(daemon.launch_pid), *states] == ["S"] * (1 + len(states))


def state_of(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        return file.read().rsplit(")", 1)[1].split()[0]


def parent_of(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        return int(file.read().rsplit(")", 1)[1].split()[1])
