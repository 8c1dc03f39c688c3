# SPDX-License-Identifier: Apache-2.0
"""The import guard."""

import unittest

from harness import Runner


class Guard(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.runner = Runner()

    @classmethod
    def tearDownClass(cls):
        cls.runner.close()

    def passes(self, code, **meta):
        self.assertEqual(self.runner.check(code, **meta)["kind"], "ok", code)

    def blocked(self, code, message, **meta):
        done = self.runner.check(code, **meta)
        self.assertEqual((done["kind"], done["exit_code"], done["message"]),
                         ("guard", 126, message), code)

    def test_blocked_imports_have_the_documented_message(self):
        for strict in (False, True):
            self.blocked("import os", 'Blocked import: "os" is not allowed', strict=strict)
            self.blocked("import os.path as p", 'Blocked import: "os" is not allowed',
                         strict=strict)
            self.blocked("x = 1\ndef f():\n    from urllib.parse import quote",
                         'Blocked import: "urllib" is not allowed', strict=strict)
            self.blocked("import json, pickle", 'Blocked import: "pickle" is not allowed',
                         strict=strict)

    def test_blocked_calls_have_the_documented_message(self):
        for strict in (False, True):
            for name in ("compile", "exec", "eval", "__import__", "open", "breakpoint", "getattr",
                         "globals", "locals", "vars", "dir", "delattr", "setattr"):
                self.blocked(f"{name}('x')", f'Blocked builtin: "{name}()" is not allowed',
                             strict=strict)

    def test_ordinary_code_passes(self):
        for strict in (False, True):
            self.passes("import pandas as pd, numpy as np\nprint(pd.DataFrame({'a': [1]}).sum())",
                        strict=strict)
            self.passes("import osmium, openpyxl", strict=strict)

    def test_methods_with_a_blocked_name_pass_but_not_in_strict(self):
        for code, name in (("import re\nre.compile('x')", "compile"), ("df.eval('a')", "eval"),
                           ("Image.open('x')", "open"), ("model.compile()", "compile")):
            self.passes(code)
            self.blocked(code, f'Blocked builtin: "{name}()" is not allowed', strict=True)

    def test_relative_imports_pass_but_not_in_strict(self):
        self.passes("from .os import x")
        self.passes("from . import os")
        self.blocked("from .os import x", 'Blocked import: "os" is not allowed', strict=True)
        self.passes("from . import os", strict=True)

    def test_names_of_the_codes_own_pass_but_not_in_strict(self):
        for code in ("from PIL.Image import open\nopen('x')", "def vars(): pass\nvars()",
                     "def f(dir):\n    return dir()"):
            self.passes(code)
            self.assertEqual(self.runner.check(code, strict=True)["kind"], "guard")
        self.blocked("from builtins import open\nopen('x')",
                     'Blocked builtin: "open()" is not allowed')

    def test_the_first_hit_breadth_first_wins(self):
        code = "def f():\n    import socket\nimport os"
        self.blocked(code, 'Blocked import: "os" is not allowed', strict=True)
        self.blocked("open('x')\nimport os", 'Blocked import: "os" is not allowed', strict=True)

    def test_lists_add_and_remove(self):
        self.passes("import requests", allow=["requests"])
        self.blocked("import numpy", 'Blocked import: "numpy" is not allowed', block=["numpy"])
        self.blocked("import requests", 'Blocked import: "requests" is not allowed',
                     allow=["requests"], block=["requests"])

    def test_the_critical_four_stay_blocked(self):
        for name in ("os", "subprocess", "sys", "shutil"):
            self.blocked(f"import {name}", f'Blocked import: "{name}" is not allowed',
                         allow=[name])

    def test_broken_code_is_refused_with_its_line(self):
        message = self.runner.check("x = 1\ny = (")["message"]
        self.assertRegex(message, r"^SyntaxError: .* \(line 2\)$")
        self.assertRegex(self.runner.check(b"x = '\xff'")["message"], r"^SyntaxError: .*line 1")
        self.assertRegex(self.runner.check(b"\n\0")["message"], r"^SyntaxError: .*line 2")

    def test_parser_bombs_are_refused(self):
        # In an interpreter of its own: before Python 3.11 it may die of these, which refuses, too.
        with Runner() as runner:
            for code in ("(" * 100000, "-" * 100000 + "1", "a" + ".b" * 200000,
                         "x = " + "1 + " * 100000 + "1"):
                self.assertEqual(runner.check(code)["kind"], "guard")
            self.assertEqual(runner.check("[" * 90 + "]" * 90)["kind"], "ok")

    def test_nothing_of_the_code_runs(self):
        self.passes("print('ran')\n1/0")
        self.assertEqual(self.runner.run("1").stdout, b"")


if __name__ == "__main__":
    unittest.main()
