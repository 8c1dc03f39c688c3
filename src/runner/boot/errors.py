# SPDX-License-Identifier: Apache-2.0
"""What ended a run, as an error event and as testimony.

Owns:    tracebacks as the user should see them, kinds and remedies.
May not: raise, whatever the exception is: its text, its class and its frames are user code.
"""

import sys

from . import current, wire
from .hooks import load, sources
from .inputs import EDQUOT, ENOSPC, InputError
from .jsontext import quote
from .streams import NO_INPUT

TEXT_MAX = 64 << 10  # of a traceback; its middle goes first
MESSAGE_MAX = 16 << 10
FRAMES_MAX = 3000
NAME_MAX = 60  # of a module that is not there
FIRST_CELL = "<cell 1>"
EACCES, EROFS, EAFNOSUPPORT, ENETUNREACH = 13, 30, 97, 101

_HERE = (lambda: 0).__code__.co_filename.rpartition("/")[0] + "/"
_name_of = type.__dict__["__name__"].__get__  # a metaclass may lie, or raise
_isinstance = isinstance


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
    if _is_full(kind, value, message):
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
    if not wire.is_ours():  # a fork of the run's process: nobody else will show it
        print(error["traceback"], end="", file=sys.stderr)


def _exit(value):
    """SystemExit, as the interpreter itself would end (native.md, section 3)."""
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
        return "<its text could not be made>"
    return wire.clean(text[:MESSAGE_MAX])


def _line(value, trace, filename):
    """The line of the cell at which it went wrong: the innermost frame that is the cell's own."""
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
        load("ast")  # it imports that itself, for its marks, from wherever it is found then
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
    """Where the user's code begins, past the runner's frames and an event loop's."""
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


def _is_full(kind, value, message):
    if issubclass(kind, OSError):
        return OSError.errno.__get__(value) in (ENOSPC, EDQUOT)
    return _name_of(kind) == "OperationalError" and message == "database or disk is full"


def _remedy(kind, value, filename):
    """The key of what to do, where the sandbox itself is the reason; a colon and a detail behind it. The
    words are in session/remedy.c."""
    try:
        if issubclass(kind, ModuleNotFoundError):
            return _module_remedy(value)
        if issubclass(kind, NameError):
            return _name_remedy(value, filename)
        if issubclass(kind, EOFError) and NO_INPUT in value.args:
            return "stdin"
        if issubclass(kind, MemoryError):
            return "memory"
        if issubclass(kind, OSError):
            return _os_remedy(kind, value.errno)
    except BaseException:
        pass
    return ""


def _module_remedy(value):
    name = str(value.name or "").partition(".")[0]
    return f"module:{wire.clean(name[:NAME_MAX])}" if name and name not in sys.modules else ""


def _name_remedy(value, filename):
    """A session that ended and was started again has nothing of before, its data least of all."""
    if value.name not in ("data", "df"):
        return ""
    is_fresh = not current.now.is_once and filename == FIRST_CELL
    return f"{'fresh' if is_fresh else 'no_data'}:{value.name}"


def _os_remedy(kind, number):
    if number in (EAFNOSUPPORT, ENETUNREACH):  # classes of the network's errors: session/verdict.c
        return "network"
    if number == EROFS or (number == EACCES and issubclass(kind, PermissionError)):
        return "read_only"
    return ""
