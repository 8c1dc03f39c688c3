# SPDX-License-Identifier: Apache-2.0
"""ELITEA's tools over MCP, in both eras."""

import base64
import hashlib
import json
import os
import sys
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "api"))
from daemon import Daemon, wait_for  # noqa: E402

META = "io.modelcontextprotocol/"
TYPES = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


def message_of(answer):
    """The answer of one request: JSON, or the last event of a stream."""
    text = answer.body.decode()
    if answer.headers.get("Content-Type", "").startswith("text/event-stream"):
        text = [line[5:] for line in text.splitlines() if line.startswith("data:") and line[5:].strip()][-1]
    return json.loads(text)


class Legacy:
    """A client of the 2025 era, with its MCP session."""

    def __init__(self, daemon):
        self.daemon, self.session, self.number = daemon, {}, 0
        answer = self.post("initialize", protocolVersion="2025-11-25", capabilities={},
                           clientInfo={"name": "t", "version": "1"})
        self.session = {"Mcp-Session-Id": answer.headers["Mcp-Session-Id"],
                        "MCP-Protocol-Version": "2025-11-25"}

    def post(self, method, **params):
        self.number += 1
        body = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        return self.daemon.request("POST", "/mcp", body, headers={**TYPES, **self.session})

    def tool(self, name, **arguments):
        return message_of(self.post("tools/call", name=name, arguments=arguments))["result"]

    def tools(self):
        return {tool["name"]: tool for tool in message_of(self.post("tools/list"))["result"]["tools"]}

    def end(self):
        self.daemon.request("DELETE", "/mcp", headers={**TYPES, **self.session})


class Modern:
    """A client of the 2026 era: each request stands alone."""

    def __init__(self, daemon):
        self.daemon = daemon

    def tool(self, name, **arguments):
        meta = {META + "protocolVersion": "2026-07-28", META + "clientCapabilities": {},
                META + "clientInfo": {"name": "t", "version": "1"}}
        headers = {**TYPES, "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call",
                   "Mcp-Name": name}
        if "session_id" in arguments:
            headers["Mcp-Param-Session-Id"] = arguments["session_id"]
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                "params": {"name": name, "arguments": arguments, "_meta": meta}}
        return message_of(self.daemon.request("POST", "/mcp", body, headers=headers))["result"]


def dict_of(result):
    """The result dict, which is also the text."""
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"], result
    return result["structuredContent"]


class Tools(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon("dialects: {elitea: {enabled: true, timeout_ms: 2000}}\n")
        cls.addClassCleanup(cls.daemon.stop)

    def setUp(self):
        self.client = Legacy(self.daemon)
        self.addCleanup(self.client.end)

    def test_they_are_listed_with_their_arguments(self):
        tools = self.client.tools()
        for name in ("pyodide_sandbox", "python_code_sandbox"):
            self.assertEqual(list(tools[name]["inputSchema"]["properties"]), ["code"])
            self.assertEqual(tools[name]["inputSchema"]["required"], ["code"])
        self.assertEqual(set(tools["stateful_pyodide_sandbox"]["inputSchema"]["properties"]),
                         {"code", "session_id"})
        self.assertIn("execution_info", tools["pyodide_sandbox"]["outputSchema"]["properties"])
        self.assertNotIn("saved_state", tools["run_python"]["inputSchema"]["properties"])

    def test_the_dict_has_what_there_is_to_say(self):
        told = dict_of(self.client.tool("pyodide_sandbox", code="import numpy\nprint('a')\n{1: (2,)}"))
        self.assertEqual((told["result"], told["output"], set(told)),
                         ({"1": [2]}, "a\n", {"result", "output", "execution_info"}))
        self.assertRegex(told["execution_info"], r"^Execution time: \d+\.\d\ds, Packages: numpy$")
        told = dict_of(self.client.tool("pyodide_sandbox", code="x = 1"))
        self.assertEqual(set(told), {"execution_info"})
        self.assertRegex(told["execution_info"], r"^Execution time: \d+\.\d\ds$")

    def test_warnings_of_a_good_run_are_no_error(self):
        told = dict_of(self.client.tool("pyodide_sandbox", code="import sys; print('w', file=sys.stderr)\n1"))
        self.assertEqual((told["result"], "error" in told), (1, False))

    def test_a_failure_says_so(self):
        result = self.client.tool("pyodide_sandbox", code="print('p')\n1/0")
        told = dict_of(result)
        self.assertTrue(result["isError"])
        self.assertEqual((told["status"], told["output"]), ("Execution failed", "p\n"))
        self.assertIn("ZeroDivisionError", told["error"])
        self.assertNotIn("result", told)
        told = dict_of(self.client.tool("pyodide_sandbox", code="while True: pass"))
        self.assertEqual(told["error"], "Execution timed out after 2 seconds")
        told = dict_of(self.client.tool("pyodide_sandbox", code="import nosuchthing"))
        self.assertTrue(told["error"].startswith("Failed to install required Python packages: nosuchthing."))

    def test_what_was_drawn_is_shown(self):
        code = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()\nprint('drawn')"
        for name in ("pyodide_sandbox", "stateful_pyodide_sandbox", "python_code_sandbox"):
            result = self.client.tool(name, code=code)
            text, *pictures = result["content"]
            self.assertIn("drawn", text["text"])
            self.assertEqual([(one["type"], one["mimeType"]) for one in pictures], [("image", "image/png")], name)
            self.assertTrue(base64.b64decode(pictures[0]["data"]).startswith(b"\x89PNG"))
            if name != "python_code_sandbox":
                self.assertEqual(result["structuredContent"], json.loads(text["text"]))
                (chart,) = result["structuredContent"]["charts"]
                self.assertEqual((chart["kind"], "base64" in chart), ("image", False))

    def test_nothing_stays_without_state(self):
        self.client.tool("pyodide_sandbox", code="x = 1")
        self.assertIn("NameError", dict_of(self.client.tool("pyodide_sandbox", code="x"))["error"])

    def test_state_is_the_mcp_sessions(self):
        def go(code, client=self.client):
            return dict_of(client.tool("stateful_pyodide_sandbox", code=code))

        self.assertEqual(set(go("import math\nx = 5\ndef f(): return x")), {"execution_info"})
        self.assertEqual(go("f() + math.floor(1.5)")["result"], 6)
        self.assertIn("ZeroDivisionError", go("1/0")["error"])
        self.assertIn("timed out", go("x = 9\nwhile True: pass")["error"])
        self.assertEqual(go("x")["result"], 5)
        other = Legacy(self.daemon)
        self.addCleanup(other.end)
        self.assertIn("NameError", go("x", other)["error"])

    def test_a_session_that_has_ended_is_made_anew_and_told(self):
        before = {one["id"] for one in self.daemon.ask("GET", "/v1/sessions")["sessions"]}
        self.client.tool("stateful_pyodide_sandbox", code="x = 5")
        (made,) = {one["id"] for one in self.daemon.ask("GET", "/v1/sessions")["sessions"]} - before
        self.daemon.request("DELETE", f"/v1/sessions/{made}")
        told = dict_of(self.client.tool("stateful_pyodide_sandbox", code="'x' in globals()"))
        self.assertEqual(told["result"], False)
        self.assertIn("a new session", told["execution_info"])

    def test_in_the_new_era_the_session_is_an_argument(self):
        client = Modern(self.daemon)
        first = dict_of(client.tool("stateful_pyodide_sandbox", code="x = 5"))
        told = dict_of(client.tool("stateful_pyodide_sandbox", code="x", session_id=first["session_id"]))
        self.assertEqual((told["result"], told["session_id"]), (5, first["session_id"]))
        fresh = dict_of(client.tool("stateful_pyodide_sandbox", code="'x' in globals()"))
        self.assertEqual(fresh["result"], False)
        self.assertNotEqual(fresh["session_id"], first["session_id"])
        lost = client.tool("stateful_pyodide_sandbox", code="1", session_id="ses_nothing")
        self.assertTrue(lost["isError"])
        self.assertEqual(dict_of(client.tool("pyodide_sandbox", code="2"))["result"], 2)
        for session in (first, fresh):
            self.daemon.request("DELETE", f"/v1/sessions/{session['session_id']}")

    def text(self, **arguments):
        result = self.client.tool("python_code_sandbox", **arguments)
        (block,) = result["content"]
        return block["text"], result["isError"]

    def test_the_plain_tool_is_text(self):
        self.assertEqual(self.text(code="print('é\\n\"q\"')\n5"), ('é\n"q"\n', False))
        self.assertEqual(self.text(code="5"), ("", False))
        text, is_error = self.text(code="1/0")
        self.assertTrue(text.startswith("Error during execution: Traceback (most recent call last):"))
        self.assertTrue(is_error)
        self.assertEqual(self.text(code="while True: pass"),
                         ("Error during execution: Execution timed out after 2 seconds", True))

    def test_bad_arguments_run_nothing(self):
        for arguments in ({}, {"code": 5}, {"code": "1", "what": 1}, {"code": None}):
            for name in ("pyodide_sandbox", "stateful_pyodide_sandbox", "python_code_sandbox"):
                message = message_of(self.client.post("tools/call", name=name, arguments=arguments))
                self.assertTrue(message.get("error") or message["result"]["isError"], (name, arguments))


class Gate(unittest.TestCase):
    def test_both_doors_count_together(self):
        daemon = Daemon("dialects: {elitea: {enabled: true, max_concurrent: 1}}\n")
        self.addCleanup(daemon.stop)

        def on():
            return [line["id"] for line in daemon.ask("GET", "/v1/runs")["runs"] if line["verdict"] is None]

        run = threading.Thread(target=daemon.request, args=("POST", "/execute", {"code": "import time; time.sleep(50)"}))
        run.start()
        wait_for(on, what="the run")
        client = Legacy(daemon)
        busy = "Sandbox busy: 1 concurrent executions at limit 1. Retry shortly."
        told = dict_of(client.tool("pyodide_sandbox", code="1"))
        self.assertEqual(told, {"error": busy, "status": "Execution failed",
                                "execution_info": "Execution time: 0.00s"})
        self.assertEqual(client.tool("python_code_sandbox", code="1")["content"][0]["text"],
                         "Error during execution: " + busy)
        daemon.request("DELETE", f"/v1/runs/{on()[0]}")
        run.join()
        self.assertEqual(dict_of(client.tool("pyodide_sandbox", code="1"))["result"], 1)
        client.end()

    def test_a_session_whose_first_run_is_refused_is_told(self):
        token = "{name: ann, sha256: %s, quotas: {concurrent_runs: 1}}" % hashlib.sha256(b"secret of ann").hexdigest()
        with Daemon("dialects: {elitea: {enabled: true}}\ntokens: [%s]\n" % token) as daemon:
            ann = daemon.as_token("secret of ann")
            run = ann.ask("POST", "/v1/run", {"code": "import time\ntime.sleep(600)", "timeout_ms": 110000, "detach": True},
                          status=202)["id"]
            told = dict_of(Modern(ann).tool("stateful_pyodide_sandbox", code="x = 5"))
            self.assertIn("limit of concurrent runs", told["error"])
            self.assertEqual([session["id"] for session in ann.ask("GET", "/v1/sessions")["sessions"]], [told["session_id"]])
            ann.ask("DELETE", f"/v1/runs/{run}", status=(200, 202, 204))
            wait_for(lambda: ann.ask("GET", f"/v1/runs/{run}", status=(200, 202)).get("verdict"), what="its end")
            self.assertEqual(dict_of(Modern(ann).tool("stateful_pyodide_sandbox", code="6", session_id=told["session_id"]))["result"], 6)

    def test_they_are_not_there_unless_enabled(self):
        daemon = Daemon("")
        self.addCleanup(daemon.stop)
        self.assertNotIn("pyodide_sandbox", Legacy(daemon).tools())


if __name__ == "__main__":
    unittest.main()
