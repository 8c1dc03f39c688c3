#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the hostile programs of this folder against viv, and judges them from outside.

    run.py --viv build/viv                 all programs, as this user
    run.py --viv build/viv --as-user       as root: as an ordinary user (uid 65534)
    run.py --viv build/viv --pool          in sandboxes forked from a zygote, not cold ones
    run.py --self-test                     without walls: the attacks must get through, and be seen

One line per program, then "N passed, N failed"; exit 1 on any failure.
"""

import argparse
import concurrent.futures
import json
import os
import platform
import select
import subprocess
import sys
import tempfile
import time

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, FOLDER)

from harness import judge, oracles, selftest  # noqa: E402
from harness.plants import Identity, Plants  # noqa: E402
from harness.program import Program, all_names  # noqa: E402
from harness.walled import Outcome, Pooled, Unwalled, Walled  # noqa: E402

PYTHON = "/usr/bin/python3"
NOBODY = 65534
WORKER_SECONDS = 240
SKIPPED = 77
# The classes in which a forked sandbox could be weaker than a cold one: walls, and a fresh start.
POOLED = ("files", "proc", "net", "kernel", "privilege", "leftovers")


def parse(words):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--viv", default=os.path.join(FOLDER, "..", "..", "build", "viv"))
    parser.add_argument("--runtime", default="auto", help="bare, base, full or auto")
    parser.add_argument("--as-user", action="store_true", help=f"as root: run viv as uid {NOBODY}")
    parser.add_argument("--only", action="append", metavar="NAME",
                        help="repeatable; a prefix with *")
    parser.add_argument("--class", dest="only_class", help="files, proc, net, kernel, ...")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--pool", action="store_true", help="sandboxes forked from a zygote")
    parser.add_argument("--self-test", action="store_true", help="run the attacks without walls")
    parser.add_argument("--verbose", action="store_true", help="show what every program printed")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--shown", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(words)
    options.viv = os.path.abspath(options.viv)
    return options


def wanted(options):
    for name in all_names():
        if options.only and not any(name == one or (one.endswith("*") and name.startswith(one[:-1]))
                                    for one in options.only):
            continue
        program = Program(name)
        if options.only_class and program.one("class") != options.only_class:
            continue
        yield program


def why_not(program, options):
    """The reason for which a program is not run here, or None."""
    if options.self_test:
        mode = program.one("unwalled")
        if mode == "never":
            return "not run without walls"
        if mode == "root" and os.getuid() != 0:
            return "only root can do this without walls"
        return None
    if options.pool and program.one("class") not in POOLED:
        return "the same with and without a pool"
    if not program.runs_on(options.runtime):
        return f"not for runtime {options.runtime}"
    return None


def identity_for(program, options):
    if os.getuid() != 0:
        return Identity()
    if options.self_test:
        return Identity() if program.one("unwalled") == "root" else Identity(NOBODY)
    return Identity(NOBODY) if options.as_user else Identity()


def run_walled(program, walled, plants):
    known = {plants.victim.pid} | walled.known
    outcomes, problems = [], []
    for outcome in walled.outcomes(program):
        outcomes.append(outcome)
        problems += judge.judge(program, outcome, plants)
        problems += oracles.leftover_processes(known)
    if "draws_differ" in program.checks:
        problems += judge.draws_problems(outcomes)
    problems += walled.left()
    after = Outcome()
    walled.neighbour(after, "afterwards")
    return problems + after.problems + oracles.leftover_processes(known) + walled.left(), outcomes


def run_unwalled(program, plants, identity):
    """The attack must get through, in its own words or in the eyes of an oracle."""
    unwalled = Unwalled(identity, plants)
    for number in range(int(program.one("repeat", "1"))):
        outcome = unwalled.run(program)
        seen = judge.breaches_told(outcome) + judge.tokens_seen(outcome, plants)
        seen += judge.servers_visited(plants)
        oracles.leftover_processes({plants.victim.pid})
    if outcome.is_hung:
        return ["the attack hung without walls"], [outcome]
    if not seen:
        return [f"no breach without walls: the test cannot fail; {outcome.err[-300:]!r}"], [outcome]
    return [], [outcome]


class Worker:
    """Runs programs in a process that inherits whatever they leave behind: one, or with a pool any number."""

    def __init__(self, options):
        self.options = options
        self.before = (oracles.mounts(), oracles.cgroups())
        self.plants = self.walled = None

    def prepare(self, program):
        identity = identity_for(program, self.options)
        self.plants = Plants(identity, os.path.dirname(self.options.viv))
        if not self.options.self_test:
            self.walled = (Pooled if self.options.pool else Walled)(self.options, identity, self.plants)
        return identity

    def run(self, program):
        start = time.monotonic()
        if self.plants is None:
            self.identity = self.prepare(program)
        if self.options.self_test:
            problems, outcomes = run_unwalled(program, self.plants, self.identity)
        else:
            problems, outcomes = run_walled(program, self.walled, self.plants)
            problems += self.changed_mounts()
        return {"problems": problems, "seconds": time.monotonic() - start,
                "told": [outcome.stdout()[:8000] for outcome in outcomes]}

    def changed_mounts(self):
        return [] if oracles.mounts() == self.before[0] else ["the host's mounts changed"]

    def end(self):
        """Leftovers after the end of all runs."""
        problems = []
        if self.walled:
            problems += self.walled.close()
            after = Outcome()
            Walled(self.options, self.identity, self.plants).neighbour(after, "at the end")
            problems += after.problems + oracles.leftover_processes({self.plants.victim.pid})
            problems += oracles.leftover_cgroups(self.before[1]) + self.changed_mounts()
            problems += self.plants.changes()
        return {"problems": problems}

    def close(self):
        if self.plants:
            self.plants.close()


def work(options):
    """Takes a name per line, answers with a line; the last answer is about the end."""
    oracles.become_subreaper()
    worker = Worker(options)
    try:
        for line in sys.stdin:
            print(json.dumps(worker.run(Program(line.strip()))), flush=True)
        print(json.dumps(worker.end()), flush=True)
    finally:
        worker.close()
    return 0


class Lane:
    """A worker's process as it is seen from here."""

    def __init__(self, options, is_shown):
        words = [PYTHON, os.path.abspath(__file__), "--worker", "--viv", options.viv, "--runtime", options.runtime]
        words += [flag for flag, is_on in (("--as-user", options.as_user), ("--pool", options.pool),
                                           ("--self-test", options.self_test), ("--shown", is_shown)) if is_on]
        self.told = tempfile.TemporaryFile()
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.told)
        self.has_failed = False

    def answer(self):
        ready, _, _ = select.select([self.process.stdout], [], [], WORKER_SECONDS)
        line = self.process.stdout.readline() if ready else b""
        if line:
            found = json.loads(line)
        else:
            self.process.kill()
            self.told.seek(0)
            why = "harness: " + self.told.read().decode("utf-8", "replace")[-2000:]
            found = {"problems": [why if ready else f"the harness gave up after {WORKER_SECONDS} s"]}
            self.has_failed = True
        return {"seconds": 0.0, **found}

    def run(self, program):
        try:
            self.process.stdin.write(program.name.encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # the answer says why
        return self.answer()

    def end(self):
        problems = []
        if not self.has_failed:
            self.process.stdin.close()
            problems = self.answer()["problems"]
        self.process.wait()
        self.told.close()
        return problems


class Lanes:
    """The lanes that wait for a program. One in which something went wrong gets no other: its state is not trusted."""

    def __init__(self, options):
        self.options = options
        self.waiting = {False: [], True: []}  # by what their pool shows

    def run(self, program):
        is_shown = program.one("shown") == "yes"
        waiting = self.waiting[is_shown]
        lane = waiting.pop() if waiting else Lane(self.options, is_shown)
        answer = lane.run(program)
        if self.options.pool and not answer["problems"]:
            waiting.append(lane)
        else:
            answer["problems"] += lane.end()
        return answer

    def end(self):
        return [problem for waiting in self.waiting.values() for lane in waiting for problem in lane.end()]


def report(program, answer, options):
    problems = answer["problems"]
    print(f"{'FAIL' if problems else 'ok':4} {program.one('class'):10} {program.name:28} "
          f"{answer['seconds']:6.2f} s", flush=True)
    for problem in problems[:12]:
        print(f"     - {problem[:600]}", flush=True)
    if options.verbose:
        for told in answer.get("told", []):
            print("     | " + told.replace("\n", "\n     | "), flush=True)
    return not problems


def main(words):
    options = parse(words)
    if platform.machine() != "x86_64":
        print("tests/escape: the system call numbers are those of x86_64; skipped")
        return 1 if os.environ.get("VIV_MUST_RUN") == "1" else SKIPPED
    if options.worker:
        return work(options)
    if not options.self_test and not os.access(options.viv, os.X_OK):
        print(f"tests/escape: {options.viv} is not there; build it or give --viv")
        return 1
    before = oracles.cgroups()
    programs = list(wanted(options))
    passed = failed = skipped = 0
    if options.self_test and not options.only and not options.only_class:
        passed, failed = selftest.run()
    todo = []
    for program in programs:
        why = why_not(program, options)
        if why:
            skipped += 1
            print(f"--   {program.one('class'):10} {program.name:28} {why}", flush=True)
        else:
            todo.append(program)
    lanes = Lanes(options)
    with concurrent.futures.ThreadPoolExecutor(max(1, options.jobs)) as pool:
        answers = pool.map(lanes.run, todo)
        for program, answer in zip(todo, answers):
            if report(program, answer, options):
                passed += 1
            else:
                failed += 1
    for problem in lanes.end() + oracles.leftover_cgroups(before):
        failed += 1
        print(f"FAIL {'leftovers':10} {problem}")
    if skipped:
        print(f"{skipped} not for this mode, as said above")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
