# SPDX-License-Identifier: Apache-2.0
"""Runs that go on where another one ended, each in a sandbox of its own."""

import base64
import os
import pickle
import struct
import sys
import unittest
import zlib

from daemon import Daemon

MIB = 1 << 20


SEAL = 25  # bytes at the end of a saved state


def sealed(data):
    """With its size and its sum behind it."""
    return data + b"e" + struct.pack("<IIQI", 0, 12, len(data), zlib.crc32(data)) + bytes(4)


def state(*records):
    """As anybody could make one: records are (kind, name, bytes)."""
    python = ".".join(map(str, sys.version_info[:3])).encode()
    data = b'vivarium state 1\n{"python":"%s","names":[],"lost":[]}\n' % python
    for kind, name, body in records:
        data += kind + struct.pack("<I", len(name)) + name
        data += struct.pack("<I", len(body)) + body + bytes(4)
    return base64.b64encode(sealed(data)).decode()


class Call:
    """Calls the function in the process that unpickles it."""

    def __init__(self, function, *args):
        self.what = function, args

    def __reduce__(self):
        return self.what


def bomb(function, *args):
    return state((b"p", b"bomb", pickle.dumps(Call(function, *args))))


class Saved(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.stop)

    def save(self, code, **body):
        return self.daemon.run(code, save_state=True, **body)["saved_state"]

    def test_variables_go_from_run_to_run(self):
        first = self.save("import pandas as pd\nframe = pd.DataFrame({'n': [1, 2]})\n"
                          "def twice(x): return 2 * x\nhalf = lambda x: x / 2\nx = [1]")
        self.assertEqual((sorted(first["names"]), first["lost"]),
                         (["frame", "half", "pd", "twice", "x"], []))
        result = self.daemon.run("x.append(twice(int(frame.n.sum())))\n[x, half(3), pd.__name__]",
                                 saved_state=first["base64"], save_state=True)
        self.assertEqual(result["result"]["application/json"], [[1, 6], 1.5, "pandas"])
        last = self.daemon.run("x", saved_state=result["saved_state"]["base64"])
        self.assertEqual(last["result"]["application/json"], [1, 6])
        self.assertEqual(last["saved_state"], {"base64": None, "names": [], "lost": []})
        self.assertNotIn("saved_state", self.daemon.run("1"))

    def test_what_is_lost_is_named(self):
        told = self.save("import threading\nlock = threading.Lock()\nx = 1")
        self.assertEqual([fact["name"] for fact in told["lost"]], ["lock"])
        self.assertIn("pickle", told["lost"][0]["why"])

    def test_a_failed_run_returns_none(self):
        for code, kind in (("1/0", "exception"), ("while True: pass", "timeout"),
                           ("import os; os._exit(4)", "exit")):
            result = self.daemon.run(code, kind=kind, save_state=True, timeout_ms=500)
            self.assertIsNone((result.get("saved_state") or {"base64": None})["base64"], kind)

    def test_the_limit_is_told(self):
        told = self.save("big = bytes(9_000_000)\nx = 1")
        self.assertEqual([fact["name"] for fact in told["lost"]], ["big"])
        self.assertIn(str(8 * MIB), told["lost"][0]["why"])
        large = self.save("big = bytes(7_000_000)")
        self.assertEqual(self.daemon.run("len(big)", saved_state=large["base64"])
                         ["result"]["application/json"], 7_000_000)
        answer = self.daemon.request("POST", "/v1/run", {"code": "1", "saved_state": "A" * 12 * MIB})
        self.assertIn(answer.status, (400, 413))
        self.assertIn("saved_state", answer.error["message"])

    def test_bytes_that_are_no_state_run_nothing(self):
        for text, why in (("*", "base64"), (base64.b64encode(b"\x80\x05.").decode(), "not an exported"),
                          (state().replace(state()[24:32], "A" * 8), "")):
            result = self.daemon.run("print('ran')", kind="exception", saved_state=text)
            self.assertEqual(result["stdout"], "")
            self.assertTrue(result["verdict"]["message"].startswith("saved_state: "))
            self.assertIn(why, result["verdict"]["message"])
        for value in (5, ["x"], {"base64": "x"}):
            answer = self.daemon.request("POST", "/v1/run", {"code": "1", "saved_state": value})
            self.assertEqual(answer.status, 400, value)

    def test_a_bomb_harms_its_own_sandbox_only(self):
        read = self.daemon.run("print('alive')", saved_state=bomb(os.system, "cat /etc/shadow"))
        self.assertNotIn("root:", read["stdout"])
        kinds = set()
        loop = bomb(exec, "while True: pass")
        for text in (bomb(os._exit, 7), bomb(os.kill, 2, 9), loop,
                     bomb(exec, "x = bytearray(1 << 40)"), bomb(exec, "x = [bytearray(1<<20) for _ in range(9999)]"),
                     bomb(exec, "import ctypes; ctypes.string_at(0)")):
            # To fill its memory takes a while on a busy machine; only the loop is to run out of time.
            answer = self.daemon.ask("POST", "/v1/run", {"code": "1", "saved_state": text,
                                                         "timeout_ms": 2000 if text is loop else 30000})
            kinds.add(answer["verdict"]["kind"])
        self.assertLessEqual({"timeout", "memory", "killed"}, kinds)
        self.assertEqual(self.daemon.run("2")["result"]["application/json"], 2)

    def test_the_runtime_is_one_that_has_what_the_state_needs(self):
        plain = self.save("x = 1")["base64"]
        frame = self.save("import pandas as pd\nframe = pd.DataFrame({'n': [1]})\ndel pd")["base64"]
        self.assertEqual(self.daemon.run("x", saved_state=plain)["runtime"], "bare")
        result = self.daemon.run("int(frame.n[0])", saved_state=frame, save_state=True)
        self.assertEqual((result["runtime"], result["result"]["application/json"]), ("base", 1))
        # A head that lies chooses a runtime, and nothing more.
        lie = base64.b64decode(plain)[:-SEAL].replace(b'"needs":[]', b'"needs":["matplotlib"]')
        lie = base64.b64encode(sealed(lie))
        self.assertEqual(self.daemon.run("x", saved_state=lie.decode())["result"]["application/json"], 1)

    def test_a_session_takes_none(self):
        session = self.daemon.session()
        answer = self.daemon.request("POST", f"/v1/sessions/{session}/run",
                                     {"code": "1", "save_state": True})
        self.assertEqual(answer.status, 400)


if __name__ == "__main__":
    unittest.main()
