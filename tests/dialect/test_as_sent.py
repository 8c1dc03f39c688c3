# SPDX-License-Identifier: Apache-2.0
"""The code of a run that came through a door is shown as it was sent, to the byte: in lists, in the audit log, to the
person who decides on it, and in the lines of its tracebacks."""

import concurrent.futures
import hashlib
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "api"))

from daemon import Daemon, wait_for  # noqa: E402
from held import decide, wait_held, with_key  # noqa: E402

CONFIG = """dialects: {agentrail: {enabled: true}, synapse: {enabled: true}}
policies:
  workspace: {base: workspace, audit_code: true}
  ephemeral: {base: ephemeral, audit_code: true}
"""
GUARDED = """dialects: {agentrail: {enabled: true}, synapse: {enabled: true}}
policies:
  workspace: {base: workspace, guard: {enabled: true}}
  ephemeral: {base: ephemeral, guard: {enabled: true}}
"""
ASKED = """dialects: {agentrail: {enabled: true}}
policies:
  workspace: {base: workspace, approve: true}
"""


class Case(unittest.TestCase):
    CONFIG = CONFIG

    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon(cls.CONFIG)
        cls.addClassCleanup(cls.daemon.stop)

    def post(self, route, **body):
        answer = self.daemon.request("POST", route, json.dumps(body).encode())
        self.assertEqual(answer.status, 200, answer)
        return answer.json


class Told(Case):
    def lines_of(self, run):
        def found():
            lines = self.daemon.ask("GET", "/v1/audit")["lines"]
            return [line for line in lines if line.get("run") == run]
        return wait_for(found, what="the run in the audit log")

    def assert_told(self, code):
        """The newest run is this code, wherever one looks."""
        run = self.daemon.ask("GET", "/v1/runs")["runs"][0]
        doing = [line for line in code.strip().split("\n") if not line.startswith(("import ", "from "))]
        self.assertEqual(run["line"], doing[0])
        self.assertEqual(run["code_size"], len(code.encode()))
        self.assertEqual(self.daemon.request("GET", f"/v1/runs/{run['id']}/code").body, code.encode())
        line = self.lines_of(run["id"])[-1]
        self.assertEqual(line["sha256"], hashlib.sha256(code.encode()).hexdigest())
        self.assertEqual(line["code"], code)

    def test_a_script_of_agentrail(self):
        code = "x = 'ä'\nprint(x)\n"
        self.assertEqual(self.post("/tools/Python", code=code)["details"]["stdout"], "ä\n")
        self.assert_told(code)

    def test_a_command_of_agentrail(self):
        self.assertEqual(self.post("/tools/Bash", command="echo $((6*7))")["details"]["stdout"], "42\n")
        self.assert_told("echo $((6*7))")

    def test_a_tool_of_agentrail_that_takes_no_code_is_told_as_a_call(self):
        made = self.post("/tools/Write", file_path="/workspace/a.txt", content="say \"hi\"\n")
        self.assert_told('Write(file_path="/workspace/a.txt", content="say \\"hi\\"\\n")')
        self.post("/tools/Grep", pattern="hi", path="/workspace", session_id=made["session_id"])
        self.assert_told('Grep(pattern="hi", path="/workspace")')

    def test_nothing_of_the_tool_is_left_in_the_session(self):
        session = self.post("/tools/Python", code="print(1)")["session_id"]
        names = self.daemon.ask("GET", f"/v1/sessions/{session}/vars")["vars"]
        self.assertEqual([name["name"] for name in names], [])

    def test_code_of_synapse(self):
        code = "from __future__ import annotations\nprint(json.dumps(_args))\n1/0\n"
        answer = self.post("/api/tools/python/test", code=code, args={"n": 1})
        self.assertEqual((answer["exit_code"], answer["stdout"]), (1, '{"n": 1}\n'))
        self.assertIn(", line 3, in <module>", answer["stderr"])
        self.assert_told(code)

    def test_a_transform_of_synapse(self):
        code = "result = len(state)"
        self.assertEqual(self.post("/api/tools/python/transform", code=code, state={"a": 1}), 1)
        self.assert_told(code)


class Guarded(Case):
    CONFIG = GUARDED

    def test_the_guard_reads_what_was_sent_and_not_what_we_add(self):
        self.assertEqual(self.post("/tools/Python", code="print(6*7)")["details"]["stdout"], "42\n")
        self.assertEqual(self.post("/api/tools/python/test", code="print(7)")["stdout"], "7\n")
        refused = self.daemon.request("POST", "/tools/Python", b'{"code":"import subprocess"}')
        self.assertIn("subprocess", refused.body.decode())
        self.assertNotIn('"exitCode":0', refused.body.decode())


class Asked(Case):
    CONFIG = ASKED

    def test_who_decides_reads_the_code_that_was_sent(self):
        code = "print('allowed')"
        pool = concurrent.futures.ThreadPoolExecutor(1)
        self.addCleanup(pool.shutdown)
        asked = pool.submit(self.post, "/tools/Python", code=code)
        row = wait_held(self.daemon)[0]
        self.assertEqual(self.daemon.request("GET", f"/v1/runs/{row['id']}/code").body, code.encode())
        self.assertEqual(row["line"], code)
        decide(self.daemon, row["id"], headers=with_key(self.daemon))
        self.assertEqual(asked.result()["details"]["stdout"], "allowed\n")


if __name__ == "__main__":
    unittest.main()
