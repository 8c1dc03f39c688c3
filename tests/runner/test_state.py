# SPDX-License-Identifier: Apache-2.0
"""A session's variables as bytes, and back in another interpreter."""

import pickle
import struct
import unittest

from heads import PIECE_MAX, Session


def record(kind, name, *chunks):
    """As state.py writes it."""
    text = struct.pack("<I", len(name)) + name
    return kind + text + b"".join(struct.pack("<I", len(chunk)) + chunk for chunk in chunks) + bytes(4)


def stream(*records):
    return b'vivarium state 1\n{"python":"3.11","names":[],"lost":[]}\n' + b"".join(records)


def value(outcome):
    if outcome.error:
        raise AssertionError(outcome.error["traceback"])
    return outcome.result["application/json"]


class State(unittest.TestCase):
    def export(self, *cells):
        """The stream of a session in which these cells have run, and what was lost."""
        with Session() as head:
            for cell in cells:
                self.assertEqual(head.run(cell).done["kind"], "ok", cell)
            answer, outcome = head.look(kind="export")
            self.assertEqual(outcome.complete, {"state"})
            return outcome.files["state"], {fact["name"]: fact["why"] for fact in answer["lost"]}

    def moved(self, cells, question, lost=()):
        stream, missing = self.export(*cells)
        self.assertEqual(sorted(missing), sorted(lost))
        with Session() as head:
            answer, _ = head.ask(stream, kind="import")
            self.assertEqual(answer["lost"], [])
            return value(head.run(question))

    def test_values_modules_functions_and_classes(self):
        cells = ("import math as m, numpy as np, pandas as pd\nn = 5\ntext = 'é'",
                 "frame = pd.DataFrame({'a': [1, 2]})\narray = np.arange(3)",
                 "def area(r, k=n):\n    return m.pi * r * r * k",
                 "class Point:\n    '''One.'''\n    size = 2\n    def __init__(self, x):\n"
                 "        self.x = x\n    def twice(self):\n        return self.x * self.size",
                 "class Deep(Point): pass\np = Point(3)\nq = [Deep(4), p]")
        self.assertEqual(
            self.moved(cells, "[n, text, int(frame.a.sum()), array.tolist(), round(area(1)), "
                              "p.twice(), q[0].twice(), isinstance(q[0], Point)]"),
            [5, "é", 3, [0, 1, 2], 16, 6, 8, True])

    def test_what_is_shared_stays_shared(self):
        self.assertEqual(self.moved(("a = [1]\nb = {'a': a}\ndef f(): pass\ng = f",),
                                    "[b['a'] is a, g is f]"), [True, True])

    def test_what_was_set_in_the_interpreter_comes_along(self):
        cells = ("import os, sys, decimal\nos.environ['MODE'] = 'fast'\nos.environ.pop('PATH')\n"
                 "sys.path[:0] = ['/first']\nsys.path += ['/last']\ndecimal.getcontext().prec = 5",)
        self.assertEqual(self.moved(cells, "[os.environ['MODE'], 'PATH' in os.environ, sys.path[0], sys.path[-1], "
                                           "str(decimal.Decimal(1) / 3)]"), ["fast", False, "/first", "/last", "0.33333"])

    def test_a_session_that_goes_on_draws_on_and_one_that_is_made_of_it_draws_anew(self):
        draw = "[random.random(), random.gauss(0, 1), float(np.random.rand()), float(np.random.normal())]"
        seed = "import random, numpy as np\nrandom.seed(42)\nnp.random.seed(42)\n" + draw
        with Session() as head:
            head.run(seed)
            kept = head.look(kind="export", only="variables")[1].files["state"]
            moved = head.look(kind="export")[1].files["state"]
            drawn = value(head.run(draw))
        for stream, is_same in ((kept, True), (moved, False)):
            with Session() as head:
                self.assertEqual(head.ask(stream, kind="import")[0]["lost"], [])
                self.assertEqual([one == other for one, other in zip(value(head.run(draw)), drawn)], [is_same] * 4)

    def test_a_setting_that_cannot_be_put_back_is_named(self):
        with Session() as head:
            answer, _ = head.ask(stream(record(b"i", b"os.getcwd()", pickle.dumps("/workspace/none")),
                                        record(b"i", b"os.umask", pickle.dumps(0))), kind="import")
            self.assertEqual([fact["name"] for fact in answer["lost"]], ["os.getcwd()", "os.umask"])
            self.assertEqual(value(head.run("1 + 1")), 2)

    def test_decorated_functions_come_by_their_source(self):
        cells = ("import functools\n@functools.lru_cache(None)\ndef f(x):\n    return x + 1",)
        self.assertEqual(self.moved(cells, "[f(1), f.cache_info().misses]"), [2, 1])

    def test_functions_without_a_name_of_their_own_come_by_value(self):
        cells = ("import functools\nk = 2\nh = lambda x, y=3: x * y * k\nh.mark = 'm'\n"
                 "def outer(n):\n    def inner(m):\n"
                 "        return 1 if m == 0 else n * inner(m - 1)\n    return inner\n"
                 "i = outer(5)\nexec('def ghost(): return 7')\n"
                 "def pair():\n    n = 0\n    def up():\n        nonlocal n\n        n += 1\n"
                 "    def get():\n        return n\n    return up, get\nboth = pair()\nboth[0]()\n"
                 "part = functools.partial(h, 2)\ntable = {'f': lambda: ghost()}",)
        self.assertEqual(self.moved(cells, "both[0]()\n[h(5), h.mark, i(3), ghost(), both[1](), "
                                           "part(), table['f']()]"),
                         [30, "m", 125, 7, 2, 12, 7])

    def test_classes_without_a_name_of_their_own_come_by_value(self):
        cells = ("from collections import namedtuple\nP = namedtuple('P', 'x y', defaults=[9])\np = P(1)",
                 "def make():\n    class Local:\n        n = 4\n"
                 "        def __init__(self): super().__init__(); self.v = 2\n"
                 "        @property\n        def both(self): return self.n * self.v\n"
                 "        @classmethod\n        def name(cls): return cls.__name__\n"
                 "    return Local\nlocal = make()()",
                 "class Old: v = 1\nold = Old()\nclass Old: v = 2\nnew = Old()")
        self.assertEqual(self.moved(cells, "[p.x, p.y, type(p) is P, local.both, local.name(), "
                                           "old.v, new.v, type(new) is Old]"),
                         [1, 9, True, 8, "Local", 1, 2, True])

    def test_what_a_definition_came_to_hold_comes_along(self):
        cells = ("n = 1\ndef f(a=n, *, b=[]):\n    b.append(a)\n    f.calls += 1\n    return b\n"
                 "f.calls = 0\nclass C:\n    made = 0\n    table = {}\n    @staticmethod\n"
                 "    def make():\n        C.made += 1\n        return C()",
                 "n = 100\nf()\nc = C.make()\nC.table['k'] = 1")
        self.assertEqual(self.moved(cells, "[f(), f.calls, C.made, C.table]"),
                         [[1, 1], 2, 1, {"k": 1}])

    def test_values_of_a_users_own_classes_stay_shared(self):
        cells = ("class A: pass\na = A()\na.me = a\nb = [a]\ndef f(): return a\nt = {'f': f}",)
        self.assertEqual(self.moved(cells, "[b[0] is a, a.me is a, t['f'] is f, f() is a]"), [True] * 4)

    def test_another_format_is_refused_by_its_number(self):
        stream, _ = self.export("x = 1")
        with Session() as head:
            answer, _ = head.ask(stream.replace(b"state 4", b"state 5", 1), kind="import")
            self.assertEqual(answer["error"], "this has format 5, but only formats 1 to 4 can be read here")

    def test_a_stream_that_ends_in_its_first_line_is_incomplete(self):
        with Session() as head:
            for text in (b"vivarium state 3", b"vivarium state "):
                answer, _ = head.ask(text, kind="import")
                self.assertEqual(answer["error"], f"this is cut off in its first line, after {len(text)} bytes: "
                                                  "the others are missing")

    def test_a_part_of_a_kept_session_is_of_the_format_without_a_seal_and_comes(self):
        with Session() as head:
            head.run("x = 1")
            _, outcome = head.look(kind="export", only="variables")
        self.assertTrue(outcome.files["state"].startswith(b"vivarium state 3\n"))
        with Session() as head:
            answer, _ = head.ask(outcome.files["state"], kind="import")
            self.assertEqual((answer["names"], answer["lost"]), (["x"], []))

    def test_definitions_that_need_each_other_come_in_any_order(self):
        cells = ("def later(cls): return cls", "x = 1",
                 "@later\nclass A: pass", "def later(cls):\n    cls.mark = x\n    return cls", "a = A()")
        self.assertEqual(self.moved(cells, "type(a) is A"), True)

    def test_what_cannot_go_is_named(self):
        _, lost = self.export("import threading\nl = threading.Lock()\nx = 1\n"
                              "g = (i for i in [])\nf = open('/dev/null')\n"
                              "def held(): pass\nheld.lock = threading.Lock()\n"
                              "exec('def ghost(): pass', own := {'__name__': '__main__'})\n"
                              "ghost = own.pop('ghost')\ndel own\nkept = lambda k=x: k",
                              "class Slots:\n    __slots__ = ('x',)\nslots = Slots()\ndel Slots")
        self.assertEqual(sorted(lost), ["f", "g", "ghost", "held.lock", "l"])
        self.assertIn("pickle", lost["l"])
        self.assertIn("not a function of the session", lost["ghost"])

    def test_an_export_of_an_import_comes_as_the_first_one_did(self):
        cells = ("def f():\n    return 1/0\nclass A:\n    n = 3\na = A()\nx = [1]",)
        stream, _ = self.export(*cells)
        with Session() as head:
            head.ask(stream, kind="import")
            _, outcome = head.look(kind="export")
        with Session() as head:
            answer, _ = head.ask(outcome.files["state"], kind="import")
            self.assertEqual((sorted(answer["names"]), answer["lost"]), (["A", "a", "f", "x"], []))
            self.assertEqual(value(head.run("[a.n, x, type(a) is A]")), [3, [1], True])
            self.assertIn("return 1/0", head.run("f()").error["traceback"])

    def test_files_go_along_and_links_are_named(self):
        with Session() as head:
            head.run("import os\nos.makedirs('d/empty')\nopen('d/a', 'wb').write(b'x' * 3_000_000)\n"
                     "open(b'\\xff\\n', 'w').close()\nos.symlink('d/a', 'link')")
            answer, outcome = head.look(kind="export")
            self.assertEqual([fact["name"] for fact in answer["lost"]], [head.path("link")])
        with Session() as head:
            answer, done = head.ask(outcome.files["state"], kind="import")
            self.assertTrue(done.done["files_dirty"])
            self.assertEqual(len(answer["lost"]), 1)
            self.assertEqual(value(head.run("import os\n[sorted(map(repr, os.listdir(b'.'))), "
                                            "os.listdir('d'), os.path.getsize('d/a')]"))[::2],
                             [["b'\\xff\\n'", "b'd'"], 3000000])

    MODES = "import os\n[(p, oct(os.stat(p).st_mode & 0o7777), str(os.stat(p).st_mtime_ns)) for p in ('run.sh', 'd', 'd/in', 'd/in/a')]"

    def test_permissions_and_times_go_along(self):
        cells = ("import os\nos.makedirs('d/in')\nfor p in ('run.sh', 'd/in/a'): open(p, 'w').write('#!/bin/sh')\n"
                 "for p, m in (('run.sh', 0o4755), ('d/in/a', 0o440), ('d/in', 0o500), ('d', 0o555)):\n"
                 "    os.utime(p, ns=(0, 10 ** 18 + len(p))); os.chmod(p, m)\n"
                 "os.utime('run.sh', (0, -1.5)); os.utime('d', (0, 10 ** 10))",)
        self.assertEqual(self.moved(cells, self.MODES),
                         [["run.sh", "0o755", "-1500000000"], ["d", "0o555", str(10 ** 19)],
                          ["d/in", "0o500", str(10 ** 18 + 4)], ["d/in/a", "0o440", str(10 ** 18 + 6)]])

    def test_files_of_an_older_stream_have_no_permissions_and_come(self):
        with Session() as head:
            answer, _ = head.ask(stream(record(b"d", b"d"), record(b"f", b"d/a", b"by", b"tes")), kind="import")
            self.assertEqual(answer["lost"], [])
            self.assertEqual(value(head.run("import os\n[open('d/a').read(), os.path.getmtime('d/a') > 1]")), ["bytes", True])

    def test_permissions_and_times_that_are_none_lose_the_file(self):
        good = struct.pack("<HqI", 0o640, 1, 2)
        bad = {b"short": good[:-1], b"setuid": struct.pack("<HqI", 0o4755, 1, 2),
               b"type": struct.pack("<HqI", 0o100644, 1, 2), b"second": struct.pack("<HqI", 0o644, 1, 10 ** 9)}
        with Session() as head:
            answer, _ = head.ask(stream(record(b"F", b"good", good[:3], good[3:], b"bytes"),
                                        *(record(b"F", name, facts) for name, facts in bad.items()),
                                        *(record(b"D", name, facts) for name, facts in bad.items()),
                                        record(b"F", b"none"), record(b"D", b"none"), record(b"D", b"../out", good),
                                        record(b"F", b"far", struct.pack("<HqI", 0o600, -(1 << 63), 0))), kind="import")
            self.assertEqual(sorted(fact["name"] for fact in answer["lost"]),
                             sorted([head.path(name.decode()) for name in (*bad, b"none")] * 2 + [head.path("../out")]))
            self.assertEqual(value(head.run("import os\n[sorted(os.listdir()), open('good').read(), "
                                            "oct(os.stat('good').st_mode), os.stat('good').st_mtime_ns]")),
                             [["far", "good"], "bytes", "0o100640", 1000000002])

    def test_a_module_of_the_workspace_is_there_before_what_needs_it(self):
        cells = ("open('mine.py', 'w').write('class A:\\n    x = 7\\n')", "import mine\na = mine.A()")
        self.assertEqual(self.moved(cells, "a.x"), 7)

    def test_tracebacks_show_imported_lines(self):
        stream, _ = self.export("def f():\n    return 1/0")
        with Session() as head:
            head.ask(stream, kind="import")
            self.assertIn("return 1/0", head.run("f()").error["traceback"])

    def test_a_large_value_comes_in_pieces(self):
        cells = ("import numpy as np\nbig = np.arange(2_000_000)\ntext = 'x' * 5_000_000",)
        stream, _ = self.export(*cells)
        self.assertGreater(len(stream), 300 * PIECE_MAX)
        self.assertEqual(self.moved(cells, "[int(big.sum()), len(text)]"),
                         [1999999000000, 5000000])

    def test_the_sessions_own_head_stays_as_it_was(self):
        with Session() as head:
            head.run("class A:\n    def __reduce__(self):\n        global hit\n        hit = True\n"
                     "        return (A, ())\na = A()\nhit = False")
            head.look(kind="export")
            self.assertEqual(value(head.run("hit")), False)

    def test_a_hostile_stream_is_refused_or_lost(self):
        good, _ = self.export("x = [1, 2, 3]\ndef f(): pass\nclass A: pass\na = A()")
        for stream in (b"", b"nonsense", good[:7]):
            with Session() as head:
                self.assertIn("error", head.ask(stream, kind="import")[0])
        with Session() as head:
            for end in range(18, len(good), 7):
                head.ask(good[:end], kind="import")
                self.assertEqual(value(head.run("1")), 1)

    def test_a_stream_of_an_older_vivarium_comes(self):
        """Definitions by their source, run again; then what needs them."""
        a, b = pickle.dumps({"n": [1, 2]}), b"c__main__\nA\n)\x81}(X\x01\x00\x00\x00vK\x07ub."
        old = stream(record(b"m", b"m", b"math"), record(b"a", b'["n"]', a),
                     record(b"s", b"A", b"class A(B):\n    def f(self): return self.v + len(n) + self.w\n"),
                     record(b"s", b"B", b"class B:\n    w = 0\n"), record(b"s", b"C", b"class C(Gone): pass\n"),
                     record(b"s", b"D", b"class D: x = 1 / 0\n"), record(b"t", b"B", pickle.dumps({"w": 100})),
                     record(b"p", b"a", b"\x80\x03" + b))
        with Session() as head:
            answer, _ = head.ask(old, kind="import")
            why = {fact["name"]: fact["why"].partition(":")[0] for fact in answer["lost"]}
            self.assertEqual(why, {"C": "NameError", "D": "ZeroDivisionError"})
            self.assertEqual(value(head.run("[a.f(), m.floor(1.5)]")), [109, 1])

    def test_a_frame_that_an_object_of_the_session_holds_is_the_same_one(self):
        cells = ("import pandas as pd, numpy as np\ndf = pd.DataFrame({'a': [1]})\narray = np.arange(3)\nclass Report:\n"
                 "    def __init__(s, df): s.df = df\nr = Report(df); cfg = {'k': 1}; r.cfg = cfg; views = [array]",)
        self.assertEqual(self.moved(cells, "cfg['k'] = 2; df['b'] = 1; array[0] = 9\n[r.cfg, list(r.df.columns), r.df is df, int(views[0][0])]"),
                         [{"k": 2}, ["a", "b"], True, 9])


if __name__ == "__main__":
    unittest.main()
