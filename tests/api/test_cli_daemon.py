# SPDX-License-Identifier: Apache-2.0
"""`viv run` through a daemon: nobody should see a difference."""

import hashlib
import os
import re
import resource
import signal
import socket
import subprocess

from daemon import wait_for
from daemon_cli import DaemonCase
from vivcli import RESULT_KEYS, VIV, strict_json

PEAK = re.compile(rb"the peak was [0-9.]+ MiB")  # no two runs have the same
CODES = {
    "a value": "print('out'); 6 * 7",
    "no newline": "print('a', end=''); 1",
    "stderr": "import sys; print('e', file=sys.stderr); sys.exit(0)",
    "unicode": "print('\\u00e9\\u4e2d\\U0001f600'); 'caf\\u00e9'",
    "bytes": "import sys; sys.stdout.buffer.write(bytes(range(256)) * 300); None",
    "an exception": "def f():\n    1/0\nf()",
    "a syntax error": "x = = 1",
    "an exit": "import sys; sys.exit(7)",
    "a hard exit": "import os; os._exit(9)",
    "a signal": "import os; os.kill(os.getpid(), 11)",
    "a display": "display({'a': 1}); display('two'); None",
    "a file": "open('/workspace/a.txt', 'w').write('hello'); None",
    "a chart": "import matplotlib.pyplot as p; p.plot([1, 2]); None",
    "a timeout": "while True: pass",
    "memory": "x = bytearray(1 << 30)",
    "a missing module": "import no_such_module",
    "cut output": "import sys; print('a' * 1100000); print('e' * 1100001, file=sys.stderr)",
}
TIMES = {"a timeout": "1s"}  # the others end by themselves, on a busy machine, too


class RunTest(DaemonCase):
    def both(self, *words, stdin=None):
        """(by the daemon, by viv itself)."""
        before = len(self.runs())
        there = self.viv("run", *words, stdin=stdin)
        self.assertEqual(len(self.runs()), before + 1, f"the daemon was not asked: {words}")
        here = self.viv("run", "--no-daemon", *words, stdin=stdin)
        self.assertEqual(len(self.runs()), before + 1, f"the daemon was asked: {words}")
        return there, here

    def assert_local(self, *words, env=None, stdin=None):
        """This is done here, in silence."""
        before = len(self.runs())
        done = subprocess.run([VIV, "run", *words], capture_output=True, cwd=self.folder,
                              input=stdin, env={**self.environment(), **(env or {})}, timeout=120,
                              check=False)
        self.assertEqual(len(self.runs()), before)
        return done

    def test_a_file_that_cannot_be_written_makes_the_status(self):
        def few_bytes():  # of the client's own files; what the sandbox writes is the daemon's
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))

        for code, status in (("open('a.bin', 'wb').write(bytes(1 << 20)); None", 125),
                             ("open('a.bin', 'wb').write(bytes(1 << 20)); raise SystemExit(3)", 3),
                             ("open('a.bin', 'wb').write(b'x'); None", 0)):
            process = self.popen("run", "--out", "taken", "--overwrite", "-c", code, preexec_fn=few_bytes)
            err = process.communicate(timeout=60)[1]
            self.assertEqual((process.returncode, b"not written: /workspace/a.bin: " in err), (status, status != 0), err)
        session = self.viv("session", "new").out.decode().strip()
        self.viv("session", "run", session, "-c", "'x' * 100000")
        process = self.popen("session", "notebook", session, "n.ipynb", preexec_fn=few_bytes)
        err = process.communicate(timeout=60)[1]
        self.assertEqual((process.returncode, os.path.exists(self.path("n.ipynb"))), (125, False), err)
        self.assertIn(b"n.ipynb: write: File too large", err)

    def test_output_and_status_are_the_same(self):
        for name, code in CODES.items():
            with self.subTest(name):
                there, here = self.both("--timeout", TIMES.get(name, "60s"), "--memory", "256M", "-c", code)
                self.assertEqual((there.code, there.out, PEAK.sub(b"", there.err)),
                                 (here.code, here.out, PEAK.sub(b"", here.err)))

    def test_results_are_the_same(self):
        for name, code in CODES.items():
            with self.subTest(name):
                there, here = (strict_json(done.out) for done in
                               self.both("--json", "--timeout", TIMES.get(name, "60s"), "--memory", "256M", "-c", code))
                self.assertEqual(RESULT_KEYS - set(there), set())
                there.pop("who")  # without a daemon nobody else asks
                self.assertEqual(set(there), set(here))
                for result in (there, here):
                    for key in ("id", "usage", "charts"):
                        del result[key]
                    for file in result["files"]:
                        file.pop("mtime_ms", None)
                    result["verdict"].pop("peak", None)
                    result["verdict"].pop("message", None)  # it has the peak in it
                self.assertEqual(there, here)

    def test_events_are_the_same(self):
        for name in ("a value", "an exception", "a display", "a file", "a chart"):
            with self.subTest(name):
                there, here = ([strict_json(line) for line in done.out.splitlines()] for done in
                               self.both("--events", "-c", CODES[name]))
                self.assertEqual([(event["seq"], event["type"], sorted(event)) for event in there],
                                 [(event["seq"], event["type"], sorted(event)) for event in here])

    def test_what_is_refused_is_refused_the_same_way(self):
        for words in (["--memory", "100T", "-c", "1"], ["--policy", "none", "-c", "1"],
                      ["--runtime", "none", "-c", "1"], ["-c", "1", "--timeout", "99h"]):
            with self.subTest(words):
                there = self.viv("run", *words)
                here = self.viv("run", "--no-daemon", *words)
                self.assertEqual(there.code, here.code, (there.err, here.err))
                self.assertEqual(there.out, b"")
                self.assertTrue(there.err.startswith(b"viv run: "), there.err)

    def test_inputs_arrive(self):
        rows = self.write("rows.json", '[{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]')
        blob = self.write("blob.bin", bytes(range(256)) * 1000)
        there, here = self.both(
            "--data", rows, "--file", f"{blob}:in/b.bin", "--args", '{"n": [1, null]}', "--env",
            "NAME=va=l", "--expect", "never.txt", "-c",
            "import hashlib, os\n"
            "print(_args, os.environ['NAME'], df.shape, list(df['b']))\n"
            "print(hashlib.sha256(open('in/b.bin', 'rb').read()).hexdigest())")
        self.assertEqual((there.code, there.out, there.err), (here.code, here.out, here.err))
        with open(blob, "rb") as file:
            self.assertIn(hashlib.sha256(file.read()).hexdigest().encode(), there.out)
        self.assertIn(b"never.txt", there.err)

    def test_code_comes_from_a_file_or_from_stdin(self):
        script = self.write("script.py", "print('from a file')")
        self.assertEqual(self.text("run", script), "from a file\n")
        self.assertEqual(self.text("run", "-", stdin=b"print('from stdin')"), "from stdin\n")

    def test_stdin_is_byte_exact(self):
        data = os.urandom(700_000)
        there, here = self.both("--stdin", "-c", "import hashlib, sys\n"
                                "print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())",
                                stdin=data)
        self.assertEqual(there.out, here.out)
        self.assertEqual(there.out.decode().strip(), hashlib.sha256(data).hexdigest())

    def test_stdin_is_live(self):
        process = self.popen("run", "--stdin", "-c",
                             "print('name?', flush=True)\nprint('hello', input())",
                             stdin=subprocess.PIPE)
        self.assertEqual(process.stdout.readline(), b"name?\n")
        out, err = process.communicate(b"you\n", timeout=60)
        self.assertEqual((process.returncode, out), (0, b"hello you\n"), err)

    def test_files_and_charts_go_to_a_folder(self):
        code = ("import os\nos.makedirs('deep')\n"
                "open('deep/b.bin', 'wb').write(bytes(range(256)) * 40)\n"
                "open('empty', 'w').close()\n"
                "import matplotlib.pyplot as p; p.plot([1, 2]); None")
        there = self.viv("run", "--out", "there", "-c", code)
        here = self.viv("run", "--no-daemon", "--out", "here", "-c", code)
        self.assertEqual((there.code, there.err.replace(b"there", b"here")), (here.code, here.err))
        for name in ("deep/b.bin", "empty"):
            with open(self.path("there/" + name), "rb") as a, \
                    open(self.path("here/" + name), "rb") as b:
                self.assertEqual(a.read(), b.read())
        with open(self.path("there/chart-1.png"), "rb") as file:
            self.assertEqual(file.read(8), b"\x89PNG\r\n\x1a\n")
        result = self.good("run", "--json", "--out", "again", "-c", code)
        self.assertEqual([file for file in result["files"] if "base64" in file], [])
        self.assertTrue(os.path.exists(self.path("again/deep/b.bin")))
        done = self.viv("run", "--events", "--out", "third", "-c", code)
        files = [strict_json(line) for line in done.out.splitlines()]
        self.assertEqual([event for event in files if event["type"] == "file" and
                          "base64" in event["file"]], [])

    def test_a_file_that_the_daemon_does_not_return_is_named_and_fails(self):
        code = "open('big', 'wb').write(bytes(9 << 20)); open('small', 'w').write('x'); None"
        done = self.viv("run", "--out", "large", "-c", code)
        self.assertEqual((done.code, os.listdir(self.path("large"))), (125, ["small"]))
        self.assertIn(b"viv run: not written: /workspace/big: it is larger than the 8 MiB that a daemon returns\n"
                      b"viv run: remedy: add --no-daemon: ", done.err)
        self.assertEqual(self.viv("run", "--no-daemon", "--out", "own", "-c", code).code, 0)
        self.assertEqual(os.path.getsize(self.path("own/big")), 9 << 20)
        done = self.viv("run", "--json", "--out", "sum", "-c",
                        "for i in range(5): open(f'f{i}', 'wb').write(bytes(7 << 20))")
        self.assertEqual((done.code, len(os.listdir(self.path("sum")))), (125, 4))
        self.assertIn(b"not written: /workspace/f4: a daemon returns at most 32 MiB of files in all\n", done.err)
        self.assertTrue(strict_json(done.out)["truncated"]["files"])

    def test_ctrl_c_cancels_the_run(self):
        process = self.popen("run", "--timeout", "60s", "-c",
                             "print('on', flush=True)\nwhile True: pass")
        self.assertEqual(process.stdout.readline(), b"on\n")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        self.assertEqual(self.runs()[0]["verdict"], "cancelled")

    def test_a_run_ends_with_its_viewer(self):
        process = self.popen("run", "--timeout", "60s", "-c",
                             "print('on', flush=True)\nwhile True: pass")
        self.assertEqual(process.stdout.readline(), b"on\n")
        run = self.runs()[0]["id"]
        process.kill()
        process.communicate(timeout=60)
        with self.daemon.events(run) as events:
            self.assertEqual(events.until("verdict")["verdict"]["kind"], "cancelled")

    def test_a_closed_stdout_ends_the_run(self):
        process = self.popen("run", "--timeout", "60s", "-c", "while True: print('x' * 1000)")
        process.stdout.read(10)
        process.stdout.close()
        self.assertEqual(process.wait(60), 141)
        process.stderr.close()

    def test_what_a_request_cannot_carry_is_done_here(self):
        table = self.write("t.csv", "a,b\n1,2\n")
        done = self.assert_local("--data", table, "-c", "print(df.shape)")
        self.assertEqual((done.returncode, done.stdout), (0, b"(1, 2)\n"), done.stderr)
        latin = self.write("l.py", b"# coding: latin-1\nprint(len('\xe9'))\n")
        done = self.assert_local(latin)
        self.assertEqual((done.returncode, done.stdout), (0, b"1\n"), done.stderr)
        broken = self.write("b.json", '[], "code": "print(666)"')
        self.assertNotIn(b"666", self.assert_local("--data", broken, "-c", "1").stdout)

    def test_a_config_of_ones_own_is_obeyed_here(self):
        own = self.write("own.yaml", f"runtime_dir: {self.daemon.path('run')}\n"
                         "policies: {default: {pids: 7}}\n")
        os.chmod(own, 0o644)
        done = self.assert_local("--config", own, "--pids", "8", "-c", "1")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(b"7", done.stderr)

    def test_without_a_daemon_it_is_done_here(self):
        done = self.assert_local("-c", "1 + 1", env={"VIVARIUM_CONFIG": "", "HOME": self.home})
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"2\n", b""))

    def test_a_dead_socket_is_no_daemon(self):
        os.mkdir(self.path("dead"), 0o700)
        with socket.socket(socket.AF_UNIX) as left:
            left.bind(self.path("dead/viv.sock"))
        config = self.write("dead.yaml", f"runtime_dir: {self.path('dead')}\n"
                            'listen: ["127.0.0.1:1"]\n')
        done = self.assert_local("--config", config, "-c", "1 + 1")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"2\n", b""))
        done = self.viv("session", "list", "--config", config)
        self.assertEqual(done.code, 125)
        self.assertIn(b"no daemon answers at unix:", done.err)
        self.assertIn(b"viv serve", done.err)

    def test_a_daemon_that_was_asked_for_must_answer(self):
        done = self.assert_local("-c", "1", env={"VIVARIUM_URL": "http://127.0.0.1:1"})
        self.assertEqual(done.returncode, 125)
        self.assertIn(b"no daemon answers at http://127.0.0.1:1", done.stderr)
        done = self.assert_local("-c", "1", env={"VIVARIUM_URL": "ftp://x"})
        self.assertEqual(done.returncode, 2)

    def test_a_daemon_is_found_by_its_url(self):
        for url in (f"http://127.0.0.1:{self.daemon.port}/", f"unix:{self.daemon.unix}"):
            with self.subTest(url):
                before = len(self.runs())
                done = subprocess.run([VIV, "run", "-c", "2 + 3"], capture_output=True, check=False,
                                      env={**self.environment(), "VIVARIUM_CONFIG": "",
                                           "VIVARIUM_URL": url}, cwd=self.folder, timeout=60)
                self.assertEqual((done.returncode, done.stdout), (0, b"5\n"), done.stderr)
                self.assertEqual(len(self.runs()), before + 1)


class KilledTest(DaemonCase):
    """The daemon dies under a command that waits for a run."""

    config = "limits: {concurrent_runs: 2}\n"
    CODE = "print('on', flush=True)\nimport time\ntime.sleep(1)\nprint('end')"

    def begin(self, *words):
        """The command, once its run prints."""
        process = subprocess.Popen([VIV, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, cwd=self.folder, env=self.environment())
        self.assertEqual(process.stdout.readline(), b"on\n")
        return process

    def test_the_command_goes_on_with_the_next_daemon(self):
        name = self.session()
        for words in (("session", "run", name, "-c", self.CODE), ("run", "-c", self.CODE)):
            process = self.begin(*words)
            self.daemon.restart()
            out, err = process.communicate(timeout=60)
            self.assertEqual((process.returncode, out), (0, b"end\n"), err)
            self.assertIn(b"waiting for it to come back", err)

    def test_a_command_whose_run_had_not_begun_says_so(self):
        name = self.session()
        first = self.begin("session", "run", name, "--timeout", "60s", "-c",
                           "print('on', flush=True)\nimport time\nwhile True: time.sleep(0.1)")
        before = len(self.runs())
        waiting = []
        # The first two wait for their turn in the session; the last waits for one of the two runs at once.
        for words in (("session", "run", name), ("session", "run", "--json", name), ("run",)):
            waiting.append(self.popen(*words, "-c", "print('ran')"))
            wait_for(lambda: len(self.runs()) == before + len(waiting), what="the run")
        self.daemon.restart()
        for process in waiting:
            out, err = process.communicate(timeout=60)
            told = strict_json(out)["verdict"]["message"] if "--json" in process.args else err.decode()
            self.assertEqual(process.returncode, 125, (out, err))
            self.assertIn("the daemon ended before this run began: nothing of it ran", told)
            self.assertIn(b"waiting for it to come back", err)
        self.text("session", "interrupt", name)
        first.communicate(timeout=60)


class TokenTest(DaemonCase):
    SECRET = "a-secret-of-this-test-that-is-long-enough"
    config = ("tokens:\n  - name: alice\n    sha256: " +
              hashlib.sha256(SECRET.encode()).hexdigest() + "\n")

    def over_tcp(self, *words, **env):
        url = f"http://127.0.0.1:{self.daemon.port}"
        return subprocess.run([VIV, *words], capture_output=True, check=False, cwd=self.folder,
                              env={**self.environment(), "VIVARIUM_URL": url, **env}, timeout=60)

    def test_a_token_is_sent_and_needed(self):
        done = self.over_tcp("session", "list")
        self.assertEqual(done.returncode, 125)
        self.assertIn(b"$VIVARIUM_TOKEN", done.stderr)
        file = self.write("token", self.SECRET + "\n")
        for words, env in ((("session", "list", "--token-file", file), {}),
                           (("session", "list"), {"VIVARIUM_TOKEN": self.SECRET}),
                           (("ps", "--token-file", file), {}),
                           (("run", "-c", "1"), {"VIVARIUM_TOKEN": self.SECRET})):
            with self.subTest(words):
                done = self.over_tcp(*words, **env)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertNotIn(self.SECRET.encode(), done.stdout + done.stderr)

    def test_sessions_of_others_are_not_there(self):
        made = self.over_tcp("session", "new", VIVARIUM_TOKEN=self.SECRET)
        name = made.stdout.decode().strip()
        self.assertEqual(self.viv("session", "rm", name).code, 2)
        done = self.over_tcp("session", "rm", name, VIVARIUM_TOKEN=self.SECRET)
        self.assertEqual(done.returncode, 0, done.stderr)
