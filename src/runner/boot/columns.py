# SPDX-License-Identifier: Apache-2.0
"""A whole column that is sorted, compared, searched.

Owns:    keys: what stands for a value when it is compared. Numbers and moments are numpy's; all else is
         compared in Python, by keys of our own making, so that no method of the user's is called.
"""

import sys
from math import ceil, floor
from _operator import eq
from _operator import ne as _UNEQUAL

from .frames import cell, cells, is_a, is_missing

NUMERIC = set("0123456789+-.einfa")  # characters of numbers, and of moments, in lower case
MOMENTS = set("0123456789-:.t")
CHUNK = 100000  # moments that are texts at a time
_modules = sys.modules


class NotComparable(Exception):
    """A value that a column cannot be compared with."""


_KINDS = {"b": "bool", "i": "int", "u": "int", "f": "float", "M": "moment", "m": "span"}


def kind_of(dtype):
    """One of: category, bool, int, float, moment, span, other."""
    if is_a(dtype, "pandas", "CategoricalDtype"):
        return "category"
    kind = _KINDS.get(getattr(dtype, "kind", "O"), "other")
    is_ours = is_a(dtype, "numpy", "dtype") or is_a(dtype, "pandas", "DatetimeTZDtype")
    return "other" if kind in ("moment", "span") and not is_ours else kind


def number_of(value):
    """A number, or a text that is one; else None."""
    if type(value) is not str:
        return value
    for read in (int, float):
        try:
            number = read(value.replace(",", ""))
            return number if number == number else None
        except ValueError:
            pass
    return {"true": True, "false": False}.get(value.lower())


def key_of(value):
    """(0, number) or (1, text) for a value of any kind that is not missing."""
    kind = type(value)
    if kind is str:
        return 1, value
    if kind is int or kind is float or kind is bool:
        return 0, value
    try:
        if issubclass(kind, int):
            return 0, int.__pos__(value)
        if issubclass(kind, float):
            return 0, float.__pos__(value)
        if is_a(value, "numpy", "generic") and value.dtype.kind in "biuf":
            return 0, value.item()
        if is_a(value, "decimal", "Decimal"):
            return 0, _modules["decimal"].Decimal(value)
    except Exception:
        pass
    told = cell(value)
    return 1, told if type(told) is str else str(told)


class Column:
    """All values of a series, by position."""

    def __init__(self, series):
        self.series = series
        self.kind = kind_of(series.dtype)
        self.pandas, self.numpy = _modules["pandas"], _modules["numpy"]
        self.gaps = self.held = None
        self.codes = self.words = None
        if self.kind == "other" and self.pandas.api.types.infer_dtype(series, skipna=True) == "string":
            codes, words = self.pandas.factorize(series)
            self.codes, self.words = codes, [str.__str__(word) for word in words.tolist()]
            self.gaps = codes < 0

    def missing(self):
        """Where values are missing."""
        if self.gaps is None and self.kind == "other" and is_a(self.series.dtype, "numpy", "dtype"):
            self.gaps = self._mask(map(is_missing, self.objects()))
        elif self.gaps is None:
            self.gaps = self.series.isna().to_numpy(dtype=bool)
        return self.gaps.copy()

    def _mask(self, flags):
        return self.numpy.fromiter(flags, bool, len(self.series))

    def objects(self):
        """The values as Python's own."""
        if self.held is None:
            self.held = self.series.astype(object).tolist()
        return self.held

    def _raw(self):
        if is_a(self.series.dtype, "numpy", "dtype"):
            return self.series.to_numpy()
        if self.kind == "moment":
            return self.series.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy()
        as_what = {"i": "int64", "u": "uint64", "f": "float64", "b": "bool"}[self.series.dtype.kind]
        return self.series.to_numpy(dtype=as_what, na_value=0)

    def array(self):
        """The values of a column of numbers or moments as numpy's; what is missing is anything."""
        array = self._raw()
        return array.view("i8") if array.dtype.kind in "mM" else array

    def unit(self):
        """numpy's type for moments, or spans, that `array` tells as integers."""
        return self._raw().dtype

    def categories(self):
        """(code of each value, -1 where it is missing; the column of the categories)."""
        categories = self.pandas.Series(self.series.cat.categories)
        return self.series.cat.codes.to_numpy(), Column(categories)

    # ---- order ----

    def order(self, positions, is_down):
        """The positions, stably sorted by their values; missing ones last either way."""
        present, absent, ranks = self._ranked(positions, is_down)
        return self.numpy.concatenate([present[self.numpy.argsort(ranks, kind="stable")], absent])

    def least(self, positions, is_down, count):
        """Of the positions those that can be among the first `count` when they are sorted: to sort ten
        million for a page of a hundred takes longer than anybody waits."""
        present, absent, ranks = self._ranked(positions, is_down)
        if len(present) <= count:
            return positions
        last = self.numpy.partition(ranks, count)[count]
        return present[ranks <= last]

    def _ranked(self, positions, is_down):
        """(those with a value, those without, for each of the first a number that orders it)."""
        gaps = self.missing()[positions]
        present, absent = positions[~gaps], positions[gaps]
        if self.words is not None:
            ranks = self._spread(self._rank(self.words), self.codes, -1)[present]
        elif self.kind == "other":
            objects = self.objects()
            ranks = self._rank([key_of(objects[i]) for i in present.tolist()])
        elif self.kind == "category":
            ranks = self._category_ranks()[present]
        else:
            ranks = self.array()[present]
        if is_down:
            ranks = -ranks if ranks.dtype.kind == "f" else ~ranks
        return present, absent, ranks

    def _rank(self, keys):
        """For each key a number that orders it."""
        distinct = {key: rank for rank, key in enumerate(sorted(set(keys)))}
        return self.numpy.fromiter((distinct[key] for key in keys), "i8", len(keys))

    def _category_ranks(self):
        codes, categories = self.categories()
        if self.series.cat.ordered:
            return codes
        count = len(categories.series)
        ranks = self.numpy.empty(count, "i8")
        ranks[categories.order(self.numpy.arange(count), False)] = self.numpy.arange(count)
        return self._spread(ranks, codes, -1)

    def _spread(self, values, codes, otherwise):
        """values[code] for each code; `otherwise` for those that are missing."""
        return self.numpy.append(values, self.numpy.array([otherwise], values.dtype))[codes]

    # ---- compare ----

    def compare(self, compare, value):
        """Where `compare(value of the column, value)` holds. What is missing is like nothing: it is
        unequal, and neither more nor less."""
        numpy = self.numpy
        if self.kind == "category":
            codes, categories = self.categories()
            return self._spread(categories.compare(compare, value), codes, compare is _UNEQUAL)
        if self.kind in ("moment", "span"):
            found = compare(self.series, self._moment(value)).to_numpy(dtype=bool, na_value=False)
        elif self.words is not None:
            wanted = _wanted(compare, value)[1]
            found = self._spread(self._flags(wanted is not None and compare(word, wanted)
                                             for word in self.words), self.codes, False)
        elif self.kind == "other":
            found = self._mask(self._compare_keys(compare, value))
        else:
            number = number_of(value)
            if number is None:
                raise NotComparable(f"value {value!r} is no number, but the column is {self.series.dtype}")
            found = _compare_numbers(compare, self.array(), number, numpy)
        found = numpy.array(found, bool)
        found[self.missing()] = compare is _UNEQUAL
        return found

    def _moment(self, value):
        make = self.pandas.Timedelta if self.kind == "span" else self.pandas.Timestamp
        try:
            moment = make(value)
            if self.kind == "span" or moment is self.pandas.NaT:
                return moment
            zone = getattr(self.series.dtype, "tz", None)
            if zone is not None:
                return moment.tz_localize(zone) if moment.tz is None else moment
            return moment if moment.tz is None else moment.tz_convert("UTC").tz_localize(None)
        except Exception:
            what = "span of time" if self.kind == "span" else "moment"
            raise NotComparable(f"value {value!r} is no {what}, but the column is {self.series.dtype}") from None

    def _compare_keys(self, compare, value):
        is_unequal = compare is _UNEQUAL
        wanted = _wanted(compare, value)
        for item in self.objects():
            which, key = (0, None) if is_missing(item) else key_of(item)
            yield is_unequal if key is None or wanted[which] is None else compare(key, wanted[which])

    # ---- search ----

    def contains(self, text):
        """Where a value, as it is told, contains the text, whatever its case."""
        text = text.lower()
        if self.kind == "category":
            codes, categories = self.categories()
            return self._spread(categories.contains(text), codes, False)
        if self.words is not None:
            return self._spread(self._flags(text in word.lower() for word in self.words), self.codes, False)
        if self.kind == "other":  # to find those that are the same may be user code
            return self._mask(_has(text, cell(value)) for value in self.objects())
        if self.kind in ("int", "float"):
            text = text.replace(",", "")
        if not set(text) <= {"int": NUMERIC, "float": NUMERIC, "moment": MOMENTS}.get(self.kind, set(text)):
            return self.numpy.zeros(len(self.series), bool)
        if self.kind == "moment":
            return self._in_moments(text)
        codes, distinct = self.pandas.factorize(self.series)
        found = self._flags(_has(text, value) for value in cells(self.pandas.Series(distinct)))
        return self._spread(found, codes, False)

    def _flags(self, flags):
        return self.numpy.array(list(flags), bool)

    def _in_moments(self, text):
        """In the text of moments, without their zone."""
        numpy, series = self.numpy, self.series
        if not is_a(series.dtype, "numpy", "dtype"):
            series = series.dt.tz_localize(None)
        found = numpy.zeros(len(series), bool)
        for at in range(0, len(series), CHUNK):
            part = series.iloc[at:at + CHUNK].to_numpy()
            is_whole = (part == part.astype("M8[s]"))[~numpy.isnat(part)].all()
            told = numpy.datetime_as_string(part, unit="s" if is_whole else "auto")
            found[at:at + CHUNK] = numpy.char.find(numpy.char.lower(told), text) >= 0
        found[self.missing()] = False
        return found


def _wanted(compare, value):
    """(the number, the text) that values are compared with. A number is neither more nor less than a
    text."""
    is_order = compare is not eq and compare is not _UNEQUAL
    return number_of(value), None if is_order and type(value) is not str else str(value)


def _has(text, told):
    return told is not None and text in str(told).lower()


def _compare_numbers(compare, array, number, numpy):
    """Exactly: an integer is never rounded to be compared."""
    if array.dtype.kind == "f":
        return compare(array, array.dtype.type(number) if abs(number) < 1 << 1000 else float("inf") * number)
    if array.dtype.kind == "b":
        array = array.astype("i8")
    if number - number != 0:  # an infinity
        return numpy.full(len(array), compare(0, number))
    low, high = floor(number), ceil(number)
    range_ = numpy.iinfo(array.dtype)
    if low != high or not range_.min <= low <= range_.max:
        # No integer of the column equals it, so one side of it is all that counts.
        below = numpy.full(len(array), low > range_.max) if not range_.min <= low <= range_.max \
            else array <= low
        return numpy.where(below, compare(0, 1), compare(1, 0))
    return compare(array, array.dtype.type(low))
