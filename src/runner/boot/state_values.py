# SPDX-License-Identifier: Apache-2.0
"""Functions that the pickles of a state call to rebuild what pickle itself cannot: functions, classes,
members of enumerations, modules. No user code runs for this: no body, default or decorator.

Owns:    these functions. Old states contain their names: a function or a parameter can be added, but never
         changed.
"""

import sys
from _frozen_importlib_external import MAGIC_NUMBER as MAGIC  # of this Python's bytecode

from . import hooks
from .hooks import load

_types = load("types")
CellType, CodeType, FunctionType = _types.CellType, _types.CodeType, _types.FunctionType

PYTHON = sys.version_info[:2]  # for code objects of older streams
EMPTY = "empty"  # stands for a cell that was never filled
HEAP_TYPE = 1 << 9  # flag of a class that a statement made
TOP_LEVEL_AWAIT = 0x2000


# ---- functions ----

def empty_cell():
    return CellType()


def imported(name):
    return sys.modules.get(name) or load("importlib").import_module(name)


def attribute(module, name):
    return getattr(imported(module), name)


def make_function(magic, code, place, module, name, qualname, cells):
    """Makes a function. `place` identifies it for every Python, see `place_of`. If the code is of another Python, its
    source is compiled again; nothing of it runs."""
    code = load("marshal").loads(code) if magic == MAGIC else _compiled(place, qualname)
    order = dict(zip(place[-1], cells))
    cells = tuple(order[free] for free in code.co_freevars)
    made = FunctionType(code, imported(module).__dict__, name, None, cells or None)
    made.__qualname__ = qualname
    return made


def place_of(code, filename):
    return filename, code.co_name, code.co_firstlineno, code.co_varnames, code.co_freevars


def _compiled(place, qualname):
    filename = place[0]
    source = hooks.sources.get(filename)
    if source is None:
        raise ValueError(f"{qualname} was compiled by another Python, and its source is not kept")
    left, found = [compile(source, filename, "exec", TOP_LEVEL_AWAIT, True)], []
    while left:
        code = left.pop()
        left += [part for part in code.co_consts if isinstance(part, CodeType)]
        if place_of(code, filename) == tuple(place):
            found.append(code)
    if len(found) != 1:
        raise ValueError(f"{qualname} was compiled by another Python, and its source is ambiguous")
    return found[0]


def fill_function(function, state):
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
    for name, content in zip(state.get("names", cells), state["cells"]):
        if content != EMPTY:
            cells[name].cell_contents = content[0]
    function.__defaults__ = state["defaults"]
    function.__kwdefaults__ = state["kwdefaults"]
    function.__annotations__ = state["annotations"]
    function.__doc__ = state["doc"]
    function.__module__ = state.get("module", "__main__")
    if "type_params" in state:
        function.__type_params__ = state["type_params"]
    function.__dict__.update(state["dict"])


def make_cached(function, maxsize, typed):
    return load("functools").lru_cache(maxsize, typed)(function)


# ---- classes ----

def make_class(kind, name, bases, first):
    """Makes a class without members that may not exist yet, which `finish_class` adds; and without calling
    `__init_subclass__`, which has already run for it."""
    held = _silence(bases)
    try:
        made = type.__new__(kind, name, bases, dict(first))
    finally:
        for base, method in held:
            type.__setattr__(base, "__init_subclass__", method)
    abc = load("abc")
    if issubclass(kind, abc.ABCMeta):
        abc._abc_init(made)
    return made


def _silence(bases):
    """Replaces `__init_subclass__` of all bases that allow it by nothing, and returns [(class, method)] to restore;
    other classes belong to libraries."""
    held = []
    for base in dict.fromkeys(every for base in bases for every in type.mro(base)):
        method = vars(base).get("__init_subclass__")
        if method is None or not base.__flags__ & HEAP_TYPE:
            continue
        try:
            type.__setattr__(base, "__init_subclass__", classmethod(lambda *_args, **_named: None))
        except TypeError:
            continue
        held.append((base, method))
    return held


def finish_class(made, state):
    _methods, members, registered = state
    fill_class(made, members)
    for other in registered:
        load("abc").ABCMeta.register(made, other)


def fill_class(made, members):
    for name, value in members.items():
        type.__setattr__(made, name, value)


def new_tuple(name, fields, defaults):
    return load("collections").namedtuple(name, fields, module="__main__",
                                          defaults=list(defaults.values()))


def make_member(kind, *arguments):
    """A member of an enumeration, whose own `__new__` would only look up existing ones."""
    plain = next(base for base in type.mro(kind) if not base.__flags__ & HEAP_TYPE)
    return plain.__new__(kind, *arguments)


def fill_member(member, state):
    member.__dict__.update(state)


def make_variable(kind, name, arguments, named):
    """A type variable: TypeVar, ParamSpec, NewType and the like, which pickle would look up by name."""
    made = attribute("typing", kind)(name, *arguments, **named)
    made.__module__ = "__main__"
    return made


def make_exception(kind, arguments):
    """Makes an exception without calling `__init__`, which has already run, and may take other arguments than it passed
    on."""
    return BaseException.__new__(kind, *arguments)


def make_proxy(mapping):
    return _types.MappingProxyType(mapping)


# ---- for older streams ----

def new_function(python, code, name, qualname, cells):
    if tuple(python) != PYTHON:
        raise ValueError(f"{qualname} was compiled by Python {'.'.join(map(str, python))}")
    names = sys.modules["__main__"].__dict__
    made = FunctionType(load("marshal").loads(code), names, name, None, tuple(cells) or None)
    made.__qualname__ = qualname
    return made


def new_class(name, qualname, bases, doc):
    return type(name, bases, {"__module__": "__main__", "__qualname__": qualname, "__doc__": doc})
