# SPDX-License-Identifier: Apache-2.0
"""A session's variables and files as bytes, and back: across a reboot, an upgrade, or machines.

Owns:    the format. It is unpickled inside a sandbox and nowhere else.

A stream: MAGIC; a line of JSON, {"python","names","lost":[{"name","why"}]}, which is all that who
wants to know what is in it needs to read; then records: kind (1 byte), size of a name (u32), name,
then chunks (u32 size, bytes) to an empty one; size VOID ends a record that could not be finished.
In this order:
  d  a folder below the workspace
  f  a file below the workspace
  m  a module under the name; the bytes are the module's own name
  a  the name is a JSON list; one pickle of a dict: values that need the same packages
  s  source of a function or class that a cell has defined
  p  one pickle: a value that needs what the cells defined
  l  something that was lost on the way; the bytes say why
"""

import io
import sys

from . import WORKSPACE, hooks, wire
from .hooks import load
from .jsontext import dumps, loads
from .look import LookError
from .state_plan import PROTOCOL, Plan, reason

MAGIC = b"vivarium state 1\n"
FILE = b"state"
PIECE = 1 << 20
VOID = 0xFFFFFFFF
LINE_MAX = 64 << 20


class _Stream:
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
        self.raw(kind + len(text).to_bytes(4, "little") + text)
        try:
            fill(self)
        except BaseException:
            self.raw(VOID.to_bytes(4, "little"))
            raise
        self.raw(bytes(4))


def _pickle(value):
    return lambda stream: load("pickle").Pickler(stream, PROTOCOL).dump(value)


def export(interpreter):
    """Sends the stream as the file "state"; {"names":[...],"lost":[{"name","why"}]}."""
    from .state_files import send_files

    plan = Plan(interpreter)
    stream = _Stream()
    stream.raw(MAGIC + dumps({"python": ".".join(map(str, sys.version_info[:3])),
                              "names": plan.names(), "lost": plan.lost}).encode() + b"\n")
    told = len(plan.lost)
    names = []
    send_files(stream, plan.lose)

    def put(kind, name, fill, told):
        try:
            stream.record(kind, name, fill)
            names.extend(told)
        except BaseException as error:
            for one in told:
                plan.lose(one, error)

    for name, module in plan.modules.items():
        put(b"m", name, lambda out, text=module: out.write(text.encode()), [name])
    for group in plan.groups.values():
        put(b"a", dumps(list(group)), _pickle(group), list(group))
    for _cell, _line, text, name in plan.defined:
        put(b"s", name, lambda out, text=text: out.write(text.encode("utf-8")), [name])
    for name, value in plan.bound.items():
        put(b"p", name, _pickle(value), [name])
    for fact in plan.lost[told:]:
        stream.record(b"l", fact["name"], lambda out, why=fact["why"]: out.write(why.encode()))
    stream.send(True)
    return {"names": names, "lost": plan.lost}


class _Chunks(io.RawIOBase):
    """The bytes of one record, read as far as they are needed."""

    def __init__(self, data, at):
        self.data, self.at, self.left, self.is_over = data, at, 0, False
        self.is_void = False
        self.is_ended = False  # as it should be: by an empty chunk

    def readable(self):
        return True

    def readinto(self, room):
        if self.left == 0 and not self.is_over:
            word = self.data[self.at:self.at + 4]
            size = int.from_bytes(word, "little")
            self.at += 4
            self.is_void = size == VOID
            self.is_ended = size == 0 and len(word) == 4
            self.is_over = size in (0, VOID) or self.at >= len(self.data)
            self.left = 0 if self.is_over else size
        count = min(len(room), self.left, len(self.data) - self.at)
        if count <= 0:
            self.is_over = True
            return 0
        room[:count] = self.data[self.at:self.at + count]
        self.at += count
        self.left -= count
        return count

    def finish(self):
        """Where the next record begins."""
        scratch = bytearray(PIECE)
        while self.readinto(scratch):
            pass
        return self.at


class _Intake:
    """One import: what has come, what was lost."""

    def __init__(self, interpreter, lost):
        self.values = interpreter.notebook.names
        self.names, self.lost = [], lost
        self.waiting = []  # (name, source) of definitions that need others
        self.defined = {}  # source -> what it defined

    def take(self, kind, name, chunks):
        reader = io.BufferedReader(chunks, PIECE)
        if kind in (b"f", b"d"):
            from .state_files import take_file

            take_file(kind, name, reader, chunks)
            return
        if kind == b"l":
            self.lost.append({"name": wire.clean(name), "why": str(reader.read(), "utf-8")})
            return
        if kind == b"s":
            self.waiting.append((name, reader.read().decode("utf-8")))
            return
        if kind == b"m":
            module = reader.read().decode("utf-8")
            load("importlib").import_module(module)
            self.bind({name: sys.modules[module]})
            return
        if kind not in (b"a", b"p"):
            raise ValueError("a record of no known kind")
        if kind == b"p":
            self.settle()
        value = load("pickle").Unpickler(reader).load()
        if chunks.is_void:
            raise EOFError("it was not exported whole")
        self.bind(value if kind == b"a" else {name: value})

    def lose(self, kind, name, error):
        names = loads(name) if kind == b"a" else [name]
        if kind in (b"f", b"d"):
            names = [f"{WORKSPACE}/{name}"]
        self.lost += [{"name": wire.clean(str(one)), "why": reason(error)} for one in names]

    def bind(self, values):
        self.values.update(values)
        self.names.extend(values)

    def settle(self, is_last=False):
        """Runs the sources in their order, and again those that needed a later one."""
        count = -1
        while self.waiting and count != len(self.waiting):
            count = len(self.waiting)
            tried, self.waiting = self.waiting, []
            for name, text in tried:
                try:
                    self.define(name, text)
                except BaseException as error:
                    self.waiting.append((name, text))
                    why = reason(error)
        if is_last:
            self.lost += [{"name": name, "why": why} for name, _text in self.waiting]

    def define(self, name, text):
        """As a cell of its own, for tracebacks and later exports."""
        if text not in self.defined:
            filename = f"<imported {name}>"
            hooks.remember(filename, text)
            exec(compile(text, filename, "exec", dont_inherit=True), self.values)
            self.defined[text] = load("ast").parse(text).body[0].name
        self.bind({name: self.values[self.defined[text]]})


def _head(data):
    """What the exporting side could not send, and where the records begin."""
    line = bytes(data[len(MAGIC):len(MAGIC) + LINE_MAX]).partition(b"\n")[0]
    try:
        if bytes(data[:len(MAGIC)]) != MAGIC:
            raise ValueError
        lost = [{"name": wire.clean(str(fact["name"])), "why": wire.clean(str(fact["why"]))}
                for fact in loads(line.decode())["lost"]]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise LookError("this is no exported session") from None
    return lost, len(MAGIC) + len(line) + 1


def bring_in(interpreter, data):
    """Reads an exported stream into this head; {"names":[...],"lost":[...]}."""
    data = memoryview(data)
    lost, at = _head(data)
    intake = _Intake(interpreter, lost)
    while at < len(data):
        kind = bytes(data[at:at + 1])
        size = int.from_bytes(data[at + 1:at + 5], "little")
        name = str(data[at + 5:at + 5 + size], "utf-8", "surrogatepass")
        chunks = _Chunks(data, at + 5 + size)
        try:
            intake.take(kind, name, chunks)
        except BaseException as error:
            intake.lose(kind, name, error)
        at = chunks.finish()
    intake.settle(is_last=True)
    return {"names": intake.names, "lost": intake.lost}
