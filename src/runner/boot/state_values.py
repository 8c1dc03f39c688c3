# SPDX-License-Identifier: Apache-2.0
"""Functions and classes that no name leads to, told by what they are made of: lambdas, functions
inside of functions, named tuples, classes that were made on the way.

Owns:    their place in a pickle, and the functions in here that such a pickle calls. They are named
         in bytes that may be old: a name and what it takes can be added, never changed.
"""

import sys

from .hooks import load

_types = load("types")
CellType, CodeType, FunctionType = _types.CellType, _types.CodeType, _types.FunctionType

PYTHON = sys.version_info[:2]  # what a code object is made for
FILENAME = "<saved>"  # in tracebacks: the cell it came from is not here any more
_EMPTY = "empty"  # of a cell that was never filled

# What a class is given at its making, or by being one.
_OWN = frozenset(("__dict__", "__weakref__", "__module__", "__qualname__", "__doc__"))


def pickler(names, defined):
    """A Pickler class for what lives in `names`, a session's namespace. `defined` are those of them
    that will be there by their source."""
    base = load("pickle").Pickler

    def is_found(thing):
        return _is_found(thing, names, defined)

    class Pickler(base):
        def reducer_override(self, thing):
            kind = type(thing)
            if kind is FunctionType:
                return NotImplemented if is_found(thing) else _by_value(thing, names)
            if kind is CellType:
                return empty_cell, ()
            if kind in (staticmethod, classmethod):
                return kind, (thing.__func__,)
            if kind is property:
                return property, (thing.fget, thing.fset, thing.fdel, thing.__doc__)
            if issubclass(kind, type) and thing.__module__ == "__main__" and not is_found(thing):
                return _class(thing)
            return NotImplemented

    return Pickler


def _is_found(thing, names, defined):
    """Whether its own name leads to it, which is all that an ordinary pickle says of it."""
    first, *rest = thing.__qualname__.split(".")
    if thing.__module__ == "__main__":
        found = names.get(first) if first in defined else None
    else:
        found = getattr(sys.modules.get(thing.__module__), first, None)
    for part in rest:
        found = getattr(found, part, None)
    return found is thing


def _by_value(function, names):
    if function.__globals__ is not names:
        raise TypeError(f"{function.__qualname__} is no function of the session itself")
    cells = function.__closure__ or ()
    state = {"cells": [_content(cell) for cell in cells], "defaults": function.__defaults__,
             "kwdefaults": function.__kwdefaults__, "dict": function.__dict__,
             "annotations": function.__annotations__, "doc": function.__doc__}
    code = load("marshal").dumps(_moved(function.__code__))
    made = (PYTHON, code, function.__name__, function.__qualname__, cells)
    # The state comes when the function is known already: it may lead back to it.
    return new_function, made, state, None, None, fill_function


def _content(cell):
    try:
        return (cell.cell_contents,)
    except ValueError:
        return _EMPTY


def _moved(code):
    """The same code, of no cell: another session has a `<cell 1>` of its own."""
    inner = tuple(_moved(part) if isinstance(part, CodeType) else part for part in code.co_consts)
    return code.replace(co_filename=FILENAME, co_consts=inner)


def _class(thing):
    fields = thing.__dict__.get("_fields")
    if thing.__bases__ == (tuple,) and type(fields) is tuple:
        return new_tuple, (thing.__name__, fields, thing._field_defaults)
    if type(thing) is not type or "__slots__" in thing.__dict__:
        raise TypeError(f"the class {thing.__qualname__} has neither a name that leads to it nor a "
                        f"plain making")
    members = {name: value for name, value in vars(thing).items() if name not in _OWN}
    made = (thing.__name__, thing.__qualname__, thing.__bases__, thing.__doc__)
    return new_class, made, members, None, None, fill_class


# ---- what a pickle calls ----

def empty_cell():
    return CellType()


def new_function(python, code, name, qualname, cells):
    if tuple(python) != PYTHON:
        raise ValueError(f"{qualname} was compiled by Python {'.'.join(map(str, python))}")
    names = sys.modules["__main__"].__dict__
    made = FunctionType(load("marshal").loads(code), names, name, None, tuple(cells) or None)
    made.__qualname__ = qualname
    return made


def fill_function(function, state):
    for cell, content in zip(function.__closure__ or (), state["cells"]):
        if content != _EMPTY:
            cell.cell_contents = content[0]
    function.__defaults__ = state["defaults"]
    function.__kwdefaults__ = state["kwdefaults"]
    function.__annotations__ = state["annotations"]
    function.__doc__ = state["doc"]
    function.__dict__.update(state["dict"])


def new_tuple(name, fields, defaults):
    return load("collections").namedtuple(name, fields, module="__main__",
                                          defaults=list(defaults.values()))


def new_class(name, qualname, bases, doc):
    return type(name, bases, {"__module__": "__main__", "__qualname__": qualname, "__doc__": doc})


def fill_class(made, members):
    for name, value in members.items():
        setattr(made, name, value)
