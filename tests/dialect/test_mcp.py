# SPDX-License-Identifier: Apache-2.0
"""MCP's two eras on one path: who is answered how, sessions, streams, headers, access."""

import hashlib
import http.client
import json
import unittest

from mcp_case import (BOTH, LEGACY, META, MODERN, SLEEP, TASKS, Daemon, McpCase, McpClient, McpSession,
                      meta, wait_for)


class Modern(McpCase):
    def test_discover_says_what_is_spoken(self):
        answer = self.mcp.modern("server/discover")
        result = answer.answer()["result"]
        self.assertEqual(result["resultType"], "complete")
        self.assertEqual(result["supportedVersions"][0], MODERN)
        self.assertIn(LEGACY, result["supportedVersions"])
        self.assertIn(META + "tasks", result["capabilities"]["extensions"])
        self.assertGreaterEqual(result["ttlMs"], 0)
        self.assertEqual(result["cacheScope"], "private")
        self.assertEqual(result["_meta"][META + "serverInfo"]["name"], "vivarium")

    def test_without_its_meta_a_request_is_refused(self):
        for params in ({}, {"_meta": {}}, {"_meta": {META + "protocolVersion": MODERN}},
                       {"_meta": {META + "clientCapabilities": {}}},
                       {"_meta": meta() | {META + "clientCapabilities": []}}):
            answer = self.mcp.send("POST", {"jsonrpc": "2.0", "id": 7, "method": "tools/list",
                                            "params": params},
                                   {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/list"})
            self.assertEqual(answer.status, 400, params)
            message = answer.answer()
            self.assert_error(message, -32602, "_meta")
            self.assertEqual(message["id"], 7)

    def test_an_unknown_version_is_told_those_there_are(self):
        params = {"_meta": meta() | {META + "protocolVersion": "v999"}}
        answer = self.mcp.send("POST", {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params},
                               {"MCP-Protocol-Version": "v999", "Mcp-Method": "tools/list"})
        self.assertEqual(answer.status, 400)
        message = answer.answer()
        self.assert_error(message, -32022)
        self.assertEqual(message["error"]["data"]["requested"], "v999")
        self.assertIn(MODERN, message["error"]["data"]["supported"])

    def test_headers_must_say_what_the_body_says(self):
        call = {"name": "list_sessions", "arguments": {}}
        for headers, is_fine in (
                ({}, True), ({"Mcp-Name": " list_sessions "}, True), ({"Mcp-Name": None}, False),
                ({"Mcp-Name": "LIST_SESSIONS"}, False), ({"Mcp-Method": None}, False),
                ({"Mcp-Method": "tools/list"}, False), ({"MCP-Protocol-Version": LEGACY}, False),
                ({"Mcp-Name": "=?base64?bGlzdF9zZXNzaW9ucw==?="}, True),
                ({"Mcp-Name": "=?base64?bGlzdF9zZXNzaW9ucw?="}, False),
                ({"Mcp-Name": "=?base64?!!!?="}, False)):
            answer = self.mcp.modern("tools/call", call, headers)
            message = answer.answer()
            if is_fine:
                self.assertIn("result", message, headers)
                continue
            self.assertEqual(answer.status, 400, headers)
            self.assert_error(message, -32020)

    def test_a_session_id_is_there_in_argument_and_header_or_in_neither(self):
        call = {"name": "list_files", "arguments": {"session_id": "ses_x"}}
        for headers, code in (({"Mcp-Param-Session-Id": None}, -32020),
                              ({"Mcp-Param-Session-Id": "ses_y"}, -32020)):
            answer = self.mcp.modern("tools/call", call, headers)
            self.assertEqual(answer.status, 400)
            self.assert_error(answer.answer(), code)
        answer = self.mcp.modern("tools/call", {"name": "run_python", "arguments": {"code": "1"}},
                                 {"Mcp-Param-Session-Id": "ses_x"})
        self.assert_error(answer.answer(), -32020)

    def test_what_the_other_era_has_is_not_found(self):
        for method in ("initialize", "ping", "logging/setLevel", "resources/subscribe", "tasks/list",
                       "tasks/result", "no/such"):
            answer = self.mcp.modern(method)
            self.assertEqual(answer.status, 404, method)
            self.assert_error(answer.answer(), -32601)

    def test_only_post(self):
        for method in ("GET", "DELETE"):
            answer = self.mcp.send(method, None, {"MCP-Protocol-Version": MODERN, "Accept": BOTH})
            self.assertEqual(answer.status, 405, method)
            self.assertEqual(answer.headers["Allow"], "POST")
            answer.close()

    def test_a_notification_is_taken_and_not_answered(self):
        answer = self.mcp.send("POST", {"jsonrpc": "2.0", "method": "notifications/cancelled",
                                        "params": {"requestId": 1, "_meta": meta()}},
                               {"MCP-Protocol-Version": MODERN})
        self.assertEqual(answer.status, 202)
        self.assertEqual(answer.all(), [])

    def test_a_listener_is_told_that_it_listens(self):
        answer = self.mcp.modern("subscriptions/listen", {"notifications": {"toolsListChanged": True}},
                                 number="sub")
        self.assertTrue(answer.is_stream)
        message = next(answer.messages())
        answer.close()
        self.assertEqual(message["method"], "notifications/subscriptions/acknowledged")
        self.assertEqual(message["params"]["_meta"][META + "subscriptionId"], "sub")
        self.assertEqual(message["params"]["notifications"], {})

    def test_closing_the_answer_ends_the_run(self):
        answer = self.mcp.modern("tools/call", {"name": "run_python", "arguments": {"code": SLEEP}},
                                 more={"progressToken": "p"})
        self.assertEqual(next(answer.messages())["params"]["message"], "here")
        answer.close()
        self.await_verdict("cancelled")

    def test_closing_an_answer_that_has_not_begun_ends_the_run(self):
        with self.assertRaises(TimeoutError):
            self.leave_after(0.5)
        self.await_verdict("cancelled")

    def leave_after(self, seconds):
        connection = http.client.HTTPConnection(self.daemon.host, self.daemon.port, timeout=seconds)
        try:
            connection.request("POST", "/mcp", json.dumps({
                "jsonrpc": "2.0", "id": 1, "method": "tools/call",
                "params": {"name": "run_python", "arguments": {"code": SLEEP}, "_meta": meta()}}), {
                    "Accept": BOTH, "MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call",
                    "Mcp-Name": "run_python"})
            connection.getresponse()
        finally:
            connection.close()

    def test_a_long_call_becomes_a_task_for_who_knows_tasks(self):
        made = self.mcp.tool("run_python", {"code": "import time\ntime.sleep(7)\nprint('late')"},
                             capabilities=TASKS)
        self.assertEqual((made["resultType"], made["status"]), ("task", "working"))
        self.assertNotIn("content", made)
        task = {"taskId": made["taskId"]}

        def done():
            got = self.mcp.modern("tasks/get", task, capabilities=TASKS).answer()["result"]
            return got if got["status"] != "working" else None
        got = wait_for(done, what="the end of the task")
        self.assertEqual(got["status"], "completed")
        self.assertEqual(got["result"]["structuredContent"]["stdout"], "late\n")
        self.assert_error(self.mcp.modern("tasks/get", task).answer(), -32021)

    def test_tasks_that_are_not_there_or_not_known_of(self):
        for method in ("tasks/get", "tasks/update", "tasks/cancel"):
            params = {"taskId": "task_x", "inputResponses": {}}
            self.assert_error(self.mcp.modern(method, params).answer(), -32021)
            self.assert_error(self.mcp.modern(method, params, capabilities=TASKS).answer(), -32602, "taskId")
            self.assert_error(self.mcp.modern(method, {}, capabilities=TASKS).answer(), -32602, "taskId")

    def test_a_task_can_be_cancelled(self):
        made = self.mcp.tool("run_python", {"code": SLEEP}, capabilities=TASKS)
        task = {"taskId": made["taskId"]}
        for _ in range(2):
            ack = self.mcp.modern("tasks/cancel", task, capabilities=TASKS).answer()["result"]
            self.assertEqual(ack["resultType"], "complete")
        got = self.mcp.modern("tasks/get", task, capabilities=TASKS).answer()["result"]
        self.assertEqual(got["status"], "cancelled")
        self.await_verdict("cancelled")


class Queue(McpCase):
    CONFIG = "limits: {concurrent_runs: 1}\n"

    def test_a_call_that_is_given_up_before_its_turn_never_runs(self):
        first = self.mcp.modern("tools/call", {"name": "run_python", "arguments": {"code": SLEEP}},
                                more={"progressToken": 1})
        next(first.messages())
        session = McpSession(self.mcp)
        waits = session.client.send  # one connection after the other: the second has to wait
        connection = self.open_call(session, {"code": "open('/workspace/ran', 'w')"}, 77)
        self.assertEqual(waits("POST", {"jsonrpc": "2.0", "method": "notifications/cancelled",
                                        "params": {"requestId": 77}}, session.headers()).status, 202)
        self.assertNotIn(b"result", connection.getresponse().read())
        first.close()
        self.await_verdict("cancelled")
        # Its turn has come and gone: the next one ran, and it never began.
        self.assertEqual(self.mcp.tool("run_python", {"code": "1"})["structuredContent"]["stdout"], "")
        rows = self.daemon.ask("GET", "/v1/runs")["runs"]
        given_up = next(row for row in rows if "ran" in row["line"])
        self.assertEqual((len(rows), given_up["verdict"]), (3, "cancelled"))
        with self.daemon.events(given_up["id"]) as events:
            self.assertEqual([event["type"] for event in events], ["verdict"])

    def open_call(self, session, arguments, number):
        connection = http.client.HTTPConnection(self.daemon.host, self.daemon.port, timeout=60)
        self.addCleanup(connection.close)
        connection.request("POST", "/mcp", json.dumps({
            "jsonrpc": "2.0", "id": number, "method": "tools/call",
            "params": {"name": "run_python", "arguments": arguments}}),
            session.headers(**{"Accept": BOTH, "Content-Type": "application/json"}))
        return connection


class Legacy(McpCase):
    def test_initialize_gives_a_session_and_echoes_a_version_it_knows(self):
        for version in (LEGACY, "2025-06-18", "2025-03-26", "2024-11-05"):
            session = McpSession(self.mcp, version)
            self.assertEqual(session.hello["protocolVersion"], version)
            self.assertTrue(session.id.isascii() and len(session.id) > 20)
        self.assertEqual(McpSession(self.mcp, "1999-01-01").hello["protocolVersion"], LEGACY)

    def test_without_its_session_a_request_is_refused(self):
        ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        self.assertEqual(self.mcp.send("POST", ping).status, 400)
        self.assertEqual(self.mcp.send("POST", ping, {"Mcp-Session-Id": "mcp_nobody"}).status, 404)
        session = McpSession(self.mcp)
        self.assertEqual(session.request("ping").answer()["result"], {})
        self.assertEqual(self.mcp.send("DELETE", None, session.headers()).status, 204)
        self.assertEqual(session.post(ping).status, 404)
        self.assertEqual(self.mcp.send("DELETE", None, session.headers()).status, 404)

    def test_ids_come_back_as_they_were_sent(self):
        session = McpSession(self.mcp)
        for text in ("0", "-7", "12345678901234567890123", "1.5", '"\\u0061\\n"', '""', "1e2"):
            answer = session.post('{"jsonrpc":"2.0","id":%s,"method":"ping"}' % text)
            self.assertIn('"id":%s,' % text, answer.response.read().decode())

    def test_an_id_that_is_at_work_is_refused(self):
        session = McpSession(self.mcp)
        first = session.request("tools/call", {"name": "run_python", "arguments": {"code": SLEEP},
                                               "_meta": {"progressToken": 1}}, number="twice")
        next(first.messages())
        second = session.request("ping", number="twice")
        self.assertEqual(second.status, 400)
        self.assert_error(second.answer(), -32600, "id")
        session.post({"jsonrpc": "2.0", "method": "notifications/cancelled",
                      "params": {"requestId": "twice"}})
        self.assertEqual(first.all(), [])  # nothing more for this id
        self.await_verdict("cancelled")

    def test_a_client_that_lost_its_stream_gets_the_rest(self):
        session = McpSession(self.mcp)
        code = "import time\nfor i in range(6):\n  print(i, flush=True)\n  time.sleep(.3)"
        first = session.request("tools/call", {"name": "run_python", "arguments": {"code": code},
                                               "_meta": {"progressToken": 1}}, number=5)
        events = first.events()
        self.assertEqual(next(events)[1], "")  # an id to come back with
        last, _ = next(events)
        first.close()
        rest = session.get(**{"Last-Event-ID": last})
        lines = []
        for message in rest.messages():
            if message.get("id") == 5:
                break
            lines.append(message["params"]["message"])
        rest.close()
        self.assertEqual(lines, ["1", "2", "3", "4", "5"])
        self.assertEqual(message["result"]["structuredContent"]["verdict"]["kind"], "ok")

    def test_a_stream_that_got_large_cannot_be_taken_up_but_goes_on(self):
        session = McpSession(self.mcp)
        code = "for i in range(80000): print('x' * 60)\nimport time\ntime.sleep(.5)\nprint('end')"
        stream = session.request("tools/call", {"name": "run_python", "_meta": {"progressToken": 1},
                                                "arguments": {"code": code, "limits": {"output": "1MiB"}}},
                                 number=8)
        last = stream.all()[-1]
        self.assertEqual((last["id"], last["result"]["structuredContent"]["verdict"]["kind"]), (8, "ok"))

    def test_one_stream_of_what_is_said_unasked(self):
        session = McpSession(self.mcp)
        stream = session.get()
        self.assertEqual((stream.status, stream.is_stream), (200, True))
        again = session.get()
        self.assertEqual(again.status, 409)
        again.close()
        self.assertEqual(self.mcp.send("DELETE", None, session.headers()).status, 204)
        self.assertEqual(stream.all(), [])

    def test_sessions_are_bounded_and_the_longest_unused_goes(self):
        first = McpSession(self.mcp)
        for _ in range(1024):
            last = McpSession(self.mcp)
        self.assertEqual(first.request("ping").status, 404)
        self.assertEqual(last.request("ping").status, 200)

    def test_unknown_methods_tools_and_resources(self):
        session = McpSession(self.mcp)
        self.assert_error(session.request("no/such").answer(), -32601)
        self.assert_error(session.request("server/discover").answer(), -32601)
        self.assert_error(session.request("tools/call", {"name": "nope"}).answer(), -32602, "nope")
        self.assert_error(session.request("resources/read", {"uri": "sandbox://ses_x/a"}).answer(), -32002)


class LetGo(McpCase):
    FLAGS = ("--conformance",)

    def test_a_client_that_is_let_go_gets_the_answer_when_it_comes_back(self):
        session = McpSession(self.mcp)
        first = session.request("tools/call", {"name": "test_reconnection", "arguments": {}}, number=5)
        self.assertTrue(first.is_stream)
        text = first.response.read().decode()
        first.close()
        self.assertRegex(text, r"\Aid: \d+_0\ndata: \n\nretry: 300\n\n\Z")  # and then its end, without the answer
        rest = session.get(**{"Last-Event-ID": text.split()[1]})
        self.assertEqual((rest.status, rest.is_stream), (200, True))
        answer = rest.answer()
        self.assertEqual((answer["id"], answer["result"]["content"][0]["text"]), (5, "Reconnected"))


SECRET, OTHER = "s" * 40, "t" * 40
TOKENS = "tokens:\n" + "".join(
    f"  - {{name: {name}, sha256: {hashlib.sha256(secret.encode()).hexdigest()}}}\n"
    for name, secret in (("alice", SECRET), ("bob", OTHER)))


class Access(McpCase):
    CONFIG = TOKENS

    def test_without_a_token_nothing_is_told(self):
        for client in (self.mcp, McpClient(self.daemon, "wrong")):
            answer = client.modern("tools/list")
            self.assertEqual(answer.status, 401)
            self.assertIn("Bearer", answer.headers["WWW-Authenticate"])
            self.assertIn("error", answer.answer())

    def test_nobody_gives_out_tokens_and_that_is_told_without_one(self):
        for path in ("/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-authorization-server"):
            answer = self.mcp.send("GET", None, path=path)
            self.assertEqual(answer.status, 404)
            self.assertEqual(answer.answer()["error"]["kind"], "not_found")

    def test_sessions_of_one_token_are_not_there_for_another(self):
        alice, bob = McpClient(self.daemon, SECRET), McpClient(self.daemon, OTHER)
        session = McpSession(alice)
        answer = bob.send("POST", {"jsonrpc": "2.0", "id": 1, "method": "ping"}, session.headers())
        self.assertEqual(answer.status, 404)
        self.assertEqual(bob.send("DELETE", None, session.headers()).status, 404)
        made = alice.tool("create_session")["structuredContent"]["session_id"]
        self.assertTrue(bob.tool("list_files", {"session_id": made})["isError"])
        self.assertEqual(bob.tool("list_sessions")["structuredContent"]["sessions"], [])
        uri = {"uri": f"sandbox://{made}/"}
        self.assert_error(bob.modern("resources/read", uri).answer(), -32602)
        self.assertIn("result", alice.modern("resources/read", uri).answer())

    def test_tasks_of_one_token_are_not_there_for_another(self):
        alice, bob = McpClient(self.daemon, SECRET), McpClient(self.daemon, OTHER)
        task = {"taskId": alice.tool("run_python", {"code": SLEEP}, capabilities=TASKS)["taskId"]}
        for method in ("tasks/get", "tasks/cancel"):
            self.assert_error(bob.modern(method, task, capabilities=TASKS).answer(), -32602)
        self.assertIn("result", alice.modern("tasks/cancel", task, capabilities=TASKS).answer())


class Origin(McpCase):
    CONFIG = "hosts: [good.example]\n"

    def test_pages_of_strangers_are_refused(self):
        for headers in ({"Origin": "http://evil.example"}, {"Host": "evil.example"}):
            answer = self.mcp.modern("tools/list", headers=headers)
            self.assertEqual(answer.status, 403, headers)
            answer.close()

    def test_pages_of_allowed_origins_may_read(self):
        origin = {"Origin": "http://good.example"}
        answer = self.mcp.modern("tools/list", headers=origin)
        self.assertEqual(answer.headers["Access-Control-Allow-Origin"], origin["Origin"])
        self.assertIn("mcp-session-id", answer.headers["Access-Control-Expose-Headers"].lower())
        answer.close()
        asked = self.mcp.send("OPTIONS", None, {**origin, "Access-Control-Request-Method": "POST",
                                                "Access-Control-Request-Headers": "mcp-method, x"})
        self.assertEqual(asked.status, 204)
        self.assertIn("mcp-method", asked.headers["Access-Control-Allow-Headers"])
        self.assertIn("POST", asked.headers["Access-Control-Allow-Methods"])
        asked.close()


class End(unittest.TestCase):
    def test_a_client_that_listens_does_not_hold_up_the_end(self):
        daemon = Daemon()
        self.addCleanup(daemon.sweep)
        mcp = McpClient(daemon)
        listener = mcp.modern("subscriptions/listen", {"notifications": {}})
        stream = McpSession(mcp).get()
        self.assertEqual(daemon.terminate(seconds=8), 0)  # runs would get 10 s
        self.assertEqual(len(listener.all()), 1)
        self.assertEqual(stream.all(), [])
        daemon.check_nothing_left()

    def test_it_can_be_turned_off_and_moved(self):
        with Daemon("mcp: {enabled: false}\n") as daemon:
            self.assertEqual(McpClient(daemon).modern("tools/list").status, 404)
        with Daemon("mcp: {prefix: /agents}\n") as daemon:
            client = McpClient(daemon)
            self.assertEqual(client.send("POST", {}, path="/agents").status, 400)
            self.assertEqual(client.modern("tools/list").status, 404)


if __name__ == "__main__":
    unittest.main()
