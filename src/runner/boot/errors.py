# SPDX-License-Identifier: Apache-2.0
"""The error that ended a run, as an event and as testimony.

Owns:    tracebacks as the user should see them, verdict kinds and keys of remedies.
May not: raise, whatever the exception is: its text, its class and its frames are user code.
"""

import os
import sys

from . import WORKSPACE, current, wire
from .hooks import load, sources
from .inputs import EDQUOT, ENOSPC, InputError
from .jsontext import quote
from .streams import NO_INPUT

TEXT_MAX = 64 << 10  # longest traceback; the middle is cut
MESSAGE_MAX = 16 << 10
FRAMES_MAX = 3000
NAME_MAX = 60  # longest name of a missing module
CHAIN_MAX = 20  # errors of a chain that are looked at
ROOM_MIN = 64 << 10  # a disk of the sandbox with less room counts as full
FIRST_CELL = "<cell 1>"
EACCES, EROFS, EAFNOSUPPORT, ENETUNREACH = 13, 30, 97, 101

_HERE = (lambda: 0).__code__.co_filename.rpartition("/")[0] + "/"
_name_of = type.__dict__["__name__"].__get__  # a metaclass could lie about the name, or raise
_isinstance = isinstance
_statvfs = os.statvfs


def tell(info, filename):
    """Turns `sys.exc_info()` of a cell into its error event and returns the testimony. `filename`
    is the cell's name in tracebacks."""
    kind, value, trace = info
    if issubclass(kind, SystemExit):
        return _exit(value)

    name = _name_of(kind)
    message = _text_of(value)
    error = {"type": name, "message": message, "traceback": _traceback(info),
             "line": _line(value, trace, filename)}
    _send(error)
    summary = f"{name}: {message}" if message else name
    if issubclass(kind, KeyboardInterrupt):
        return wire.Done("interrupted", 130, "the run was interrupted")
    if _says_full(kind, value, message) and (not _is_raised(trace) or _has_no_room()):
        return wire.Done("disk", 1, summary, "disk")
    return wire.Done("exception", 1, summary, _remedy(kind, value, filename))


def tell_input(error):
    """The same for an input that could not be given to the code."""
    message = wire.clean(str(error))
    name = "ValueError" if isinstance(error, InputError) else type(error).__name__
    shown = message if getattr(error, "is_whole", False) else f"{name}: {message}"
    _send({"type": name, "message": message, "traceback": shown + "\n", "line": None})
    if isinstance(error, OSError) and error.errno in (ENOSPC, EDQUOT):
        return wire.Done("disk", 1, f"the inputs do not fit on the sandbox's disk: {message}",
                         "disk_inputs")
    return wire.Done("exception", 1, message, "")


def _send(error):
    line = error["line"]
    message = wire.cut_quote(error["message"], MESSAGE_MAX * 2)[0]
    trace = wire.cut_quote(error["traceback"], TEXT_MAX * 6)[0]
    wire.event("error", "error",
               f'{{"type":{quote(wire.clean(error["type"]))},"message":{message},'
               f'"traceback":{trace},"line":{"null" if line is None else int(line)}}}')
    if not wire.is_ours():  # in a process forked from the run's: nobody else will show it
        print(error["traceback"], end="", file=sys.stderr)


def _exit(value):
    """SystemExit, handled as the interpreter itself would (native.md, section 3)."""
    code = getattr(value, "code", None)
    if code is None:
        number = 0
    elif _isinstance(code, int):
        number = int.__and__(code, 0xff)
    else:
        text = _text_of(code)
        try:
            print(text, file=sys.stderr)
        except Exception:
            pass
        return wire.Done("exit", 1, text)
    if number == 0:
        return wire.Done()
    return wire.Done("exit", number, f"the code ended with exit code {number}")


def _text_of(value):
    try:
        text = str(value)
        text = str.__str__(text)
    except BaseException:
        return "<its str() failed>"
    return wire.clean(text[:MESSAGE_MAX])


def _line(value, trace, filename):
    """The line of the cell at which it failed: that of the innermost frame of the cell itself."""
    line = None
    try:
        if _isinstance(value, SyntaxError) and value.filename == filename:
            return int(value.lineno)
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == filename:
                line = trace.tb_lineno
            trace = trace.tb_next
    except BaseException:
        pass
    return line


def _traceback(info):
    """The traceback from the user's first frame on, without any frame of the runner."""
    kind, value, trace = info
    try:
        trace = _first_of_user(trace)
        traceback = load("traceback")
        load("ast")  # `traceback` imports `ast` itself, for its marks, from wherever sys.path leads then
        told = traceback.TracebackException(kind, value, trace, limit=-FRAMES_MAX)
        _drop_ours(told, set())
        text = "".join(told.format())
    except BaseException:
        # Out of stack or memory, or an exception that breaks its own formatting.
        text = f"{_name_of(kind)}: {_text_of(value)}\n"
    text = wire.clean(text)
    if len(text) > TEXT_MAX:
        half = TEXT_MAX // 2
        text = f"{text[:half]}\n  [{len(text) - 2 * half} characters left out]\n{text[-half:]}"
    return text


def _first_of_user(trace):
    """The traceback from the user's first frame on, past the runner's frames and an event loop's."""
    start = trace
    while start is not None:
        if start.tb_frame.f_code.co_filename in sources:
            return start
        start = start.tb_next
    return trace


def _drop_ours(told, seen):
    if told is None or id(told) in seen:
        return
    seen.add(id(told))
    told.stack[:] = [frame for frame in told.stack if not frame.filename.startswith(_HERE)]
    for inner in [told.__cause__, told.__context__, *(getattr(told, "exceptions", None) or ())]:
        _drop_ours(inner, seen)


def _says_full(kind, value, message):
    if issubclass(kind, OSError):
        return OSError.errno.__get__(value) in (ENOSPC, EDQUOT)
    return _name_of(kind) == "OperationalError" and message == "database or disk is full"


def _is_raised(trace):
    """Did a `raise` statement make it? The kernel's own refusals come out of a call."""
    try:
        while trace.tb_next is not None:
            trace = trace.tb_next
        return trace.tb_frame.f_code.co_code[trace.tb_lasti] == load("opcode").opmap["RAISE_VARARGS"]
    except Exception:
        return True


def _has_no_room():
    try:
        return any(room.f_bavail * room.f_frsize < ROOM_MIN or room.f_favail == 0
                   for room in map(_statvfs, (WORKSPACE, "/tmp", "/dev/shm")))
    except OSError:
        return False


def _remedy(kind, value, filename):
    """The key of a remedy, if the sandbox itself is the reason; a colon and a detail may follow. The texts are in
    session/remedy.c."""
    try:
        if issubclass(kind, ImportError):
            return _module_remedy(kind, value)
        if issubclass(kind, NameError):
            return _name_remedy(value, filename)
        if issubclass(kind, EOFError) and NO_INPUT in value.args:
            return "stdin"
        if issubclass(kind, MemoryError):
            return "memory"
        if issubclass(kind, OSError):
            return _os_remedy(kind, value)
    except BaseException:
        pass
    return ""


def _missing_module(kind, value):
    """The name of the module that an import did not find. pandas and the like raise an error of their own, which has
    Python's error as its context, or names the module in its text."""
    for _ in range(CHAIN_MAX):
        if value is None or issubclass(kind, ModuleNotFoundError):
            break
        value = value.__cause__ or value.__context__
        kind = type(value)
    return None if value is None else value.name


def _module_remedy(kind, value):
    name = _missing_module(kind, value)
    if name is None and not issubclass(kind, ModuleNotFoundError):
        found = load("re").search(r"(?:optional dependency|No module named) '(\w+)|^(\w+) not found, please install",
                                  _text_of(value)[:MESSAGE_MAX])
        name = found and (found[1] or found[2])
    name = str(name or "").partition(".")[0]
    return f"module:{wire.clean(name[:NAME_MAX])}" if name and name not in sys.modules else ""


def _name_remedy(value, filename):
    """A session that ended and was started again has no variables, and no data."""
    if value.name not in ("data", "df"):
        return ""
    is_fresh = not current.now.is_once and filename == FIRST_CELL
    return f"{'fresh' if is_fresh else 'no_data'}:{value.name}"


def _os_remedy(kind, value):
    number = value.errno
    if number in (EAFNOSUPPORT, ENETUNREACH):  # libraries' own error classes: session/verdict.c
        return "network"
    if number == EROFS:
        return "read_only"
    if number == EACCES and issubclass(kind, PermissionError):
        return _access_remedy([path for path in (value.filename, value.filename2) if path is not None])
    return ""


def _access_remedy(paths):
    """The remedy's key: for a place where nothing can be written, or a file whose own permissions forbid it."""
    for path in paths:
        path = os.path.realpath(os.fsdecode(path))
        if not path.startswith((WORKSPACE + "/", "/tmp/")):
            return "read_only"
        there = path if os.path.lexists(path) else os.path.dirname(path)
        if not all(os.access(there, way) for way in (os.R_OK, os.W_OK, os.X_OK)):
            return "permissions"
    return ""
