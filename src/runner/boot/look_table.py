# SPDX-License-Identifier: Apache-2.0
"""Tables of a session, page by page.

Owns:    what can be shown as rows: frames, series, arrays, lists, dicts; and the questions about them.
"""

from sys import maxsize, modules

from .cells import cell, is_a
from .frames import SAMPLE, body, fixed_decimals, head, plain_frame
from .hooks import load
from .look import ROOM, LookError
from .look_vars import type_name, user_names
from .shown import find
from .tables import fit

ROWS_MAX = 10000


def _named(interpreter, look):
    """(the value of a name, or of the handle of a table that was shown; what to add to the answer)."""
    name = look.get("name")
    names = dict(user_names(interpreter))
    if type(name) is str and name in names:
        return names[name], {}
    if type(name) is not str or not name.startswith("~"):
        raise LookError(f"there is no variable {name!r}", "not_found")
    found = find(name)
    if found is None:
        raise LookError("the session no longer holds this table; run the cell again", "not_found")
    return found


def _is_asked(look):
    return any(look.get(word) for word in ("sort", "filter", "search"))


def _rows(frame, look, wanted=maxsize):
    """(positions of the matching rows, or at least of the first `wanted`; how many match). A range if all rows are
    wanted in their own order."""
    if not _is_asked(look):
        return range(len(frame)), len(frame)
    from .choose import Chooser

    return Chooser(frame, modules["numpy"]).rows(look, wanted)


class _Table:
    """Any table: its facts, and its rows by position."""

    def __init__(self, value, look, last):
        self.value, self.frame = value, plain_frame(value)
        if self.frame is not None:
            self.first = 0
            self.positions, self.matched = _rows(self.frame, look, last)
            return
        # The whole table is built only if sorting or filtering needs it.
        is_asked = _is_asked(look)
        self.first = 0 if is_asked else min(last, max(0, int(look.get("offset", 0))))
        self.columns, self.found, self.total = _page(value, self.first, maxsize if is_asked else last)
        self.positions = range(self.total)
        self.matched = self.total
        if is_asked:
            self.positions, self.matched = _rows(_as_frame(value, self.columns, self.found), look, last)

    def about(self):
        if self.frame is not None:
            return head(self.frame)
        return {"columns": self.columns, "total": self.total, **_types(self.value, len(self.columns))}

    def chosen(self, first, last):
        """The positions from `first` to `last` of the matching rows."""
        positions = self.positions[first:last]
        return positions if type(positions) is range else positions.tolist()

    def make(self, rows):
        if self.frame is None:
            found = [self.found[row - self.first] for row in rows]
            texts = {} if _is_typed(self.value) else _texts(found)
            return {"rows": [[_exact(item) for item in row] for row in found], **texts}
        return body(self.frame, slice(rows.start, rows.stop) if type(rows) is range else rows)


def table(interpreter, look):
    """A page of a variable that is a table. "cut" if not all rows that were asked for fit."""
    first = max(0, int(look.get("offset", 0)))
    count = min(max(0, int(look.get("limit", 100))), ROWS_MAX)
    value, more = _named(interpreter, look)
    asked = _Table(value, look, first + count)
    chosen = asked.chosen(first, first + count)
    about = {**asked.about(), **more, "matched": asked.matched}
    return fit(about, lambda n: {**asked.make(chosen[:n]), "numbers": list(chosen[:n])}, len(chosen), ROOM,
               len(chosen))[0]


def csv(interpreter, look):
    """All matching rows, as a file."""
    from .table_csv import send

    asked = _Table(_named(interpreter, look)[0], look, maxsize)
    return send(asked.about()["columns"], asked.frame, asked.make, asked.chosen(0, maxsize))


def summary(interpreter, look):
    """A summary of each column, over the matching rows."""
    from .summary import summarise

    value, more = _named(interpreter, look)
    frame = plain_frame(value)
    names, has_index = None, frame is not None
    if frame is None:
        names, found, _total = _page(value, 0, maxsize)
        frame = _as_frame(value, names, found)
    rows, _matched = _rows(frame, look)
    names = list(frame.columns) if names is None else names
    found = summarise(frame if type(rows) is range else frame.iloc[rows], names,
                      max(0, int(look.get("offset", 0))), max(1, int(look.get("limit", 1000))), has_index)
    return {**found, **more}


def _is_typed(value):
    """Whether all values of a table are numbers of one type, with which JSON and the page can deal."""
    return (is_a(value, "numpy", "ndarray") and not value.dtype.names and value.dtype.kind in "biuf"
            and value.dtype.itemsize <= 8)


def _types(value, count):
    """The type and the decimals of each column of an array of numbers; the columns of other tables have no type."""
    if not _is_typed(value):
        return {}
    told = {"dtypes": [str(value.dtype)] * count}
    if value.dtype.kind == "f":
        rows = value.reshape(len(value), count)
        if len(rows) > SAMPLE:
            rows = modules["numpy"].concatenate((rows[:SAMPLE // 2], rows[-SAMPLE // 2:]))
        told["decimals"] = [fixed_decimals(column) for column in rows.astype("float64").T]
    return told


def _texts(rows):
    """Texts of floats that JSON does not tell from integers or from None."""
    texts = {}
    for i, row in enumerate(rows):
        for at, item in enumerate(row):
            if type(item) is float and (item != item or item.is_integer()):
                texts.setdefault(str(at), {})[str(i)] = repr(item)
    return {"texts": texts} if texts else {}


def _exact(value):
    """Floats and decimals as a frame would give them."""
    return cell(value) if type(value) is float or is_a(value, "decimal", "Decimal") else value


def _as_frame(value, columns, rows):
    """Any other table as a frame, to choose rows of it. A throw-away fork may import pandas for this."""
    try:
        pandas = load("pandas")
    except ImportError:
        raise LookError("sorting, filtering or summarising this needs pandas, which the runtime does not have",
                        "unsupported") from None
    if is_a(value, "numpy", "ndarray") and not value.dtype.names and value.dtype.kind in "biufmM":
        return pandas.DataFrame(value)
    held = {}
    for i in range(len(columns)):
        series = pandas.Series([row[i] if i < len(row) else None for row in rows], dtype=object)
        is_one_kind = pandas.api.types.infer_dtype(series, skipna=False) in ("integer", "floating", "boolean")
        held[i] = series.infer_objects() if is_one_kind else series
    return pandas.DataFrame(held, index=pandas.RangeIndex(len(rows)))


def _page(value, first, last):
    """(columns, rows from `first` to `last`, count of all rows)."""
    if is_a(value, "numpy", "ndarray"):
        return _array_page(value, first, last)
    if isinstance(value, dict):
        return _dict_page(value, first, last)
    if isinstance(value, (list, tuple)):
        return _list_page(value, first, last)
    raise LookError(f"not a table: {type_name(value)}", "conflict")


def _array_page(value, first, last):
    if value.ndim == 1 and value.dtype.names:
        return list(value.dtype.names), [list(row) for row in value[first:last].tolist()], len(value)
    if value.ndim == 1:
        return ["value"], [[item] for item in value[first:last].tolist()], len(value)
    if value.ndim == 2:
        return list(range(value.shape[1])), value[first:last].tolist(), len(value)
    raise LookError(f"not a table: an array of {value.ndim} dimensions", "conflict")


def _dict_page(value, first, last):
    columns = list(value.values())
    if value and all(isinstance(column, (list, tuple)) for column in columns):
        total = max(map(len, columns))
        rows = [[column[i] if i < len(column) else None for column in columns]
                for i in range(first, min(last, total))]
        return list(value), rows, total
    return ["key", "value"], [list(item) for item in list(value.items())[first:last]], len(value)


def _list_page(value, first, last):
    page = value[first:last]
    if value and all(isinstance(row, dict) for row in value[:100]):
        columns = list(dict.fromkeys(key for row in value[:1000] + page if isinstance(row, dict)
                                     for key in row))
        return columns, [[row.get(key) if isinstance(row, dict) else row for key in columns]
                         for row in page], len(value)
    if value and all(isinstance(row, (list, tuple)) for row in value[:100]):
        width = max(len(row) if isinstance(row, (list, tuple)) else 1
                    for row in [*value[:1000], *page])
        return list(range(width)), [list(row) if isinstance(row, (list, tuple)) else [row]
                                    for row in page], len(value)
    return ["value"], [[item] for item in page], len(value)
