# SPDX-License-Identifier: Apache-2.0
"""The host's view after a run: processes, mounts, cgroups, memory. Never the program's own word."""

import ctypes
import os
import re
import time

PR_SET_CHILD_SUBREAPER = 36
SETTLE_SECONDS = 2.0  # "0 left-overs 2 s after a run"


def become_subreaper():
    """Whatever a run leaves behind becomes our child, so that it cannot hide."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "subreaper")


def stat_of(pid):
    """(parent, state, name) of a process, or None when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return None
    name, rest = text[text.index("(") + 1:].rsplit(")", 1)
    fields = rest.split()
    return int(fields[1]), fields[0], name


def descendants(root, besides=()):
    """pid -> (parent, state, name) of all that came from us; of those besides only what they started."""
    table = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            row = stat_of(entry)
            if row:
                table[int(entry)] = row
    found = {}
    grew = True
    while grew:
        grew = False
        for pid, row in table.items():
            if pid not in found and (row[0] == root or row[0] in found):
                found[pid] = row
                grew = True
    return {pid: row for pid, row in found.items() if pid not in besides}


def leftover_processes(besides):
    """The processes that still live SETTLE_SECONDS after the run; ends them, for the next test's sake."""
    end = time.monotonic() + SETTLE_SECONDS
    while True:
        left = descendants(os.getpid(), besides)
        for pid, row in list(left.items()):
            if row[0] == os.getpid() and row[1] == "Z":
                os.waitpid(pid, os.WNOHANG)
                del left[pid]
        if not left:
            return []
        if time.monotonic() > end:
            break
        time.sleep(0.01)
    for pid in left:
        try:
            os.kill(pid, 9)
        except ProcessLookupError:
            pass
    return [f"process left: {pid} {row[2]} ({row[1]})" for pid, row in left.items()]


def mounts():
    with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as file:
        return sorted(line.split(" ", 1)[1] for line in file)


def cgroups():
    """All cgroup folders of this host."""
    found = set()
    for base, folders, _ in os.walk("/sys/fs/cgroup"):
        found.update(os.path.join(base, name) for name in folders)
    return found


def has_processes(cgroup):
    for base, _, _ in os.walk(cgroup):
        try:
            with open(os.path.join(base, "cgroup.procs"), "rb") as file:
                if file.read(1):
                    return True
        except OSError:
            continue
    return False


def is_another_launch_alive():
    """Whether there is a viv-launch that is not ours, whose spare cgroups cannot be told from forgotten ones."""
    own = descendants(os.getpid())
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) not in own:
            row = stat_of(entry)
            if row and row[2].startswith("viv-launch"):
                return True
    return False


def leftover_cgroups(before):
    """New folders that nobody lives in and that stay, unless another launch may be their owner."""
    end = time.monotonic() + SETTLE_SECONDS
    suspects = {path for path in cgroups() - before if not has_processes(path)}
    while suspects and time.monotonic() < end:
        time.sleep(0.02)
        suspects = {path for path in suspects if os.path.isdir(path) and not has_processes(path)}
    if suspects and is_another_launch_alive():
        return []
    return [f"cgroup left: {path}" for path in sorted(suspects)]


def groups_of_launch(pids):
    """hierarchy -> the groups for sandboxes there, of the viv-launch among these processes."""
    own, found = set(), {}
    for pid in pids:
        try:
            with open(f"/proc/{pid}/cgroup", encoding="ascii") as file:
                own.update(part for part in re.split("[/\n]", file.read()) if part.startswith("vivarium-"))
        except OSError:
            continue
    for path in cgroups():
        folder, name = os.path.split(path)
        if os.path.basename(folder) in own and name != "launch":
            found.setdefault(folder, []).append(path)
    return found


def group_problems(groups, count):
    """Launch keeps `count` groups for the next sandboxes: no more than these are there, and nobody is in them."""
    problems = []
    for folder, paths in groups.items():
        problems += [f"processes left in {path}" for path in paths if has_processes(path)]
        if len(paths) > count:
            problems.append(f"{len(paths)} groups in {folder}, launch knows of {count}")
    return problems if groups or not count else [f"no group is to be seen of the {count} that launch keeps"]


def leftover_in_groups(pids, count):
    end = time.monotonic() + SETTLE_SECONDS
    while True:
        problems = group_problems(groups_of_launch(pids), count)
        if not problems or time.monotonic() > end:
            return problems
        time.sleep(0.02)


def available_memory():
    with open("/proc/meminfo", encoding="ascii") as file:
        for line in file:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return 0


def peak_memory(pid):
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


def status_of(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)


def outside_view(besides):
    """Looks at the living interpreter from outside. (problems, was it found?)

    It is the process among ours that runs under a filter and whose pid namespace is not ours.
    """
    own = {kind: os.stat(f"/proc/self/ns/{kind}").st_ino
           for kind in ("user", "mnt", "pid", "net", "ipc", "uts", "cgroup")}
    problems, is_found = [], False
    for pid in descendants(os.getpid(), besides):
        try:
            status = status_of(pid)
            if status.get("Seccomp") != "2":
                continue
            inside = {kind: os.stat(f"/proc/{pid}/ns/{kind}").st_ino for kind in own}
        except OSError:
            continue
        is_found = True
        problems += [f"outside: shares the {kind} namespace" for kind in own
                     if inside[kind] == own[kind]]
        if status["NoNewPrivs"] != "1":
            problems.append("outside: new privileges are possible")
        for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
            if int(status[name], 16):
                problems.append(f"outside: {name} is {status[name]}")
        if "0" in status["Uid"].split():
            problems.append(f"outside: it is root: {status['Uid']}")
        if status.get("Groups", "").split() not in ([], status["Gid"].split()[:1]):
            problems.append(f"outside: groups {status['Groups']}")
    return problems, is_found
