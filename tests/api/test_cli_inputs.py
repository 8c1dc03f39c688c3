# SPDX-License-Identifier: Apache-2.0
"""Inputs of a run: arguments, data, files, stdin, environment, limits."""

import json
import os
import sqlite3
import unittest

from vivcli import VivCase


class Arguments(VivCase):
    def test_args_are_json_and_never_source(self):
        text = json.dumps({"quote": "'\"\n\\", "n": [1, None, 2.5],
                           "code": "'''+__import__('os').name+'''", "u": "\u20ac"})
        result = self.result("_args", "--args", text)
        self.assertEqual(result["result"]["application/json"], json.loads(text))

    def test_args_come_from_a_file(self):
        path = self.write("args.json", '{"x": 42}')
        self.assertEqual(self.result("_args['x']", "--args",
                                     "@" + path)["result"]["application/json"], 42)

    def test_a_name_given_twice_is_refused(self):
        for text in ('{"a": 1, "a": 2}', '[{"b": 10000000000000000000000, "b": {}}]'):
            done = self.run_viv("print('never')", "--args", text)
            self.assertEqual((done.code, done.out), (2, b""))
            self.assertIn(b"--args: a name is given twice in one object, at line 1, column ", done.err)
        self.assertEqual(self.result("_args", "--args", "1" * 30)["result"]["text/plain"], "1" * 30)

    def test_without_args_there_is_an_empty_object(self):
        self.assertEqual(self.result("_args")["result"]["application/json"], {})


class Data(VivCase):
    def rows(self, *flags):
        code = "[list(df.columns), df.values.tolist(), data is df]"
        return self.result(code, *flags)["result"]["application/json"]

    def test_json_rows(self):
        path = self.write("d.json", '{"columns": ["a", "b"], "rows": [[1, "x"], [2, "y"]]}')
        self.assertEqual(self.rows("--data", path), [["a", "b"], [[1, "x"], [2, "y"]], True])

    def test_json_records(self):
        path = self.write("d.json", ' [{"a": 1, "b": "x"}, {"a": 2, "b": null}]\n')
        self.assertEqual(self.rows("--data", path), [["a", "b"], [[1, "x"], [2, None]], True])
        path = self.write("d.json", '[{"a": 1}, 5]')
        result = self.result("print('never')", "--data", path, kind="exception")
        self.assertIn("row 1 is not an object", result["error"]["message"])

    def test_csv(self):
        path = self.write("d.csv", 'a,b\n1,"x, y"\n2,z\n')
        self.assertEqual(self.rows("--data", path), [["a", "b"], [[1, "x, y"], [2, "z"]], True])

    def test_tsv(self):
        path = self.write("d.tsv", "a\tb\n1\tx,y\n")
        self.assertEqual(self.rows("--data", path), [["a", "b"], [[1, "x,y"]], True])

    def test_sqlite(self):
        path = self.path("d.db")
        with sqlite3.connect(path) as base:
            base.execute("create table t (a int, b text)")
            base.executemany("insert into t values (?, ?)", [(1, "x"), (2, "y")])
        base.close()
        self.assertEqual(self.rows("--data", f"sqlite:{path}:select a, b from t where a > 1"),
                         [["a", "b"], [[2, "y"]], True])

    def test_empty_rows_make_an_empty_frame(self):
        path = self.write("d.json", '{"columns": ["a"], "rows": []}')
        self.assertEqual(self.rows("--data", path), [["a"], [], True])

    def test_what_a_table_does_not_have_is_named(self):
        for text, what in (('{"columns": ["a"], "index": [5], "rows": [[1]]}', "data.index: there is no such field"),
                           ('{"columns": [1], "rows": [[1]]}', "data.columns[0]: must be a string")):
            result = self.result("print('never')", "--data", self.write("d.json", text), kind="exception")
            self.assertIn(what, result["error"]["message"])

    def test_ragged_rows_are_named(self):
        path = self.write("d.json", '{"columns": ["a", "b"], "rows": [[1, 2], [3]]}')
        result = self.result("print('never')", "--data", path, kind="exception")
        self.assertIn("row", result["error"]["message"].lower())
        self.assertEqual(result["stdout"], "")

    def test_broken_data_is_an_error_that_says_so(self):
        for name, text in (("d.json", "{"), ("d.json", "[1]"), ("d.db", "not a database")):
            with self.subTest(name=name, text=text):
                path = self.write(name, text)
                what = f"sqlite:{path}:select * from sqlite_master" if name.endswith("db") else path
                done = self.run_viv("print('never')", "--data", what)
                self.assertIn(f"viv run: --data: cannot read {what}\n".encode(), done.err)
                self.assertIn(done.code, (1, 2))
                self.assertEqual(done.out, b"")
                self.assertTrue(done.err)

    def test_without_data_neither_name_is_there(self):
        for name in ("data", "df"):
            result = self.result(name, kind="exception")
            self.assertEqual((result["error"]["type"], result["verdict"]["remedy_key"], result["verdict"]["remedy_detail"]),
                             ("NameError", "no_data", name))

    def test_a_hundred_megabytes_of_rows(self):
        path = self.path("big.csv")
        line = b"12345,some text that fills the line a bit,3.14159\n"
        count = (100 << 20) // len(line)
        with open(path, "wb") as file:
            file.write(b"a,b,c\n")
            for _ in range(count // 1000):
                file.write(line * 1000)
        result = self.result("len(df)", "--data", path, "--timeout", "100s")
        self.assertEqual(result["result"]["application/json"], count // 1000 * 1000)


class Files(VivCase):
    def test_a_file_is_there_byte_for_byte(self):
        wanted = bytes(range(256)) * 100
        path = self.write("in.bin", wanted)
        code = "import hashlib\nhashlib.sha256(open('in.bin', 'rb').read()).hexdigest()"
        import hashlib
        self.assertEqual(self.result(code, "--file", path)["result"]["application/json"],
                         hashlib.sha256(wanted).hexdigest())

    def test_a_file_may_have_another_name_and_folder(self):
        path = self.write("a.txt", "text")
        for place in ("deep/er/b.txt", "/workspace/deep/er/b.txt"):
            with self.subTest(place):
                result = self.result("open('/workspace/deep/er/b.txt').read()", "--file",
                                     f"{path}:{place}")
                self.assertEqual(result["result"]["application/json"], "text")

    def test_two_files_of_one_name_are_refused(self):
        os.mkdir(self.path("b"))
        one, two = self.write("x.csv", "1"), self.write("b/x.csv", "2")
        done = self.run_viv("open('x.csv').read()", "--file", one, "--file", two)
        self.assertEqual(done.code, 2, done.err)
        self.assertIn(b"--file: two files would be called x.csv in the sandbox", done.err)
        done = self.run_viv("print(open('x.csv').read(), open('y.csv').read())", "--file", one, "--file", two + ":y.csv")
        self.assertEqual((done.code, done.out), (0, b"1 2\n"), done.err)

    def test_several_files(self):
        flags = []
        for number in range(20):
            flags += ["--file", self.write(f"f{number}.txt", str(number))]
        self.assertEqual(self.result("import os\nlen(os.listdir('/workspace'))",
                                     *flags)["result"]["application/json"], 20)

    def test_unchanged_input_is_no_artifact(self):
        kept, changed = self.write("kept.txt", "same"), self.write("changed.txt", "old")
        result = self.result("open('changed.txt', 'w').write('new')\nNone", "--file", kept,
                             "--file", changed)
        self.assertEqual([file["path"] for file in result["files"]], ["/workspace/changed.txt"])

    def test_names_with_odd_characters(self):
        for name in ("sp ace.txt", "new\nline.txt", "\u20ac.txt", "q'uote\".txt"):
            with self.subTest(name):
                path = self.write(name, "odd")
                self.assertEqual(self.result("import os\nos.listdir('/workspace')", "--file", path)
                                 ["result"]["application/json"], [name])


class Stdin(VivCase):
    def test_stdin_is_passed_when_asked(self):
        done = self.run_viv("import sys\nprint(sys.stdin.read().upper())", "--stdin",
                            stdin=b"some text")
        self.assertEqual((done.code, done.out), (0, b"SOME TEXT\n"))

    def test_input_reads_lines(self):
        done = self.run_viv("print(input() + input())", "--stdin", stdin=b"a\nb\n")
        self.assertEqual((done.code, done.out), (0, b"ab\n"))

    def test_without_it_input_fails_with_a_remedy(self):
        result = self.result("input('name? ')", kind="exception")
        self.assertEqual(result["error"]["type"], "EOFError")
        self.assertIn("stdin", result["error"]["message"] + result["verdict"]["remedy"])

    def test_bytes_of_stdin_are_exact(self):
        code = "import sys, hashlib\nprint(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())"
        import hashlib
        wanted = os.urandom(1 << 20)
        self.assertEqual(self.run_viv(code, "--stdin", stdin=wanted).out.decode().strip(),
                         hashlib.sha256(wanted).hexdigest())


class Environment(VivCase):
    def test_variables_are_given(self):
        result = self.result("import os\n[os.environ['A'], os.environ['B']]", "--env", "A=1",
                             "--env", "B=x=y z")
        self.assertEqual(result["result"]["application/json"], ["1", "x=y z"])

    def test_nothing_is_inherited(self):
        os.environ["VIV_TEST_LEAK"] = "leak"
        self.addCleanup(os.environ.pop, "VIV_TEST_LEAK")
        names = self.result("import os\nsorted(os.environ)")["result"]["application/json"]
        self.assertNotIn("VIV_TEST_LEAK", names)
        self.assertNotIn("XDG_RUNTIME_DIR", names)

    def test_a_policy_whose_data_folder_is_gone_says_which(self):
        """... and a run that was in no sandbox claims neither walls nor limits."""
        config = self.write("gone.yaml", f"policies: {{vault: {{data: {self.path('nowhere')}}}}}\n")
        done = self.result("1", "--config", config, "--policy", "vault", kind="backend")
        self.assertEqual(done["verdict"]["message"],
                         f"the policy's data folder {self.path('nowhere')}: No such file or directory")
        self.assertEqual((done["backend"], done["walls"], done["limits"]), ("", [], None))

    def test_programs_see_them_too(self):
        self.assertEqual(self.run_viv("import os\nos.system('echo $A')\nNone", "--env",
                                      "A=sub").out, b"sub\n")


class Limits(VivCase):
    def test_memory(self):
        self.assertEqual(self.result("x = bytearray(150 << 20)\nlen(x)", "--memory",
                                     "400M")["result"]["application/json"],
                         150 << 20)

    def test_pids(self):
        code = ("import os\nn = 0\n"
                "try:\n"
                "    while n < 300:\n"
                "        if os.fork() == 0:\n"
                "            import signal; signal.pause()\n"
                "        n += 1\n"
                "except OSError: pass\n"
                "n")
        count = self.result(code, "--pids", "20")["result"]["application/json"]
        self.assertTrue(5 <= count < 20, count)

    def test_cpus(self):
        self.result("1", "--cpus", "0.5")

    def test_timeout_units(self):
        for value in ("900ms", "1s"):
            with self.subTest(value):
                self.result("while True: pass", "--timeout", value, kind="timeout")

    def test_a_runtime_can_be_pinned(self):
        self.assertEqual(self.result("1", "--runtime", "bare")["runtime"], "bare")
        self.assertEqual(self.result("1", "--runtime", "full")["runtime"], "full")

    def test_the_smallest_runtime_that_covers_the_imports(self):
        self.assertEqual(self.result("import json, re")["runtime"], "bare")
        self.assertEqual(self.result("import numpy as np\nnp.arange(2).sum()")["runtime"], "base")
        self.assertEqual(self.result("from scipy import stats\n1")["runtime"], "full")

    def test_the_workspace_is_the_working_folder(self):
        self.assertEqual(self.result("import os\nos.getcwd()")["result"]["application/json"],
                         "/workspace")


if __name__ == "__main__":
    unittest.main()
