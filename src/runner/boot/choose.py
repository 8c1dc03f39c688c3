# SPDX-License-Identifier: Apache-2.0
"""Which rows of a frame are asked for, and in which order: sort, filter and search over all its rows.

Owns:    the order of values: numbers before text, missing ones last; searches ignore case.
May not: fail because of a frame's values: a column whose values cannot be compared is compared as text.
"""

import _operator as operator  # built in, so no file of the user's can replace it

from .columns import Column, NotComparable
from .cells import is_a
from .frames import levels_of
from .hooks import load
from .look import LookError

_COMPARE = {"eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le,
            "gt": operator.gt, "ge": operator.ge}
OPS = (*_COMPARE, "contains", "missing", "present")
TERM = ("column", "op", "value", "typed")  # what a term of a filter may have
TERMS_MAX = 100


class Chooser:
    """One question about a frame."""

    def __init__(self, frame, numpy):
        self.frame, self.numpy = frame, numpy
        self.columns = {}

    def column(self, name, field):
        """The column that "3" names, or the index level that "i0" names."""
        if name not in self.columns:
            series = self._series(name) if type(name) is str else None
            if series is None:
                raise LookError(f"there is no column {name!r}; use its position, \"0\" for the first, "
                                f"or \"i0\" for the first level of the index", field=field)
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

    # ---- rows ----

    def rows(self, look, wanted):
        """(positions of the matching rows, in order, at least the first `wanted`; how many rows match)."""
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
            return column.compare(_COMPARE[op], value, term["typed"])
        except NotComparable as error:
            raise LookError(str(error), field="filter") from None

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
    """Whether the index only numbers the rows."""
    return is_a(index, "pandas", "RangeIndex") and index.start == 0 and index.step == 1


def _read_sort(text):
    """[(column, whether descending)] from "3:desc,i0:asc"."""
    keys = []
    for part in (text or "").split(",") if text else ():
        name, _, way = part.partition(":")
        if way not in ("", "asc", "desc"):
            raise LookError(f"{way!r} is not an order; use asc or desc", field="sort")
        keys.append((name, way == "desc"))
    if len(keys) > TERMS_MAX:
        raise LookError(f"more than {TERMS_MAX} columns", field="sort")
    return keys


def _object(pairs):
    """The dict of a JSON object; Python's own reader would take the last of two values of one name."""
    members = dict(pairs)
    if len(members) < len(pairs):
        twice = next(name for i, (name, _) in enumerate(pairs) if name in dict(pairs[:i]))
        raise LookError(f"{twice!r} is given twice in one term", field="filter")
    return members


def _read_filter(text):
    try:
        terms = load("json").loads(text, object_pairs_hook=_object) if text else []
    except (ValueError, RecursionError):
        raise LookError("not valid JSON", field="filter") from None
    if type(terms) is not list or len(terms) > TERMS_MAX or any(type(term) is not dict for term in terms):
        raise LookError(f'must be a list of at most {TERMS_MAX} {{"column","op","value"}}', field="filter")
    for term in terms:
        for name in term:
            if name not in TERM:
                raise LookError(f"a term has no {name!r}, only {', '.join(TERM)}", field="filter")
        op, value = term.get("op"), term.setdefault("value", None)
        if type(op) is not str or op not in OPS:
            raise LookError(f"op must be one of {', '.join(OPS)}", field="filter")
        if op not in ("missing", "present") and type(value) not in (str, int, float, bool):
            raise LookError(f"value of {op} must be a number, a text, true or false", field="filter")
        if type(value) is float and value - value != 0.0:
            raise LookError("value must be a finite number, or a text", field="filter")
        if type(term.setdefault("typed", False)) is not bool:
            raise LookError("typed must be true or false", field="filter")
        term.setdefault("column", None)
    return terms
