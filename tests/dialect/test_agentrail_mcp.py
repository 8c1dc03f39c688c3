# SPDX-License-Identifier: Apache-2.0
"""Agentrail's tools over MCP: what they say, and whose session it is in either era."""

import concurrent.futures
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "api"))

from daemon import Daemon, wait_for  # noqa: E402
from mcp_talk import Legacy, Modern  # noqa: E402

NAMES = ["Python", "Bash", "Read", "Write", "Edit", "Grep", "Glob"]


def text_of(result):
    assert [item["type"] for item in result["content"]] == ["text"], result
    return result["content"][0]["text"]


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon("dialects: {agentrail: {enabled: true}}\n")
        cls.addClassCleanup(cls.daemon.stop)

    def sessions(self):
        return [session["id"] for session in self.daemon.ask("GET", "/v1/sessions")["sessions"]]

    def setUp(self):
        self.addCleanup(lambda: [self.daemon.request("DELETE", f"/v1/sessions/{one}") for one in self.sessions()])


class ModernEra(Case):
    def setUp(self):
        super().setUp()
        self.mcp = Modern(self.daemon)

    def test_the_tools_are_listed_with_what_they_take(self):
        tools = {tool["name"]: tool for tool in self.mcp.tools()}
        self.assertLessEqual(set(NAMES), set(tools))
        schema = tools["Python"]["inputSchema"]
        self.assertEqual(set(schema["properties"]), {"code", "working_directory", "timeout", "expected_output_files",
                                                     "session_id"})
        self.assertEqual(schema["required"], ["code"])
        self.assertEqual((schema["properties"]["timeout"]["type"], schema["properties"]["timeout"]["minimum"],
                          schema["properties"]["timeout"]["default"]), ("integer", 1, 60000))
        self.assertEqual(tools["Bash"]["inputSchema"]["properties"]["timeout"]["minimum"], 0)

    def test_a_call_has_text_and_details(self):
        result = self.mcp.call("Python", code="print('hi')\nopen('/workspace/.deep-research/artifacts/a', 'w')",
                               expected_output_files=["/workspace/b"])
        self.assertEqual(text_of(result), "hi\n\n[exit code: 0]\nGenerated files:\n"
                         "- /workspace/.deep-research/artifacts/a\n- /workspace/b")
        details = result["structuredContent"]
        self.assertEqual((details["exitCode"], details["stdout"], details["timedOut"], result["isError"]),
                         (0, "hi\n", False, False))
        self.assertEqual(details["outputFiles"], ["/workspace/.deep-research/artifacts/a", "/workspace/b"])

    def test_each_call_is_fresh_and_its_session_can_be_named(self):
        first = self.mcp.call("Python", code="open('a', 'w').write('1')")["structuredContent"]["session_id"]
        self.assertEqual(self.mcp.call("Bash", command="ls")["structuredContent"]["stdout"], "")
        again = self.mcp.call("Bash", command="cat a", session_id=first)["structuredContent"]
        self.assertEqual((again["stdout"], again["session_id"]), ("1", first))
        named = self.mcp.call("Bash", command="echo x > f", session_id="my-own")["structuredContent"]["session_id"]
        self.assertEqual(self.mcp.call("Bash", command="cat f", session_id="my-own")["structuredContent"],
                         {"mode": "foreground", "exit_code": 0, "stdout": "x\n", "stderr": "", "session_id": named})

    def test_a_failed_script_is_no_error_and_a_refusal_is(self):
        result = self.mcp.call("Python", code="1/0")
        self.assertEqual((result["isError"], result["structuredContent"]["exitCode"]), (False, 1))
        for path in ("/workspaceX", "/workspace/../etc"):
            result = self.mcp.call("Python", code="1", working_directory=path)
            self.assertEqual((result["isError"], text_of(result)), (True, "working_directory must start with /workspace"))
            result = self.mcp.call("Python", code="1", expected_output_files=[path])
            self.assertEqual(text_of(result), "expected_output_files must start with /workspace")
        self.assertEqual(len(self.sessions()), 1)  # that of the first call

    def test_a_timeout_keeps_the_output(self):
        result = self.mcp.call("Python", code="import time\nprint('so far')\ntime.sleep(60)", timeout=500)
        self.assertEqual(text_of(result), "so far\n\n[exit code: 143]\n[timed out]")

    def test_what_is_printed_is_told_while_it_runs(self):
        result = self.mcp.ask("tools/call", {"name": "Python", "arguments": {"code": "print('one')\nprint('two')"}},
                              {"Mcp-Name": "Python"}, progressToken="p")["result"]
        self.assertEqual(text_of(result), "one\ntwo\n\n[exit code: 0]")
        told = [event["params"]["message"] for event in self.mcp.events
                if event.get("method") == "notifications/progress"]
        self.assertEqual("\n".join(told).split(), ["one", "two"])

    def test_a_session_of_nobody(self):
        result = self.mcp.call("Python", code="1", session_id="ses_00000000000000000000000000")
        self.assertTrue(result["isError"])
        self.assertIn("no session", text_of(result))

    def test_wrong_arguments(self):
        for arguments in ({}, {"code": 1}, {"code": "1", "timeout": 0}, {"code": "1", "timeout": "x"},
                          {"code": "1", "other": 1}, {"code": "1", "expected_output_files": [1]}):
            self.assertTrue(self.mcp.call("Python", **arguments)["isError"], arguments)
        self.assertEqual(self.sessions(), [])

    def test_a_client_that_leaves_ends_its_command(self):
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "Python", "arguments": {"code": "import time\ntime.sleep(600)", "timeout": 300000},
            "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
                      "io.modelcontextprotocol/clientCapabilities": {}}}}
        connection = self.daemon.connection()
        connection.request("POST", "/mcp", json.dumps(body), {
            "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "Python"})

        def state():
            every = self.daemon.ask("GET", "/v1/sessions")["sessions"]
            return every[0]["state"] if every else ""

        wait_for(lambda: state() == "running", what="the run")
        connection.sock.close()
        wait_for(lambda: state() != "running", what="its end")


class LegacyEra(Case):
    def test_the_state_is_the_mcp_sessions(self):
        one, two = Legacy(self.daemon), Legacy(self.daemon)
        result = one.call("Python", code="open('a', 'w').write('1')")
        self.assertNotIn("session_id", result["structuredContent"])
        self.assertEqual(one.call("Bash", command="cat a")["structuredContent"],
                         {"mode": "foreground", "exit_code": 0, "stdout": "1", "stderr": ""})
        self.assertEqual(two.call("Bash", command="ls")["structuredContent"]["stdout"], "")
        self.assertEqual(len(self.sessions()), 2)
        one.close()
        wait_for(lambda: len(self.sessions()) == 1, what="the end of its session")
        two.close()
        wait_for(lambda: not self.sessions(), what="the end of the other one")

    def test_calls_at_the_same_time_share_it(self):
        mcp = Legacy(self.daemon)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            results = list(pool.map(lambda n: mcp.call("Bash", command=f"echo {n} >> all"), range(4)))
        self.assertTrue(all(result["structuredContent"]["exit_code"] == 0 for result in results), results)
        self.assertEqual(mcp.call("Bash", command="sort all")["structuredContent"]["stdout"], "0\n1\n2\n3\n")
        self.assertEqual(len(self.sessions()), 1)
        mcp.close()

    def test_a_session_that_was_ended_is_made_again(self):
        mcp = Legacy(self.daemon)
        mcp.call("Bash", command="echo x > a")
        for session in self.sessions():
            self.daemon.request("DELETE", f"/v1/sessions/{session}")
        self.assertEqual(mcp.call("Bash", command="ls")["structuredContent"]["stdout"], "")
        mcp.close()


class Stop(unittest.TestCase):
    def test_a_daemon_that_stops_ends_what_runs(self):
        with Daemon("dialects: {agentrail: {enabled: true}}\n") as daemon:
            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                going = pool.submit(lambda: Modern(daemon).call("Python", code="import time\ntime.sleep(600)",
                                                                timeout=300000))
                wait_for(lambda: [one for one in daemon.ask("GET", "/v1/sessions")["sessions"]
                                  if one["state"] == "running"], what="the run")
                daemon.signal(15)
                self.assertIsNotNone(going.exception() or going.result())
                self.assertEqual(daemon.process.wait(60), 0)
            daemon.check_nothing_left()
            daemon.start()


if __name__ == "__main__":
    unittest.main()
