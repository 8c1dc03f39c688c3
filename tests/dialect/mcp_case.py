# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of MCP: a client of each era that knows HTTP and JSON and nothing else."""

import http.client
import itertools
import os
import socket
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "api"))
# pylint: disable=wrong-import-position
import json  # noqa: E402

from daemon import Daemon, VIV, wait_for  # noqa: E402,F401
from http_client import UnixConnection, strict_json  # noqa: E402

META = "io.modelcontextprotocol/"
MODERN, LEGACY = "2026-07-28", "2025-11-25"
BOTH = "application/json, text/event-stream"
TASKS = {"extensions": {META + "tasks": {}}}
SLEEP = "import time\nprint('here', flush=True)\ntime.sleep(60)"


def meta(capabilities=None, **more):
    return {META + "protocolVersion": MODERN, META + "clientCapabilities": capabilities or {}, **more}


class Stream:
    """An answer, whole or event by event."""

    def __init__(self, connection, response):
        self.connection, self.response = connection, response
        self.status, self.headers = response.status, response.headers
        self.is_stream = (response.headers["Content-Type"] or "").startswith("text/event-stream")
        self.last_id = None

    def events(self):
        """(id, data) of each event; data is a text, perhaps empty."""
        number, data = None, None
        for raw in self.response:
            line = raw.decode().rstrip("\n")
            if line.startswith("id: "):
                number = self.last_id = line[4:]
            elif line.startswith("data: "):
                assert data is None, "a message is one line"
                data = line[6:]
            elif line == "" and (number is not None or data is not None):
                yield number, data or ""
                number, data = None, None
            else:
                assert line == "" or line.startswith((":", "event: message", "retry: ")), line

    def messages(self):
        if not self.is_stream:
            body = self.response.read()
            if body:
                yield strict_json(body)
            return
        for _, data in self.events():
            if data:
                yield strict_json(data)

    def all(self):
        found = list(self.messages())
        self.close()
        return found

    def answer(self):
        """The message that answers: the last one."""
        return self.all()[-1]

    def close(self):
        try:
            self.connection.sock.shutdown(socket.SHUT_RDWR)
        except (OSError, AttributeError):
            pass
        self.response.close()
        self.connection.close()


class McpClient:
    """Requests to /mcp of one daemon."""

    def __init__(self, daemon, token=None):
        self.daemon, self.token = daemon, token
        self.ids = itertools.count(1)

    def send(self, method, body=None, headers=None, path="/mcp", is_unix=False):
        connection = (UnixConnection(self.daemon.unix) if is_unix else
                      http.client.HTTPConnection(self.daemon.host, self.daemon.port, timeout=60))
        sent = {"Accept": BOTH, "Content-Type": "application/json"} if body is not None else {}
        if self.token:
            sent["Authorization"] = "Bearer " + self.token
        sent.update(headers or {})
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
        body = body.encode() if isinstance(body, str) else body
        connection.request(method, path, body, {k: v for k, v in sent.items() if v is not None})
        return Stream(connection, connection.getresponse())

    def modern(self, method, params=None, headers=None, capabilities=None, number=None, more=None):
        """One request of the 2026 era, with the headers that it must have."""
        params = dict(params or {})
        params["_meta"] = meta(capabilities, **(more or {}))
        sent = {"MCP-Protocol-Version": MODERN, "Mcp-Method": method}
        for name in ("name", "uri", "taskId"):
            if isinstance(params.get(name), str):
                sent["Mcp-Name"] = params[name]
        session = (params.get("arguments") or {}).get("session_id")
        if isinstance(session, (str, int)):
            sent["Mcp-Param-Session-Id"] = str(session)
        sent.update(headers or {})
        number = next(self.ids) if number is None else number
        return self.send("POST", {"jsonrpc": "2.0", "id": number, "method": method, "params": params},
                         sent)

    def tool(self, name, arguments=None, **more):
        """The result of one call of a tool."""
        answer = self.modern("tools/call", {"name": name, "arguments": arguments or {}}, **more).answer()
        assert "result" in answer, answer
        return answer["result"]


class McpSession:
    """A client of the 2025 era, initialized."""

    def __init__(self, client, version=LEGACY, capabilities=None):
        self.client, self.version = client, version
        answer = client.send("POST", {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": version, "capabilities": capabilities or {},
            "clientInfo": {"name": "test", "version": "1"}}})
        self.id = answer.headers["Mcp-Session-Id"]
        self.hello = answer.answer()["result"]
        assert self.post({"jsonrpc": "2.0", "method": "notifications/initialized"}).status == 202

    def headers(self, **more):
        return {"Mcp-Session-Id": self.id, "MCP-Protocol-Version": self.hello["protocolVersion"], **more}

    def post(self, message, **headers):
        return self.client.send("POST", message, self.headers(**headers))

    def request(self, method, params=None, number=None, **headers):
        message = {"jsonrpc": "2.0", "id": next(self.client.ids) if number is None else number,
                   "method": method}
        if params is not None:
            message["params"] = params
        return self.post(message, **headers)

    def get(self, **headers):
        return self.client.send("GET", None, self.headers(Accept="text/event-stream", **headers))


class McpCase(unittest.TestCase):
    """One daemon for the class."""

    maxDiff = None
    CONFIG = ""
    FLAGS = ()

    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon(cls.CONFIG, flags=cls.FLAGS)
        cls.addClassCleanup(cls.daemon.stop)
        cls.mcp = McpClient(cls.daemon)

    def assert_error(self, answer, code, text=""):
        self.assertNotIn("result", answer)
        self.assertEqual(answer["error"]["code"], code, answer)
        self.assertIn(text, answer["error"]["message"])

    def last_run(self):
        return self.daemon.ask("GET", "/v1/runs?limit=1")["runs"][0]

    def await_verdict(self, kind):
        def found():
            run = self.last_run()
            return run if run["verdict"] is not None else None
        self.assertEqual(wait_for(found, what="the end of the run")["verdict"], kind)
