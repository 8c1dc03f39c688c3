# SPDX-License-Identifier: Apache-2.0
"""A session's variables and files as bytes, to survive a reboot or an upgrade, or move to another machine.

Owns:    the format. Only state_read.py reads it, inside a sandbox.

A stream: "vivarium state", a number and a line feed; a line of JSON that lists the contents,
{"python","needs","names","lost":[{"name","why"}]}; then records: kind (1 byte), size of a name (u32), name,
then chunks (u32 size, bytes) up to an empty one; size VOID ends a record that could not be finished.
Records come in this order:
  D  a folder below the workspace: its permissions (u16), when it was changed (i64 seconds, u32 nanoseconds)
  F  a file below the workspace: the same, then its bytes
  i  one pickle: a setting of the interpreter, under a name of settings.py; some come last
  m  a module under the name; the bytes are the module's own name
  c  the source of a cell that functions come from, for tracebacks and for another Python
  a  the name is a JSON list of names; one pickle of a dict: variables that share objects
  p  one such variable alone, if they cannot be pickled together
  l  something that was lost during the export; the bytes say why
  e  in sealed formats, always the last record: see sealed.py
No longer written, only read in streams of formats 1 and 2:
  d  f  as D and F, without permissions and time
  s  source of a function or class that a cell has defined
  t  one pickle of a dict: attributes of such a function or class that are not in its source
"""

import sys
from binascii import crc32

from . import settings, wire
from .jsontext import dumps
from .sealed import seal
from .state_plan import Plan
from .state_reduce import PROTOCOL

PLAIN, SEALED = 3, 4  # formats: for parts of a session that the daemon keeps; for exports, which clients keep
FILE = b"state"
PIECE = 1 << 20
VOID = 0xFFFFFFFF


class Stream:
    """Sends FILE frames of limited size; data that is written becomes chunks of the open record."""

    def __init__(self):
        self.held = []
        self.size = 0
        self.told, self.sum = 0, 0  # size of the whole stream so far, and its CRC-32

    def raw(self, data):
        data = memoryview(data)
        self.told += len(data)
        self.sum = crc32(data, self.sum)
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
        """Ends a record that cannot be finished; readers will know."""
        self.raw(VOID.to_bytes(4, "little"))

    def write(self, data):
        data = memoryview(data).cast("B")
        for at in range(0, len(data), PIECE):
            part = data[at:at + PIECE]
            self.raw(len(part).to_bytes(4, "little"))
            self.raw(part)
        return len(data)

    def record(self, kind, name, fill):
        """Writes a record whose chunks `fill` writes; what it raises is raised again, after a VOID."""
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
    """One export: writes the plan, record by record, into a stream."""

    def __init__(self, plan, stream):
        self.plan, self.stream, self.names = plan, stream, []

    def put(self, kind, name, fill):
        self.stream.record(kind, name, fill)
        self.names.append(name)

    def pickle(self, value):
        return lambda stream: self.plan.telling.pickler(stream, PROTOCOL).dump(value)

    def attempt(self, kind, name, fill):
        try:
            self.put(kind, name, fill)
        except BaseException as error:
            self.plan.lose(name, error)

    def group(self, values):
        """Pickles the values together, so that what they share stays shared; one by one if that fails."""
        try:
            self.stream.record(b"a", dumps(list(values)), self.pickle(values))
            self.names.extend(values)
        except BaseException:
            for name, value in values.items():
                self.attempt(b"p", name, self.pickle(value))

    def settings(self, told):
        for name, value in told.items():
            try:
                self.stream.record(b"i", name, self.pickle(value))
            except BaseException as error:
                self.plan.lose(name, error)

    def write(self):
        plan = self.plan
        self.settings(plan.settings[0])
        for name, module in plan.modules.items():
            self.attempt(b"m", name, lambda out, text=module: out.write(text.encode()))
        for name, source in plan.telling.sources.items():
            self.stream.record(b"c", name, lambda out, text=source: out.write(text.encode("utf-8", "surrogatepass")))
        for group in plan.groups:
            self.group(group)
        self.settings(plan.settings[1])


def magic(number):
    return b"vivarium state %d\n" % number


def write(plan, stream, send_files=None, number=PLAIN):
    """Writes everything that can be written; returns the names that were."""
    stream.raw(magic(number) + dumps({"python": ".".join(map(str, sys.version_info[:3])),
                              "needs": plan.packages(), "names": plan.names(), "lost": plan.lost}).encode() + b"\n")
    if send_files:
        send_files(stream, plan.lose)
    outlet = _Outlet(plan, stream)
    outlet.write()
    return outlet.names


def export(interpreter, only=None):
    """Sends the stream as the file "state"; returns {"names":[...],"lost":[{"name","why"}]}. `only` is "variables" or
    "files": then each is a stream of its own, and both are read one after the other. A whole session is sealed: the
    client that keeps it may lose bytes."""
    from .state_files import send_files

    plan = Plan(interpreter, only != "files")
    if only != "files":
        plan.settings = settings.collect(only == "variables", plan.lose)
    told = len(plan.lost)
    stream = Stream()
    names = write(plan, stream, None if only == "variables" else send_files, PLAIN if only else SEALED)
    for fact in plan.lost[told:]:
        stream.record(b"l", fact["name"], lambda out, why=fact["why"]: out.write(why.encode()))
    if not only:
        stream.raw(seal(stream.told, stream.sum))
    stream.send(True)
    return {"names": names, "lost": plan.lost}
