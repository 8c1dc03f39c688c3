# SPDX-License-Identifier: Apache-2.0
"""Decides from outside whether the walls held: secrets, targets, verdict, left-overs."""

import os
import re
import stat

from .program import EXIT_OF_KIND

MIB = 1 << 20
VIV_PEAK_MAX = 256 * MIB        # of the process that reads what a sandbox says
HOST_DROP_MAX = 3072 * MIB      # of the host's free memory, whatever a run does
RESULT_KEYS = ("id", "session", "verdict", "state", "stdout", "stderr", "truncated", "result",
               "error", "displays", "charts", "table", "files", "usage", "backend", "runtime",
               "walls")
VERDICT_KEYS = ("kind", "exit_code", "signal", "message", "remedy", "limit", "peak")


def is_measured(outcome):
    """Without a cgroup limits are rlimits and samples; every result says so."""
    return (outcome.result or {}).get("limits") == "measured"


def tokens_seen(outcome, plants):
    """Planted secrets in anything that came out: streams, result, files and their names."""
    places = {"stdout of viv": outcome.out, "stderr of viv": outcome.err}
    for base, folders, files in os.walk(plants.out):
        for name in folders + files:
            path = os.path.join(base, name)
            places[f"name {path}"] = os.fsencode(name)
            if stat.S_ISREG(os.lstat(path).st_mode):
                with open(path, "rb") as file:
                    places[path] = file.read()
    found = []
    for what, token in plants.tokens.items():
        found += [f"secret '{what}' came out in {place}" for place, text in places.items()
                  if token.encode() in text]
    return found


def breaches_told(outcome):
    text = outcome.stdout() + outcome.stderr()
    return re.findall(r"^BREACH: .{0,300}", text, re.MULTILINE)


def servers_visited(plants):
    return [f"server '{server.name}' was reached: {server.visits[:3]}"
            for server in plants.servers if server.visits]


def verdict_problems(program, outcome):
    """Exactly the kind, exit code, signal and texts that the header names."""
    result = outcome.result
    if result is None:
        return [f"no result; exit {outcome.code}; stderr {outcome.err[-300:]!r}"]
    verdict = result.get("verdict") or {}
    kinds = program.kinds(is_measured(outcome))
    kind = verdict.get("kind")
    problems = []
    if kind not in kinds:
        problems.append(f"kind {kind}, not {'|'.join(kinds)}: {verdict.get('message')!r} "
                        f"{(result.get('error') or {}).get('traceback', '')[-300:]!r}")
    code = program.one("exit")
    if len(kinds) > 1:
        code = EXIT_OF_KIND.get(kind, verdict.get("exit_code"))
    code = int(code) if code is not None else EXIT_OF_KIND.get(kind)
    status = int(program.one("status")) if "status" in program.head and kind == "ok" else code
    if code is not None and (verdict.get("exit_code") != code or outcome.code not in (status, None)):
        problems.append(f"exit code {verdict.get('exit_code')}, viv {outcome.code}, not {code} and {status}")
    signal = int(program.one("signal")) if "signal" in program.head else None
    if len(kinds) == 1 and verdict.get("signal") != signal:
        problems.append(f"signal {verdict.get('signal')}, not {signal}")
    if "by" in program.head and verdict.get("by") != program.one("by"):
        problems.append(f"by {verdict.get('by')}, not {program.one('by')}")
    return problems + text_problems(program, outcome)


def text_problems(program, outcome):
    result = outcome.result
    verdict = result.get("verdict") or {}
    error = result.get("error") or {}
    problems = []
    for key, text in (("stdout", outcome.stdout()), ("stderr", outcome.stderr()),
                      ("message", verdict.get("message") or "")):
        problems += [f"{key} lacks {wanted!r}: {text[-200:]!r}" for wanted in program.all(key)
                     if wanted not in text]
    if "error" in program.head and error.get("type") != program.one("error"):
        problems.append(f"error {error.get('type')}, not {program.one('error')}")
    cut = result.get("truncated") or {}
    problems += [f"truncated lacks {name}" for name in program.one("truncated", "").split()
                 if not cut.get(name)]
    if "max-files" in program.head and len(result.get("files")
                                           or []) > int(program.one("max-files")):
        problems.append(f"{len(result['files'])} files in the result")
    if "within" in program.head and outcome.seconds > float(program.one("within").rstrip("s")):
        problems.append(f"took {outcome.seconds:.1f} s, not within {program.one('within')}")
    return problems


def shape_problems(program, outcome):
    """native.md 2.2: every key, the walls the program relies on, one object and nothing else."""
    result = outcome.result
    if result is None:
        return []
    problems = []
    if outcome.events is None:
        problems += [f"result lacks '{key}'" for key in RESULT_KEYS if key not in result]
    verdict = result.get("verdict") or {}
    problems += [f"verdict lacks '{key}'" for key in VERDICT_KEYS if key not in verdict]
    # The cgroup wall is the graded one: where limits are only measured it does not stand.
    wanted = [wall for wall in program.walls if wall != "cgroup" or not is_measured(outcome)]
    problems += [f"wall '{wall}' is not reported" for wall in wanted
                 if wall not in (result.get("walls") or [])]
    return problems + event_problems(outcome)


def event_problems(outcome):
    if outcome.events is None:
        return []
    problems = []
    kinds = [event["type"] for event in outcome.events]
    if kinds[:1] != ["started"]:
        problems.append(f"the first event is {kinds[:1]}")
    if kinds.count("verdict") != 1 or kinds[-1:] != ["verdict"]:
        problems.append(f"verdicts: {kinds.count('verdict')}, last event {kinds[-1:]}")
    numbers = [event.get("seq") for event in outcome.events]
    if numbers != list(range(numbers[0], numbers[0] + len(numbers))) if numbers else True:
        problems.append(f"event numbers have gaps: {numbers[:20]}")
    return problems


def out_problems(plants):
    """--out: plain files inside the folder, and nothing else."""
    problems = []
    root = os.path.realpath(plants.out)
    for base, folders, files in os.walk(plants.out):
        for name in folders + files:
            path = os.path.join(base, name)
            mode = os.lstat(path).st_mode
            if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                problems.append(f"--out holds something odd: {path!r} {stat.filemode(mode)}")
            if mode & (stat.S_ISUID | stat.S_ISGID):
                problems.append(f"--out holds a setuid file: {path!r}")
            if not os.path.realpath(path).startswith(root + os.sep):
                problems.append(f"--out leads outside: {path!r}")
    return problems


def host_problems(outcome):
    problems = list(outcome.problems)
    if outcome.is_hung:
        problems.append(f"viv hung: not over after {outcome.seconds:.0f} s")
    if outcome.viv_peak > VIV_PEAK_MAX:
        problems.append(f"viv itself grew to {outcome.viv_peak // MIB} MiB")
    if outcome.host_drop > HOST_DROP_MAX:
        problems.append(f"the host lost {outcome.host_drop // MIB} MiB of free memory meanwhile")
    return problems


def draws_problems(outcomes):
    """Lines 'DRAW: what value' must all differ between runs."""
    seen = {}
    problems = []
    for number, outcome in enumerate(outcomes):
        draws = re.findall(r"^DRAW: (\S+) (.+)$", outcome.stdout(), re.MULTILINE)
        if not draws:
            problems.append("no draws were printed")
        for what, value in draws:
            if seen.setdefault((what, value), number) != number:
                problems.append(f"two sandboxes drew the same {what}: {value[:60]}")
    return problems


def judge(program, outcome, plants):
    """All that is wrong with one walled run; nothing means that the walls held."""
    problems = breaches_told(outcome) + tokens_seen(outcome, plants) + servers_visited(plants)
    problems += verdict_problems(program, outcome) + shape_problems(program, outcome)
    problems += host_problems(outcome) + plants.changes()
    if "out_is_plain" in program.checks:
        problems += out_problems(plants)
    victim = plants.victim_problem()
    return problems + ([victim] if victim else [])
