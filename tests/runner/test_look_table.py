# SPDX-License-Identifier: Apache-2.0
"""Tables of a session, sorted, filtered and searched as a whole, whatever is in them."""

import json
import unittest

from heads import Session

SCENE = """
import datetime, decimal, numpy as np, pandas as pd
from pandas import DataFrame, Series
n = 50_000
rng = np.random.default_rng(1)
large = DataFrame({'i': rng.permutation(n), 'f': rng.normal(size=n), 's': rng.choice(['x', 'y', 'Zebra'], n),
                   't': pd.date_range('2020', periods=n, freq='h', tz='Europe/Berlin')})
class Evil:
    def __lt__(self, other): raise SystemExit
    def __eq__(self, other): raise SystemExit
    def __hash__(self): raise SystemExit
    def __repr__(self): return 'evil'
mixed = DataFrame({'m': [3, 'b', None, 1.5, 'a', True, [1], decimal.Decimal('2.5'), float('nan'), Evil()]},
                  index=list('jihgfedcba'))
types = DataFrame({'int': pd.array([2, None, 2**62 + 1, 2**62], 'Int64'), 'u': np.array([2**64 - 1, 0, 5, 5], 'u8'),
                   'cat': pd.Categorical(['b', 'c', None, 'a'], categories=['c', 'b', 'a'], ordered=True),
                   'loose': pd.Categorical(['b', 'c', None, 'a'], categories=['c', 'b', 'a']),
                   'when': [pd.Timestamp(t) if t else pd.NaT for t in ('2020-01-02', '', '2019-05-05 10:11:12.5', '2021-01-01')],
                   'span': pd.to_timedelta(['2 days', '1h', None, '5ns']),
                   'text': pd.array(['b', None, 'A', ''], 'string'), 'bool': [True, False, True, False],
                   'f4': np.array([.1, .2, np.nan, -np.inf], 'f4'),
                   'period': pd.period_range('2020-03', periods=4, freq='M')})
deep = DataFrame({'v': range(4)}, index=pd.MultiIndex.from_tuples([('b', 2), ('a', None), ('b', 1), ('a', 3)]))
prices = DataFrame({'p': [decimal.Decimal(d) for d in ('19.99', '5.00', '1E+400', 'NaN', '0.1')]})
prices['kind'] = prices.p.astype('category')
risks = DataFrame({'r': pd.Categorical(['lo', 'hi', None, 'mid'], ['lo', 'mid', 'hi'], ordered=True),
                   'n': pd.Categorical([1, 3, None, 2], [1, 2, 3], ordered=True),
                   'w': pd.Categorical([2, 3, None, 1], [2, 1, 3], ordered=True)})
kinds = DataFrame({'k': pd.Series([1, '1', True, 1.0, np.int64(1), np.bool_(True), 'True', 2**60, str(2**60),
                                    decimal.Decimal('1'), '2020-01-01', datetime.date(2020, 1, 1), float('inf')], dtype=object),
                   's': list('1t2t3t4t5t6t7')}, index=range(13))
kinds['c'] = kinds.s.astype('category')
twice = DataFrame([[1, 9], [2, 8]], columns=['d', 'd'])
items = [3, 'x', 1, None]
records = [{'a': 2, 'b': 'p'}, {'a': 1}]
array = np.array([[3, 1], [2**60, 2], [2**60 + 1, 0]])
class Liar(DataFrame):
    iloc = columns = index = property(lambda self: 1 / 0)
    def sort_values(self, *a, **k): raise SystemExit
liar = Liar({'a': [2, 1]})
"""


class Tables(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.session = Session()
        cls.head = cls.session.__enter__()
        outcome = cls.head.run(SCENE)
        assert outcome.done["kind"] == "ok", outcome.error

    @classmethod
    def tearDownClass(cls):
        cls.session.__exit__()

    def ask(self, name, **look):
        if "filter" in look and type(look["filter"]) is not str:
            look["filter"] = json.dumps(look["filter"])
        return self.head.look(kind="table", name=name, **look)[0]

    def numbers(self, name, **look):
        answer = self.ask(name, **look)
        self.assertNotIn("error", answer)
        self.assertEqual(len(answer["numbers"]), len(answer["rows"]))
        return answer["numbers"]

    def where(self, name, column, op, value=None):
        return self.numbers(name, filter=[{"column": column, "op": op, "value": value}])

    def python(self, code):
        return self.head.run(code).result["application/json"]

    # ---- order ----

    def test_the_whole_frame_is_sorted(self):
        page = self.ask("large", sort="0:desc", limit=3)
        self.assertEqual([row[0] for row in page["rows"]], [49999, 49998, 49997])
        self.assertEqual(page["matched"], 50000)
        for sort, code in (("1", "large.f.sort_values()"), ("1:desc", "large.f.sort_values(ascending=False)"),
                           ("2,0:desc", "large.sort_values(['s', 'i'], ascending=[True, False])"),
                           ("3:desc", "large.t.sort_values(ascending=False)")):
            self.assertEqual(self.numbers("large", sort=sort, limit=500, offset=1000),
                             self.python(f"{code}.index[1000:1500].tolist()"), sort)

    def test_sorting_is_stable(self):
        self.assertEqual(self.numbers("large", sort="2:desc", limit=500),
                         self.python("large.s.sort_values(ascending=False, kind='stable').index[:500].tolist()"))

    def test_numbers_then_text_and_what_is_missing_last(self):
        self.assertEqual(self.numbers("mixed", sort="0"), [5, 3, 7, 0, 6, 4, 1, 9, 2, 8])
        self.assertEqual(self.numbers("mixed", sort="0:desc"), [9, 1, 4, 6, 0, 7, 3, 5, 2, 8])

    def test_every_type_is_sorted(self):
        for column, up, down in (
                ("0", [0, 3, 2, 1], [2, 3, 0, 1]), ("1", [1, 2, 3, 0], [0, 2, 3, 1]),
                ("2", [1, 0, 3, 2], [3, 0, 1, 2]), ("3", [3, 0, 1, 2], [1, 0, 3, 2]),
                ("4", [2, 0, 3, 1], [3, 0, 2, 1]), ("5", [3, 1, 0, 2], [0, 1, 3, 2]),
                ("6", [3, 2, 0, 1], [0, 2, 3, 1]), ("7", [1, 3, 0, 2], [0, 2, 1, 3]),
                ("8", [3, 0, 1, 2], [1, 0, 3, 2]), ("9", [0, 1, 2, 3], [3, 2, 1, 0])):
            self.assertEqual(self.numbers("types", sort=column), up, column)
            self.assertEqual(self.numbers("types", sort=f"{column}:desc"), down, column)

    def test_complex_numbers_are_sorted_by_their_parts(self):
        self.head.run("waves = DataFrame({'z': [10 + 1j, 2 + 5j, complex('nan'), 2 - 5j, -3j]})")
        for sort, up in (("0", True), ("0:desc", False)):
            self.assertEqual(self.numbers("waves", sort=sort),
                             self.python(f"waves.sort_values('z', ascending={up}).index.tolist()"))
        self.assertEqual(self.numbers("waves", sort="0"), [4, 3, 1, 0, 2])

    def test_levels_of_the_index_are_sorted(self):
        self.assertEqual(self.numbers("deep", sort="i0,i1:desc"), [3, 1, 0, 2])
        self.assertEqual(self.numbers("mixed", sort="i0:asc"), [*range(9, -1, -1)])
        self.assertEqual(self.numbers("twice", sort="1"), [1, 0])

    def test_a_level_of_categories_has_its_values_and_their_order(self):
        self.head.run("held = DataFrame({'v': range(3)}, index=pd.MultiIndex.from_arrays([pd.Categorical(['lo', 'hi', 'mid'], "
                      "['lo', 'mid', 'hi'], ordered=True), list('abc')]))\nfew = held.iloc[:2].copy()\n"
                      "few.index = few.index.remove_unused_levels()")
        self.assertEqual(self.ask("few")["index"]["rows"], [["lo", "a"], ["hi", "b"]])
        self.assertEqual(self.numbers("held", sort="i0"), [0, 2, 1])
        self.assertEqual(self.where("held", "i0", "gt", "lo"), [1, 2])

    # ---- which ----

    def test_filters(self):
        self.assertEqual(self.ask("large", filter=[{"column": "0", "op": "lt", "value": 100}])["matched"], 100)
        self.assertEqual(self.where("types", "0", "eq", str(2**62)), [3])
        self.assertEqual(self.where("types", "0", "gt", 2.5), [2, 3])
        self.assertEqual(self.where("types", "0", "le", 10**30), [0, 2, 3])
        self.assertEqual(self.where("types", "0", "ne", 2), [1, 2, 3])
        self.assertEqual(self.where("types", "0", "eq", 2.5), [])
        self.assertEqual(self.where("types", "1", "gt", -1), [0, 1, 2, 3])
        self.assertEqual(self.where("types", "1", "ge", str(2**64 - 1)), [0])
        self.assertEqual(self.where("types", "2", "eq", "a"), [3])
        self.assertEqual(self.where("types", "4", "ge", "2020-01-02"), [0, 3])
        self.assertEqual(self.where("types", "4", "lt", "2020-01-02T00:00:00Z"), [2])
        self.assertEqual(self.where("types", "5", "gt", "1 min"), [0, 1])
        self.assertEqual(self.where("types", "6", "lt", "a"), [2, 3])
        self.assertEqual(self.where("types", "7", "eq", True), [0, 2])
        self.assertEqual(self.where("types", "7", "eq", "false"), [1, 3])
        self.assertEqual(self.where("types", "8", "eq", 0.1), [0])
        self.assertEqual(self.where("types", "8", "lt", 0), [3])
        self.assertEqual(self.where("types", "9", "contains", "2020-04"), [1])
        self.assertEqual(self.where("mixed", "0", "gt", 2), [0, 7])
        self.assertEqual(self.where("mixed", "0", "eq", "b"), [1])
        self.assertEqual(self.where("mixed", "0", "eq", "2.5"), [7])
        self.assertEqual(self.where("mixed", "i0", "ge", "i"), [0, 1])
        self.assertEqual(self.where("deep", "i1", "ge", 2), [0, 3])

    def test_a_comma_separates_thousands_and_nothing_else(self):
        self.head.run("sums = DataFrame({'n': [1.5, 15, 1500, 1500.5, -1234567]})")
        for value, found in (("1,500", [2]), ("1,500.5", [3]), ("-1,234,567", [4]), ("15", [1])):
            self.assertEqual(self.where("sums", "0", "eq", value), found, value)
        for value in ("1,5", "1,50", "1500,5", "1,5000", ",500", "1,500,5", "1,,500"):
            answer = self.ask("sums", filter=[{"column": "0", "op": "eq", "value": value}])
            self.assertEqual(answer.get("kind"), "bad_request", value)
            self.assertIn('write decimals with a point: "1.5"', answer["error"])

    def test_a_column_of_objects_is_compared_by_type(self):
        whole = set(range(13))
        for value, rows in ((1, [0, 3, 4, 9]), ("1", [1, 9]), (True, [2, 5]), (1.0, [0, 3, 4, 9]), ("True", [6]), ("true", []),
                            (False, []), (0, []), (2**60, [7]), (str(2**60), [7, 8]), ("2020-01-01", [10, 11]), ("inf", [12])):
            self.assertEqual(self.where("kinds", "0", "eq", value), rows, repr(value))
            self.assertEqual(self.where("kinds", "0", "ne", value), sorted(whole - set(rows)), repr(value))
        for column in ("1", "2"):
            for value, rows in (("1", [0]), (1, []), (True, [])):
                self.assertEqual(self.where("kinds", column, "eq", value), rows, repr(value))
                self.assertEqual(self.where("kinds", column, "ne", value), sorted(whole - set(rows)), repr(value))

    def test_what_a_person_typed_equals_what_it_spells(self):
        for value, rows in (("1", [0, 1, 2, 3, 4, 5, 9]), ("true", [0, 2, 3, 4, 5, 9]), ("2020-01-01", [10, 11])):
            term = {"column": "0", "op": "eq", "value": value, "typed": True}
            self.assertEqual(self.numbers("kinds", filter=[term]), rows, value)

    def test_decimals_are_compared_as_decimals(self):
        for value in ("19.99", 19.99):
            for column in ("0", "1"):
                for op, rows in (("eq", [0]), ("ne", [1, 2, 3, 4]), ("le", [0, 1, 4]), ("lt", [1, 4]), ("ge", [0, 2]), ("gt", [2])):
                    self.assertEqual(self.where("prices", column, op, value), rows, (value, column, op))
        self.assertEqual(self.where("prices", "0", "eq", "10E+399"), [2])
        self.assertEqual(self.where("prices", "0", "lt", "1e99999999999999999999"), [0, 1, 2, 4])
        self.assertEqual(self.where("prices", "0", "eq", 5), [1])
        self.assertEqual(self.where("prices", "0", "gt", "x"), [])

    def test_categories_are_compared_in_their_own_order(self):
        for op, rows in (("gt", [1, 3]), ("ge", [0, 1, 3]), ("lt", []), ("le", [0]), ("eq", [0]), ("ne", [1, 2, 3])):
            self.assertEqual(self.where("risks", "0", op, "lo"), rows, op)
        self.assertEqual(self.where("risks", "0", "lt", "hi"), [0, 3])
        self.assertEqual(self.where("risks", "1", "gt", 1.5), [1, 3])
        self.assertEqual(self.where("risks", "2", "gt", "2"), [1, 3])
        self.assertEqual(self.where("types", "3", "gt", "a"), [0, 1])  # has none: as its values
        for column, value in (("0", "high"), ("2", 2.5)):
            answer = self.ask("risks", filter=[{"column": column, "op": "gt", "value": value}])
            self.assertEqual(answer["error"], f"filter: value {value!r} is not one of the column's categories, "
                                              "which have an order of their own")
            self.assertEqual(self.where("risks", column, "eq", value), [])

    def test_periods_are_compared_as_pandas_does(self):
        self.head.run("spans = DataFrame({'q': pd.PeriodIndex(['2024Q1', '2024Q2', None], freq='Q'), "
                      "'w': pd.PeriodIndex(['2024-01-01', None, '2024-01-08'], freq='W')})")
        for op, value in (("gt", "2024-02-01"), ("ge", "2024-02-01"), ("eq", "2024Q1"), ("eq", "2024-02"), ("ne", "2024Q1"),
                          ("lt", "2024-05"), ("le", "2024Q1"), ("gt", 2024)):
            expected = self.python(f"import operator\nnp.flatnonzero(operator.{op}(spans.q, '{value}')).tolist()")
            self.assertEqual(self.where("spans", "0", op, value), expected, (op, value))
        self.assertEqual(self.where("spans", "0", "gt", "2024-02-01"), [1])
        week = self.ask("spans")["rows"][0][1]
        self.assertEqual((self.where("spans", "1", "eq", week), self.where("spans", "1", "gt", week)), ([0], [2]))
        answer = self.ask("spans", filter=[{"column": "0", "op": "gt", "value": "soon"}])
        self.assertEqual(answer["error"], "filter: value 'soon' is not a period, but the column is period[Q-DEC]")

    def test_intervals_are_equal_or_not(self):
        self.head.run("bins = DataFrame({'i': pd.interval_range(9, 12), 'c': pd.cut([11.5, 9.5, 10.5], [9, 10, 11, 12])})")
        self.assertEqual(self.where("bins", "0", "eq", "(9, 10]"), [0])
        self.assertEqual(self.where("bins", "0", "ne", "(9, 10]"), [1, 2])
        answer = self.ask("bins", filter=[{"column": "0", "op": "gt", "value": "(9, 10]"}])
        self.assertEqual(answer["error"], "filter: an interval is neither more nor less than a value")
        self.assertEqual(self.where("bins", "1", "gt", "(9, 10]"), [0, 2])

    def test_what_is_missing(self):
        for column, gaps in (("0", [1]), ("2", [2]), ("4", [1]), ("5", [2]), ("6", [1]), ("8", [2]), ("9", [])):
            self.assertEqual(self.where("types", column, "missing"), gaps, column)
            self.assertEqual(self.where("types", column, "present"), [i for i in range(4) if i not in gaps])
        self.assertEqual(self.where("mixed", "0", "missing"), [2, 8])
        self.assertEqual(self.where("deep", "i1", "missing"), [1])

    def test_all_of_the_filters_must_hold(self):
        page = self.ask("large", sort="0", limit=2, offset=1, search="zeb", filter=[
            {"column": "0", "op": "ge", "value": 100}, {"column": "1", "op": "gt", "value": 0}])
        found = self.python("large[(large.i >= 100) & (large.f > 0) & (large.s == 'Zebra')]"
                            ".sort_values('i').i.tolist()")
        self.assertEqual(page["matched"], len(found))
        self.assertEqual([row[0] for row in page["rows"]], found[1:3])

    def test_search(self):
        self.assertEqual(self.ask("large", search="ZEB")["matched"],
                         self.python("int((large.s == 'Zebra').sum())"))
        self.assertEqual(self.ask("large", search="2020-03-29T03")["matched"], 1)
        self.assertEqual(self.numbers("mixed", search="EVIL"), [9])
        self.assertEqual(self.numbers("mixed", search="j"), [0])
        self.assertEqual(self.numbers("types", search="4,611,686,018,427,387,905"), [2])
        self.assertEqual(self.numbers("types", search="10:11:12.5"), [2])
        self.assertEqual(self.numbers("types", search="-inf"), [3])
        self.assertEqual(self.numbers("types", search="nothing"), [])

    def test_other_tables_are_asked_in_the_same_way(self):
        self.assertEqual(self.ask("items", sort="0"), {
            "columns": ["value"], "rows": [[1], [3], ["x"], [None]], "total": 4, "matched": 4,
            "numbers": [2, 0, 1, 3]})
        self.assertEqual(self.ask("records", sort="0")["rows"], [[1, None], [2, "p"]])
        self.assertEqual(self.ask("array", sort="0:desc", limit=2)["rows"],
                         [[str(2**60 + 1), 0], [str(2**60), 2]])
        self.assertEqual(self.numbers("array", search=str(2**60 + 1)), [2])

    # ---- summed up ----

    def summary(self, name, **look):
        answer = self.head.look(kind="summary", name=name, **look)[0]
        self.assertNotIn("error", answer)
        return answer

    def test_floats_of_other_tables_do_not_look_like_integers(self):
        self.assertEqual(self.head.run("halves = np.array([[1.0, 0.25], [2.0, np.nan]])\nfloats = [1.0, 1, 0.5, float('nan')]\n"
                                       "flags = np.array([True])").done["kind"], "ok")
        halves = self.ask("halves")
        self.assertEqual((halves["dtypes"], halves["decimals"]), (["float64", "float64"], [1, 2]))
        self.assertEqual(halves["rows"], [[1.0, 0.25], [2.0, None]])
        self.assertEqual(self.ask("floats")["texts"], {"0": {"0": "1.0", "3": "nan"}})
        self.assertEqual(self.ask("array")["dtypes"], ["int64", "int64"])
        self.assertEqual(self.ask("flags")["dtypes"], ["bool"])

    def test_columns_are_summed_up(self):
        answer = self.summary("large")
        self.assertEqual((answer["total"], answer["width"]), (50000, 4))
        i, f, s, t = answer["columns"]
        self.assertEqual((i["name"], i["dtype"], i["count"], i["missing"], i["distinct"]),
                         ("i", "int64", 50000, 0, 50000))
        self.assertEqual((i["min"], i["max"], i["mean"]), (0, 49999, 24999.5))
        self.assertEqual((len(i["histogram"]["edges"]), i["histogram"]["counts"]), (21, [2500] * 20))
        self.assertEqual([f["min"], f["max"], f["mean"], f["histogram"]["counts"], f["histogram"]["edges"]],
                         self.python("h = np.histogram(large.f, 20)\n[large.f.min(), large.f.max(), "
                                     "large.f.to_numpy().mean(), h[0].tolist(), h[1].tolist()]"))
        self.assertEqual((s["distinct"], [[top["value"], top["count"]] for top in s["top"]]),
                         (3, self.python("[[k, v] for k, v in large.s.value_counts().items()]")))
        self.assertEqual((t["min"], t["distinct"]), ("2020-01-01T00:00:00+01:00", 50000))
        self.assertEqual((t["histogram"]["edges"][0], sum(t["histogram"]["counts"])), (t["min"], 50000))
        self.assertEqual(t["histogram"]["edges"][-1], t["max"])
        self.assertEqual(self.summary("large", filter='[{"column":"0","op":"lt","value":3}]')["columns"][0]
                         ["histogram"], {"edges": [0, 1, 2, 3], "counts": [1, 1, 1]})

    def test_the_index_is_summed_up(self):
        (index,) = self.summary("large")["index"]
        self.assertEqual((index["name"], index["count"], index["min"], index["max"], index["distinct"]),
                         ("", 50000, 0, 49999, 50000))
        (index,) = self.summary("large", filter='[{"column":"i0","op":"ge","value":49990}]')["index"]
        self.assertEqual((index["count"], index["min"], index["max"]), (10, 49990, 49999))
        self.head.run("tree = DataFrame({'v': range(4)}, index=pd.MultiIndex.from_arrays("
                      "[['x', 'x', None, 'y'], [2021, 2022, 2021, 2023]], names=['k', 'year']))")
        k, year = self.summary("tree")["index"]
        self.assertEqual((k["name"], k["count"], k["missing"], k["top"][0]),
                         ("k", 3, 1, {"value": "x", "count": 2}))
        self.assertEqual((year["name"], year["dtype"], year["min"], year["max"], year["distinct"]),
                         ("year", "int64", 2021, 2023, 3))
        self.assertNotIn("index", self.summary("items"))

    def test_a_level_with_gaps_has_its_own_type(self):
        self.head.run("gaps = DataFrame({'v': range(3)}, index=pd.MultiIndex.from_arrays([['x', None, 'y'], [2021, None, 2**60 + 1], "
                      "pd.to_datetime(['2020-01-02', None, '2019-03-04']), [0.5, None, 2.5], pd.Categorical(['lo', None, 'hi'])]))\n"
                      "gaps.index = gaps.index.set_levels(pd.Index([2021, 2**60 + 1]), level=1)")
        levels = self.summary("gaps")["index"]
        self.assertEqual([level["dtype"] for level in levels], self.ask("gaps")["index"]["dtypes"])
        self.assertEqual([(level["count"], level["missing"], level["distinct"]) for level in levels], [(2, 1, 2)] * 5)
        self.assertEqual([level.get("min") for level in levels], [None, 2021, "2019-03-04T00:00:00", 0.5, None])
        self.assertEqual(levels[1]["max"], str(2**60 + 1))

    def test_every_type_is_summed_up(self):
        found = {column["name"]: column for column in self.summary("types")["columns"]}
        self.assertEqual((found["int"]["min"], found["int"]["max"], found["int"]["missing"]), (2, str(2**62 + 1), 1))
        self.assertEqual((found["u"]["max"], found["u"]["distinct"]), (str(2**64 - 1), 3))
        self.assertEqual(found["cat"]["top"], [{"value": value, "count": 1} for value in "cba"])
        self.assertEqual((found["when"]["min"], found["when"]["count"]), ("2019-05-05T10:11:12.500000", 3))
        self.assertEqual((found["span"]["min"], found["span"]["max"]),
                         ("0 days 00:00:00.000000005", "2 days 00:00:00"))
        self.assertEqual((found["bool"]["distinct"], found["bool"]["top"]),
                         (2, [{"value": True, "count": 2}, {"value": False, "count": 2}]))
        self.assertEqual((found["f4"]["min"], found["f4"]["max"], sum(found["f4"]["histogram"]["counts"])),
                         ("-inf", 0.2, 2))
        self.assertEqual((found["text"]["count"], found["text"]["distinct"]), (3, 3))
        self.assertEqual(found["period"]["top"][0], {"value": "2020-03", "count": 1})
        (mixed,) = self.summary("mixed")["columns"]
        self.assertEqual((mixed["count"], mixed["missing"], mixed["distinct"]), (8, 2, 8))
        self.assertIn({"value": "evil", "count": 1}, mixed["top"])
        (items,) = self.summary("items")["columns"]
        self.assertEqual((items["count"], items["missing"]), (3, 1))
        self.assertEqual([column["max"] for column in self.summary("array")["columns"]], [str(2**60 + 1), 2])
        self.assertEqual([column["name"] for column in self.summary("twice", offset=1)["columns"]], ["d"])

    def test_odd_ranges(self):
        self.head.run("odd = DataFrame({'far': [-1.7e308, 1.7e308], 'one': [5.0, 5.0], 'none': [np.nan, np.nan], "
                      "'inf': [np.inf, np.inf], 'near': [1.0, np.nextafter(1, 2)], 'big': [-2**63, 2**63 - 1]})\n"
                      "void = DataFrame({'a': []})")
        found = {column["name"]: column for column in self.summary("odd")["columns"]}
        self.assertEqual((found["one"]["histogram"]["counts"], found["one"]["distinct"]), ([2], 1))
        self.assertEqual((found["none"]["count"], found["none"]["distinct"]), (0, 0))
        self.assertEqual((found["inf"]["max"], found["inf"]["mean"]), ("inf", "inf"))
        self.assertEqual((found["big"]["min"], found["big"]["max"]), (str(-2**63), str(2**63 - 1)))
        self.assertEqual((found["big"]["histogram"]["counts"], found["big"]["histogram"]["edges"][-1]),
                         ([1, *[0] * 18, 1], str(2**63 - 1)))
        self.assertEqual(self.summary("void")["columns"][0]["count"], 0)

    def test_large_integers_near_each_other_are_counted_one_by_one(self):
        self.head.run("ids = DataFrame({'i': [2**60 + i for i in range(1000)], "
                      "'u': [2**64 - 1000 + i for i in range(1000)], "
                      "'t': pd.to_datetime([1_700_000_000_000_000_000 + i for i in range(1000)])})")
        for column in self.summary("ids")["columns"]:
            self.assertEqual(column["histogram"]["counts"], [50] * 20, column["name"])
            edges = column["histogram"]["edges"]
            self.assertEqual((edges[0], edges[-1]), (column["min"], column["max"]))

    # ---- CSV ----

    def csv(self, name, **look):
        answer, outcome = self.head.look(kind="csv", name=name, **look)
        self.assertNotIn("error", answer)
        self.assertEqual(outcome.complete, {"table.csv"})
        return outcome.files["table.csv"].decode()

    def test_csv_is_exact_and_has_the_index(self):
        self.assertEqual(self.csv("deep", sort="0:desc"), ",,v\na,3,3\nb,1,2\na,,1\nb,2,0\n")
        self.assertEqual(self.csv("array"), "0,1\n3,1\n1152921504606846976,2\n1152921504606846977,0\n")
        self.head.run("exact = DataFrame({'f': [1234567.89, 0.1 + 0.2], 'i': [2**60 + 1, -5], "
                      "'t': ['a,\"b\"\\nc', None]}, index=pd.Index(['x', 'y'], name='k'))")
        self.assertEqual(self.csv("exact"), 'k,f,i,t\nx,1234567.89,1152921504606846977,"a,""b""\nc"\n'
                                            'y,0.30000000000000004,-5,\n')
        self.assertEqual(self.csv("exact", filter='[{"column":"1","op":"lt","value":0}]'),
                         "k,f,i,t\ny,0.30000000000000004,-5,\n")
        text = self.csv("large")
        self.assertEqual(text.count("\n"), 50001)
        self.assertTrue(text.split("\n")[50000].startswith("49999,"))

    def test_a_subclass_is_not_asked(self):
        self.assertEqual(self.numbers("liar", sort="0"), [1, 0])

    def test_what_cannot_be_asked_names_its_field(self):
        term = {"column": "0", "op": "eq", "value": 1}
        for field, value in (("sort", "x"), ("sort", "1"), ("sort", "i1"), ("sort", "-1"), ("sort", "0:up"),
                             ("sort", "0,,0"), ("sort", "0," * 500 + "0"), ("filter", "x"), ("filter", "[" * 100000),
                             ("filter", {}), ("filter", [1]), ("filter", [{"column": "0"}]),
                             ("filter", [term | {"op": ["eq"]}]), ("filter", [term | {"column": 0}]),
                             ("filter", [term | {"column": "9" * 99}]), ("filter", [term | {"value": None}]),
                             ("filter", [term | {"value": [1]}]), ("filter", [term] * 101),
                             ("filter", '[{"column":"0","op":"eq","value":NaN}]'),
                             ("filter", [term | {"typd": True}]), ("filter", [term | {"typed": 1}]),
                             ("filter", '[{"column":"0","op":"eq","value":1,"value":2}]')):
            answer = self.ask("mixed", **{field: value})
            self.assertEqual(answer["kind"], "bad_request", value)
            self.assertTrue(answer["error"].startswith(f"{field}: "), answer)
            self.assertEqual(answer["field"], field, answer)
        for column, value in (("0", "abc"), ("4", "no moment"), ("5", "no span")):
            answer = self.ask("types", filter=[{"column": column, "op": "lt", "value": value}])
            self.assertEqual(answer["kind"], "bad_request", column)


class WithoutPandas(unittest.TestCase):
    def test_pages_are_there_and_the_rest_says_what_it_needs(self):
        with Session() as head:
            head.run("import sys\nsys.modules['pandas'] = None\nitems = [2**60, 1.5, None]")
            self.assertEqual(head.look(kind="table", name="items")[0]["rows"], [[str(2**60)], [1.5], [None]])
            self.assertEqual(head.look(kind="csv", name="items")[1].files["table.csv"],
                             f"value\n{2**60}\n1.5\n\"\"\n".encode())
            for look in ({"kind": "table", "sort": "0"}, {"kind": "summary"}, {"kind": "csv", "search": "1"}):
                answer = head.look(name="items", **look)[0]
                self.assertEqual(answer["kind"], "unsupported", look)
                self.assertIn("needs pandas", answer["error"])


if __name__ == "__main__":
    unittest.main()
