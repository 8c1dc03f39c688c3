# SPDX-License-Identifier: Apache-2.0
"""What of a session's variables can be told by bytes, and how."""

from types import FunctionType, ModuleType

from . import hooks, wire
from .hooks import load
from .look_vars import user_names

PROTOCOL = 5  # of pickle


def _needs(value):
    """The packages without which a pickle of `value` cannot be read; raises where there is none."""
    found = set()

    class Scout(load("pickle").Pickler):
        def reducer_override(self, thing):
            for owner in (type(thing), thing):
                module = getattr(owner, "__module__", None)
                if type(module) is str:
                    found.add(module.partition(".")[0])
            return NotImplemented

    with open("/dev/null", "wb", 0) as nowhere:
        Scout(nowhere, PROTOCOL).dump(value)
    return frozenset(found - {"builtins"})


def reason(error):
    """In a sentence: what was raised, or a text that says it already."""
    text = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
    return wire.clean(text)[:300]


def _definition(value):
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
                    lines = source.splitlines(True)[first - 1:node.end_lineno]
                    return cell, first, load("textwrap").dedent("".join(lines))
    raise LookupError("its source is not kept")


class Plan:
    """What becomes of each name."""

    def __init__(self, interpreter):
        self.modules, self.groups, self.defined, self.bound, self.lost = {}, {}, [], {}, []
        for name, value in user_names(interpreter):
            try:
                self._place(name, value)
            except BaseException as error:
                self.lose(name, error)
        order = list(hooks.sources)
        self.defined.sort(key=lambda item: (order.index(item[0]), item[1]))

    def names(self):
        """Those that will be sent."""
        return [*self.modules, *(name for group in self.groups.values() for name in group),
                *(item[3] for item in self.defined), *self.bound]

    def lose(self, name, error):
        self.lost.append({"name": wire.clean(name), "why": reason(error)})

    def _place(self, name, value):
        if isinstance(value, ModuleType):
            self.modules[name] = value.__name__
            return
        definition = _definition(value)
        if definition is not None:
            self.defined.append((*_source(definition), name))
            return
        needs = _needs(value)
        if "__main__" in needs:
            self.bound[name] = value
        else:
            # What shares an object shares it again, where it comes from the same packages.
            self.groups.setdefault(needs, {})[name] = value
