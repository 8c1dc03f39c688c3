# SPDX-License-Identifier: Apache-2.0
"""People's work stays: sessions that are kept sleep instead of ending, and wake with what could be written."""

import glob
import hashlib
import os
import random
import signal
import socket
import sys
import threading

from case import BARE, Case, has_freezer, wait_for

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "dialect"))
# pylint: disable=wrong-import-position
from mcp_talk import Legacy  # noqa: E402

KEPT = BARE + "sessions: {freeze_ms: 0}\n"


def kept(daemon, session):
    """Waits until all that there is of the session is on disk."""
    def settled():
        state = daemon.state(session)
        return state["kept"]["states"] > 0 and not state["kept"]["pending"] and state
    return wait_for(settled, what="its states on disk")


def states(daemon, session):
    return daemon.ask("GET", f"/v1/sessions/{session}/checkpoints")["checkpoints"]


def asleep(daemon, session):
    return wait_for(lambda: daemon.state(session)["state"] == "asleep", what="its sleep")


def names(woken):
    return [one["name"] for one in woken["missing"]]


def on_disk(daemon):
    return sorted(os.path.basename(path) for path in glob.glob(daemon.path("state", "states", "*", "*")))


class KeptCase(Case):
    def kept_session(self, daemon, code="x = 41\nopen('f', 'w').write('made')", **body):
        session = daemon.session(runtime="bare", keep=True, **body)
        daemon.run(code, session)
        kept(daemon, session)
        return session

    def expect_whole(self, daemon, session):
        """Variables and files came back, in the same session."""
        self.assertEqual(daemon.value("[x, open('f').read()]", session), [41, "made"])


def chain(daemon, session):
    """The states from the head down to the first: each is there, or the one above says how many are not."""
    every = {one["id"]: one for one in states(daemon, session)}
    found, one = [], daemon.state(session)["head"]
    while one is not None:
        found.append(every[one])
        one = every[one]["parent"]
    return found


class LineageTest(KeptCase):
    def run_each(self, daemon, session, count):
        """So many states, each of them on disk before the next is made."""
        for i in range(count):
            daemon.run(f"x = {i}", session)
            kept(daemon, session)

    def test_states_that_are_let_go_leave_their_number_and_no_hole(self):
        daemon = self.serve(KEPT)
        session = daemon.session(runtime="bare")
        for i in range(15):
            last = daemon.run(f"x = {i}", session)["checkpoint"]["id"]
        wait_for(lambda: daemon.state(session)["head"] == last, what="the last state")
        line = chain(daemon, session)
        self.assertEqual({one["id"] for one in line}, {one["id"] for one in states(daemon, session)})
        # One for each run, and the one that the session began with.
        self.assertEqual(len(line) + sum(one.get("not_kept", 0) for one in line), 16)
        self.assertEqual([one["id"] for one in line if one.get("not_kept")], [line[-1]["id"]])
        daemon.stop()

    def test_states_of_runs_without_a_checkpoint_follow_each_other(self):
        daemon = self.serve(KEPT)
        session = daemon.session(runtime="bare", keep=True)
        busy = "import threading\nstop = threading.Event()\nt = threading.Thread(target=stop.wait)\nt.start()\n"
        runs = []
        for code in ("a = 1", busy + "b = 2", "c = 3", "stop.set()\nt.join()\nd = 4"):
            runs.append(daemon.run(code, session)["id"])
            kept(daemon, session)
        line = chain(daemon, session)
        self.assertEqual([one["run"] for one in line], [*reversed(runs), None])
        # Back to before the thread: what comes then follows that, and nothing that was left behind.
        daemon.ask("POST", f"/v1/sessions/{session}/rollback", {"checkpoint": line[3]["id"]})
        kept(daemon, session)
        again = daemon.run(busy + "e = 5", session)["id"]
        kept(daemon, session)
        [state] = [one for one in states(daemon, session) if one["run"] == again]
        self.assertEqual(state["parent"], line[3]["id"])
        daemon.stop()

    def test_one_that_is_dropped_from_disk_is_counted_by_the_next_also_after_a_restart(self):
        daemon = self.serve(BARE + "sessions: {freeze_ms: 0, checkpoints: 1}\n")
        session = daemon.session(runtime="bare", keep=True)
        self.run_each(daemon, session, 5)
        line = chain(daemon, session)
        self.assertEqual([one["kind"] for one in line[:2]], ["live", "portable"])
        for one in (line[1], line[3], line[2]):
            answer = daemon.request("DELETE", f"/v1/sessions/{session}/checkpoints/{one['id']}")
            self.assertEqual(answer.status, 204)
        expected = [(line[0]["id"], 3), *((one["id"], one.get("not_kept", 0)) for one in line[4:])]
        told = [(one["id"], one.get("not_kept", 0)) for one in chain(daemon, session)]
        self.assertEqual(told, expected)
        daemon.restart()
        self.assertEqual([(one["id"], one.get("not_kept", 0)) for one in chain(daemon, session)], expected)
        daemon.stop()

    def test_a_state_on_disk_keeps_its_time_and_name_and_the_way_back_has_its_own(self):
        daemon = self.serve(BARE + "sessions: {freeze_ms: 0, checkpoints: 1}\n")
        session = daemon.session(runtime="bare", keep=True)
        self.run_each(daemon, session, 1)
        named = daemon.ask("POST", f"/v1/sessions/{session}/checkpoints", {"name": "clean"})
        self.run_each(daemon, session, 3)
        daemon.ask("POST", f"/v1/sessions/{session}/restart")  # only what is on disk is left
        before = {one["id"]: one for one in states(daemon, session)}
        self.assertEqual(before[named["id"]]["kind"], "portable")
        gone_back = daemon.ask("POST", f"/v1/sessions/{session}/rollback", {"checkpoint": named["id"]})
        self.assertEqual(gone_back["head"], named["id"])
        self.assertGreater(gone_back["went_back_ms"], named["created_ms"])
        wait_for(lambda: self.facts(daemon, session, named)["kind"] == "live", what="the state, live")
        for fact in ("created_ms", "name", "parent", "run"):
            self.assertEqual(self.facts(daemon, session, named)[fact], before[named["id"]][fact])
        order = [one["created_ms"] for one in states(daemon, session)]
        self.assertEqual(order, sorted(order))
        daemon.run("x = 'on'", session)
        wait_for(lambda: daemon.state(session)["head"] != named["id"], what="the next state")
        self.assertNotIn("went_back_ms", daemon.state(session))
        self.assertIn(named["id"], [one["id"] for one in chain(daemon, session)])
        daemon.stop()

    @staticmethod
    def facts(daemon, session, state):
        return next(one for one in states(daemon, session) if one["id"] == state["id"])


class SleepTest(KeptCase):
    def test_an_idle_end_is_a_sleep_and_the_next_run_wakes_it(self):
        daemon = self.serve(KEPT)
        session = self.kept_session(daemon, idle_ms=1500)
        asleep(daemon, session)
        result = daemon.run("print(x, open('f').read())", session)
        self.assertEqual(result["stdout"], "41 made\n")
        self.assertEqual(result["checkpoint"]["woken"]["missing"], [])
        self.assertNotIn("woken", daemon.run("x", session)["checkpoint"])
        daemon.stop()

    def test_the_state_that_it_began_with_is_there_after_a_sleep(self):
        daemon = self.serve(KEPT)
        session = self.kept_session(daemon, idle_ms=1500)
        before = [(one["id"], one["run"]) for one in states(daemon, session)]
        self.assertEqual([run for _, run in before if run is None], [None])
        asleep(daemon, session)
        daemon.ask("POST", f"/v1/sessions/{session}/wake")
        self.assertEqual([(one["id"], one["run"]) for one in states(daemon, session)], before)
        start = next(name for name, run in before if run is None)
        daemon.ask("POST", f"/v1/sessions/{session}/rollback", {"checkpoint": start})
        self.assertEqual(daemon.value("'x' in globals()", session), False)
        daemon.stop()

    def test_a_total_lifetime_ends_in_a_sleep_too(self):
        daemon = self.serve(KEPT)
        session = self.kept_session(daemon, ttl_ms=2000)
        asleep(daemon, session)
        self.expect_whole(daemon, session)
        daemon.stop()

    def test_a_run_that_its_lifetime_ends_leaves_it_asleep_and_says_so(self):
        daemon = self.serve(KEPT)
        session = self.kept_session(daemon, ttl_ms=3000)
        result = daemon.run("x = 0\nwhile True: pass", session, kind="cancelled", timeout_ms=30000)
        self.assertEqual((result["state"], result["verdict"]["message"]),
                         ("rolled_back", "the session's time was over (ttl_ms)"))
        self.expect_whole(daemon, session)
        daemon.stop()

    def test_a_state_of_a_branch_is_one_state_on_disk_too(self):
        """The files of a branch are shared: those on disk are part of the state that is alive, not a change of their own."""
        daemon = self.serve()
        session = self.kept_session(daemon)
        branch, = daemon.ask("POST", f"/v1/sessions/{session}/fork", {}, status=201)["sessions"]
        kept(daemon, branch["id"])
        one, = states(daemon, branch["id"])
        self.assertEqual((one["kind"], one["run"]), ("live", None))
        daemon.run("x += 1", branch["id"])
        kept(daemon, branch["id"])
        self.assertEqual(len({state["run"] for state in chain(daemon, branch["id"])}), 2)
        self.assertEqual(len(chain(daemon, branch["id"])), 2)
        daemon.stop()

    def test_waking_is_one_call_and_says_what_could_not_be_kept(self):
        daemon = self.serve(KEPT)
        session = self.kept_session(
            daemon, "x = 41\nopen('f', 'w').write('made')\nnumbers = (i for i in range(9))", idle_ms=1500)
        asleep(daemon, session)
        answer = daemon.request("GET", f"/v1/sessions/{session}/vars")
        self.assertIn("asleep", self.expect_error(answer, 409, "conflict")["message"])
        woken = daemon.ask("POST", f"/v1/sessions/{session}/wake")
        self.assertEqual((woken["id"], woken["state"]), (session, "idle"))
        self.assertEqual([one["name"] for one in woken["woken"]["missing"]], ["numbers"])
        result = daemon.run("print(x)", session)
        self.assertEqual([one["name"] for one in result["checkpoint"]["woken"]["missing"]], ["numbers"])
        with daemon.events(session, follow=False) as events:
            told = [event for event in events if event["type"] == "woken"]
        self.assertEqual([one["name"] for one in told[0]["woken"]["missing"]], ["numbers"])
        daemon.stop()

    def test_a_kill_after_waking_does_not_hide_what_could_not_be_kept(self):
        daemon = self.serve(KEPT)
        session = self.kept_session(daemon, "x = 41\nnumbers = (i for i in range(9))")
        daemon.terminate()
        daemon.start()
        daemon.ask("POST", f"/v1/sessions/{session}/wake")
        daemon.restart()
        told = daemon.run("x", session)["checkpoint"]
        self.assertEqual([one["name"] for one in told["woken"]["missing"]], ["numbers"])
        self.assertIn("could not be kept: numbers", told["note"])
        daemon.stop()

    def test_a_first_run_that_fails_says_what_could_not_be_kept(self):
        daemon = self.serve(KEPT)
        session = self.kept_session(daemon, "x = 41\nnumbers = (i for i in range(9))")
        daemon.terminate()
        daemon.start()
        result = daemon.run("while True: pass", session, kind="timeout", timeout_ms=500)
        told = result["checkpoint"]
        self.assertEqual((result["state"], names(told["woken"])), ("rolled_back", ["numbers"]))
        self.assertEqual(told["note"], "rolled back: variables and the files of /workspace are what they were before this run. "
                         "Before that, the session was woken from its state on disk; could not be kept: numbers")
        self.assertNotIn("woken", daemon.run("x", session)["checkpoint"])
        daemon.stop()

    def test_what_no_run_has_told_is_told_however_often_it_sleeps(self):
        """An upload wakes the session, and makes a state that never had what was lost."""
        daemon = self.serve(KEPT)
        session = self.kept_session(daemon, "x = 41\nnumbers = (i for i in range(9))", idle_ms=1500)
        for name in ("f1", "f2"):
            asleep(daemon, session)
            daemon.ask("PUT", f"/v1/sessions/{session}/files/{name}", b"some")
            kept(daemon, session)
        daemon.terminate()
        daemon.start()
        told = daemon.run("x", session)["checkpoint"]
        self.assertEqual((names(told["woken"]), told["woken"]["variables"]), (["numbers"], True))
        self.assertIn("could not be kept: numbers", told["note"])
        kept(daemon, session)
        asleep(daemon, session)
        self.assertEqual(names(daemon.run("x", session)["checkpoint"]["woken"]), [])
        daemon.stop()

    def test_a_restart_that_no_run_has_told_is_told_after_a_sleep(self):
        daemon = self.serve(KEPT)
        session = self.kept_session(daemon)
        daemon.ask("POST", f"/v1/sessions/{session}/restart")
        daemon.terminate()
        daemon.start()
        told = daemon.run("'x' in globals()", session)["checkpoint"]
        self.assertEqual(told["woken"]["variables"], False)
        self.assertIn("its files are there, its variables are not", told["note"])
        daemon.stop()

    def test_a_rollback_to_a_whole_state_lacks_nothing(self):
        daemon = self.serve(KEPT)
        session = self.kept_session(daemon)
        whole = daemon.state(session)["head"]
        daemon.run("numbers = (i for i in range(9))", session)
        kept(daemon, session)
        daemon.terminate()
        daemon.start()
        self.assertEqual(names(daemon.ask("POST", f"/v1/sessions/{session}/wake")["woken"]), ["numbers"])
        daemon.ask("POST", f"/v1/sessions/{session}/rollback", {"checkpoint": whole})
        self.assertEqual(names(daemon.run("x", session)["checkpoint"]["woken"]), [])
        daemon.stop()

    def test_a_live_state_that_was_read_from_disk_says_what_it_lacks(self):
        daemon = self.serve(KEPT)
        session = self.kept_session(daemon, "x = 41\nnumbers = (i for i in range(9))")
        state = daemon.state(session)["head"]

        def lacks():
            shown = {one["id"]: one for one in daemon.ask("GET", f"/v1/sessions/{session}/checkpoints")["checkpoints"]}
            return shown[state]["kind"], [one["name"] for one in shown[state].get("lacks", [])]

        self.assertEqual(lacks(), ("live", []))  # it has them still
        daemon.terminate()
        daemon.start()
        daemon.ask("POST", f"/v1/sessions/{session}/wake")
        daemon.run("y = 1", session)
        self.assertEqual(lacks(), ("live", ["numbers"]))
        daemon.restart()
        self.assertEqual(lacks(), ("live", ["numbers"]))
        self.assertEqual(daemon.run("'numbers' in globals()", session)["result"]["text/plain"], "False")
        daemon.stop()

    def test_one_that_sleeps_since_a_stop_of_the_daemon_takes_no_memory(self):
        daemon = self.serve(KEPT)
        session = self.kept_session(daemon)
        daemon.terminate()
        daemon.start()
        self.assertEqual([(one["state"], one["memory"]) for one in daemon.ask("GET", "/v1/sessions")["sessions"]],
                         [("asleep", 0)])
        daemon.stop()

    def test_a_look_waits_while_it_wakes(self):
        daemon = self.serve(KEPT)
        session = self.kept_session(
            daemon, "x = 41\nclass Slow:\n    def __reduce__(self):\n"
            "        return (eval, (\"__import__('time').sleep(2)\",))\nslow = Slow()", idle_ms=1500)
        asleep(daemon, session)
        run = daemon.start_run("x = 42", session)
        wait_for(lambda: daemon.state(session)["state"] == "starting", what="its waking")
        names = {one["name"] for one in daemon.ask("GET", f"/v1/sessions/{session}/vars")["vars"]}
        self.assertIn("x", names)
        self.assertEqual(daemon.result(run)["verdict"]["kind"], "ok")
        daemon.stop()

    def test_one_that_wakes_keeps_to_what_the_config_pins_now(self):
        config = KEPT + "backends: {remote: {url: 'http://127.0.0.1:9', token: x}}\npolicies:\n  mine: {backend: %s}\n"
        daemon = self.serve(config % "namespace")
        session = self.kept_session(daemon, policy="mine", idle_ms=1500)
        asleep(daemon, session)
        daemon.write_config(config % "remote")
        daemon.restart()
        answer = daemon.request("POST", f"/v1/sessions/{session}/wake")
        self.assertIn("remote", self.expect_error(answer, 501, "unsupported")["message"])
        self.assertEqual(daemon.state(session)["state"], "asleep")
        daemon.write_config(config % "namespace")
        daemon.restart()
        self.expect_whole(daemon, session)
        daemon.stop()

    def test_one_that_sleeps_takes_no_place(self):
        daemon = self.serve(KEPT + "limits: {sessions: 1}\n")
        session = self.kept_session(daemon, idle_ms=1500)
        asleep(daemon, session)
        other = daemon.session(runtime="bare")
        answer = daemon.request("POST", f"/v1/sessions/{session}/wake")
        self.assertEqual(answer.status, 503, answer)
        self.assertEqual(daemon.state(session)["state"], "asleep")
        daemon.ask("DELETE", f"/v1/sessions/{other}")
        self.expect_whole(daemon, session)
        daemon.stop()

    def test_a_session_that_is_not_kept_ends_as_before(self):
        daemon = self.serve(KEPT)
        session = daemon.session(runtime="bare", idle_ms=1000)
        daemon.run("x = 1", session)
        wait_for(lambda: daemon.request("GET", f"/v1/sessions/{session}").status == 404, what="its end")
        self.assertEqual(on_disk(daemon), [])
        daemon.stop()


class RestTest(KeptCase):
    def test_states_survive_the_rest_and_can_be_gone_back_to(self):
        daemon = self.serve(BARE + "sessions: {freeze_ms: 1500}\n")
        if not has_freezer(daemon):
            self.skipTest("no freezer here")
        session = self.kept_session(daemon, "x = 1\nopen('f', 'w').write('1')")
        for number in (2, 3):
            daemon.run(f"x = {number}\nopen('f', 'w').write('{number}')", session)
            kept(daemon, session)
        before = [one["id"] for one in states(daemon, session) if one["run"]]
        with daemon.events(session) as events:
            events.until("frozen")
        after = [one for one in states(daemon, session) if one["run"]]
        self.assertEqual([one["id"] for one in after], before)
        self.assertEqual([one["kind"] for one in after], ["portable", "portable", "live"])
        daemon.ask("POST", f"/v1/sessions/{session}/rollback", {"checkpoint": before[0]})
        self.assertEqual(daemon.value("[x, open('f').read()]", session), [1, "1"])
        daemon.ask("POST", f"/v1/sessions/{session}/rollback", {"checkpoint": before[2]})
        self.assertEqual(daemon.value("[x, open('f').read()]", session), [3, "3"])
        daemon.stop()


class RestartTest(KeptCase):
    def test_a_restart_of_the_session_keeps_its_files(self):
        daemon = self.serve(KEPT)
        session = self.kept_session(daemon)
        daemon.ask("PUT", f"/v1/sessions/{session}/files/sales.csv", b"a,b\n1,2\n")
        answer = daemon.ask("POST", f"/v1/sessions/{session}/restart")
        self.assertEqual(answer["id"], session)
        self.assertEqual(daemon.value("[open('f').read(), open('sales.csv').read(), 'x' in globals()]", session),
                         ["made", "a,b\n1,2\n", False])
        daemon.stop()

    def test_the_state_after_a_restart_is_of_no_run(self):
        daemon = self.serve(KEPT)
        session = self.kept_session(daemon)
        daemon.ask("POST", f"/v1/sessions/{session}/restart")
        head = wait_for(lambda: daemon.state(session)["head"], what="its first state")
        self.assertEqual([(one["run"], one["parent"]) for one in states(daemon, session) if one["id"] == head], [(None, None)])
        daemon.stop()

    def test_a_sleep_after_a_restart_does_not_bring_the_variables_back(self):
        daemon = self.serve(KEPT)
        session = self.kept_session(daemon, "x = 41", idle_ms=1500)
        daemon.ask("POST", f"/v1/sessions/{session}/restart")
        asleep(daemon, session)
        self.assertFalse(daemon.value("'x' in globals()", session))
        daemon.stop()

    CHOICE = ("runtimes:\n  bare: {python: /usr/bin/python3, preload: [], pool: 1}\n"
              "  other: {python: /usr/bin/python3, preload: [json], pool: 0}\n  base: {pool: 0}\n  full: {pool: 0}\n"
              "sessions: {freeze_ms: 0}\n"
              "policies:\n  small: {base: default, memory: 200MiB, timeout: 5s}\n"
              "  narrow: {base: default, disk: 1MiB}\n  pinned: {base: default, runtime: bare}\n")

    def chosen(self, daemon, session):
        state = daemon.state(session)
        return state["policy"], state["runtime"]

    def test_another_policy_and_runtime_keep_files_and_id(self):
        daemon = self.serve(self.CHOICE)
        session = self.kept_session(daemon)
        answer = daemon.ask("POST", f"/v1/sessions/{session}/restart", {"policy": "small", "runtime": "other"})
        self.assertEqual([answer[name] for name in ("id", "policy", "runtime")], [session, "small", "other"])
        self.assertEqual(daemon.value("[open('f').read(), 'x' in globals()]", session), ["made", False])
        daemon.run("b = bytearray(400 << 20)", session, kind="memory")  # the new policy's counts
        daemon.ask("POST", f"/v1/sessions/{session}/restart", {"policy": "default"})
        self.assertEqual(self.chosen(daemon, session), ("default", "other"))  # what is not named stays
        self.assertEqual(daemon.value("[open('f').read(), len(bytearray(400 << 20))]", session), ["made", 400 << 20])
        daemon.stop()

    def test_another_policy_outlives_the_daemon(self):
        daemon = self.serve(self.CHOICE)
        session = self.kept_session(daemon)
        daemon.ask("POST", f"/v1/sessions/{session}/restart", {"policy": "small", "runtime": "other"})
        daemon.kill9_all()
        wait_for(lambda: not DeathTest.kill_living(daemon), what="the end of all")
        daemon.start()
        asleep(daemon, session)
        self.assertEqual(daemon.terminate(), 0)  # from here on the store alone knows of it
        daemon.start()
        self.assertEqual(self.chosen(daemon, session), ("small", "other"))
        self.assertEqual(daemon.value("open('f').read()", session), "made")
        daemon.stop()

    def test_a_choice_that_may_not_be_changes_nothing(self):
        secret = "a-secret-of-one-token"
        daemon = self.serve(self.CHOICE + "tokens:\n  - {name: one, policies: [default, pinned], sha256: "
                            + hashlib.sha256(secret.encode()).hexdigest() + "}\n")
        one = daemon.as_token(secret)
        session = self.kept_session(one)
        for body, status, kind, field in (
                ({"policy": "small"}, 403, "forbidden", "policy"), ({"policy": "none"}, 403, "forbidden", "policy"),
                ({"runtime": "none"}, 404, "not_found", "runtime"),
                ({"policy": "pinned", "runtime": "other"}, 403, "forbidden", "runtime")):
            answer = one.request("POST", f"/v1/sessions/{session}/restart", body)
            self.expect_error(answer, status, kind, field)
        self.assertEqual(self.chosen(one, session), ("default", "bare"))
        self.expect_whole(one, session)
        daemon.stop()

    def test_files_that_do_not_fit_stay_under_the_old_policy(self):
        daemon = self.serve(self.CHOICE)
        session = self.kept_session(daemon)
        daemon.ask("PUT", f"/v1/sessions/{session}/files/large", b"x" * (3 << 20))
        answer = daemon.request("POST", f"/v1/sessions/{session}/restart", {"policy": "narrow"})
        self.assertIn("narrow", self.expect_error(answer, 409, "conflict")["message"])
        self.assertEqual(self.chosen(daemon, session), ("default", "bare"))
        self.expect_whole(daemon, session)
        self.assertEqual(daemon.value("__import__('os').path.getsize('large')", session), 3 << 20)
        daemon.stop()

    def test_nothing_is_taken_while_the_policy_changes(self):
        daemon = self.serve(self.CHOICE)
        session = self.kept_session(daemon)
        run = daemon.start_run("input()", session, stdin="live")
        restart = threading.Thread(target=daemon.ask, args=(
            "POST", f"/v1/sessions/{session}/restart", {"policy": "small"}))
        restart.start()

        def refused():
            answer = daemon.request("POST", f"/v1/sessions/{session}/wake")
            return answer.status == 409 and answer
        answer = wait_for(refused, what="the restart in its queue")
        self.assertIn("another policy", self.expect_error(answer, 409, "conflict")["message"])
        daemon.ask("POST", f"/v1/runs/{run}/stdin", {"text": "on\n"})
        restart.join()
        self.assertEqual(self.chosen(daemon, session), ("small", "bare"))
        self.assertEqual(daemon.value("open('f').read()", session), "made")
        daemon.stop()

    def test_a_restart_of_one_that_is_not_kept_says_that_its_files_are_gone(self):
        daemon = self.serve(KEPT + "policies:\n  small: {base: default, memory: 200MiB}\n")
        session = daemon.session(runtime="bare")
        daemon.run("x = 1\nopen('f', 'w').write('made')", session)
        told = daemon.ask("POST", f"/v1/sessions/{session}/restart", {"policy": "small"})
        self.assertEqual((told["state"], told["policy"], told["keep"]), ("idle", "small", False))
        result = daemon.run("import os\n['x' in globals(), os.listdir()]", session)
        self.assertEqual(result["result"]["application/json"], [False, []])
        woken = result["checkpoint"]["woken"]
        self.assertEqual((woken["variables"], woken["files"]), (False, False))
        self.assertIn("files and variables are gone", result["checkpoint"]["note"])
        # It is a session as any: it goes back, and outlives the daemon.
        daemon.run("x = 2", session)
        daemon.run("os._exit(1)", session, kind="exit")
        daemon.restart()
        self.assertEqual(daemon.value("x", session), 2)
        daemon.stop()

    def test_the_first_run_after_a_restart_tells_it_also_if_the_daemon_was_killed(self):
        daemon = self.serve(KEPT)
        for keep in (True, False):
            session = daemon.session(runtime="bare", keep=keep)
            daemon.run("x = 1", session)
            daemon.ask("POST", f"/v1/sessions/{session}/restart")
            daemon.restart()
            told = daemon.run("1", session)["checkpoint"]
            self.assertEqual((told["woken"]["variables"], told["woken"]["files"]), (False, keep))
            self.assertIn("the session was restarted", told["note"])
            daemon.restart()
            told = daemon.run("1", session)["checkpoint"]
            self.assertNotIn("woken", told)
            self.assertNotIn("note", told)
        daemon.stop()

    def test_keeping_can_begin_later_and_end(self):
        daemon = self.serve(KEPT)
        session = daemon.session(runtime="bare")
        daemon.run("x = 41\nopen('f', 'w').write('made')", session)
        daemon.ask("PATCH", f"/v1/sessions/{session}", {"keep": True})
        kept(daemon, session)
        self.assertTrue(on_disk(daemon))
        daemon.ask("PATCH", f"/v1/sessions/{session}", {"keep": False})
        wait_for(lambda: not on_disk(daemon), what="an empty disk")
        daemon.stop()


class DeathTest(KeptCase):
    @staticmethod
    def kill_living(daemon):
        """As a power cut does; who was there to be killed."""
        living = daemon.living()
        for pid in living:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        return living

    def test_a_kept_session_survives_the_end_of_everything(self):
        """A graceful stop writes what was not written yet; kill -9 of all leaves what was."""
        daemon = self.serve(KEPT)
        session = daemon.session(runtime="bare", keep=True)
        daemon.run("x = 41\nopen('f', 'w').write('made')", session)
        self.assertEqual(daemon.terminate(), 0)
        daemon.start()
        self.assertEqual(daemon.state(session)["state"], "asleep")
        self.expect_whole(daemon, session)
        kept(daemon, session)
        daemon.kill9_all()
        wait_for(lambda: not self.kill_living(daemon), what="the end of all")
        daemon.start()
        asleep(daemon, session)
        self.expect_whole(daemon, session)
        daemon.stop()

    def test_one_in_which_nothing_has_run_stays_with_its_name_and_its_checkpoints(self):
        """By its time that is over, and by a stop."""
        daemon = self.serve(KEPT)
        resting = daemon.session(runtime="bare", keep=True, name="resting", idle_ms=1500)
        stopped = daemon.session(runtime="bare", keep=True, name="stopped")
        for session in (resting, stopped):
            daemon.ask("POST", f"/v1/sessions/{session}/checkpoints", {"name": "start"})
        asleep(daemon, resting)
        self.assertEqual(daemon.terminate(), 0)
        daemon.start()
        for session, name in ((resting, "resting"), (stopped, "stopped")):
            state = daemon.state(session)
            self.assertEqual((state["state"], state["name"]), ("asleep", name))
            self.assertIn("start", [one["name"] for one in states(daemon, session)])
            self.assertNotIn("after", daemon.ask("POST", f"/v1/sessions/{session}/wake")["woken"])
            self.assertEqual(daemon.value("x = 3\nx", session), 3)
            daemon.ask("POST", f"/v1/sessions/{session}/rollback", {"checkpoint": "start"})
            self.assertFalse(daemon.value("'x' in globals()", session))
        daemon.stop()

    def test_classes_functions_and_exceptions_wake_as_they_were(self):
        daemon = self.serve(KEPT)
        session = self.kept_session(
            daemon, "LR = 0.1\nclass ApiError(Exception):\n    def __init__(self, code, text): super().__init__(f'{code}: {text}')\n"
            "class Model:\n    def __init__(self): self.w = [1]\n    def fit(self, lr=LR): return lr\n"
            "LR = 0.5\nmodel = Model(); best = {'m': model, 'w': model.w}; inc = lambda x: x + 1\n"
            "try: raise ApiError(404, 'gone')\nexcept ApiError as e: last_error = e")
        self.assertEqual(daemon.terminate(), 0)
        daemon.start()
        result = daemon.run("model.w.append(2)\n[model.fit(), best['m'] is model, best['w'], inc(1), str(last_error)]", session)
        self.assertEqual(result["result"]["application/json"], [0.1, True, [1, 2], 2, "404: gone"])
        self.assertEqual(result["checkpoint"]["woken"]["missing"], [])
        daemon.stop()

    def test_files_keep_their_permissions_and_times(self):
        daemon = self.serve(KEPT)
        session = self.kept_session(
            daemon, "import os\nos.mkdir('d')\nopen('d/run.sh', 'w').write('#!/bin/sh\\nexit 7\\n')\n"
                    "os.chmod('d/run.sh', 0o755)\nos.utime('d/run.sh', (1e9, 1e9))\nos.chmod('d', 0o555)")
        self.assertEqual(daemon.terminate(), 0)
        daemon.start()
        self.assertEqual(daemon.state(session)["state"], "asleep")
        told = "import os\n[[oct(os.stat(p).st_mode), os.access(p, os.X_OK)] for p in ('d', 'd/run.sh')], os.stat('d/run.sh').st_mtime"
        whole = [[["0o40555", True], ["0o100755", True]], 1e9]
        self.assertEqual(daemon.value(told, session), whole)
        stream = daemon.request("GET", f"/v1/sessions/{session}/export").body
        moved = daemon.ask("POST", "/v1/sessions/import?runtime=bare", stream, status=201)
        self.assertEqual((daemon.value(told, moved["id"]), moved["lost"]), (whole, []))
        daemon.stop()

    def test_what_code_has_set_in_the_interpreter_comes_back(self):
        daemon = self.serve(KEPT)
        session = self.kept_session(
            daemon, "import os, sys, random\nos.makedirs('lib/deep')\nopen('lib/own.py', 'w').write('class A: n = 7')\n"
                    "sys.path.insert(0, '/workspace/lib')\nimport own\na = own.A()\nos.environ['MODE'] = 'fast'\n"
                    "os.chdir('lib/deep')\nrandom.seed(42)\nrandom.random()")
        self.assertEqual(daemon.terminate(), 0)
        daemon.start()
        told = "[os.getcwd(), os.environ['MODE'], sys.path[0], a.n]"
        whole = ["/workspace/lib/deep", "fast", "/workspace/lib", 7]
        self.assertEqual(daemon.value(told, session), whole)
        drawn = random.Random(42)
        drawn.random()
        self.assertEqual(daemon.value("random.random()", session), drawn.random())
        stream = daemon.request("GET", f"/v1/sessions/{session}/export").body
        moved = daemon.ask("POST", "/v1/sessions/import?runtime=bare", stream, status=201)
        self.assertEqual((daemon.value(told, moved["id"]), moved["lost"]), (whole, []))
        daemon.stop()

    def test_a_named_checkpoint_keeps_the_files_of_its_moment(self):
        """Whatever follows at once: a run, files of a client, a way back to another state."""
        daemon = self.serve(KEPT)
        session = daemon.session(runtime="bare", keep=True)
        first = daemon.run("open('f', 'w').write('first')", session)["checkpoint"]["id"]
        for i in range(3):
            daemon.run(f"x = {i}\nopen('f', 'w').write('clean {i}')", session)
            made = daemon.ask("POST", f"/v1/sessions/{session}/checkpoints", {"name": f"clean {i}"})
            self.assertNotIn("files", made)
            if i == 0:
                daemon.run("x = 'dirty'\nopen('f', 'w').write('dirty')", session)
            elif i == 1:
                daemon.ask("PUT", f"/v1/sessions/{session}/files/f", b"dirty")
            else:
                daemon.ask("POST", f"/v1/sessions/{session}/rollback", {"checkpoint": first})
        self.assertEqual(daemon.terminate(), 0)
        daemon.start()
        named = {one["name"]: one for one in states(daemon, session) if one["name"]}
        for i in range(3):
            self.assertNotIn("files", named[f"clean {i}"])
            daemon.ask("POST", f"/v1/sessions/{session}/rollback", {"checkpoint": f"clean {i}"})
            self.assertEqual(daemon.value("[x, open('f').read()]", session), [i, f"clean {i}"])
        daemon.stop()

    def test_a_state_never_has_the_files_of_another_one(self):
        """Whether one that the next run has overtaken was written with its files is a matter of time."""
        daemon = self.serve(KEPT)
        session = daemon.session(runtime="bare", keep=True)
        made = [daemon.run(f"x = {i}\nopen('f', 'w').write('{i}')", session)["checkpoint"]["id"] for i in range(5)]
        daemon.restart()  # the next daemon knows the checkpoints, not which files are whose
        kept(daemon, session)
        self.assertEqual(daemon.terminate(), 0)
        daemon.start()
        told = {one["id"]: one for one in states(daemon, session)}
        self.assertNotIn("files", told[made[-1]])
        for i, state in enumerate(made):
            daemon.ask("POST", f"/v1/sessions/{session}/rollback", {"checkpoint": state})
            x, text = daemon.value("[x, open('f').read()]", session)
            self.assertEqual(x, i)
            if "files" not in told[state]:
                self.assertEqual(text, str(i))
        daemon.stop()

    def test_its_log_goes_on_after_a_graceful_stop(self):
        daemon = self.serve(KEPT)
        session = self.kept_session(daemon)
        for _ in range(2):  # from a sandbox, and from sleep
            self.assertEqual(daemon.terminate(), 0)
            daemon.start()
            with daemon.events(session, follow=False) as events:
                told = [event["type"] for event in events]
            self.assertEqual((told[-1], told.count("asleep"), told.count("ended")), ("asleep", 1, 0), told)
        self.expect_whole(daemon, session)
        with daemon.events(session, after=len(told)) as events:
            events.until("woken")
            events.until("kept")
            daemon.ask("DELETE", f"/v1/sessions/{session}")
            self.assertEqual(list(events)[-1]["type"], "ended")
        daemon.stop()

    def test_a_death_of_viv_launch_puts_it_to_sleep(self):
        daemon = self.serve(KEPT)
        session = self.kept_session(daemon)
        run = daemon.start_run("x = 0\nprint('on', flush=True)\nwhile True: pass", session)
        with daemon.events(run) as events:
            events.until_text("on")
        os.kill(daemon.launch_pid, signal.SIGKILL)
        asleep(daemon, session)
        ended = daemon.result(run)
        self.assertEqual((ended["verdict"]["kind"], ended["verdict"]["remedy_key"], ended["state"]),
                         ("backend", "again", "rolled_back"))
        wait_for(lambda: daemon.request("POST", f"/v1/sessions/{session}/wake").status == 200, what="its waking")
        self.expect_whole(daemon, session)
        daemon.find_processes()
        daemon.stop()

    def test_a_daemon_that_dies_while_one_wakes_leaves_it_asleep(self):
        daemon = self.serve(KEPT)
        session = self.kept_session(
            daemon, "x = 41\nopen('f', 'w').write('made')\nclass Slow:\n    def __reduce__(self):\n"
            "        return (eval, (\"(print('reading'), __import__('time').sleep(3))\",))\nslow = Slow()",
            idle_ms=1500)
        asleep(daemon, session)
        run = daemon.start_run("print(x)", session)
        wait_for(lambda: daemon.state(session)["state"] == "starting", what="its waking")
        daemon.restart()
        asleep(daemon, session)
        self.assertEqual(daemon.result(run)["verdict"]["kind"], "backend")
        self.expect_whole(daemon, session)
        daemon.stop()

    def test_what_a_killed_daemon_left_half_written_is_swept(self):
        daemon = self.serve(KEPT)
        session = self.kept_session(daemon)
        folder = daemon.path("state", "states", session)
        daemon.kill9()
        owner = os.stat(folder)
        for name in ("new", "vars-cp_00000000000000000000000000", "files-99"):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write("half")
        stray = daemon.path("state", "states", "ses_00000000000000000000000000")
        os.mkdir(stray)
        os.chown(stray, owner.st_uid, owner.st_gid)
        daemon.start()
        wait_for(lambda: not os.path.exists(stray), what="the end of the stray")
        self.assertEqual([name for name in on_disk(daemon) if name == "files-99" or name.endswith("000000")], [])
        self.expect_whole(daemon, session)
        daemon.stop()


class RoomTest(KeptCase):
    def test_deleting_the_session_or_its_conversation_deletes_what_is_kept(self):
        daemon = self.serve(KEPT)
        session = self.kept_session(daemon)
        self.assertTrue(on_disk(daemon))
        daemon.ask("DELETE", f"/v1/sessions/{session}")
        wait_for(lambda: not on_disk(daemon), what="an empty disk")
        session = self.kept_session(daemon, idle_ms=1500)
        made = daemon.ask("POST", "/v1/conversations", {"name": "one", "session": session, "document": {"cells": []}})
        asleep(daemon, session)
        daemon.ask("DELETE", f"/v1/conversations/{made['id']}")
        self.assertEqual(daemon.request("GET", f"/v1/sessions/{session}").status, 404)
        wait_for(lambda: not on_disk(daemon), what="an empty disk")
        daemon.stop()

    def test_a_session_that_is_no_longer_kept_leaves_nothing_also_while_it_is_written(self):
        daemon = self.serve(KEPT)
        session = self.kept_session(daemon)
        slow = "import time\nclass Slow:\n    def __reduce__(self):\n        time.sleep(3)\n        return (int, ())\n"
        daemon.run(slow + "slow = Slow()", session)
        wait_for(lambda: "new" in on_disk(daemon), what="a file being written")
        self.assertFalse(daemon.ask("PATCH", f"/v1/sessions/{session}", {"keep": False})["keep"])
        self.assertFalse(os.path.exists(daemon.path("state", "states", session)))
        self.assertEqual(daemon.value("x", session), 41)
        # Kept again, it is written again.
        daemon.run("del slow", session)
        daemon.ask("PATCH", f"/v1/sessions/{session}", {"keep": True})
        kept(daemon, session)
        daemon.ask("PATCH", f"/v1/sessions/{session}", {"keep": False})
        self.assertEqual(daemon.terminate(), 0)
        daemon.start()
        self.assertEqual(daemon.request("GET", f"/v1/sessions/{session}").status, 404)
        self.assertEqual(daemon.ask("GET", "/v1/sessions")["sessions"], [])
        daemon.stop()

    def test_checkpoints_with_a_name_that_are_only_on_disk_stay(self):
        daemon = self.serve(KEPT)
        session = self.kept_session(daemon, "a = 1")
        for name in ("gold", "silver"):
            daemon.ask("POST", f"/v1/sessions/{session}/checkpoints", {"name": name})
            daemon.run("a += 1", session)
            kept(daemon, session)
        daemon.ask("POST", f"/v1/sessions/{session}/restart")
        kept(daemon, session)
        error = self.expect_error(daemon.request("PATCH", f"/v1/sessions/{session}", {"keep": False}), 409, "conflict", "keep")
        self.assertIn("would be lost: gold, silver; drop them first", error["message"])
        self.assertTrue(daemon.state(session)["keep"])
        # Going back to one makes it live, and dropping the other is a decision.
        daemon.ask("POST", f"/v1/sessions/{session}/rollback", {"checkpoint": "gold"})
        self.assertEqual(daemon.value("a", session), 1)
        self.assertEqual(daemon.request("DELETE", f"/v1/sessions/{session}/checkpoints/silver").status, 204)
        self.assertFalse(daemon.ask("PATCH", f"/v1/sessions/{session}", {"keep": False})["keep"])
        daemon.run("a = 7", session)
        daemon.ask("POST", f"/v1/sessions/{session}/rollback", {"checkpoint": "gold"})
        self.assertEqual(daemon.value("a", session), 1)
        daemon.stop()

    def test_a_session_that_is_being_read_stays_kept(self):
        daemon = self.serve(KEPT)
        session = self.kept_session(daemon)
        daemon.run("import time\nclass Slow:\n    def __setstate__(self, d):\n        time.sleep(3)\ns = Slow()\ns.x = 1", session)
        kept(daemon, session)
        self.assertEqual(daemon.terminate(), 0)
        daemon.start()
        waking = threading.Thread(target=daemon.request, args=("POST", f"/v1/sessions/{session}/wake"))
        waking.start()
        wait_for(lambda: daemon.state(session)["state"] == "starting", what="its waking")
        answer = daemon.request("PATCH", f"/v1/sessions/{session}", {"keep": False})
        self.expect_error(answer, 409, "conflict", "keep")
        waking.join()
        self.expect_whole(daemon, session)
        daemon.stop()

    def test_the_oldest_without_a_name_go_first_and_that_is_told(self):
        daemon = self.serve(KEPT.replace("{freeze_ms: 0}", "{freeze_ms: 0, states: 2M}"))
        session = self.kept_session(daemon, "import os\nx = os.urandom(500000)")
        named = daemon.ask("POST", f"/v1/sessions/{session}/checkpoints", {"name": "mine"})["id"]
        for _ in range(5):
            daemon.run("x = os.urandom(500000)", session)
            kept(daemon, session)
        state = kept(daemon, session)["kept"]
        self.assertGreater(state["dropped"], 0)
        self.assertLessEqual(state["bytes"], 2 << 20)
        self.assertTrue([one for one in states(daemon, session) if one["id"] == named and "bytes" in one])
        daemon.run("x = os.urandom(3000000)", session)
        why = wait_for(lambda: daemon.state(session)["kept"].get("why"), what="why it is not kept")
        self.assertIn("have reached their limit", why)
        daemon.stop()

    def test_the_state_that_a_session_is_at_stays_however_short_room_is(self):
        daemon = self.serve(KEPT.replace("{freeze_ms: 0}", "{freeze_ms: 0, states: 2M}"))
        session = self.kept_session(daemon, "x = 'wanted'")
        wanted = daemon.state(session)["head"]
        daemon.run("x = 'undone'", session)
        kept(daemon, session)
        daemon.ask("POST", f"/v1/sessions/{session}/rollback", {"checkpoint": wanted})
        kept(daemon, session)
        other = daemon.session(runtime="bare", keep=True)
        for _ in range(5):
            daemon.run("import os\ny = os.urandom(600000)", other)
            self.assertNotIn("why", kept(daemon, other)["kept"])
        self.assertGreater(daemon.state(other)["kept"]["dropped"], 0)
        # The session that writes pays with its own states first.
        self.assertEqual(daemon.state(session)["kept"]["dropped"], 0)
        self.assertEqual(daemon.terminate(), 0)
        daemon.start()
        self.assertEqual(daemon.state(session)["head"], wanted)
        self.assertEqual(daemon.value("x", session), "wanted")
        daemon.stop()

    def test_a_state_that_cannot_fit_drops_no_other(self):
        daemon = self.serve(KEPT.replace("{freeze_ms: 0}", "{freeze_ms: 0, states: 2M}"))
        session = self.kept_session(daemon, "import os\nx = os.urandom(500000)")
        daemon.run("x = os.urandom(500000)", session)
        kept(daemon, session)
        other = self.kept_session(daemon)
        before = on_disk(daemon)
        daemon.run("x = os.urandom(3000000)", session)
        wait_for(lambda: daemon.state(session)["kept"].get("why"), what="why it is not kept")
        self.assertEqual(on_disk(daemon), before)
        self.assertEqual([daemon.state(one)["kept"]["dropped"] for one in (session, other)], [0, 0])
        daemon.stop()

    def test_a_session_whose_state_is_gone_from_disk_says_that_it_woke_in_another(self):
        daemon = self.serve(KEPT)
        session = self.kept_session(daemon)
        older = daemon.state(session)["head"]
        daemon.run("x = 42", session)
        kept(daemon, session)
        gone = daemon.state(session)["head"]
        self.assertEqual(daemon.terminate(), 0)
        os.unlink(daemon.path("state", "states", session, f"vars-{gone}"))
        daemon.start()
        self.assertEqual(daemon.state(session)["head"], older)
        result = daemon.run("print(x)", session)
        self.assertEqual(result["stdout"], "41\n")
        woken = result["checkpoint"]["woken"]
        self.assertEqual((woken["state"], woken["instead_of"]), (older, gone))
        self.assertIn(f"not the one that it was at, {gone}", result["checkpoint"]["note"])
        daemon.stop()

    def test_a_forged_state_is_no_larger_than_the_session_may_be(self):
        daemon = self.serve(KEPT + "policies: {small: {memory: 64MiB, disk: 16MiB}}\n")
        session = daemon.session(runtime="bare", policy="small", keep=True)
        forge = "import sys\n" \
            "named = lambda end: [m for n, m in sys.modules.items() if n.endswith(end)][0]\n" \
            "look, wire = named('.look'), named('.wire')\n" \
            "def forged(asked, *rest):\n" \
            "    for i in range(128):\n" \
            "        wire.file_piece(b'state', bytes(1 << 20), i == 127)\n" \
            "    return {'names': [], 'lost': []}\n" \
            "look._QUESTIONS['export'] = forged\n"
        daemon.run(forge, session)
        why = wait_for(lambda: daemon.state(session)["kept"].get("why"), what="why it is not kept")
        self.assertIn("larger than the session may be", why)
        daemon.stop()

    def test_a_state_that_never_ends_or_kills_itself_costs_nothing_but_itself(self):
        daemon = self.serve(KEPT)
        session = daemon.session(runtime="bare", keep=True)
        daemon.run("import os\nclass Bomb:\n    def __reduce__(self):\n        os._exit(3)\nbomb = Bomb()\nx = 41", session)
        wait_for(lambda: daemon.state(session)["kept"].get("why"), what="why it is not kept")
        self.assertEqual(daemon.value("x", session), 41)
        daemon.run("del bomb\nopen('f', 'w').write('made')", session)
        kept(daemon, session)
        self.assertNotIn("why", daemon.state(session)["kept"])
        daemon.stop()

    def test_a_state_whose_reading_ends_the_interpreter_says_so_and_what_still_works(self):
        daemon = self.serve(KEPT)
        session = self.kept_session(daemon)
        first = daemon.state(session)["head"]
        daemon.run("import os\nclass B:\n    def __setstate__(self, d): os._exit(3)\nb = B(); b.x = 1", session)
        kept(daemon, session)
        bad = daemon.state(session)["head"]
        self.assertEqual(daemon.terminate(), 0)
        daemon.start()
        verdict = daemon.run("x", session, kind=None)["verdict"]
        self.assertEqual((verdict["kind"], verdict["remedy_key"]), ("backend", "unread"))
        self.assertIn(f"the state {bad} cannot be read: reading it ended the interpreter; try a rollback to {first}, ", verdict["message"])
        self.assertIn("or a restart, which keeps the files", verdict["message"])
        self.assertIn("/rollback", verdict["remedy"])
        self.assertEqual(daemon.state(session)["state"], "asleep")
        for action, body in (("wake", {}), ("rollback", {"checkpoint": bad})):
            with self.subTest(action=action):
                error = self.expect_error(daemon.request("POST", f"/v1/sessions/{session}/{action}", body), 409, "conflict")
                self.assertIn(f"the state {bad} cannot be read: ", error["message"])
                self.assertIn("the session sleeps and keeps its states: POST /v1/sessions/{id}/rollback", error["remedy"])
                self.assertNotIn("DELETE", error["remedy"])
        told = Legacy(daemon).call("rollback", session_id=session, checkpoint=bad)["content"][0]["text"]
        self.assertIn("rollback goes back to another one, list_checkpoints lists them", told)
        self.assertNotIn("close_session", told)
        daemon.ask("POST", f"/v1/sessions/{session}/rollback", {"checkpoint": first})
        self.expect_whole(daemon, session)
        daemon.stop()

    def test_a_daemon_that_is_short_of_descriptors_does_not_blame_the_state(self):
        """Idle clients hold all descriptors and leave one by one, so that every call of the waking fails for want of one."""
        daemon = self.serve(KEPT, wrap=["prlimit", "--nofile=160:160"])
        session = self.kept_session(daemon)
        self.assertEqual(daemon.terminate(), 0)
        daemon.start()
        asleep(daemon, session)
        connection = daemon.connection()
        self.addCleanup(connection.close)
        daemon.send(connection, "GET", "/v1/sessions", None, None).read()
        idle = [socket.create_connection((daemon.host, daemon.port)) for _ in range(160)]
        wait_for(lambda: len(os.listdir(f"/proc/{daemon.serve_pid}/fd")) == 160, what="a daemon that is full")
        told = []
        while idle:
            answer = daemon.send(connection, "POST", f"/v1/sessions/{session}/wake", {}, None)
            told.append(answer.read().decode())
            if answer.status == 200:
                break
            idle.pop().close()
        for one in idle:
            one.close()
        daemon.send(connection, "GET", "/v1/sessions", None, None).read()  # after they have left
        self.assertTrue([text for text in told if "Too many open files" in text], told)
        self.assertEqual([text for text in told if "cannot be read" in text], [])
        self.expect_whole(daemon, session)
        daemon.stop()

    def test_a_state_whose_reading_never_ends_is_given_up_and_says_so(self):
        daemon = self.serve(KEPT + "policies:\n  mine: {timeout: 5s, timeout_max: 5s}\n")
        session = self.kept_session(
            daemon, "class B:\n    def __setstate__(self, d):\n        while True: pass\nb = B(); b.x = 1", policy="mine")
        self.assertEqual(daemon.terminate(), 0)
        daemon.start()
        verdict = daemon.run("1", session, kind=None)["verdict"]
        self.assertEqual((verdict["kind"], verdict["remedy_key"]), ("backend", "unread"))
        self.assertIn("cannot be read: reading it took longer than 5 s; try ", verdict["message"])
        daemon.stop()

    def test_bytes_that_were_damaged_on_disk_do_no_harm(self):
        daemon = self.serve(KEPT)
        session = self.kept_session(daemon, idle_ms=1500)
        asleep(daemon, session)
        for path in glob.glob(daemon.path("state", "states", session, "vars-*")):
            with open(path, "r+b") as file:
                file.write(b"something else")
        result = daemon.run("1", session, kind=None)
        self.assertEqual((result["verdict"]["kind"], result["verdict"]["remedy_key"]), ("backend", "unread"))
        self.assertEqual(daemon.state(session)["state"], "asleep")
        daemon.ask("POST", f"/v1/sessions/{session}/restart")
        self.assertEqual(daemon.value("open('f').read()", session), "made")
        daemon.stop()

    def test_files_that_cannot_be_read_name_only_states_with_other_files_and_no_restart(self):
        daemon = self.serve(KEPT)
        session = self.kept_session(daemon)
        first = daemon.state(session)["head"]
        older = set(glob.glob(daemon.path("state", "states", session, "files-*")))
        daemon.run("open('f', 'w').write('changed')", session)
        kept(daemon, session)
        same = daemon.state(session)["head"]
        daemon.run("x = 42", session)
        kept(daemon, session)
        bad = daemon.state(session)["head"]
        self.assertEqual(daemon.terminate(), 0)
        newer = set(glob.glob(daemon.path("state", "states", session, "files-*"))) - older
        self.assertEqual((len(older), len(newer)), (1, 1))
        for path in newer:
            with open(path, "r+b") as file:
                file.write(b"something else")
        daemon.start()
        for action in ("wake", "restart"):
            with self.subTest(action=action):
                error = self.expect_error(daemon.request("POST", f"/v1/sessions/{session}/{action}", {}), 409, "conflict")
                self.assertIn(f"the files of the state {bad} cannot be read: ", error["message"])
                self.assertIn(f"; try a rollback to {first}", error["message"])
                self.assertNotIn(same, error["message"])
                self.assertNotIn("restart", error["message"])
        daemon.ask("POST", f"/v1/sessions/{session}/rollback", {"checkpoint": first})
        self.expect_whole(daemon, session)
        daemon.stop()

    def test_the_states_are_nobodys_but_the_daemons(self):
        daemon = self.serve(KEPT)
        session = self.kept_session(daemon)
        folder = daemon.path("state", "states", session)
        self.assertEqual(os.stat(folder).st_mode & 0o777, 0o700)
        for name in os.listdir(folder):
            self.assertEqual(os.stat(os.path.join(folder, name)).st_mode & 0o777, 0o600, name)
        daemon.stop()
