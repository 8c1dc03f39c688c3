# SPDX-License-Identifier: Apache-2.0
"""Values described one after the other, by a child of the look.

Owns:    what becomes of a value whose description never ends, or ends whoever asks for it: that costs
         its own line, and not the list.
May not: believe the child: it runs user code.
"""

import os
from _signal import SIGKILL
from time import monotonic

from .hooks import load
from .jsonsafe import json_safe
from .jsontext import dumps, loads

EACH_S = 3  # so long one value may take,
ALL_S = 7   # ... and all of them: viv waits ten
LINE_MAX = 256 << 10
ROOM = 64 << 20  # memory that descriptions may take beside what there is
CHANNEL = 3  # WALL_CHANNEL_FD


def describe_each(values, describe, unseen):
    """[describe(*value)] of them all, with unseen(*value, why) for each that has no description."""
    found = []
    end = monotonic() + ALL_S
    while len(found) < len(values):
        rest = values[len(found):]
        if monotonic() >= end:
            return found + [unseen(*value, "not looked at: others take too long") for value in rest]
        try:
            why = _ask(rest, describe, found, end)
        except OSError:  # no process can be had
            return found + [describe(*value) for value in rest]
        if len(found) < len(values):
            found.append(unseen(*values[len(found)], why))
    return found


def _ask(values, describe, found, end):
    """Adds to `found` what a child says of the values, up to the first that it says nothing of.
    Returns why that is."""
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


def _bound():
    """A repr that is too large is a MemoryError in its line, before the sandbox runs out and its look is
    ended."""
    resource = load("resource")
    with open("/proc/self/statm", "rb", 0) as file:
        used = int(file.read(64).split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + ROOM, used + ROOM))


def _tell(values, describe, theirs):
    """The child: a line of JSON for each."""
    try:
        os.close(CHANNEL)
        _bound()
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
            return "it takes too long to be shown"
        data = os.read(pipe, LINE_MAX)
        if not data or len(text) > 2 * LINE_MAX:
            return "it cannot be shown: that ends the process"
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
