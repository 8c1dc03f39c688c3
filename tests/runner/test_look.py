# SPDX-License-Identifier: Apache-2.0
"""Looks: what is in a session, told by a fork that user code may ruin as it likes."""

import os
import signal
import json
import unittest

from heads import RUN, Session

SCENE = """
import math, numpy as np, pandas as pd
n, text, nothing = 5, 'x' * 1000, None
big = list(range(1_000_000))
frame = pd.DataFrame({'a': [1, 2, 3], 'b': ['x', None, 'z']})
series = pd.Series([1.5, float('nan')], index=['p', 'q'], name='s')
array = np.arange(6).reshape(2, 3)
cube = np.zeros((2, 2, 2))
dicts = [{'k': 1}, {'k': 2, 'm': pd.Timestamp('2020-01-01')}]
lists = [[1, 2], [3]]
columns = {'u': [1, 2], 'v': [3, 4]}
plain = {'one': 1, 2: 'two'}
def double(x): return 2 * x
class Point:
    def __init__(self): self.x = 1
point = Point()
"""
HOSTILE = """
class Evil:
    def __init__(self, how): self.how = how
    def __repr__(self):
        exec(self.how)
        return 'evil'
"""


SHADOWS = """
import os, sys
sys.modules.pop('reprlib', None)
for name in 'reprlib', 'json', 'ast', 'tokenize', 'hashlib', 'select', 'keyword', 'traceback', 'base64', 'pickle':
    with open(name + '.py', 'w') as file:
        file.write("import os\\nos.open('hit-' + __name__, os.O_CREAT)\\nraise SystemExit")
x = [1, 2]
"""


class Shadows(unittest.TestCase):
    def test_files_named_like_modules_are_not_ours_to_import(self):
        with Session() as head:
            self.assertEqual(head.run(SHADOWS).done["kind"], "ok")
            answer, outcome = head.look(kind="vars")
            self.assertEqual((outcome.done["kind"], answer["vars"][-1]["repr"]), ("ok", "[1, 2]"))
            for question in ({"kind": "print"}, {"kind": "complete", "code": "x.app", "cursor": 5}):
                self.assertEqual(head.look(**question)[1].done["kind"], "ok")
            self.assertEqual(head.run("1/0").done["kind"], "exception")
            self.assertIn("not valid JSON", head.run("1", args=b"{").done["message"])
            self.assertEqual([name for name in os.listdir(head.workspace) if name.startswith("hit-")], [])


THREADS = """
import threading
stop = threading.Event()
class Worker(threading.Thread): pass
class Own(threading.Thread):
    def __repr__(self): return 'own'
alone = threading.Thread(target=stop.wait, name='alone', daemon=True)
several = [Worker(target=stop.wait, name='w'), Own(target=stop.wait)]
for thread in alone, *several: thread.start()
del thread
"""


class Threads(unittest.TestCase):
    def test_no_state_is_told_of_a_thread_that_the_fork_does_not_have(self):
        with Session() as head:
            self.assertEqual(head.run(THREADS).done["kind"], "ok")
            found = {fact["name"]: fact["repr"] for fact in head.look(kind="vars")[0]["vars"]}
            self.assertEqual((found["alone"], found["several"]), ("<Thread(alone daemon)>", "[<Worker(w)>, own]"))
            self.assertIn("started", head.run("alone").result["text/plain"])
            head.run("stop.set()")


class Vars(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.session = Session()
        cls.head = cls.session.__enter__()
        assert cls.head.run(SCENE).done["kind"] == "ok"
        answer, outcome = cls.head.look(kind="vars")
        assert outcome.done["kind"] == "ok"
        cls.vars = {fact["name"]: fact for fact in answer["vars"]}

    @classmethod
    def tearDownClass(cls):
        cls.session.__exit__()

    def test_only_what_is_the_users(self):
        self.assertEqual(list(self.vars), ["n", "text", "nothing", "big", "frame", "series", "array",
                                           "cube", "dicts", "lists", "columns", "plain", "double",
                                           "Point", "point"])

    def test_types_and_shapes(self):
        found = {name: (fact["type"], fact.get("shape"), fact.get("columns"))
                 for name, fact in self.vars.items()}
        self.assertEqual(found["n"], ("int", None, None))
        self.assertEqual(found["frame"], ("DataFrame", [3, 2], ["a", "b"]))
        self.assertEqual(found["series"], ("Series", [2], None))
        self.assertEqual(found["array"], ("ndarray", [2, 3], None))
        self.assertEqual([self.vars[name].get("dtype") for name in ("array", "series", "frame", "n", "lists")],
                         ["int64", "float64", None, None, None])
        self.assertEqual(found["double"][0], "function")
        self.assertEqual(found["Point"][0], "class")
        self.assertEqual(found["point"][0], "Point")

    def test_reprs_are_short(self):
        self.assertEqual(self.vars["n"]["repr"], "5")
        self.assertEqual(len(self.vars["text"]["repr"]), 200)
        self.assertTrue(self.vars["big"]["repr"].startswith("[0, 1, 2, 3"))
        self.assertLessEqual(max(len(fact["repr"]) for fact in self.vars.values()), 200)

    def test_sizes_are_those_of_the_data(self):
        self.assertEqual(self.vars["array"]["size"], 48)
        self.assertGreater(self.vars["big"]["size"], 8_000_000)
        self.assertGreater(self.vars["frame"]["size"], 3 * 16)

    def test_pages(self):
        names, offset = [], 0
        while offset is not None:
            answer, _ = self.head.look(kind="vars", offset=offset, limit=4)
            self.assertLessEqual(len(answer["vars"]), 4)
            names += [fact["name"] for fact in answer["vars"]]
            offset = answer.get("next")
        self.assertEqual(names, list(self.vars))

    def table(self, name, **more):
        return self.head.look(kind="table", name=name, **more)[0]

    def test_tables(self):
        cases = {"array": ([0, 1, 2], [[0, 1, 2], [3, 4, 5]]),
                 "dicts": (["k", "m"], [[1, None], [2, "2020-01-01T00:00:00"]]),
                 "lists": ([0, 1], [[1, 2], [3]]),
                 "columns": (["u", "v"], [[1, 3], [2, 4]]),
                 "plain": (["key", "value"], [["one", 1], [2, "two"]])}
        for name, (columns, rows) in cases.items():
            answer = self.table(name)
            self.assertEqual(answer.pop("dtypes", None), ["int64"] * 3 if name == "array" else None)
            self.assertEqual(answer, {"columns": columns, "rows": rows, "total": len(rows),
                                      "matched": len(rows), "numbers": [*range(len(rows))]}, name)

    def test_frames_and_series_are_tables_with_their_index(self):
        self.assertEqual(self.table("frame"), {
            "columns": ["a", "b"], "rows": [[1, "x"], [2, None], [3, "z"]], "total": 3,
            "dtypes": ["int64", "object"], "decimals": [None, None], "missing": {"1": "None"},
            "matched": 3, "numbers": [0, 1, 2],
            "index": {"names": [None], "dtypes": ["int64"], "rows": [[0], [1], [2]]}})
        self.assertEqual(self.table("series"), {
            "columns": ["s"], "rows": [[1.5], [None]], "total": 2, "dtypes": ["float64"],
            "decimals": [1], "missing": {"0": "NaN"}, "matched": 2, "numbers": [0, 1],
            "index": {"names": [None], "dtypes": ["object"], "rows": [["p"], ["q"]]}})

    def test_pages_of_a_table(self):
        page = self.table("frame", offset=1, limit=1)
        self.assertEqual((page["rows"], page["index"]["rows"], page["total"]), ([[2, None]], [[1]], 3))
        self.assertEqual((page["matched"], page["numbers"]), (3, [1]))
        self.assertEqual(self.table("frame", offset=9)["rows"], [])
        self.assertEqual(self.table("big", offset=999_999)["rows"], [[999_999]])

    def test_what_is_no_table_is_told(self):
        self.assertEqual(self.table("n"), {"error": "not a table: int", "kind": "conflict"})
        self.assertIn("3 dimensions", self.table("cube")["error"])
        for name in ("nowhere", "display", "__builtins__", "a.b", None, ["n"]):
            self.assertEqual(self.table(name)["kind"], "not_found", name)

    def complete(self, code, cursor=None):
        answer, _ = self.head.look(kind="complete", code=code,
                                   cursor=len(code) if cursor is None else cursor)
        return answer["matches"], answer["start"], answer["end"]

    def test_completion(self):
        self.assertEqual(self.complete("fra"), (["frame"], 0, 3))
        self.assertEqual(self.complete("x = point.", 10), (["x"], 10, 10))
        self.assertEqual(self.complete("frame.colu"), (["columns"], 6, 10))
        self.assertEqual(self.complete("math.sq"), (["sqrt"], 5, 7))
        self.assertEqual(self.complete("frame['"), (["a']", "b']"], 7, 7))
        self.assertEqual(self.complete("plain[\"o"), (['one"]'], 7, 8))
        self.assertIn("json", self.complete("import js")[0])
        self.assertEqual(self.complete("f(doub)", 6), (["double"], 2, 6))
        self.assertIn("while", self.complete("whi")[0])
        self.assertEqual(self.complete("1.5."), ([], 4, 4))
        self.assertEqual(self.complete("foo().ba"), ([], 8, 8))
        self.assertEqual(self.complete(""), ([], 0, 0))
        answer, _ = self.head.look(kind="complete", code="fra", cursor=4)
        self.assertEqual((answer["kind"], answer["field"]), ("bad_request", "cursor"))
        self.assertIn("4 is behind the end of the code, which has 3 characters", answer["error"])
        self.assertNotIn("__init__", self.complete("point.")[0])
        self.assertIn("__init__", self.complete("point.__i")[0])


class Prints(unittest.TestCase):
    def changed(self, head, other):
        a, b = (fork.look(kind="print")[0]["names"] for fork in (head, other))
        return sorted(name for name in a.keys() | b.keys() if a.get(name) != b.get(name))

    def test_what_changed_between_two_heads(self):
        with Session() as first:
            first.run(SCENE + "unsure = [lambda: 1]\ndef gen(): yield\nrunning = gen()")
            second = first.fork()
            self.assertEqual(self.changed(first, second), [])
            changes = {"n": "n = 6", "array": "array[0, 0] = 9", "frame": "frame.loc[0, 'b'] = 'y'",
                       "big": "big[500_000] = 0", "point": "point.x = 2", "fresh": "fresh = 1",
                       "nothing": "del nothing", "unsure": "unsure.append(1)",
                       "double": "def double(x): return 3 * x", "plain": "plain['two'] = 2",
                       "Point": "Point.y = 1", "math": "import cmath as math"}
            for name, code in changes.items():
                head = first.fork()
                self.assertEqual(head.run(code).done["kind"], "ok")
                self.assertEqual(self.changed(first, head), [name])

    def test_masks_and_generators_count(self):
        with Session() as first:
            first.run("import numpy as np\nmasked = np.ma.array([1, 2, 3], mask=[0, 1, 0])\n"
                      "def count(most):\n    for i in range(most): yield i\n"
                      "def both():\n    yield from count(2)\n    yield from count(2)\n"
                      "numbers = count(5)\nlast = count(1)\nnext(last)\nouter = both()\nnext(outer)\n"
                      "squares = (n * n for n in [1, 2, 3])\nasync def wait(): pass\nwaits = wait()")
            self.assertEqual(self.changed(first, first.fork()), [])
            for name, code in {"masked": "masked[0] = np.ma.masked", "numbers": "next(numbers)", "last": "list(last)",
                               "outer": "next(outer)", "squares": "next(squares)", "waits": "waits.close()"}.items():
                head = first.fork()
                self.assertEqual(head.run(code).done["kind"], "ok")
                self.assertEqual(self.changed(first, head), [name])

    def test_a_state_compares_itself_with_another(self):
        with Session() as first:
            first.run("a = [1]\nb = 2\nc = 3")
            second = first.fork()
            second.run("a.append(2)\ndel b\nd = 4")
            told = json.dumps(first.look(kind="print")[0]).encode()
            self.assertEqual(second.look(told, kind="diff")[0],
                             {"added": ["d"], "removed": ["b"], "changed": ["a"]})
            for bad in (b"", b"[]", b'{"names":1}', b"\xff", b"[" * 100000):
                self.assertEqual(second.look(bad, kind="diff")[0]["kind"], "conflict")

    def test_the_same_value_made_anew_is_the_same(self):
        with Session() as first:
            first.run("x = {'a': [1, 2]}\ndef f(y=1): return y")
            second = first.fork()
            second.run("x = {'a': [1, 2]}\ndef f(y=1): return y")
            self.assertEqual(self.changed(first, second), [])


class Hostile(unittest.TestCase):
    def shown(self, head):
        """{name: repr}"""
        return {fact["name"]: fact["repr"] for fact in head.look(kind="vars")[0]["vars"]}

    def test_a_repr_harms_its_own_line_only(self):
        ends = "<it cannot be shown: its repr ends the process>"
        with Session() as head:
            head.run(HOSTILE + "a = Evil('import os; os._exit(1)')\nx = 1\n"
                               "b = [Evil('import os; os.kill(os.getpid(), 9)')]\n"
                               "c = Evil('import os; os.closerange(3, 99)')\ny = {2}\n"
                               "d = Evil('hog = bytearray(1 << 30)')")
            shown = self.shown(head)
            self.assertEqual((shown["a"], shown["x"], shown["b"], shown["y"]), (ends, "1", ends, "{2}"))
            self.assertIn("c", shown)
            self.assertEqual(shown["d"], "<its repr raises MemoryError>")
            (evil,) = [fact for fact in head.look(kind="vars")[0]["vars"] if fact["name"] == "a"]
            self.assertEqual((evil["type"], evil["size"]), ("Evil", None))
            self.assertEqual(head.run("x").result["application/json"], 1)

    def test_a_repr_that_raises_is_told_in_its_line(self):
        with Session() as head:
            head.run(HOSTILE + "a = Evil('1/0')\nb = Evil('raise SystemExit')\n"
                               "c = Evil('raise KeyboardInterrupt')\nd = 5")
            answer, _ = head.look(kind="vars")
            self.assertEqual([fact["repr"] for fact in answer["vars"][1:]],
                             ["<its repr raises ZeroDivisionError>", "<its repr raises SystemExit>",
                              "<its repr raises KeyboardInterrupt>", "5"])

    def test_what_a_repr_prints_or_changes_is_gone(self):
        with Session() as head:
            head.run(HOSTILE + "x = 1\nevil = Evil(\"print('BREACH'); import os; "
                               "os.write(1, b'BREACH'); os.write(2, b'BREACH'); "
                               "globals().update(x=2); __main__ = 5\")")
            answer, outcome = head.look(kind="vars")
            self.assertEqual(answer["vars"][-1]["repr"], "evil")
            outcome = head.run("x")
            self.assertEqual((outcome.result["application/json"], outcome.stdout, outcome.stderr),
                             (1, b"", b""))

    def test_a_repr_that_never_ends_holds_up_nobody(self):
        with Session() as head:
            head.run(HOSTILE + "evil = Evil('while True: pass')")
            fork = head.fork(is_look=True)
            fork.send(RUN, {}, {"look": {"kind": "vars"}})
            # The head goes on meanwhile; viv ends the look when it has waited long enough.
            self.assertEqual(head.run("1 + 1").result["application/json"], 2)
            os.kill(fork.pid, signal.SIGKILL)
            with self.assertRaises(EOFError):
                fork.receive()

    def test_user_code_is_found_wherever_it_hides(self):
        """In lists, keys, frames, names: asked by the look itself, any of these would end it."""
        ends = "import os; os._exit(1)"
        places = ("[[evil]]", "{'k': evil}", "{evil: 1}", "{1, evil}", "pd.DataFrame({'a': [evil]})",
                  "pd.DataFrame({'a': [1]}, index=[evil])", "pd.DataFrame({evil: [1]})", "pd.Series([evil])",
                  "pd.Series([1], name=evil)", "np.array([evil])", "[0] * 50 + [[[[evil]]]]",
                  "pd.Series([1], index=[evil])", "pd.Series([1], index=pd.Index([1], name=evil))",
                  "pd.DataFrame({'a': pd.Categorical([evil])})", "[pd.DataFrame({'a': [1] * 9 + [evil]})]",
                  "np.array([(evil,)], dtype=[('f', 'O')])[0]")
        with Session() as head:
            head.run(HOSTILE + "import pandas as pd, numpy as np\nkept = 1")
            for place in (*places, "Twisted()"):
                with self.subTest(place):
                    head.run(f"class Meta(type):\n    def __eq__(self, other): {ends}\n"
                             f"    def __hash__(self): {ends}\nclass Twisted(metaclass=Meta): pass\n"
                             f"p = {place.replace('evil', f'Evil({ends!r})')}\ndel Meta, Twisted")
                    shown = self.shown(head)
                    self.assertEqual((shown["kept"], "p" in shown), ("1", True))

    def test_a_repr_that_never_ends_costs_its_line(self):
        with Session() as head:
            head.run(HOSTILE + "x = 1\nevil = Evil('while True: pass')\ny = [2]")
            shown = self.shown(head)
            self.assertEqual((shown["x"], shown["evil"], shown["y"]),
                             ("1", "<it takes too long to show>", "[2]"))

    def test_what_is_merely_large_costs_its_line(self):
        """No code of the user's is in any of these; those that a machine is too slow for say so."""
        values = {"1 << (1 << 27)": "<it", "[b'\\0' * (60 << 20)] * 40": ("<it", "[<bytes instance"),
                  "np.array([3])": "<it", "pd.Series([1.5])": "<it"}
        with Session() as head:
            head.run("import sys, numpy as np, pandas as pd\nsys.set_int_max_str_digits(0)\nx = 1\n"
                     "def forever(*_):\n    while True: pass\n"
                     "np.set_printoptions(formatter={'all': forever})\n"
                     "pd.set_option('display.float_format', forever)")
            for value, begins in values.items():
                with self.subTest(value):
                    head.run(f"p = {value}")
                    shown = self.shown(head)
                    self.assertEqual(shown["x"], "1")
                    self.assertTrue(shown["p"].startswith(begins), shown["p"])

    def test_a_list_of_lists_of_lists_is_not_walked_to_its_end(self):
        with Session() as head:
            head.run("x = 1\np = [[[0] * 1000] * 1000] * 1000")
            shown = self.shown(head)
            self.assertEqual((shown["x"], shown["p"][:6]), ("1", "[[[0, "))

    def test_many_that_never_end_leave_the_others_unseen(self):
        with Session() as head:
            head.run(HOSTILE + "x = 1\nfor i in range(9): globals()[f'e{i}'] = Evil('while True: pass')\n"
                               "y = [2]")
            shown = self.shown(head)
            self.assertEqual((len(shown), shown["x"], shown["y"]),
                             (13, "1", "<not shown: other values take too long>"))

    def test_a_repr_has_no_channel(self):
        with Session() as head:
            head.run(HOSTILE + "import _vivarium\nevil = Evil(\"_vivarium.send(3, 0, "
                               "b'{\\\"type\\\":\\\"look\\\",\\\"look\\\":{\\\"vars\\\":[]}}')\")")
            answer, outcome = head.look(kind="vars")
            self.assertEqual(answer["vars"][-1]["repr"], "<its repr raises OSError>")
            self.assertEqual(head.run("1").result["application/json"], 1)

    def test_twisted_types_do_not_end_the_list(self):
        with Session() as head:
            head.run("class Meta(type):\n    @property\n    def __name__(self): 1/0\n"
                     "class Twisted(metaclass=Meta):\n    @property\n    def shape(self): 1/0\n"
                     "    def __sizeof__(self): return -1\n"
                     "    __class__ = property(lambda self: 1/0)\n"
                     "t = Twisted()\nlong = '\\ud800' * 10\nlast = 1\nglobals()[5] = 5\n"
                     "globals()['a\\nb'] = 6")
            answer, outcome = head.look(kind="vars")
            self.assertEqual([fact["name"] for fact in answer["vars"]],
                             ["Meta", "Twisted", "t", "long", "last", "a\nb"])
            self.assertIsNotNone(head.look(kind="print")[0].get("names"))

    def test_an_answer_that_is_too_large_is_told(self):
        with Session() as head:
            head.run("wide = [{f'{i}' + 'x' * 1_000_000: 1 for i in range(30)}]")
            answer, _ = head.look(kind="table", name="wide")
            self.assertEqual(answer["kind"], "too_large")

    def test_rows_that_do_not_fit_are_cut(self):
        with Session() as head:
            head.run("tall = [['x' * 1_000_000] for _ in range(30)]")
            answer, _ = head.look(kind="table", name="tall")
            self.assertTrue(answer["cut"] and 0 < len(answer["rows"]) < 30)

    def test_questions_in_the_wrong_place_are_refused(self):
        with Session() as head:
            self.assertEqual(head.ask(kind="vars")[0]["kind"], "conflict")
            self.assertEqual(head.look(kind="import")[0]["kind"], "conflict")
            self.assertIn("unknown question", head.look(kind="nonsense")[0]["error"])

    def test_a_look_beside_a_thread_works(self):
        with Session() as head:
            head.run("import threading\ngo = threading.Event()\n"
                     "t = threading.Thread(target=go.wait)\nt.start()\nx = 1")
            names = [fact["name"] for fact in head.look(kind="vars")[0]["vars"]]
            self.assertEqual(names, ["go", "t", "x"])
            head.run("go.set()\nt.join()")


if __name__ == "__main__":
    unittest.main()
