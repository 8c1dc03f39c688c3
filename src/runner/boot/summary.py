# SPDX-License-Identifier: Apache-2.0
"""A summary of a frame, column by column.

Owns:    what is said about a column, and how long that may take: what does not fit in the time is left out,
         which "cut" says.
"""

import sys
from time import monotonic

from .columns import Column
from .cells import cell, cells, is_a
from .frames import levels_of, name_text
from .jsonsafe import safe_repr
from .keys import key_of

COLUMNS_MAX = 1000
SECONDS = 5  # viv waits ten seconds
BINS = 20
TOP = 10
NAME_MAX = 4096

_WITH_GAPS = {"i": "Int64", "u": "UInt64", "b": "boolean"}  # nullable types of pandas
_modules = sys.modules


class _Summary:
    """One column."""

    def __init__(self, series, name, dtype):
        self.column = Column(series)
        self.series, self.kind = series, self.column.kind
        self.numpy, self.pandas = self.column.numpy, self.column.pandas
        self.gaps = self.column.missing()
        missing = int(self.gaps.sum())
        self.told = {"name": name, "dtype": safe_repr(dtype, NAME_MAX, str),
                     "count": len(series) - missing, "missing": missing, "distinct": None}

    @property
    def is_measured(self):
        """Whether the column has a smallest and a largest value."""
        return self.kind in ("int", "float", "moment", "span")

    def measure(self):
        """The cheap part."""
        if self.column.words is not None or self.kind in ("category", "bool"):
            self.count()
        if not self.is_measured or self.told["count"] == 0:
            return
        values = self.column.array()[~self.gaps]
        self.told["min"], self.told["max"] = self._tell([values.min(), values.max()], values.dtype)
        if self.kind in ("int", "float"):
            self.told["mean"] = cell(float(values.mean(dtype="float64")))
        try:
            histogram = self._histogram(values)
        except (ValueError, ArithmeticError, IndexError):
            histogram = None  # the edges cannot be told apart, or one is infinite
        if histogram:
            self.told["histogram"] = histogram

    def _tell(self, values, dtype):
        """Values of `array()` in the form of the column's own values."""
        array = self.numpy.array(values, dtype)
        if self.kind in ("int", "float"):
            return cells(self.pandas.Series(array))
        own = self.series.dtype
        series = self.pandas.Series(array.view(self.column.unit()))
        zone = None if is_a(own, "numpy", "dtype") else own.tz
        return cells(series if zone is None else series.dt.tz_localize("UTC").dt.tz_convert(zone))

    def _histogram(self, values):
        numpy = self.numpy
        if self.kind == "float":
            values = values[numpy.isfinite(values)].astype("float64")
            if not len(values):
                return None
            counts, edges = self._bins(values, values.min(), values.max())
            return {"edges": edges.tolist(), "counts": counts.tolist()}
        # Doubles tell neither integers above 2^53 nor nanoseconds apart; distances from the smallest they do.
        low, high = int(values.min()), int(values.max())
        apart = values.astype("u8") - numpy.uint64(low % 2**64)
        if self.kind == "int" and high - low < BINS:
            counts = numpy.bincount(apart.astype("i8"), minlength=high - low + 1)
            return {"edges": [cell(low + i) for i in range(len(counts) + 1)], "counts": counts.tolist()}
        counts, edges = self._bins(apart.astype("float64"), 0, high - low)
        if self.kind == "int" and max(-low, high) <= 2**53:
            return {"edges": [low + edge for edge in edges.tolist()], "counts": counts.tolist()}
        edges = [low, *(low + int(edge) for edge in edges[1:-1]), high]
        return {"edges": [cell(edge) for edge in edges] if self.kind == "int" else self._tell(edges, "i8"),
                "counts": counts.tolist()}

    def _bins(self, values, low, high):
        return self.numpy.histogram(values, bins=BINS if low < high else 1,
                                    range=(float(low), float(high)) if low < high else None)

    def count(self):
        """The slower part: the number of distinct values, and the most frequent ones."""
        if self.told["distinct"] is not None:
            return
        if self.is_measured:
            values = self.numpy.sort(self.column.array()[~self.gaps])
            self.told["distinct"] = int((values[1:] != values[:-1]).sum()) + min(1, len(values))
            return
        found = self._frequencies()
        self.told["distinct"] = len(found)
        self.told["top"] = [{"value": value, "count": count} for value, count in
                            sorted(found, key=lambda pair: -pair[1])[:TOP]]

    def _frequencies(self):
        """[(value as JSON, how often it occurs)]"""
        column = self.column
        if column.words is not None:
            counts = self.numpy.bincount(column.codes[column.codes >= 0], minlength=len(column.words))
            return list(zip(column.words, counts.tolist()))
        if self.kind == "category":
            codes, categories = column.categories()
            counts = self.numpy.bincount(codes[codes >= 0], minlength=len(categories.series)).tolist()
            return [(value, count) for value, count in zip(cells(categories.series), counts) if count]
        if self.kind == "bool":
            trues = int(column.array()[~self.gaps].sum())
            return [(value, count) for value, count in
                    ((True, trues), (False, self.told["count"] - trues)) if count]
        found = {}
        for value, is_gap in zip(column.objects(), self.gaps.tolist()):
            if not is_gap:
                found.setdefault(key_of(value), [cell(value), 0])[1] += 1
        return [tuple(pair) for pair in found.values()]


def _by_type(series, dtype):
    """A level that came from its codes, as a column of its own type, or of a nullable one."""
    if dtype.kind not in _WITH_GAPS or not series.isna().any():
        return series.astype(dtype)
    pandas = _modules["pandas"]
    values = pandas.array(series.cat.categories, dtype=_WITH_GAPS[dtype.kind])
    return pandas.Series(values.take(series.cat.codes, allow_fill=True))


def _levels(index):
    """Each level of an index as a column, with its name and its type."""
    for name, (series, dtype) in zip(index.names, levels_of(index)):
        if series.dtype != dtype:
            series = _by_type(series, dtype)
        yield series, "" if name is None else name_text(name), dtype


def _columns(frame, names, first, last):
    for i in range(first, last):
        series = frame.iloc[:, i]
        yield series, name_text(names[i]), series.dtype


def _measured(columns, end):
    """Summaries of columns, until the time is over."""
    found = []
    for series, name, dtype in columns:
        if monotonic() > end:
            break
        found.append(_Summary(series, name, dtype))
        found[-1].measure()
    return found


def summarise(frame, names, first, count, has_index):
    """{"total","width","columns":[...],"index":[...]}; "cut" if the time was too short for everything."""
    end = monotonic() + SECONDS
    last = min(frame.shape[1], first + min(count, COLUMNS_MAX))
    found = _measured(_columns(frame, names, first, last), end)
    levels = _measured(_levels(frame.index), end) if has_index else []
    is_cut = len(found) < last - first or (has_index and len(levels) < frame.index.nlevels)
    for summary in (*found, *levels):
        if monotonic() > end:
            is_cut = True
            break
        summary.count()
    answer = {"total": len(frame), "width": frame.shape[1], "columns": [summary.told for summary in found]}
    if has_index:
        answer["index"] = [summary.told for summary in levels]
    if is_cut:
        answer["cut"] = True
    return answer
