# SPDX-License-Identifier: Apache-2.0
"""The zygote: imports modules once, so that each fork starts with them.

Owns:    preloading, and using each library once: much of it is initialised at its first use, and what
         the zygote has initialised, its forks need not.
May not: run user code, draw random numbers, or leave a thread behind.
"""

import gc
import os
import re
import sys
from importlib import import_module

import _vivarium

from . import reseed, wire

PRELOAD_FAILED = 3

# Every run may need these; a fork should not have to load them. Not asyncio: it brings OpenSSL, and half as much memory
# again to a bare zygote, whose page tables each fork would copy.
_OURS = ("ast", "base64", "csv", "hashlib", "inspect", "io", "json", "keyword", "linecache",
         "pickle", "random", "re", "reprlib", "tempfile", "textwrap", "tokenize", "traceback",
         "types", "warnings")
_PARTS = ("blockers", "charts", "chart_axis", "chart_bars", "chart_boxes", "chart_data", "chart_lacks", "chart_names",
          "chart_style", "command", "complete", "errors", "files", "fingerprint", "fork", "guard", "inputs",
          "jsonsafe", "look", "look_files", "look_vars",
          "plotly_figures", "positions", "rich", "rows", "saved", "stand_ins", "state", "state_read", "tables")

# How often the zygote rehearses a cell before it is forked. Python writes into a function that is new to it: caches at
# the first call, faster bytecode by the eighth (3.11). Forks need not write these pages again, so they stay shared: 130
# pages and 0.5 ms less for each fork.
_PLAYS = 8
_fillers = []  # keeps what fills the holes


def _use_pandas(pandas):
    """The paths that nearly every analysis takes."""
    from io import StringIO

    frame = pandas.read_csv(StringIO("key,value,day\na,1,2020-01-01\nb,2.5,2020-01-02\na,3,\n"))
    frame["day"] = pandas.to_datetime(frame["day"])
    grouped = frame.groupby("key")["value"].agg(["mean", "sum"]).reset_index()
    merged = frame.merge(grouped, on="key").sort_values("value")
    merged.describe()
    repr(merged)
    merged._repr_html_()
    merged.to_csv(StringIO())


def _use_pyplot(pyplot):
    """Draws once, so that fonts are found and the font cache is written here."""
    from io import BytesIO

    from matplotlib import font_manager

    figure, axes = pyplot.subplots()
    axes.plot([1, 2], [1, 2], label="a")
    axes.bar(["a", "b"], [1, 2])
    axes.set_title("a")
    axes.legend()
    figure.savefig(BytesIO(), format="png", bbox_inches="tight")
    pyplot.close(figure)
    # A font keeps its file open, but a sandbox keeps no descriptors: a fork would read from a closed one.
    font_manager._get_font.cache_clear()


_USES = {"pandas": _use_pandas, "matplotlib.pyplot": _use_pyplot}


def _is_absent(name, error):
    """Whether the error says that `name` itself is not installed, rather than one of its dependencies."""
    return isinstance(error, ModuleNotFoundError) and error.name is not None \
        and (name + ".").startswith(error.name + ".")


def preload(fd, names):
    """Imports the runtime's modules and returns those that are not installed: code that does not need them still runs.
    If one is broken, tells launch why and ends the process."""
    _vivarium.huge()
    os.environ.pop("GLIBC_TUNABLES", None)  # it was for this process, not for programs that code starts
    lacks = []
    for name in names:
        try:
            import_module(name)
        except BaseException as error:
            if _is_absent(name, error):
                lacks.append(name)
                continue
            _vivarium.zygote_fail(fd, wire.clean(f"import {name}: {type(error).__name__}: {error}")[:400])
            raise SystemExit(PRELOAD_FAILED) from None
    for name in _OURS:
        import_module(name)
    for part in _PARTS:
        import_module("vivarium." + part)
    for name, use in _USES.items():
        if name in sys.modules:
            use(sys.modules[name])
    return lacks


def settle(interpreter):
    """The last step before forks: rehearses what each fork will do, finds the generators, and hides everything from the
    garbage collector. A collection in a fork would otherwise unshare the whole heap."""
    for _ in range(_PLAYS):
        _play(interpreter)
    reseed.find()
    gc.collect()
    gc.freeze()
    _fill_holes()


def _read_holes():
    """The free blocks in pools that are partly used, by size. Only a text for people tells: it goes to stderr."""
    with open(os.memfd_create("stats"), "w+") as file:
        kept = os.dup(2)
        try:
            os.dup2(file.fileno(), 2)
            sys._debugmallocstats()
        finally:
            os.dup2(kept, 2)
            os.close(kept)
        file.seek(0)
        rows = re.findall(r"^ *\d+ +(\d+) +\d+ +\d+ +(\d+)$", file.read(), re.M)
    return [(int(size), int(free)) for size, free in rows]


def _fill_holes():
    """Fills the free blocks between the zygote's objects: a fork's new objects then come from pages of their own. Each
    object in a hole would otherwise cost the fork a copy of the page around it."""
    for size, free in _read_holes():
        if size >= 48:
            _fillers.extend([bytes(size - 33) for _ in range(free)])
        elif size == 32:
            _fillers.extend([float(number) for number in range(free)])
        elif size == 16:
            _fillers.extend([object() for _ in range(free)])


def _play(interpreter):
    interpreter.streams.remake()
    wire.rehearse(interpreter.rehearse, '"live"')


def fork_here(fd, lacks):
    """Serves fork requests on `fd`; returns only in a fork inside its sandbox. Launch is told which modules are not
    installed."""
    _vivarium.zygote(fd, ", ".join(lacks)[:400])


def wake(interpreter):
    """In a fresh fork: new random numbers, streams on its own descriptors, and a rehearsal that unshares the pages that
    a first cell touches, while nobody is waiting. If a request is waiting, the cell itself does that."""
    reseed.reseed()
    if _vivarium.is_asked():
        interpreter.streams.remake()
    else:
        _play(interpreter)
