# SPDX-License-Identifier: Apache-2.0
"""A session's variables as bytes, and back in another interpreter."""

import unittest

from heads import PIECE_MAX, Session


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
            answer, _ = head.ask(stream.replace(b"state 1", b"state 2", 1), kind="import")
            self.assertEqual(answer["error"], "this is of format 2, and here format 1 is read")

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
        self.assertEqual(sorted(lost), ["f", "g", "ghost", "held.lock", "l", "slots"])
        self.assertIn("pickle", lost["l"])
        self.assertIn("no function of the session", lost["ghost"])

    def test_an_export_of_an_import_is_the_same(self):
        cells = ("def f():\n    return 1\nclass A: pass\na = A()\nx = [1]",)
        stream, _ = self.export(*cells)
        with Session() as head:
            head.ask(stream, kind="import")
            _, outcome = head.look(kind="export")
            self.assertEqual(outcome.files["state"], stream)

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

    def test_a_class_that_is_missing_loses_its_values_only(self):
        stream, lost = self.export("class A: pass\na = A()\nx = 1",
                                   "A.__reduce__ = lambda self: (print, ('was read',))")
        self.assertEqual(lost, {})
        stream = stream.replace(b"class A: pass", b"class B: pass")
        with Session() as head:
            answer, _ = head.ask(stream, kind="import")
            self.assertIn("x", answer["names"])


if __name__ == "__main__":
    unittest.main()
