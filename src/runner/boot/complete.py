# SPDX-License-Identifier: Apache-2.0
"""Completion from live names: what may stand at the cursor.

Nothing is called: attributes of names, keys of dicts and frames. Getting an attribute may be user
code; it runs in a look.
"""

import builtins
import sys

from .hooks import load

MATCHES_MAX = 500
TEXT_MAX = 1 << 20

_NAME = r"[^\W\d]\w*"


def complete(names, look):
    """{"matches":[...],"start":n,"end":n}: each match replaces code[start:end]."""
    code, cursor = look.get("code"), look.get("cursor")
    code = code if isinstance(code, str) else ""
    cursor = min(max(0, cursor), len(code)) if isinstance(cursor, int) else len(code)
    line = code[max(0, cursor - TEXT_MAX):cursor].rpartition("\n")[2]
    prefix, found = _find(names, line)
    found = sorted({text for text in found if text.startswith(prefix)},
                   key=lambda text: (text.startswith("_"), text.startswith("__"), text))
    if not prefix.startswith("_"):
        found = [text for text in found if not text.startswith("_")]
    return {"matches": found[:MATCHES_MAX], "start": cursor - len(prefix), "end": cursor}


def _find(names, line):
    """(what stands there already, candidates)."""
    match = load("re").match
    key = match(rf".*?({_NAME}(?:\.{_NAME})*)\[([\"'])((?:(?!\2).)*)$", line)
    if key:
        return key[3], [text + key[2] + "]" for text in _keys(_value(names, key[1]))]
    module = match(rf"\s*(?:import|from)\s+((?:{_NAME}\.)*\w*)$", line)
    if module:
        return module[1], _module_names()
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
    """What a dotted name stands for; None where that is nothing."""
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
    known = {name for name in sys.modules if not name.startswith("vivarium")}
    return known | set(getattr(sys, "stdlib_module_names", ()))
