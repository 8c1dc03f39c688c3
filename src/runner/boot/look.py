# SPDX-License-Identifier: Apache-2.0
"""Looks: questions about a session, answered by a throw-away fork of its head.

Owns:    the table of questions. Each answer is one event, {"type":"look","look":{...}}; a failure is
         {"error":text,"kind":...}, with an error kind of the HTTP interface.
May not: look at values in a head that goes on. A repr, a property, a pickle are user code: whatever
         they do here ends with the look. Questions that change the session are answered by the head itself.
"""

import sys

from . import fork, wire
from .jsonsafe import TooLarge, json_safe
from .jsontext import dumps

ROOM = 8 << 20  # bytes of one answer


class LookError(Exception):
    """Why a question cannot be answered; `kind` is the error's kind, `field` the wrong part of the question."""

    def __init__(self, message, kind="bad_request", field=None):
        super().__init__(f"{field}: {message}" if field else message)
        self.kind, self.field = kind, field


def _vars(look, _request, interpreter):
    from .look_vars import variables

    return variables(interpreter, look)


def _table(look, _request, interpreter):
    from .look_table import table

    return table(interpreter, look)


def _csv(look, _request, interpreter):
    from .look_table import csv

    return csv(interpreter, look)


def _summary(look, _request, interpreter):
    from .look_table import summary

    return summary(interpreter, look)


def _print(_look, _request, interpreter):
    from .fingerprint import prints

    return {"names": prints(interpreter)}


def _diff(_look, request, interpreter):
    from .fingerprint import diff

    return diff(interpreter, request.payload)


def _complete(look, _request, interpreter):
    from .complete import complete

    return complete(interpreter.notebook.names, look)


def _files(look, _request, _interpreter):
    from .look_files import list_files

    return list_files(look)


def _read(look, _request, _interpreter):
    from .look_files import read_file

    return read_file(look)


def _write(look, request, _interpreter):
    from .look_files import write_file

    return write_file(look, request.payload)


def _remove(look, _request, _interpreter):
    from .look_files import remove_file

    return remove_file(look)


def _export(look, _request, interpreter):
    from .state import export

    return export(interpreter, look.get("only"))


def _import(_look, request, interpreter):
    from .state_read import bring_in

    return bring_in(interpreter, request.payload)


_QUESTIONS = {"vars": _vars, "table": _table, "csv": _csv, "summary": _summary,
              "print": _print, "diff": _diff, "complete": _complete, "files": _files, "read": _read, "write": _write,
              "remove": _remove, "export": _export, "import": _import}
_CHANGES = {"write", "remove", "import"}


def _thread_text(thread):
    return f"<{type(thread).__name__}({thread._name}{' daemon' if thread._daemonic else ''})>"


def _tell_no_state_of_threads():
    """A fork has no threads but its own, so threading's repr would call all others stopped."""
    threads = getattr(sys.modules.get("threading"), "Thread", None)
    if type(threads) is type:
        threads.__repr__ = _thread_text


def _ask(request, interpreter):
    look = request.meta["look"]
    kind = look.get("kind") if isinstance(look, dict) else None
    question = _QUESTIONS.get(kind)
    if question is None:
        raise LookError(f"unknown question {kind!r}; known are {', '.join(_QUESTIONS)}")
    if fork.is_look and kind == "import" or not fork.is_look and kind not in _CHANGES:
        raise LookError("only a head that goes on can answer this" if fork.is_look
                        else "only a throw-away fork can answer this", "conflict")
    sys.modules["__main__"] = interpreter.notebook.module  # pickles refer to its members by name
    if fork.is_look:
        _tell_no_state_of_threads()
    return question(look, request, interpreter)


def answer(request, interpreter):
    """Answers a RUN that is a look; returns its testimony."""
    try:
        text = dumps(json_safe(_ask(request, interpreter), ROOM))
        if len(text) > wire.EVENT_MAX:  # escapes can make it longer
            raise TooLarge
    except LookError as error:
        text = dumps({"error": wire.clean(str(error)), "kind": error.kind,
                      **({"field": error.field} if error.field else {})})
    except TooLarge:
        text = dumps({"error": f"the answer is larger than {ROOM >> 20} MiB; ask for less of it",
                      "kind": "too_large"})
    except BaseException as error:
        text = dumps({"error": f"the question could not be answered: {wire.clean(type(error).__name__)}",
                      "kind": "conflict"})
    wire.event("look", "look", text)
    done = wire.Done()
    done.files_dirty = not fork.is_look  # a head only gets questions that change something
    return done
