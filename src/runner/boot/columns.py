# SPDX-License-Identifier: Apache-2.0
"""A whole column, to sort, compare or search it.

Owns:    how a column is compared: numbers and times by numpy, everything else in Python by keys.
"""

import sys
from _operator import eq
from _operator import ne as _UNEQUAL

from .cells import cell, cells, is_a, is_missing
from .keys import can_equal, compare_numbers, decimal_of, is_order, key_of, number_of, wanted_by

NUMERIC = set("0123456789+-.einfa")  # characters of numbers, and below of times, in lower case
MOMENTS = set("0123456789-:.t")
CHUNK = 100000  # times that are made into text at once
_modules = sys.modules


class NotComparable(Exception):
    """The column cannot be compared with this value."""


_KINDS = {"b": "bool", "i": "int", "u": "int", "f": "float", "M": "moment", "m": "span"}


def kind_of(dtype):
    """One of: category, bool, int, float, moment, span, other."""
    if is_a(dtype, "pandas", "CategoricalDtype"):
        return "category"
    kind = _KINDS.get(getattr(dtype, "kind", "O"), "other")
    is_ours = is_a(dtype, "numpy", "dtype") or is_a(dtype, "pandas", "DatetimeTZDtype")
    return "other" if kind in ("moment", "span") and not is_ours else kind


class Column:
    """All values of a series, by position."""

    def __init__(self, series):
        self.series = series
        self.kind = kind_of(series.dtype)
        self.pandas, self.numpy = _modules["pandas"], _modules["numpy"]
        self.is_interval = is_a(series.dtype, "pandas", "IntervalDtype")
        self.gaps = self.held = None
        self.codes = self.words = None
        if self.kind == "other" and self.pandas.api.types.infer_dtype(series, skipna=True) == "string":
            codes, words = self.pandas.factorize(series)
            self.codes, self.words = codes, [str.__str__(word) for word in words.tolist()]
            self.gaps = codes < 0

    def missing(self):
        """A mask: where values are missing."""
        if self.gaps is None and self.kind == "other" and is_a(self.series.dtype, "numpy", "dtype"):
            self.gaps = self._mask(map(is_missing, self.objects()))
        elif self.gaps is None:
            self.gaps = self.series.isna().to_numpy(dtype=bool)
        return self.gaps.copy()

    def _mask(self, flags):
        return self.numpy.fromiter(flags, bool, len(self.series))

    def objects(self):
        """The values as Python objects."""
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
        """The values of a column of numbers or times as a numpy array; missing ones have any value."""
        array = self._raw()
        return array.view("i8") if array.dtype.kind in "mM" else array

    def unit(self):
        """numpy's type of the times or time spans that `array` gives as integers."""
        return self._raw().dtype

    def categories(self):
        """(code of each value, -1 if it is missing; the column of the categories)."""
        categories = self.pandas.Series(self.series.cat.categories)
        return self.series.cat.codes.to_numpy(), Column(categories)

    # ---- order ----

    def order(self, positions, is_down):
        """The positions, stably sorted by value; missing ones last in either direction."""
        present, absent, ranks = self._ranked(positions, is_down)
        return self.numpy.concatenate([present[self.numpy.argsort(ranks, kind="stable")], absent])

    def least(self, positions, is_down, count):
        """The positions that can be among the first `count` after sorting: sorting ten million rows for a page of a
        hundred would take too long."""
        present, absent, ranks = self._ranked(positions, is_down)
        if len(present) <= count:
            return positions
        last = self.numpy.partition(ranks, count)[count]
        return present[ranks <= last]

    def _ranked(self, positions, is_down):
        """(positions with a value, positions without, a rank for each of the first)."""
        gaps = self.missing()[positions]
        present, absent = positions[~gaps], positions[gaps]
        if self.words is not None:
            ranks = self._spread(self._rank(self.words), self.codes, -1)[present]
        elif self.series.dtype.kind == "c":  # by the real, then by the imaginary part
            ranks = self.numpy.unique(self._raw()[present], return_inverse=True)[1]
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
        """For each key its rank."""
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
        """values[code] for each code; `otherwise` if it is missing."""
        return self.numpy.append(values, self.numpy.array([otherwise], values.dtype))[codes]

    # ---- compare ----

    def compare(self, compare, value, is_typed=False):
        """A mask: where `compare(value of the column, value)` holds. A missing value is unequal to everything, and
        neither more nor less. A text that a person typed also equals the numbers and truth values that it spells."""
        numpy = self.numpy
        if self.kind == "category":
            codes, categories = self.categories()
            is_placed = self.series.cat.ordered and is_order(compare) and \
                (categories.is_interval or not categories.is_sorted())
            found = categories.compare_places(compare, value) if is_placed else \
                categories.compare(compare, value, is_typed)
            return self._spread(found, codes, compare is _UNEQUAL)
        if self.is_interval and is_order(compare):
            raise NotComparable("an interval is neither more nor less than a value")
        if self.kind in ("moment", "span") or is_a(self.series.dtype, "pandas", "PeriodDtype"):
            found = compare(self.series, self._moment(value)).to_numpy(dtype=bool, na_value=False)
        elif self.words is not None:
            wanted = wanted_by(compare, value)[1]
            wanted = wanted if type(value) is str or is_order(compare) else None
            found = self._spread(self._flags(compare is _UNEQUAL if wanted is None else compare(word, wanted)
                                             for word in self.words), self.codes, False)
        elif self.kind == "other":
            found = self._mask(self._compare_keys(compare, value, is_typed))
        else:
            number = number_of(value)
            if number is None:
                hint = '; write decimals with a point: "1.5"' if "," in str(value) else ""
                raise NotComparable(f"value {value!r} is not a number, but the column is {self.series.dtype}{hint}")
            found = compare_numbers(compare, self.array(), number, numpy)
        found = numpy.array(found, bool)
        found[self.missing()] = compare is _UNEQUAL
        return found

    def is_sorted(self):
        """Whether the values are sorted."""
        places = self.numpy.arange(len(self.series))
        return bool((self.order(places, False) == places).all())

    def compare_places(self, compare, value):
        """A mask: where `compare` holds for the places of the two values among the categories, for a column whose
        categories have their own order."""
        found = self.numpy.flatnonzero(self.compare(eq, value))
        if not len(found):
            raise NotComparable(f"value {value!r} is not one of the column's categories, "
                                "which have an order of their own")
        return compare(self.numpy.arange(len(self.series)), found[0])

    def _moment(self, value):
        make = self.pandas.Timedelta if self.kind == "span" else self.pandas.Timestamp
        what = {"span": "time span", "other": "period"}.get(self.kind, "point in time")
        try:
            if self.kind == "other":
                text = str(value)  # a week is written with its first and last day: 2024-01-01/2024-01-07
                return self.pandas.Period(text[:10] if text[10:11] == "/" else text, self.series.dtype.freq)
            moment = make(value)
            if self.kind == "span" or moment is self.pandas.NaT:
                return moment
            zone = getattr(self.series.dtype, "tz", None)
            if zone is not None:
                return moment.tz_localize(zone) if moment.tz is None else moment
            return moment if moment.tz is None else moment.tz_convert("UTC").tz_localize(None)
        except Exception:
            raise NotComparable(f"value {value!r} is not a {what}, but the column is {self.series.dtype}") from None

    def _compare_keys(self, compare, value, is_typed):
        is_unequal = compare is _UNEQUAL
        is_loose = is_typed or is_order(compare)
        number, text = wanted_by(compare, value)
        wanted = (number, text, decimal_of(value))
        for item in self.objects():
            which, key = (0, None) if is_missing(item) else key_of(item)
            which = 2 if is_a(key, "decimal", "Decimal") else which
            is_other = key is None or wanted[which] is None or not (is_loose or can_equal(value, key))
            yield is_unequal if is_other else compare(key, wanted[which])

    # ---- search ----

    def contains(self, text):
        """A mask: where a value, as it is shown, contains the text, ignoring case."""
        text = text.lower()
        if self.kind == "category":
            codes, categories = self.categories()
            return self._spread(categories.contains(text), codes, False)
        if self.words is not None:
            return self._spread(self._flags(text in word.lower() for word in self.words), self.codes, False)
        if self.kind == "other":  # factorizing these could run user code
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
        """Searches in the text of times, without their zone."""
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


def _has(text, told):
    return told is not None and text in str(told).lower()
