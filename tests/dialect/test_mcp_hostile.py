# SPDX-License-Identifier: Apache-2.0
"""MCP and what nobody should send: a clear error of JSON-RPC each time, and nothing is run."""

import hashlib
import http.client
import json
import socket
import unittest

from mcp_case import BOTH, META, MODERN, McpCase, McpClient, McpSession, SLEEP, meta, wait_for

DEEP = 100
HUGE = (16 << 20) + 1


class Hostile(McpCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.session = McpSession(cls.mcp)

    def setUp(self):
        self.before = self.daemon.ask("GET", "/v1/runs")["runs"]

    def tearDown(self):
        self.assertEqual(self.daemon.ask("GET", "/v1/runs")["runs"], self.before)
        self.assertEqual(self.session.request("ping").answer()["result"], {})

    def refused(self, body, code, status=400, **headers):
        answer = self.session.post(body, **headers)
        message = answer.answer()
        self.assert_error(message, code)
        self.assertEqual(answer.status, status, message)
        return message

    def test_what_is_no_message(self):
        for body in ("", " ", "null", "true", "5", '"x"', "nope", "{", '{"jsonrpc":"2.0"', "{}}",
                     '{"jsonrpc":"2.0","id":1,"method":"ping"} x', '{"a":1,}', "\ufeff{}", "{'a':1}",
                     b"\xff\xfe", b'{"jsonrpc":"2.0","id":1,"method":"pi\xffng"}', "[" * 1000,
                     '{"a":' * DEEP + "1" + "}" * DEEP):
            answer = self.session.post(body)
            message = answer.answer()
            self.assertEqual(answer.status, 400, body)
            self.assertIn(message["error"]["code"], (-32700, -32600), body)

    def test_batches(self):
        one = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
               "params": {"name": "run_python", "arguments": {"code": "1"}}}
        for batch in ([], [one], [one, one], [[one]]):
            self.refused(batch, -32600)

    def test_messages_that_are_none_of_json_rpc(self):
        for change in ({"jsonrpc": "1.0"}, {"jsonrpc": 2}, {"method": 5}, {"method": None},
                       {"method": ["ping"]}, {"params": []}, {"params": "x"}, {"params": None}):
            self.refused({"jsonrpc": "2.0", "id": 1, "method": "ping"} | change, -32600)
        self.refused('{"id":1,"method":"ping"}', -32600)
        self.refused('{"jsonrpc":"2.0","id":1}', -32600)
        self.refused('{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}', -32600)
        self.refused('{"jsonrpc":"2.0","id":1,"method":"pi\\u0000ng"}', -32600)

    def test_ids_of_every_kind(self):
        for text in ("null", "true", "false", "{}", "[]", "[1]", '{"a":1}'):
            self.refused('{"jsonrpc":"2.0","id":%s,"method":"ping"}' % text, -32600)
        self.refused('{"jsonrpc":"2.0","id":"%s","method":"ping"}' % ("x" * 600), -32600)
        self.refused('{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', -32600)
        for text in ("0", "-0", "1e400", "9" * 300, '"\\ud83d\\ude00"'):
            answer = self.session.post('{"jsonrpc":"2.0","id":%s,"method":"ping"}' % text)
            self.assertIn('"id":%s,"result":{}' % text, answer.response.read().decode())

    def test_parameters_of_every_kind(self):
        for params in ({}, {"name": 5}, {"name": None}, {"name": ["run_python"]}, {"name": "run_python\0"},
                       {"name": "x" * 10000}, {"name": "run_python", "arguments": []},
                       {"name": "run_python", "arguments": "code"}, {"name": "run_python", "arguments": 5}):
            answer = self.session.request("tools/call", params)
            self.assert_error(answer.answer(), -32602)
        for method, params in (("resources/read", {}), ("resources/read", {"uri": 5}),
                               ("prompts/get", {"name": "x"}), ("tools/list", {"cursor": "x"}),
                               ("completion/complete", {}), ("logging/setLevel", {"level": "loud"})):
            self.assert_error(self.session.request(method, params).answer(), -32602)
        for uri in ("", "x", "sandbox://", "sandbox://ses_x", "sandbox://../etc/passwd", "file:///etc/passwd",
                    "sandbox://ses_x/%", "sandbox://ses_x/%00", "sandbox://run_x/a", "sandbox://" + "x" * 5000,
                    "sandbox://ses_x/" + "y" * 9000):
            answer = self.session.request("resources/read", {"uri": uri}).answer()
            self.assert_error(answer, -32002)

    def test_arguments_of_every_kind_are_told_to_the_model(self):
        for arguments in ({"code": None}, {"code": ["1"]}, {"code": {"a": 1}}, {"code": 1, "x": 2},
                          {"code": "1", "files": "x"}, {"code": "1", "timeout_ms": "soon"},
                          {"code": "1", "timeout_ms": -1}, {"code": "1", "env": {"A": 1}},
                          {"code": "1", "limits": []}, {"code": "1", "limits": {"x": 1}},
                          {"code": "1", "session_id": "../x"}, {"code": "1", "session_id": 5}):
            result = self.session.request("tools/call", {"name": "run_python", "arguments": arguments}).answer()
            self.assertTrue(result["result"]["isError"], arguments)
        raw = ('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_python",'
               '"arguments":{"code":"1","code":"2"}}}')
        self.assertTrue(self.session.post(raw).answer()["result"]["isError"])
        raw = raw.replace('"code":"1","code":"2"', '"code":"1"},"arguments":{"code":"2"')
        self.refused(raw, -32600)

    def test_large_ones(self):
        self.refused(b'"' + b"x" * HUGE + b'"', -32600, 413)
        self.refused({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"x": "y" * (2 << 20)}},
                     -32600, 413)
        self.refused({"jsonrpc": "2.0", "id": 1, "method": "x" * (2 << 20)}, -32600, 413)
        message = self.session.request("m" * 100000).answer()
        self.assert_error(message, -32601)
        self.assertLess(len(message["error"]["message"]), 200)

    def test_headers_of_every_kind(self):
        ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        for headers, status in (({"Accept": "application/json"}, 406), ({"Accept": "text/html"}, 406),
                                ({"Content-Type": "text/plain"}, 415), ({"Mcp-Session-Id": ""}, 404),
                                ({"Mcp-Session-Id": "x" * 5000}, 404), ({"Accept": "*/*"}, 200)):
            answer = self.mcp.send("POST", ping, {**self.session.headers(), **headers})
            self.assertEqual(answer.status, status, headers)
            answer.close()
        for event in ("", "1", "1_", "_1", "99_0", "1_99999999999999999999", "-1_0", "1_0x", "a_b"):
            stream = self.session.get(**{"Last-Event-ID": event})
            self.assertEqual(stream.status, 200, event)  # what cannot be taken up again begins anew
            stream.close()
            self.await_closed()

    def await_closed(self):
        def is_free():
            stream = self.session.get()
            stream.close()
            return stream.status == 200
        wait_for(is_free, what="the end of the stream")
        wait_for(is_free, what="the end of the stream")

    def test_modern_ones(self):
        def send(params, **headers):
            sent = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call", "Mcp-Name": "run_python"}
            return self.mcp.send("POST", {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                                          "params": params}, sent | headers)
        for bad in ({"_meta": 5}, {"_meta": []}, {"_meta": {META + "protocolVersion": 5}},
                    {"_meta": meta() | {META + "clientCapabilities": 5}}):
            answer = send({"name": "run_python", "arguments": {"code": "1"}} | bad)
            self.assertEqual(answer.status, 400, bad)
            self.assert_error(answer.answer(), -32602)
        answer = send({"_meta": meta(), "name": "run_python", "arguments": {"code": "1", "session_id": "é"}},
                      **{"Mcp-Param-Session-Id": "=?base64?w6k=?="})
        self.assertTrue(answer.answer()["result"]["isError"])
        answer = self.mcp.send("POST", {"jsonrpc": "2.0", "id": 1, "result": {}},
                               {"MCP-Protocol-Version": MODERN})
        self.assertEqual(answer.status, 400)
        for params in ({}, {"notifications": []}, {"notifications": 5}):
            self.assert_error(self.mcp.modern("subscriptions/listen", params).answer(), -32602)

    def test_answers_that_nobody_asked_for(self):
        for body in ({"jsonrpc": "2.0", "id": "ask_x", "result": {}},
                     {"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "x"}},
                     {"jsonrpc": "2.0", "method": "notifications/cancelled"},
                     {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": {}}},
                     {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}},
                     {"jsonrpc": "2.0", "method": "no/such"}):
            answer = self.session.post(body)
            self.assertEqual((answer.status, answer.all()), (202, []), body)

    def test_a_body_that_never_ends_well(self):
        with socket.create_connection((self.daemon.host, self.daemon.port), timeout=30) as raw:
            raw.sendall(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{\"jsonrpc\"")
            raw.shutdown(socket.SHUT_WR)
            raw.settimeout(30)
            while raw.recv(4096):
                pass


    def test_what_is_kept_or_told_again_and_again_is_short(self):
        # The token is in every notification: a long one made each printed line cost a megabyte.
        for size, status in ((511, 200), (512, 400), (900000, 400)):
            answer = self.session.request("ping", {"_meta": {"progressToken": "x" * size}})
            self.assertEqual(answer.status, status, size)
            answer.close()
        # As a tree each {} takes 150 bytes and more, and stays as long as the session.
        for capabilities, code in (({"experimental": [{}] * 300000}, -32600), ({"experimental": [{}] * 10000}, -32602),
                                   ({"x" * 5000: 1}, -32602), (["x" * 5000], -32602), ("x" * 5000, -32602)):
            self.refused(json.dumps({"jsonrpc": "2.0", "id": 5, "method": "initialize", "params": {
                "protocolVersion": "2025-11-25", "capabilities": capabilities,
                "clientInfo": {"name": "t", "version": "1"}}}, separators=(",", ":")), code,
                         413 if code == -32600 else 400)


class Crowd(McpCase):
    SECRETS = {"many": "m" * 43, "one": "o" * 43}
    CONFIG = "tokens: [{}]\n".format(", ".join(
        f"{{name: {name}, sha256: {hashlib.sha256(secret.encode()).hexdigest()}}}" for name, secret in SECRETS.items()))

    def test_nobody_pushes_out_the_sessions_of_others(self):
        one = McpSession(McpClient(self.daemon, self.SECRETS["one"]))
        connection = http.client.HTTPConnection(self.daemon.host, self.daemon.port, timeout=60)
        self.addCleanup(connection.close)
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize",
                           "params": {"protocolVersion": "2025-11-25", "capabilities": {}}})
        for _ in range(1100):  # there is room for 1024
            connection.request("POST", "/mcp", body, {"Accept": BOTH, "Content-Type": "application/json",
                                                      "Authorization": "Bearer " + self.SECRETS["many"]})
            answer = connection.getresponse()
            answer.read()
            self.assertEqual(answer.status, 200)
        self.assertEqual(one.request("ping").answer()["result"], {})


class Slow(McpCase):
    def test_a_client_that_reads_nothing_costs_little(self):
        code = "for i in range(200000): print('x' * 100)"
        with socket.create_connection((self.daemon.host, self.daemon.port), timeout=60) as raw:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
                "name": "run_python", "arguments": {"code": code}, "_meta": meta(progressToken=1)}})
            head = (f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: {BOTH}\r\nMcp-Method: tools/call\r\n"
                    f"Content-Type: application/json\r\nMcp-Name: run_python\r\n"
                    f"MCP-Protocol-Version: {MODERN}\r\nContent-Length: {len(body)}\r\n\r\n")
            raw.sendall((head + body).encode())
            self.await_verdict("output")
            # The daemon goes on for others.
            self.assertEqual(self.mcp.tool("run_python", {"code": "1"})["structuredContent"]["verdict"]["kind"],
                             "ok")

    def test_an_answer_to_a_client_that_left_goes_nowhere(self):
        session = McpSession(self.mcp)
        stream = session.request("tools/call", {"name": "run_python", "arguments": {"code": SLEEP},
                                                "_meta": {"progressToken": 1}})
        next(stream.messages())
        stream.close()  # in the 2025 era this is no cancel
        self.assertIsNone(self.last_run()["verdict"])
        self.mcp.send("DELETE", None, session.headers()).close()
        self.await_verdict("cancelled")

    def test_a_client_that_left_before_its_answer_began_harms_nobody(self):
        session = McpSession(self.mcp)
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "run_python", "arguments": {"code": "import time\ntime.sleep(4)"}}})
        head = "".join(f"{name}: {value}\r\n" for name, value in session.headers(Accept=BOTH).items())
        with socket.create_connection((self.daemon.host, self.daemon.port), timeout=60) as raw:
            raw.sendall(f"POST /mcp HTTP/1.1\r\nHost: localhost\r\n{head}"
                        f"Content-Length: {len(body)}\r\n\r\n{body}".encode())
            wait_for(lambda: self.daemon.ask("GET", "/v1/runs")["runs"], what="the run")
        self.await_verdict("ok")  # its answer began as events, with nobody there
        self.assertEqual(session.request("ping").answer()["result"], {})


class Unread(McpCase):
    # Answers may take four times what a body may.
    CONFIG = "limits: {body: 4MiB}\npolicies: {default: {output: 8MiB}}\n"

    def test_answers_that_nobody_reads_do_not_pile_up(self):
        params = {"name": "run_python", "arguments": {"code": "print(('y' * 1000 + '\\n') * 4000)"}}
        session = McpSession(self.mcp)
        body = json.dumps({"jsonrpc": "2.0", "id": "a", "method": "tools/call",
                           "params": {**params, "_meta": {"progressToken": 1}}})
        head = "".join(f"{name}: {value}\r\n" for name, value in session.headers(Accept=BOTH).items())
        raw = socket.socket()
        self.addCleanup(raw.close)
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        raw.connect((self.daemon.host, self.daemon.port))
        raw.sendall(f"POST /mcp HTTP/1.1\r\nHost: localhost\r\n{head}"
                    f"Content-Length: {len(body)}\r\n\r\n{body}".encode())
        wait_for(lambda: self.daemon.ask("GET", "/v1/runs")["runs"], what="the run")
        self.await_verdict("ok")  # before another answer can be in the way of its own

        def answer():
            return session.request("tools/call", {**params, "_meta": {"progressToken": 2}}).answer()
        told = wait_for(lambda: answer().get("error"), what="a refusal")
        self.assertIn("readers", told["message"])
        raw.close()
        self.assertNotIn("error", wait_for(lambda: answer().get("result"), what="room for the answer"))


if __name__ == "__main__":
    unittest.main()
