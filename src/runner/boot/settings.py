# SPDX-License-Identifier: Apache-2.0
"""Settings that code has made in the interpreter: a part of a session's state beside its variables.

Owns:    which settings go with a state, and how each is restored. Old states contain their names: a name can
         be added, but never changed.
"""

import os
import sys

from . import WORKSPACE
from .hooks import load

_modules = sys.modules
_environ = os.environ  # user code may replace the one in `os`
_first_env, _first_path = {}, []


def mark():
    """Called before user code: records what every interpreter here begins with."""
    _first_env.update(_environ)
    _first_path[:] = sys.path


def _folder():
    here = os.getcwd()
    return here if here != WORKSPACE else None


def _env():
    """(what is new or changed, what is gone)"""
    changed = {name: value for name, value in _environ.items() if _first_env.get(name) != value}
    gone = [name for name in _first_env if name not in _environ]
    return (changed, gone) if changed or gone else None


def _set_env(told):
    changed, gone = told
    _environ.update(changed)
    for name in gone:
        _environ.pop(name, None)


def _path():
    """(entries that were put before the first original one, other new entries)"""
    added = [entry for entry in sys.path if type(entry) is str and entry not in _first_path]
    own = [at for at, entry in enumerate(sys.path) if entry in _first_path]
    front = [entry for entry in sys.path[:own[0] if own else 0] if entry in added]
    return (front, [entry for entry in added if entry not in front]) if added else None


def _set_path(told):
    front, back = ([entry for entry in part if entry not in sys.path] for part in told)
    sys.path[:0] = front
    sys.path += back


def _decimal():
    decimal = _modules.get("decimal")
    context = decimal.getcontext() if decimal else None
    return context if context and repr(context) != repr(decimal.Context()) else None


def _random():
    return _modules["random"].getstate() if "random" in _modules else None


def _numpy():
    return _modules["numpy.random"].get_state(legacy=False) if "numpy.random" in _modules else None


def _module(name):
    return load("importlib").import_module(name)


# Name: (function that gets the value, None for nothing; function that restores it). The first ones come before the
# variables, which may need modules that these lead to; the last ones come after, where no import changes them.
_FIRST = {"os.environ": (_env, _set_env), "sys.path": (_path, _set_path), "os.getcwd()": (_folder, os.chdir)}
_LAST = {"decimal.getcontext()": (_decimal, lambda context: _module("decimal").setcontext(context))}
# Generators are restored in the same session only. A session made from an export draws its own numbers, as a branch
# does.
_GENERATORS = {"random.getstate()": (_random, lambda state: _module("random").setstate(state)),
               "numpy.random.get_state()": (_numpy, lambda state: _module("numpy.random").set_state(state))}


def collect(is_same_session, lose):
    """({name: value} to write before the variables, the same to write after them); `lose(name, error)`."""
    parts = _FIRST, {**_LAST, **(_GENERATORS if is_same_session else {})}
    told = {}, {}
    for part, found in zip(parts, told):
        for name, (get, _put) in part.items():
            try:
                value = get()
            except BaseException as error:
                lose(name, error)
            else:
                if value is not None:
                    found[name] = value
    return told


def put_back(name, value):
    for part in (_FIRST, _LAST, _GENERATORS):
        if name in part:
            part[name][1](value)
            return
    raise ValueError("a setting with an unknown name")
