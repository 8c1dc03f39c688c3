# SPDX-License-Identifier: Apache-2.0
"""Values as MIME bundles and strict JSON. The harness itself refuses JSON that is not strict."""

import unittest

from harness import Runner


class Values(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.runner = Runner()

    @classmethod
    def tearDownClass(cls):
        cls.runner.close()

    def result(self, code, **meta):
        outcome = self.runner.run(code, **meta)
        self.assertEqual(outcome.done["kind"], "ok", outcome.error)
        told = (outcome.result or {}).get("application/json")
        if isinstance(told, dict):
            told.pop("handle", None)  # of a frame: another one each time
        return outcome.result

    def json(self, code, **meta):
        return self.result(code, **meta)["application/json"]

    def test_plain_values_have_their_json(self):
        self.assertEqual(self.json("{'a': [1, 2.5, None, True, 'x']}"),
                         {"a": [1, 2.5, None, True, "x"]})
        self.assertEqual(self.result("'it'"), {"text/plain": "'it'", "application/json": "it"})

    def test_what_json_lacks_is_replaced(self):
        self.assertEqual(self.json("[float('nan'), float('inf'), -float('inf')]"), [None] * 3)
        self.assertEqual(self.json("{1: 2, None: 3, (1, 2): 4, True: 5}"),
                         {"1": 5, "None": 3, "(1, 2)": 4})
        self.assertEqual(self.json("[{'b', 'a', 'c'}, frozenset([1]), (1, 2), range(3)]"),
                         [["a", "b", "c"], [1], [1, 2], [0, 1, 2]])
        self.assertEqual(self.json("[b'x', 1j, Ellipsis]"), ["b'x'", "1j", "Ellipsis"])
        self.assertEqual(self.json("[2**63, -2**63, 2**63 - 1]"),
                         [str(2**63), str(-2**63), str(2**63 - 1)])
        self.assertEqual(self.json("[2**53 - 1, 1 - 2**53, 2**53]"), [2**53 - 1, 1 - 2**53, str(2**53)])
        self.assertIsInstance(self.json("[10 ** 5000]")[0], str)
        self.assertEqual(self.json("'\\ud800'"), "\\ud800")
        self.assertEqual(self.json("'\\x00\\u00e9\\U0001f600'"), "\0\u00e9\U0001f600")

    def test_library_values_have_their_json(self):
        self.assertEqual(self.json(
            "import datetime, decimal, enum\nclass E(enum.IntEnum):\n    A = 1\n"
            "[datetime.date(2020, 1, 2), datetime.datetime(2020, 1, 2, 3), datetime.time(4), "
            "datetime.timedelta(1), decimal.Decimal('1.5'), decimal.Decimal('NaN'), E.A]"),
            ["2020-01-02", "2020-01-02T03:00:00", "04:00:00", "1 day, 0:00:00", "1.5", None, 1])

    def test_decimals_keep_every_digit(self):
        digits = "12345678901234567890.12"
        self.assertEqual(self.json(f"from decimal import Decimal\nDecimal('{digits}')"), digits)
        self.assertEqual(self.json(f"[Decimal('{digits}'), {{Decimal('0.10'): Decimal('-1E+400')}}, Decimal('-inf')]"),
                         [digits, {"0.10": "-1E+400"}, None])

    def test_a_dict_whose_keys_have_the_same_text_loses_nothing(self):
        for code in ("{1: 5, '1': 'str', None: 3, 'None': 4}", "{True: 1, 'True': 2}", "type('D', (dict,), {})({1.5: 1, '1.5': 2})"):
            result = self.result(code)
            self.assertEqual(list(result), ["text/plain"], code)
            self.assertIn("2" if "True" in code or "1.5" in code else "'str'", result["text/plain"])
        self.assertEqual(self.json("[1, {1: 5, '1': 6}, {1: 5, '2': 6}]"), [1, "{1: 5, '1': 6}", {"1": 5, "2": 6}])

    def test_a_container_says_if_its_json_has_other_values_than_python(self):
        mime = "application/vnd.vivarium.inexact+json"
        self.result("import numpy as np, pandas as pd, datetime, decimal")
        for value in ("float('inf')", "float('nan')", "2**53", "-2**80", "b'x'", "1j", "datetime.date(2024, 1, 1)",
                      "decimal.Decimal('1.10')", "'\\ud800'", "object", "np.datetime64('2020')", "np.float64('nan')",
                      "np.longdouble(1) / 3", "np.array([1.0, np.nan])", "np.ma.array([1, 2], mask=[0, 1])", "pd.NA",
                      "pd.DataFrame({'a': [None]})", "{float('nan'): 1}", "{1: 5, '1': 6}"):
            self.assertEqual(self.result(f"[1, {value}]").get(mime), True, value)
            self.assertEqual(self.result(f"{{'a': (1, {{'b': {value}}})}}").get(mime), True, value)
        for value in ("[None, True, 'a', '\u00e9', 2**53 - 1, -2**53 + 1, 1e22, -0.0, (1,), {2}, {3: 4}, range(2)]",
                      "[np.int64(1), np.float64(1.5), np.bool_(True), np.str_('a'), np.zeros((2, 2)), np.array(['a'])]",
                      "float('inf')", "2**80", "datetime.date(2024, 1, 1)", "pd.DataFrame({'a': [None, 2.0]})"):
            self.assertNotIn(mime, self.result(value), value)

    def test_a_long_integer_has_all_its_digits(self):
        for code, digits in (("10 ** 5000", "1" + "0" * 5000), ("-10 ** 40000 - 7", "-1" + "0" * 39999 + "7")):
            self.assertEqual(self.result(code), {"text/plain": digits, "application/json": digits})
        self.assertEqual(self.result("1 << 400000")["text/plain"], hex(1 << 400000))
        self.assertEqual(self.json("import sys\nsys.get_int_max_str_digits()"), 4300)

    def test_numpy_and_pandas_values_have_their_json(self):
        self.assertEqual(self.json(
            "import numpy as np, pandas as pd\n[np.int64(1), np.float32(.5), np.bool_(True), "
            "np.float64('nan'), np.datetime64('2020-01-01'), np.array([[1, 2]]), np.uint64(2**63), "
            "np.array(['2020-01-01', 'NaT'], 'M8[D]'), np.timedelta64('NaT'), np.longdouble(.5)]"),
            [1, 0.5, True, None, "2020-01-01", [[1, 2]], str(2**63), ["2020-01-01", None],
             None, 0.5])
        self.assertEqual(self.json(
            "[pd.Timestamp('2020-01-01'), pd.NaT, pd.NA, "
            "pd.Period('2020-01'), pd.Index(['a']), {'f': pd.DataFrame({'a': [1]})}]"),
            ["2020-01-01T00:00:00", None, None, "2020-01", ["a"],
             {"f": {"columns": ["a"], "total": 1, "dtypes": ["int64"], "decimals": [None],
                    "rows": [[1]], "index": {"names": [None], "dtypes": ["int64"], "rows": [[0]]}}}])
        self.assertEqual(self.json("np.float64(2)"), 2.0)
        self.assertEqual(self.json("np.array([1, 2])"), [1, 2])
        mime = "application/vnd.vivarium.array+json"
        self.assertEqual(self.result("np.zeros((2, 3), 'f4')")[mime], {"dtype": "float32", "shape": [2, 3]})
        for code in ("np.float64(2)", "np.array(2)", "[np.array([1])]", "pd.Series([1])"):
            self.assertNotIn(mime, self.result(code))
        self.assertEqual(self.json("pd.Timestamp('2020-01-01')"), "2020-01-01T00:00:00")

    def test_spans_and_moments_of_numpy_are_whole(self):
        spans = "['5ns', '-1ns', '1us', '36h', '-1s', None]"
        frame = self.json(f"import numpy as np, pandas as pd\npd.DataFrame({{'t': pd.to_timedelta({spans})}})")
        told = [row[0] for row in frame["rows"]]
        self.assertEqual(told[0], "0 days 00:00:00.000000005")
        self.assertEqual(self.json(f"t = pd.to_timedelta({spans}).to_numpy()\nt"), told)
        self.assertEqual(self.json("list(t)"), told)
        self.assertEqual(self.json("t.reshape(2, 3)"), [told[:3], told[3:]])
        self.assertEqual(self.json("[np.array(5, 'm8[ns]'), np.ma.array(t[:2], mask=[1, 0]), t.astype(object)[:1]]"),
                         [told[0], [None, told[1]], [5]])
        self.assertEqual(self.json("np.timedelta64(5, 'ns')"), told[0])
        self.assertEqual(self.json(
            "[np.timedelta64(1, 'D'), np.timedelta64(2, '25m'), np.timedelta64(3, 'Y'), np.timedelta64(7), "
            "np.timedelta64(2**62, 's'), np.array([1, 'NaT'], 'm8[M]'), {np.timedelta64(1, 'ns'): 1}]"),
            ["1 days 00:00:00", "0 days 00:50:00", "3 years", "7 generic time units",
             "53375995583650 days 07:45:04",
             ["1 months", None], {"0 days 00:00:00.000000001": 1}])
        self.assertEqual(self.json("[t.astype('>m8[ns]'), np.array([3], '>m8[Y]')]"), [told, ["3 years"]])
        moment = "2020-01-01T00:00:00.000000001"
        self.assertEqual(self.json(f"m = np.array(['{moment}', 'NaT'], 'M8[ns]')\n[m, m[0], list(m)]"),
                         [[moment, None], moment, [moment, None]])
        self.assertEqual(self.json("np.array([(5, 1, 'a')], [('t', 'm8[ns]'), ('x', 'longdouble'), ('s', 'U1')])"),
                         [[told[0], 1.0, "a"]])
        self.assertEqual(self.json(f"np.array([('{moment}',)], [('m', 'M8[ns]')])[0]"), [moment])

    def test_a_longdouble_is_text_if_no_double_is_equal_to_it(self):
        third = "0.33333333333333333334"
        self.assertEqual(self.json(
            "import numpy as np, pandas as pd\nx = np.longdouble(1) / 3\n"
            "[x, -x, x * 3, np.longdouble('1e4000'), np.longdouble('inf'), np.longdouble('nan'), {x: 1}]"),
            [third, "-" + third, 1.0, "1e+4000", None, None, {third: 1}])
        self.assertEqual(self.json("np.array([x, 1])"), [third, 1.0])
        self.assertEqual(self.json("x"), third)
        self.assertIn(third, self.json("[np.clongdouble(x)]")[0])
        self.assertIn(third, self.json("np.array([x], 'clongdouble')")[0])
        frame = self.json("pd.DataFrame({'x': np.array([x]), 'o': pd.Series([x], dtype=object)})")
        self.assertEqual(frame["rows"], [[third, third]])
        self.assertIn(third, self.json("pd.DataFrame({'x': np.array([x], 'clongdouble')})")["rows"][0][0])

    def test_a_frame_is_html_text_and_json(self):
        result = self.result("import pandas as pd\npd.DataFrame({'a': [1, None], 'd': "
                             "pd.to_datetime(['2020-01-01', None])})")
        self.assertIn("<table", result["text/html"])
        self.assertIn("2020-01-01", result["text/plain"])
        self.assertEqual(result["application/json"],
                         {"columns": ["a", "d"], "total": 2, "dtypes": ["float64", "datetime64[ns]"],
                          "decimals": [1, None], "missing": {"0": "NaN", "1": "NaT"},
                          "rows": [[1.0, "2020-01-01T00:00:00"], [None, None]],
                          "index": {"names": [None], "dtypes": ["int64"], "rows": [[0], [1]]}})

    def test_a_long_frame_tells_its_total(self):
        table = self.json("import pandas as pd\npd.DataFrame({'n': range(5000)})")
        self.assertEqual((table["total"], len(table["rows"])), (5000, 1000))
        self.assertEqual(self.json("pd.Series([5], index=['k'], name='s')"),
                         {"columns": ["s"], "rows": [[5]], "total": 1, "dtypes": ["int64"],
                          "decimals": [None],
                          "index": {"names": [None], "dtypes": ["object"], "rows": [["k"]]}})

    def test_a_series_is_told_the_same_inside_of_other_values(self):
        code = "import pandas as pd\ns = pd.Series(list('aab')).value_counts()\n"
        alone = self.json(code + "s")
        self.assertEqual(alone["index"]["rows"], [["a"], ["b"]])
        self.assertEqual(self.json(code + "{'counts': s, 'all': [s]}"), {"counts": alone, "all": [alone]})
        outcome = self.runner.run(code + "_chart = {'type': 'bar', 'y': s}\n_table = {'columns': ['n'], 'rows': [s[:1]]}")
        self.assertEqual(outcome.charts[0]["spec"]["y"], [2, 1])
        self.assertEqual(outcome.of("table")[0]["table"]["rows"], [[2]])

    def test_odd_frames_are_told(self):
        code = ("import pandas as pd\nf = pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples("
                "[('a', 'x'), ('a', 'y')]))\nf")
        self.assertEqual(self.json(code)["columns"], ["a x", "a y"])
        self.assertEqual(self.json("pd.DataFrame([[1, 2]], columns=['d', 'd'])")["rows"], [[1, 2]])
        self.assertEqual(self.json("pd.DataFrame()")["rows"], [])

    def test_rich_methods_are_used(self):
        result = self.result(
            "class Rich:\n    def _repr_html_(self): return '<b>'\n"
            "    def _repr_png_(self): return b'\\x89PNG'\n"
            "    def _repr_svg_(self): return '<svg/>'\n    def _repr_latex_(self): return '$x$'\n"
            "    def _repr_markdown_(self): return '*m*', {'meta': 1}\n"
            "    def _repr_json_(self): return {'n': float('nan')}\n"
            "    def _repr_jpeg_(self): 1/0\n    def __repr__(self): return 'Rich()'\nRich()")
        self.assertEqual(result, {
            "text/plain": "Rich()", "text/html": "<b>", "image/png": "iVBORw==",
            "image/svg+xml": "<svg/>", "text/latex": "$x$", "text/markdown": "*m*",
            "application/json": {"n": None}})

    def test_a_mimebundle_is_used(self):
        result = self.result(
            "class B:\n    def _repr_mimebundle_(self, include=None, exclude=None):\n"
            "        return {'text/plain': 'mine', 'application/x.y+json': {'a': 1}}, {}\nB()")
        self.assertEqual(result, {"text/plain": "mine", "application/x.y+json": {"a": 1}})

    def test_objects_that_answer_to_every_name_are_plain(self):
        result = self.result("from unittest.mock import MagicMock\nMagicMock(name='m')")
        self.assertEqual(list(result), ["text/plain"])
        self.assertEqual(list(self.result("class C:\n    _repr_html_ = 5\nC")), ["text/plain"])

    def test_hostile_values_never_break_the_result(self):
        for body in ("def __repr__(self): 1/0", "def __repr__(self): return 5",
                     "def __repr__(self): raise SystemExit",
                     "def __getattribute__(self, name): 1/0",
                     "def __class__(self): 1/0\n    __class__ = property(__class__)"):
            outcome = self.runner.run(f"class Evil:\n    {body}\nEvil()")
            self.assertEqual(outcome.done["kind"], "ok", body)
            self.assertIn("text/plain", outcome.result, body)
        self.json("class L(list):\n    def __iter__(self): 1/0\n    def __len__(self): 1/0\nL([1])")
        self.assertEqual(self.json("class I(int):\n    def __repr__(self): return 'evil'\n[I(7)]"),
                         [7])
        self.assertEqual(self.json("class S(str):\n    def __str__(self): return 'evil'\n[S('s')]"),
                         ["s"])

    def test_cycles_and_depth_end_in_text(self):
        self.assertEqual(self.json("a = [1]\na.append(a)\na"), [1, "[1, [...]]"])
        self.assertEqual(self.json("d = {}\nd['d'] = d\nd"), {"d": "{'d': {...}}"})
        deep = self.json("deep = []\nfor _ in range(500):\n    deep = [deep]\ndeep")
        levels = 0
        while isinstance(deep, list):
            deep, levels = deep[0], levels + 1
        self.assertLessEqual(levels, 100)
        self.assertEqual(self.runner.run("for _ in range(100000):\n    deep = [deep]\ndeep")
                         .done["kind"], "ok")

    def test_a_huge_result_is_cut_and_flagged(self):
        outcome = self.runner.run("'\\u00e9' * 10**6", result_max=10000)
        self.assertTrue(outcome.done["truncated"]["result"])
        self.assertLess(len(str(outcome.result)), 10000)
        self.assertNotIn("application/json", outcome.result)
        outcome = self.runner.run("list(range(10**6))", result_max=10000)
        self.assertTrue(outcome.done["truncated"]["result"])
        outcome = self.runner.run("'x' * 100", result_max=10000)
        self.assertFalse(outcome.done["truncated"]["result"])

    def test_display_shows_at_once(self):
        outcome = self.runner.run("print('before')\ndisplay(1, 'two')\n"
                                  "display({'text/html': '<i>'}, raw=True)\nprint('after')")
        self.assertEqual([event["data"] for event in outcome.of("display")],
                         [{"text/plain": "1", "application/json": 1},
                          {"text/plain": "'two'", "application/json": "two"},
                          {"text/html": "<i>"}])
        self.assertEqual(outcome.stdout_at, [7, 7, 7])

    def test_display_works_from_a_thread_and_is_silent_in_a_fork(self):
        outcome = self.runner.run(
            "import threading, os\nworkers = [threading.Thread(target=display, args=(n,)) "
            "for n in range(20)]\n[w.start() for w in workers]\n[w.join() for w in workers]\n"
            "pid = os.fork()\nif pid == 0:\n    display('child')\n    os._exit(0)\n"
            "os.waitpid(pid, 0)\nNone")
        self.assertEqual(sorted(event["data"]["application/json"]
                                for event in outcome.of("display")), list(range(20)))

    def test_a_thread_that_displays_between_runs_is_not_heard(self):
        self.runner.run("import threading\ngo = threading.Event()\nsaid = threading.Event()\n"
                        "def late():\n    go.wait()\n    display('late')\n    said.set()\n"
                        "worker = threading.Thread(target=late)\nworker.start()")
        outcome = self.runner.run("go.set()\nworker.join()\nsaid.is_set()")
        self.assertEqual(outcome.result["application/json"], True)


class Notebook(unittest.TestCase):
    def test_the_display_of_ipython_is_ours(self):
        with Runner() as runner:
            outcome = runner.run("from IPython.display import display\ndisplay(1)", files=[
                ("IPython/__init__.py", ""), ("IPython/display.py", "def display(x): 1/0")])
            self.assertEqual([event["data"]["text/plain"] for event in outcome.of("display")],
                             ["1"])


class Tables(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.runner = Runner()

    @classmethod
    def tearDownClass(cls):
        cls.runner.close()

    def table(self, code, **meta):
        found = self.runner.run(code, **meta).of("table")
        if found:
            found[0]["table"].pop("handle", None)  # of a frame: another one each time
        return found[0]["table"] if found else None

    def test_a_table_is_told_once(self):
        self.assertEqual(self.table("_table = {'columns': ['a'], 'rows': [[1], [float('nan')]]}"),
                         {"columns": ["a"], "rows": [[1], [None]]})
        self.assertIsNone(self.table("1"))
        self.assertEqual(self.table("_table = [{'a': 1}, {'b': 2}]"),
                         {"columns": ["a", "b"], "rows": [[1, None], [None, 2]]})
        self.assertEqual(self.table("_table = {'a': [1, 2], 'b': [3, 4]}"),
                         {"columns": ["a", "b"], "rows": [[1, 3], [2, 4]]})

    def test_atlas_names_and_frames_are_understood(self):
        self.assertEqual(self.table(
            "import pandas as pd, numpy as np\n_atlas_table = pd.DataFrame({'t': "
            "[pd.Timestamp('2020-01-01')], 'n': [np.int64(3)], 's': [{1}]})"),
            {"columns": ["t", "n", "s"], "rows": [["2020-01-01T00:00:00", 3, "{1}"]], "total": 1,
             "dtypes": ["datetime64[ns]", "int64", "object"], "decimals": [None] * 3,
             "index": {"names": [None], "dtypes": ["int64"], "rows": [[0]]}})

    def test_atlas_gets_columns_and_rows_with_the_index_among_them(self):
        made = "import pandas as pd\nf = pd.DataFrame({'n': [1, 2]})\n"
        for code, columns, rows in (("f", ["n"], [[1], [2]]),
                                    ("f.set_axis(['p', 'q'])", ["index", "n"], [["p", 1], ["q", 2]]),
                                    ("f.rename_axis('k')[1:]", ["k", "n"], [[1, 2]]),
                                    ("f.n.rename(None)", ["value"], [[1], [2]])):
            self.assertEqual(self.table(f"{made}_atlas_table = {code}", explicit=True),
                             {"columns": columns, "rows": rows}, code)
        table = self.table(f"{made}_atlas_table = pd.concat([f] * 5000)", explicit=True, result_max=9000)
        self.assertEqual((table["columns"], table["total"], "cut" in table), (["index", "n"], 10000, False))
        self.assertEqual(table["rows"][:2], [[0, 1], [1, 2]])

    def test_a_large_table_is_cut_and_flagged(self):
        outcome = self.runner.run("_table = {'columns': ['n'], 'rows': [[n] for n in "
                                  "range(100000)]}", result_max=10000)
        table = outcome.of("table")[0]["table"]
        self.assertEqual((table["total"], outcome.done["truncated"]["result"]), (100000, True))
        self.assertTrue(table["rows"] and table["cut"])
        table = self.table("import pandas\n_table = pandas.DataFrame({'n': range(100000)})", result_max=10000)
        self.assertTrue(table["rows"] and table["cut"])

    def test_a_chart_object_keeps_every_digit(self):
        code = "import decimal\n_chart = {'v': [2**53, 2**53 + 1, -2**60, 5, decimal.Decimal('1.5')]}"
        told = [2**53, str(2**53 + 1), str(-2**60), 5, 1.5]
        self.assertEqual(self.runner.run(code).charts[0]["spec"]["v"], told)

    def test_chart_specs_are_told(self):
        outcome = self.runner.run("import numpy as np\n_chart = {'type': 'bar', 'data': "
                                  "[{'m': 'a', 'v': np.int64(3)}, {'m': 'b', 'v': np.nan}], "
                                  "'categoryKey': 'm', 'valueKeys': ['v']}")
        self.assertEqual(outcome.charts, [{"kind": "spec", "spec": {
            "type": "bar", "data": [{"m": "a", "v": 3}, {"m": "b", "v": None}],
            "categoryKey": "m", "valueKeys": ["v"]}}])
        self.assertEqual(len(self.runner.run("_atlas_chart = [{}, {}]").charts), 2)

    def test_what_is_no_chart_is_said_and_not_shown(self):
        for code, charts, kind in (("'text'", 0, "str"), ("5", 0, "int"), ("({},)", 0, "tuple"),
                                   ("[{'type': 'bar'}, 'x', {}]", 2, "str"), ("[[{}]]", 0, "list")):
            outcome = self.runner.run(f"_chart = {code}")
            self.assertEqual((len(outcome.charts), outcome.done["kind"]), (charts, "ok"), code)
            self.assertEqual(outcome.stderr.decode(), "vivarium: _chart must be a dict or a list of dicts; "
                                                      f"no chart was made of {kind}\n", code)
        outcome = self.runner.run("_chart = []")
        self.assertEqual((outcome.charts, outcome.stderr), ([], b""))

    def test_text_where_a_chart_has_its_numbers_is_said(self):
        chart = "_chart = {{'type': 'bar', 'categoryKey': 'k', 'valueKeys': ['n', 'm'], 'data': [{{'k': '7', 'n': {}, 'm': 2}}, {{'k': 'b', 'n': 2**70}}]}}"
        outcome = self.runner.run(chart.format("'12' * 20"))
        self.assertEqual(outcome.stderr.decode(), f"vivarium: 1 of 2 values of 'n' in _chart are text, not numbers, such as {'12' * 20!r}; "
                                                  "pandas.to_numeric converts a column\n")
        self.assertEqual(len(outcome.charts), 1)
        self.assertEqual(self.runner.run(chart.format("12")).stderr, b"")
        for odd in ("5", "[5, {'n': 5}]", "[{'n': object()}]", "{'n': 'x'}"):
            outcome = self.runner.run(f"_chart = {{'valueKeys': ['n', 5, []], 'data': {odd}}}")
            self.assertEqual((outcome.stderr, len(outcome.charts)), (b"", 1), odd)
        self.runner.run("class Key:\n    def __hash__(self): return hash('data')\n    def __eq__(self, other): raise ValueError")
        self.assertEqual(self.runner.run("_chart = {Key(): 5, 'type': 'bar'}").stderr, b"")

    def test_a_chart_of_a_hundred_thousand_points_is_told(self):
        outcome = self.runner.run("_chart = {'type': 'scatter', 'categoryKey': 'x', 'valueKeys': ['y'], "
                                  "'data': [{'x': n, 'y': n / 7} for n in range(100000)]}")
        self.assertEqual(len(outcome.charts[0]["spec"]["data"]), 100000)
        self.assertFalse(outcome.done["truncated"]["result"])

    def test_a_chart_beyond_all_bounds_is_left_out_and_flagged(self):
        for code in ("{'data': [0.1] * 1000000}", "{'data': '\\u20ac' * 3000000}"):
            outcome = self.runner.run(f"_chart = {code}")
            self.assertEqual((outcome.charts, outcome.done["truncated"]["result"]), ([], True), code)

    def test_outputs_before_an_exception_are_told(self):
        outcome = self.runner.run("_table = {'columns': [], 'rows': []}\n1/0")
        self.assertEqual(len(outcome.of("table")), 1)


if __name__ == "__main__":
    unittest.main()
