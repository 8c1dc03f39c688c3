# SPDX-License-Identifier: Apache-2.0
"""Describes values one by one, in a child process of the look.

Owns:    what happens to a value whose description never ends, or kills its process: only its own line is
         lost, not the list.
May not: trust the child: it runs user code.
"""

import os
from _signal import SIGKILL
from time import monotonic

from .hooks import load
from .jsonsafe import json_safe
from .jsontext import dumps, loads

EACH_S = 3  # time for one value,
ALL_S = 7   # ... and for all of them: viv waits ten seconds
LINE_MAX = 256 << 10
ROOM = 64 << 20  # memory that descriptions may use in addition
CHANNEL = 3  # WALL_CHANNEL_FD


def describe_each(values, describe, unseen):
    """[describe(*value)] for all values, with unseen(*value, why) for each that could not be described."""
    found = []
    end = monotonic() + ALL_S
    while len(found) < len(values):
        rest = values[len(found):]
        if monotonic() >= end:
            return found + [unseen(*value, "not shown: other values take too long") for value in rest]
        try:
            why = _ask(rest, describe, found, end)
        except OSError:  # no process could be made
            return found + [describe(*value) for value in rest]
        if len(found) < len(values):
            found.append(unseen(*values[len(found)], why))
    return found


def _ask(values, describe, found, end):
    """Adds a child's descriptions to `found`, up to the first value without one. Returns why that one has none."""
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        _tell(values, describe, theirs)
    os.close(theirs)
    try:
        return _take(ours, len(found) + len(values), found, end)
    finally:
        os.close(ours)
        os.kill(pid, SIGKILL)
        os.waitpid(pid, 0)


def bound(room):
    """Limits the memory: a huge repr, say, becomes a MemoryError in its own line, before the sandbox runs out of memory
    and the look is killed."""
    resource = load("resource")
    with open("/proc/self/statm", "rb", 0) as file:
        used = int(file.read(64).split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + room, used + room))


def _tell(values, describe, theirs):
    """In the child: writes a line of JSON for each value."""
    try:
        os.close(CHANNEL)
        bound(ROOM)
        for value in values:
            os.write(theirs, dumps(json_safe(describe(*value), LINE_MAX)).encode() + b"\n")
    finally:
        os._exit(0)


def _take(pipe, wanted, found, end):
    poll = load("select").poll()
    poll.register(pipe)
    text = b""
    until = min(end, monotonic() + EACH_S)
    while len(found) < wanted:
        if not poll.poll(max(0, until - monotonic()) * 1000):
            return "it takes too long to show"
        data = os.read(pipe, LINE_MAX)
        if not data or len(text) > 2 * LINE_MAX:
            return "it cannot be shown: its repr ends the process"
        *lines, text = (text + data).split(b"\n")
        for line in lines[:wanted - len(found)]:
            try:
                fact = loads(line.decode())
            except (ValueError, RecursionError):
                fact = None
            if type(fact) is not dict:
                return "it cannot be shown"
            found.append(fact)
            until = min(end, monotonic() + EACH_S)
    return ""
