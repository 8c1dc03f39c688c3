# SPDX-License-Identifier: Apache-2.0
"""Runs one program: behind the walls through `viv run`, or, to show that the attack is real, without."""

import json
import os
import resource
import selectors
import subprocess
import threading
import time

from . import oracles

PYTHON = "/usr/bin/python3"
SLACK_SECONDS = 15.0        # over the run's own limit, on a busy machine
TAKE_MAX = 64 << 20         # of what viv prints; more is a failure of its own
UNWALLED_SECONDS = 20.0
# What the zygotes of the built-in runtimes have imported.
PRELOADS = {"bare": "json", "auto": "json", "base": "numpy pandas matplotlib.pyplot",
            "full": "numpy pandas matplotlib.pyplot scipy.stats sklearn.ensemble seaborn requests sympy "
                    "openpyxl lxml.etree PIL.Image plotly.graph_objects"}
UNWALLED = """
import json, sys
_args = json.load(open(sys.argv[1]))
with open(sys.argv[2]) as file:
    text = file.read()
exec(compile(text, "attack", "exec"), {"__name__": "__main__", "_args": _args})
"""


class Outcome:
    """All that came of a run, as seen from outside."""

    def __init__(self):
        self.code = None            # exit status of viv
        self.out = b""
        self.err = b""
        self.result = None          # the JSON object, when there is one
        self.events = None          # with --events
        self.seconds = 0.0
        self.is_hung = False
        self.viv_peak = 0           # bytes
        self.host_drop = 0          # bytes of available memory that went away meanwhile
        self.problems = []          # found while it ran

    def stdout(self):
        return (self.result or {}).get("stdout") or ""

    def stderr(self):
        return (self.result or {}).get("stderr") or ""


class Reader(threading.Thread):
    """Takes both streams of a process, line by line to whom it concerns."""

    def __init__(self, process, on_line=None):
        super().__init__(daemon=True)
        self.process, self.on_line = process, on_line
        self.taken = {"out": bytearray(), "err": bytearray()}
        self.seen = 0
        self.start()

    def run(self):
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ, "out")
            selector.register(self.process.stderr, selectors.EVENT_READ, "err")
            while selector.get_map():
                for key, _ in selector.select():
                    text = os.read(key.fd, 1 << 16)
                    if not text:
                        selector.unregister(key.fileobj)
                        continue
                    taken = self.taken[key.data]
                    if len(taken) < TAKE_MAX:
                        taken += text
                    if key.data == "out" and self.on_line:
                        self.lines()

    def lines(self):
        taken = self.taken["out"]
        end = taken.find(b"\n", self.seen)
        while end >= 0:
            self.on_line(bytes(taken[self.seen:end]))
            self.seen = end + 1
            end = taken.find(b"\n", self.seen)


def strict_json(text):
    def refuse(name):
        raise ValueError(f"{name} is not JSON")
    return json.loads(text, parse_constant=refuse)


def watch(process, outcome, deadline):
    """Waits for the end, measuring; kills what hangs."""
    available = oracles.available_memory()
    while process.poll() is None:
        outcome.viv_peak = max(outcome.viv_peak, oracles.peak_memory(process.pid))
        outcome.host_drop = max(outcome.host_drop, available - oracles.available_memory())
        if time.monotonic() > deadline:
            outcome.is_hung = True
            process.kill()
        try:
            process.wait(0.03)
        except subprocess.TimeoutExpired:
            pass
    outcome.code = process.returncode


def collect(process, outcome, deadline, on_line=None):
    start = time.monotonic()
    reader = Reader(process, on_line)
    watch(process, outcome, deadline)
    outcome.seconds = time.monotonic() - start
    # Nothing of the run may hold viv's own streams once viv has ended.
    reader.join(5.0)
    if reader.is_alive():
        outcome.problems.append("something still holds viv's output")
    outcome.out, outcome.err = bytes(reader.taken["out"]), bytes(reader.taken["err"])


def from_events(outcome):
    """The result as the stream tells it."""
    outcome.events = [strict_json(line) for line in outcome.out.decode("ascii").splitlines()]
    result = {"stdout": "", "stderr": "", "displays": [], "charts": [], "result": None,
              "error": None}
    for event in outcome.events:
        kind = event["type"]
        if kind in ("stdout", "stderr"):
            result[kind] += event["text"]
        elif kind == "error":
            result["error"] = event["error"]
        elif kind == "verdict":
            result.update({key: event.get(key) for key in
                           ("verdict", "state", "usage", "walls", "truncated", "files")})
    outcome.result = result


class Walled:
    """Starts viv the way the command line says."""

    def __init__(self, options, identity, plants):
        self.options, self.identity, self.plants = options, identity, plants
        self.folder = os.path.join(plants.folder, "input")
        if not os.path.isdir(self.folder):
            os.mkdir(self.folder, 0o755)
            plants.before = plants.look_at_targets()

    def put(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
        return path

    def command(self, program, source, how):
        args = dict(self.plants.args, walled=True, shown="/data")
        words = [self.options.viv, "run", how, "--no-daemon", "--runtime", self.options.runtime,
                 "--args", "@" + self.put("args.json", json.dumps(args))]
        words += program.limits + program.flags
        if program.one("shown") == "yes":
            words += ["--policy", "shown", "--config", self.put(
                "vivarium.yaml", f"policies: {{shown: {{data: {self.plants.shown}}}}}\n")]
        if "out_is_plain" in program.checks:
            words += ["--out", self.plants.out]
        return words + [self.put("attack.py", source)]

    def popen(self, words):
        return subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            cwd=self.plants.work, env=self.plants.environment(), pass_fds=self.plants.fds,
            **self.identity.popen_args())

    def outcomes(self, program):
        """One after the other, as often as the program asks."""
        for _ in range(int(program.one("repeat", "1"))):
            yield self.run(program)

    def run(self, program):
        has_events = "neighbour" in program.checks or program.one("events") == "yes"
        outcome = Outcome()
        ready = threading.Event()

        def on_line(line):
            if b'"READY\\n"' in line or b"READY" in line:
                ready.set()

        process = self.popen(self.command(program, program.source(),
                                          "--events" if has_events else "--json"))
        helper = None
        if "neighbour" in program.checks:
            helper = self.meanwhile(ready, lambda: self.neighbour(outcome, "meanwhile"))
        elif "outside_view" in program.checks:
            helper = self.meanwhile(None, lambda: self.look(process, outcome))
        collect(process, outcome, time.monotonic() + program.timeout_seconds + SLACK_SECONDS,
                on_line if has_events else None)
        self.read(outcome, has_events)
        if helper:
            kind = ((outcome.result or {}).get("verdict") or {}).get("kind")
            # One that was ended for memory before it had all it wanted has disturbed nobody.
            if "neighbour" in program.checks and not ready.is_set() and kind != "memory":
                outcome.problems.append("the program never said READY")
            ready.set()
            helper.join(40.0)
        return outcome

    def meanwhile(self, ready, work):
        def body():
            if ready is not None:
                ready.wait()
            work()
        thread = threading.Thread(target=body, daemon=True)
        thread.start()
        return thread

    def look(self, process, outcome):
        """Until the sandbox has been seen from outside, or the run is over."""
        while process.poll() is None:
            problems, is_found = oracles.outside_view({self.plants.victim.pid})
            if is_found:
                outcome.problems += problems
                return
            time.sleep(0.02)
        outcome.problems.append("outside: no filtered process was ever seen")

    @staticmethod
    def read(outcome, has_events):
        try:
            if has_events:
                from_events(outcome)
            else:
                outcome.result = strict_json(outcome.out)
        except (ValueError, KeyError, TypeError) as error:
            outcome.problems.append(f"what viv printed cannot be read: {error!r}")

    def neighbour(self, attacked, when):
        """An honest run, right after the attack or beside it: it must not notice."""
        code = ("import os, select, threading\n"
                "t = threading.Thread(target=lambda: print('thread', flush=True)); t.start(); t.join()\n"
                "pid = os.fork()\n"
                "if pid == 0: os._exit(7)\n"
                "print('child', os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n"
                "select.epoll().close(); open('/workspace/a', 'w').write('x' * 100000)\n"
                "sum(range(10))\n")
        words = [self.options.viv, "run", "--json", "--no-daemon", "--runtime",
                 self.options.runtime,
                 "--timeout", "20s", "-c", code]
        outcome = Outcome()
        collect(self.popen(words), outcome, time.monotonic() + 20 + SLACK_SECONDS)
        self.read(outcome, False)
        kind = ((outcome.result or {}).get("verdict") or {}).get("kind")
        if kind != "ok" or outcome.stdout() != "thread\nchild 7\n":
            attacked.problems.append(
                f"neighbour {when}: {kind} {outcome.stdout()[:80]!r} {outcome.err[-200:]!r}")


class Pooled(Walled):
    """Sandboxes forked from one zygote, by the same viv-launch."""

    def command(self, program, source, how):
        limits = dict(zip(program.limits[::2], program.limits[1::2]))
        memory = int(limits.get("--memory", "512M").rstrip("M")) << 20
        args = dict(self.plants.args, walled=True, shown="/data")
        return [PYTHON, os.path.join(os.path.dirname(os.path.abspath(__file__)), "pooled.py"),
                os.path.join(os.path.dirname(self.options.viv), "viv-launch"),
                PRELOADS[self.options.runtime], program.one("repeat", "1"),
                str(int(program.timeout_seconds * 1000)), str(memory), limits.get("--pids", "64"),
                self.put("args.json", json.dumps(args)), self.put("attack.py", source),
                *([self.plants.shown] if program.one("shown") == "yes" else [])]

    def outcomes(self, program):
        first = self.run(program)
        for line in first.out.splitlines():
            outcome = Outcome()
            outcome.result = strict_json(line)
            outcome.code = outcome.result["verdict"]["exit_code"]
            outcome.out, outcome.err = line, first.err
            outcome.seconds, outcome.is_hung = first.seconds, first.is_hung
            outcome.problems, first.problems = first.problems, []
            yield outcome
        if first.problems or not first.out:
            first.problems.append(f"pooled: {first.err[-500:]!r}")
            yield first

    @staticmethod
    def read(outcome, has_events):
        if b"\n" in outcome.out and outcome.out.startswith(b'{"id": "run_pooled"'):
            return
        Walled.read(outcome, has_events)


class Unwalled:
    """Plain python3 as the same user, with bounds on what an attack could cost the host."""

    def __init__(self, identity, plants):
        self.identity, self.plants = identity, plants

    @staticmethod
    def bound():
        for what, most in ((resource.RLIMIT_AS, 4 << 30), (resource.RLIMIT_FSIZE, 64 << 20),
                           (resource.RLIMIT_CORE, 0), (resource.RLIMIT_NOFILE, 512)):
            soft, hard = resource.getrlimit(what)
            most = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(what, (most, most))

    def run(self, program):
        folder = os.path.join(self.plants.folder, "input")
        os.makedirs(folder, exist_ok=True)
        paths = [os.path.join(folder, name) for name in ("args.json", "attack.py")]
        with open(paths[0], "w", encoding="utf-8") as file:
            json.dump(dict(self.plants.args, walled=False, shown=self.plants.shown), file)
        with open(paths[1], "w", encoding="utf-8") as file:
            file.write(program.source())
        outcome = Outcome()
        process = subprocess.Popen(
            [PYTHON, "-I", "-c", UNWALLED, *paths], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, cwd=self.plants.work, env=self.plants.environment(),
            pass_fds=self.plants.fds, preexec_fn=self.bound, **self.identity.popen_args())
        collect(process, outcome, time.monotonic() + UNWALLED_SECONDS)
        outcome.result = {"stdout": outcome.out.decode("utf-8", "replace")}
        return outcome
