# SPDX-License-Identifier: Apache-2.0
"""Pickles functions, classes and other things that pickle would only refer to by name, by their contents.

Owns:    a Pickler class for the values of one session. state_values.py makes them again.

A class of the session is written with everything it holds now, whatever its source says. A member of a class, or
an attribute of a function, that cannot be pickled is left out and listed as lost; a function whose default or
enclosed variable cannot be pickled is lost itself.
"""

import gc
import sys

from . import hooks
from .hooks import load
from .state_values import (CellType, CodeType, EMPTY, FunctionType, HEAP_TYPE, MAGIC, attribute, empty_cell, fill_class,
                           fill_function, fill_member, finish_class, imported, make_cached, make_class, make_exception,
                           make_function, make_member, make_proxy, make_variable, new_tuple, place_of)

PROTOCOL = 5  # pickle's

# Members that every class gets automatically, and members that a class must be created with.
_OWN = frozenset(("__dict__", "__weakref__", "_abc_impl"))
_FIRST = ("__module__", "__qualname__", "__doc__", "__slots__", "__orig_bases__")
# Members that collections.namedtuple() gives to a class.
_OF_TUPLE = frozenset(("__new__", "_make", "_replace", "__replace__", "__repr__", "_asdict", "__getnewargs__", "_fields",
                       "_field_defaults", "__slots__", "__match_args__", "__module__", "__qualname__"))
_VARIABLES = {  # type variables: their attributes, and the arguments that set them
    "TypeVar": (("__bound__", "bound"), ("__covariant__", "covariant"), ("__contravariant__", "contravariant"),
                ("__infer_variance__", "infer_variance"), ("__default__", "default")),
    "ParamSpec": (("__bound__", "bound"), ("__covariant__", "covariant"), ("__contravariant__", "contravariant"),
                  ("__infer_variance__", "infer_variance"), ("__default__", "default")),
    "TypeVarTuple": (("__default__", "default"),),
}


_METHODS = (FunctionType, staticmethod, classmethod, property)


class _Methods:
    """The methods of a class. They are read before its other members, which may be instances of it."""

    def __init__(self, owner, members):
        self.owner, self.members = owner, members


class Telling:
    """How the objects of one session are pickled. `lose(name, error)` is called for parts that cannot be."""

    def __init__(self, names, lose):
        self.names, self.lose = names, lose
        self.kept = {}  # id of a class or a function -> (itself, its members that can be pickled)
        self.open = set()  # ids of objects whose members are being checked
        self.sources = {}  # sources of cells that functions come from: name in the state -> source
        self.renamed = {}  # name of a cell -> name in the state
        self.table = self._table()
        self.enum = getattr(sys.modules.get("enum"), "Enum", ())
        self.abc = load("abc")
        self.pickler = self._pickler()

    def _table(self):
        types, functools = load("types"), load("functools")
        weakref, typing = load("weakref"), sys.modules.get("typing")
        table = {
            FunctionType: self._function,
            CellType: lambda _cell: (empty_cell, ()),
            types.ModuleType: self._module,
            types.MappingProxyType: lambda proxy: (make_proxy, (gc.get_referents(proxy)[0],)),
            staticmethod: lambda method: (staticmethod, (method.__func__,)),
            classmethod: lambda method: (classmethod, (method.__func__,)),
            property: lambda own: (property, (own.fget, own.fset, own.fdel, own.__doc__)),
            functools.cached_property: lambda own: (functools.cached_property, (own.func,),
                                                    {"attrname": own.attrname, "__doc__": own.__doc__}),
            type(functools.lru_cache(len)): self._cached,
            weakref.WeakKeyDictionary: lambda own: (weakref.WeakKeyDictionary, (dict(own),)),
            weakref.WeakValueDictionary: lambda own: (weakref.WeakValueDictionary, (dict(own),)),
            weakref.WeakSet: lambda own: (weakref.WeakSet, (list(own),)),
            _Methods: lambda own: (fill_class, (own.owner, own.members)),
        }
        for name in _VARIABLES if typing else ():
            if hasattr(typing, name):
                table[getattr(typing, name)] = self._variable
        if isinstance(getattr(typing, "NewType", None), type):  # before Python 3.10 NewType makes functions
            table[typing.NewType] = lambda own: (make_variable, ("NewType", own.__name__, (own.__supertype__,), {}))
        return {id(kind): tell for kind, tell in table.items()}  # by id: no metaclass is asked

    def _pickler(self):
        class Pickler(load("pickle").Pickler):
            def reducer_override(_self, thing):
                return self.tell(thing)

        return Pickler

    def tell(self, thing):
        """Implements a pickler's reducer_override."""
        if id(thing) in self.open:
            return object, ()
        kind = type(thing)
        tell = self.table.get(id(kind))
        if tell is not None:
            return tell(thing)
        if issubclass(kind, type):
            return self._class(thing) if thing.__flags__ & HEAP_TYPE and not self._is_found(thing) else NotImplemented
        if issubclass(kind, BaseException) and _is_plain_exception(kind):
            return make_exception, (kind, thing.args), thing.__dict__ or None
        if kind.__module__ == "dataclasses":
            return self._sentinel(thing)
        if issubclass(kind, self.enum) and not self._is_found(kind):
            _new, arguments, state = object.__reduce_ex__(thing, 2)[:3]
            return make_member, arguments, state, None, None, fill_member
        for name in ("stdin", "stdout", "stderr"):
            if thing is getattr(sys, name, None):
                return attribute, ("sys", name)
        return NotImplemented

    @staticmethod
    def _is_found(thing, name=None):
        """Whether the object is found under its own name, in a module that other processes have, too."""
        first, *rest = (name or thing.__qualname__).split(".")
        module = thing.__module__
        found = getattr(sys.modules.get(module), first, None) if module != "__main__" else None
        for part in rest:
            found = getattr(found, part, None)
        return found is thing

    def _probe(self, value):
        with open("/dev/null", "wb", 0) as nowhere:
            self.pickler(nowhere, PROTOCOL).dump(value)

    def _members(self, owner, members):
        """The members that can be pickled. References back to the owner do not count against a member."""
        if id(owner) not in self.kept:
            kept = {}
            self.open.add(id(owner))
            try:
                for name, value in members.items():
                    try:
                        self._probe(value)
                        kept[name] = value
                    except BaseException as error:
                        self.lose(f"{owner.__qualname__}.{name}", error)
            finally:
                self.open.discard(id(owner))
            self.kept[id(owner)] = owner, kept
        return self.kept[id(owner)][1]

    # ---- functions ----

    def _function(self, function):
        if self._is_found(function):
            return NotImplemented
        module = self._module_of(function)
        code = self._moved(function.__code__)
        cells = function.__closure__ or ()
        state = {"names": code.co_freevars, "cells": [_content(cell) for cell in cells],
                 "defaults": function.__defaults__, "kwdefaults": function.__kwdefaults__,
                 "dict": self._members(function, function.__dict__), "module": function.__module__,
                 "annotations": function.__annotations__, "doc": function.__doc__}
        if getattr(function, "__type_params__", ()):
            state["type_params"] = function.__type_params__
        made = (MAGIC, load("marshal").dumps(code), place_of(code, code.co_filename), module, function.__name__,
                function.__qualname__, cells)
        # The state is set after the function was made: it may refer to the function itself.
        return make_function, made, state, None, None, fill_function

    def _module_of(self, function):
        """The name of the module whose variables the function uses."""
        if function.__globals__ is self.names:
            return "__main__"
        name = function.__globals__.get("__name__")
        if getattr(sys.modules.get(name), "__dict__", None) is not function.__globals__:
            raise TypeError(f"{function.__qualname__} is not a function of the session itself")
        return name

    def _moved(self, code):
        """The same code under a file name that is free in another session, which has a `<cell 1>` of its own."""
        inner = tuple(self._moved(part) if isinstance(part, CodeType) else part for part in code.co_consts)
        return code.replace(co_filename=self._saved(code.co_filename), co_consts=inner)

    def _saved(self, filename):
        source = hooks.sources.get(filename)
        if source is None:
            return filename
        if filename not in self.renamed:
            name, number = filename, 1
            if not filename.startswith("<saved "):
                name = base = f"<saved {filename.strip('<>')}"
                while f"{name}>" in hooks.sources:
                    number += 1
                    name = f"{base}, {number}"
                name += ">"
            self.renamed[filename] = name
            self.sources[name] = source
        return self.renamed[filename]

    @staticmethod
    def _cached(wrapper):
        told = wrapper.cache_parameters()
        return make_cached, (wrapper.__wrapped__, told["maxsize"], told["typed"]), dict(vars(wrapper))

    # ---- classes ----

    def _class(self, thing):
        members = {name: value for name, value in vars(thing).items()
                   if name not in _OWN and not _is_slot(thing, name, value)}
        fields = members.get("_fields")
        if thing.__bases__ == (tuple,) and type(fields) is tuple:
            made = thing.__name__, fields, thing._field_defaults
            rest = {name: value for name, value in members.items() if name not in _OF_TUPLE and name not in fields}
            return new_tuple, made, (None, self._members(thing, rest), ()), None, None, finish_class
        first = {name: members.pop(name) for name in _FIRST if name in members}
        registered = []
        if issubclass(type(thing), self.abc.ABCMeta):
            registered = [other for other in (weak() for weak in self.abc._get_dump(thing)[0]) if other is not None]
        made = type(thing), thing.__name__, thing.__bases__, first
        members = self._members(thing, members)
        methods = {name: value for name, value in members.items() if type(value) in _METHODS}
        rest = {name: value for name, value in members.items() if name not in methods}
        return make_class, made, (_Methods(thing, methods), rest, registered), None, None, finish_class

    # ---- the rest ----

    @staticmethod
    def _module(module):
        if sys.modules.get(module.__name__) is not module:
            raise TypeError(f"{module.__name__} is not a module that can be imported")
        return imported, (module.__name__,)

    def _variable(self, own):
        if self._is_found(own, own.__name__):
            return NotImplemented
        unset = None, False, getattr(sys.modules["typing"], "NoDefault", None)
        named = {}
        for member, name in _VARIABLES[type(own).__name__]:
            value = getattr(own, member, None)
            if not any(value is one for one in unset):
                named[name] = value
        return make_variable, (type(own).__name__, own.__name__, getattr(own, "__constraints__", ()), named)

    @staticmethod
    def _sentinel(thing):
        """A constant of `dataclasses` that is compared by identity, by its name."""
        for name, value in vars(sys.modules["dataclasses"]).items():
            if value is thing:
                return attribute, ("dataclasses", name)
        return NotImplemented


def _is_plain_exception(kind):
    """Whether the class adds nothing but an `__init__` of the session's to an exception's arguments and `__dict__`."""
    built_in = next(base for base in kind.__mro__ if not base.__flags__ & HEAP_TYPE)
    return type(kind.__init__) is FunctionType and type(kind.__new__) is type(len) and \
        kind.__reduce__ is BaseException.__reduce__ and built_in.__basicsize__ == BaseException.__basicsize__


def _content(cell):
    try:
        return (cell.cell_contents,)
    except ValueError:
        return EMPTY


def _is_slot(owner, name, value):
    """Whether the member is made together with the class, by its `__slots__`."""
    return type(value) is load("types").MemberDescriptorType and value.__objclass__ is owner
