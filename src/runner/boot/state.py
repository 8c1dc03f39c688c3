# SPDX-License-Identifier: Apache-2.0
"""A session's variables as bytes, and back: across a reboot, an upgrade, or machines.

Owns:    the format, and what can be told of a namespace by bytes. It is unpickled inside a sandbox
         and nowhere else.

A stream: MAGIC, then records: kind (1 byte), size of a name (u32), name, then chunks (u32 size,
bytes) to an empty one; size VOID ends a record that could not be finished. In this order:
  m  a module under the name; the bytes are the module's own name
  a  the name is a JSON list; one pickle of a dict: values that need the same packages
  s  source of a function or class that a cell has defined
  p  one pickle: a value that needs what the cells defined
"""

import io
import sys
from types import FunctionType, ModuleType

from . import hooks, wire
from .hooks import load
from .jsontext import dumps, loads
from .look import LookError
from .look_vars import user_names

MAGIC = b"vivarium state 1\n"
FILE = b"state"
PIECE = 1 << 20
VOID = 0xFFFFFFFF
PROTOCOL = 5


def _needs(value):
    """The packages without which a pickle of `value` cannot be read; raises where there is none."""
    found = set()

    class Scout(load("pickle").Pickler):
        def reducer_override(self, thing):
            for owner in (type(thing), thing):
                module = getattr(owner, "__module__", None)
                if type(module) is str:
                    found.add(module.partition(".")[0])
            return NotImplemented

    with open("/dev/null", "wb", 0) as nowhere:
        Scout(nowhere, PROTOCOL).dump(value)
    return frozenset(found - {"builtins"})


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


def _reason(error):
    return wire.clean(f"{type(error).__name__}: {error}")[:300]


def _definition(value):
    """The function or class behind `value` that a cell has defined, or None."""
    for _ in range(16):
        if isinstance(value, (FunctionType, type)):
            break
        value = getattr(value, "__wrapped__", None)
    if isinstance(value, (FunctionType, type)) and value.__module__ == "__main__":
        return value
    return None


def _source(definition):
    """(cell, line, text) of a definition; LookupError says why there is none."""
    name = definition.__qualname__
    if not name.isidentifier() or getattr(definition, "__closure__", None):
        raise LookupError("it is a lambda, or was defined inside of something else")
    ast = load("ast")
    code = getattr(definition, "__code__", None)
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef) if code else ast.ClassDef
    for cell in [code.co_filename] if code else list(reversed(list(hooks.sources))):
        source = hooks.sources.get(cell)
        if source is None or name not in source:
            continue
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, kinds) and node.name == name:
                first = min([node.lineno, *(part.lineno for part in node.decorator_list)])
                if code is None or code.co_firstlineno in (first, node.lineno):
                    lines = source.splitlines(True)[first - 1:node.end_lineno]
                    return cell, first, load("textwrap").dedent("".join(lines))
    raise LookupError("its source is not kept")


class _Plan:
    """What becomes of each name."""

    def __init__(self, interpreter):
        self.modules, self.groups, self.defined, self.bound, self.lost = {}, {}, [], {}, []
        for name, value in user_names(interpreter):
            try:
                self._place(name, value)
            except BaseException as error:
                self.lose(name, error)
        order = list(hooks.sources)
        self.defined.sort(key=lambda item: (order.index(item[0]), item[1]))

    def lose(self, name, error):
        self.lost.append({"name": name, "why": _reason(error)})

    def _place(self, name, value):
        if isinstance(value, ModuleType):
            self.modules[name] = value.__name__
            return
        definition = _definition(value)
        if definition is not None:
            self.defined.append((*_source(definition), name))
            return
        needs = _needs(value)
        if "__main__" in needs:
            self.bound[name] = value
        else:
            # What shares an object shares it again, where it comes from the same packages.
            self.groups.setdefault(needs, {})[name] = value


def _pickle(value):
    return lambda stream: load("pickle").Pickler(stream, PROTOCOL).dump(value)


def export(interpreter):
    """Sends the stream as the file "state"; {"names":[...],"lost":[{"name","why"}]}."""
    plan = _Plan(interpreter)
    stream = _Stream()
    stream.raw(MAGIC)
    names = []

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
    stream.send(True)
    return {"names": names, "lost": plan.lost}


class _Chunks(io.RawIOBase):
    """The bytes of one record, read as far as they are needed."""

    def __init__(self, data, at):
        self.data, self.at, self.left, self.is_over = data, at, 0, False
        self.is_void = False

    def readable(self):
        return True

    def readinto(self, room):
        if self.left == 0 and not self.is_over:
            size = int.from_bytes(self.data[self.at:self.at + 4], "little")
            self.at += 4
            self.is_void = size == VOID
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

    def __init__(self, interpreter):
        self.values = interpreter.notebook.names
        self.names, self.lost = [], []
        self.waiting = []  # (name, source) of definitions that need others
        self.defined = {}  # source -> what it defined

    def take(self, kind, name, chunks):
        reader = io.BufferedReader(chunks, PIECE)
        if kind == b"s":
            self.waiting.append((name, reader.read().decode("utf-8")))
            return
        if kind == b"m":
            module = reader.read().decode("utf-8")
            load("importlib").import_module(module)
            self.bind({name: sys.modules[module]})
            return
        if kind == b"p":
            self.settle()
        value = load("pickle").Unpickler(reader).load()
        if chunks.is_void:
            raise EOFError("it was not exported whole")
        self.bind(value if kind == b"a" else {name: value})

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
                    why = _reason(error)
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


def bring_in(interpreter, data):
    """Reads an exported stream into this head; {"names":[...],"lost":[...]}."""
    data = memoryview(data)
    if bytes(data[:len(MAGIC)]) != MAGIC:
        raise LookError("this is no exported state")
    intake = _Intake(interpreter)
    at = len(MAGIC)
    while at < len(data):
        kind = bytes(data[at:at + 1])
        size = int.from_bytes(data[at + 1:at + 5], "little")
        name = str(data[at + 5:at + 5 + size], "utf-8", "surrogatepass")
        chunks = _Chunks(data, at + 5 + size)
        try:
            intake.take(kind, name, chunks)
        except BaseException as error:
            why = _reason(error)
            intake.lost += [{"name": one, "why": why}
                            for one in (loads(name) if kind == b"a" else [name])]
        at = chunks.finish()
    intake.settle(is_last=True)
    return {"names": intake.names, "lost": intake.lost}
