# SPDX-License-Identifier: Apache-2.0
"""Frames that were shown, so that more of them can be asked for though they have no name.

Owns:    what is kept, and how much: small frames are copied, within a small share of the session's memory;
         of large ones only a weak reference is kept, so that they are freed when the user drops them.
May not: keep an object of the user's alive. All of this is memory of the head, so a rollback restores it.
"""

import os
import sys
from _weakref import ref  # built in, so no file of the user's can replace it

from .cells import cell, is_a, is_missing
from .frames import body, name_text, plain_frame
from .hooks import load
from .jsontext import dumps

KEPT_MAX = 48  # frames; the oldest is dropped first
SHARE = 32  # copies take at most 1/32 of the session's memory
MEMORY = 512 << 20  # assumed for a session without a limit
MAPPED = 1 << 30  # RLIMIT_DATA exceeds the memory by this much: walls/rlimit.c
CELLS_MAX = 250000  # objects that are checked one by one
SUMMED_MAX = 256 << 20  # bytes of a large frame that are summed to detect a change
SAMPLE = 20000  # cells of a large frame that are compared

_held = {}  # handle -> _Copy or _Loan, oldest first
_modules = sys.modules


class _Unfit(Exception):
    """A frame that cannot be copied."""


class _Copy:
    """A frame as it was shown."""

    def __init__(self, frame, room):
        self.size = int(frame.memory_usage(index=True).sum())
        self.cells = 0
        if self.size > room:
            raise _Unfit
        for axis in (frame.index, frame.columns):
            for level in axis.levels if is_a(axis, "pandas", "MultiIndex") else [axis]:
                self._check(level)
        changed = {}
        for i in range(frame.shape[1]):
            series = frame.iloc[:, i]
            if series.dtype == object:
                changed[i] = self._objects(series.tolist())
            else:
                self._check(series)
        if self.size > room:
            raise _Unfit
        self.frame = frame.copy()
        self.frame.attrs = {}
        for i, values in changed.items():
            if values is not None:
                self.frame.isetitem(i, _modules["pandas"].Series(values, self.frame.index, object))

    def _objects(self, values):
        """The values, with the user's own objects as text; None: all can be kept as they are."""
        self.cells += len(values)
        if self.cells > CELLS_MAX:
            raise _Unfit
        self.size += sum(sys.getsizeof(value) for value in values if type(value) in (str, int, bytes))
        if all(map(_is_plain, values)):
            return None
        told = [value if _is_plain(value) else cell(value) for value in values]
        self.size += sum(len(value) for value in told if type(value) is str)
        return told

    def _check(self, series):
        """Refuses a column that may hold objects of the user's."""
        dtype = series.dtype
        if is_a(dtype, "pandas", "CategoricalDtype"):
            return self._check(dtype.categories)
        if not is_a(dtype, "numpy", "dtype"):
            if (type(dtype).__module__ or "").partition(".")[0] != "pandas":
                raise _Unfit
            if dtype.kind == "O" and str(dtype) in ("string", "str"):
                self._objects(series.tolist())
        elif dtype == object and self._objects(series.tolist()) is not None:
            raise _Unfit
        return None

    def find(self):
        return self.frame, {}


class _Loan:
    """A frame that belongs to the user, and may have changed since it was shown."""

    size = 0

    def __init__(self, value, frame):
        self.value, self.mark = ref(value), _mark(frame)

    def find(self):
        value = self.value()
        if value is None:
            return None
        is_same = _mark(plain_frame(value)) == self.mark
        return value, {"live": True} if is_same else {"live": True, "changed": True}


def _is_plain(value):
    """Whether the value is of a type that refers to nothing else."""
    kind = type(value)
    if any(kind is one for one in (str, int, float, bool, bytes, complex)) or is_missing(value):
        return True
    moments = _modules.get("datetime")
    return is_a(value, "numpy", "generic") and not value.dtype.hasobject or any(
        kind is getattr(_modules.get(name), one, None) for name, one in (
            ("decimal", "Decimal"), ("pandas", "Timestamp"), ("pandas", "Timedelta"), ("pandas", "Period"))
    ) or moments is not None and any(kind is one for one in (moments.date, moments.time, moments.timedelta))


def _mark(frame):
    """A mark that changes when the frame does: its shape, the sum of all its numbers, some of its rows."""
    sums, summed = [], 0
    for i in range(frame.shape[1]):
        dtype = frame.dtypes.iloc[i]
        if not is_a(dtype, "numpy", "dtype") or dtype.kind not in "biufmM" or dtype.itemsize > 8:
            continue
        array = frame.iloc[:, i].to_numpy()
        summed += array.nbytes
        array = array if summed <= SUMMED_MAX else array[::64]
        sums.append(int(array.view(f"u{dtype.itemsize}").sum(dtype="u8")))
    count = max(1, SAMPLE // (3 * max(1, frame.shape[1])))
    step = max(1, len(frame) // count)
    rows = sorted({*range(min(count, len(frame))), *range(0, len(frame), step)})
    part = body(frame, rows)
    return (frame.shape, [name_text(name) for name in frame.columns], frame.dtypes.astype(str).tolist(), sums,
            hash(dumps([part["rows"], part["index"]["rows"]])))


def _room():
    limit = load("resource").getrlimit(load("resource").RLIMIT_DATA)[0]
    return (limit - MAPPED if MAPPED < limit < 1 << 60 else MEMORY) // SHARE


def hold(value):
    """Keeps a frame or series that is shown; returns the handle by which `find` finds it."""
    frame = plain_frame(value)
    room = _room()
    try:
        kept = _Copy(frame, room // 2)
    except _Unfit:
        kept = _Loan(value, frame)
    handle = "~" + os.urandom(6).hex()
    _held[handle] = kept
    while len(_held) > KEPT_MAX or sum(one.size for one in list(_held.values())) > room:
        del _held[next(iter(_held))]
    return handle


def find(handle):
    """(the frame, what to add to its table); None if it is not held any more."""
    kept = _held.get(handle)
    return kept.find() if kept is not None else None
