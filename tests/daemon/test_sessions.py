# SPDX-License-Identifier: Apache-2.0
"""Sessions: state from run to run, order, interrupts, lifetimes, freezing."""

import random
import threading

from case import SESSION_KEYS, DaemonCase, has_freezer, wait_for


class StateTest(DaemonCase):
    """The things that a session keeps, and the order of its runs."""

    def test_each_run_is_counted_for_itself(self):
        session = self.new_session()
        # It is held for a while: where no cgroup counts, memory is measured from time to time.
        large = self.daemon.run("x = bytearray(120 << 20)\nn = sum(range(20000000))\ndel x", session)["usage"]
        small = self.daemon.run("1", session)["usage"]
        self.assertGreater(large["cpu_ms"], small["cpu_ms"])
        self.assertGreater(small["cpu_ms"], 0)
        self.assertGreater(large["peak_memory"], 120 << 20)
        self.assertLess(small["peak_memory"], 120 << 20)

    def test_memory_that_checkpoints_share_is_counted_once(self):
        session = self.new_session()
        self.daemon.run("x = b'a' * (32 << 20)", session)
        for _ in range(3):
            self.daemon.run("1", session)
        # It is long enough to be measured where no cgroup counts.
        self.daemon.run("n = sum(range(40000000))", session)
        self.assertIn(self.daemon.state(session)["memory"] >> 20, range(32, 64))

    def test_keeps_variables_imports_and_files(self):
        session = self.new_session()
        self.daemon.run("import math\nx = [1]\ndef f(): return x[0] + 1", session)
        self.daemon.run("open('a.txt', 'w').write('kept')", session)
        self.assertEqual(self.daemon.value("[f(), math.floor(2.5), open('a.txt').read()]", session),
                         [2, 2, "kept"])

    def test_has_the_object_that_the_contract_shows(self):
        session = self.new_session(name="mine", idle_ms=60000, ttl_ms=120000)
        told = self.daemon.state(session)
        self.assertEqual(SESSION_KEYS - set(told), set())
        self.assertEqual((told["name"], told["state"], told["policy"], told["runtime"], told["idle_ms"],
                          told["ttl_ms"], told["runs"]),
                         ("mine", "idle", "default", "bare", 60000, 120000, 0))
        self.daemon.run("1", session)
        told = self.daemon.state(session)
        self.assertEqual(told["runs"], 1)
        if self.daemon.cgroup:  # where it is only measured, so short a run has not been
            self.assertGreater(told["memory"], 0)
        self.assertRegex(told["head"], "^cp_")
        listed = self.daemon.ask("GET", "/v1/sessions")["sessions"]
        self.assertIn(session, [one["id"] for one in listed])

    def test_is_gone_after_delete(self):
        session = self.daemon.session(runtime="bare")
        self.assertEqual(self.daemon.request("DELETE", f"/v1/sessions/{session}").status, 204)
        for method, path in (("GET", ""), ("DELETE", ""), ("GET", "/vars"), ("GET", "/checkpoints")):
            answer = self.daemon.request(method, f"/v1/sessions/{session}{path}")
            self.expect_error(answer, 404, "not_found")
        answer = self.daemon.request("POST", f"/v1/sessions/{session}/run", {"code": "1"})
        self.expect_error(answer, 404, "not_found")

    def test_delete_cancels_the_run_that_is_on(self):
        session = self.daemon.session(runtime="bare")
        run = self.daemon.start_run("print('on', flush=True)\nwhile True: pass", session)
        with self.daemon.events(run) as events:
            events.until_text("on")
            self.assertEqual(self.daemon.request("DELETE", f"/v1/sessions/{session}").status, 204)
            verdict = events.until("verdict")
        self.assertEqual(verdict["verdict"]["kind"], "cancelled")
        self.assertEqual(verdict["state"], "lost")

    def test_runs_queue_in_order(self):
        session = self.new_session()
        self.daemon.run("order = []", session)
        first = self.daemon.start_run("print('on', flush=True)\ninput()\norder.append(0)", session,
                                      stdin="live")
        with self.daemon.events(first) as events:
            events.until_text("on")
            runs = [self.daemon.start_run(f"order.append({i})", session) for i in range(1, 20)]
            self.assertEqual(self.daemon.state(session)["state"], "running")
            self.daemon.ask("POST", f"/v1/runs/{first}/stdin", {"text": "go\n"})
            events.until("verdict")
        for run in runs:
            self.assertEqual(self.daemon.result(run)["verdict"]["kind"], "ok")
        self.assertEqual(self.daemon.value("order", session), list(range(20)))

    def test_sessions_run_side_by_side(self):
        """Each waits for a line that comes only when both run."""
        pair = [self.new_session(), self.new_session()]
        runs = [self.daemon.start_run("print('on', flush=True)\nx = input()", session, stdin="live")
                for session in pair]
        streams = [self.daemon.events(run) for run in runs]
        for stream in streams:
            stream.until_text("on")
        for run, stream, session in zip(runs, streams, pair):
            self.daemon.ask("POST", f"/v1/runs/{run}/stdin", {"text": session + "\n"})
            self.assertEqual(stream.until("verdict")["verdict"]["kind"], "ok")
            stream.close()
        for session in pair:
            self.assertEqual(self.daemon.value("x", session), session)

    def test_an_exception_preserves_state(self):
        session = self.new_session()
        result = self.daemon.run("x = 1\nx / 0", session, kind="exception")
        self.assertEqual(result["state"], "preserved")
        self.assertEqual(result["error"]["type"], "ZeroDivisionError")
        self.assertRegex(result["checkpoint"]["id"], "^cp_")
        self.assertEqual(self.daemon.value("x", session), 1)

    def test_sys_exit_preserves_state(self):
        session = self.new_session()
        result = self.daemon.run("import sys\nx = 5\nsys.exit(0)", session, kind="ok")
        self.assertEqual((result["state"], result["verdict"]["exit_code"]), ("preserved", 0))
        result = self.daemon.run("x = 6\nsys.exit(3)", session, kind="exit")
        self.assertEqual((result["state"], result["verdict"]["exit_code"]), ("preserved", 3))
        self.assertEqual(self.daemon.value("x", session), 6)

    def test_a_command_works_on_the_same_files(self):
        session = self.new_session()
        self.daemon.run(command="printf 'by a command' > c.txt", session=session)
        self.assertEqual(self.daemon.value("open('/workspace/c.txt').read()", session), "by a command")

    def test_random_numbers_go_on_as_seeded(self):
        session = self.new_session()
        self.daemon.run("import random\nrandom.seed(1)", session)
        seen = [self.daemon.value("random.random()", session) for _ in range(3)]
        chance = random.Random(1)
        self.assertEqual(seen, [chance.random() for _ in range(3)])


class InterruptTest(DaemonCase):
    """KeyboardInterrupt in the run that is on, and only in that."""

    def begin(self, session, code):
        run = self.daemon.start_run(code, session)
        events = self.daemon.events(run)
        self.addCleanup(events.close)
        events.until_text("on")
        return run, events

    def interrupt(self, session, **body):
        return self.daemon.request("POST", f"/v1/sessions/{session}/interrupt", body)

    def test_keeps_state(self):
        session = self.new_session()
        _, events = self.begin(session, "x = 41\nx += 1\nprint('on', flush=True)\nwhile True: pass")
        answer = self.interrupt(session)
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual(answer.json["id"], session)
        verdict = events.until("verdict")
        self.assertEqual(verdict["verdict"]["kind"], "interrupted")
        self.assertEqual(verdict["state"], "preserved")
        self.assertEqual(self.daemon.value("x", session), 42)

    def test_code_may_catch_it(self):
        session = self.new_session()
        _, events = self.begin(session, """
import time
try:
    print('on', flush=True)
    time.sleep(1000)
except KeyboardInterrupt:
    caught = 'yes'
""")
        self.assertEqual(self.interrupt(session).status, 200)
        verdict = events.until("verdict")
        self.assertEqual((verdict["verdict"]["kind"], verdict["state"]), ("ok", "preserved"))
        self.assertEqual(self.daemon.value("caught", session), "yes")

    def test_one_that_is_ignored_rolls_back(self):
        session = self.new_session()
        self.daemon.run("x = 1", session)
        _, events = self.begin(session, """
import time  # in a loop without a call Python 3.11 raises outside of the try
x = 2
while True:
    try:
        print('on', flush=True)
        time.sleep(1000)
    except KeyboardInterrupt:
        pass
""")
        self.assertEqual(self.interrupt(session, grace_ms=100).status, 200)
        verdict = events.until("verdict")
        self.assertEqual((verdict["verdict"]["kind"], verdict["state"]), ("interrupted", "rolled_back"))
        self.assertEqual(self.daemon.value("x", session), 1)

    def test_never_hits_the_next_run(self):
        session = self.new_session()
        run = self.daemon.run("1", session)["id"]
        self.expect_error(self.interrupt(session, run=run), 409, "conflict")
        self.expect_error(self.interrupt(session), 409, "conflict")
        second, events = self.begin(session, "print('on', flush=True)\nimport time\ntime.sleep(1000)")
        self.expect_error(self.interrupt(session, run=run), 409, "conflict")
        self.assertEqual(self.interrupt(session, run=second).status, 200)
        self.assertEqual(events.until("verdict")["verdict"]["kind"], "interrupted")
        self.assertEqual(self.daemon.value("7", session), 7)

    def test_a_storm_of_interrupts_hits_no_other_run(self):
        """Runs that are over at any moment, and interrupts for each of them: none lands in a later one."""
        session = self.new_session()
        runs, stop = [], threading.Event()

        def storm():
            while not stop.is_set():
                if runs:
                    self.interrupt(session, run=runs[-1], grace_ms=5000)

        thread = threading.Thread(target=storm)
        thread.start()
        try:
            for i in range(40):
                run = self.daemon.start_run(f"y = {i}", session)
                kind = self.daemon.result(run)["verdict"]["kind"]
                self.assertIn(kind, ("ok", "interrupted"))
                runs.append(run)  # from here on it is over: nobody may be hit
                self.assertEqual(self.daemon.value(f"'{i}'", session), str(i))
        finally:
            stop.set()
            thread.join()

    def test_a_grace_has_a_limit(self):
        session = self.new_session()
        answer = self.interrupt(session, grace_ms=10 ** 9)
        self.expect_error(answer, 400, "bad_request", "grace_ms")


class LifeTest(DaemonCase):
    """Lifetimes and freezing, with values small enough to be waited for."""

    CONFIG = "sessions: {freeze_ms: 300}\n"

    def watch_to_the_end(self, session):
        with self.daemon.events(session) as events:
            return [event for event in events]

    def test_ends_when_it_rests_too_long_and_warns_before(self):
        session = self.daemon.session(runtime="bare", idle_ms=1200)
        events = self.watch_to_the_end(session)
        kinds = [event["type"] for event in events]
        self.assertEqual(kinds[-1], "ended")
        self.assertIn("warning", kinds)
        warning = events[kinds.index("warning")]
        self.assertEqual(warning["limit"], "idle_ms")
        self.assertGreater(warning["left_ms"], 0)
        self.assertLess(warning["t_ms"], events[-1]["t_ms"])
        self.expect_error(self.daemon.request("GET", f"/v1/sessions/{session}"), 404, "not_found")

    def test_ends_after_its_whole_life_though_it_works(self):
        session = self.daemon.session(runtime="bare", ttl_ms=4000)
        run = self.daemon.start_run("while True: pass", session, timeout_ms=30000)
        result = self.daemon.result(run)
        self.assertEqual(result["verdict"]["kind"], "cancelled")
        self.assertEqual(result["verdict"]["message"], "the session's time was over (ttl_ms)")
        self.assertEqual(result["verdict"]["remedy_key"], "gone")
        self.expect_error(self.daemon.request("GET", f"/v1/sessions/{session}"), 404, "not_found")

    def test_a_run_that_takes_longer_than_idle_ms_is_not_rest(self):
        session = self.new_session(idle_ms=1000)
        self.assertEqual(self.daemon.run("import time\ntime.sleep(1.6)\nx = 1", session)["state"],
                         "preserved")
        self.assertEqual(self.daemon.value("x", session), 1)

    def test_a_checkpoint_that_rest_has_dropped_is_told_of(self):
        session = self.new_session()
        path = f"/v1/sessions/{session}"
        first = self.daemon.run("x = 1", session)["checkpoint"]["id"]
        self.daemon.run("x = 2", session)
        named = self.daemon.ask("POST", f"{path}/checkpoints", {"name": "two"})["id"]
        self.daemon.run("x = 3", session)
        if has_freezer(self.daemon):
            wait_for(lambda: first not in [one["id"] for one in self.daemon.ask(
                "GET", f"{path}/checkpoints")["checkpoints"]], what="its rest")
        else:
            self.daemon.request("DELETE", f"{path}/checkpoints/{first}")
        answer = self.daemon.request("POST", f"{path}/rollback", {"checkpoint": first})
        self.assertIn("a frozen session drops those without a name",
                      self.expect_error(answer, 404, "not_found")["message"])
        self.daemon.ask("POST", f"{path}/rollback", {"checkpoint": named})
        self.assertEqual(self.daemon.value("x", session), 2)

    def test_freezes_at_rest_and_thaws_with_its_variables(self):
        session = self.new_session()
        self.daemon.run("x = list(range(1000))", session)
        if has_freezer(self.daemon):
            with self.daemon.events(session) as events:
                events.until("frozen")
                self.assertEqual(self.daemon.state(session)["state"], "frozen")
                self.assertEqual(self.daemon.value("sum(x)", session), 499500)
                events.until("thawed")
                events.until("frozen")
        self.assertEqual(self.daemon.value("sum(x)", session), 499500)
        names = self.daemon.ask("GET", f"/v1/sessions/{session}/vars")["vars"]
        self.assertEqual([one["name"] for one in names], ["x"])

    def test_a_frozen_one_can_be_deleted(self):
        session = self.daemon.session(runtime="bare")
        if has_freezer(self.daemon):
            with self.daemon.events(session) as events:
                events.until("frozen")
        self.assertEqual(self.daemon.request("DELETE", f"/v1/sessions/{session}").status, 204)
