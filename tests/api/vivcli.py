# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of the command line: a real viv, a home of its own, strict reading."""

import json
import os
import shutil
import subprocess
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
VIV = os.path.abspath(os.environ.get("VIV", os.path.join(ROOT, "build", "viv")))
EXAMPLES = os.path.join(ROOT, "examples")
WAIT_SECONDS = 120

RESULT_KEYS = {"id", "session", "verdict", "state", "stdout", "stderr", "truncated", "result",
               "error", "displays", "charts", "table", "files", "usage", "backend", "runtime",
               "walls"}
VERDICT_KEYS = {"kind", "exit_code", "signal", "message", "remedy", "remedy_key", "limit", "peak", "by"}
USAGE_KEYS = {"queue_ms", "wall_ms", "cpu_ms", "peak_memory", "output_bytes"}
WALLS = {"user", "mount", "pid", "net", "ipc", "uts", "cgroup", "fds", "rlimit", "caps", "landlock",
         "seccomp"}


def strict_json(text):
    """As json.loads, but NaN and Infinity are the errors that they are."""
    def refuse(name):
        raise ValueError(f"{name} is not JSON")
    return json.loads(text, parse_constant=refuse)


class Done:
    """How a call of viv ended: code, out, err (bytes)."""

    def __init__(self, process):
        self.code, self.out, self.err = process.returncode, process.stdout, process.stderr


os.umask(0o022)  # a ./vivarium.yaml that others may write is refused


class VivCase(unittest.TestCase):
    """A test with a folder and a home of its own. viv must have been built: nothing is skipped."""

    maxDiff = None

    @classmethod
    def setUpClass(cls):
        if not os.access(VIV, os.X_OK):
            raise AssertionError(f"{VIV} is not there: build first, or set VIV")

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="viv-api-")
        os.chmod(self.folder, 0o711)  # root's viv uses no XDG folder that is closed to others
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.home = os.path.join(self.folder, "home")
        os.mkdir(self.home)

    def environment(self):
        return {"PATH": "/usr/bin:/bin", "HOME": self.home, "LANG": "C.UTF-8",
                "TMPDIR": self.folder,
                "XDG_RUNTIME_DIR": self.home}

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, content):
        with open(self.path(name), "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        return self.path(name)

    def popen(self, *words, **kw):
        kw.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.Popen([VIV, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                cwd=self.folder,
                                env=self.environment(), **kw)

    def viv(self, *words, stdin=None, seconds=WAIT_SECONDS):
        given = {"input": stdin} if stdin is not None else {"stdin": subprocess.DEVNULL}
        return Done(subprocess.run([VIV, *words], capture_output=True, cwd=self.folder,
                                   env=self.environment(),
                                   timeout=seconds, check=False, **given))

    def run_viv(self, code, *flags, stdin=None):
        """viv run -c CODE: as a person would."""
        return self.viv("run", "--no-daemon", *flags, "-c", code, stdin=stdin)

    def result(self, code, *flags, stdin=None, kind="ok"):
        """viv run --json: the object, after a look at what every result must have."""
        done = self.viv("run", "--no-daemon", "--json", *flags, "-c", code, stdin=stdin)
        return self.check_result(done, kind)

    def result_of_file(self, path, *flags, stdin=None, kind="ok"):
        return self.check_result(self.viv("run", "--no-daemon", "--json", *flags, path,
                                          stdin=stdin), kind)

    def check_result(self, done, kind):
        try:
            result = strict_json(done.out)
        except ValueError as error:
            self.fail(f"{error}; exit {done.code}; out {done.out[:300]!r}; "
                      f"err {done.err[-1000:]!r}")
        self.assertEqual(RESULT_KEYS - set(result), set())
        verdict = result["verdict"]
        self.assertEqual(VERDICT_KEYS - set(verdict), set())
        told = (result["error"] or {}).get("traceback", "")
        self.assertEqual(verdict["kind"], kind, f"{verdict} {told} {result['stderr'][-500:]}")
        self.assertEqual(verdict["exit_code"], done.code)
        return result

    def events(self, code, *flags, kind="ok"):
        """viv run --events: the list, after a look at what every stream must be."""
        done = self.viv("run", "--no-daemon", "--events", *flags, "-c", code)
        self.assertTrue(done.out.isascii(), "the stream is not ASCII")
        self.assertTrue(done.out.endswith(b"\n"))
        lines = done.out.decode("ascii").split("\n")[:-1]
        self.assertNotIn("", lines)
        events = [strict_json(line) for line in lines]
        kinds = [event["type"] for event in events]
        self.assertEqual(kinds[0], "started")
        self.assertEqual(kinds.count("verdict"), 1)
        self.assertEqual(kinds[-1], "verdict")
        first = events[0]["seq"]
        self.assertEqual([event["seq"] for event in events],
                         list(range(first, first + len(events))))
        times = [event["t_ms"] for event in events]
        self.assertEqual(times, sorted(times))
        self.assertEqual(events[-1]["verdict"]["kind"], kind)
        self.assertEqual(events[-1]["verdict"]["exit_code"], done.code)
        return events
