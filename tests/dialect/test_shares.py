# SPDX-License-Identifier: Apache-2.0
"""One token takes all that a door gives; another one must not notice."""

import hashlib
import json
import unittest

from mcp_case import TASKS, McpClient
from daemon import Daemon, wait_for

ALICE, BOB = "secret-of-alice", "secret-of-bob"
FOREVER = "print('on', flush=True)\nwhile True: pass"
TASKS_MAX = 512
CONFIG = ("dialects:\n  atlas: {enabled: true}\n  elitea: {enabled: true, max_concurrent: 1}\n"
          "tokens:\n" + "".join(
              f"  - {{name: {name}, sha256: {hashlib.sha256(secret.encode()).hexdigest()},"
              " quotas: {concurrent_runs: 32}}\n" for name, secret in (("alice", ALICE), ("bob", BOB))))


class Shares(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon(CONFIG, flags=("--conformance",))
        cls.addClassCleanup(cls.daemon.sweep)

    @classmethod
    def tearDownClass(cls):
        cls.daemon.stop()

    def setUp(self):
        self.alice, self.bob = self.daemon.as_token(ALICE), self.daemon.as_token(BOB)

    def begin(self, path, body):
        """A request of hers whose answer is not waited for."""
        connection = self.alice.connection()
        self.addCleanup(connection.close)
        connection.request("POST", path, json.dumps(body), self.alice.headers_for(None))
        return connection

    def under_way(self):
        return [line["id"] for line in self.alice.ask("GET", "/v1/runs")["runs"] if not line["verdict"]]

    def end_runs(self):
        for run in self.under_way():
            self.alice.request("DELETE", f"/v1/runs/{run}")
        wait_for(lambda: not self.under_way(), what="the end of her runs")

    def test_the_ten_places_of_atlas(self):
        for _ in range(10):
            response = self.begin("/atlas/exec-python-stream", {"code": FOREVER, "timeout": 100000}).getresponse()
            self.assertIn(b"on", response.readline())
        answer = self.alice.request("POST", "/atlas/exec-python", {"code": "print(1)"})
        self.assertEqual((answer.status, answer.json), (429, {"error": "Too many concurrent executions"}))
        self.assertTrue(self.bob.ask("POST", "/atlas/exec-python", {"code": "print(1)"})["success"])
        self.end_runs()

    def test_the_places_of_elitea(self):
        self.begin("/elitea/execute", {"code": FOREVER})
        wait_for(lambda: len(self.under_way()) == 1, what="her run")
        self.assertIn("Sandbox busy", self.alice.ask("POST", "/elitea/execute", {"code": "1"})["stderr"])
        self.assertTrue(self.bob.ask("POST", "/elitea/execute", {"code": "1"})["success"])
        self.end_runs()

    def test_the_tasks_of_mcp(self):
        def task_of(client):
            """A task that is over, and kept."""
            task = {"taskId": client.tool("confirm_delete", {"filename": "a"}, capabilities=TASKS)["taskId"]}
            self.assertIn("result", client.modern("tasks/cancel", task, capabilities=TASKS).answer())
            return task

        def is_kept(client, task):
            return "result" in client.modern("tasks/get", task, capabilities=TASKS).answer()

        alice, bob = McpClient(self.daemon, ALICE), McpClient(self.daemon, BOB)
        his = task_of(bob)
        hers = [task_of(alice) for _ in range(TASKS_MAX + 8)]
        self.assertTrue(is_kept(bob, his))
        self.assertEqual((is_kept(alice, hers[0]), is_kept(alice, hers[-1])), (False, True))
