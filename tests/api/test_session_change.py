# SPDX-License-Identifier: Apache-2.0
"""A session that gets another name, another policy, another Python."""

import unittest

from daemon import Daemon
from feed import Feed

MIB = 1 << 20


class Rename(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.stop)

    def test_a_session_gets_another_name(self):
        session = self.daemon.session(name="before", runtime="bare")
        path = f"/v1/sessions/{session}"
        self.assertEqual(self.daemon.ask("PATCH", path, {"name": "näch"})["name"], "näch")
        self.assertEqual(self.daemon.ask("PATCH", path, {})["name"], "näch")
        for body, word in (({"name": ""}, "empty"), ({"name": "x" * 201}, "name"), ({"name": 3}, "name"),
                           ({"policy": "x"}, "policy")):
            answer = self.daemon.request("PATCH", path, body)
            self.assertEqual(answer.status, 400, answer)
            self.assertIn(word, answer.error["message"])
        self.assertEqual(self.daemon.request("PATCH", "/v1/sessions/ses_" + "0" * 26, {"name": "x"}).status, 404)
        self.assertEqual(self.daemon.value("1 + 1", session), 2)
        self.daemon.restart()
        self.assertEqual(self.daemon.state(session)["name"], "näch")

    def test_a_starting_one_keeps_it_too(self):
        session = self.daemon.session(name="a", runtime="bare")
        self.daemon.restart()
        self.daemon.ask("PATCH", f"/v1/sessions/{session}", {"name": "b"})  # launch may not have told of it yet
        self.assertEqual(self.daemon.value("2", session), 2)
        self.daemon.restart()
        self.assertEqual(self.daemon.state(session)["name"], "b")

    def test_another_name_of_a_session_is_told(self):
        session = self.daemon.session(runtime="bare")
        with Feed(self.daemon) as feed:
            self.daemon.ask("PATCH", f"/v1/sessions/{session}", {"name": "told"})
            while (event := feed.next())["type"] != "session" or event["session"]["name"] != "told":
                pass


class Restart(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon("backends:\n  remote: {url: 'http://127.0.0.1:9', token: x}\n"
                            "policies:\n  small: {base: default, memory: 200MiB}\n"
                            "  away: {base: default, backend: remote}\n")
        cls.addClassCleanup(cls.daemon.stop)

    def test_what_is_named_changes_and_who_watches_sees_it(self):
        for keep in (False, True):
            session = self.daemon.session(runtime="bare", keep=keep)
            for body, policy, runtime in (({"policy": "small"}, "small", "bare"), ({"runtime": "base"}, "small", "base"),
                                          ({"policy": "default", "runtime": "bare"}, "default", "bare"),
                                          ({}, "default", "bare")):
                with self.subTest(keep=keep, body=body), Feed(self.daemon) as feed:
                    told = self.daemon.ask("POST", f"/v1/sessions/{session}/restart", body)
                    self.assertEqual((told["policy"], told["runtime"], told["backend"]), (policy, runtime, "namespace"))
                    for state in ("starting", "idle"):
                        while (event := feed.next())["type"] != "session" or event["session"]["id"] != session or \
                                event["session"]["state"] != state:
                            pass  # what was before
                        seen = event["session"]
                        self.assertEqual((seen["policy"], seen["runtime"], seen["backend"]), (policy, runtime, "namespace"))
                    self.assertEqual(self.daemon.value("1 + 1", session), 2)

    def test_a_run_says_what_it_was_allowed_whatever_the_policy_is_by_now(self):
        session = self.daemon.session(runtime="bare")
        before = self.daemon.run("1", session, timeout_ms=5000)
        self.assertEqual(before["allowed"], {"timeout_ms": 5000, "memory": 512 * MIB, "output": MIB, "cpus": 1})
        self.daemon.ask("POST", f"/v1/sessions/{session}/restart", {"policy": "small"})
        run = self.daemon.start_run("print('on', flush=True)\nwhile True: pass", session)
        with self.daemon.events(run) as events:
            events.until_text("on")
        self.daemon.restart()  # a run that goes on across it knows it still
        self.daemon.ask("DELETE", f"/v1/runs/{run}")
        small = {"timeout_ms": 30000, "memory": 200 * MIB, "output": MIB, "cpus": 1}
        self.assertEqual(self.daemon.ask("GET", f"/v1/runs/{run}")["allowed"], small)
        self.assertEqual(self.daemon.ask("GET", f"/v1/runs/{before['id']}")["allowed"], before["allowed"])

    def test_what_an_old_sandbox_had_in_memory_is_not_told_of_the_new_one(self):
        session = self.daemon.session(runtime="bare")
        self.daemon.run("x = b'x' * (100 << 20)", session)
        path = f"/v1/sessions/{session}"
        self.assertGreater(self.daemon.state(session)["memory"], 50 * MIB)  # an ordinary user's is looked at from time to time
        told = self.daemon.ask("POST", f"{path}/restart", {})
        self.assertLess(told["memory"], 50 * MIB)
        self.assertLess(self.daemon.ask("POST", f"{path}/checkpoints", {"name": "now"}, status=201)["memory"], 50 * MIB)

    def test_a_policy_under_which_it_cannot_be_costs_nothing(self):
        for how, status, word in (({}, 501, "remote"), ({"backend": "namespace"}, 403, "backend")):
            with self.subTest(how=how):
                session = self.daemon.session(runtime="bare", **how)
                self.daemon.value("x = 7\nx", session)
                answer = self.daemon.request("POST", f"/v1/sessions/{session}/restart", {"policy": "away"})
                self.assertEqual(answer.status, status, answer)
                self.assertIn(word, answer.error["message"])
                self.assertEqual(self.daemon.request("POST", "/v1/sessions", {"policy": "away", **how}).status, status)
                self.assertEqual((self.daemon.state(session)["policy"], self.daemon.value("x", session)), ("default", 7))


if __name__ == "__main__":
    unittest.main()
