# SPDX-License-Identifier: Apache-2.0
"""The import guard: checks the code before it runs.

Advice to agents, not a wall: it reads names, and names can be reached in other ways. `strict` goes by names
alone, false alarms included; without it only what is surely an import, or a call of a builtin, counts.
"""

from .cell import decode
from .hooks import load
from .wire import Done, clean

ast = load("ast")

MODULES = frozenset((
    "subprocess", "os", "socket", "shutil", "sys", "ctypes", "importlib", "code", "signal",
    "multiprocessing", "threading", "pty", "fcntl", "termios", "resource", "posixpath", "http",
    "urllib", "requests", "httpx", "aiohttp", "webbrowser", "pickle", "tempfile", "pathlib"))
CRITICAL = frozenset(("os", "subprocess", "sys", "shutil"))
CALLS = frozenset((
    "compile", "exec", "eval", "__import__", "open", "breakpoint", "getattr", "globals", "locals",
    "vars", "dir", "delattr", "setattr"))
REFUSED = 126


def _blocked_modules(meta):
    """A name in both lists stays blocked; the critical four cannot be allowed."""
    block = frozenset(meta.get("block", ()))
    allow = frozenset(meta.get("allow", ()))
    return (MODULES - allow) | block | CRITICAL


def _imported(node, is_strict):
    """Top-level names of the modules a node imports, in order."""
    if isinstance(node, ast.Import):
        return [alias.name.partition(".")[0] for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module and (is_strict or node.level == 0):
        return [node.module.partition(".")[0]]
    return []


def _called(node, is_strict):
    """The name that a node calls; None if it calls nothing by name."""
    if not isinstance(node, ast.Call):
        return None
    if isinstance(node.func, ast.Name):
        return node.func.id
    if isinstance(node.func, ast.Attribute) and (is_strict or _is_builtins(node.func.value)):
        return node.func.attr
    return None


def _is_builtins(node):
    return isinstance(node, ast.Name) and node.id in ("builtins", "__builtins__")


def _own_names(tree):
    """Names that the code binds to something of its own: `from PIL.Image import open` is fine."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.ImportFrom) and node.module != "builtins":
            names.update(alias.asname or alias.name for alias in node.names)
    return names


def find(tree, meta):
    """The message for the first thing in the tree that is not allowed; None if there is none."""
    is_strict = bool(meta.get("strict"))
    modules = _blocked_modules(meta)
    calls = CALLS if is_strict else CALLS - _own_names(tree)
    for node in ast.walk(tree):
        for name in _imported(node, is_strict):
            if name in modules:
                return f'Blocked import: "{name}" is not allowed'
        name = _called(node, is_strict)
        if name in calls:
            return f'Blocked builtin: "{name}()" is not allowed'
    return None


def check(code, meta):
    """Testimony of a CHECK: `ok`, or `guard` with what was found."""
    try:
        tree = ast.parse(decode(code, "<code>"), "<code>")
        message = find(tree, meta)
    except SyntaxError as error:
        message = f"SyntaxError: {clean(str(error.msg))} (line {error.lineno})"
    except (RecursionError, MemoryError):
        message = "the code is nested too deeply, or too large, to be checked"
    except (ValueError, OverflowError) as error:
        message = f"SyntaxError: {clean(str(error))} (line 1)"
    if message is None:
        return Done()
    return Done("guard", REFUSED, message,
                "guard")
