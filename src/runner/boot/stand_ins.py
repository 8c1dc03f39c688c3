# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for what code written for Pyodide expects: a result by a fixed table of types, and packages that are
present, or reported as missing before the first line runs.

Owns:    these two, and `micropip`, for runs whose meta says so.
"""

import sys

from . import wire
from .hooks import load
from .inputs import InputError
from .jsonsafe import INT_MAX, TooLarge, Bounded, safe_repr
from .jsontext import dumps

REPR_MAX = 4096
CODE_MAX = 4 << 20  # largest code whose imports are checked

# Module -> package, where the two differ.
_PACKAGES = {"Crypto": "pycryptodome", "OpenSSL": "pyopenssl", "PIL": "pillow", "attr": "attrs",
             "bs4": "beautifulsoup4", "cv2": "opencv-python", "dateutil": "python-dateutil",
             "docx": "python-docx", "dotenv": "python-dotenv", "fitz": "pymupdf",
             "pptx": "python-pptx", "skimage": "scikit-image", "sklearn": "scikit-learn",
             "yaml": "pyyaml"}
_REMEDY = ("Nothing is installed while code runs here; the runtime must have them: "
           "viv runtime add NAME --requirements FILE")
_CATCHES = ("ImportError", "ModuleNotFoundError", "Exception", "BaseException")


class MissingPackages(InputError):
    """The code needs packages that this runtime does not have."""

    is_whole = True  # only its text is shown


class _Table(Bounded):
    """Converts nested values by the table; a type that it does not have becomes a repr."""

    __slots__ = ()

    def number(self, value):
        self.take(20)
        if isinstance(value, float):
            value = float.__pos__(value)
            return value if value - value == 0.0 else None
        value = int.__pos__(value)
        return value if -INT_MAX <= value < INT_MAX else self.text(safe_repr(value, REPR_MAX))

    def key(self, key):
        try:
            return self.text(key if type(key) is str else str(key))
        except (TooLarge, KeyboardInterrupt):
            raise
        except BaseException:
            return self.text(safe_repr(key, REPR_MAX))

    def known(self, value):
        if type(value) is range:
            return False, None
        return super().known(value)

    def from_library(self, value):
        moments = sys.modules.get("datetime")
        if moments and isinstance(value, moments.date):
            return True, self.text(value.isoformat())
        return False, None

    def fallback(self, value):
        return {"type": "not_serializable", "repr": self.text(safe_repr(value, REPR_MAX))}


def result_text(value, run):
    """The value as a MIME bundle: its repr, and its form by the table."""
    plain, _ = wire.cut_quote(safe_repr(value, REPR_MAX), REPR_MAX)
    try:
        text = dumps(_Table(run.result_max).convert(value))
        if len(text) > run.result_max:
            raise TooLarge
    except TooLarge:
        run.cut.add("result")
        text = dumps({"type": "not_serializable", "repr": wire.clean(safe_repr(value, REPR_MAX))})
    return '{"text/plain":' + plain + ',"application/json":' + text + "}"


def _catches(node):
    """Whether a `try` tolerates that its imports fail."""
    for handler in node.handlers:
        kinds = getattr(handler.type, "elts", [handler.type])
        if any(kind is None or getattr(kind, "id", "") in _CATCHES for kind in kinds):
            return True
    return False


def _imports(code):
    """Top-level names of the modules that the code needs, in order."""
    ast = load("ast")
    found, nodes = {}, [ast.parse(code)]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Import):
            found.update((alias.name.partition(".")[0], node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            found.setdefault(node.module.partition(".")[0], node.lineno)
        inner = list(ast.iter_child_nodes(node))
        if isinstance(node, ast.Try) and _catches(node):
            inner = [part for part in inner if part not in node.body]
        nodes.extend(inner)
    return sorted(found, key=found.get)


def _is_stdlib(name):
    names = getattr(sys, "stdlib_module_names", None)  # since Python 3.10
    if names is not None:
        return name in names
    origin = getattr(load("importlib.util").find_spec(name), "origin", "") or ""
    return "site-packages" not in origin and "dist-packages" not in origin


def _is_here(name, code):
    if name in sys.modules or f"{name}.py" in code:  # the code may be about to write that module
        return True
    try:
        return load("importlib.util").find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def stand_in():
    """Provides `micropip`, which code for Pyodide asks for its packages: here they are installed already, or not at
    all."""
    if "micropip" in sys.modules:
        return
    modules = {package: module for module, package in _PACKAGES.items()}

    async def install(requirements, *_args, **_kwargs):
        for text in [requirements] if isinstance(requirements, str) else requirements:
            name = load("re").split(r"[^A-Za-z0-9._-]", str(text).strip(), maxsplit=1)[0]
            if not _is_here(modules.get(name.lower(), name.lower().replace("-", "_")), ""):
                raise ValueError(f"Failed to install required Python packages: {name}. {_REMEDY}")

    module = type(sys)("micropip", "What code for Pyodide calls; nothing is ever installed.")
    module.install = install
    sys.modules["micropip"] = module


def packages(code):
    """The packages that the code imports; raises MissingPackages for those that are not installed."""
    if len(code) > CODE_MAX:
        return []
    try:
        text = bytes(code).decode("utf-8")
        names = _imports(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []  # the run itself will report what is wrong
    missing = [name for name in names if not _is_here(name, text)]
    if missing:
        shown = ", ".join(_PACKAGES.get(name, name) for name in missing)
        raise MissingPackages(f"Failed to install required Python packages: {shown}. {_REMEDY}")
    return [wire.clean(_PACKAGES.get(name, name)) for name in names
            if name != "micropip" and not _is_stdlib(name)]
