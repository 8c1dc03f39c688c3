# SPDX-License-Identifier: Apache-2.0
"""A session's variables and files as bytes, to go across a reboot, an upgrade, or machines.

Owns:    the format. state_read.py reads it, inside a sandbox; nobody else does.

A stream: MAGIC; a line of JSON, {"python","needs","names","lost":[{"name","why"}]}, which is all that who
wants to know what is in it needs to read; then records: kind (1 byte), size of a name (u32), name,
then chunks (u32 size, bytes) to an empty one; size VOID ends a record that could not be finished.
In this order:
  d  a folder below the workspace
  f  a file below the workspace
  m  a module under the name; the bytes are the module's own name
  a  the name is a JSON list; one pickle of a dict: values that need the same packages
  s  source of a function or class that a cell has defined
  t  one pickle of a dict: attributes of such a one, that its source does not tell
  a  values that need what the cells defined
  p  one of these by itself, where they do not go together
  l  something that was lost on the way; the bytes say why
"""

import sys

from . import wire
from .jsontext import dumps
from .state_plan import PROTOCOL, Plan

FORMAT = 1
MAGIC = b"vivarium state %d\n" % FORMAT
FILE = b"state"
PIECE = 1 << 20
VOID = 0xFFFFFFFF


class Stream:
    """FILE frames, cut to pieces; what is written becomes chunks of the open record."""

    def __init__(self):
        self.held = []
        self.size = 0

    def raw(self, data):
        data = memoryview(data)
        while data:
            part = data[:PIECE - self.size]
            self.held.append(bytes(part))
            self.size += len(part)
            data = data[len(part):]
            if self.size == PIECE:
                self.send(False)

    def send(self, is_last):
        wire.file_piece(FILE, b"".join(self.held), is_last)
        self.held, self.size = [], 0

    def void(self, _start):
        """What was begun cannot be finished; those who read it are told."""
        self.raw(VOID.to_bytes(4, "little"))

    def write(self, data):
        data = memoryview(data).cast("B")
        for at in range(0, len(data), PIECE):
            part = data[at:at + PIECE]
            self.raw(len(part).to_bytes(4, "little"))
            self.raw(part)
        return len(data)

    def record(self, kind, name, fill):
        """A record whose chunks `fill` writes; what it raises is raised, behind a VOID."""
        text = name.encode("utf-8", "surrogatepass")
        start = self.size
        self.raw(kind + len(text).to_bytes(4, "little") + text)
        try:
            fill(self)
        except BaseException:
            self.void(start)
            raise
        self.raw(bytes(4))


class _Outlet:
    """One export: the plan, record by record, into a stream."""

    def __init__(self, plan, stream):
        self.plan, self.stream, self.names = plan, stream, []

    def put(self, kind, name, fill):
        self.stream.record(kind, name, fill)
        self.names.append(name)

    def pickle(self, value):
        return lambda stream: self.plan.pickler(stream, PROTOCOL).dump(value)

    def attempt(self, kind, name, fill):
        try:
            self.put(kind, name, fill)
        except BaseException as error:
            self.plan.lose(name, error)

    def group(self, values):
        """Together, so that what they share stays shared; one by one if that fails."""
        try:
            self.stream.record(b"a", dumps(list(values)), self.pickle(values))
            self.names.extend(values)
        except BaseException:
            for name, value in values.items():
                self.attempt(b"p", name, self.pickle(value))

    def write(self):
        plan = self.plan
        for name, module in plan.modules.items():
            self.attempt(b"m", name, lambda out, text=module: out.write(text.encode()))
        for group in plan.groups.values():
            self.group(group)
        for _cell, _line, text, name in plan.defined:
            self.attempt(b"s", name, lambda out, text=text: out.write(text.encode("utf-8")))
        for name, since in plan.since.items():
            try:
                self.stream.record(b"t", name, self.pickle(since))
            except BaseException as error:
                plan.lose(f"{name}.{next(iter(since))}", error)
        if plan.bound:
            self.group(plan.bound)


def write(plan, stream, send_files=None):
    """Writes all but what was lost on the way; the names that went."""
    stream.raw(MAGIC + dumps({"python": ".".join(map(str, sys.version_info[:3])),
                              "needs": plan.packages(), "names": plan.names(), "lost": plan.lost}).encode() + b"\n")
    if send_files:
        send_files(stream, plan.lose)
    outlet = _Outlet(plan, stream)
    outlet.write()
    return outlet.names


def export(interpreter, only=None):
    """Sends the stream as the file "state"; {"names":[...],"lost":[{"name","why"}]}. `only` is
    "variables" or "files": each is a stream of its own then, and both are read one after the other."""
    from .state_files import send_files

    plan = Plan(interpreter, only != "files")
    told = len(plan.lost)
    stream = Stream()
    names = write(plan, stream, None if only == "variables" else send_files)
    for fact in plan.lost[told:]:
        stream.record(b"l", fact["name"], lambda out, why=fact["why"]: out.write(why.encode()))
    stream.send(True)
    return {"names": names, "lost": plan.lost}
