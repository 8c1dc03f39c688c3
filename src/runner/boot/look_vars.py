# SPDX-License-Identifier: Apache-2.0
"""The list of a session's variables.

Owns:    which names are the user's, and how a value is shown in one line.
"""

import sys

from .hooks import load
from .look_each import describe_each
from .wire import clean

_types = load("types")
BuiltinFunctionType, FunctionType, ModuleType = _types.BuiltinFunctionType, _types.FunctionType, _types.ModuleType

REPR_MAX = 200
COLUMNS_MAX = 100
VARS_MAX = 1000

PLAIN = (float, bool, complex, str, range, type(None), type, FunctionType, BuiltinFunctionType)
PLAIN_ITEMS = 1000  # items of one value that are checked; a value with more is not plain
PLAIN_SIZE = 4096  # bytes of one number, or of a value that is shown whole

_modules = sys.modules


def user_names(interpreter):
    """[(name, value)] that user code made or changed, in order of creation."""
    notebook = interpreter.notebook
    return [(name, value) for name, value in list(notebook.names.items())
            if type(name) is str and not (name.startswith("__") and name.endswith("__"))
            and not (name in notebook.given and value is notebook.given[name])]


def library(name, kind):
    """The class `kind` of a library, if that is loaded; else (), of which nothing is an instance."""
    return getattr(_modules.get(name), kind, ())


def type_name(value):
    if isinstance(value, type):
        return "class"
    if isinstance(value, (FunctionType, BuiltinFunctionType)):
        return "function"
    return type(value).__name__


def _show(value):
    """A repr that is fast for values that are merely large."""
    if isinstance(value, (library("pandas", "DataFrame"), library("pandas", "Series"))):
        return repr(value.head(5))
    if type(value) in (str, bytes, bytearray):
        return repr(value[:REPR_MAX + 1])
    if type(value) in (list, tuple, dict, set, frozenset, int):
        short = load("reprlib").Repr()
        short.maxlevel = 4
        short.maxlist = short.maxtuple = short.maxdict = short.maxset = short.maxfrozenset = 40
        short.maxstring = short.maxlong = short.maxother = REPR_MAX
        return short.repr(value)
    return repr(value)


def _size(value):
    if isinstance(value, library("pandas", "DataFrame")):
        return int(value.memory_usage(index=True).sum())
    if isinstance(value, library("pandas", "Series")):
        return int(value.memory_usage(index=True))
    if isinstance(value, library("numpy", "ndarray")):
        return int(value.nbytes)
    return sys.getsizeof(value)


def _shape(value):
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and all(isinstance(size, int) for size in shape):
        return [int(size) for size in shape[:32]]
    raise AttributeError("shape")


def _dtype(value):
    _shape(value)  # an object with a dtype but no shape can be anything
    return clean(str(value.dtype))[:REPR_MAX]


def _columns(value):
    if isinstance(value, library("pandas", "DataFrame")):
        return [clean(str(column))[:REPR_MAX] for column in value.columns[:COLUMNS_MAX]]
    raise AttributeError("columns")


def _or(default, function, *args):
    """Calls user code; `default` if it fails."""
    try:
        return function(*args)
    except BaseException as error:
        return default(error) if callable(default) else default


def _describe(name, value):
    text = _or(lambda error: f"<its repr raises {type(error).__name__}>", _show, value)
    text = text if type(text) is str else "<its repr is not a string>"
    found = {"name": clean(name), "type": clean(str(_or("?", type_name, value)))[:REPR_MAX],
             "repr": clean(text[:REPR_MAX]), "size": _or(None, _size, value)}
    for member, function in (("shape", _shape), ("dtype", _dtype), ("columns", _columns)):
        fact = None if issubclass(type(value), type) else _or(None, function, value)
        if fact is not None:
            found[member] = fact
    return found


def _unseen(name, value, why):
    """Describes a value without running its code."""
    kind = type.__dict__["__name__"].__get__(type(value))
    return {"name": clean(name), "type": clean(kind)[:REPR_MAX], "repr": f"<{why}>", "size": None}


def _is_plain(value):
    """Whether the repr is fast, and runs no user code."""
    kind = type(value)
    is_table = kind is library("pandas", "DataFrame") or kind is library("pandas", "Series")
    level = _table_parts(value, _modules["pandas"], _modules["numpy"]) if is_table else [value]
    seen = 0
    for _depth in range(4):
        seen += len(level)
        inside = []
        for item in level:
            parts = _parts(item)
            if parts is None or seen + len(inside) + len(parts) > PLAIN_ITEMS:
                return False
            inside += parts
        level = inside
    return not level


def _parts(value):
    """The values whose reprs are part of this value's. None: the repr may be slow, or run user code. Compared with `is`
    only: `in` would call a metaclass."""
    kind = type(value)
    if any(kind is one for one in PLAIN):
        return ()
    if kind is int:
        return () if value.bit_length() <= 8 * PLAIN_SIZE else None
    if kind is bytes or kind is bytearray:
        return () if len(value) <= PLAIN_SIZE else None
    if any(kind is one for one in (list, tuple, set, frozenset)):
        return value
    if kind is dict:
        return [*value, *value.values()]
    numpy = _modules.get("numpy")
    if kind is library("numpy", "ndarray") or any(kind is one
                                                   for one in getattr(numpy, "sctypeDict", {}).values()):
        is_plain = not value.dtype.hasobject and value.dtype.itemsize <= PLAIN_SIZE
        return () if is_plain and numpy.get_printoptions()["formatter"] is None else None
    return None


def _table_parts(value, pandas, numpy):
    """The values that are shown of a frame or a series, if numpy holds all of them; else the value itself, since other
    arrays and indexes may be the user's."""
    axes = value.axes
    held = [*value._mgr.arrays, *(index._data for index in axes if type(index) is pandas.Index)]
    if (not all(type(index) is pandas.Index or type(index) is pandas.RangeIndex for index in axes)
            or not all(type(array) is numpy.ndarray for array in held)
            or pandas.get_option("display.float_format") is not None):
        return [value]
    head = value.head(5)
    items = [index.name for index in axes] + ([head.name] if len(axes) == 1 else [])
    for array in (*head._mgr.arrays, *(index.to_numpy() for index in head.axes)):
        items += array.ravel().tolist() if array.dtype.hasobject else []
    return items


def _describe_all(named):
    """A child process costs more than everything else, so it is used only if a value may need one."""
    if all(_or(False, _is_plain, value) is True for _name, value in named):
        return [_describe(name, value) for name, value in named]
    return describe_each(named, _describe, _unseen)


def variables(interpreter, look):
    """{"vars":[...]}; "next" is the offset of the following ones, if there are more."""
    offset = max(0, int(look.get("offset", 0)))
    limit = min(max(1, int(look.get("limit", VARS_MAX))), VARS_MAX)
    names = [(name, value) for name, value in user_names(interpreter)
             if not issubclass(type(value), ModuleType)]  # `isinstance` would believe a value that lies about its class
    answer = {"vars": _describe_all(names[offset:offset + limit])}
    if len(names) > offset + limit:
        answer["next"] = offset + limit
    return answer
