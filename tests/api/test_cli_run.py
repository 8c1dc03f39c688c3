# SPDX-License-Identifier: Apache-2.0
"""viv run as a person uses it: where code comes from, what is printed, how it ends."""

import contextlib
import os
import resource
import shutil
import signal
import subprocess
import unittest

from vivcli import VIV, VivCase


class Sources(VivCase):
    def test_code_comes_from_the_command_line(self):
        done = self.run_viv("print('hello')")
        self.assertEqual((done.code, done.out, done.err), (0, b"hello\n", b""))

    def test_code_comes_from_a_file(self):
        path = self.write("script.py",
                          "import sys\nprint(__name__)\nprint('err', file=sys.stderr)\n")
        done = self.viv("run", "--no-daemon", path)
        self.assertEqual((done.code, done.out, done.err), (0, b"__main__\n", b"err\n"))

    def test_code_comes_from_stdin(self):
        done = self.viv("run", "--no-daemon", "-", stdin=b"print(6 * 7)\n")
        self.assertEqual((done.code, done.out), (0, b"42\n"))

    def test_a_name_that_looks_like_a_flag_follows_two_dashes(self):
        self.write("-x.py", "print('dash')")
        done = self.viv("run", "--no-daemon", "--", "-x.py")
        self.assertEqual((done.code, done.out), (0, b"dash\n"))

    def test_empty_code_is_fine(self):
        done = self.run_viv("")
        self.assertEqual((done.code, done.out), (0, b""))


class FewDescriptors(VivCase):
    def test_without_enough_of_them_nothing_runs_and_viv_says_why(self):
        for count in (6, 7, 8, 9, 10, 12):
            with self.subTest(count):
                process = self.popen("run", "--no-daemon", "-c", "print('it ran')",
                                     preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (count, count)))
                out, err = process.communicate(timeout=60)
                self.assertEqual((process.returncode, out), (125, b""), err)
                self.assertIn(b"too many open files", err.lower())


class Output(VivCase):
    def test_the_last_value_is_printed_like_a_notebook_does(self):
        self.assertEqual(self.run_viv("print('a')\n[1, 'x']").out, b"a\n[1, 'x']\n")

    def test_output_that_was_cut_says_at_which_limit_and_what_to_do(self):
        done = self.run_viv("print('x' * 3000000)")
        self.assertEqual((done.code, len(done.out)), (0, 1 << 20))
        self.assertEqual(done.err.decode(), "viv run: stdout was cut at 1MiB, the output limit; the run wrote 3000001 "
                                            "bytes in all: print less, or write to a file below /workspace\n")

    def test_none_prints_nothing(self):
        self.assertEqual(self.run_viv("None").out, b"")

    def test_an_assignment_prints_nothing(self):
        self.assertEqual(self.run_viv("x = 5").out, b"")

    def test_bytes_pass_through_exactly(self):
        wanted = bytes(range(256)) * 16
        done = self.run_viv("import os\nos.write(1, bytes(range(256)) * 16)\n"
                            "os.write(2, b'\\xff\\x00')\nNone")
        self.assertEqual(done.out, wanted)
        self.assertEqual(done.err, b"\xff\x00")

    def test_text_without_a_line_end_stays_so(self):
        self.assertEqual(self.run_viv("print('no newline', end='')").out, b"no newline")

    def test_lone_surrogates_do_not_kill_a_print(self):
        done = self.run_viv("print('a\\ud800b')")
        self.assertEqual((done.code, done.out), (0, b"a\\ud800b\n"))

    def test_output_of_programs_keeps_its_place(self):
        code = ("import subprocess, os, ctypes\n"
                "print('one')\n"
                "subprocess.run(['echo', 'two'])\n"
                "print('three')\n"
                "os.system('echo four')\n"
                "os.write(1, b'five\\n')\n"
                "print('six')\nNone")
        self.assertEqual(self.run_viv(code).out, b"one\ntwo\nthree\nfour\nfive\nsix\n")

    def test_c_level_output_is_not_lost(self):
        code = "import ctypes\nctypes.CDLL(None).puts(b'from C')\nNone"
        self.assertEqual(self.run_viv(code).out, b"from C\n")

    def test_output_comes_while_the_code_still_runs(self):
        process = self.popen("run", "--no-daemon", "--timeout", "60s", "-c",
                             "import time\nprint('first')\ntime.sleep(1000)")
        try:
            self.assertEqual(process.stdout.readline(), b"first\n")
            self.assertIsNone(process.poll())
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)

    def test_a_traceback_shows_the_users_lines_only(self):
        done = self.run_viv("def f():\n    return 1 / 0\n\nf()\n")
        self.assertEqual(done.code, 1)
        text = done.err.decode()
        self.assertIn("ZeroDivisionError: division by zero", text)
        self.assertIn("return 1 / 0", text)
        self.assertNotIn("/viv/", text)
        self.assertNotIn("vivarium", text)


class ExitCodes(VivCase):
    def test_an_exception_is_1(self):
        self.assertEqual(self.run_viv("raise KeyError('x')").code, 1)

    def test_a_syntax_error_is_1_and_names_the_line(self):
        done = self.run_viv("x = 1\ny = (\n")
        self.assertEqual(done.code, 1)
        self.assertIn(b"SyntaxError", done.err)

    def test_the_codes_own_exit_status_passes(self):
        for code, wanted in (("import sys; sys.exit(0)", 0), ("import sys; sys.exit(3)", 3),
                             ("raise SystemExit(255)", 255),
                             ("import os; os._exit(0)", 0), ("import os; os._exit(41)", 41),
                             ("exit()", 0),
                             ("import sys; sys.exit(None)", 0), ("import sys; sys.exit(True)", 1)):
            with self.subTest(code):
                self.assertEqual(self.run_viv(code).code, wanted)

    def test_a_text_in_system_exit_goes_to_stderr(self):
        done = self.run_viv("raise SystemExit('give up')")
        self.assertEqual(done.code, 1)
        self.assertIn(b"give up\n", done.err)

    def test_a_timeout_is_124(self):
        done = self.run_viv("print('early', flush=True)\nwhile True: pass", "--timeout", "800ms")
        self.assertEqual((done.code, done.out), (124, b"early\n"))
        self.assertIn(b"--timeout", done.err)

    def test_out_of_memory_is_137(self):
        code = ("import time\na = []\n"
                "while True: a.append(bytearray(b'x' * 2**20)); time.sleep(0.005)")
        done = self.run_viv(code, "--memory", "96M")
        self.assertEqual(done.code, 137)
        self.assertIn(b"memory", done.err)

    def test_killed_is_128_and_the_signal(self):
        self.assertEqual(self.run_viv("import os; os.kill(os.getpid(), 9)").code, 137)
        self.assertEqual(self.run_viv("import os; os.kill(os.getpid(), 15)").code, 143)
        self.assertEqual(self.run_viv("import ctypes; ctypes.string_at(0)").code, 139)
        self.assertEqual(self.run_viv("import os; os.abort()").code, 134)

    def test_refused_by_the_guard_is_126(self):
        done = self.run_viv("import os", "--policy", "analysis")
        self.assertEqual(done.code, 126)
        self.assertIn(b'Blocked import: "os" is not allowed', done.err)

    def test_interrupted_by_a_person_is_130(self):
        process = self.popen("run", "--no-daemon", "-c",
                             "import time\nprint('up')\ntime.sleep(1000)")
        self.assertEqual(process.stdout.readline(), b"up\n")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)

    def test_terminated_is_143(self):
        process = self.popen("run", "--no-daemon", "-c",
                             "import time\nprint('up')\ntime.sleep(1000)")
        self.assertEqual(process.stdout.readline(), b"up\n")
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 143)

    def test_vivarium_itself_failing_is_125(self):
        if os.path.exists("/usr/libexec/vivarium/viv-launch"):
            self.fail("an installed viv-launch would be found; run this where none is")
        alone = self.path("viv")
        shutil.copy(VIV, alone)
        done = subprocess.run([alone, "run", "--no-daemon", "-c", "1"], capture_output=True,
                              cwd=self.folder,
                              env=self.environment(), check=False, timeout=60)
        self.assertEqual(done.returncode, 125)
        self.assertIn(b"viv-launch", done.stderr)


class Usage(VivCase):
    def refused(self, *words, said=(), stdin=None):
        done = self.viv("run", "--no-daemon", *words, stdin=stdin)
        self.assertEqual(done.code, 2, done.err)
        self.assertEqual(done.out, b"")
        for word in said:
            self.assertIn(word, done.err.decode())

    def test_unknown_flags_are_named(self):
        self.refused("--frobnicate", "-c", "1", said=["--frobnicate"])

    def test_no_code_at_all(self):
        self.refused()

    def test_two_sources_of_code(self):
        self.refused("-c", "1", self.write("a.py", "2"))

    def test_a_file_that_is_not_there(self):
        self.refused("nowhere.py", said=["nowhere.py"])

    def test_values_that_make_no_sense(self):
        for flag, value in (("--timeout", "soon"), ("--timeout", "-1s"), ("--timeout", "5parsecs"),
                            ("--memory", "lots"), ("--memory", "99999999999999G"),
                            ("--cpus", "many"), ("--pids", "-4"), ("--pids", "1.5"),
                            ("--args", "{not json"), ("--args", "@nowhere.json"),
                            ("--env", "NOEQUALS"), ("--env", "=x"), ("--policy", "nosuch"),
                            ("--runtime", "nosuch"), ("--backend", "nosuch"),
                            ("--file", "nowhere.csv"), ("--data", "nowhere.csv"),
                            ("--data", "what.xyz")):
            with self.subTest(flag=flag, value=value):
                self.refused(flag, value, "-c", "1", said=[flag.lstrip("-")])

    def test_limits_above_the_policy_name_field_and_maximum(self):
        for flag, value in (("--timeout", "10000s"), ("--memory", "500G"), ("--pids", "4000"),
                            ("--cpus", "64")):
            with self.subTest(flag):
                self.refused(flag, value, "-c", "1", said=[flag.lstrip("-")])

    def test_files_may_not_land_outside_the_workspace(self):
        path = self.write("a.txt", "x")
        for place in ("../a.txt", "/etc/passwd", "/workspace/../etc/x", "a/../../b"):
            with self.subTest(place):
                done = self.run_viv("print(1)", "--file", f"{path}:{place}")
                self.assertEqual((done.code, done.out), (2, b""), done.err)

    def test_help_is_complete(self):
        done = self.viv("run", "--help")
        self.assertEqual(done.code, 0)
        for flag in ("policy", "runtime", "backend", "timeout", "memory", "cpus", "pids", "args",
                     "data", "file", "expect", "stdin", "env", "out", "json", "events",
                     "no-daemon"):
            self.assertIn("--" + flag, done.out.decode())

    def test_viv_itself_has_help_and_a_version(self):
        done = self.viv("--help")
        self.assertEqual(done.code, 0)
        for command in ("run", "doctor", "audit", "bench", "runtime"):
            self.assertIn(command, done.out.decode())
        done = self.viv("--version")
        self.assertEqual((done.code, done.out.count(b"\n")), (0, 1))
        self.assertEqual(self.viv("nosuch").code, 2)
        self.assertEqual(self.viv().code, 2)


class Ending(VivCase):
    def test_a_killed_viv_leaves_nothing_running(self):
        process = self.popen("run", "--no-daemon", "-c",
                             "import time\nprint('up')\ntime.sleep(1000)")
        self.assertEqual(process.stdout.readline(), b"up\n")
        tree = descendants(process.pid)
        self.assertTrue(tree)
        process.kill()
        process.communicate(timeout=60)
        wait_for_end(self, tree)

    def test_a_closed_terminal_does_not_hang(self):
        process = self.popen("run", "--no-daemon", "-c", "while True: print('x' * 1000)")
        process.stdout.read(10)
        process.stdout.close()
        process.stderr.close()
        self.assertNotEqual(process.wait(timeout=60), 0)


def descendants(root):
    """pid -> pidfd of all that came from a process."""
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                    parents[int(name)] = int(file.read().rsplit(")", 1)[1].split()[1])
            except OSError:
                continue
    found = [root]
    for pid in found:
        found += [child for child, parent in parents.items() if parent == pid]
    tree = {}
    for pid in found[1:]:
        with contextlib.suppress(ProcessLookupError):  # it has ended since
            tree[pid] = os.pidfd_open(pid)
    return tree


def wait_for_end(case, tree):
    import select
    for pid, fd in tree.items():
        poller = select.poll()
        poller.register(fd, select.POLLIN)
        is_over = bool(poller.poll(10_000))
        os.close(fd)
        case.assertTrue(is_over, f"process {pid} outlived viv")


if __name__ == "__main__":
    unittest.main()
