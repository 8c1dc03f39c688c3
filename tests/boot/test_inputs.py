# SPDX-License-Identifier: Apache-2.0
"""Inputs that a run brings along."""

import json
import os
import sqlite3
import tempfile
import unittest

from harness import Runner


class Inputs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.runner = Runner()

    @classmethod
    def tearDownClass(cls):
        cls.runner.close()

    def value(self, code, **meta):
        outcome = self.runner.run(code, **meta)
        self.assertEqual(outcome.done["kind"], "ok", outcome.error)
        return outcome.result and outcome.result["application/json"]

    def refused(self, word, **meta):
        outcome = self.runner.run("print('ran')", **meta)
        self.assertEqual((outcome.done["kind"], outcome.text), ("exception", ""))
        self.assertIn(word, outcome.error["message"])
        return outcome

    def test_files_are_there_byte_by_byte(self):
        data = bytes(range(256)) * 10
        self.assertTrue(self.value(
            "open('a/b c/\\n.bin', 'rb').read() == bytes(range(256)) * 10",
            files=[("a/b c/\n.bin", data)]))
        self.assertEqual(self.value("open('x.txt').read()",
                                    files=[(self.runner.path("x.txt"), "abs")]), "abs")

    def test_ten_thousand_files_are_written(self):
        files = [(f"many/{n}.txt", str(n)) for n in range(10000)]
        self.assertEqual(self.value("import os\nlen(os.listdir('many'))", files=files), 10000)

    def test_paths_that_leave_the_workspace_are_refused(self):
        for path in ("../x", "a/../../x", "/etc/passwd", "/workspaceX/y", "", "a\0b", "a/", "."):
            self.refused("bad path", files=[(path, "x")])
        self.assertFalse(os.path.exists(os.path.join(self.runner.root, "x")))

    def test_a_file_where_a_folder_is_has_a_clear_error(self):
        os.makedirs(self.runner.path("folder"), exist_ok=True)
        self.refused("folder", files=[("folder", "x")])

    def test_env_lasts_for_one_run(self):
        self.assertEqual(self.value("import os\nos.environ['A'] + os.popen('echo $A').read()",
                                    env={"A": "1"}), "11\n")
        self.assertIsNone(self.value("os.environ.get('A')"))
        self.refused("environment", env={"A=B": "1"})

    def test_env_changes_the_time_zone(self):
        self.assertEqual(self.value("import time\ntime.localtime(0).tm_hour",
                                    env={"TZ": "UTC-5"}), 5)

    def test_cwd_is_made_below_the_workspace(self):
        with Runner() as runner:
            where = runner.path("deep/er")
            outcome = runner.run("import os\nos.getcwd()", cwd=where)
            self.assertEqual(outcome.result["application/json"], where)
            self.assertEqual(runner.run("1", cwd="/nowhere").error["type"], "ValueError")

    def test_code_starts_in_the_workspace(self):
        with Runner() as runner:
            self.assertEqual(runner.run("import os\nos.getcwd()").result["application/json"],
                             runner.workspace)

    def test_args_are_a_value_not_source(self):
        text = json.dumps({"a": [1, None, "'; import os #"], "\u00e9": 1.5})
        self.assertEqual(self.value("_args", args=text), json.loads(text))
        self.assertEqual(self.value("_args"), json.loads(text), "a session keeps them")
        self.refused("args", args="{nonsense")
        self.refused("args", args="[" * 100000)

    def test_without_args_the_name_is_there(self):
        with Runner() as runner:
            outcome = runner.run("_args")
            self.assertEqual(outcome.result["application/json"], {})

    def test_a_session_keeps_its_own_df(self):
        self.value("df = 5")
        self.assertEqual(self.value("df"), 5)


class Data(unittest.TestCase):
    """With pandas, in one interpreter: its import is the slow part."""

    @classmethod
    def setUpClass(cls):
        cls.runner = Runner()

    @classmethod
    def tearDownClass(cls):
        cls.runner.close()

    def value(self, code, data, **meta):
        outcome = self.runner.run(code, data=data, **meta)
        self.assertEqual(outcome.done["kind"], "ok", outcome.error)
        return outcome.result["application/json"]

    def refused(self, word, data, **meta):
        outcome = self.runner.run("1", data=data, **meta)
        self.assertEqual(outcome.done["kind"], "exception")
        self.assertIn(word, outcome.error["message"])

    def test_json_is_a_frame_and_data_is_df(self):
        data = '{"columns": ["n", "t"], "rows": [[1, "a"], [null, "b"]]}'
        self.assertEqual(self.value("[data is df, df.shape, df.n.sum(), list(df.t)]", data),
                         [True, [2, 2], 1.0, ["a", "b"]])

    def test_no_rows_are_an_empty_frame(self):
        self.assertEqual(self.value("[len(df), list(df.columns)]",
                                    '{"columns": ["a"], "rows": []}'), [0, ["a"]])

    def test_ragged_rows_are_named(self):
        self.refused("row 1 has 1 values, but there are 2 columns",
                     '{"columns": ["a", "b"], "rows": [[1, 2], [3]]}')
        self.refused("row 0 is not a list", '{"columns": ["a"], "rows": [5]}')
        self.refused("must be", '{"columns": 5}')
        self.refused("must be", "5")

    def test_a_list_of_objects_is_a_frame(self):
        self.assertEqual(self.value("[data is df, list(df.columns), df.b.tolist(), df.a.sum()]",
                                    '[{"a": 1, "b": "x"}, {"a": 2}]'), [True, ["a", "b"], ["x", None], 3])
        self.assertEqual(self.value("df.shape", "[]"), [0, 0])
        self.assertEqual(self.value("df.shape", "[{}, {}]"), [2, 0])
        self.refused("row 1 is not an object", '[{"a": 1}, [2]]')
        self.refused("row 0 is not an object", "[5]")

    def test_a_large_list_of_objects_is_read_row_by_row_to_the_same_frame(self):
        rows = [{"i": n, "f": n / 7, **({"late": f"t\u00e9xt {n}"} if n >= 60000 else {"early": n}), "o": [n % 7]}
                for n in range(170000)]
        text = json.dumps(rows, ensure_ascii=False)
        self.assertGreater(len(text.encode()), 8 << 20)
        code = ("import pandas\nrows = [{'i': n, 'f': n / 7, **({'late': f't\\u00e9xt {n}'} if n >= 60000 else "
                "{'early': n}), 'o': [n % 7]} for n in range(170000)]\n"
                "want = pandas.DataFrame(rows)\npandas.testing.assert_frame_equal(df, want[list(df)])\nsorted(df)")
        self.assertEqual(self.value(code, text), ["early", "f", "i", "late", "o"])
        self.refused("row 170000 is not an object", text[:-1] + ", 5]")
        self.refused("not valid JSON", text[:-1])
        self.refused("not valid JSON", text + "]")
        self.assertEqual(self.value("df.shape", "[]" + " " * (9 << 20)), [0, 0])

    def test_integers_above_2_53_are_exact_where_some_are_missing(self):
        large, huge = 2**53 + 1, 2**64 - 1
        told = "[[str(df[name].dtype), *map(str, df[name].tolist())] for name in ('a', 'b', 'c', 'd')]"
        want = [["Int64", str(large), "<NA>"], ["float64", "5.0", "nan"], ["int64", str(large), "1"],
                ["float64", str(float(large)), "1.5"]]
        rows = [[large, 5, large, large], [None, None, 1, 1.5]]
        names = ["a", "b", "c", "d"]
        records = [dict(zip(names, row)) for row in rows]
        self.assertEqual(self.value(told, json.dumps(records)), want)
        del records[1]["a"]
        self.assertEqual(self.value(told, json.dumps(records)), want)
        self.assertEqual(self.value(told, json.dumps({"columns": names, "rows": rows})), want)
        text = f"a,b,c,d\n{large},5,{large},{large}\n,,1,1.5\n"
        self.assertEqual(self.value(told, text, data_format="csv"), want)
        for text in (f"x,x\n1,{large}\n2,\n", f"x,y,z\n0,1,{large},3\n0,2,,3\n"):  # a name twice, an unnamed index
            self.assertEqual(self.value("[*map(str, df.iloc[:, 1])]", text, data_format="csv"), [str(large), "<NA>"])
        self.assertEqual(self.value("df['x'].dtype.name", "x,y\n1e16,3\n,3\n", data_format="csv"), "float64")
        with tempfile.NamedTemporaryFile(suffix=".db") as file:
            base = sqlite3.connect(file.name)
            base.execute("create table t (a integer, b integer, c integer, d)")
            base.executemany("insert into t values (?, ?, ?, ?)", rows)
            base.commit()
            base.close()
            self.assertEqual(self.value(told, file.read(), data_format="sqlite", data_query="select * from t"), want)
        self.assertEqual(self.value("[str(df.a.dtype), str(df.a[0])]", json.dumps([{"a": huge}, {"a": None}])),
                         ["UInt64", str(huge)])
        self.assertEqual(self.value("[str(df.a.dtype), *map(str, df.a)]",
                                    json.dumps([{"a": 2**63}, {"a": -1}, {"a": None}])), ["object", str(2**63), "-1", "None"])

    def test_integers_above_2_53_are_exact_in_each_batch_of_a_large_table(self):
        large, count = 2**53 + 1, 160000
        columns = {"first": lambda n: large + 2 * n if n < 60000 else None,  # int64, then nothing but nulls
                   "few": lambda n: None if n % 3 else n if n < 60000 else large,  # floats, then Int64
                   "gap": lambda n: None if n == 70000 else large,
                   "real": lambda n: n / 2 if n < 60000 else large if n % 2 else None,  # has fractions: floats
                   "small": lambda n: n if n < 60000 else None, "all": lambda n: large}
        kinds = {"first": "Int64", "few": "Int64", "gap": "Int64", "real": "float64", "small": "float64", "all": "int64"}
        code = (f"large = {large}\ncount = {count}\n"
                "def same(name, make):\n"
                "    kind, values = str(df[name].dtype), df[name].tolist()\n"
                "    want = map(make, range(count))\n"
                "    if kind.startswith('Int'):\n        values = [None if v is pandas.NA else v for v in values]\n"
                "    elif kind.startswith('float'):\n"
                "        values, want = [None if v != v else v for v in values], (v if v is None else float(v) for v in want)\n"
                "    return kind if all(a == b for a, b in zip(values, want, strict=True)) else values[:3]\n"
                "import pandas\n"
                "{'first': same('first', lambda n: large + 2 * n if n < 60000 else None),"
                " 'few': same('few', lambda n: None if n % 3 else n if n < 60000 else large),"
                " 'gap': same('gap', lambda n: None if n == 70000 else large),"
                " 'real': same('real', lambda n: n / 2 if n < 60000 else large if n % 2 else None),"
                " 'small': same('small', lambda n: n if n < 60000 else None),"
                " 'all': same('all', lambda n: large)}")
        rows = [[make(n) for make in columns.values()] for n in range(count)]
        text = json.dumps({"columns": list(columns), "rows": rows})
        self.assertGreater(len(text), 8 << 20)
        self.assertEqual(self.value(code, text), kinds)
        records = [{name: value for name, value in zip(columns, row) if value is not None} for row in rows]
        self.assertEqual(self.value(code, json.dumps(records)), kinds)

    def test_csv_and_tsv_are_read(self):
        self.assertEqual(self.value("df.to_dict('list')", "a,b\n1,x\n2,y\n", data_format="csv"),
                         {"a": [1, 2], "b": ["x", "y"]})
        self.assertEqual(self.value("df.to_dict('list')", "a\tb\n1\tx\n", data_format="tsv"),
                         {"a": [1], "b": ["x"]})
        self.assertEqual(self.value("len(df)", "", data_format="csv"), 0)
        self.assertEqual(self.value("list(df.columns)", b"\xef\xbb\xbfa\n1\n", data_format="csv"),
                         ["a"])
        self.refused("UTF-8", b"a,b\n\xe9,1\n", data_format="csv")
        self.refused("line 3", "a\n1\n1,2,3\n", data_format="csv")
        self.refused("unknown format", "x", data_format="xml")

    def test_parquet_without_its_library_names_the_remedy(self):
        self.value("import sys\nsys.modules['pyarrow'] = sys.modules['fastparquet'] = None\n1", "[]")
        self.refused("needs pyarrow, which this runtime does not have; `viv runtime add NAME --requirements FILE`", b"PAR1",
                     data_format="parquet")

    def test_a_sqlite_database_is_queried(self):
        with tempfile.NamedTemporaryFile(suffix=".db") as file:
            base = sqlite3.connect(file.name)
            base.execute("create table t (n integer, s text)")
            base.execute("insert into t values (1, 'a'), (2, null)")
            base.commit()
            base.close()
            data = file.read()
        self.assertEqual(self.value("df.values.tolist()", data, data_format="sqlite",
                                    data_query="select s, n * 2 as m from t order by n"),
                         [["a", 2], [None, 4]])
        self.refused("no such table", data, data_format="sqlite", data_query="select * from x")
        self.refused("needs a query", data, data_format="sqlite")
        self.refused("not a database", b"nonsense" * 1000, data_format="sqlite",
                     data_query="select * from sqlite_master")

    def test_large_json_is_read_row_by_row_to_the_same_frame(self):
        rows = [[n, n / 7, None if n % 3 else f"t\u00e9xt {n}", None if n < 60000 else n / 2,
                 {"a": [n]} if n % 1000 == 0 else []] for n in range(180000)]
        table = {"columns": ["i", "f", "t", "late", "o"], "rows": rows}
        text = json.dumps(table, ensure_ascii=False)
        self.assertGreater(len(text.encode()), 8 << 20)
        code = ("import pandas\nrows = [[n, n / 7, None if n % 3 else f't\\u00e9xt {n}', "
                "None if n < 60000 else n / 2, {'a': [n]} if n % 1000 == 0 else []] "
                "for n in range(180000)]\n"
                "want = pandas.DataFrame(rows, columns=['i', 'f', 't', 'late', 'o'])\n"
                "pandas.testing.assert_frame_equal(df, want)\nTrue")
        self.assertTrue(self.value(code, text))
        self.refused("row 179999 has 1 values", text[:text.rindex("[", 0, -6)] + "[1]]}")
        self.refused("not valid JSON", text[:-2] + "]")
        self.refused("not valid JSON", text[:-1] + "}}")
        self.refused("row 180000 is not a list", text[:-2] + ", 5]}")
        self.assertEqual(self.value("len(df)", '{"rows":[[1]],"columns":["a"]}' + " " * (9 << 20)),
                         1)


class WithoutPandas(unittest.TestCase):
    def test_data_is_then_a_dict(self):
        with Runner() as runner:
            runner.run("import sys\nsys.modules['pandas'] = None")  # that is how Python says: not there
            table = {"columns": ["a"], "rows": [[1]]}
            outcome = runner.run("[data, df]", data=json.dumps(table))
            self.assertEqual(outcome.result["application/json"], [table, None])
            outcome = runner.run("[data, df]", data='[{"a": 1}, {"b": 2}]')
            self.assertEqual(outcome.result["application/json"],
                             [{"columns": ["a", "b"], "rows": [[1, None], [None, 2]]}, None])
            outcome = runner.run("[data, df]", data="a,b\n1,\"x\ny\"\n", data_format="csv")
            self.assertEqual(outcome.result["application/json"],
                             [{"columns": ["a", "b"], "rows": [["1", "x\ny"]]}, None])


class Beside(unittest.TestCase):
    """Python of a door beside the code."""

    @classmethod
    def setUpClass(cls):
        cls.runner = Runner()
        cls.addClassCleanup(cls.runner.close)

    def test_the_lead_runs_first_and_does_not_move_the_lines(self):
        outcome = self.runner.run("from __future__ import annotations\nled + 1\n1/0", pieces={"lead": "led = 41"})
        self.assertEqual((outcome.error["type"], outcome.error["line"]), ("ZeroDivisionError", 3))
        self.assertNotIn("led = 41", outcome.error["traceback"])

    def test_the_value_is_the_tails(self):
        outcome = self.runner.run("a = 6\n'not this'", pieces={"lead": "b = 7", "tail": "[a * b]"})
        self.assertEqual(outcome.result["application/json"], [42])

    def test_a_tail_is_not_run_after_a_failure(self):
        outcome = self.runner.run("1/0", pieces={"tail": "print('ran')"})
        self.assertEqual((outcome.done["kind"], outcome.text), ("exception", ""))

    def test_a_tool_runs_in_place_of_the_code_in_a_namespace_of_its_own(self):
        outcome = self.runner.run("not python", args="[1]", pieces={"tool": "mine = 1\n[_code.decode(), _args]"})
        self.assertEqual(outcome.result["application/json"], ["not python", [1]])
        outcome = self.runner.run("'mine' in globals() or '_code' in globals()")
        self.assertIs(outcome.result["application/json"], False)


if __name__ == "__main__":
    unittest.main()
