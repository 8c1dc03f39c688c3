# SPDX-License-Identifier: Apache-2.0
"""Completion from live names: what can be inserted at the cursor.

Nothing is called; candidates are names, attributes, and keys of dicts and frames. Reading an attribute may run
user code, which is safe in a look.
"""

import builtins
import sys

from .hooks import load
from .look import LookError

MATCHES_MAX = 500
TEXT_MAX = 1 << 20

_NAME = r"[^\W\d]\w*"


def complete(names, look):
    """{"matches":[...],"start":n,"end":n}: each match replaces code[start:end]."""
    code, cursor = look.get("code"), look.get("cursor")
    code = code if isinstance(code, str) else ""
    cursor = cursor if isinstance(cursor, int) else len(code)
    if not 0 <= cursor <= len(code):
        raise LookError(f"{cursor} is behind the end of the code, which has {len(code)} characters", field="cursor")
    line = code[max(0, cursor - TEXT_MAX):cursor].rpartition("\n")[2]
    prefix, found = _find(names, line)
    found = sorted({text for text in found if text.startswith(prefix)},
                   key=lambda text: (text.startswith("_"), text.startswith("__"), text))
    if not prefix.startswith("_"):
        found = [text for text in found if not text.startswith("_")]
    return {"matches": found[:MATCHES_MAX], "start": cursor - len(prefix), "end": cursor}


def _find(names, line):
    """(what is typed already, candidates)."""
    match = load("re").match
    key = match(rf".*?({_NAME}(?:\.{_NAME})*)\[([\"'])((?:(?!\2).)*)$", line)
    if key:
        return key[3], [text + key[2] + "]" for text in _keys(_value(names, key[1]))]
    module = match(rf"\s*(?:import|from)\s+((?:{_NAME}\.)*\w*)$", line)
    if module:
        parent = module[1].rpartition(".")[0]
        return module[1], [f"{parent}.{name}" for name in _submodules(parent)] if parent else _module_names()
    inner = match(rf"\s*from\s+({_NAME}(?:\.{_NAME})*)\s+import\s+(?:.*,\s*)?(\w*)$", line)
    if inner:
        return inner[2], [*_attributes(sys.modules.get(inner[1])), *_submodules(inner[1])]
    dotted = match(rf".*?(?:^|(?<![\w.)\]\"']))({_NAME}(?:\.{_NAME})*)\.(\w*)$", line)
    if dotted:
        return dotted[2], _attributes(_value(names, dotted[1]))
    word = match(r".*?(?<![\w.])([^\W\d]\w*)$", line)
    if word:
        keywords = load("keyword").kwlist
        return word[1], [*filter(_is_text, names), *vars(builtins), *keywords]
    return "", []


def _is_text(value):
    return type(value) is str


def _value(names, dotted):
    """The value of a dotted name; None if there is none."""
    first, *rest = dotted.split(".")
    value = names.get(first, getattr(builtins, first, None))
    for name in rest:
        value = getattr(value, name, None)
    return value


def _attributes(value):
    return [] if value is None else list(filter(_is_text, dir(value)))


def _keys(value):
    frame = getattr(sys.modules.get("pandas"), "DataFrame", ())
    if isinstance(value, frame):
        return list(filter(_is_text, value.columns))
    return list(filter(_is_text, value)) if isinstance(value, dict) else []


def _module_names():
    """Modules that `import` finds, without submodules."""
    known = {name for name in sys.modules if "." not in name and not name.startswith("vivarium")}
    return known | set(getattr(sys, "stdlib_module_names", ()))


def _submodules(package):
    """The submodules of a package; nothing is imported to find them."""
    if package.startswith("vivarium"):
        return []
    found = {name[len(package) + 1:] for name in sys.modules if name.startswith(f"{package}.")}
    found = {name for name in found if "." not in name}
    try:
        path = sys.modules[package].__path__ if package in sys.modules else _path_of(package)
        found.update(info.name for info in load("pkgutil").iter_modules(path))
    except (AttributeError, ImportError, TypeError, ValueError):
        pass  # not a package
    return found


def _path_of(package):
    """The package's folders, looked up from the top: `find_spec` would import its parents."""
    machinery, path = load("importlib.machinery"), None
    for part in package.split("."):
        spec = machinery.PathFinder.find_spec(part, path)
        path = spec.submodule_search_locations if spec else None
        if path is None:
            raise ImportError(package)
    return path
