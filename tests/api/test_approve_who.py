# SPDX-License-Identifier: Apache-2.0
"""The right to decide on held runs, and every way in which a caller without it could try to."""

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "dialect"))
# pylint: disable=wrong-import-position
from daemon import DOORS, Daemon, VIV  # noqa: E402
from feed import Feed  # noqa: E402
from held import POLICIES, PROOF, decide, held, key_of, tokens, wait_held, with_key  # noqa: E402
from mcp_talk import Legacy, Modern  # noqa: E402

BOTH = tokens(alice="", bob="", boss=", oversee: true", chief=", oversee: true")


class Overseers(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon(POLICIES + BOTH)
        cls.addClassCleanup(cls.daemon.stop)
        cls.alice, cls.bob, cls.boss, cls.chief = map(cls.daemon.as_token, ("alice", "bob", "boss", "chief"))

    def hold(self, client, session=None, **body):
        run = client.start_run(PROOF, session, **(body if session else {"policy": "asked", **body}))
        wait_held(client)
        return run

    def test_an_agent_cannot_allow_itself(self):
        run = self.hold(self.alice)
        self.assertIn("decides nothing", decide(self.alice, run, status=403)["message"])
        decide(self.alice, run, "deny", status=403)
        decide(self.bob, run, status=404)
        decide(self.daemon, run, status=401)
        self.assertEqual([row["may"] for row in held(self.alice)], [False])
        self.assertEqual(self.alice.ask("GET", f"/v1/runs/{run}")["state"], "held")
        decide(self.boss, run)
        self.assertEqual(self.alice.result(run)["stdout"], "it ran\n")

    def test_an_overseer_does_not_decide_on_its_own_runs(self):
        run = self.hold(self.boss)
        self.assertIn("its own runs", decide(self.boss, run, status=403)["message"])
        self.assertEqual([row["may"] for row in held(self.boss)], [False])
        self.assertEqual([row["may"] for row in held(self.chief)], [True])
        decide(self.chief, run, "deny", {"why": "no"})
        self.assertEqual(self.boss.result(run)["verdict"]["message"], "denied by chief: no; nothing ran")

    def test_one_that_is_alone_decides_for_itself(self):
        daemon = Daemon(POLICIES + tokens(only=", oversee: true"), beside=[self.daemon])
        self.addCleanup(daemon.stop)
        only = daemon.as_token("only")
        run = self.hold(only)
        decide(only, run)
        self.assertEqual(only.result(run)["stdout"], "it ran\n")

    def test_an_overseer_sees_all_and_touches_nothing(self):
        session = self.alice.session(policy="asked", name="hers")
        with Feed(self.boss) as feed, Feed(self.bob) as strange:
            run = self.hold(self.alice, session)
            self.assertEqual(feed.until_run(run, "held")["who"]["token"], "alice")
            mine = self.bob.run("1")["id"]
            strange.until_run(mine, "over")
            self.assertNotIn(run, json.dumps(strange.lines))
        self.assertEqual(self.boss.request("GET", f"/v1/runs/{run}/code").body.decode(), PROOF)
        self.assertEqual(self.boss.ask("GET", f"/v1/sessions/{session}")["token"], "alice")
        self.assertIn(session, [found["id"] for found in self.boss.ask("GET", "/v1/sessions")["sessions"]])
        self.assertIn(run, [row["id"] for row in self.boss.ask("GET", "/v1/runs")["runs"]])
        self.assertIn(mine, [line["run"] for line in self.boss.ask("GET", "/v1/audit")["lines"]])
        for method, path, body in (
                ("DELETE", f"/v1/runs/{run}", None), ("POST", f"/v1/runs/{run}/stdin", {"text": "x"}),
                ("DELETE", f"/v1/sessions/{session}", None), ("POST", f"/v1/sessions/{session}/run", {"code": "1"}),
                ("POST", f"/v1/sessions/{session}/interrupt", {}), ("GET", f"/v1/sessions/{session}/vars", None),
                ("PATCH", f"/v1/sessions/{session}", {"name": "mine"}), ("GET", f"/v1/sessions/{session}/files", None),
                ("GET", f"/v1/sessions/{session}/export", None), ("POST", f"/v1/sessions/{session}/fork", {})):
            self.assertEqual(self.boss.request(method, path, body).status, 404, (method, path))
        self.assertEqual(self.alice.ask("GET", f"/v1/runs/{run}")["state"], "held")
        self.alice.ask("DELETE", f"/v1/sessions/{session}")

    def test_a_key_is_nothing_where_there_are_tokens(self):
        self.assertFalse(os.path.exists(self.daemon.path("state", "approve.key")))
        run = self.hold(self.alice)
        for key in ("", "x" * 43, "boss", "alice"):
            decide(self.alice, run, headers={"Vivarium-Approve": key}, status=403)
        self.assertEqual(self.alice.ask("GET", "/v1/status")["approve"], {"needs": "token", "may": False})
        self.assertEqual(self.boss.ask("GET", "/v1/status")["approve"], {"needs": "token", "may": True})
        self.assertEqual(self.alice.ask("GET", "/v1/status")["caller"], {"token": "alice", "oversees": False})
        self.assertEqual(self.boss.ask("GET", "/v1/status")["caller"], {"token": "boss", "oversees": True})
        decide(self.boss, run, "deny")

    def test_the_daemons_user_decides_and_one_that_shows_a_token_is_that_token(self):
        run = self.hold(self.alice)
        decide(self.alice, run, unix=True, status=403)
        self.assertEqual(self.daemon.ask("GET", "/v1/status", unix=True)["approve"], {"needs": "nothing", "may": True})
        decide(self.daemon, run, unix=True)
        self.assertEqual(self.alice.result(run)["stdout"], "it ran\n")

    def test_no_door_makes_an_overseer(self):
        session = self.alice.session(name="hers alone")
        modern = Modern(self.boss)
        names = [tool["name"] for tool in modern.tools()]
        self.assertFalse([name for name in names if "allow" in name or "deny" in name or "appro" in name], names)
        for name in names:
            if "list" in name or "session" in name:
                self.assertNotIn(session, json.dumps(modern.ask("tools/call", {"name": name, "arguments": {}},
                                                                {"Mcp-Name": name})))
        self.alice.ask("DELETE", f"/v1/sessions/{session}")

    def test_the_audit_log_is_each_ones_own(self):
        mine = self.alice.run("1")["id"]
        run = self.hold(self.alice)
        decide(self.boss, run, "deny")
        lines = self.alice.ask("GET", "/v1/audit?limit=2")["lines"]
        self.assertEqual([(line["run"], line["verdict"], line.get("decided_by")) for line in lines],
                         [(mine, "ok", None), (run, "denied", "boss")])
        self.assertEqual({line["token"] for line in self.bob.ask("GET", "/v1/audit")["lines"]} - {"bob"}, set())
        self.assertIn("alice", {line["token"] for line in self.boss.ask("GET", "/v1/audit?limit=1000")["lines"]})
        for query in ("?limit=0", "?limit=1001", "?limit=x", "?token=alice"):
            self.assertEqual(self.alice.request("GET", f"/v1/audit{query}").status, 400)


class Guessing(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon(POLICIES)
        cls.addClassCleanup(cls.daemon.stop)
        cls.key = key_of(cls.daemon)

    def setUp(self):
        self.run_id = self.daemon.start_run(PROOF, policy="asked")

    def tearDown(self):
        self.assertEqual(self.daemon.ask("GET", f"/v1/runs/{self.run_id}")["state"], "held")
        decide(self.daemon, self.run_id, "deny", headers=with_key(self.daemon))

    def status(self, headers, query="", body=b"{}"):
        """A request with headers as they are: pairs, in order, some of them twice."""
        connection = http.client.HTTPConnection(self.daemon.host, self.daemon.port, timeout=60)
        connection.putrequest("POST", f"/v1/runs/{self.run_id}/allow{query}")
        for name, value in [*headers, ("Content-Length", str(len(body)))]:
            connection.putheader(name, value)
        connection.endheaders(body)
        answer = connection.getresponse()
        status = answer.status, answer.read()
        connection.close()
        return status[0]

    def test_wrong_keys(self):
        key = self.key
        wrong = ["", " ", key[:-1], key + "x", key[:-1] + ("A" if key[-1] != "A" else "B"), key.swapcase(),
                 key * 2, f'"{key}"', f"Bearer {key}", f"{key}, {key}", f"{key};", "x" * 43, "x" * 513, "A" * 4000,
                 key[1:], key[::-1], "%", "null", "true", "0"]
        wrong += [key[:size] + "-" * (43 - size) for size in range(0, 42, 3)]
        for guess in wrong:
            self.assertEqual(self.status([("Vivarium-Approve", guess)]), 403, guess)

    def test_a_wrong_key_is_told_from_a_missing_one(self):
        for headers, why in (({}, "send the header Vivarium-Approve"),
                             ({"Vivarium-Approve": "no"}, "the key in the header Vivarium-Approve is wrong")):
            answer = self.daemon.request("POST", f"/v1/runs/{self.run_id}/allow", {}, headers)
            self.assertEqual(answer.status, 403)
            self.assertIn(why, answer.error["message"])

    def test_tricks_with_headers(self):
        key = self.key
        for headers in ([("Vivarium-Approve", "wrong"), ("Vivarium-Approve", key)],
                        [("Vivarium_Approve", key)], [("X-Vivarium-Approve", key)], [("Authorization", f"Bearer {key}")],
                        [("Cookie", f"Vivarium-Approve={key}")], [("Vivarium-Client", key)],
                        [("X-Forwarded-For", "unix"), ("Vivarium-Client", "page")], [("Forwarded", "for=unix")],
                        [("Vivarium-Forwarded", "1")]):
            self.assertIn(self.status(headers), (400, 403), headers)
        self.assertEqual(self.status([], f"?approve={key}"), 400)
        self.assertEqual(self.status([], body=json.dumps({"key": key}).encode()), 400)
        self.assertEqual(self.status([], body=json.dumps({"approve": key}).encode()), 400)

    def test_a_strangers_page_cannot_even_with_the_key(self):
        for headers in ({"Origin": "http://evil.example"}, {"Origin": "null"}, {"Host": "evil.example"}):
            answer = self.daemon.request("POST", f"/v1/runs/{self.run_id}/allow", {}, {**with_key(self.daemon), **headers})
            self.assertEqual(answer.status, 403, headers)

    def test_nothing_that_is_asked_for_says_that_it_was_allowed(self):
        for more in ({"approve": False}, {"state": "running"}, {"held": False}, {"is_probe": True}, {"held_ms": 0},
                     {"policy": "asked", "approve_ms": 1}, {"who": {"token": "boss"}}):
            answer = self.daemon.request("POST", "/v1/run", {"code": PROOF, "policy": "asked", **more})
            self.assertEqual(answer.status, 400, more)

    def test_variables_of_elsewhere_do_not_come_in_unseen(self):
        answer = self.daemon.request("POST", "/v1/sessions/import?policy=asked", b"anything")
        self.assertEqual((answer.status, answer.error["field"]), (403, "policy"))

    def test_another_user_of_this_machine_may_not(self):
        if os.geteuid() != 0:  # then there is no other that a test could be
            self.assertEqual(self.daemon.ask("GET", "/v1/status")["approve"]["may"], False)
            return
        code = ("import os, sys\nsys.path.insert(0, sys.argv[1])\nos.setgroups([])\nos.setgid(65534)\nos.setuid(65534)\n"
                "from http_client import Client\nclient = Client(unix=sys.argv[2], host='127.0.0.1', port=int(sys.argv[3]))\n"
                "for unix in (True, False):\n"
                "    try:\n"
                "        answer = client.request('POST', f'/v1/runs/{sys.argv[4]}/allow', {}, unix=unix)\n"
                "        print(answer.status)\n"
                "    except OSError:\n"
                "        print('no way in')\n"
                "try:\n    open(sys.argv[5])\n    print('read the key')\nexcept OSError:\n    print('no key')\n")
        here = os.path.dirname(os.path.abspath(__file__))
        told = subprocess.run(["/usr/bin/python3", "-c", code, here, self.daemon.unix, str(self.daemon.port), self.run_id,
                               self.daemon.path("state", "approve.key")], capture_output=True, text=True, check=True)
        first, second, last = told.stdout.split("\n")[:3]
        self.assertIn(first, ("no way in", "403"))
        self.assertEqual((second, last), ("403", "no key"))


class Bounds(unittest.TestCase):
    def test_a_flood_of_held_runs_is_bounded_and_starves_nobody(self):
        daemon = Daemon("limits: {held: 3, concurrent_runs: 2, queue: 2}\n" + POLICIES)
        self.addCleanup(daemon.stop)
        runs = [daemon.start_run(PROOF, policy="asked") for _ in range(3)]
        for _ in range(50):
            answer = daemon.request("POST", "/v1/run", {"code": PROOF, "policy": "asked", "detach": True})
            self.assertEqual((answer.status, answer.error["kind"]), (503, "busy"))
            self.assertTrue(answer.headers["Retry-After"])
        self.assertEqual(daemon.run("print(1)")["stdout"], "1\n")  # held runs take no place of others
        decide(daemon, runs.pop(), "deny", headers=with_key(daemon))
        runs.append(daemon.start_run(PROOF, policy="asked"))
        for run in runs:
            decide(daemon, run, headers=with_key(daemon))
        self.assertEqual([daemon.result(run)["stdout"] for run in runs], ["it ran\n"] * 3)

    def test_what_was_allowed_waits_for_room_and_is_not_refused(self):
        daemon = Daemon("limits: {concurrent_runs: 1, queue: 0}\n" + POLICIES)
        self.addCleanup(daemon.stop)
        runs = [daemon.start_run(PROOF, policy="asked") for _ in range(3)]
        block = daemon.start_run("print('on', flush=True)\nwhile True: pass")
        with daemon.events(block) as events:
            events.until_text("on")
        for run in runs:
            self.assertEqual(decide(daemon, run, headers=with_key(daemon))["state"], "waiting")
            decide(daemon, run, headers=with_key(daemon), status=409)
        daemon.ask("DELETE", f"/v1/runs/{block}")
        self.assertEqual([daemon.result(run)["stdout"] for run in runs], ["it ran\n"] * 3)

    def test_a_tokens_held_runs_are_among_its_own(self):
        daemon = Daemon(POLICIES + tokens(alice=", quotas: {concurrent_runs: 2}", bob="", boss=", oversee: true"))
        self.addCleanup(daemon.stop)
        alice, boss = daemon.as_token("alice"), daemon.as_token("boss")
        runs = [alice.start_run(PROOF, policy="asked") for _ in range(2)]
        self.assertEqual(alice.request("POST", "/v1/run", {"code": "1", "policy": "asked"}).status, 429)
        self.assertEqual(alice.request("POST", "/v1/run", {"code": "1"}).status, 429)
        self.assertEqual(daemon.as_token("bob").run("1")["verdict"]["kind"], "ok")
        decide(boss, runs[0], "deny")
        self.assertEqual(alice.run("1")["verdict"]["kind"], "ok")

    def test_their_bytes_are_bounded(self):
        daemon = Daemon("limits: {body: 1MiB}\n" + POLICIES)
        self.addCleanup(daemon.stop)
        run = daemon.start_run(PROOF, policy="asked", stdin="x" * 600000)
        body = {"code": PROOF, "policy": "asked", "stdin": "x" * 600000, "detach": True}
        answer = daemon.request("POST", "/v1/run", body)
        self.assertEqual((answer.status, answer.error["kind"]), (503, "busy"))
        decide(daemon, run, "deny", headers=with_key(daemon))
        self.assertEqual(daemon.request("POST", "/v1/run", body).status, 202)


class Doors(unittest.TestCase):
    """Every door's runs are held, and each says in its own way how it ended."""

    maxDiff = None
    @classmethod
    def setUpClass(cls):
        doors = ", ".join(f"{name}: {{enabled: true}}" for name in DOORS)
        asking = "".join(f"  {name}: {{approve: true}}\n" for name in ("default", "analysis", "conversation", "ephemeral", "workspace"))
        cls.daemon = Daemon(f"policies:\n{asking}dialects: {{{doors}}}\nexplore: {{root: /usr}}\n")
        cls.addClassCleanup(cls.daemon.stop)

    def through(self, send, via, what, why=None):
        """The answer of a door whose run was held and then decided."""
        got = []
        asker = threading.Thread(target=lambda: got.append(send()))
        asker.start()
        row = wait_held(self.daemon)[0]
        self.assertEqual(row["who"]["via"], via)
        texts = [row["code"], *(item.get("text", "") for item in row["inputs"])]
        self.assertTrue(any("it ran" in text for text in texts), texts)  # what matters can be read
        decide(self.daemon, row["id"], what, {"why": why} if why else {}, headers=with_key(self.daemon))
        asker.join(60)
        self.assertTrue(got, via)
        return got[0]

    def test_mcp_in_both_eras(self):
        for client in (Modern(self.daemon), Legacy(self.daemon)):
            def send(client=client):
                return client.call("run_python", code=PROOF)

            allowed = self.through(send, "mcp", "allow")
            self.assertIn("it ran", json.dumps(allowed))
            self.assertFalse(allowed.get("isError"))
            denied = self.through(send, "mcp", "deny", "not today")
            self.assertTrue(denied["isError"])
            self.assertIn("denied by the holder of the key: not today", json.dumps(denied))
            self.assertNotIn("it ran\\n", json.dumps(denied))

    def test_mcp_tells_who_asked_for_progress_that_it_waits(self):
        client = Modern(self.daemon)

        def send():
            return client.ask("tools/call", {"name": "run_python", "arguments": {"code": PROOF}},
                              {"Mcp-Name": "run_python"}, progressToken="p")

        self.through(send, "mcp", "allow")
        told = [event["params"]["message"] for event in client.events if event.get("method") == "notifications/progress"]
        self.assertRegex(told[0], r"^held: a person must allow it first: `viv allow run_\w+`")
        self.assertEqual(told[1:], ["it ran"])

    def test_each_dialect(self):
        sends = {
            "piston": ("/api/v2/execute", {"language": "python", "version": "*", "files": [{"content": PROOF}]}),
            "librechat": ("/librechat/exec", {"lang": "py", "code": PROOF}),
            "atlas": ("/atlas/exec-python", {"code": PROOF}),
            "elitea": ("/elitea/execute", {"code": PROOF}),
            "agentrail": ("/agentrail/tools/Python", {"code": PROOF}),
            "dify": ("/dify/v1/sandbox/run", {"language": "python3", "code": PROOF}),
            "synapse": ("/synapse/api/tools/python/test", {"code": PROOF}),
        }
        self.assertEqual(sorted(sends), DOORS)
        for via, (path, body) in sends.items():
            def send(path=path, body=body):
                return self.daemon.request("POST", path, body)

            self.assertIn(b"it ran", self.through(send, via, "allow").body, via)
            denied = self.through(send, via, "deny", "not today").body
            self.assertNotIn(b"it ran", denied, via)
            self.assertIn(b"denied by the holder of the key: not today", denied, via)

    def test_a_look_by_atlas_says_why_it_was_denied(self):
        for path in ("/atlas/exec", "/atlas/api/v1/explore"):
            def send(path=path):
                return self.daemon.request("POST", path, {"command": "echo it ran"})

            self.assertIn(b"it ran", self.through(send, "atlas", "allow").body)
            self.assertIn(b"not today", self.through(send, "atlas", "deny", "not today").body)


class CommandLine(unittest.TestCase):
    def viv(self, daemon, *words, **env):
        return subprocess.run([VIV, *words, "--config", daemon.path("vivarium.yaml")], capture_output=True, text=True,
                              timeout=60, check=False, env={**os.environ, **env})

    def test_ps_allow_and_deny(self):
        daemon = Daemon(POLICIES)
        self.addCleanup(daemon.stop)
        first, second = [daemon.start_run(PROOF, policy="asked") for _ in range(2)]
        shown = self.viv(daemon, "ps")
        self.assertEqual([word for word in shown.stdout.split() if word == "held"], ["held"] * 2, shown)
        listed = self.viv(daemon, "allow")
        self.assertIn(PROOF, listed.stdout)
        self.assertEqual(self.viv(daemon, "allow", first).stdout, f"{first} allowed\n")
        self.assertEqual(daemon.result(first)["stdout"], "it ran\n")
        told = self.viv(daemon, "deny", second[:20], "--why", "not yet")
        self.assertEqual(told.stdout, f"{second} denied\n", told)
        self.assertIn(": not yet;", daemon.result(second)["verdict"]["message"])
        again = self.viv(daemon, "allow", second)
        self.assertNotEqual(again.returncode, 0)
        self.assertIn("over", again.stderr)
        self.assertNotEqual(self.viv(daemon, "allow", "nothing").returncode, 0)
        held_one = daemon.start_run(PROOF, policy="asked")
        address = f"http://127.0.0.1:{daemon.port}"
        refused = self.viv(daemon, "allow", held_one, VIVARIUM_URL=address)
        self.assertIn("set $VIVARIUM_APPROVE to the key from the daemon's <state_dir>/approve.key", refused.stderr)
        refused = self.viv(daemon, "allow", held_one, VIVARIUM_URL=address, VIVARIUM_APPROVE="no")
        self.assertIn("the key in $VIVARIUM_APPROVE is wrong", refused.stderr)
        allowed = self.viv(daemon, "allow", held_one, VIVARIUM_URL=address, VIVARIUM_APPROVE=key_of(daemon))
        self.assertEqual(allowed.returncode, 0, allowed)

    def test_a_run_of_the_command_line_waits_and_is_named(self):
        daemon = Daemon(POLICIES)
        self.addCleanup(daemon.stop)
        told = []
        asker = threading.Thread(target=lambda: told.append(self.viv(
            daemon, "run", "--policy", "asked", "-c", PROOF, VIVARIUM_URL=f"http://127.0.0.1:{daemon.port}")))
        asker.start()
        row = wait_held(daemon)[0]
        self.assertEqual(row["who"]["client"], "viv")
        decide(daemon, row["id"], headers=with_key(daemon))
        asker.join(60)
        self.assertIn("it ran", told[0].stdout)

    def waiting(self, daemon, *words, **kw):
        """A `viv` whose run is held, and the line on stderr that says so."""
        process = subprocess.Popen([VIV, *words, "--config", daemon.path("vivarium.yaml")], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, **kw)  # pylint: disable=consider-using-with
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process, process.stderr.readline()

    def test_whoever_waits_at_the_command_line_is_told_once_for_whom(self):
        daemon = Daemon(POLICIES)
        self.addCleanup(daemon.stop)
        ways = [("run", "--policy", "asked", "-c", PROOF), ("run", "--json", "--policy", "asked", "-c", PROOF)]
        session = daemon.ask("POST", "/v1/sessions", {"policy": "asked"}, status=201)["id"]
        ways.append(("session", "run", session, "-c", PROOF))
        for words in ways:
            process, told = self.waiting(daemon, *words)
            run = wait_held(daemon)[0]["id"]
            self.assertTrue(told.endswith(f": held: a person must allow it first: `viv allow {run}`, or on the page\n"), told)
            decide(daemon, run, headers=with_key(daemon))
            out, err = process.communicate(timeout=60)
            self.assertIn("it ran", out)
            self.assertNotIn("held", err)

    def test_events_of_the_command_line_have_it_as_a_line(self):
        daemon = Daemon(POLICIES)
        self.addCleanup(daemon.stop)
        process, _ = self.waiting(daemon, "run", "--events", "--policy", "asked", "-c", PROOF)
        run = wait_held(daemon)[0]["id"]
        decide(daemon, run, headers=with_key(daemon))
        events = [json.loads(line) for line in process.communicate(timeout=60)[0].splitlines()]
        self.assertEqual(events[0], {"type": "held", "run": run})
        self.assertEqual([events[1]["type"], events[-1]["type"]], ["started", "verdict"])

    def test_what_is_typed_before_it_is_allowed_is_read_after(self):
        daemon = Daemon(POLICIES)
        self.addCleanup(daemon.stop)
        process, _ = self.waiting(daemon, "run", "--stdin", "--policy", "asked", "-c", "print('it read', input())",
                                  stdin=subprocess.PIPE)
        process.stdin.write("this\n")
        process.stdin.flush()
        decide(daemon, wait_held(daemon)[0]["id"], headers=with_key(daemon))
        out, err = process.communicate(timeout=60)
        self.assertIn("it read this", out, err)

    def test_ctrl_c_takes_a_held_run_back(self):
        daemon = Daemon(POLICIES)
        self.addCleanup(daemon.stop)
        session = daemon.ask("POST", "/v1/sessions", {"policy": "asked"}, status=201)["id"]
        for words in (("run", "--policy", "asked", "-c", PROOF), ("session", "run", session, "-c", PROOF)):
            process, _ = self.waiting(daemon, *words)
            run = wait_held(daemon)[0]["id"]
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=60)
            self.assertNotIn("it ran", out)
            self.assertIn(daemon.result(run)["verdict"]["kind"], ("cancelled", "interrupted"))
            self.assertEqual(held(daemon), [])

    def test_without_a_daemon_nobody_can_be_asked(self):
        daemon = Daemon(POLICIES, start=False)
        self.addCleanup(daemon.sweep)
        told = self.viv(daemon, "run", "--policy", "asked", "-c", PROOF)
        self.assertNotEqual(told.returncode, 0)
        self.assertIn("which takes a daemon", told.stderr)
        self.assertNotIn("it ran", told.stdout)


if __name__ == "__main__":
    unittest.main()
