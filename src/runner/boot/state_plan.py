# SPDX-License-Identifier: Apache-2.0
"""Which of a session's variables can be written as bytes, and how."""

import gc
import sys

from . import wire
from .hooks import load
from .look_vars import user_names
from .state_reduce import PROTOCOL, Telling

ModuleType = load("types").ModuleType

# Immutable types: it makes no difference whether such values are shared.
_ATOMS = frozenset(map(id, (int, float, complex, bool, str, bytes, range, type(None), type(...), type(NotImplemented))))


class NoRoom(Exception):
    """The state is larger than its room; the text is a sentence."""


def reason(error):
    """An exception as one sentence, or a text as it is."""
    text = str(error) if isinstance(error, (str, NoRoom)) else f"{type(error).__name__}: {error}"
    return wire.clean(text)[:300]


class _Groups:
    """Groups of variables that share objects, found by pickling each of them to /dev/null."""

    def __init__(self, telling):
        self.names = {}  # name -> the next name of its group, or itself for the group's leader
        self.needs = set()  # top-level modules that are needed to read them
        self.values = {}
        self.seen = {}  # id of an object -> the first name that led to it
        self.held = []  # every object seen: its id stays unique as long as it lives
        self.name = None
        self.nowhere = open("/dev/null", "wb", 0)
        self.scout = self._scout(telling)(self.nowhere, PROTOCOL)

    def _scout(groups, telling):
        class Scout(telling.pickler):
            def persistent_id(self, thing):
                if id(type(thing)) not in _ATOMS:
                    groups.meet(thing)

            def reducer_override(self, thing):
                groups.need(thing)
                return super().reducer_override(thing)

        return Scout

    def need(self, thing):
        for owner in (type(thing), thing):
            module = getattr(owner, "__module__", None)
            if type(module) is str:
                self.needs.add(module.partition(".")[0])

    def meet(self, thing):
        first = self.seen.get(id(thing))
        if first is None:
            self.seen[id(thing)] = self.name
            self.held.append(thing)
        elif first is not self.name and not _is_common(thing):
            self.names[self.leader(first)] = self.leader(self.name)

    def leader(self, name):
        while self.names[name] is not name:
            self.names[name] = self.names[self.names[name]]
            name = self.names[name]
        return name

    def add(self, name, value):
        """Adds a variable; raises what pickling it raises."""
        self.names[name] = self.name = name
        try:
            self.scout.dump(value)
            self.values[name] = value
        except BaseException:
            self.scout.clear_memo()  # it refers to objects that were never finished
            raise

    def finish(self):
        """[{name: value}], in the order of their first names."""
        self.nowhere.close()
        found = {}
        for name, value in self.values.items():
            found.setdefault(self.leader(name), {})[name] = value
        return list(found.values())


def _is_common(thing):
    """Whether any process has the same object, found by name or equal to this one."""
    numpy = sys.modules.get("numpy")
    if isinstance(thing, (type, type(len), type(load))):
        return getattr(thing, "__module__", None) != "__main__"
    return thing == () if type(thing) is tuple else isinstance(thing, getattr(numpy, "dtype", ()))


class Plan:
    """The treatment of each name."""

    def __init__(self, interpreter, has_values=True):
        self.modules, self.groups, self.lost = {}, [], []
        self.settings = {}, {}  # settings of the interpreter: to write before the values, and after them
        self.needs = set()  # top-level modules that are needed to read the state
        self.telling = Telling(interpreter.notebook.names, self.lose)
        was_enabled = gc.isenabled()
        gc.disable()  # it would scan everything that is held again and again
        try:
            self._place(user_names(interpreter) if has_values else ())
        finally:
            if was_enabled:
                gc.enable()

    def _place(self, items):
        groups = _Groups(self.telling)
        for name, value in items:
            try:
                if not isinstance(value, ModuleType):
                    groups.add(name, value)
                else:
                    self.telling.tell(value)  # raises if the module cannot be imported
                    self.modules[name] = value.__name__
                    self.needs.add(value.__name__.partition(".")[0])
            except BaseException as error:
                self.lose(name, error)
        self.groups = groups.finish()
        self.needs |= groups.needs - {"builtins"}

    def names(self):
        """The names that will be written."""
        return [*self.modules, *(name for group in self.groups for name in group)]

    def packages(self):
        """The needed modules that do not come with Python."""
        ours = {"__main__", "vivarium", *getattr(sys, "stdlib_module_names", ())}  # since Python 3.10
        return sorted(wire.clean(name) for name in self.needs - ours)

    def lose(self, name, error):
        self.lost.append({"name": wire.clean(name), "why": reason(error)})
