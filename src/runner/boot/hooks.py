# SPDX-License-Identifier: Apache-2.0
"""Changes certain modules when they are imported, in the zygote or by user code.

Owns:    the finder that lets us change a module right after it was loaded, and the way the runner
         loads modules for itself.
May not: import any of the modules it waits for.
"""

import sys
from importlib import import_module

from _frozen_importlib_external import PathFinder

# sys.path as it was before user code: later a `random.py` in the user's folder would hide the real one.
_path = [entry for entry in sys.path if entry]
_modules = sys.modules

CELLS_MAX = 1000  # cells whose source is kept; a session can have more
sources = {}  # file name of a cell -> its source, for tracebacks, warnings and inspect


def load(name):
    """A module of the standard library, even if the user's folder has a file of that name."""
    module = _modules.get(name)
    if module is None:
        shown = sys.path[:]
        sys.path[:] = _path
        try:
            module = import_module(name)
        finally:
            sys.path[:] = shown
    return module


def remember(filename, source):
    """Lets tracebacks show this cell's lines. `linecache` is not imported for this: that costs 3 ms."""
    cache = _modules.get("linecache")
    if len(sources) >= CELLS_MAX:
        oldest = next(iter(sources))
        del sources[oldest]
        if cache is not None:
            cache.cache.pop(oldest, None)
    sources[filename] = source
    if cache is not None:
        _fill(cache, [filename])


def lines(source):
    """The lines as Python counts them, each with a line end: str.splitlines also splits at form feeds, and tracebacks
    place their marks as if the last line had an end, as lines of a file do."""
    return [line + "\n" for line in source.removesuffix("\n").split("\n")]


def _fill(linecache, names=None):
    for name in list(sources) if names is None else names:
        source = sources[name]
        # Without a time of change, linecache never looks for such a file.
        linecache.cache[name] = (len(source), None, lines(source), name)


def _charts(function):
    def hook(module):
        from . import charts

        getattr(charts, function)(module)
    return hook


def _plotly(function):
    def hook(module):
        from . import plotly_figures

        getattr(plotly_figures, function)(module)
    return hook


def _ipython(module):
    from .rich import display

    module.display = display


_hooks = {
    "linecache": _fill,
    "matplotlib": _charts("hook_matplotlib"),
    "matplotlib.figure": _charts("hook_figure"),
    "matplotlib.pyplot": _charts("hook_pyplot"),
    "matplotlib.axes._axes": _charts("hook_axes"),
    "plotly.basedatatypes": _plotly("hook_figure"),
    "plotly.io": _plotly("hook_io"),
    "IPython.display": _ipython,
}


class _Finder:
    """Finds nothing itself: asks the usual finder, and makes the loader call us at the end."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        hook = _hooks.get(name)
        if hook is None:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or spec.loader is None:
            return spec
        load_it = spec.loader.exec_module

        def exec_module(module):
            load_it(module)
            try:
                hook(module)
            except Exception as error:
                # A version that we do not know: the library still works, only our extras are missing.
                print(f"vivarium: {name} is not hooked: {error!r}", file=sys.stderr)

        spec.loader.exec_module = exec_module
        return spec


def install():
    """Puts the finder in front; modules that are already loaded get their hook now."""
    if _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)
        for name, hook in _hooks.items():
            if name in _modules:
                hook(_modules[name])


def quiet(make):
    """Wraps `make` so that warnings of pandas and numpy are not written to the user's stderr."""
    def made(*args):
        warnings = load("warnings")
        with warnings.catch_warnings(), load("numpy").errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return make(*args)
    return made
