# SPDX-License-Identifier: Apache-2.0
"""Which rows of a frame are asked for, and in which order: sort, filter, search, over all of it.

Owns:    how values compare: numbers before text, missing ones last; text without regard to case.
May not: fail for what a frame holds. A column whose values cannot be compared is compared as text.
"""

import _operator as operator  # built in: no file of the user's can be in its place

from .columns import Column, NotComparable
from .frames import is_a, levels_of
from .jsontext import loads
from .look import LookError

_COMPARE = {"eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le,
            "gt": operator.gt, "ge": operator.ge}
OPS = (*_COMPARE, "contains", "missing", "present")
TERMS_MAX = 100


class Chooser:
    """One question about a frame."""

    def __init__(self, frame, numpy):
        self.frame, self.numpy = frame, numpy
        self.columns = {}

    def column(self, name, field):
        """The column that "3", or the index level that "i0" names."""
        if name not in self.columns:
            series = self._series(name) if type(name) is str else None
            if series is None:
                raise LookError(f"{field}: there is no column {name!r}; use its position, \"0\" for the first, "
                                f"or \"i0\" for the first level of the index")
            self.columns[name] = Column(series)
        return self.columns[name]

    def _series(self, name):
        is_level = name[:1] == "i"
        digits = name[1:] if is_level else name
        if not (digits.isascii() and digits.isdigit() and len(digits) < 10):
            return None
        i = int(digits)
        if is_level:
            return levels_of(self.frame.index)[i][0] if i < self.frame.index.nlevels else None
        return self.frame.iloc[:, i] if i < self.frame.shape[1] else None

    # ---- which ----

    def rows(self, look, wanted):
        """(positions of the rows that are asked for, in their order, at least the first `wanted` of them;
        how many there are)."""
        mask = self._filtered(look.get("filter")) & self._found(look.get("search"))
        positions = self.numpy.flatnonzero(mask)
        matched = len(positions)
        keys = [(self.column(name, "sort"), is_down) for name, is_down in _read_sort(look.get("sort"))]
        if keys and wanted < matched // 4:
            positions = keys[0][0].least(positions, keys[0][1], wanted)
        for column, is_down in reversed(keys):
            positions = column.order(positions, is_down)
        return positions, matched

    def _all(self, value):
        return self.numpy.full(len(self.frame), value)

    def _filtered(self, text):
        mask = self._all(True)
        for term in _read_filter(text):
            mask &= self._holds(term)
        return mask

    def _holds(self, term):
        column, op = self.column(term["column"], "filter"), term["op"]
        if op == "missing":
            return column.missing()
        if op == "present":
            return ~column.missing()
        value = term["value"]
        if op == "contains":
            return column.contains(value if type(value) is str else str(value))
        try:
            return column.compare(_COMPARE[op], value)
        except NotComparable as error:
            raise LookError(f"filter: {error}") from None

    def _found(self, text):
        if not text:
            return self._all(True)
        mask = self._all(False)
        names = [str(i) for i in range(self.frame.shape[1])]
        if not _only_counts(self.frame.index):
            names += [f"i{i}" for i in range(self.frame.index.nlevels)]
        for name in names:
            mask |= self.column(name, "search").contains(text)
        return mask


def _only_counts(index):
    """Whether the index is no more than the numbers of the rows."""
    return is_a(index, "pandas", "RangeIndex") and index.start == 0 and index.step == 1


def _read_sort(text):
    """[(column, whether downwards)] of "3:desc,i0:asc"."""
    keys = []
    for part in (text or "").split(",") if text else ():
        name, _, way = part.partition(":")
        if way not in ("", "asc", "desc"):
            raise LookError(f"sort: {way!r} is no order; use asc or desc")
        keys.append((name, way == "desc"))
    if len(keys) > TERMS_MAX:
        raise LookError(f"sort: more than {TERMS_MAX} columns")
    return keys


def _read_filter(text):
    try:
        terms = loads(text) if text else []
    except (ValueError, RecursionError):
        raise LookError("filter: not valid JSON") from None
    if type(terms) is not list or len(terms) > TERMS_MAX or any(type(term) is not dict for term in terms):
        raise LookError(f'filter: must be a list of at most {TERMS_MAX} {{"column","op","value"}}')
    for term in terms:
        op, value = term.get("op"), term.setdefault("value", None)
        if type(op) is not str or op not in OPS:
            raise LookError(f"filter: op must be one of {', '.join(OPS)}")
        if op not in ("missing", "present") and type(value) not in (str, int, float, bool):
            raise LookError(f"filter: value of {op} must be a number, a text, true or false")
        if type(value) is float and value - value != 0.0:
            raise LookError("filter: value must be a finite number, or a text")
        term.setdefault("column", None)
    return terms
