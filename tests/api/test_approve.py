# SPDX-License-Identifier: Apache-2.0
"""Runs that a person must allow: held, allowed, denied, forgotten, cancelled."""

import json
import os
import stat
import threading
import unittest

from daemon import Daemon, wait_for
from feed import Feed
from held import POLICIES, PROOF, decide, held, key_of, wait_held, with_key

EXPLORE = "explore: {root: %s}\n"


class Case(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon(POLICIES)
        cls.addClassCleanup(cls.daemon.stop)
        cls.key = with_key(cls.daemon)

    def hold(self, code=PROOF, session=None, **body):
        """A detached run that is held; its id."""
        given = body if session else {"policy": "asked", **body}
        run = self.daemon.start_run(code, session, **given)
        self.assertEqual(self.row(run)["state"], "held")
        return run

    def row(self, run):
        return next(row for row in self.daemon.ask("GET", "/v1/runs?limit=1000")["runs"] if row["id"] == run)

    def held_row(self, run):
        return next(row for row in held(self.daemon) if row["id"] == run)

    def allow(self, run, **kw):
        return decide(self.daemon, run, "allow", headers=self.key, **kw)

    def deny(self, run, body=None, **kw):
        return decide(self.daemon, run, "deny", body, headers=self.key, **kw)

    def end(self, run):
        result = self.daemon.result(run)
        return result["verdict"]["kind"], result["verdict"]["message"], result["stdout"]


class Decisions(Case):
    def test_a_held_run_runs_when_it_is_allowed_and_not_before(self):
        with Feed(self.daemon) as feed:
            run = self.hold()
            self.assertEqual(feed.until_run(run, "held")["verdict"], None)
            result = self.daemon.ask("GET", f"/v1/runs/{run}")
            self.assertEqual((result["state"], result["verdict"], result["stdout"]), ("held", None, ""))
            with self.daemon.stream("GET", f"/v1/runs/{run}/events?follow=false") as events:
                self.assertIsNone(events.next())
            row = self.allow(run)
            self.assertIn(row["state"], ("waiting", "running"))
            self.assertEqual(row["id"], run)
            feed.until_run(run, "running")
            feed.until_run(run, "over")
        self.assertEqual(self.end(run), ("ok", "", "it ran\n"))
        with self.daemon.events(run) as events:
            self.assertEqual(events.next()["type"], "started")

    def test_a_client_that_waits_gets_its_result_when_it_was_allowed(self):
        got = []
        asker = threading.Thread(target=lambda: got.append(self.daemon.run(PROOF, policy="asked")))
        asker.start()
        run = wait_held(self.daemon)[0]["id"]
        self.allow(run)
        asker.join(60)
        self.assertEqual((got[0]["id"], got[0]["stdout"], got[0]["state"]), (run, "it ran\n", "none"))

    def test_events_wait_and_begin_with_started(self):
        with self.daemon.stream("POST", "/v1/run", {"code": PROOF, "policy": "asked"}) as events:
            run = events.headers["Vivarium-Run"]
            self.allow(run)
            self.assertEqual(events.next()["type"], "started")
            events.until_text("it ran")
            self.assertEqual(events.until("verdict")["verdict"]["kind"], "ok")

    def test_whoever_follows_a_held_run_is_told_so_at_once(self):
        run = self.hold()
        with self.daemon.events(run) as events:
            told = json.loads(events.response.readline())
            self.assertEqual(told, {"type": "held", "run": run})
            self.allow(run)
            self.assertEqual(events.next()["type"], "started")
            events.until("verdict")
            self.assertIsNone(events.held)  # once
        with self.daemon.events(run) as events:
            events.until("verdict")
            self.assertIsNone(events.held)

    def test_a_denied_run_never_runs_and_says_who_and_why(self):
        run = self.hold()
        self.assertEqual(self.deny(run, {"why": "no <b>network</b>"})["state"], "over")
        kind, message, out = self.end(run)
        self.assertEqual((kind, out), ("denied", ""))
        self.assertEqual(message, "denied by the holder of the key: no <b>network</b>; nothing ran")
        self.assertEqual(self.row(run)["verdict"], "denied")
        with self.daemon.events(run) as events:
            self.assertEqual([event["type"] for event in events], ["verdict"])

    def test_each_run_is_decided_once(self):
        allowed = self.hold()
        self.allow(allowed)
        self.daemon.result(allowed)
        denied = self.hold()
        self.deny(denied)
        running = self.hold("print('on', flush=True)\nwhile True: pass")
        self.allow(running)
        with self.daemon.events(running) as events:
            events.until_text("on")
        for run in (allowed, denied, running):
            for what in (self.allow, self.deny):
                self.assertEqual(what(run, status=409)["kind"], "conflict")
        self.daemon.ask("DELETE", f"/v1/runs/{running}")
        never = self.daemon.run("1")["id"]
        self.assertEqual(self.allow(never, status=409)["kind"], "conflict")
        self.assertEqual(self.allow("run_none", status=404)["kind"], "not_found")

    def test_what_nobody_allows_in_time_is_denied(self):
        run = self.daemon.start_run(PROOF, policy="hasty")
        self.assertEqual(self.end(run), ("denied", "nobody allowed it within 300ms; nothing ran", ""))
        verdict = self.daemon.result(run)["verdict"]
        self.assertEqual((verdict["remedy_key"], verdict["remedy"]), ("again", "run it again"))
        self.assertEqual(self.allow(run, status=409)["kind"], "conflict")

    def test_a_reason_is_bounded_and_other_members_are_refused(self):
        run = self.hold()
        self.assertEqual(self.deny(run, {"why": "x" * 501}, status=400)["field"], "why")
        self.assertEqual(self.deny(run, {"why": 7}, status=400)["field"], "why")
        self.deny(run, {"who": "me"}, status=400)
        self.deny(run, {"why": "x" * 500})
        self.assertIn("x" * 500 + "; nothing ran", self.end(run)[1])

    def test_the_guard_is_asked_when_it_was_allowed(self):
        run = self.hold("import socket", policy="checked")
        self.allow(run)
        self.assertEqual(self.end(run)[0], "guard")
        fine = self.hold(policy="checked")
        self.allow(fine)
        self.assertEqual(self.end(fine)[0], "ok")

    def test_a_command_is_held_too(self):
        run = self.daemon.ask("POST", "/v1/run", {"command": "echo it ran", "policy": "asked", "detach": True})["id"]
        self.assertEqual(self.held_row(run)["code"], "echo it ran")
        self.allow(run)
        self.assertEqual(self.end(run), ("ok", "", "it ran\n"))


class Shown(Case):
    def test_the_row_has_all_of_the_code_and_what_comes_with_it(self):
        code = "# \u20ac\n" + PROOF
        run = self.hold(code, files=[{"path": "in/a.txt", "text": "hello"},
                                     {"path": "b.bin", "base64": "AAECAwQF"}],
                        env={"MODE": "fast"}, args={"n": 1}, stdin="typed", cwd="/workspace/in",
                        data={"columns": ["a"], "rows": [[1]]})
        row = self.held_row(run)
        self.assertEqual((row["code"], row["code_size"], row["line"]), (code, len(code.encode()), PROOF))
        self.assertEqual(row["policy"], "asked")
        self.assertAlmostEqual(row["until_ms"] - row["held_ms"], 600000, delta=5)
        found = {(item["kind"], item["name"]): item["size"] for item in row["inputs"]}
        texts = {item["kind"]: item["text"] for item in row["inputs"] if "text" in item}
        self.assertEqual({name: texts[name] for name in ("env", "args", "stdin")},
                         {"env": "fast", "args": '{"n": 1}', "stdin": "typed"})
        self.assertEqual(found, {
            ("file", "in/a.txt"): 5, ("file", "b.bin"): 6, ("env", "MODE"): 4, ("args", None): len('{"n": 1}'),
            ("stdin", None): 5, ("cwd", "/workspace/in"): None,
            ("data", None): len('{"columns": ["a"], "rows": [[1]]}')})
        self.deny(run)

    def test_what_was_held_is_what_runs(self):
        code = "import os, sys\nprint(open('a').read(), os.environ['K'], sys.stdin.read(), _args)"
        run = self.hold(code, files=[{"path": "a", "text": "file"}], env={"K": "env"}, stdin="in", args=[7])
        self.assertEqual(self.daemon.request("GET", f"/v1/runs/{run}/code").body.decode(), code)
        self.allow(run)
        self.assertEqual(self.end(run)[2], "file env in [7]\n")

    def test_code_that_cannot_be_shown_whole_is_refused(self):
        answer = self.daemon.request("POST", "/v1/run", {"code": "#" * ((1 << 20) + 1), "policy": "asked"})
        self.assertEqual((answer.status, answer.error["field"]), (413, "code"))
        run = self.hold("#" * (1 << 20))
        row = self.held_row(run)
        self.assertEqual((len(row["code"]), row["code_size"]), (64 << 10, 1 << 20))
        self.assertEqual(len(self.daemon.request("GET", f"/v1/runs/{run}/code").body), 1 << 20)
        self.deny(run)

    def test_markup_and_doubled_names_hide_nothing(self):
        files = '[{"path":"<img src=x>","text":"1"},{"path":"a","text":"2"}]'
        body = '{"code":"1","policy":"asked","detach":true,"files":' + files + "}"
        run = self.daemon.ask("POST", "/v1/run", body)["id"]
        self.assertEqual([item["name"] for item in self.held_row(run)["inputs"]], ["<img src=x>", "a"])
        self.deny(run)
        start = '{"code":"import os; print(os.listdir())","policy":"asked","detach":true,"files":['
        for sent in ('{"path":"shown","path":"real","text":"2"}', '{"path":"shown","text":"x","p\\u0061th":"real"}'):
            answer = self.daemon.request("POST", "/v1/run", start + sent + "]}")
            self.assertEqual((answer.status, answer.error["field"]), (400, "files[0].path"), sent)
        for sent in ('{"p\\u0061th":"real","base64":"AAEC"}', '{ "text" : "}{\\"" , "path" : "real" }'):
            body = start + sent + "]}"
            run = self.daemon.ask("POST", "/v1/run", body)["id"]
            names = [item["name"] for item in self.held_row(run)["inputs"]]
            self.allow(run)
            self.assertEqual((names, self.end(run)[2]), (["real"], "['real']\n"), sent)


    def test_arguments_that_cannot_be_shown_whole_are_refused(self):
        for size, status in (((256 << 10) - 2, 202), (256 << 10, 413), (4 << 20, 413)):
            answer = self.daemon.request("POST", "/v1/run", {"code": "1", "policy": "asked", "args": "x" * size,
                                                             "detach": True})
            self.assertEqual(answer.status, status, size)
        self.assertEqual(len(held(self.daemon)[0]["inputs"][0]["text"]), 256 << 10)
        self.deny(answer.headers["Vivarium-Run"] if status == 202 else held(self.daemon)[0]["id"])


class Ends(Case):
    def test_a_client_that_leaves_and_said_cancel_ends_it(self):
        with self.daemon.stream("POST", "/v1/run?on_disconnect=cancel", {"code": PROOF, "policy": "asked"}) as events:
            run = events.headers["Vivarium-Run"]
            self.assertEqual(self.row(run)["state"], "held")
        self.assertEqual(self.end(run)[::2], ("cancelled", ""))
        self.allow(run, status=409)

    def test_a_client_that_leaves_for_good_has_its_run_later(self):
        with self.daemon.stream("POST", "/v1/run", {"code": PROOF, "policy": "asked"}) as events:
            run = events.headers["Vivarium-Run"]
        self.assertEqual(self.row(run)["state"], "held")
        self.allow(run)
        self.assertEqual(self.end(run), ("ok", "", "it ran\n"))

    def test_it_can_be_cancelled(self):
        run = self.hold()
        self.assertEqual(self.daemon.request("DELETE", f"/v1/runs/{run}").status, 204)
        self.assertEqual(self.end(run)[::2], ("cancelled", ""))
        self.assertNotIn(run, [row["id"] for row in held(self.daemon)])

    def test_a_stop_denies_and_runs_nothing(self):
        daemon = Daemon(POLICIES, beside=[self.daemon])
        self.addCleanup(daemon.sweep)
        got = []
        asker = threading.Thread(target=lambda: got.append(daemon.run(PROOF, kind="denied", policy="asked")))
        asker.start()
        wait_held(daemon)
        self.assertEqual(daemon.terminate(8), 0)
        asker.join(60)
        self.assertIn("the daemon was stopped before anyone allowed the run", got[0]["verdict"]["message"])
        self.assertEqual(got[0]["verdict"]["remedy"], "run it again")

    def test_after_kill_9_nothing_runs_that_nobody_allowed(self):
        daemon = Daemon(POLICIES, beside=[self.daemon])
        self.addCleanup(daemon.stop)
        session = daemon.session(policy="asked")
        runs = [daemon.start_run(PROOF, policy="asked"), daemon.start_run(PROOF, session)]
        wait_held(daemon, 2)
        daemon.restart()
        for run in runs:
            result = wait_for(lambda run=run: (lambda found: found["verdict"] and found)(
                daemon.ask("GET", f"/v1/runs/{run}")), what="its verdict")
            self.assertEqual((result["verdict"]["kind"], result["stdout"]), ("denied", ""))
            self.assertIn("nothing ran", result["verdict"]["message"])
            self.assertEqual((result["verdict"]["remedy_key"], result["verdict"]["remedy"]), ("again", "run it again"))
            decide(daemon, run, headers=with_key(daemon), status=409)
        self.assertEqual(held(daemon), [])
        again = daemon.start_run("print(1)", session)
        wait_held(daemon)
        decide(daemon, again, headers=with_key(daemon))
        self.assertEqual(daemon.result(again)["stdout"], "1\n")

    def test_launch_dies_while_it_is_held(self):
        daemon = Daemon(POLICIES, beside=[self.daemon])
        self.addCleanup(daemon.stop)
        run = daemon.start_run(PROOF, policy="asked")
        wait_held(daemon)
        os.kill(daemon.launch_pid, 9)

        def allowed():
            return daemon.request("POST", f"/v1/runs/{run}/allow", {}, with_key(daemon)).status == 200

        wait_for(allowed, what="a launch that can")
        result = daemon.result(run)
        self.assertIn(result["verdict"]["kind"], ("ok", "backend"))
        daemon.find_launch()


class Sessions(Case):
    def test_runs_of_a_session_stay_in_order(self):
        session = self.daemon.session(policy="asked")
        runs = [self.hold(f"seen = globals().get('seen', []) + [{i}]", session) for i in range(3)]
        self.allow(runs[2])
        self.allow(runs[1])
        self.assertEqual([self.row(run)["state"] for run in runs], ["held", "waiting", "waiting"])
        self.assertEqual(self.daemon.state(session)["state"], "idle")
        self.allow(runs[0])
        self.assertEqual([self.end(run)[0] for run in runs], ["ok"] * 3)
        last = self.hold("print(seen)", session)
        self.allow(last)
        self.assertEqual(self.end(last)[2], "[0, 1, 2]\n")

    def test_one_that_is_denied_makes_way(self):
        session = self.daemon.session(policy="asked")
        first, second = self.hold("x = 1", session), self.hold("print('x' in globals())", session)
        self.allow(second)
        self.deny(first)
        self.assertEqual(self.end(first)[0], "denied")
        self.assertEqual(self.daemon.ask("GET", f"/v1/runs/{first}")["state"], "preserved")
        self.assertEqual(self.end(second), ("ok", "", "False\n"))

    def test_an_interrupt_cancels_a_held_run(self):
        session = self.daemon.session(policy="asked")
        first, second = self.hold(session=session), self.hold(session=session)
        self.daemon.ask("POST", f"/v1/sessions/{session}/interrupt", {"run": second})
        self.assertEqual((self.end(second)[0], self.row(first)["state"]), ("cancelled", "held"))
        self.daemon.ask("POST", f"/v1/sessions/{session}/interrupt", {})
        self.assertEqual(self.end(first)[0], "cancelled")
        answer = self.daemon.request("POST", f"/v1/sessions/{session}/interrupt", {})
        self.assertEqual(answer.status, 409)

    def test_a_session_that_is_closed_takes_its_held_runs_along(self):
        session = self.daemon.session(policy="asked")
        run = self.hold(session=session)
        self.daemon.ask("DELETE", f"/v1/sessions/{session}")
        self.assertEqual(self.end(run)[::2], ("cancelled", ""))
        self.assertEqual(held(self.daemon), [])

    def test_variables_can_be_looked_at_while_a_run_is_held(self):
        session = self.daemon.session(policy="asked")
        run = self.hold("x = 7", session)
        self.assertEqual(self.daemon.ask("GET", f"/v1/sessions/{session}/vars")["vars"], [])
        self.allow(run)
        self.daemon.result(run)
        found = self.daemon.ask("GET", f"/v1/sessions/{session}/vars")["vars"]
        self.assertEqual([var["name"] for var in found], ["x"])


class Key(Case):
    def test_the_key_is_for_the_daemon_alone(self):
        path = self.daemon.path("state", "approve.key")
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        self.assertGreaterEqual(len(key_of(self.daemon)), 43)
        self.assertIn(f"/#approve={key_of(self.daemon)}", self.daemon.log())

    def test_the_key_stays_over_a_restart_and_one_that_others_can_read_is_refused(self):
        daemon = Daemon(POLICIES, beside=[self.daemon])
        self.addCleanup(daemon.sweep)
        key = key_of(daemon)
        daemon.restart()
        self.assertEqual(key_of(daemon), key)
        daemon.terminate()
        os.chmod(daemon.path("state", "approve.key"), 0o644)
        self.assertNotEqual(daemon.spawn().wait(60), 0)
        self.assertIn("other users can read", daemon.log())

    def test_status_says_what_is_needed(self):
        def approve(**kw):
            return self.daemon.ask("GET", "/v1/status", **kw)["approve"]

        self.assertEqual(approve(), {"needs": "key", "may": False})
        self.assertEqual(approve(headers=self.key), {"needs": "key", "may": True})
        self.assertEqual(approve(headers={"Vivarium-Approve": "x" * 43}), {"needs": "key", "may": False})
        self.assertEqual(approve(unix=True), {"needs": "nothing", "may": True})

    def test_the_daemons_user_decides_on_the_socket(self):
        run = self.hold()
        self.assertEqual(decide(self.daemon, run, "deny", unix=True)["verdict"], "denied")
        self.assertIn("denied by the daemon's user", self.end(run)[1])


class Explore(unittest.TestCase):
    def test_a_look_at_a_folder_is_held_too(self):
        folder = os.path.dirname(os.path.abspath(__file__))
        daemon = Daemon(POLICIES + EXPLORE % folder)
        self.addCleanup(daemon.stop)
        got = []
        asker = threading.Thread(target=lambda: got.append(daemon.ask(
            "POST", "/v1/explore", {"command": "ls test_approve.py", "policy": "asked"})))
        asker.start()
        row = wait_held(daemon)[0]
        self.assertEqual((row["op"], row["code"]), ("explore", "ls test_approve.py"))
        decide(daemon, row["id"], headers=with_key(daemon))
        asker.join(60)
        self.assertEqual(got[0]["stdout"], "test_approve.py\n")

    def test_a_default_policy_that_asks_does_not_make_the_daemon_ill(self):
        daemon = Daemon("policies:\n  default: {approve: true}\n")
        self.addCleanup(daemon.stop)
        wait_for(lambda: daemon.ask("GET", "/health", status=(200, 503))["status"] == "ok", what="health")
        self.assertEqual(held(daemon), [])
        run = daemon.start_run(PROOF)
        decide(daemon, run, headers=with_key(daemon))
        self.assertEqual(daemon.result(run)["stdout"], "it ran\n")


if __name__ == "__main__":
    unittest.main()
