# SPDX-License-Identifier: Apache-2.0
"""Frames as tables: index, types, exact values and decimals, against what pandas prints."""

import unittest

from harness import Runner


class Frames(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.runner = Runner()
        cls.runner.run("import datetime, decimal, uuid\nimport numpy as np, pandas as pd\n"
                       "from pandas import DataFrame, NaT, Series, Timestamp\n"
                       "f = DataFrame({'c': ['x', 'y', 'x'], 'd': ['p', 'p', 'q'], 'v': [1, 2, 3]})")

    @classmethod
    def tearDownClass(cls):
        cls.runner.close()

    def result(self, code):
        outcome = self.runner.run(code)
        self.assertIsNone(outcome.error, outcome.error)
        return outcome.result

    def table(self, code):
        return self.result(code)["application/json"]

    def index(self, code):
        index = self.table(code)["index"]
        return index["names"], index["rows"]

    def column(self, code):
        """(values, dtype, how missing ones are printed) of a series."""
        table = self.table(code)
        (dtype,) = table["dtypes"]
        return [value for (value,) in table["rows"]], dtype, table.get("missing", {}).get("0")

    def test_what_pandas_computes_keeps_its_row_names(self):
        self.assertEqual(self.index("f.describe()"),
                         ([None], [[name] for name in ("count", "mean", "std", "min", "25%", "50%", "75%",
                                                       "max")]))
        self.assertEqual(self.index("f.groupby('c').sum(numeric_only=True)"), (["c"], [["x"], ["y"]]))
        self.assertEqual(self.index("f.corr(numeric_only=True)"), ([None], [["v"]]))
        self.assertEqual(self.index("f.T"), ([None], [["c"], ["d"], ["v"]]))
        self.assertEqual(self.index("f.v.value_counts().sort_index()")[1], [[1], [2], [3]])
        table = self.table("f.pivot_table(index='c', columns='d', values='v', aggfunc='sum')")
        self.assertEqual((table["columns"], table["column_names"], table["rows"]),
                         (["p", "q"], ["d"], [[1, 3], [2, None]]))
        self.assertNotIn("column_levels", table)

    def test_levels_on_both_axes(self):
        table = self.table("f.groupby(['c', 'd']).agg({'v': ['sum', 'mean']})")
        dtype = self.result("str(f.c.dtype)")["application/json"]  # object, since pandas 3 str
        self.assertEqual(table["index"], {"names": ["c", "d"], "dtypes": [dtype, dtype],
                                          "rows": [["x", "p"], ["x", "q"], ["y", "p"]]})
        self.assertEqual((table["columns"], table["column_levels"], table["column_names"]),
                         (["v sum", "v mean"], [["v", "sum"], ["v", "mean"]], [None, None]))
        table = self.table("DataFrame({'v': [1, 2]}, index=pd.MultiIndex.from_tuples("
                           "[(2**60, 1), (2**60 + 1, None)], names=['k', 5]))")
        self.assertEqual(table["index"], {"names": ["k", "5"], "dtypes": ["int64", "int64"],
                                          "rows": [[str(2**60), 1], [str(2**60 + 1), None]],
                                          "missing": {"1": "NaN"}})

    def test_numbers_are_exact(self):
        self.assertEqual(self.column("Series([1234567.89, 0.1 + 0.2, 1e300, 5e-324])")[0],
                         [1234567.89, 0.1 + 0.2, 1e300, 5e-324])
        self.assertEqual(self.column("Series([2**53 - 1, 2**53, 2**53 + 1, -2**63])"),
                         ([2**53 - 1, str(2**53), str(2**53 + 1), str(-2**63)], "int64", None))
        self.assertEqual(self.column("Series([2**64 - 1], dtype='uint64')")[0], [str(2**64 - 1)])
        self.assertEqual(self.column("Series([float('inf'), -float('inf'), None])"),
                         (["inf", "-inf", None], "float64", "NaN"))
        self.assertEqual(self.column("Series([0.1, 16777217], dtype='float32')")[:2],
                         ([0.1, 16777216], "float32"))
        # A whole number comes as its exact digits, any other as the shortest ones that a double reads back as it.
        large = [123456792.0, -134217728.0, 1e20, 1.1, 2.0 ** 127]
        told = self.column(f"Series(np.array({large}, dtype='f4'))")[0]
        self.assertEqual(told, [123456792, -134217728, 100000002004087734272, 1.1, 2 ** 127])
        self.assertEqual(self.column(f"Series({large}, dtype='Float32')")[0], told)
        self.assertEqual(self.column("Series([65504, 0.1, 2049], dtype='float16')")[0], [65504, 0.1, 2048])
        self.assertEqual(self.column("Series([np.float32(16777218), np.float16(65504)], dtype=object)")[0],
                         [16777218, 65504])
        self.assertEqual(self.column("Series(np.array([1, 3], 'longdouble') / 3)")[0][1], 1.0)
        self.assertEqual(self.column("Series(np.array([1], 'longdouble') / 3)")[0],
                         ["0.33333333333333333334"])
        self.assertEqual(self.column("Series([decimal.Decimal('1.10'), decimal.Decimal('NaN'), 10**40, "
                                     "True, 10**5000])"),
                         (["1.10", None, str(10**40), True, hex(10**5000)], "object", "NaN"))

    def test_moments_and_spans_are_whole(self):
        self.assertEqual(self.column("Series(pd.to_datetime(['2020-01-01T00:00:00.000000001', None]))"),
                         (["2020-01-01T00:00:00.000000001", None], "datetime64[ns]", "NaT"))
        self.assertEqual(self.column("Series([Timestamp('2020-07-01', tz='Europe/Berlin')])")[0],
                         ["2020-07-01T00:00:00+02:00"])
        self.assertEqual(self.column("Series(pd.to_timedelta(['1 days', '5ns', None]))"),
                         (["1 days 00:00:00", "0 days 00:00:00.000000005", None], "timedelta64[ns]", "NaT"))
        self.assertEqual(self.column("Series(pd.period_range('2020', periods=1, freq='M'))")[:2],
                         (["2020-01"], "period[M]"))
        self.assertEqual(self.column("Series([datetime.date(2020, 1, 2), datetime.time(3), NaT])"),
                         (["2020-01-02", "03:00:00", None], "object", "NaT"))

    def test_types_of_pandas_own(self):
        for values, dtype, told, gap in (
                ("[1, None]", "Int64", [1, None], "<NA>"), ("[2**60]", "UInt64", [str(2**60)], None),
                ("['a', None]", "string", ["a", None], "<NA>"), ("[True, None]", "boolean", [True, None], "<NA>"),
                ("['a', None, 'a']", "category", ["a", None, "a"], "NaN"), ("[1.5, None]", "Float64", [1.5, None],
                                                                            "<NA>"),
                ("[0.5, np.nan]", "Sparse[float64, nan]", [0.5, None], "NaN")):
            self.assertEqual(self.column(f"Series({values}, dtype={dtype!r})"), (told, dtype, gap), dtype)
        self.assertEqual(self.column("Series(pd.interval_range(0, 1))")[0], ["(0, 1]"])

    def test_values_of_any_kind_are_told_apart(self):
        table = self.table("DataFrame({'x': ['a', np.nan, None, NaT, pd.NA, decimal.Decimal('sNaN'), np.nan]})")
        self.assertEqual([value for (value,) in table["rows"]], ["a"] + [None] * 6)
        self.assertEqual((table["missing"], table["texts"]),
                         ({"0": "NaN"}, {"0": {"2": "None", "3": "NaT", "4": "<NA>", "5": "sNaN"}}))
        table = self.table("DataFrame({'n': [5] * 7, 'v': np.array([1.0, 'a', 3.5, 1e16, 1, np.float32(2), -0.0], dtype=object)},"
                           " index=pd.Index([1.0, 1, 'b', None, np.nan, 6, 7], dtype=object))")
        self.assertEqual([row[1] for row in table["rows"]], [1, "a", 3.5, 1e16, 1, 2, 0])
        self.assertEqual(table["texts"], {"1": {"0": "1.0", "3": "1e+16", "5": "2.0", "6": "-0.0"}})
        self.assertEqual((table["index"]["missing"], table["index"]["texts"]), ({"0": "None"}, {"0": {"0": "1.0", "4": "NaN"}}))
        self.assertNotIn("texts", self.table("DataFrame({'f': [1.0, None], 'i': [1, 2], 's': ['a', None]})"))

    def test_a_zero_keeps_its_sign(self):
        table = self.table("DataFrame({'v': [1.5, -0.0, 0.0, None], 'w': pd.array([-0.0, 1, None, 2], 'Float64')}, "
                           "index=[-0.0, 1.0, 2.0, 3.0])")
        self.assertEqual(table["texts"], {"0": {"1": "-0.0"}, "1": {"0": "-0.0"}})
        self.assertEqual(table["index"]["texts"], {"0": {"0": "-0.0"}})

    def test_what_is_missing_in_a_level_or_category_is_of_its_type(self):
        index = self.table("DataFrame({'v': [1, 2]}, index=pd.MultiIndex.from_arrays([[Timestamp(1), NaT], [1, np.nan],"
                           " ['a', None], Series([1, None], dtype='Int64'), [1.0, 'x']]))")["index"]
        self.assertEqual((index["missing"], index["texts"]), ({"0": "NaT", "1": "NaN", "2": "NaN", "3": "<NA>"}, {"4": {"0": "1.0"}}))
        self.assertEqual(self.column("Series(pd.Categorical([Timestamp('2020'), None]))")[2], "NaT")

    def test_other_values_are_told_as_pandas_prints_them(self):
        self.assertEqual(self.column("Series([[1, [2]], {'k': {1}}, b'x', uuid.UUID(int=5), (1,), 1j])")[0],
                         ["[1, [2]]", "{'k': {1}}", "b'x'", "00000000-0000-0000-0000-000000000005", "(1,)", "1j"])
        self.assertEqual(self.column("Series([None, 'x'], dtype=object)"), ([None, "x"], "object", "None"))
        self.assertEqual(self.column("Series(['\\ud800'])")[0], ["\\ud800"])

    def test_decimals_are_those_that_pandas_prints(self):
        columns = ("[1.0, 2.0]", "[1.5, 2.25]", "[0.1 + 0.2]", "[1/3, 2]", "[1234567.89]", "[1e6, 0.125]",
                   "[123456.789012, 1]", "[1e5, 1/3]", "[0.0, None]", "[0.001, 100]", "[999999.5, -3]",
                   "[-1234567.125, 5]", "[float('inf'), 1.25]", "[0.000001]", "[12.3456789, -1000]")
        powers = ("[1e-7, 1]", "[1e300]", "[1e15, 0.5]", "[1e12, 0.001]", "[1e13, 0.04]")
        for code in (*columns, *powers):
            result = self.result(f"DataFrame({{'a': {code}}})")
            (told,) = result["application/json"]["decimals"]
            printed = [line.split()[-1] for line in result["text/plain"].split("\n")[1:]]
            self.assertEqual(told is None, any("e" in text for text in printed), (code, printed))
            self.assertEqual(told is None, code in powers, code)
            for text in printed:
                if told is not None and "." in text:
                    self.assertEqual(len(text.split(".")[1]), told, (code, printed))
        self.assertEqual(self.table("DataFrame({'a': [1], 'b': ['x']})")["decimals"], [None, None])

    def test_large_numbers_have_fixed_decimals(self):
        for code, decimals in (("[1e10, 0.5]", 1), ("[1234567.891234, 1]", 6), ("[123456789.5, 1/3]", 6),
                               ("[float('inf'), 12345.678901]", 6), ("[1234567890123.25, 1/3]", 2)):
            self.assertEqual(self.table(f"DataFrame({{'a': {code}}})")["decimals"], [decimals], code)
        table = self.table("DataFrame({'a': [2272.0, 1226239.535, 1100653.685], 'b': [1.5, 2, 3]}).describe()")
        self.assertEqual(table["decimals"], [6, 6])

    def test_the_users_own_way_to_print_floats(self):
        for option, decimals in (("'display.precision', 2", 2), ("'display.float_format', '{:,.3f}'.format", 3),
                                 ("'display.float_format', lambda x: 'x'", None)):
            self.assertEqual(self.table(f"with pd.option_context({option}):\n    display(Series([1/3]))\n"
                                        f"pd.set_option({option})\nSeries([1/3])")["decimals"], [decimals], option)
            self.runner.run("pd.reset_option('display.precision')\npd.reset_option('display.float_format')")

    def test_names_that_are_no_text(self):
        table = self.table("DataFrame([[1, 2, 3, 4, 5]], columns=[1, None, ('a', 2), np.nan, True])")
        self.assertEqual(table["columns"], ["1", "None", "a 2", "NaN", "True"])
        self.assertEqual(self.table("DataFrame([[1, 2]], columns=['d', 'd'])")["rows"], [[1, 2]])
        table = self.table("DataFrame({'a': [1]}, index=pd.Index(['k'], name=('x', 1)))")
        self.assertEqual(table["index"]["names"], ["x 1"])

    def test_empty_frames(self):
        table = self.table("DataFrame()")
        self.assertEqual((table["columns"], table["rows"], table["total"]), ([], [], 0))
        table = self.table("DataFrame(index=['a', 'b'])")
        self.assertEqual((table["rows"], table["index"]["rows"]), ([[], []], [["a"], ["b"]]))
        table = self.table("DataFrame({'a': []}, index=pd.MultiIndex.from_arrays([[], []]))")
        self.assertEqual((table["rows"], table["index"]["rows"], table["decimals"]), ([], [], [1]))

    def test_a_wide_frame_and_long_texts_fit(self):
        table = self.table("DataFrame(np.zeros((500, 10000)))")
        self.assertEqual((len(table["columns"]), table["total"]), (10000, 500))
        self.assertTrue(table["rows"])
        table = self.table("DataFrame({'a': ['x' * 5000] * 1000})")
        self.assertEqual(table["total"], 1000)
        self.assertTrue(table["rows"])
        self.assertEqual(table["rows"][0], ["x" * 5000])

    def test_a_result_of_which_rows_are_left_out_says_so(self):
        table = self.table("DataFrame({'a': ['x' * 400000] * 100})")
        self.assertTrue(0 < len(table["rows"]) < 100 and table["cut"], len(table["rows"]))
        table = self.table("DataFrame({'a': range(5000)})")
        self.assertEqual((len(table["rows"]), "cut" in table), (1000, False))

    def test_no_warning_of_ours_is_the_users(self):
        for code in ("Series(pd.arrays.SparseArray([0, 1, 0]))", "Series(pd.arrays.SparseArray([0.5, np.nan]))",
                     "Series([1e308, 1.5])", "Series([np.inf, -np.inf])"):
            outcome = self.runner.run(f"DataFrame({{'a': {code}}})")
            self.assertEqual((outcome.error, outcome.stderr), (None, b""), code)
            self.assertTrue(outcome.result["application/json"]["rows"])
        self.assertIn(b"my own", self.runner.run("import warnings\nwarnings.warn('my own')").stderr)

    def test_values_and_subclasses_may_lie(self):
        code = """
class Evil:
    def __repr__(self): raise SystemExit
    def __str__(self): return 5
    def __eq__(self, other): raise ValueError
    __hash__ = None
class Liar(DataFrame):
    @property
    def columns(self): raise ValueError
    def __len__(self): return 7
    def astype(self, *a, **k): return 'no'
    def head(self, *a): return 'no'
    iloc = None
evil = DataFrame({'a': [Evil(), 1]}, index=[1, 2])
evil"""
        self.assertEqual(self.column(code)[0], ["<Evil whose repr failed: TypeError>", 1])
        table = self.table("Liar({'a': [1, 2]}, index=['x', 'y'])")
        self.assertEqual((table["columns"], table["rows"], table["index"]["rows"], table["total"]),
                         (["a"], [[1], [2]], [["x"], ["y"]], 2))


if __name__ == "__main__":
    unittest.main()
