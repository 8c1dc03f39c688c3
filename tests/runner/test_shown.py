# SPDX-License-Identifier: Apache-2.0
"""Tables that were shown can be asked later, though they have no name, and cost next to nothing."""

import unittest

from heads import Session

SETUP = "import gc, weakref\nimport numpy as np, pandas as pd\nfrom pandas import DataFrame\n"
LARGE = "df = DataFrame({'n': np.arange(3_000_000), 's': 'text'})\n"  # above half of the share
GONE = {"error": "the session no longer holds this table; run the cell again", "kind": "not_found"}


class Shown(unittest.TestCase):
    def setUp(self):
        session = Session()
        self.head = session.__enter__()
        self.addCleanup(session.__exit__)
        self.run_code(SETUP)

    def run_code(self, code, head=None):
        outcome = (head or self.head).run(code)
        self.assertIsNone(outcome.error)
        return outcome

    def value(self, code):
        return self.run_code(code).result["application/json"]

    def handle(self, code, head=None):
        return self.run_code(code, head).result["application/json"]["handle"]

    def shown(self, code):
        """The handle of what `display` shows."""
        return self.run_code(code).of("display")[0]["data"]["application/json"]["handle"]

    def ask(self, handle, head=None, **look):
        return (head or self.head).look(kind="table", name=handle, **look)[0]

    def test_results_displays_and_tables_have_a_handle(self):
        first = self.handle("DataFrame({'a': range(5000)})")
        second = self.shown("display(pd.Series([2, 1], name='s'))")
        third = self.run_code("_table = DataFrame({'t': [7]})").of("table")[0]["table"]["handle"]
        self.assertRegex(first, "^~[0-9a-f]{12}$")
        self.assertEqual(self.ask(first, sort="0:desc", limit=1)["rows"], [[4999]])
        self.assertEqual(self.ask(second, sort="0")["rows"], [[1], [2]])
        self.assertEqual(self.ask(third)["rows"], [[7]])
        summary, _ = self.head.look(kind="summary", name=first)
        self.assertEqual(summary["columns"][0]["max"], 4999)
        self.assertEqual(self.head.look(kind="csv", name=second)[1].files["table.csv"], b",s\n0,2\n1,1\n")

    def test_a_small_frame_stays_as_it_was_shown(self):
        handle = self.handle("f = DataFrame({'a': [1, 2], 'o': [[1], 'x']}, index=['p', 'q'])\nf")
        self.run_code("f.loc['p', 'a'] = 9\nf['b'] = 0\nf.at['p', 'o'].append(2)\nf.attrs['x'] = f")
        table = self.ask(handle)
        self.assertEqual((table["columns"], table["rows"], table["index"]["rows"]),
                         (["a", "o"], [[1, "[1]"], [2, "x"]], [["p"], ["q"]]))
        self.assertNotIn("live", table)

    def test_a_large_frame_is_only_borrowed(self):
        handle = self.shown(LARGE + "display(df)")
        table = self.ask(handle, offset=2_999_999)
        self.assertEqual((table["rows"], table["live"]), ([[2999999, "text"]], True))
        self.assertNotIn("changed", table)
        self.assertEqual(self.value("w = weakref.ref(df)\ndel df\ngc.collect()\nw() is None"), True)
        self.assertEqual(self.ask(handle), GONE)

    def test_a_large_frame_that_changed_says_so(self):
        for change in ("df.iloc[1_234_567, 0] = -1", "df['more'] = 1", "df.drop(index=5, inplace=True)",
                       "df.sort_values('n', ascending=False, inplace=True)", "df.rename(columns={'n': 'm'}, inplace=True)",
                       "df['s'] = 'other'", "df.index = df.index + 1"):
            handle = self.shown(LARGE + "display(df)")
            self.run_code(change)
            self.assertEqual(self.ask(handle, limit=1)["changed"], True, change)
            self.run_code("del df")

    def test_nothing_of_the_users_is_kept_alive(self):
        handles = [self.shown(f"class Own: pass\nown = Own()\nw = weakref.ref(own)\ndisplay({frame})")
                   for frame in ("DataFrame({'a': [own]})", "DataFrame({'a': [1]}, index=[own])",
                                 "DataFrame({own: [1]})", "DataFrame({'a': [[own]]})",
                                 "DataFrame({'a': pd.Categorical([own])})", "pd.Series([1], name=own)")]
        self.assertEqual(self.value("del own\ngc.collect()\nw() is None"), True)
        self.assertIn("Own object", self.ask(handles[0])["rows"][0][0])
        for frame in ("DataFrame({'a': [own]})", "DataFrame({'a': [1]}, index=[own])", "DataFrame({own: [1]})",
                      "DataFrame({'a': [[own]]})", "DataFrame({'a': pd.Categorical([own])})",
                      "pd.Series([1], name=own)", "DataFrame({'a': [1]}).pipe(lambda f: f.attrs.update(o=own) or f)"):
            self.assertEqual(self.value(f"own = Own()\nw = weakref.ref(own)\ndisplay({frame})\ndel own\n"
                                        "gc.collect()\nw() is None"), True, frame)

    def test_what_is_kept_is_bounded(self):
        first = self.handle("DataFrame({'a': [1]})")
        self.run_code("for _ in range(47): display(DataFrame({'a': [1]}))")
        self.assertEqual(self.ask(first)["rows"], [[1]])
        self.run_code("display(DataFrame({'a': [1]}))")
        self.assertEqual(self.ask(first), GONE)
        first = self.handle("DataFrame({'a': np.zeros(900_000)})")  # 7 MB, of 16
        self.assertEqual(self.ask(first)["total"], 900_000)
        self.run_code("for _ in range(2): display(DataFrame({'a': np.zeros(900_000)}))")
        self.assertEqual(self.ask(first), GONE)
        kept = self.value("import vivarium.shown as shown\nsum(one.size for one in shown._held.values())")
        self.assertLessEqual(kept, 16 << 20)

    def test_it_is_nowhere_else(self):
        handle = self.handle("x = 1\nDataFrame({'a': [1]})")
        self.assertEqual([fact["name"] for fact in self.head.look(kind="vars")[0]["vars"]], ["DataFrame", "x"])
        self.assertNotIn(handle, str(self.head.look(kind="print")[0]))
        self.assertNotIn(handle, str(self.head.look(kind="export")[0]))
        self.assertEqual(self.head.run("x", transactional=True).done.get("blocked", ""), "")

    def test_a_state_holds_what_was_shown_until_then(self):
        before = self.handle("DataFrame({'a': [1]})")
        other = self.head.fork()
        after = self.handle("DataFrame({'a': [2]})")
        another = self.handle("DataFrame({'a': [3]})", other)
        self.assertEqual(self.ask(before, other)["rows"], [[1]])
        self.assertEqual(self.ask(after, other), GONE)
        self.assertEqual(self.ask(another), GONE)
        self.assertEqual(len({before, after, another}), 3)

    def test_handles_that_are_none(self):
        for name in ("~", "~000000000000", "~../x"):
            self.assertEqual(self.ask(name), GONE)

    def test_a_run_of_its_own_has_none(self):
        self.assertNotIn("handle", self.head.run("DataFrame({'a': [1]})", once=True).result["application/json"])


if __name__ == "__main__":
    unittest.main()
