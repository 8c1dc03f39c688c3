# SPDX-License-Identifier: Apache-2.0
"""Shows that every oracle can say no: a clean run passes, and each spoilt copy of it is caught."""

import os
import subprocess
import sys
import tempfile
import types

from . import judge, oracles
from .plants import Identity, Plants
from .program import generate
from .walled import Outcome, Pooled, strict_json

WALLS = ["user", "mount", "pid", "net", "ipc", "uts", "cgroup", "fds", "rlimit", "caps", "landlock",
         "seccomp"]


def clean_outcome():
    outcome = Outcome()
    outcome.code = 0
    verdict = {key: None for key in judge.VERDICT_KEYS} | {"kind": "ok", "exit_code": 0,
                                                           "by": "runner"}
    outcome.result = {key: None for key in judge.RESULT_KEYS} | {
        "verdict": verdict, "stdout": "held: all\n", "stderr": "", "walls": list(WALLS),
                                                                 "files": [],
        "truncated": {"stdout": False, "stderr": False}}
    outcome.out = b'{"stdout":"held: all"}'
    return outcome


def a_program(**head):
    from .program import Program
    program = Program.__new__(Program)
    program.name, program.text, program.path = "fabricated", "", ""
    program.head = {"expect": ["ok"], "class": ["files"], "unwalled": ["safe"],
                    "walls": ["seccomp"]}
    program.head.update({key.replace("_", "-"): [value] for key, value in head.items()})
    program.check_header()
    return program


def spoil_verdict(**changes):
    def spoil(outcome, plants):
        outcome.result["verdict"].update(changes)
    return spoil


def spoil_result(**changes):
    def spoil(outcome, plants):
        outcome.result.update(changes)
    return spoil


def spoil_field(**changes):
    def spoil(outcome, plants):
        for name, value in changes.items():
            setattr(outcome, name, value)
    return spoil


def leak(outcome, plants):
    outcome.out += plants.tokens["home"].encode()


def leak_in_file(outcome, plants):
    with open(os.path.join(plants.out, "a.txt"), "w", encoding="ascii") as file:
        file.write("x" + plants.tokens["tcp"])


def change_target(outcome, plants):
    with open(plants.args["target"], "a", encoding="ascii") as file:
        file.write("!")


def new_file_in_home(outcome, plants):
    plants.write(os.path.join(plants.home, "left"), "x")


def visit(outcome, plants):
    plants.servers[0].visits.append("connection")


def end_victim(outcome, plants):
    plants.victim.kill()
    plants.victim.wait()


def drop_wall(outcome, plants):
    outcome.result["walls"].remove("seccomp")


def drop_key(outcome, plants):
    del outcome.result["files"]


def link_in_out(outcome, plants):
    os.symlink("/etc/passwd", os.path.join(plants.out, "link"))


def events(*kinds, gap=0):
    def spoil(outcome, plants):
        outcome.events = [{"type": kind, "seq": number + (gap if number else 0)}
                          for number, kind in enumerate(kinds)]
    return spoil


# name, header of the program, what is spoilt, words that the judge must say
CASES = (
    ("breach told", {}, spoil_result(stdout="BREACH: it\n"), "BREACH"),
    ("secret in the output", {}, leak, "secret 'home'"),
    ("secret in a file", {}, leak_in_file, "secret 'tcp'"),
    ("target changed", {}, change_target, "changed:"),
    ("file left in the home", {}, new_file_in_home, "left behind"),
    ("server reached", {}, visit, "was reached"),
    ("neighbour process ended", {}, end_victim, "ended"),
    ("wrong kind", {}, spoil_verdict(kind="timeout"), "kind timeout"),
    ("wrong exit code", {}, spoil_verdict(exit_code=3), "exit code 3"),
    ("viv's own exit code differs", {}, spoil_field(code=5), "viv 5"),
    ("a signal out of nowhere", {}, spoil_verdict(signal=9), "signal 9"),
    ("wrong witness", {"by": "supervisor"}, spoil_verdict(by="runner"), "by runner"),
    ("no result", {}, spoil_field(result=None), "no result"),
    ("text is missing", {"stdout": "held: none"}, spoil_field(), "stdout lacks"),
    ("cut is not told", {"truncated": "stdout"}, spoil_field(), "truncated lacks"),
    ("too slow", {"within": "1s"}, spoil_field(seconds=2.0), "not within"),
    ("wall not reported", {}, drop_wall, "wall 'seccomp'"),
    ("key missing", {}, drop_key, "lacks 'files'"),
    ("viv hung", {}, spoil_field(is_hung=True), "hung"),
    ("viv grew", {}, spoil_field(viv_peak=1 << 40), "grew"),
    ("host starved", {}, spoil_field(host_drop=1 << 40), "lost"),
    ("odd file in --out", {"check": "out_is_plain"}, link_in_out, "something odd"),
    ("two verdicts", {}, events("started", "verdict", "verdict"), "verdicts: 2"),
    ("no verdict last", {}, events("started", "verdict", "stdout"), "last event"),
    ("no start", {}, events("stdout", "verdict"), "first event"),
    ("a gap", {}, events("started", "verdict", gap=3), "gaps"),
)


def check_case(head, spoil, words):
    plants = Plants(Identity(), "/nowhere")
    try:
        program, outcome = a_program(**head), clean_outcome()
        if spoil is not None:
            spoil(outcome, plants)
        problems = judge.judge(program, outcome, plants)
    finally:
        plants.close()
    if spoil is None:
        return not problems, problems
    return any(words in problem for problem in problems), problems


def check_leftovers():
    """A child that outlives its parent is found, named and ended. Needs a process to be the reaper."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        oracles.become_subreaper()
        os.close(reader)
        subprocess.run([sys.executable, "-c",
                        "import os, signal\nif os.fork() == 0:\n os.setsid(); signal.pause()"],
                       check=True, stdin=subprocess.DEVNULL)
        os.write(writer, repr(oracles.leftover_processes(())).encode())
        os._exit(0)
    os.close(writer)
    os.waitpid(pid, 0)
    with open(reader, "rb") as file:
        text = file.read()
    return b"process left" in text, [text.decode()]


def check_below_known():
    """A known process does not make its children known."""
    process = subprocess.Popen(["/bin/sh", "-c", "sleep 1000 & echo; wait"], stdout=subprocess.PIPE)
    process.stdout.readline()
    found = oracles.leftover_processes({process.pid})
    process.kill()
    process.communicate()
    return len(found) == 1 and "sleep" in found[0], found


def check_groups():
    """In groups that are kept for the next sandbox: a process, one more than launch knows of, none at all."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, name) for name in ("g0", "g1")]
        for path, text in zip(paths, ("", "77\n")):
            os.mkdir(path)
            with open(os.path.join(path, "cgroup.procs"), "w", encoding="ascii") as file:
                file.write(text)
        good = oracles.group_problems({folder: paths[:1]}, 1) + oracles.group_problems({}, 0)
        found = (oracles.group_problems({folder: paths}, 2) + oracles.group_problems({folder: paths[:1]}, 0)
                 + oracles.group_problems({}, 2))
    return not good and [text.split()[0] for text in found] == ["processes", "1", "no"], good + found


def check_counts():
    """viv-launch's counts between two programs of a pool."""
    idle = {"sandboxes": 0, "zygotes": 1, "netns": 0, "cgroups": 0, "fds_inner": 13}
    pool = Pooled.__new__(Pooled)
    pool.idle, pool.known, pool.groups = idle, set(), {(1, 1): 1}
    found = []
    for counted in (idle, idle | {"netns": 1, "fds_inner": 14}, idle | {"sandboxes": 1}, idle | {"zygotes": 0},
                    idle | {"fds_inner": 14}, idle | {"netns": 2, "fds_inner": 15}, idle | {"cgroups": 2}):
        pool.counted = counted
        found.append(pool.left())
    return [bool(problems) for problems in found] == [False] * 2 + [True] * 5, found


def check_draws():
    same = [types.SimpleNamespace(stdout=lambda: "DRAW: random 0.5\n") for _ in range(2)]
    none = [types.SimpleNamespace(stdout=lambda: "")]
    found = judge.draws_problems(same) + judge.draws_problems(none)
    return len(found) == 2, found


def check_strict():
    try:
        strict_json(b'{"a": NaN}')
    except ValueError:
        return generate('"(" * 3 + "1"') == "(((1", []
    return False, ["NaN was taken for JSON"]


def run():
    """(passed, failed), one line each."""
    rows = [("a clean run passes", lambda: check_case({}, None, ""))]
    rows += [("judge sees: " + name, lambda head=head, spoil=spoil,
              words=words: check_case(head, spoil, words))
             for name, head, spoil, words in CASES]
    rows += [("judge sees: process left", check_leftovers), ("judge sees: same draws", check_draws),
             ("judge sees: process left below one that stays", check_below_known),
             ("judge sees: groups left", check_groups), ("judge sees: a pool that counts more", check_counts),
             ("NaN is not JSON", check_strict)]
    passed = failed = 0
    for name, check in rows:
        is_good, detail = check()
        print(f"{'ok' if is_good else 'FAIL':4} {'self-test':10} {name}" + ("" if is_good else f": {detail}"),
              flush=True)
        passed += is_good
        failed += not is_good
    return passed, failed
