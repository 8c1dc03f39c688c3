# SPDX-License-Identifier: Apache-2.0
"""Reads a session's variables and files from the bytes that state.py writes.

Owns:    reading a stream that anybody may have made: it is unpickled here, inside a sandbox, and
         nowhere else. Broken parts are listed, and the rest is restored.
"""

import io
import sys

from . import WORKSPACE, hooks, settings, wire
from .hooks import load
from .jsontext import loads
from .look import LookError
from .sealed import unseal
from .state import PIECE, PLAIN, SEALED, VOID, magic
from .state_files import KINDS, close_folder, take_file
from .state_plan import reason
from .state_values import FunctionType

LINE_MAX = 64 << 20
VALUES = (b"a", b"p")  # records of variables
_START = b"vivarium state "
_OLD = {1: False, 2: True}  # formats that are no longer written -> whether each is sealed
_FORMATS = {**_OLD, PLAIN: False, SEALED: True}


class _Chunks(io.RawIOBase):
    """The bytes of one record, read as far as needed."""

    def __init__(self, data, at):
        self.data, self.at, self.left, self.is_over = data, at, 0, False
        self.is_void = False
        self.is_ended = False  # properly, by an empty chunk

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
        """Skips the rest of the record; returns where the next one begins."""
        scratch = bytearray(PIECE)
        while self.readinto(scratch):
            pass
        return self.at


class _Intake:
    """One import: what was restored, what was lost."""

    def __init__(self, interpreter, lost):
        self.values = interpreter.notebook.names
        self.names, self.lost = [], lost
        self.waiting = []  # (name, source) of definitions that need others; old formats only
        self.defined = {}  # source -> what it defined
        self.folders = []  # folders that get their permissions and times after their files were written

    def take(self, kind, name, chunks):
        reader = io.BufferedReader(chunks, PIECE)
        if kind in KINDS:
            folder = take_file(kind, name, reader, chunks)
            if folder:
                self.folders.append((kind, name, folder))
            return
        if kind == b"l":
            self.lost.append({"name": wire.clean(name), "why": reason(str(reader.read(), "utf-8"))})
            return
        if kind == b"s":
            self.waiting.append((name, reader.read().decode("utf-8")))
            return
        if kind == b"c":
            hooks.remember(name, reader.read().decode("utf-8", "surrogatepass"))
            return
        if kind == b"m":
            module = reader.read().decode("utf-8")
            load("importlib").import_module(module)
            self.bind({name: sys.modules[module]})
            return
        if kind not in (b"a", b"p", b"t", b"i"):
            raise ValueError("a record of an unknown kind")
        self.settle()
        value = load("pickle").Unpickler(reader).load()
        if chunks.is_void:
            raise EOFError("it was not exported completely")
        if kind == b"i":
            settings.put_back(name, value)
        elif kind == b"t":
            self.touch(name, value)
        else:
            self.bind(value if kind == b"a" else {name: value})

    def touch(self, name, since):
        """Sets attributes of a function or class; for a decorated one, of the one inside the wrapper."""
        thing = _definition_of(self.values[name])
        for key, value in since.items():
            setattr(thing, key, value)

    def lose(self, kind, name, error):
        names = [f"{WORKSPACE}/{name}"] if kind in KINDS else [name]
        if kind == b"a":
            try:
                names = list(loads(name))
            except (ValueError, TypeError, RecursionError):
                pass
        self.lost += [{"name": wire.clean(str(one)), "why": reason(error)} for one in names]

    def close_folders(self):
        """Innermost first: a folder may become inaccessible to its owner afterwards."""
        for kind, name, folder in sorted(self.folders, key=lambda one: -len(one[2][0])):
            try:
                close_folder(*folder)
            except OSError as error:
                self.lose(kind, name, error)

    def bind(self, values):
        self.values.update(values)
        self.names.extend(values)

    def settle(self, is_last=False):
        """Runs the sources in order, and runs those again that needed a later one."""
        count = -1
        while self.waiting and count != len(self.waiting):
            count = len(self.waiting)
            tried, self.waiting, why = self.waiting, [], {}
            for name, text in tried:
                try:
                    self.define(name, text)
                except BaseException as error:
                    self.waiting.append((name, text))
                    why[name] = reason(error)
        if is_last:
            self.lost += [{"name": name, "why": why[name]} for name, _text in self.waiting]

    def define(self, name, text):
        """Runs a source as a cell of its own, for tracebacks and later exports."""
        if text not in self.defined:
            filename = f"<imported {name}>"
            hooks.remember(filename, text)
            exec(compile(text, filename, "exec", dont_inherit=True), self.values)
            self.defined[text] = load("ast").parse(text).body[0].name
        self.bind({name: self.values[self.defined[text]]})


def _definition_of(value):
    """The function or class inside its decorators' wrappers."""
    for _ in range(16):
        if isinstance(value, (FunctionType, type)):
            break
        value = getattr(value, "__wrapped__", None)
    return value


def _format(data, is_saved):
    """(size of the line that names the format, the bytes to read); LookError if the format is unknown or the seal is
    broken."""
    for number, is_sealed in _FORMATS.items():
        start = magic(number)
        if bytes(data[:len(start)]) == start:
            # A state that a run saves is sealed in every format.
            return len(start), unseal(data) if is_saved or is_sealed else data
    line, end, _ = bytes(data[:32]).partition(b"\n")
    if not line.startswith(_START):
        raise LookError("this is not an exported session")
    if not end and len(line) == len(data):
        raise LookError(f"this is cut off in its first line, after {len(line)} bytes: the others are missing")
    text = line[len(_START):].decode("ascii", "backslashreplace")
    raise LookError(f"this has format {text}, but only formats {min(_FORMATS)} to {max(_FORMATS)} can be read here")


def _head(data, start):
    """(the Python that wrote it, what it could not write, where the records begin)."""
    line = bytes(data[start:start + LINE_MAX]).partition(b"\n")[0]
    try:
        head = loads(line.decode())
        lost = [{"name": wire.clean(str(fact["name"])), "why": wire.clean(str(fact["why"]))}
                for fact in head["lost"]]
        python = wire.clean(str(head["python"]))[:32]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise LookError("this is not an exported session") from None
    return python, lost, start + len(line) + 1


def _name(data):
    """A record's name. File names may have bytes that are not UTF-8; a name that state.py cannot have written is shown
    with escapes."""
    try:
        return str(data, "utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return str(data, "utf-8", "backslashreplace")


def _refuse_other(python):
    here = sys.version_info[:2]
    if python.split(".")[:2] != [str(number) for number in here]:
        raise LookError(f"this was saved by Python {python}, but Python {'.'.join(map(str, here))} runs here")


def _take(intake, data, record):
    """(where the next record begins, the exception or None)"""
    kind, name, start = record
    chunks = _Chunks(data, start)
    why = None
    try:
        intake.take(kind, name, chunks)
    except BaseException as error:
        why = error
    at = chunks.finish()
    return at, None if chunks.is_void else why  # for an unfinished record another record says why


def bring_in(interpreter, data, is_saved=False):
    """Reads an exported stream into this head; returns {"names":[...],"lost":[...]}. `is_saved`: it is a state that a
    run saved for the next one. Such a state must be of the same Python, and what it lost was reported already."""
    start, data = _format(memoryview(data), is_saved)
    python, lost, at = _head(data, start)
    if is_saved:
        _refuse_other(python)
        lost = []
    intake = _Intake(interpreter, lost)
    failed = {}  # (kind, name, where its bytes begin) -> the exception
    while at < len(data):
        kind = bytes(data[at:at + 1])
        start = at + 5 + int.from_bytes(data[at + 1:at + 5], "little")
        record = kind, _name(data[at + 5:start]), start
        at, why = _take(intake, data, record)
        if why is not None:
            failed[record] = why
    count = -1
    while failed and count != len(failed):  # a value may need another that came after it
        count = len(failed)
        for record in [one for one in failed if one[0] in VALUES]:
            failed[record] = _take(intake, data, record)[1]
        failed = {record: why for record, why in failed.items() if why is not None}
    for (kind, name, _start), why in failed.items():
        intake.lose(kind, name, why)
    intake.close_folders()
    intake.settle(is_last=True)
    return {"names": intake.names, "lost": intake.lost}
