# SPDX-License-Identifier: Apache-2.0
"""The import guard as a policy setting, and policies from a config file."""

import unittest

from vivcli import VivCase


class Guard(VivCase):
    def refused(self, code, message, *flags):
        result = self.result("print('never')\n" + code, "--policy", "analysis", *flags,
                             kind="guard")
        self.assertEqual(result["verdict"]["message"], message)
        self.assertEqual((result["stdout"], result["verdict"]["exit_code"]), ("", 126))

    def test_blocked_imports(self):
        for name in ("os", "subprocess", "sys", "socket", "ctypes", "shutil", "pickle", "requests"):
            with self.subTest(name):
                self.refused(f"import {name}", f'Blocked import: "{name}" is not allowed')

    def test_every_spelling_of_an_import(self):
        for code in ("from os import path", "import json, os", "import os.path as p",
                     "if 1:\n    import os", "x = 1; import os"):
            with self.subTest(code):
                self.refused(code, 'Blocked import: "os" is not allowed')

    def test_blocked_builtins(self):
        for name in ("eval", "exec", "open", "compile", "__import__", "getattr", "globals",
                     "breakpoint"):
            with self.subTest(name):
                self.refused(f"{name}('x')", f'Blocked builtin: "{name}()" is not allowed')

    def test_a_syntax_error_names_the_line(self):
        result = self.result("x = 1\ny = = 2", "--policy", "analysis", kind="guard")
        self.assertRegex(result["verdict"]["message"], r"^SyntaxError: .* \(line 2\)$")

    def test_methods_of_the_same_name_are_fine(self):
        code = ("import re, pandas as pd\n"
                "p = re.compile('a+')\n"
                "d = pd.DataFrame({'a': [1, 2]})\n"
                "d.eval('b = a * 2')['b'].tolist()")
        self.assertEqual(self.result(code, "--policy", "analysis")["result"]["application/json"],
                         [2, 4])

    def test_analysis_itself_works(self):
        code = ("import numpy as np, pandas as pd, matplotlib.pyplot as plt, json, math, datetime\n"
                "plt.plot(np.arange(3)); plt.savefig(chart_path(0))\n"
                "pd.Series([1, 2]).mean()")
        self.assertEqual(self.result(code, "--policy", "analysis")["result"]["application/json"],
                         1.5)

    def test_parser_bombs_are_refused_not_fatal(self):
        for code in ("(" * 5000 + ")" * 5000, "x = " + "-" * 100000 + "1"):
            path = self.write("bomb.py", code)
            done = self.viv("run", "--no-daemon", "--json", "--policy", "analysis", path)
            self.assertEqual(done.code, 126, done.out[:500])

    def test_other_policies_have_no_guard(self):
        self.result("import os, subprocess\nopen('/workspace/x', 'w').close()")


class Config(VivCase):
    def config(self, text):
        self.write("vivarium.yaml", text)

    def test_a_policy_of_the_config_is_used(self):
        self.config("policies:\n  tight:\n    base: default\n    timeout: 700ms\n"
                    "    memory: 128MiB\n")
        result = self.result("while True: pass", "--policy", "tight", kind="timeout")
        self.assertEqual(result["verdict"]["limit"], "timeout_ms")

    def test_a_request_may_narrow_never_widen(self):
        self.config("policies:\n  tight:\n    base: default\n    memory: 128MiB\n")
        done = self.run_viv("1", "--policy", "tight", "--memory", "256M")
        self.assertEqual(done.code, 2)
        self.assertIn(b"memory", done.err)
        self.assertIn(b"128MiB", done.err)

    def test_guard_lists_of_the_config(self):
        self.config("policies:\n  mine:\n    base: analysis\n"
                    "    guard: {enabled: true, block: [json], allow: [requests]}\n")
        result = self.result("import json", "--policy", "mine", kind="guard")
        self.assertEqual(result["verdict"]["message"], 'Blocked import: "json" is not allowed')
        self.result("import requests\nrequests.__name__", "--policy", "mine")

    def test_critical_modules_cannot_be_unblocked(self):
        self.config("policies:\n  mine:\n    base: analysis\n"
                    "    guard: {enabled: true, allow: [os, sys]}\n")
        done = self.run_viv("1", "--policy", "mine")
        self.assertEqual((done.code, done.out), (2, b""))
        self.assertIn(b"Cannot unblock critical Python modules: os, sys.", done.err)

    def test_errors_name_file_and_line(self):
        for text, line, said in (("policies:\n  a:\n    memry: 1G\n", 3, "memry"),
                                 ("policies:\n  a:\n    memory: lots\n", 3, "memory"),
                                 ("nonsense: 1\n", 1, "nonsense"), ("policies: [\n", 2, ""),
                                 ("policies:\n  a:\n    pids: 99999999\n", 3, "pids")):
            with self.subTest(text):
                self.config(text)
                done = self.run_viv("1")
                self.assertEqual((done.code, done.out), (2, b""), done.err)
                self.assertIn(f"vivarium.yaml:{line}", done.err.decode())
                self.assertIn(said, done.err.decode())


if __name__ == "__main__":
    unittest.main()
