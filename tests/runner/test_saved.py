# SPDX-License-Identifier: Apache-2.0
"""States that one run saves, and another interpreter goes on with."""

import base64
import pickle
import struct
import sys
import unittest
import zlib
from importlib.util import MAGIC_NUMBER

from heads import Session

ROOM = 1 << 20


def value(outcome):
    if outcome.error:
        raise AssertionError(outcome.error["traceback"])
    return outcome.result["application/json"]


def saved(outcome):
    """The one event that tells of it."""
    (event,) = outcome.of("saved_state")
    return event["saved_state"]


SEAL = 25  # bytes at the end of a saved state


def sealed(data):
    """With its size and its sum behind it."""
    return data + b"e" + struct.pack("<IIQI", 0, 12, len(data), zlib.crc32(data)) + bytes(4)


def stream(*records, version=1, python=None, lost="[]"):
    """A state as anybody could make it: records are (kind, name, bytes)."""
    python = python or ".".join(map(str, sys.version_info[:3]))
    data = b"vivarium state %d\n" % version
    data += b'{"python":"%s","names":[],"lost":%s}\n' % (python.encode(), lost.encode())
    for kind, name, body in records:
        data += kind + struct.pack("<I", len(name)) + name
        data += (struct.pack("<I", len(body)) + body if body else b"") + bytes(4)
    return sealed(data)


class Bomb:
    """Runs its code in the process that unpickles it."""

    def __init__(self, code):
        self.code = code

    def __reduce__(self):
        return exec, (self.code,)


class Saved(unittest.TestCase):
    def run_one(self, code, state=None, room=ROOM, **meta):
        if room:
            meta["save_state"] = room
        with Session() as head:
            pieces = {"code": code}
            if state is not None:
                pieces["saved_state"] = state if isinstance(state, str) \
                    else base64.b64encode(state).decode()
            head.send(2, pieces, {"once": True, **meta})
            return head._collect(None)

    def test_variables_imports_functions_and_classes_go_on(self):
        first = self.run_one("import math as m, pandas as pd, numpy as np\n"
                             "frame = pd.DataFrame({'a': [1, 2]})\narray = np.arange(4)\n"
                             "def area(r): return m.pi * r\n"
                             "class P:\n    def __init__(self, x): self.x = x\n"
                             "p = P([1, frame])\nh = lambda x: x + len(array)")
        self.assertEqual(first.done["kind"], "ok")
        self.assertEqual(saved(first)["lost"], [])
        second = self.run_one("[int(frame.a.sum()), int(array.sum()), round(area(1)), p.x[1] is not None, "
                              "h(1), m.e > 2, isinstance(p, P)]", saved(first)["base64"])
        self.assertEqual(value(second), [3, 6, 3, True, 5, True, True])
        third = self.run_one("x = h(1)\nx", saved(second)["base64"])
        self.assertEqual(value(third), 5)
        self.assertIn("x", saved(third)["names"])

    def test_a_definition_below_a_form_feed_goes_on_whole(self):
        first = self.run_one("x = '\f\u2028'\nclass P:\n    y = 7\n    def f(self): return self.y")
        self.assertEqual(saved(first)["lost"], [])
        self.assertEqual(value(self.run_one("P().f()", saved(first)["base64"])), 7)

    def test_what_cannot_be_saved_is_named_and_the_rest_goes(self):
        first = self.run_one("import threading\nf = open('/dev/null')\ng = (i for i in [1])\n"
                             "l = threading.Lock()\nx = 5")
        told = {fact["name"]: fact["why"] for fact in saved(first)["lost"]}
        self.assertEqual(sorted(told), ["f", "g", "l"])
        self.assertTrue(all("pickle" in why for why in told.values()), told)
        self.assertEqual(value(self.run_one("x", saved(first)["base64"])), 5)

    def test_a_run_that_fails_saves_nothing(self):
        for code in ("x = 1\n1/0", "import sys; sys.exit(3)", "x = ("):
            self.assertIsNone(saved(self.run_one(code))["base64"], code)

    def test_nobody_asked_and_nothing_is_said(self):
        self.assertEqual(self.run_one("x = 1", room=0).of("saved_state"), [])

    def test_what_does_not_fit_is_left_out_and_named(self):
        first = self.run_one("big = 'x' * 3_000_000\nsmall = [1]\nimport math\ndef f(): return 1")
        self.assertEqual([fact["name"] for fact in saved(first)["lost"]], ["big"])
        self.assertEqual(saved(first)["lost"][0]["why"], "no room: a saved state may take at most 1048576 bytes")
        self.assertLess(len(saved(first)["base64"]), 4096)
        second = self.run_one("[small, math.floor(1.5), f(), 'big' in globals()]",
                              saved(first)["base64"])
        self.assertEqual(value(second), [[1], 1, 1, False])

    def test_not_even_its_head_fits(self):
        told = saved(self.run_one("x = 1", room=10))
        self.assertIsNone(told["base64"])
        self.assertEqual(told["lost"][0]["name"], "*")

    def test_deep_recursion_is_named_not_fatal(self):
        first = self.run_one("deep = []\nfor _ in range(100000): deep = [deep]\nx = 1")
        self.assertEqual([fact["name"] for fact in saved(first)["lost"]], ["deep"])
        self.assertIn("Recursion", saved(first)["lost"][0]["why"])
        self.assertEqual(value(self.run_one("x", saved(first)["base64"])), 1)

    def test_bytes_that_are_no_state_are_an_error_and_nothing_runs(self):
        cases = {"!!!": "not valid base64", "": "not an exported session",
                 base64.b64encode(b"PK\x03\x04 dill").decode(): "not an exported session",
                 base64.b64encode(stream(version=9)).decode(): "format 9",
                 base64.b64encode(stream(python="2.7.18")).decode(): "saved by Python 2.7.18",
                 base64.b64encode(stream(lost="[1]")).decode(): "not an exported session"}
        for text, why in cases.items():
            outcome = self.run_one("print('ran')", text)
            self.assertEqual(outcome.done["kind"], "exception", text)
            self.assertIn("saved_state: ", outcome.done["message"])
            self.assertIn(why, outcome.done["message"])
            self.assertEqual(outcome.stdout, b"")

    def test_a_state_that_was_cut_short_is_refused(self):
        data = base64.b64decode(saved(self.run_one("x = [1]\ndef f(): return 2\nclass A: pass\na = A()"))
                                ["base64"])
        start = data.index(b"\n", data.index(b"\n") + 1) + 1
        for end in range(start, len(data), 9):
            outcome = self.run_one("print('ran')", data[:end])
            self.assertIn("saved_state: this is not as it was saved", outcome.done["message"])
            self.assertEqual((outcome.done["kind"], outcome.stdout), ("exception", b""))

    def test_a_bomb_goes_off_inside_and_is_named(self):
        for code, wanted in (("raise SystemExit(3)", "SystemExit"), ("1/0", "ZeroDivisionError"),
                             ("raise KeyboardInterrupt", "KeyboardInterrupt")):
            data = stream((b"p", b"bad", pickle.dumps(Bomb(code))), (b"p", b"x", pickle.dumps(3)))
            outcome = self.run_one("x", data)
            self.assertEqual(value(outcome), 3)
            self.assertIn(wanted, saved(outcome)["lost"][0]["why"])

    def test_records_that_no_one_wrote_are_named(self):
        data = stream((b"z", b"n", b"1"), (b"a", b"5", pickle.dumps([1])), (b"a", b"[", b"\x80"),
                      (b"m", b"m", b"no_such_module"), (b"s", b"s", b"\xff"),
                      (b"p", b"\xff\xfe", b"junk"), (b"t", b"gone", pickle.dumps({})),
                      (b"f", b"../../etc/x", b"data"), (b"p", b"x", pickle.dumps(3)))
        outcome = self.run_one("x", data)
        self.assertEqual(value(outcome), 3)
        self.assertEqual(len(saved(outcome)["lost"]), 8)

    def test_code_of_another_python_is_compiled_again_or_named(self):
        first = self.run_one("def f(a, b=[1]):\n    def g(): return a, b\n    return g\ng = f(5)\nh = lambda: 1\nx = 2\n"
                             "class A:\n    n = 0\n    def both(self): return super().__init__(), self.n\nA.n = 7\n"
                             "exec('def ghost(): pass')")
        data = base64.b64decode(saved(first)["base64"])
        self.assertIn(MAGIC_NUMBER, data)
        outcome = self.run_one("[f(3)()[0], g()[1] is f.__defaults__[0], h(), x, A().both()[1]]",
                               sealed(data[:-SEAL].replace(MAGIC_NUMBER, b"\0\0\r\n")))
        self.assertEqual(value(outcome), [3, True, 1, 2, 7])
        self.assertEqual([fact["name"] for fact in saved(outcome)["lost"]], ["ghost"])
        self.assertIn("ghost was compiled by another Python", saved(outcome)["lost"][0]["why"])


if __name__ == "__main__":
    unittest.main()
