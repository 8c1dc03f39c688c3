# SPDX-License-Identifier: Apache-2.0
"""What people made stays: sessions that are kept sleep instead of ending, and wake with what could be written."""

import glob
import hashlib
import os
import signal
import threading

from case import BARE, Case, has_freezer, wait_for

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

    def test_waking_is_one_call_and_says_what_could_not_be_kept(self):
        daemon = self.serve(KEPT)
        session = self.kept_session(
            daemon, "x = 41\nopen('f', 'w').write('made')\nnumbers = (i for i in range(9))", idle_ms=1500)
        asleep(daemon, session)
        answer = daemon.request("GET", f"/v1/sessions/{session}/vars")
        self.assertIn("asleep", self.expect_error(answer, 409, "conflict")["message"])
        woken = daemon.ask("POST", f"/v1/sessions/{session}/wake")
        self.assertEqual((woken["id"], woken["state"]), (session, "idle"))
        result = daemon.run("print(x)", session)
        self.assertEqual([one["name"] for one in result["checkpoint"]["woken"]["missing"]], ["numbers"])
        with daemon.events(session, follow=False) as events:
            told = [event for event in events if event["type"] == "woken"]
        self.assertEqual([one["name"] for one in told[0]["woken"]["missing"]], ["numbers"])
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
              "  other: {python: /usr/bin/python3, preload: [json], pool: 0}\n"
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
        os.kill(daemon.launch_pid, signal.SIGKILL)
        asleep(daemon, session)
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
        self.assertIn("may take", why)
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

    def test_bytes_that_were_damaged_on_disk_do_no_harm(self):
        daemon = self.serve(KEPT)
        session = self.kept_session(daemon, idle_ms=1500)
        asleep(daemon, session)
        for path in glob.glob(daemon.path("state", "states", session, "vars-*")):
            with open(path, "r+b") as file:
                file.write(b"something else")
        result = daemon.run("1", session, kind=None)
        self.assertEqual(result["verdict"]["kind"], "backend")
        self.assertEqual(daemon.state(session)["state"], "asleep")
        daemon.ask("POST", f"/v1/sessions/{session}/restart")
        self.assertEqual(daemon.value("open('f').read()", session), "made")
        daemon.stop()

    def test_the_states_are_nobodys_but_the_daemons(self):
        daemon = self.serve(KEPT)
        session = self.kept_session(daemon)
        folder = daemon.path("state", "states", session)
        self.assertEqual(os.stat(folder).st_mode & 0o777, 0o700)
        for name in os.listdir(folder):
            self.assertEqual(os.stat(os.path.join(folder, name)).st_mode & 0o777, 0o600, name)
        daemon.stop()
