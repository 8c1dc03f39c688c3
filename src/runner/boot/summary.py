# SPDX-License-Identifier: Apache-2.0
"""A frame summed up, column by column.

Owns:    what is said of a column, and for how long: what does not fit the time is left out, and "cut" says
         that it was.
"""

import sys
from time import monotonic

from .columns import Column, key_of
from .frames import cell, cells, is_a, levels_of, name_text
from .jsonsafe import safe_repr

COLUMNS_MAX = 1000
SECONDS = 5  # viv waits ten
BINS = 20
TOP = 10
NAME_MAX = 4096

_modules = sys.modules


class _Summary:
    """One column."""

    def __init__(self, series, name):
        self.column = Column(series)
        self.series, self.kind = series, self.column.kind
        self.numpy, self.pandas = self.column.numpy, self.column.pandas
        self.gaps = self.column.missing()
        missing = int(self.gaps.sum())
        self.told = {"name": name, "dtype": safe_repr(series.dtype, NAME_MAX, str),
                     "count": len(series) - missing, "missing": missing, "distinct": None}

    @property
    def is_measured(self):
        """Whether it has a least and a largest value."""
        return self.kind in ("int", "float", "moment", "span")

    def measure(self):
        """What is cheap."""
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
            histogram = None  # no two edges can be told apart, or one is beyond all numbers
        if histogram:
            self.told["histogram"] = histogram

    def _tell(self, values, dtype):
        """Values of `array()` as the column's own are told."""
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
        low, high = values.min(), values.max()
        if self.kind == "int" and int(high) - int(low) < BINS:
            counts = numpy.bincount((values - low).astype("i8"), minlength=int(high) - int(low) + 1)
            edges = [cell(int(low) + i) for i in range(len(counts) + 1)]
            return {"edges": edges, "counts": counts.tolist()}
        counts, edges = numpy.histogram(values.astype("float64"), bins=BINS if low < high else 1,
                                        range=(float(low), float(high)) if low < high else None)
        if self.kind in ("moment", "span"):
            edges = edges.astype("i8")
            edges[0], edges[-1] = low, high  # doubles have no nanoseconds
            return {"edges": self._tell(edges, "i8"), "counts": counts.tolist()}
        return {"edges": edges.tolist(), "counts": counts.tolist()}

    def count(self):
        """What takes longer: how many distinct values there are, and the most frequent ones."""
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
        """[(value as it is told, how often)]"""
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


def _levels(index):
    """Each level of an index as a column, with its name."""
    for name, (series, dtype) in zip(index.names, levels_of(index)):
        if series.dtype != dtype and not series.isna().any():
            series = series.astype(dtype)
        yield series, "" if name is None else name_text(name)


def _measured(columns, end):
    """Columns with their names, summed up until the time is over."""
    found = []
    for series, name in columns:
        if monotonic() > end:
            break
        found.append(_Summary(series, name))
        found[-1].measure()
    return found


def summarise(frame, names, first, count, has_index):
    """{"total","width","columns":[...],"index":[...]}; "cut" when the time was too short to say all."""
    end = monotonic() + SECONDS
    last = min(frame.shape[1], first + min(count, COLUMNS_MAX))
    found = _measured(((frame.iloc[:, i], name_text(names[i])) for i in range(first, last)), end)
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
