# SPDX-License-Identifier: Apache-2.0
"""How a run that fails is told."""

import sys
import unittest

from harness import Runner

MARKS = sys.version_info >= (3, 11)  # below a line, where in it


class Errors(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.runner = Runner()

    @classmethod
    def tearDownClass(cls):
        cls.runner.close()

    def fails(self, code, kind="exception", exit_code=1):
        outcome = self.runner.run(code)
        self.assertEqual((outcome.done["kind"], outcome.done["exit_code"]), (kind, exit_code))
        return outcome

    def test_an_exception_has_type_message_line_and_traceback(self):
        outcome = self.fails("def f(n):\n    return 1 / n\n\nf(0)")
        self.assertEqual(outcome.error["type"], "ZeroDivisionError")
        self.assertEqual(outcome.error["message"], "division by zero")
        self.assertEqual(outcome.error["line"], 2)
        self.assertTrue(outcome.error["traceback"].startswith(
            "Traceback (most recent call last):\n  File \"<cell "))
        self.assertEqual(outcome.stderr, b"")

    def test_lines_and_marks_are_where_they_belong(self):
        for code in ("1 / 0", "1 / 0\n", "x = '\f\u2028'\n1 / 0"):
            with self.subTest(code):
                self.assertIn("\n    1 / 0\n    ~~^~~\nZero" if MARKS else "\n    1 / 0\nZero",
                              self.fails(code).error["traceback"])

    def test_a_traceback_has_no_frame_of_the_runner(self):
        trace = self.fails("import json\njson.loads('{')").error["traceback"]
        self.assertNotIn("vivarium", trace)
        self.assertIn("json/decoder.py", trace)

    def test_a_line_in_a_library_is_the_cells_own(self):
        self.assertEqual(self.fails("import json\n\njson.loads('{')").error["line"], 3)

    def test_a_syntax_error_has_its_line(self):
        outcome = self.fails("a = 1\nb = (\n")
        self.assertEqual((outcome.error["type"], outcome.error["line"]), ("SyntaxError", 2))
        self.assertNotIn("Traceback", outcome.error["traceback"])

    def test_exit_codes_are_those_of_a_script(self):
        for code, kind, number in (("sys.exit()", "ok", 0), ("sys.exit(0)", "ok", 0),
                                   ("sys.exit(3)", "exit", 3), ("sys.exit(-1)", "exit", 255),
                                   ("sys.exit(256)", "ok", 0), ("sys.exit(True)", "exit", 1),
                                   ("sys.exit(10**30 + 7)", "exit", (10**30 + 7) & 255),
                                   ("raise SystemExit", "ok", 0)):
            outcome = self.fails("import sys\n" + code, kind, number)
            self.assertIsNone(outcome.error, code)

    def test_an_exit_with_text_prints_it(self):
        outcome = self.fails("raise SystemExit('no such file')", "exit", 1)
        self.assertEqual(outcome.stderr, b"no such file\n")

    def test_an_interrupt_is_told_as_one(self):
        outcome = self.runner.run(
            "from signal import pause\nprint('ready', flush=True)\ndisplay('now')\npause()",
            on_event=lambda runner, event: runner.interrupt())
        self.assertEqual((outcome.done["kind"], outcome.done["exit_code"]), ("interrupted", 130))
        self.assertEqual(outcome.error["type"], "KeyboardInterrupt")

    def test_an_interrupt_ends_an_await(self):
        outcome = self.runner.run(
            "import asyncio\nasync def nap():\n    try:\n        display('now')\n"
            "        await asyncio.sleep(1000)\n    finally:\n        print('ended')\nawait nap()",
            on_event=lambda runner, event: event["type"] == "display" and runner.interrupt())
        self.assertEqual((outcome.done["kind"], outcome.text), ("interrupted", "ended\n"))
        self.assertEqual(self.runner.run("await asyncio.sleep(0, 1)").result["text/plain"], "1")

    def test_an_interrupt_after_the_run_harms_nobody(self):
        self.runner.run("1")
        self.runner.interrupt()
        self.assertEqual(self.runner.run("'fine'").done["kind"], "ok")

    def test_a_handler_of_the_last_run_is_gone(self):
        self.runner.run("import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)")
        outcome = self.runner.run("display(1)\nsignal.pause()",
                                  on_event=lambda runner, event: runner.interrupt())
        self.assertEqual(outcome.done["kind"], "interrupted")

    def test_a_write_that_found_no_room_and_ends_the_run_is_told(self):
        write = "with open('/dev/full', 'w') as file:\n    file.write('x')"
        self.assertEqual(self.fails(write, "disk").done["remedy"], "disk")
        again = "try:\n    open('/dev/full', 'w', 1).write('x\\n')\nexcept OSError as error:\n    raise"
        self.fails(again, "disk")
        self.fails(again + " error from None", "disk")
        caught = "try:\n    open('/dev/full', 'w', 1).write('x\\n')\nexcept OSError: pass"
        self.assertEqual(self.runner.run(caught).done["kind"], "ok")

    def test_an_exception_that_the_code_made_says_nothing_of_the_disk(self):
        for made in ("raise OSError(28, 'full')", "import errno\nraise OSError(errno.EDQUOT, 'quota')",
                     "import sqlite3\nraise sqlite3.OperationalError('database or disk is full')",
                     "def f():\n    raise OSError(28, 'full')\nf()"):
            self.assertEqual(self.fails(made, "exception").done["remedy"], "", made)

    def test_memory_error_is_an_exception(self):
        self.assertEqual(self.fails("raise MemoryError").error["type"], "MemoryError")

    def test_endless_recursion_is_told_briefly(self):
        error = self.fails("def f():\n    f()\nf()").error
        self.assertEqual(error["type"], "RecursionError")
        self.assertIn("Previous line repeated", error["traceback"])
        error = self.fails("import sys\nsys.setrecursionlimit(9000)\ndef f(): g()\ndef g(): f()\n"
                           "f()").error
        self.assertLess(len(error["traceback"]), 70000)
        self.assertIn("characters left out", error["traceback"])

    def test_a_tiny_recursion_limit_does_not_hurt_the_next_run(self):
        self.runner.run("import sys\nsys.setrecursionlimit(60)\n1/0")
        self.assertEqual(self.runner.run("display({'a': [1]})\n[[[1]]]").done["kind"], "ok")

    def test_hostile_exceptions_are_told(self):
        for body in ("def __str__(self): raise ValueError",
                     "def __str__(self): return 5",
                     "def __str__(self): raise SystemExit(4)",
                     "def __repr__(self): 1/0",
                     "__traceback__ = property(lambda self: 1/0)",
                     "__cause__ = property(lambda self: 1/0)",
                     "def __str__(self): return 'x' * 10**7"):
            outcome = self.fails(f"class Evil(Exception):\n    {body}\nraise Evil(1)")
            self.assertEqual(outcome.error["type"], "Evil", body)
            self.assertLess(len(outcome.error["message"]), 40000)

    def test_a_lying_metaclass_is_seen_through(self):
        code = ("class Meta(type):\n    @property\n    def __name__(cls): 1/0\n"
                "class Evil(Exception, metaclass=Meta): pass\nraise Evil('here')")
        self.assertEqual(self.fails(code).error["type"], "Evil")

    def test_other_base_exceptions_are_exceptions(self):
        self.fails("raise GeneratorExit")
        self.fails("class Odd(BaseException): pass\nraise Odd")
        self.fails("import asyncio\nraise asyncio.CancelledError")

    def test_surrogates_in_a_message_stay_valid(self):
        self.assertEqual(self.fails("raise ValueError('\\udc80')").error["message"], "\\udc80")

    def test_exception_groups_show_their_parts(self):
        outcome = self.runner.run("raise ExceptionGroup('many', [ValueError('one')])")
        if outcome.error["type"] != "NameError":  # before Python 3.11
            self.assertIn("ValueError: one", outcome.error["traceback"])

    def test_causes_are_shown_without_the_runner(self):
        trace = self.fails("try:\n    1/0\nexcept ZeroDivisionError as e:\n"
                           "    raise KeyError('k') from e").error["traceback"]
        self.assertIn("direct cause", trace)
        self.assertIn("ZeroDivisionError", trace)
        self.assertNotIn("vivarium", trace)

    def test_a_missing_module_names_the_remedy(self):
        self.assertEqual(self.fails("import nowhere_at_all.deep").done["remedy"], "module:nowhere_at_all")
        for code in ("try:\n    import nowhere_at_all\nexcept ImportError:\n    raise ImportError('install it')",
                     "raise ImportError(\"Missing optional dependency 'nowhere_at_all'. Use pip or conda to install it.\")",
                     "raise ImportError('nowhere_at_all not found, please install it')"):
            self.assertEqual(self.fails(code).done["remedy"], "module:nowhere_at_all", code)
        with Runner() as runner:
            outcome = runner.run("import pandas\npandas.DataFrame({'a': [1]}).to_parquet('x')")
            self.assertEqual(outcome.done["remedy"], "module:pyarrow")
        for code in ("from os import nothing_there", "raise ImportError('sys not found, please install it')",
                     "raise ImportError", "e = ImportError()\ne.__context__ = e.__cause__ = e\nraise e"):
            self.assertEqual(self.fails(code).done["remedy"], "", code)

    def test_data_that_was_not_given_is_no_name_and_says_so(self):
        with Runner() as runner:
            first, later = runner.run("df.groupby('a')"), runner.run("len(data)")
            self.assertEqual((first.error["type"], first.done["remedy"]), ("NameError", "fresh:df"))
            self.assertEqual((later.error["type"], later.done["remedy"]), ("NameError", "no_data:data"))
            self.assertEqual(runner.run("other").done["remedy"], "")
            outcome = runner.run("[data, df]", explicit=True)
            self.assertEqual(outcome.result["application/json"], [None, None])
        with Runner() as runner:
            self.assertEqual(runner.run("df", once=True).done["remedy"], "no_data:df")

    def test_an_address_that_no_sandbox_reaches_names_the_remedy(self):
        for name, remedy in (("EAFNOSUPPORT", "network"), ("ENETUNREACH", "network"), ("ECONNREFUSED", "")):
            self.assertEqual(self.fails(f"import errno\nraise OSError(errno.{name}, 'x')").done["remedy"], remedy)

    def test_missing_stdin_names_the_remedy(self):
        outcome = self.fails("name = input('name? ')")
        self.assertEqual((outcome.error["type"], outcome.text), ("EOFError", "name? "))
        self.assertEqual(outcome.done["remedy"], "stdin")

    def test_a_shadowed_standard_module_does_not_break_the_telling(self):
        with Runner() as runner:
            for name in ("traceback", "linecache", "tokenize", "re"):
                with open(runner.path(name + ".py"), "w", encoding="utf-8") as file:
                    file.write("raise RuntimeError('shadow')")
            outcome = runner.run("1/0")
            self.assertIn("    1/0\n", outcome.error["traceback"])


if __name__ == "__main__":
    unittest.main()
