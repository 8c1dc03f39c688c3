# SPDX-License-Identifier: Apache-2.0
"""Runs for code written for Pyodide: results by a fixed table, packages looked for beforehand."""

import unittest

from heads import Session

DEEP = "d = []\nfor _ in range(500): d = [d]\nd"


class ByTable(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.session = Session()
        cls.head = cls.session.heads[0]
        cls.addClassCleanup(cls.session.__exit__)

    def run_one(self, code, **meta):
        return self.head.run(code, by_table=True, **meta)

    def value(self, code):
        outcome = self.run_one(code)
        self.assertEqual(outcome.done["kind"], "ok", outcome.error)
        return outcome.result["application/json"] if outcome.result else None

    def other(self, text):
        return {"type": "not_serializable", "repr": text}

    def test_the_table(self):
        cases = {"'a'": "a", "1": 1, "1.5": 1.5, "True": True, "None": None, "[1, (2, 3)]": [1, [2, 3]],
                 "{1: 2, (3,): None, None: 'x'}": {"1": 2, "(3,)": None, "None": "x"},
                 "{7}": [7], "frozenset(['a'])": ["a"], "x = 1": None, "float('nan')": None,
                 "import datetime\ndatetime.date(2024, 1, 2)": "2024-01-02",
                 "import datetime\n[datetime.datetime(2024, 1, 2, 3)]": ["2024-01-02T03:00:00"],
                 "import datetime\ndatetime.time(1)": self.other("datetime.time(1, 0)"),
                 "import decimal\ndecimal.Decimal(1)": self.other("Decimal('1')"),
                 "range(2)": self.other("range(0, 2)"), "b'x'": self.other("b'x'"),
                 "{'k': print}": {"k": self.other("<built-in function print>")},
                 "import numpy\nnumpy.arange(2)": self.other("array([0, 1])"),
                 "import numpy\n[numpy.float64(2.5)]": [2.5],
                 "import pandas as pd\npd.DataFrame({'a': [1]})": self.other("   a\n0  1")}
        for code, wanted in cases.items():
            self.assertEqual(self.value(code), wanted, code)

    def test_values_that_bite(self):
        self.assertEqual(self.value("l = []\nl.append(l)\nl"), [self.other("[[...]]")])
        self.assertEqual(self.value("class K:\n    def __str__(self): 1/0\n    __repr__ = __str__\n"
                                    "{K(): 1}"),
                         {"<K whose repr failed: ZeroDivisionError>": 1})
        self.assertEqual(self.value("2**70"), "1180591620717411303424")
        self.assertIn("not_serializable", str(self.value(DEEP)))

    def test_a_result_that_is_too_large_is_its_repr(self):
        outcome = self.run_one("['x' * 1000] * 1000", result_max=10000)
        self.assertEqual(outcome.result["application/json"]["type"], "not_serializable")
        self.assertTrue(outcome.done["truncated"]["result"])

    def packages(self, code):
        (event,) = self.run_one(code).of("saved_state")
        return event["saved_state"]["packages"]

    def test_packages_are_named(self):
        self.assertEqual(self.packages("import os, json, pandas as pd\ndef f():\n    from yaml import dump"),
                         ["pandas", "pyyaml"])
        self.assertEqual(self.packages("x = 1"), [])

    def test_what_is_not_there_is_named_before_a_line_runs(self):
        outcome = self.run_one("print('ran')\nimport nosuchthing.part\nfrom skimage import io\nimport os")
        self.assertEqual((outcome.done["kind"], outcome.stdout), ("exception", b""))
        self.assertTrue(outcome.error["traceback"].startswith(
            "Failed to install required Python packages: nosuchthing, scikit-image. "))

    def test_what_the_code_can_do_without_is_not_asked_for(self):
        self.assertEqual(self.value("try:\n    import nosuchthing\nexcept ImportError:\n    x = 2\nx"), 2)
        self.assertEqual(self.value("open('mine.py', 'w').write('y = 3')\nimport mine\nmine.y"), 3)
        self.assertEqual(self.run_one("import (").done["kind"], "exception")

    def test_code_for_pyodide_may_ask_for_what_is_there(self):
        self.assertEqual(self.value("import micropip\nawait micropip.install('numpy')\n"
                                    "await micropip.install(['PyYAML>=5', 'python-dateutil'])\n"
                                    "import numpy\nint(numpy.ones(2).sum())"), 2)
        outcome = self.run_one("import micropip\nawait micropip.install('no-such-thing==1')")
        self.assertIn("Failed to install required Python packages: no-such-thing. ",
                      outcome.error["traceback"])
        self.assertEqual(self.packages("import micropip, numpy"), ["numpy"])

    def test_await_at_the_top(self):
        self.assertEqual(self.value("import asyncio\nawait asyncio.sleep(0, 5)"), 5)


if __name__ == "__main__":
    unittest.main()
