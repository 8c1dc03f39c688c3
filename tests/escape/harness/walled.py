# SPDX-License-Identifier: Apache-2.0
"""Runs one program: behind the walls through `viv run`, or, to show that the attack is real, without."""

import json
import os
import queue
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
ZYGOTE_SECONDS = 60.0
# The imports of the built-in runtimes' zygotes.
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
# It prints "thread\\nchild 7\\n".
HONEST = """
import os, select, threading
t = threading.Thread(target=lambda: print('thread', flush=True)); t.start(); t.join()
pid = os.fork()
if pid == 0: os._exit(7)
print('child', os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
select.epoll().close(); open('/workspace/a', 'w').write('x' * 100000)
sum(range(10))
"""


class Outcome:
    """All that came of a run, as seen from outside."""

    def __init__(self):
        self.code = None            # exit status of viv; None in a pool, where none takes part
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


def measure(process, outcome, available, deadline):
    """Measures the memory that viv takes and the host lacks; kills a program that hangs."""
    outcome.viv_peak = max(outcome.viv_peak, oracles.peak_memory(process.pid))
    outcome.host_drop = max(outcome.host_drop, available - oracles.available_memory())
    if time.monotonic() > deadline:
        outcome.is_hung = True
        process.kill()


def watch(process, outcome, deadline):
    """Waits for the end, measuring."""
    available = oracles.available_memory()
    while process.poll() is None:
        measure(process, outcome, available, deadline)
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
        self.known = set()          # processes that stay between two programs

    def left(self):
        """Leftovers of a run other than processes."""
        return []

    def close(self):
        return []

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

    def popen(self, words, stdin=subprocess.DEVNULL):
        return subprocess.Popen(
            words, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
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
            helper = self.meanwhile(None, lambda: self.look(lambda: process.poll() is not None, outcome))
        collect(process, outcome, time.monotonic() + program.timeout_seconds + SLACK_SECONDS,
                on_line if has_events else None)
        self.read(outcome, has_events)
        if helper:
            kind = ((outcome.result or {}).get("verdict") or {}).get("kind")
            # A program ended for memory before it was ready has disturbed no neighbour.
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

    def look(self, is_over, outcome):
        """Until the sandbox has been seen from outside, or the run is over."""
        while not is_over():
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
        words = [self.options.viv, "run", "--json", "--no-daemon", "--runtime",
                 self.options.runtime,
                 "--timeout", "20s", "-c", HONEST]
        outcome = Outcome()
        collect(self.popen(words), outcome, time.monotonic() + 20 + SLACK_SECONDS)
        self.read(outcome, False)
        self.judge_neighbour(outcome, attacked, when)

    @staticmethod
    def judge_neighbour(outcome, attacked, when):
        kind = ((outcome.result or {}).get("verdict") or {}).get("kind")
        if kind != "ok" or outcome.stdout() != "thread\nchild 7\n":
            attacked.problems.append(
                f"neighbour {when}: {kind} {outcome.stdout()[:80]!r} {outcome.err[-200:]!r}")


class Pooled(Walled):
    """Sandboxes forked from one zygote, by the same viv-launch: one program after the other."""

    def __init__(self, options, identity, plants):
        super().__init__(options, identity, plants)
        here = os.path.dirname(os.path.abspath(__file__))
        self.process = self.popen(
            [PYTHON, os.path.join(here, "pooled.py"), os.path.join(os.path.dirname(options.viv), "viv-launch"),
             PRELOADS[options.runtime], *([plants.shown] if options.shown else [])], subprocess.PIPE)
        self.lines = queue.SimpleQueue()
        self.reader = Reader(self.process, self.lines.put)
        self.counted = None
        self.groups = {}            # limits -> the most sandboxes that had them at once
        start = Outcome()
        self.take(start, time.monotonic() + ZYGOTE_SECONDS)
        if not self.counted:
            raise RuntimeError(f"no pool: {bytes(self.reader.taken['err'])[-500:]!r}")
        self.idle = self.counted
        self.known = set(oracles.descendants(os.getpid()))

    def take(self, outcome, deadline):
        """The results up to the next count, which is when nothing runs."""
        available = oracles.available_memory()
        results = []
        self.counted = None
        while not self.counted:
            measure(self.process, outcome, available, deadline)
            try:
                line = self.lines.get(timeout=0.03)
            except queue.Empty:
                if self.reader.is_alive():
                    continue
                outcome.problems.append(f"pooled: ended with {self.process.wait()}")
                break
            answer = strict_json(line)
            self.counted = answer.get("counted")
            if not self.counted:
                results.append((line, answer))
        return results

    def ask(self, program_limits, repeat, seconds, source):
        """Runs a source in as many sandboxes; one outcome for each, or one that says why there is none."""
        limits = dict(zip(program_limits[::2], program_limits[1::2]))
        memory, pids = int(limits.get("--memory", "512M").rstrip("M")) << 20, int(limits.get("--pids", "64"))
        self.groups[memory, pids] = max(repeat, self.groups.get((memory, pids), 0))
        request = {"repeat": repeat, "timeout_ms": int(seconds * 1000), "memory": memory, "pids": pids,
                   "args": self.put("args.json", json.dumps(dict(self.plants.args, walled=True, shown="/data"))),
                   "code": self.put("attack.py", source)}
        first, start, told = Outcome(), time.monotonic(), len(self.reader.taken["err"])
        try:
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # take() says what became of it
        results = self.take(first, start + repeat * (seconds + SLACK_SECONDS))
        first.seconds, first.err = time.monotonic() - start, bytes(self.reader.taken["err"][told:])
        if len(results) != repeat:
            first.problems.append(f"pooled: {len(results)} results of {repeat}: {first.err[-500:]!r}")
        outcomes = []
        for line, result in results:
            outcome = first if not outcomes else Outcome()
            outcome.out, outcome.err, outcome.result = line, first.err, result
            outcome.seconds = first.seconds
            outcomes.append(outcome)
        return outcomes or [first]

    def outcomes(self, program):
        over, seen, helper = threading.Event(), Outcome(), None
        if "outside_view" in program.checks:
            helper = self.meanwhile(None, lambda: self.look(over.is_set, seen))
        outcomes = self.ask(program.limits, int(program.one("repeat", "1")), program.timeout_seconds, program.source())
        over.set()
        if helper:
            helper.join(40.0)
        outcomes[0].problems += seen.problems
        return outcomes

    def neighbour(self, attacked, when):
        """An honest run of the same zygote."""
        outcome = self.ask([], 1, 20, HONEST)[0]
        attacked.problems += outcome.problems
        self.judge_neighbour(outcome, attacked, when)

    def left(self):
        """Leftovers of sandboxes while the pool goes on: everything must be as it was before the first."""
        if not self.counted:
            return []  # the pool is gone, which has been told
        # Emptied groups and networks are kept for the next sandbox: no more than were ever in use at once.
        kept = {"cgroups": sum(self.groups.values()), "netns": max(self.groups.values())}
        problems = [f"launch keeps {self.counted[what]} {what}, {most} would do"
                    for what, most in kept.items() if self.counted[what] > most]
        idle, now = ({**counted, "fds_inner": counted["fds_inner"] - counted["netns"]}
                     for counted in (self.idle, self.counted))
        problems += [f"launch counted {idle[what]} {what} before, {now[what]} now"
                     for what in idle if what not in kept and now[what] != idle[what]]
        return problems + oracles.leftover_in_groups(self.known, self.counted["cgroups"])

    def close(self):
        """Ends the pool: nothing of it may hold its streams then."""
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        outcome = Outcome()
        watch(self.process, outcome, time.monotonic() + SLACK_SECONDS)
        self.reader.join(5.0)
        problems = ["something still holds the pool's output"] if self.reader.is_alive() else []
        if outcome.code != 0:
            problems.append(f"pooled: ended with {outcome.code}: {bytes(self.reader.taken['err'])[-500:]!r}")
        return problems


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
