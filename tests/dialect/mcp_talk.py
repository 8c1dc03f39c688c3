# SPDX-License-Identifier: Apache-2.0
"""The little of MCP that the tests of a system's tools need: one call, in either era."""

import json

META = "io.modelcontextprotocol/"
ACCEPT = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


def message_of(answer):
    """The JSON-RPC answer, whether it came as JSON or as the last event of a stream."""
    text = answer.body.decode()
    if not text.startswith("{"):
        text = [line[6:] for line in text.splitlines() if line.startswith("data: {")][-1]
    return json.loads(text)


class Modern:
    """2026-07-28: no session, everything in the request."""

    def __init__(self, client):
        self.client = client
        self.events = []  # of the last answer, where it came as a stream

    def ask(self, method, params, headers=None, **meta):
        params = {**params, "_meta": {META + "protocolVersion": "2026-07-28", META + "clientCapabilities": {}, **meta}}
        given = {**ACCEPT, "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method, **(headers or {})}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        answer = self.client.request("POST", "/mcp", body, given)
        self.events = [json.loads(line[6:]) for line in answer.body.decode().splitlines() if line.startswith("data: {")]
        return message_of(answer)

    def tools(self):
        return self.ask("tools/list", {})["result"]["tools"]

    def call(self, tool, **arguments):
        headers = {"Mcp-Name": tool}
        if "session_id" in arguments:
            headers["Mcp-Param-Session-Id"] = arguments["session_id"]
        return self.ask("tools/call", {"name": tool, "arguments": arguments}, headers)["result"]


class Legacy:
    """2025-11-25: a session, from initialize to DELETE."""

    def __init__(self, client):
        self.client = client
        body = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}}
        answer = client.request("POST", "/mcp", json.dumps(body).encode(), ACCEPT)
        assert answer.status == 200, answer
        self.headers = {**ACCEPT, "MCP-Protocol-Version": "2025-11-25", "Mcp-Session-Id": answer.headers["Mcp-Session-Id"]}
        body = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        assert client.request("POST", "/mcp", json.dumps(body).encode(), self.headers).status == 202
        self.number = 0

    def call(self, tool, **arguments):
        self.number += 1
        body = {"jsonrpc": "2.0", "id": self.number, "method": "tools/call",
                "params": {"name": tool, "arguments": arguments}}
        return message_of(self.client.request("POST", "/mcp", json.dumps(body).encode(), self.headers))["result"]

    def close(self):
        return self.client.request("DELETE", "/mcp", None, self.headers)
