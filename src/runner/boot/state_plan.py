# SPDX-License-Identifier: Apache-2.0
"""What of a session's variables can be told by bytes, and how."""

import sys

from . import hooks, wire
from .hooks import load
from .look_vars import user_names
from .state_values import pickler

_types = load("types")
FunctionType, ModuleType = _types.FunctionType, _types.ModuleType

PROTOCOL = 5  # of pickle


def _needs(value, pickler):
    """The packages without which a pickle of `value` cannot be read; raises where there is none."""
    found = set()

    class Scout(pickler):
        def reducer_override(self, thing):
            for owner in (type(thing), thing):
                module = getattr(owner, "__module__", None)
                if type(module) is str:
                    found.add(module.partition(".")[0])
            return super().reducer_override(thing)

    with open("/dev/null", "wb", 0) as nowhere:
        Scout(nowhere, PROTOCOL).dump(value)
    return frozenset(found - {"builtins"})


def reason(error):
    """In a sentence: what was raised, or a text that says it already."""
    text = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
    return wire.clean(text)[:300]


def definition_of(value):
    """The function or class behind `value` that a cell has defined, or None."""
    for _ in range(16):
        if isinstance(value, (FunctionType, type)):
            break
        value = getattr(value, "__wrapped__", None)
    if isinstance(value, (FunctionType, type)) and value.__module__ == "__main__":
        return value
    return None


def _source(definition):
    """(cell, line, text) of a definition; LookupError says why there is none."""
    name = definition.__qualname__
    if not name.isidentifier() or getattr(definition, "__closure__", None):
        raise LookupError("it is a lambda, or was defined inside of something else")
    ast = load("ast")
    code = getattr(definition, "__code__", None)
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef) if code else ast.ClassDef
    for cell in [code.co_filename] if code else list(reversed(list(hooks.sources))):
        source = hooks.sources.get(cell)
        if source is None or name not in source:
            continue
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, kinds) and node.name == name:
                first = min([node.lineno, *(part.lineno for part in node.decorator_list)])
                if code is None or code.co_firstlineno in (first, node.lineno):
                    lines = hooks.lines(source)[first - 1:node.end_lineno]
                    return cell, first, load("textwrap").dedent("".join(lines))
    raise LookupError("its source is not kept")


def _since(definition):
    """What a definition has come to hold, and its source cannot tell: values of a function's
    parameters, attributes."""
    if isinstance(definition, FunctionType):
        kept = {"__defaults__": definition.__defaults__, "__kwdefaults__": definition.__kwdefaults__}
        return {**definition.__dict__, **{name: value for name, value in kept.items() if value}}
    if type(definition).__name__ not in ("type", "ABCMeta"):
        return {}  # of an enumeration, say: its attributes are its own business
    return {name: value for name, value in vars(definition).items()
            if not name.startswith("__") and name != "_abc_impl" and not hasattr(value, "__get__")}


class Plan:
    """What becomes of each name."""

    def __init__(self, interpreter, has_values=True):
        self.modules, self.groups, self.defined, self.bound, self.lost = {}, {}, [], {}, []
        self.since = {}  # name of a definition -> its attributes
        self.needs = set()  # top-level modules that must be there to read it
        definitions = {}
        self.pickler = pickler(interpreter.notebook.names, definitions)
        every = user_names(interpreter) if has_values else ()
        values = [item for item in every if not self._define(*item, definitions)]
        for place, pairs in ((self._keep, definitions.items()), (self._place, values)):
            for name, value in pairs:
                try:
                    place(name, value)
                except BaseException as error:
                    self.lose(name, error)
        order = list(hooks.sources)
        self.defined.sort(key=lambda item: (order.index(item[0]), item[1]))

    def names(self):
        """Those that will be sent."""
        return [*self.modules, *(name for group in self.groups.values() for name in group),
                *(item[3] for item in self.defined), *self.bound]

    def packages(self):
        """Those of the needs that do not come with Python."""
        ours = {"__main__", "vivarium", *getattr(sys, "stdlib_module_names", ())}  # from 3.10 on
        return sorted(wire.clean(name) for name in self.needs - ours)

    def lose(self, name, error):
        self.lost.append({"name": wire.clean(name), "why": reason(error)})

    def _define(self, name, value, definitions):
        """Whether there is a source for it, or it is a module."""
        if isinstance(value, ModuleType):
            self.modules[name] = value.__name__
            self.needs.add(value.__name__.partition(".")[0])
            return True
        try:
            definition = definition_of(value)
            if definition is None:
                return False
            self.defined.append((*_source(definition), name))
        except BaseException:
            return False  # it may be told by its value
        definitions[name] = definition
        return True

    def _keep(self, name, definition):
        for key, value in _since(definition).items():
            try:
                self.needs |= _needs(value, self.pickler)
                self.since.setdefault(name, {})[key] = value
            except BaseException as error:
                self.lose(f"{name}.{key}", error)

    def _place(self, name, value):
        needs = _needs(value, self.pickler)
        self.needs |= needs
        if "__main__" in needs:
            self.bound[name] = value
        else:
            # What shares an object shares it again, where it comes from the same packages.
            self.groups.setdefault(needs, {})[name] = value
