# SPDX-License-Identifier: Apache-2.0
"""A session's variables and files out of the bytes that state.py makes.

Owns:    reading a stream that anybody may have made: it is unpickled here, inside of a sandbox, and
         nowhere else. What is broken about it is named, and the rest comes.
"""

import io
import sys

from . import WORKSPACE, hooks, wire
from .hooks import load
from .jsontext import loads
from .look import LookError
from .state import FORMAT, MAGIC, PIECE, VOID
from .state_plan import definition_of, reason

LINE_MAX = 64 << 20
_START = MAGIC.rpartition(b" ")[0] + b" "


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
            self.lost.append({"name": wire.clean(name), "why": reason(str(reader.read(), "utf-8"))})
            return
        if kind == b"s":
            self.waiting.append((name, reader.read().decode("utf-8")))
            return
        if kind == b"m":
            module = reader.read().decode("utf-8")
            load("importlib").import_module(module)
            self.bind({name: sys.modules[module]})
            return
        if kind not in (b"a", b"p", b"t"):
            raise ValueError("a record of no known kind")
        self.settle()
        value = load("pickle").Unpickler(reader).load()
        if chunks.is_void:
            raise EOFError("it was not exported whole")
        if kind == b"t":
            self.touch(name, value)
        else:
            self.bind(value if kind == b"a" else {name: value})

    def touch(self, name, since):
        """Attributes of a definition; a decorated one has them behind what wraps it."""
        thing = definition_of(self.values[name])
        for key, value in since.items():
            setattr(thing, key, value)

    def lose(self, kind, name, error):
        names = [f"{WORKSPACE}/{name}"] if kind in (b"f", b"d") else [name]
        if kind == b"a":
            try:
                names = list(loads(name))
            except (ValueError, TypeError, RecursionError):
                pass
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
    """The Python that wrote it, what it could not send, and where the records begin."""
    line = bytes(data[:32]).partition(b"\n")[0]
    if line.startswith(_START) and line != MAGIC[:-1]:
        text = line[len(_START):].decode("ascii", "backslashreplace")
        raise LookError(f"this is of format {text}, and here format {FORMAT} is read")
    line = bytes(data[len(MAGIC):len(MAGIC) + LINE_MAX]).partition(b"\n")[0]
    try:
        if bytes(data[:len(MAGIC)]) != MAGIC:
            raise ValueError
        head = loads(line.decode())
        lost = [{"name": wire.clean(str(fact["name"])), "why": wire.clean(str(fact["why"]))}
                for fact in head["lost"]]
        python = wire.clean(str(head["python"]))[:32]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise LookError("this is no exported session") from None
    return python, lost, len(MAGIC) + len(line) + 1


def _name(data):
    """A file's may have bytes that are no text; one that state.py never wrote is shown as it is."""
    try:
        return str(data, "utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return str(data, "utf-8", "backslashreplace")


def _refuse_other(python):
    here = sys.version_info[:2]
    if python.split(".")[:2] != [str(number) for number in here]:
        raise LookError(f"this is of Python {python}, and here is {'.'.join(map(str, here))}")


def bring_in(interpreter, data, is_saved=False):
    """Reads an exported stream into this head; {"names":[...],"lost":[...]}. `is_saved`: what a run
    has saved for the next one. That is of the same Python, and what was lost was told already."""
    data = memoryview(data)
    python, lost, at = _head(data)
    if is_saved:
        from .sealed import unseal

        _refuse_other(python)
        lost, data = [], unseal(data)
    intake = _Intake(interpreter, lost)
    while at < len(data):
        kind = bytes(data[at:at + 1])
        size = int.from_bytes(data[at + 1:at + 5], "little")
        name = _name(data[at + 5:at + 5 + size])
        chunks = _Chunks(data, at + 5 + size)
        why = None
        try:
            intake.take(kind, name, chunks)
        except BaseException as error:
            why = error
        at = chunks.finish()
        if why is not None and not chunks.is_void:  # else there is a record that says why
            intake.lose(kind, name, why)
    intake.settle(is_last=True)
    return {"names": intake.names, "lost": intake.lost}
