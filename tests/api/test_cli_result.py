# SPDX-License-Identifier: Apache-2.0
"""viv run --json: the result of a run, key by key."""

import unittest

from vivcli import USAGE_KEYS, WALLS, VivCase


class Shape(VivCase):
    def test_a_result_has_every_key(self):
        result = self.result("print(1)\n2 + 3")
        self.assertRegex(result["id"], r"^run_[A-Za-z0-9_-]{8,}$")
        self.assertIsNone(result["session"])
        self.assertEqual(result["state"], "none")
        self.assertEqual((result["stdout"], result["stderr"]), ("1\n", ""))
        self.assertEqual(result["result"]["text/plain"], "5")
        self.assertEqual(result["result"]["application/json"], 5)
        self.assertIsNone(result["error"])
        self.assertIsNone(result["table"])
        self.assertEqual((result["displays"], result["charts"], result["files"]), ([], [], []))
        self.assertFalse(result["truncated"]["stdout"] or result["truncated"]["stderr"])
        self.assertEqual(USAGE_KEYS - set(result["usage"]), set())
        self.assertEqual(result["backend"], "namespace")
        self.assertIn(result["runtime"], ("bare", "base"))
        # Where no cgroup can be had, limits are measured, and the list does not claim that wall.
        wanted = WALLS - {"cgroup"} if result["limits"] == "measured" else WALLS
        self.assertEqual(wanted - set(result["walls"]), set())

    def test_a_verdict_has_every_key(self):
        verdict = self.result("1")["verdict"]
        self.assertEqual((verdict["kind"], verdict["exit_code"], verdict["signal"]),
                         ("ok", 0, None))
        self.assertEqual((verdict["limit"], verdict["peak"]), (None, None))
        self.assertEqual(verdict["by"], "runner")

    def test_usage_is_measured(self):
        usage = self.result("sum(range(3_000_000))\nprint('x' * 99)")["usage"]
        self.assertGreater(usage["wall_ms"], 0)
        self.assertGreater(usage["cpu_ms"], 0)
        self.assertEqual(usage["output_bytes"], 100)

    def test_two_runs_have_two_ids(self):
        self.assertNotEqual(self.result("1")["id"], self.result("1")["id"])

    def test_invalid_bytes_become_replacement_characters(self):
        result = self.result("import os\nos.write(1, b'a\\xffb\\xe2\\x82')\n"
                             "os.write(1, b'\\xac\\n')\nNone")
        self.assertEqual(result["stdout"], "a\ufffdb\u20ac\n")

    def test_limits_say_whether_they_are_measured(self):
        self.assertIn(self.result("1").get("limits"), ("cgroup v2", "cgroup v1", "measured"))


class Errors(VivCase):
    def test_an_exception_is_told_with_its_line(self):
        result = self.result("x = 1\n\ndef f():\n    return {}['no']\n\nf()\n", kind="exception")
        error = result["error"]
        self.assertEqual((error["type"], error["message"]), ("KeyError", "'no'"))
        self.assertEqual(error["line"], 4)
        self.assertIn("return {}['no']", error["traceback"])
        self.assertNotIn("/viv", error["traceback"])
        self.assertEqual(result["verdict"]["by"], "runner")

    def test_a_syntax_error_is_told_with_its_line(self):
        error = self.result("a = 1\nb = = 2\n", kind="exception")["error"]
        self.assertEqual((error["type"], error["line"]), ("SyntaxError", 2))

    def test_output_before_the_error_is_kept(self):
        result = self.result("print('before')\nraise ValueError('x')", kind="exception")
        self.assertEqual(result["stdout"], "before\n")

    def test_a_missing_module_names_the_remedy(self):
        result = self.result("import no_such_module_anywhere", kind="exception")
        self.assertEqual(result["error"]["type"], "ModuleNotFoundError")
        self.assertIn("no_such_module_anywhere is not in this runtime", result["verdict"]["remedy"])

    def test_an_error_of_the_network_says_that_there_is_none(self):
        for code in ("import socket; socket.create_connection(('example.com', 80))",
                     "import socket; socket.socket().connect(('10.1.2.3', 80))",
                     "import urllib.request as r; r.urlopen('http://example.com')",
                     "class ConnectError(Exception): pass\nraise ConnectError('as httpx does')",
                     "import requests; requests.get('http://example.com')"):
            verdict = self.result(code, kind="exception")["verdict"]
            self.assertEqual(verdict["remedy_key"], "network", code)
            self.assertIn('send what the code needs as "files" or "data"', verdict["remedy"])
        self.assertIsNone(self.result("raise ConnectionResetError", kind="exception")["verdict"]["remedy_key"])

    def test_what_was_refused_is_told_by_where_it_is(self):
        make = "import os, subprocess\nopen('a', 'w').write('#!/bin/sh')\nos.mkdir('d', 0o555)\n"
        for code, key in (("os.chmod('a', 0)\nopen('a')", "permissions"), ("subprocess.run(['./a'])", "permissions"),
                          ("open('d/x', 'w')", "permissions"), ("os.rename('a', 'd/a')", "permissions"),
                          ("open('/usr/x', 'w')", "read_only"), ("os.symlink('/usr', 'l')\nopen('l/x', 'w')", "read_only"),
                          ("raise PermissionError(13, 'mine')", None)):
            verdict = self.result(make + code, kind="exception")["verdict"]
            self.assertEqual(verdict["remedy_key"], key, (code, verdict))

    def test_exceptions_of_every_kind(self):
        cases = {"MemoryError": "raise MemoryError('x')", "RecursionError": "def f(): f()\nf()",
                 "ExceptionGroup": "raise ExceptionGroup('g', [ValueError(1), TypeError(2)])",
                 "GeneratorExit": "raise GeneratorExit", "StopIteration": "next(iter([]))",
                 "Odd": "class Odd(BaseException): pass\nraise Odd('base')",
                 "AssertionError": "assert 1 == 2, 'no'",
                 "UnicodeEncodeError": "'\\ud800'.encode()"}
        for wanted, code in cases.items():
            with self.subTest(wanted):
                self.assertEqual(self.result(code, kind="exception")["error"]["type"], wanted)

    def test_a_caught_memory_error_is_the_codes_business(self):
        result = self.result("try:\n    bytearray(2**60)\nexcept MemoryError:\n    print('caught')")
        self.assertEqual(result["stdout"], "caught\n")

    def test_code_that_is_no_text(self):
        for code, said in ((b"x = 1\x00\n", "nul byte"), (b"print('\xff')\n", "utf-8")):
            with self.subTest(code):
                path = self.write("odd.py", code)
                result = self.result_of_file(path, kind="exception")
                self.assertEqual(result["error"]["type"], "SyntaxError")
                self.assertIn(said, result["error"]["message"].lower())

    def test_a_declared_encoding_and_a_mark_are_honoured(self):
        path = self.write("latin.py", b"# -*- coding: latin-1 -*-\nprint(ascii('\xe9'))\n")
        self.assertEqual(self.result_of_file(path)["stdout"], "'\\xe9'\n")
        path = self.write("bom.py", b"\xef\xbb\xbfprint('bom')\r\nprint('crlf')\r\n")
        self.assertEqual(self.result_of_file(path)["stdout"], "bom\ncrlf\n")


class Verdicts(VivCase):
    def test_system_exit(self):
        for code, kind, status in (("raise SystemExit", "ok", 0),
                                   ("import sys; sys.exit(0)", "ok", 0),
                                   ("import sys; sys.exit(7)", "exit", 7),
                                   ("raise SystemExit('text')", "exit", 1),
                                   ("import os; os._exit(0)", "ok", 0),
                                   ("import os; os._exit(9)", "exit", 9)):
            with self.subTest(code):
                self.assertEqual(self.result(code, kind=kind)["verdict"]["exit_code"], status)

    def test_a_timeout_names_limit_and_remedy(self):
        result = self.result("print('x')\nwhile True: pass", "--timeout", "700ms", kind="timeout")
        verdict = result["verdict"]
        self.assertEqual((verdict["limit"], verdict["by"]), ("timeout_ms", "supervisor"))
        self.assertIn("raise timeout_ms", verdict["remedy"])
        self.assertEqual((verdict["remedy_key"], verdict["remedy_detail"]), ("timeout", "120s"))
        self.assertEqual(result["stdout"], "x\n")

    def test_on_the_command_line_a_remedy_names_flags(self):
        for code, words in (("while True: pass", "remedy: raise --timeout (the policy allows up to 120s)"),
                            ("import no_such_module_anywhere", "--runtime takes another"),
                            ("input()", "remedy: give it your own with --stdin"),
                            ("import urllib.request as r; r.urlopen('http://example.com')",
                             "remedy: this sandbox has no network; give it what the code needs with --file or --data"),
                            ("df", "remedy: df is there when --data names a file")):
            self.assertIn(words, self.viv("run", "--timeout", "2s", "-c", code).err.decode())

    def test_memory_names_limit_and_peak(self):
        code = ("import time\na = []\n"
                "while True: a.append(bytearray(b'x' * 2**20)); time.sleep(0.005)")
        verdict = self.result(code, "--memory", "96M", kind="memory")["verdict"]
        self.assertEqual((verdict["limit"], verdict["by"], verdict["exit_code"]),
                         ("memory", "supervisor", 137))
        self.assertGreater(verdict["peak"], 64 << 20)

    def test_killed_names_the_signal(self):
        verdict = self.result("import os; os.kill(os.getpid(), 9)", kind="killed")["verdict"]
        self.assertEqual((verdict["signal"], verdict["exit_code"]), (9, 137))
        self.assertIn("SIGKILL", verdict["message"])

    def test_disk_ends_a_run_only_uncaught(self):
        fill = "f = open('/workspace/fill', 'wb', 0)\nwhile True: f.write(bytes(2**20))"
        self.assertEqual(self.result(fill, kind="disk")["verdict"]["limit"], "disk")
        made = "raise OSError(28, 'made')"
        self.assertIsNone(self.result(made, kind="exception")["verdict"]["limit"])
        self.result(fill.replace("while True:", "try:\n    while True:") + f"\nexcept OSError:\n    {made}", kind="disk")
        removed = "import tempfile\nwith tempfile.TemporaryFile(dir='.') as f:\n    while True: f.write(bytes(2**20))"
        self.result(removed, kind="disk")
        body = fill.replace("\n", "\n    ")
        caught = f"try:\n    {body}\nexcept OSError as e:\n    print(e.errno)"
        self.assertEqual(self.result(caught)["stdout"], "28\n")

    def test_output_is_cut_and_told(self):
        result = self.result("print('x' * (3 << 20))")
        self.assertTrue(result["truncated"]["stdout"])
        self.assertFalse(result["truncated"]["stderr"])
        self.assertEqual(len(result["stdout"]), 1 << 20)
        self.assertEqual(result["usage"]["output_bytes"], (3 << 20) + 1)

    def test_far_too_much_output_ends_the_run(self):
        result = self.result("while True: print('x' * 100000)", kind="output")
        self.assertEqual(result["verdict"]["limit"], "output")
        self.assertTrue(result["truncated"]["stdout"])


class Values(VivCase):
    def value(self, code, *flags):
        return self.result(code, *flags)["result"]

    def test_plain_values_are_json(self):
        for code, wanted in (("5", 5), ("'text'", "text"),
                             ("[1, 2.5, None, True]", [1, 2.5, None, True]),
                             ("{'a': {'b': [1]}}", {"a": {"b": [1]}}), ("(1, 2)", [1, 2]),
                             ("{1: 'x'}", {"1": "x"})):
            with self.subTest(code):
                self.assertEqual(self.value(code)["application/json"], wanted)

    def test_a_number_too_large_for_most_readers_keeps_its_digits(self):
        self.assertEqual(int(self.value("2**80")["application/json"]), 2**80)

    def test_what_json_cannot_hold_does_not_break_it(self):
        code = ("import datetime, decimal, uuid\n"
                "{'nan': float('nan'), 'inf': float('inf'), 'neg': -float('inf'), 'set': {1}, "
                "'frozen': frozenset([2]),\n"
                " 'day': datetime.date(2024, 2, 29), 'time': datetime.datetime(2024, 1, 2, 3, 4, "
                "5), 'bytes': b'x',\n"
                " 'object': object, 'dec': decimal.Decimal('1.5'), ('t', 1): 2, "
                "'surrogate': '\\ud800'}")
        value = self.value(code)["application/json"]
        self.assertEqual((value["nan"], value["inf"], value["neg"]), (None, None, None))
        self.assertEqual((value["set"], value["frozen"]), ([1], [2]))
        self.assertEqual((value["day"], value["time"]), ("2024-02-29", "2024-01-02T03:04:05"))
        self.assertIn("object", value["object"])

    def test_numpy_and_pandas_values(self):
        code = ("import numpy as np, pandas as pd\n"
                "{'i': np.int64(3), 'f': np.float32(0.5), 'n': np.float64('nan'), "
                "'b': np.bool_(True), 'a': np.arange(3),\n"
                " 't': pd.Timestamp('2024-05-06'), 'nat': pd.NaT, 'na': pd.NA}")
        value = self.value(code)["application/json"]
        self.assertEqual((value["i"], value["f"], value["n"], value["b"], value["a"]),
                         (3, 0.5, None, True, [0, 1, 2]))
        self.assertTrue(value["t"].startswith("2024-05-06"))
        self.assertEqual((value["nat"], value["na"]), (None, None))

    def test_cycles_and_depth_end(self):
        self.assertIsNotNone(self.value("a = []\na.append(a)\na"))
        self.assertIsNotNone(self.value("a = []\nfor _ in range(100000): a = [a]\n[a]"))

    def test_a_frame_is_html_text_and_json(self):
        bundle = self.value("import pandas as pd\npd.DataFrame({'a': [1, 2], 'b': ['x', None]})")
        self.assertIn("<table", bundle["text/html"])
        self.assertIn("a", bundle["text/plain"])
        self.assertEqual(bundle["application/json"]["columns"], ["a", "b"])
        self.assertEqual(bundle["application/json"]["rows"], [[1, "x"], [2, None]])

    def test_rich_objects_give_their_own_bundle(self):
        code = ("class Rich:\n"
                "    def _repr_html_(self): return '<b>rich</b>'\n"
                "    def _repr_markdown_(self): return '**rich**'\n"
                "    def __repr__(self): return 'plain'\n"
                "Rich()")
        bundle = self.value(code)
        self.assertEqual((bundle["text/html"], bundle["text/markdown"], bundle["text/plain"]),
                         ("<b>rich</b>", "**rich**", "plain"))

    def test_display_comes_before_the_result(self):
        result = self.result("display({'a': 1})\ndisplay('two')\n'last'")
        self.assertEqual(len(result["displays"]), 2)
        self.assertEqual(result["displays"][0]["application/json"], {"a": 1})
        self.assertEqual(result["result"]["application/json"], "last")

    def test_top_level_await(self):
        code = ("import asyncio\n"
                "async def twice(x):\n"
                "    await asyncio.sleep(0)\n"
                "    return x * 2\n"
                "print(await twice(4))\n"
                "async with asyncio.Lock(): pass\n"
                "await asyncio.gather(twice(1), twice(2))")
        result = self.result(code)
        self.assertEqual((result["stdout"], result["result"]["application/json"]), ("8\n", [2, 4]))

    def test_a_semicolon_hides_the_value(self):
        self.assertIsNone(self.result("5;")["result"])

    def test_a_huge_value_is_cut_and_told(self):
        result = self.result("'x' * 30_000_000")
        self.assertTrue(result["truncated"]["result"])

    def test_the_namespace_is_a_real_module(self):
        code = ("import dataclasses, pickle, sys\n"
                "@dataclasses.dataclass\n"
                "class P:\n"
                "    x: int = 1\n"
                "assert sys.modules['__main__'].P is P\n"
                "pickle.loads(pickle.dumps(P(3))).x")
        self.assertEqual(self.value(code)["application/json"], 3)


if __name__ == "__main__":
    unittest.main()
