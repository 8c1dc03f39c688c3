# SPDX-License-Identifier: Apache-2.0
"""Fingerprints of variables: two checkpoints of a session are compared by them.

The same value in two forks of one interpreter has the same fingerprint. Of very large values only the
start counts; for values that cannot be pickled, the repr without addresses.
"""

import sys

from .hooks import load
from .jsontext import loads
from .look import LookError
from .look_vars import type_name, user_names

_types = load("types")
CodeType, FunctionType, ModuleType = _types.CodeType, _types.FunctionType, _types.ModuleType
_PAUSED = {_types.GeneratorType: "gi", _types.CoroutineType: "cr", _types.AsyncGeneratorType: "ag"}

BYTES_MAX = 256 << 20  # bytes of one value that are read
REPR_MAX = 1 << 20
DEPTH_MAX = 8

_modules = sys.modules


class _Enough(BaseException):
    """Enough of a value has been read."""


class _Digest:
    """A file-like object that only keeps a hash of what is written to it."""

    def __init__(self):
        self.hash = load("hashlib").blake2b(digest_size=16)
        self.room = BYTES_MAX

    def write(self, data):
        data = memoryview(data).cast("B")
        self.hash.update(data[:self.room])
        self.room -= len(data)
        if self.room < 0:
            raise _Enough
        return len(data)

    def text(self, text):
        self.write(text.encode("utf-8", "backslashreplace") + b"\0")


def prints(interpreter):
    """{name: fingerprint} of every name of the user's."""
    found = {}
    for name, value in user_names(interpreter):
        digest = _Digest()
        try:
            _add(digest, value, 0)
        except _Enough:
            pass
        except BaseException as error:
            digest.text(f"unknown {type(error).__name__}")
        found[name] = f"{_kind(value)}:{digest.hash.hexdigest()}"
    return found


def diff(interpreter, before):
    """{"added","removed","changed"}: lists of names, compared with the answer of another state's `prints`."""
    try:
        known = loads(str(before, "utf-8"))["names"]
        if not isinstance(known, dict):
            raise TypeError
    except (ValueError, KeyError, TypeError):
        raise LookError("the other state did not list its names", "conflict") from None
    now = prints(interpreter)
    return {"added": sorted(now.keys() - known.keys()),
            "removed": sorted(known.keys() - now.keys()),
            "changed": sorted(name for name in now.keys() & known.keys()
                              if now[name] != known[name])}


def _kind(value):
    try:
        return str(type_name(value))[:100]
    except BaseException:
        return "?"


def _add(digest, value, depth):
    digest.text(_kind(value))
    if isinstance(value, ModuleType):
        digest.text(str(value.__name__))
    elif isinstance(value, FunctionType):
        _add_function(digest, value, depth)
    elif isinstance(value, type) and value.__module__ == "__main__":
        _add_class(digest, value, depth)
    elif type(value) in _PAUSED:
        _add_paused(digest, value, depth)
    elif not _add_array(digest, value) and not _add_pickle(digest, value):
        _add_other(digest, value, depth)


def _add_array(digest, value):
    """Adds the bytes of a plain array, without copying them. Subclasses have more than these: a mask, say."""
    if type(value) is not getattr(_modules.get("numpy"), "ndarray", None) or value.dtype.hasobject:
        return False
    digest.text(f"{value.dtype.str} {value.shape}")
    if value.flags.c_contiguous:
        digest.write(value.reshape(-1).view("u1") if value.size else b"")
    else:
        digest.write(value.tobytes())
    return True


def _add_pickle(digest, value):
    """Adds the pickle of a value; large parts of frames and arrays are not copied. False if it cannot be pickled."""
    pickle = load("pickle")
    trial = _Digest()

    def take(buffer):
        trial.write(buffer.raw())

    try:
        pickle.Pickler(trial, 5, buffer_callback=take).dump(value)
    except _Enough:
        pass
    except BaseException:
        return False
    digest.write(trial.hash.digest())
    return True


def _add_paused(digest, value, depth):
    """Adds a generator or coroutine: its position, its variables there, and what it waits for."""
    prefix = _PAUSED[type(value)]
    frame = getattr(value, f"{prefix}_frame")
    digest.text(value.__qualname__)
    _add_code(digest, getattr(value, f"{prefix}_code"))
    digest.text("ended" if frame is None else str(frame.f_lasti))
    if frame is None or depth >= DEPTH_MAX:
        return
    for name, held in list(frame.f_locals.items()):
        digest.text(name)
        _add(digest, held, depth + 1)
    _add(digest, value.gi_yieldfrom if prefix == "gi" else getattr(value, f"{prefix}_await"), depth + 1)


def _add_other(digest, value, depth):
    """Adds a value by its repr, and member by member."""
    text = repr(value)[:REPR_MAX]
    digest.text(load("re").sub(r"0x[0-9a-fA-F]+", "", text))
    members = getattr(value, "__dict__", None)
    if depth < DEPTH_MAX and isinstance(members, dict):
        for name, member in list(members.items()):
            digest.text(str(name))
            _add(digest, member, depth + 1)
    elif depth < DEPTH_MAX and isinstance(value, (list, tuple, dict)):
        for item in list(value.items()) if isinstance(value, dict) else list(value):
            _add(digest, item, depth + 1)


def _add_code(digest, code):
    digest.text(f"{code.co_name} {code.co_argcount} {code.co_flags} {code.co_names} "
                f"{code.co_varnames} {code.co_freevars}")
    digest.write(code.co_code)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            _add_code(digest, constant)
        else:
            digest.text(repr(constant))


def _add_function(digest, function, depth):
    _add_code(digest, function.__code__)
    if depth >= DEPTH_MAX:
        return
    for part in (function.__defaults__, function.__kwdefaults__):
        _add(digest, part, depth + 1)
    for cell in function.__closure__ or ():
        try:
            _add(digest, cell.cell_contents, depth + 1)
        except ValueError:
            digest.text("empty")


def _add_class(digest, value, depth):
    digest.text(" ".join(base.__qualname__ for base in value.__bases__))
    if depth >= DEPTH_MAX:
        return
    for name, member in list(vars(value).items()):
        if name not in ("__dict__", "__weakref__", "__module__"):
            digest.text(str(name))
            _add(digest, getattr(member, "__func__", member), depth + 1)
