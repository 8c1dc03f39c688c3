# SPDX-License-Identifier: Apache-2.0
"""Tables of a session, asked page by page.

Owns:    what can be shown as rows: frames, series, arrays, lists, dicts; and what may be asked of them.
"""

from sys import maxsize, modules

from .frames import body, cell, head, is_a, plain_frame
from .look import ROOM, LookError
from .look_vars import type_name, user_names
from .tables import fit

ROWS_MAX = 10000


def _named(interpreter, look):
    name = look.get("name")
    names = dict(user_names(interpreter))
    if type(name) is not str or name not in names:
        raise LookError(f"there is no variable {name!r}", "not_found")
    return names[name]


def _is_asked(look):
    return any(look.get(word) for word in ("sort", "filter", "search"))


def _rows(frame, look):
    """The positions of the rows that are asked for; None: all of them, as they are."""
    if not _is_asked(look):
        return None
    from .choose import Chooser

    return Chooser(frame, modules["numpy"]).rows(look)


def table(interpreter, look):
    """A page of a variable that is a table. "cut" when not all of the rows that were asked for fit."""
    value = _named(interpreter, look)
    first = max(0, int(look.get("offset", 0)))
    count = min(max(0, int(look.get("limit", 100))), ROWS_MAX)
    frame = plain_frame(value)
    if frame is not None:
        about, total = head(frame), len(frame)
        make = lambda rows: body(frame, rows)
        positions = _rows(frame, look)
    else:
        about, total, make, positions = _other(value, look, first, first + count)
    matched = total if positions is None else len(positions)
    chosen = range(first, min(first + count, total)) if positions is None \
        else positions[first:first + count].tolist()

    def part(count):
        rows = chosen[:count]
        return {**make(slice(rows.start, rows.stop) if positions is None else rows),
                "numbers": list(rows)}

    answer, _text, fitting = fit({**about, "matched": matched}, part, len(chosen), ROOM)
    if fitting < len(chosen):
        answer["cut"] = True
    return answer


def _other(value, look, first, last):
    """What is no frame: (what its table says, count of all rows, rows from positions, the positions that
    are asked for)."""
    if not _is_asked(look):
        columns, found, total = _page(value, first, last)
        return {"columns": columns, "total": total}, total, lambda rows: {
            "rows": [[_exact(item) for item in row] for row in found[:max(0, rows.stop - rows.start)]]}, None
    columns, found, total = _page(value, 0, maxsize)
    positions = _rows(_as_frame(value, columns, found), look)
    return {"columns": columns, "total": total}, total, lambda rows: {
        "rows": [[_exact(item) for item in found[row]] for row in rows]}, positions


def _exact(value):
    """Numbers as a frame would tell them."""
    return cell(value) if type(value) is float or is_a(value, "decimal", "Decimal") else value


def _as_frame(value, columns, rows):
    """Any other table as a frame, to choose rows of it. In a throw-away fork pandas may be imported for
    that."""
    try:
        import pandas
    except ImportError:
        raise LookError("to sort, filter or sum up this needs pandas, which the runtime has not",
                        "unsupported") from None
    if is_a(value, "numpy", "ndarray") and not value.dtype.names and value.dtype.kind in "biufmM":
        return pandas.DataFrame(value)
    held = {i: pandas.Series([row[i] if i < len(row) else None for row in rows], dtype=object)
            for i in range(len(columns))}
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
