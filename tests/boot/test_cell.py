# SPDX-License-Identifier: Apache-2.0
"""Code as a notebook cell."""

import unittest

from harness import Runner


class Session(unittest.TestCase):
    """Cells of one interpreter."""

    @classmethod
    def setUpClass(cls):
        cls.runner = Runner()

    @classmethod
    def tearDownClass(cls):
        cls.runner.close()

    def ok(self, code, **meta):
        outcome = self.runner.run(code, **meta)
        self.assertEqual(outcome.done["kind"], "ok", outcome.error)
        return outcome

    def value(self, code):
        result = self.ok(code).result
        return result and result["application/json"]

    def test_the_trailing_expression_is_the_result(self):
        self.assertEqual(self.ok("x = 2\nx + 3").result,
                         {"text/plain": "5", "application/json": 5})

    def test_none_and_statements_have_no_result(self):
        self.assertIsNone(self.ok("None").result)
        self.assertIsNone(self.ok("y = 1").result)
        self.assertIsNone(self.ok("").result)
        self.assertIsNone(self.ok("# nothing").result)

    def test_a_quiet_cell_sends_only_its_testimony(self):
        self.assertEqual(self.ok("print(1)").sent, [5])

    def test_what_looks_like_the_last_statement_may_be_in_a_string_or_a_bracket(self):
        self.assertEqual(self.value('"""a\nimport b  # """'), "a\nimport b  # ")
        self.assertEqual(self.value('"""a\n5  # """'), "a\n5  # ")
        self.assertEqual(self.value("max(\n1,\n2)"), 2)
        self.assertEqual(self.value("5 + \\\n6"), 11)
        self.assertIsNone(self.ok('y = """a\n5  # """').result)
        self.assertIsNone(self.ok("y = [\n5\n]").result)

    def test_the_last_statement_may_have_many_lines_and_comments_behind_it(self):
        self.assertEqual(self.value("def f():\n    return 3\n\nf()  # so\n\n# end\n"), 3)
        self.assertEqual(self.value("*[1], 2"), [1, 2])
        self.assertEqual(self.value("y = 1\ny == 1"), True)
        self.assertIsNone(self.ok("for y in range(3):\n    y\n").result)
        self.assertIsNone(self.ok("if y:\n    5\nelse:\n    6").result)
        self.assertEqual(self.value("y"), 2)

    def test_lines_are_counted_through_the_whole_cell(self):
        outcome = self.runner.run("y = 1\n\n# so\ny / 0")
        self.assertEqual(outcome.error["line"], 4)
        self.assertIn("y / 0", outcome.error["traceback"])
        self.assertEqual(self.runner.run("y = 1\ny = 1 / 0").error["line"], 2)
        self.assertEqual(self.runner.run("y = 1 / 0\nfor y in []: pass").error["line"], 1)
        self.assertEqual(self.runner.run("y = 1\ny = (\n").error["type"], "SyntaxError")

    def test_a_warning_of_the_compiler_comes_once(self):
        for code in ("y = 1\ny is 1", "y is 1\ny = 2", "y is 1; 2"):
            outcome = self.ok("y = 1\n" + code)
            self.assertEqual(outcome.stderr.count(b"SyntaxWarning"), 1, code)

    def test_a_semicolon_silences_the_result(self):
        for code in ("5;", "5 ; # why", "(5);", "5 \\\n;", "'\u00e9;';", "5;\n# end\n"):
            self.assertIsNone(self.ok(code).result, code)

    def test_a_semicolon_elsewhere_does_not(self):
        self.assertEqual(self.value("1; 2"), 2)
        self.assertEqual(self.value("'a;b'"), "a;b")
        self.assertEqual(self.value("5 # ;"), 5)

    def test_names_last_from_cell_to_cell(self):
        self.ok("def double(n):\n    return n * 2\nseven = 7")
        self.assertEqual(self.value("double(seven)"), 14)

    def test_a_script_has_its_arguments_and_its_name(self):
        code = "import sys\nprint(sys.argv, __file__.split('/')[-1], __name__)\n1 / 0"
        outcome = self.runner.run(code, argv=["main.py", "a", "b c"])
        self.assertEqual(outcome.stdout, b"['main.py', 'a', 'b c'] main.py __main__\n")
        self.assertIn('/main.py", line 3', outcome.error["traceback"])
        self.assertIn("<cell ", self.runner.run("1 / 0").error["traceback"])

    def test_underscore_is_the_last_result(self):
        self.ok("6 * 7")
        self.ok("None")
        self.assertEqual(self.value("_ + 1"), 43)

    def test_await_works_at_the_top(self):
        self.assertEqual(self.value("import asyncio\nawait asyncio.sleep(0, 'slept')"), "slept")
        self.assertEqual(self.value(
            "async def agen():\n    yield 1\n    yield 2\n[x async for x in agen()]"), [1, 2])

    def test_a_task_lives_on_in_the_next_cell(self):
        self.ok("import asyncio\nbox = []\nasync def put():\n    await asyncio.sleep(0)\n"
                "    box.append(1)\ntask = asyncio.ensure_future(put())\nawait asyncio.sleep(0)")
        self.assertEqual(self.value("await task\nbox"), [1])

    def test_asyncio_run_works_too(self):
        self.assertEqual(self.value("import asyncio\nasync def one():\n    return 1\n"
                                    "asyncio.run(one())"), 1)
        self.assertEqual(self.value("await asyncio.sleep(0, 2)"), 2)

    def test_the_namespace_is_a_real_main_module(self):
        code = ("import pickle, dataclasses, sys\n@dataclasses.dataclass\nclass P:\n    x: int\n"
                "assert sys.modules['__main__'].P is P and __name__ == '__main__'\n"
                "pickle.loads(pickle.dumps(P(3))).x")
        self.assertEqual(self.value(code), 3)

    def test_inspect_finds_the_source_of_a_cell(self):
        self.ok("def shown():\n    return 'here'")
        self.assertIn("return 'here'", self.value("import inspect\ninspect.getsource(shown)"))

    def test_old_functions_keep_their_lines_in_tracebacks(self):
        self.ok("def fail():\n    raise ValueError('old line')")
        outcome = self.runner.run("x = 1\nfail()")
        self.assertIn("    raise ValueError('old line')\n", outcome.error["traceback"])
        self.assertIn("    fail()\n", outcome.error["traceback"])
        self.assertEqual(outcome.error["line"], 2)

    def test_a_cell_sees_no_arguments_and_a_clean_path(self):
        self.assertEqual(self.value("import sys\nsys.argv"), ["script.py"])
        self.assertFalse(self.value("any('/viv' == p[-4:] for p in sys.path)"))

    def test_modules_beside_the_code_can_be_imported(self):
        self.ok("open('mine.py', 'w').write('answer = 42')")
        outcome = self.ok("import mine\nmine.answer")
        self.assertEqual(outcome.result["application/json"], 42)
        self.assertEqual(outcome.of("file"), [], "no bytecode was left")

    def test_windows_and_old_mac_lines_are_lines(self):
        self.assertEqual(self.value(b"a = 1\r\nb = 2\r\na + b"), 3)
        self.assertEqual(self.value(b"a = 1\rb = 4\ra + b"), 5)

    def test_a_byte_order_mark_and_a_coding_cookie_are_understood(self):
        self.assertEqual(self.value(b"\xef\xbb\xbf'\xc3\xa9'"), "\u00e9")
        self.assertEqual(self.value(b"# -*- coding: latin-1 -*-\n'\xe9'"), "\u00e9")
        self.assertEqual(self.runner.run(b"# coding: nonsense\n1").error["type"], "SyntaxError")

    def test_bytes_that_are_not_text_are_a_syntax_error(self):
        outcome = self.runner.run(b"a = 1\nb = '\xff'")
        self.assertEqual((outcome.error["type"], outcome.error["line"]), ("SyntaxError", 2))
        self.assertIn("not valid utf-8", outcome.error["message"])

    def test_a_nul_byte_is_a_syntax_error(self):
        outcome = self.runner.run(b"a = 1\nb = '\0'")
        self.assertEqual((outcome.error["type"], outcome.error["line"]), ("SyntaxError", 2))

    def test_deep_nesting_ends_in_an_error(self):
        for code in ("(" * 5000 + ")" * 5000, "-" * 50000 + "1", "a" + ".b" * 100000):
            self.assertEqual(self.runner.run(code).done["kind"], "exception")

    def test_code_of_ten_megabytes_runs(self):
        code = "text = '" + "a" * 10_000_000 + "'\n" + "n = 1\n" * 10000 + "len(text)"
        self.assertEqual(self.value(code), 10_000_000)

    def test_broken_builtins_do_not_lose_the_testimony(self):
        with Runner() as runner:
            outcome = runner.run(
                "import builtins, json, os\n"
                "for name in ('isinstance', 'set', 'repr', 'str', 'type', 'print', 'dict'):\n"
                "    setattr(builtins, name, None)\n"
                "json.dumps = os.write = os.scandir = None\n1/0")
            self.assertEqual(outcome.done["kind"], "exception")

    def test_a_fork_that_reaches_the_end_says_nothing_on_the_channel(self):
        outcome = self.ok("import os\npid = os.fork()\nif pid:\n    os.waitpid(pid, 0)\n"
                          "print('child' if pid == 0 else 'parent')\n'value'")
        self.assertEqual(outcome.text, "child\nparent\n")
        self.assertEqual(outcome.sent, [3, 5])

    def test_a_failing_fork_shows_why_and_its_exit_code(self):
        outcome = self.ok("import os\npid = os.fork()\nif pid == 0: raise ValueError('child')\n"
                          "os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])")
        self.assertIn(b"ValueError: child", outcome.stderr)
        self.assertEqual(outcome.result["application/json"], 1)


class Atlas(unittest.TestCase):
    def test_name_is_that_of_builtins(self):
        with Runner() as runner:
            outcome = runner.run("class A: pass\n(__name__, A.__module__)", explicit=True)
            self.assertEqual(outcome.result["application/json"], ["builtins", "builtins"])


if __name__ == "__main__":
    unittest.main()
