# SPDX-License-Identifier: Apache-2.0
"""`viv mcp`: MCP on stdin and stdout, by the daemon that runs or by an engine of its own."""

import hashlib
import json
import os
import queue
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest

from mcp_case import LEGACY, MODERN, SLEEP, VIV, Daemon, meta, wait_for
from daemon import descendants, reap
from http_client import strict_json

WAIT = 60


class Stdio:
    """One `viv mcp` and what it says, line by line; each is strict JSON."""

    def __init__(self, folder, *flags, env=None, is_read=True):
        self.tmp = os.path.join(folder, "tmp")
        os.makedirs(self.tmp, exist_ok=True)
        self.process = subprocess.Popen(
            [VIV, "mcp", *flags], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            cwd=folder, env={"PATH": "/usr/bin:/bin", "HOME": folder, "TMPDIR": self.tmp, **(env or {})})
        self.lines = queue.Queue()
        if is_read:
            threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(strict_json(line))
        self.lines.put(None)

    def send(self, *messages):
        for message in messages:
            text = message if isinstance(message, (str, bytes)) else json.dumps(message)
            self.process.stdin.write((text.encode() if isinstance(text, str) else text) + b"\n")
        self.process.stdin.flush()

    def next(self):
        return self.lines.get(timeout=WAIT)

    def answer(self, number):
        """The answer to this id; everything before it is dropped."""
        while True:
            message = self.next()
            if message is None or message.get("id") == number:
                return message

    def initialize(self, **more):
        self.send({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}, **more}},
            {"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self.answer(0)["result"]

    def tool(self, number, name, arguments, **more):
        self.send({"jsonrpc": "2.0", "id": number, "method": "tools/call",
                   "params": {"name": name, "arguments": arguments, **more}})

    def close(self):
        """The end of stdin; how long it then took to end, and what it said on stderr."""
        begin = time.monotonic()
        self.process.stdin.close()
        status = self.process.wait(WAIT)
        assert status == 0, (status, self.process.stderr.read())
        return time.monotonic() - begin

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()


def modern(number, method, params=None, **more):
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": {**(params or {}), "_meta": meta(**more)}}


def expect_last_answer(case, stdio):
    """The end of stdin during a call: the call takes longer than a host has patience for."""
    stdio.initialize()
    stdio.tool(1, "run_python", {"code": "import time\ntime.sleep(3)\nprint('late')"})
    stdio.close()
    case.assertEqual(stdio.answer(1)["result"]["structuredContent"]["stdout"], "late\n")


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="vm-", dir="/tmp")
        os.chmod(self.folder, 0o755)
        self.addCleanup(shutil.rmtree, self.folder, True)

    def start(self, *flags, **kw):
        stdio = Stdio(self.folder, *flags, **kw)
        self.addCleanup(stdio.kill)
        return stdio


class ByDaemon(Case):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.stop)

    def begin(self):
        return self.start("--config", self.daemon.path("vivarium.yaml"))

    def test_legacy(self):
        stdio = self.begin()
        self.assertEqual(stdio.initialize()["protocolVersion"], LEGACY)
        stdio.tool("a", "run_python", {"code": "print('ä')\n1"}, _meta={"progressToken": 9})
        self.assertEqual(stdio.next()["params"], {"progressToken": 9, "progress": 1, "message": "ä"})
        result = stdio.answer("a")["result"]
        self.assertEqual(result["structuredContent"]["stdout"], "ä\n")
        self.assertNotIn("resultType", result)
        self.assertLess(stdio.close(), 5)

    def test_modern(self):
        stdio = self.begin()
        stdio.send(modern("server-discover-probe-1", "server/discover"))
        self.assertIn(MODERN, stdio.answer("server-discover-probe-1")["result"]["supportedVersions"])
        stdio.send(modern(1, "tools/call", {"name": "create_session"}))
        session = stdio.answer(1)["result"]["structuredContent"]["session_id"]
        stdio.send(modern(2, "tools/call", {"name": "run_python", "arguments": {
            "code": "6 * 7", "session_id": session}}))
        self.assertEqual(stdio.answer(2)["result"]["structuredContent"]["result"]["application/json"], 42)
        # It is the daemon's session: others see it.
        self.assertEqual(self.daemon.ask("GET", f"/v1/sessions/{session}")["runs"], 1)
        stdio.send(modern(3, "no/such"), modern(4, "tools/call", {"name": "close_session",
                                                                  "arguments": {"session_id": session}}))
        answers = {message["id"]: message for message in (stdio.next(), stdio.next())}
        self.assertEqual(answers[3]["error"]["code"], -32601)
        self.assertTrue(answers[4]["result"]["structuredContent"]["closed"])
        stdio.close()

    def test_calls_run_side_by_side_and_are_answered_by_id(self):
        stdio = self.begin()
        stdio.initialize()
        stdio.tool(1, "run_python", {"code": SLEEP}, _meta={"progressToken": 1})
        self.assertEqual(stdio.next()["params"]["message"], "here")
        stdio.tool(2, "run_python", {"code": "2"})
        self.assertEqual(stdio.next()["id"], 2)
        stdio.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
        stdio.send({"jsonrpc": "2.0", "id": 3, "method": "ping"})
        self.assertEqual(stdio.next()["id"], 3)  # nothing more about the one that was given up
        self.await_cancelled()
        stdio.close()

    def test_a_modern_call_is_cancelled(self):
        stdio = self.begin()
        stdio.send(modern(1, "tools/call", {"name": "run_python", "arguments": {"code": SLEEP}},
                          progressToken="t"))
        self.assertEqual(stdio.next()["params"]["message"], "here")
        stdio.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
        self.await_cancelled()
        stdio.send(modern(2, "tools/list"))
        self.assertEqual(stdio.next()["id"], 2)
        stdio.close()

    def await_cancelled(self):
        wait_for(lambda: self.daemon.ask("GET", "/v1/runs?limit=2")["runs"][-1]["verdict"] == "cancelled" or
                 self.daemon.ask("GET", "/v1/runs?limit=1")["runs"][0]["verdict"] == "cancelled",
                 what="the end of the run")

    def test_its_end_ends_what_it_runs(self):
        for end in ("term", "kill"):
            stdio = self.begin()
            stdio.initialize()
            stdio.tool(1, "run_python", {"code": SLEEP}, _meta={"progressToken": 1})
            self.assertEqual(stdio.next()["params"]["message"], "here")
            run = self.daemon.ask("GET", "/v1/runs?limit=1")["runs"][0]["id"]
            stdio.process.send_signal(signal.SIGTERM if end == "term" else signal.SIGKILL)
            stdio.process.wait(WAIT)
            if end == "kill":  # as with any client of the 2025 era that is gone: its session is not
                self.daemon.ask("DELETE", f"/v1/runs/{run}")
            verdict = wait_for(lambda: self.daemon.ask("GET", f"/v1/runs/{run}")["verdict"], what=f"the end by {end}")
            self.assertEqual(verdict["kind"], "cancelled")

    def test_the_end_of_its_host_ends_what_it_runs(self):
        stdio = self.start("--config", self.daemon.path("vivarium.yaml"), is_read=False)
        stdio.send({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}})
        self.assertIn(b"result", stdio.process.stdout.readline())
        stdio.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        stdio.tool(1, "run_python", {"code": SLEEP}, _meta={"progressToken": 1})
        self.assertIn(b"here", stdio.process.stdout.readline())
        run = self.daemon.ask("GET", "/v1/runs?limit=1")["runs"][0]["id"]
        stdio.process.stdin.close()
        stdio.process.stdout.close()
        stdio.process.wait(WAIT)
        verdict = wait_for(lambda: self.daemon.ask("GET", f"/v1/runs/{run}")["verdict"], what="the end of the run")
        self.assertEqual(verdict["kind"], "cancelled")

    def test_the_end_of_stdin_waits_for_answers(self):
        expect_last_answer(self, self.begin())

    def test_what_is_no_message_is_answered(self):
        stdio = self.begin()
        stdio.send("nonsense")
        self.assertEqual(stdio.next()["error"]["code"], -32700)
        stdio.send("[]")
        self.assertEqual(stdio.next()["error"]["code"], -32600)
        stdio.send(b"\xff\xff")
        self.assertEqual(stdio.next()["error"]["code"], -32700)
        stdio.send("", "   ")
        stdio.send({"jsonrpc": "2.0", "id": 1, "method": "ping"})
        self.assertEqual(stdio.next()["error"]["code"], -32600)  # no initialize yet
        stdio.send(b"x" * (17 << 20))
        self.assertIn("16 MiB", stdio.next()["error"]["message"])
        stdio.initialize()
        stdio.send({"jsonrpc": "2.0", "id": 2, "method": "ping"})
        self.assertEqual(stdio.answer(2)["result"], {})
        stdio.close()

    def test_large_messages_both_ways(self):
        stdio = self.begin()
        stdio.initialize()
        stdio.tool(1, "run_python", {"code": "x = '" + "y" * (4 << 20) + "'\nprint(x[:900000])"})
        self.assertEqual(len(stdio.answer(1)["result"]["structuredContent"]["stdout"]), 900001)
        stdio.close()

    def test_the_last_line_needs_no_end(self):
        stdio = self.begin()
        stdio.process.stdin.write(json.dumps(modern(1, "tools/list")).encode())
        stdio.close()
        self.assertIn("tools", stdio.answer(1)["result"])


class ByOtherDaemons(Case):
    def test_a_daemon_that_is_started_again_is_no_end(self):
        with Daemon() as daemon:
            stdio = self.start("--config", daemon.path("vivarium.yaml"))
            stdio.initialize()
            daemon.terminate()
            daemon.start()
            stdio.send(*({"jsonrpc": "2.0", "id": number, "method": "ping"} for number in range(1, 4)))
            answers = {message["id"]: message for message in (stdio.next(), stdio.next(), stdio.next())}
            self.assertEqual([answers[number]["result"] for number in (1, 2, 3)], [{}, {}, {}])
            stdio.tool(4, "run_python", {"code": "4"})
            self.assertEqual(stdio.next()["id"], 4)
            stdio.close()

    def test_what_is_refused_before_it_is_read_is_answered_too(self):
        secret = "s" * 40
        tokens = f"tokens: [{{name: alice, sha256: {hashlib.sha256(secret.encode()).hexdigest()}}}]\n"
        with Daemon(tokens) as daemon:
            url = {"VIVARIUM_URL": f"http://{daemon.host}:{daemon.port}"}
            stdio = self.start(env=url)
            stdio.send(modern("a", "tools/list"))
            self.assertIn("token", stdio.answer("a")["error"]["message"])
            stdio.close()
            stdio = self.start(env=url | {"VIVARIUM_TOKEN": secret})
            stdio.send(modern("a", "tools/list"))
            self.assertIn("tools", stdio.answer("a")["result"])
            stdio.close()

    def test_a_host_has_neither_our_name_nor_our_key(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            stdio = self.start(env={"VIVARIUM_URL": f"http://127.0.0.1:{server.getsockname()[1]}",
                                    "VIVARIUM_TOKEN": "t" * 40, "VIVARIUM_APPROVE": "k" * 64})
            stdio.send(modern("a", "tools/list"))
            with server.accept()[0] as connection, connection.makefile("rb") as file:
                head = {line.split(b":")[0].lower() for line in iter(file.readline, b"\r\n")}
                connection.sendall(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            self.assertIn(b"authorization", head)
            self.assertIn(b"mcp-method", head)
            self.assertFalse(head & {b"vivarium-approve", b"vivarium-client"}, head)
            self.assertIn("403", stdio.answer("a")["error"]["message"])
            stdio.close()


class ByItself(Case):
    def begin(self, *flags, config=""):
        path = os.path.join(self.folder, "vivarium.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"runtime_dir: {self.folder}/none\nstate_dir: {self.folder}/state\n{config}")
        return self.start("--config", path, *flags)

    def left(self, stdio):
        return os.listdir(stdio.tmp)

    def test_it_works_and_leaves_nothing(self):
        stdio = self.begin()
        stdio.initialize()
        stdio.tool(1, "create_session", {})
        session = stdio.answer(1)["result"]["structuredContent"]["session_id"]
        stdio.tool(2, "run_python", {"code": "x = 5\nx", "session_id": session})
        self.assertEqual(stdio.answer(2)["result"]["structuredContent"]["result"]["application/json"], 5)
        below = set(descendants(stdio.process.pid))
        self.assertTrue(below)
        self.assertLess(stdio.close(), 15)
        self.assertEqual(self.left(stdio), [])
        self.assertFalse(os.path.exists(os.path.join(self.folder, "state")))
        self.await_end_of(below)

    @staticmethod
    def await_end_of(pids):
        def is_gone():
            reap()  # orphans may have become ours
            return not [pid for pid in pids if os.path.exists(f"/proc/{pid}")]
        wait_for(is_gone, what="the end of all its processes")

    def test_the_end_of_stdin_waits_for_answers(self):
        stdio = self.begin()
        expect_last_answer(self, stdio)
        self.assertEqual(self.left(stdio), [])

    def test_killed_it_leaves_no_process(self):
        stdio = self.begin()
        stdio.initialize()
        stdio.tool(1, "run_python", {"code": SLEEP}, _meta={"progressToken": 1})
        self.assertEqual(stdio.next()["params"]["message"], "here")
        below = set(descendants(stdio.process.pid))
        stdio.process.kill()
        stdio.process.wait()
        self.await_end_of(below)

    def test_a_daemon_that_crashed_is_none(self):
        os.makedirs(os.path.join(self.folder, "none"), 0o700)
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(os.path.join(self.folder, "none", "viv.sock"))
        stdio = self.begin()
        self.assertEqual(stdio.initialize()["protocolVersion"], LEGACY)
        stdio.close()

    def test_conformance_adds_the_fixtures(self):
        stdio = self.begin("--conformance")
        stdio.send(modern(1, "tools/list"))
        names = [tool["name"] for tool in stdio.answer(1)["result"]["tools"]]
        self.assertLessEqual({"run_python", "test_simple_text", "slow_compute"}, set(names))
        stdio.initialize(capabilities={"sampling": {}})
        stdio.tool(2, "test_sampling", {"prompt": "well?"})
        asked = stdio.next()
        self.assertEqual(asked["method"], "sampling/createMessage")
        stdio.send({"jsonrpc": "2.0", "id": asked["id"], "result": {
            "role": "assistant", "model": "m", "content": {"type": "text", "text": "indeed"}}})
        self.assertIn("indeed", stdio.answer(2)["result"]["content"][0]["text"])
        stdio.tool(3, "test_reconnection", {})
        self.assertEqual(stdio.answer(3)["result"]["content"][0]["text"], "Reconnected")
        stdio.close()

    def test_what_stops_it_is_told_on_stderr(self):
        stdio = self.begin(config="nonsense: 1\n")
        self.assertEqual(stdio.process.wait(WAIT), 2)
        self.assertIn(b"nonsense", stdio.process.stderr.read())
        self.assertIsNone(stdio.next())
        os.unlink(os.path.join(self.folder, "vivarium.yaml"))
        bad = self.start("extra")
        self.assertEqual(bad.process.wait(WAIT), 2)
        away = self.start(env={"VIVARIUM_URL": "http://127.0.0.1:9"})
        away.send({"jsonrpc": "2.0", "id": 1, "method": "ping"})
        self.assertIn("cannot be reached", away.next()["error"]["message"])
        away.close()


if __name__ == "__main__":
    unittest.main()
