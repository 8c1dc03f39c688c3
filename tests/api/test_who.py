# SPDX-License-Identifier: Apache-2.0
"""The caller and the code of a run are recorded; a client's own claims about itself are only shown."""

import hashlib
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "dialect"))
# pylint: disable=wrong-import-position
from daemon import Daemon, wait_for  # noqa: E402
from mcp_talk import Legacy, META, Modern  # noqa: E402

TOKENS = "tokens:\n" + "".join(f"  - {{name: {name}, sha256: {hashlib.sha256(name.encode()).hexdigest()}}}\n"
                               for name in ("alice", "bob"))
NO_NAMES = ("", "x" * 65, "x" * 4000, "a\tb", "caf\xe9")
NAMES = ("page", "viv", "x" * 64, "<img src=x onerror=alert(1)>", "a b", '"}],"token":"root"', "\\u0000", "~")


class Who(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon("dialects: {piston: {enabled: true}}\n")
        cls.addClassCleanup(cls.daemon.stop)

    def latest(self):
        return self.daemon.ask("GET", "/v1/runs?limit=1")["runs"][0]

    def run_as(self, client, **kw):
        self.daemon.ask("POST", "/v1/run", {"code": "1"}, headers={"Vivarium-Client": client}, **kw)
        return self.latest()["who"]

    def test_a_plain_run_over_tcp_and_over_the_socket(self):
        run = self.daemon.run("1")
        nobody = {"token": None, "via": "http", "client": None, "peer": "127.0.0.1"}
        self.assertEqual(run["who"], nobody)
        self.assertEqual(self.latest()["who"], nobody)
        self.assertEqual(self.daemon.ask("GET", f"/v1/runs/{run['id']}")["who"], nobody)
        self.assertEqual(self.run_as("viv", unix=True), {**nobody, "client": "viv", "peer": "unix"})

    def test_a_client_is_called_as_it_says_and_any_other_bytes_are_nothing(self):
        for name in NAMES:
            self.assertEqual(self.run_as(name)["client"], name)
        for name in NO_NAMES:
            self.assertIsNone(self.run_as(name)["client"], name)
        for name in ("\x7f", "a\x00b", "a\x1b[2Jb"):
            answer = self.daemon.request("POST", "/v1/run", {"code": "1"}, {"Vivarium-Client": name})
            self.assertEqual(answer.status, 400, name)

    def test_mcp_says_its_client_in_both_eras(self):
        modern = Modern(self.daemon)
        modern.ask("tools/call", {"name": "run_python", "arguments": {"code": "1"}}, {"Mcp-Name": "run_python"},
                   **{META + "clientInfo": {"name": "agent <7>", "version": "1"}})
        self.assertEqual((self.latest()["who"]["via"], self.latest()["who"]["client"]), ("mcp", "agent <7>"))
        Legacy(self.daemon).call("run_python", code="2")
        self.assertEqual((self.latest()["who"]["via"], self.latest()["who"]["client"]), ("mcp", "test"))
        modern.ask("tools/call", {"name": "run_python", "arguments": {"code": "3"}}, {"Mcp-Name": "run_python"},
                   **{META + "clientInfo": {"name": "line\nbreak", "version": "1"}})
        self.assertIsNone(self.latest()["who"]["client"])

    def test_a_door_is_told_by_its_name(self):
        body = {"language": "python", "version": "*", "files": [{"content": "print(7)"}]}
        self.daemon.ask("POST", "/api/v2/execute", body, headers={"Vivarium-Client": "some bot"})
        self.assertEqual(self.latest()["who"],
                         {"token": None, "via": "piston", "client": "some bot", "peer": "127.0.0.1"})

    def test_it_is_kept_over_a_restart_and_in_the_audit_log(self):
        daemon = Daemon(beside=[self.daemon])
        self.addCleanup(daemon.stop)
        daemon.ask("POST", "/v1/run", {"code": "7 * 6"}, headers={"Vivarium-Client": "mine"})
        run = daemon.start_run("import time\nprint('on', flush=True)\ntime.sleep(60)")
        with daemon.events(run) as events:
            events.until_text("on")
        daemon.restart()
        rows = wait_for(lambda: daemon.ask("GET", "/v1/runs")["runs"])
        self.assertEqual([(row["who"]["client"], row["line"]) for row in rows],
                         [(None, "print('on', flush=True)"), ("mine", "7 * 6")])
        wait_for(lambda: daemon.ask("GET", "/v1/runs?limit=1")["runs"][0]["state"] == "running")
        daemon.ask("DELETE", f"/v1/runs/{run}")
        with open(daemon.path("state", "audit.jsonl"), encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        self.assertEqual([(line["via"], line["client"]) for line in lines], [("http", "mine"), ("http", None)])

    # ---- code ----

    def test_the_code_is_given_back_as_it_was_and_runs_nowhere(self):
        code = "x = '\u20ac <script>alert(1)</script>'\nprint(1)\n"
        run = self.daemon.run(code)["id"]
        answer = self.daemon.request("GET", f"/v1/runs/{run}/code")
        self.assertEqual(answer.body.decode(), code)
        self.assertEqual(answer.headers["Content-Type"], "text/plain; charset=utf-8")
        self.assertEqual(answer.headers["X-Content-Type-Options"], "nosniff")
        self.assertEqual(answer.headers["Content-Security-Policy"], "sandbox; default-src 'none'")
        row = self.latest()
        self.assertEqual((row["line"], row["code_size"]), (code.split("\n")[0], len(code.encode())))
        command = self.daemon.run(command="echo hi")["id"]
        self.assertEqual(self.daemon.request("GET", f"/v1/runs/{command}/code").body, b"echo hi")
        for path in ("run_none", "ses_x", "%2e%2e"):
            self.assertEqual(self.daemon.request("GET", f"/v1/runs/{path}/code").status, 404)

    def test_long_code_is_kept_to_a_mebibyte_and_its_size_is_told(self):
        code = "#" + "x" * (2 << 20) + "\n1"
        run = self.daemon.run(code)["id"]
        self.assertEqual(self.daemon.request("GET", f"/v1/runs/{run}/code").body, code[:1 << 20].encode())
        self.assertEqual(self.latest()["code_size"], len(code))

    def test_a_line_is_cut_at_a_whole_character(self):
        self.daemon.run("#" + "\u20ac" * 200)
        line = self.latest()["line"]
        self.assertEqual(line, "#" + "\u20ac" * 39)
        self.daemon.run("\n\n  \n1 + 1\r\nprint(2)")
        self.assertEqual(self.latest()["line"], "1 + 1")


class Tokens(unittest.TestCase):
    def test_a_token_is_named_and_others_see_nothing(self):
        with_tokens = Daemon(TOKENS)
        self.addCleanup(with_tokens.stop)
        alice, bob = with_tokens.as_token("alice"), with_tokens.as_token("bob")
        run = alice.run("1")
        self.assertEqual(run["who"]["token"], "alice")
        for path in ("", "/code", "/events?follow=false"):
            self.assertEqual(bob.request("GET", f"/v1/runs/{run['id']}{path}").status, 404)
        self.assertEqual(bob.ask("GET", "/v1/runs")["runs"], [])


if __name__ == "__main__":
    unittest.main()
