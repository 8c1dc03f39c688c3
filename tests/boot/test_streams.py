# SPDX-License-Identifier: Apache-2.0
"""stdout, stderr and stdin."""

import subprocess
import unittest

from harness import Runner


class Output(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.runner = Runner()

    @classmethod
    def tearDownClass(cls):
        cls.runner.close()

    def test_each_line_leaves_at_once(self):
        seen = []
        outcome = self.runner.run(
            "import ctypes, time\nprint('first')\ndisplay(1)\nprint('half', end='')\ndisplay(2)",
            on_event=lambda runner, event: seen.append(event["type"]))
        self.assertEqual(outcome.stdout_at, [6, 10], "output comes before what follows it")

    def test_a_line_is_out_before_the_program_goes_on(self):
        outcome = self.runner.run("import fcntl, termios, array, os\nr, w = os.pipe()\n"
                                  "saved = os.dup(1)\nos.dup2(w, 1)\nprint('line')\n"
                                  "got = os.read(r, 100)\nos.dup2(saved, 1)\ngot.decode()")
        self.assertEqual(outcome.result["application/json"], "line\n")

    def test_python_c_and_subprocesses_keep_their_order(self):
        outcome = self.runner.run("import os, subprocess\nprint('a')\nos.write(1, b'b\\n')\n"
                                  "subprocess.run(['echo', 'c'])\nprint('d')")
        self.assertEqual(outcome.text, "a\nb\nc\nd\n")

    def test_half_a_line_is_flushed_at_the_end(self):
        outcome = self.runner.run("import sys\nprint('no newline', end='')\n"
                                  "sys.stderr.write('err')")
        self.assertEqual((outcome.stdout, outcome.stderr), (b"no newline", b"err"))
        outcome = self.runner.run("sys.stdout.buffer.write(b'\\x00raw')")
        self.assertEqual(outcome.stdout, b"\0raw")

    def test_surrogates_never_kill_a_print(self):
        outcome = self.runner.run("print('\\ud800 \\u00e9')")
        self.assertEqual(outcome.stdout, b"\\ud800 \xc3\xa9\n")

    def test_a_replaced_stdout_is_back_for_the_next_run(self):
        outcome = self.runner.run("import io, sys\nsys.stdout = io.StringIO()\nprint('lost')")
        self.assertEqual((outcome.done["kind"], outcome.stdout), ("ok", b""))
        self.assertEqual(self.runner.run("print('back')").text, "back\n")

    def test_streams_that_were_closed_or_made_nonsense_are_back(self):
        for code in ("sys.stdout.close()", "sys.stdout = None", "sys.stdout = 5",
                     "del sys.stdout", "sys.stderr.close(); sys.stdin.close()"):
            self.assertEqual(self.runner.run("import sys\n" + code).done["kind"], "ok", code)
            self.assertEqual(self.runner.run("print('back')").text, "back\n", code)

    def test_descriptors_that_were_closed_are_back(self):
        self.runner.run("import os, sys")
        for closed in ((1,), (2,), (0, 1, 2)):
            for code in (f"for fd in {closed}: os.close(fd)", f"for fd in {closed}: os.close(fd)\nsys.stdout.close()"):
                self.assertEqual(self.runner.run(code).done["kind"], "ok", code)
                outcome = self.runner.run("print('back')\nos.system('echo more; echo err >&2; cat')")
                self.assertEqual((outcome.text, outcome.stderr), ("back\nmore\n", b"err\n"), code)

    def test_a_print_to_a_closed_descriptor_fails_and_is_told_in_its_own_run(self):
        outcome = self.runner.run("import os\nos.close(1)\nprint('lost')")
        self.assertIn("Bad file descriptor", outcome.error["message"])
        self.assertEqual(outcome.text, "lost\n")
        self.assertEqual(self.runner.run("print('back')").text, "back\n")

    def test_a_file_that_was_put_in_the_place_of_a_stream_stays(self):
        self.runner.run("import os\nfile = os.open('/tmp', os.O_TMPFILE | os.O_RDWR)\nos.dup2(file, 1)")
        self.runner.run("print('into the file')")
        self.assertEqual(self.runner.run("os.pread(file, 100, 0)").result["text/plain"], "b'into the file\\n'")
        self.runner.run("os.close(1)")
        self.assertEqual(self.runner.run("print('back')").text, "back\n")

    def test_much_output_comes_whole(self):
        outcome = self.runner.run("for i in range(20000): print('x' * 100)")
        self.assertEqual(len(outcome.stdout), 20000 * 101)

    def test_the_streams_have_their_usual_names(self):
        outcome = self.runner.run("import sys\n[sys.stdout.name, sys.stdout.fileno(), "
                                  "sys.stderr.name, sys.stdin.name, sys.stdout.encoding]")
        self.assertEqual(outcome.result["application/json"],
                         ["<stdout>", 1, "<stderr>", "<stdin>", "utf-8"])


class Input(unittest.TestCase):
    def test_text_is_read_by_input_and_by_subprocesses(self):
        with Runner() as runner:
            outcome = runner.run("a = input()\nb = input('> ')\n[a, b]", stdin="one\ntwo\n")
            self.assertEqual(outcome.result["application/json"], ["one", "two"])
            outcome = runner.run("import subprocess\nsubprocess.run(['cat'])", stdin="to cat\n")
            self.assertEqual(outcome.text, "to cat\n")
            self.assertEqual(runner.run("import sys\nsys.stdin.read()", stdin=b"\xff")
                             .result["text/plain"], "'\\udcff'")

    def test_without_it_everything_reads_end_of_file(self):
        with Runner(stdin=subprocess.PIPE) as runner:
            outcome = runner.run("import subprocess, sys\nsubprocess.run(['cat'])\n"
                                 "sys.stdin.read()")
            self.assertEqual(outcome.result["application/json"], "")
            error = runner.run("input()").error
            self.assertEqual((error["type"], error["message"]),
                             ("EOFError", "EOF when reading a line: this run has no stdin"))

    def test_text_of_one_run_is_not_there_for_the_next(self):
        with Runner(stdin=subprocess.PIPE) as runner:
            runner.run("1", stdin="left over\n")
            self.assertEqual(runner.run("input()").error["type"], "EOFError")

    def test_live_input_comes_while_the_run_is_on(self):
        with Runner(stdin=subprocess.PIPE) as runner:
            self.assertEqual(runner.run("input()").error["type"], "EOFError")

            def answer(runner, event):
                if event["type"] == "display":
                    runner.process.stdin.write(b"hello\n")
                    runner.process.stdin.flush()

            outcome = runner.run("display('ask')\ninput()", stdin="live", on_event=answer)
            self.assertEqual(outcome.result["application/json"], "hello")

    def test_a_megabyte_of_stdin_does_not_block(self):
        with Runner() as runner:
            outcome = runner.run("import sys\nlen(sys.stdin.read())", stdin="x" * (1 << 20))
            self.assertEqual(outcome.result["application/json"], 1 << 20)


if __name__ == "__main__":
    unittest.main()
