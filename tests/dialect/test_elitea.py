# SPDX-License-Identifier: Apache-2.0
"""ELITEA's remote sandbox, as its client speaks to it: POST /execute."""

import base64
import datetime
import hashlib
import json
import os
import pickle
import struct
import sys
import threading
import unittest
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "api"))
from daemon import Daemon, wait_for  # noqa: E402

MIB = 1 << 20
KEYS = {"success", "stdout", "stderr", "result", "session_bytes", "session_metadata"}
ON = "dialects: {elitea: {enabled: true%s}}\n"


def state(*records, version=1, python=None):
    """As anybody could make one: records are (kind, name, bytes)."""
    python = python or ".".join(map(str, sys.version_info[:3]))
    data = b'vivarium state %d\n{"python":"%s","names":[],"lost":[]}\n' % (version, python.encode())
    for kind, name, body in records:
        data += kind + struct.pack("<I", len(name)) + name
        data += struct.pack("<I", len(body)) + body + bytes(4)
    data += b"e" + struct.pack("<II", 0, 12) + struct.pack("<QI", len(data), zlib.crc32(data)) + bytes(4)
    return base64.b64encode(data).decode()


class Call:
    """Calls the function in the process that unpickles it."""

    def __init__(self, function, *args):
        self.what = function, args

    def __reduce__(self):
        return self.what


def bomb(code):
    return state((b"p", b"bomb", pickle.dumps(Call(exec, code))))


class Tool:
    """The client: what it sends with each call, and what it keeps from the answer."""

    def __init__(self, daemon, path="/elitea/execute", headers=None):
        self.daemon, self.path = daemon, path
        self.headers = {"X-Tenant-ID": "unknown", **(headers or {})}
        self.bytes = self.metadata = None

    def post(self, body):
        return self.daemon.request("POST", self.path, body, headers=self.headers)

    def __call__(self, code, timeout=55):
        answer = self.post({"code": code, "session_bytes": self.bytes,
                            "session_metadata": self.metadata, "timeout_seconds": timeout})
        assert answer.status == 200, answer
        body = answer.json
        assert set(body) - {"charts"} == KEYS, body
        self.bytes, self.metadata = body["session_bytes"], body["session_metadata"]
        return body


class Elitea(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon(ON % "")
        cls.addClassCleanup(cls.daemon.stop)

    def setUp(self):
        self.tool = Tool(self.daemon)

    def value(self, code):
        body = self.tool(code)
        self.assertTrue(body["success"], body)
        return body["result"]

    # ---- one run ----

    def test_streams_result_and_newlines(self):
        body = self.tool("import sys\nprint(1)\nprint(2)\nprint('w', file=sys.stderr)\n6 * 7")
        self.assertEqual((body["success"], body["stdout"], body["stderr"], body["result"]),
                         (True, "1\n2\n", "w\n", 42))
        body = self.tool("x = 1")
        self.assertEqual((body["success"], body["stdout"], body["stderr"], body["result"]),
                         (True, None, None, None))
        self.assertEqual(self.value("''"), "")

    def test_the_result_is_by_its_table(self):
        self.assertEqual(self.value("import datetime\n[(1, 2.5), {3: None, 'k': {7}}, 'é', True, "
                                    "datetime.date(2024, 1, 2), print]"),
                         [[1, 2.5], {"3": None, "k": [7]}, "é", True, "2024-01-02",
                          {"type": "not_serializable", "repr": "<built-in function print>"}])
        self.assertEqual(self.value("import pandas as pd\npd.DataFrame({'a': [1]})")["type"],
                         "not_serializable")

    def test_await_at_the_top(self):
        self.assertEqual(self.value("import asyncio\nawait asyncio.sleep(0, 'done')"), "done")

    def test_a_failure_has_its_traceback_and_no_result(self):
        body = self.tool("import sys\nprint('before')\nprint('noise', file=sys.stderr, end='')\n1/0")
        self.assertEqual((body["success"], body["stdout"], body["result"]), (False, "before\n", None))
        self.assertTrue(body["stderr"].startswith("noise\nTraceback (most recent call last):"), body)
        self.assertIn("ZeroDivisionError: division by zero", body["stderr"])
        self.assertIn("SyntaxError", self.tool("def (")["stderr"])
        self.assertIn("SystemExit", self.tool("import sys; sys.exit(3)")["stderr"])
        self.assertTrue(self.tool("import sys; sys.exit(0)")["success"])

    def test_timeouts_are_told_as_they_were_given(self):
        for given, told in ((0.3, "0.3"), (1, "1"), (1.0, "1.0")):
            body = self.tool("print('part', flush=True)\nwhile True: pass", given)
            self.assertEqual((body["success"], body["stderr"], body["stdout"]),
                             (False, f"Execution timed out after {told} seconds", "part\n"))

    def test_a_nonsense_timeout_is_the_longest(self):
        for given in (0, -1, 1e300, "5", None, True, [1]):
            self.assertEqual(self.tool("1", given)["result"], 1, given)

    def test_memory_is_an_error_like_any_other(self):
        body = self.tool("x = [bytearray(1 << 20) for _ in range(9999)]")
        self.assertFalse(body["success"])
        self.assertIn("MemoryError", body["stderr"])

    def test_packages_are_named_and_missing_ones_stop_the_run(self):
        self.tool("import pandas, json")
        self.assertEqual(self.tool.metadata["packages"], ["pandas"])
        self.tool("import numpy as np, pandas as pd")
        self.assertEqual(self.tool.metadata["packages"], ["pandas", "numpy"])
        before = self.tool.bytes
        body = self.tool("print('ran')\nimport nosuchthing")
        self.assertEqual((body["success"], body["stdout"]), (False, None))
        self.assertTrue(body["stderr"].startswith(
            "Failed to install required Python packages: nosuchthing. "), body)
        self.assertEqual(body["session_bytes"], before)

    def test_code_for_pyodide_goes_on_with_its_modules(self):
        self.tool("import micropip\nawait micropip.install('numpy')\nimport numpy as np")
        self.assertEqual(self.value("await micropip.install('pandas')\nint(np.ones(3).sum())"), 3)

    def test_there_is_no_network(self):
        body = self.tool("import socket\nsocket.create_connection(('127.0.0.1', %d), 2)"
                         % self.daemon.port)
        self.assertFalse(body["success"])

    # ---- sessions ----

    def test_variables_imports_functions_and_classes_persist(self):
        self.tool("import math\nx = 5\ndef f(y): return x + y\nclass A:\n    v = [1]\na = A()\n"
                  "g = lambda: f(1)")
        self.assertEqual(self.value("x += 1\n[f(1), g(), a.v, math.floor(2.5), isinstance(a, A)]"),
                         [7, 7, [1], 2, True])
        self.assertEqual(self.value("x"), 6)

    def test_metadata_keeps_its_birth_and_moves_on(self):
        self.tool("x = 1")
        first = dict(self.tool.metadata)
        self.assertEqual(set(first), {"created", "lastModified", "packages"})
        for name in ("created", "lastModified"):
            datetime.datetime.strptime(first[name], "%Y-%m-%dT%H:%M:%S.%fZ")
        self.tool("x")
        self.assertEqual(self.tool.metadata["created"], first["created"])
        self.assertGreaterEqual(self.tool.metadata["lastModified"], first["lastModified"])

    def test_a_run_that_fails_costs_no_state(self):
        self.tool("x = 1")
        kept = self.tool.bytes, self.tool.metadata
        for code, timeout in (("x = 2\n1/0", 55), ("x = (", 55), ("x = 3\nwhile True: pass", 0.5),
                              ("import os; os._exit(3)", 55), ("import ctypes; ctypes.string_at(0)", 55),
                              ("x = [bytearray(1 << 20) for _ in range(9999)]", 55)):
            self.assertFalse(self.tool(code, timeout)["success"], code)
            self.assertEqual((self.tool.bytes, self.tool.metadata), kept, code)
            self.assertEqual(self.value("x"), 1)
            kept = self.tool.bytes, self.tool.metadata

    def test_what_cannot_be_saved_is_named(self):
        body = self.tool("f = open('/dev/null')\nx = 1")
        self.assertTrue(body["success"])
        self.assertEqual([fact["name"] for fact in self.tool.metadata["lost"]], ["f"])
        self.assertEqual(self.value("[x, 'f' in globals()]"), [1, False])
        self.assertNotIn("lost", self.tool.metadata)

    def test_what_breaks_the_saving_costs_no_state(self):
        self.tool("x = 1")
        kept = self.tool.bytes
        body = self.tool("import pickle\npickle.Pickler = None\nx = 2")
        self.assertEqual((body["success"], body["session_bytes"]), (True, kept))
        self.assertEqual(self.tool.metadata["lost"][0]["name"], "*")
        self.assertEqual(self.value("x"), 1)

    def test_bytes_need_metadata(self):
        self.tool("x = 1")
        self.tool.metadata = None
        body = self.tool("print('ran')")
        self.assertEqual((body["success"], body["stdout"], body["stderr"]),
                         (False, None, "sessionMetadata is required when providing sessionBytes"))

    def test_who_asks_for_no_session_gets_none(self):
        body = self.tool.post({"code": "x = 1"}).json
        self.assertEqual((body["session_bytes"], body["session_metadata"]), (None, None))
        body = self.tool.post({"code": "x = 1", "stateful": True}).json
        self.assertIsNotNone(body["session_bytes"])

    def test_a_session_that_is_too_large_keeps_what_fits(self):
        body = self.tool("big = bytes(4 << 20)\nsmall = 'x' * 100_000")
        self.assertTrue(body["success"])
        self.assertLess(len(body["session_bytes"]), 4 * MIB)
        self.assertEqual([fact["name"] for fact in self.tool.metadata["lost"]], ["big"])
        self.assertEqual(self.value("len(small)"), 100_000)
        self.tool("import os\nmost = os.urandom(2_900_000)")
        self.assertLess(len(self.tool.bytes), 4 * MIB)
        self.assertEqual(self.value("len(most)"), 2_900_000)

    # ---- hostile bytes ----

    def hostile(self, text, code="print('ran')", timeout=50):
        body = self.tool.post({"code": code, "session_bytes": text, "session_metadata": {},
                               "timeout_seconds": timeout})
        self.assertEqual(body.status, 200, body)
        return body.json

    def test_bytes_that_are_no_session_run_nothing(self):
        good = Tool(self.daemon)
        good("x = 1")
        dill = base64.b64encode(pickle.dumps({"x": 1})).decode()
        for text, why in (("", "not an exported session"), ("%%%", "base64"), (good.bytes[1:], ""),
                          (dill, "not an exported session"), (state(version=7), "format 7"),
                          (state(python="3.6.1"), "saved by Python 3.6.1"), ("é" * 100, "base64")):
            body = self.hostile(text)
            self.assertEqual((body["success"], body["stdout"]), (False, None), text)
            self.assertIn("session_bytes: ", body["stderr"])
            self.assertIn(why, body["stderr"])
            self.assertEqual(body["session_bytes"], text)

    def test_a_session_that_is_not_whole_is_refused_and_comes_back(self):
        good = Tool(self.daemon)
        good("x = [1]\ny = 'é' * 50\ndef f(): return 1")
        data = base64.b64decode(good.bytes)
        changed = data.replace(b"def f", b"def g")
        self.assertNotEqual(changed, data)
        for part in (data[:-1], data[:-4], data[:-30], data[:len(data) // 2], data + b"\0", changed):
            text = base64.b64encode(part).decode()
            body = self.hostile(text, "print('ran')")
            self.assertEqual((body["success"], body["stdout"], body["result"]), (False, None, None))
            self.assertIn("session_bytes: this is not as it was saved: bytes are missing or changed", body["stderr"])
            self.assertEqual(body["session_bytes"], text)
        self.assertEqual(self.hostile(good.bytes, "y[0]")["result"], "é")

    def test_what_was_drawn_comes_along(self):
        body = self.tool("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()")
        (chart,) = body["charts"]
        self.assertTrue(base64.b64decode(chart["base64"]).startswith(b"\x89PNG"))

    def test_output_that_was_cut_says_so(self):
        out = self.tool("print('a' * 3_000_000)")["stdout"]
        self.assertTrue(out.startswith("a" * MIB) and out.endswith("and was cut]"), out[-100:])

    def test_bombs_harm_their_own_sandbox_only(self):
        ended = {"while True: pass": "timed out", "import os; os._exit(9)": "",
                 "x = [bytearray(1 << 20) for _ in range(9999)]": "MemoryError",
                 "import ctypes; ctypes.string_at(0)": "SIGSEGV", "import os; os.kill(os.getpid(), 9)": ""}
        for code, why in ended.items():
            body = self.hostile(bomb(code), timeout=1 if why == "timed out" else 50)
            self.assertEqual((body["success"], body["stdout"]), (False, None), code)
            self.assertIn(why, body["stderr"])
        for code in ("raise SystemExit(0)", "raise KeyboardInterrupt", "import sys; sys.stdout = None",
                     "print(open('/etc/shadow').read())", "import os; os.system('id; cat /etc/shadow')"):
            body = self.hostile(bomb(code), "1 + 1")
            self.assertEqual((body["success"], body["result"]), (True, 2), code)
            self.assertNotIn("root:", body["stdout"] or "")
        self.assertEqual(self.value("1"), 1)

    def test_bytes_above_the_limit_are_refused_and_come_back(self):
        text = "A" * (4 * MIB + 8)
        body = self.hostile(text)
        self.assertEqual((body["success"], body["session_bytes"] == text), (False, True))
        self.assertIn(str(3 * MIB), body["stderr"])

    # ---- requests that are none ----

    def test_wrong_bodies_are_refused_in_its_shape(self):
        for body, status in ((b"", 422), (b"{", 400), (b"[]", 422), (b'{"code":5}', 422), (b"{}", 422),
                             (b'{"code":null}', 422), (b'{"code":"1"}x', 400)):
            answer = self.daemon.request("POST", "/elitea/execute", body)
            self.assertEqual(answer.status, status, body)
            self.assertEqual(set(answer.json), {"detail"}, body)
        for method, path in (("GET", "/elitea/execute"), ("POST", "/elitea/nothing")):
            answer = self.daemon.request(method, path, b"{}" if method == "POST" else None)
            self.assertIn(answer.status, (404, 405))
            self.assertEqual(set(answer.json), {"detail"})

    def test_a_session_of_the_wrong_type_does_not_pass_for_none(self):
        for extra in ({"session_bytes": 5}, {"session_bytes": [118, 105]}, {"session_bytes": {}}, {"session_metadata": "x"},
                      {"session_metadata": [1]}, {"stateful": "yes"}, {"session_bytes": [1], "session_metadata": {}}):
            answer = self.tool.post({"code": "1", **extra})
            self.assertEqual((answer.status, set(answer.json)), (422, {"detail"}), extra)
            self.assertTrue(answer.json["detail"].startswith(next(iter(extra)) + ": "), extra)

    def test_what_else_goes_along_is_taken_as_far_as_it_is_right(self):
        for extra in ({"what": {"is": ["this"]}}, {"stateful": None}, {"session_bytes": None},
                      {"session_metadata": {"packages": [1, {}, "a", "a"], "created": 5}}):
            body = self.tool.post({"code": "1", **extra}).json
            self.assertEqual((body["success"], body["result"]), (True, 1), extra)
        self.assertEqual(body["session_metadata"]["packages"], ["a"])

    def test_code_of_any_length_and_any_character(self):
        self.assertEqual(self.value("x = '" + "é" * 300_000 + "'\nlen(x)"), 300_000)
        self.assertEqual(self.value("'a\\nb'"), "a\nb")

    def test_it_is_at_the_root_too(self):
        self.assertEqual(Tool(self.daemon, "/execute")("1")["result"], 1)


class Gates(unittest.TestCase):
    def start(self, settings="", **env):
        daemon = Daemon(ON % settings, env=env)
        self.addCleanup(daemon.stop)
        return daemon

    def busy(self, daemon, count):
        """Runs that are on, and how to end them."""
        tools = [threading.Thread(target=Tool(daemon), args=("import time\ntime.sleep(60)", 50))
                 for _ in range(count)]
        for tool in tools:
            tool.start()
        wait_for(lambda: self.on(daemon) == count, what="the runs")

        def end():
            for line in daemon.ask("GET", "/v1/runs")["runs"]:
                if line["verdict"] is None:
                    daemon.request("DELETE", f"/v1/runs/{line['id']}")
            for tool in tools:
                tool.join()
        return end

    @staticmethod
    def on(daemon):
        return sum(line["verdict"] is None for line in daemon.ask("GET", "/v1/runs")["runs"])

    def test_too_many_at_once_is_a_soft_error_that_keeps_the_state(self):
        daemon = self.start(", max_concurrent: 2")
        tool = Tool(daemon)
        tool("x = 1")
        kept = tool.bytes
        end = self.busy(daemon, 2)
        body = tool("x")
        end()
        self.assertEqual((body["success"], body["stderr"], body["session_bytes"]),
                         (False, "Sandbox busy: 2 concurrent executions at limit 2. Retry shortly.", kept))
        self.assertEqual(tool("x")["result"], 1)

    def test_its_own_variables_win(self):
        daemon = self.start(", max_concurrent: 9", SANDBOX_MAX_CONCURRENT="1",
                            SANDBOX_TIMEOUT_SECONDS="1", SANDBOX_WASM_MAX_MEM_MB="100")
        self.assertEqual(Tool(daemon)("while True: pass")["stderr"], "Execution timed out after 1 seconds")
        self.assertIn("MemoryError", Tool(daemon)("x = [bytearray(1 << 20) for _ in range(200)]")["stderr"])

    def test_bad_variables_are_never_without_a_limit(self):
        daemon = self.start("", SANDBOX_MAX_CONCURRENT="-1", SANDBOX_TIMEOUT_SECONDS="9999",
                            SANDBOX_WASM_MAX_MEM_MB="3", SANDBOX_MEMORY_PRESSURE_PCT="lots")
        self.assertEqual(Tool(daemon)("1")["result"], 1)
        self.assertFalse(Tool(daemon)("x = [bytearray(1 << 20) for _ in range(600)]")["success"])

    def test_memory_pressure_is_a_soft_error(self):
        daemon = self.start(", memory_pressure: 1")
        body = Tool(daemon)("print('ran')")
        self.assertEqual((body["success"], body["stdout"]), (False, None))
        self.assertRegex(body["stderr"], r"^Host memory pressure \d+% exceeds threshold 1%\. Retry shortly\.$")

    def test_memory_pressure_can_be_left_out(self):
        self.assertEqual(Tool(self.start(", memory_pressure: 0"))("1")["result"], 1)

    def test_a_client_that_leaves_ends_its_run(self):
        daemon = self.start(", max_concurrent: 1")
        connection = daemon.connection()
        connection.request("POST", "/elitea/execute",
                           json.dumps({"code": "import time\ntime.sleep(60)"}))
        wait_for(lambda: self.on(daemon) == 1, what="the run")
        connection.close()
        wait_for(lambda: self.on(daemon) == 0, what="its end")
        self.assertEqual(Tool(daemon)("1")["result"], 1)

    def test_the_token_is_checked_first(self):
        secret = hashlib.sha256(b"right").hexdigest()
        daemon = Daemon(ON % "" + f"tokens:\n  - {{name: t, sha256: {secret}}}\n")
        self.addCleanup(daemon.stop)
        for headers in ({}, {"X-Sandbox-Token": "wrong"}, {"X-Sandbox-Token": ""},
                        {"Authorization": "Bearer wrong"}):
            answer = Tool(daemon, headers=headers).post(b"{not json")
            self.assertEqual((answer.status, answer.json), (401, {"detail": "Sandbox auth token invalid"}))
        for headers in ({"X-Sandbox-Token": "right"}, {"Authorization": "Bearer right"}):
            self.assertEqual(Tool(daemon, headers=headers)("1")["result"], 1)

    def test_alone_its_own_token_counts(self):
        daemon = Daemon("", flags=["--dialect", "elitea"], env={"SANDBOX_AUTH_TOKEN": "s3cret"})
        self.addCleanup(daemon.stop)
        self.assertEqual(Tool(daemon, "/execute").post({"code": "1"}).status, 401)
        with open(f"/proc/{daemon.launch_pid}/environ", "rb") as file:
            self.assertNotIn(b"s3cret", file.read())
        headers = {"X-Sandbox-Token": "s3cret", "Host": "sandbox.example:7878"}
        self.assertEqual(Tool(daemon, "/execute", headers)("1")["result"], 1)

    def test_alone_it_has_the_root(self):
        daemon = Daemon("", flags=["--dialect", "elitea"])
        self.addCleanup(daemon.stop)
        self.assertEqual(Tool(daemon, "/execute")("1")["result"], 1)


if __name__ == "__main__":
    unittest.main()
