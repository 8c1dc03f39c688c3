# SPDX-License-Identifier: Apache-2.0
"""Tables in both directions: a request's data as `data` and `df`, and values as columns and rows.

Owns:    what counts as a table. pandas is imported only when a request brings data.
"""

import sys
from io import BufferedReader, BytesIO, RawIOBase, StringIO

from .frames import body, head, levels_of, name_text, plain_frame
from .hooks import load
from .inputs import InputError
from .integers import mend, suspects
from .jsonsafe import EXACT_MAX, TooLarge, json_safe
from .jsontext import dumps, loads
from .shown import hold

_PARQUET_REMEDY = ("`viv runtime add NAME --requirements FILE` makes a runtime from a list with both, "
                   "or send the table as CSV")
ROWS_SHOWN = 1000  # rows of a frame that is a result or a display; "total" has the number of all


def _pandas():
    """pandas, or None if the runtime does not have it."""
    try:
        return load("pandas")
    except ImportError:
        return None


def read_data(request):
    """(data, df) for a request that brings data; without pandas, df is None and data a dict."""
    how = request.meta.get("data_format", "json")
    reader = _READERS.get(how)
    if reader is None:
        raise InputError(f"data: unknown format {how!r}; known are {', '.join(_READERS)}")
    piece = request.piece(request.meta["data"])
    pandas = _pandas()
    try:
        table = reader(piece, pandas, request.meta)
    except InputError:
        raise
    except UnicodeDecodeError as error:
        raise InputError(f"data: not UTF-8 at byte {error.start}; convert it, or pass it as a "
                         f"file and read it with its encoding") from None
    except (ValueError, ImportError, RecursionError) as error:
        raise InputError(f"data: {error}") from None
    except MemoryError:
        raise InputError("data: it does not fit in this sandbox's memory") from None
    return table, table if pandas else None


def _from_json(piece, pandas, _meta):
    from .rows import STREAM_MIN, read_frame

    if pandas and len(piece) >= STREAM_MIN:
        frame = read_frame(piece, pandas)
        if frame is not None:
            return frame
    table = loads(str(piece, "utf-8"))
    if isinstance(table, list):
        check_records(table, 0)
        if pandas:
            frame = pandas.DataFrame(table)
            return mend(frame, lambda i: [row.get(frame.columns[i]) for row in table], pandas)
        columns = list(dict.fromkeys(key for row in table for key in row))
        return {"columns": columns, "rows": [[row.get(key) for key in columns] for row in table]}
    columns, rows = check_table(table)
    return _frame(rows, columns, pandas) if pandas else table


def _frame(rows, columns, pandas):
    return mend(pandas.DataFrame(rows, columns=columns), lambda i: [row[i] for row in rows], pandas)


def check_table(table):
    """(columns, rows) of `{"columns": [...], "rows": [[...]]}`; an InputError names what is wrong."""
    if not isinstance(table, dict) or not isinstance(table.get("columns"), list) \
            or not isinstance(table.get("rows"), list):
        raise InputError('data: must be {"columns": [...], "rows": [[...], ...]}, or a list of '
                         'objects: [{"name": value, ...}, ...]')
    for name in table:
        if name not in ("columns", "rows"):
            raise InputError(f"data.{name}: there is no such field; a table has columns and rows")
    check_columns(table["columns"])
    check_rows(table["columns"], table["rows"], 0)
    return table["columns"], table["rows"]


def check_columns(columns):
    """Checks that every column's name is a text."""
    for i, name in enumerate(columns):
        if type(name) is not str:
            raise InputError(f"data.columns[{i}]: must be a string")


def check_records(rows, first):
    """Checks that every row is an object; `first` is the number of the first one."""
    for i, row in enumerate(rows):
        if type(row) is not dict:
            raise InputError(f"data: row {first + i} is not an object")


def check_rows(columns, rows, first):
    """Checks that every row has one value per column; `first` is the number of the first one."""
    width = len(columns)
    for i, row in enumerate(rows):
        if type(row) is not list:
            raise InputError(f"data: row {first + i} is not a list")
        if len(row) != width:
            raise InputError(f"data: row {first + i} has {len(row)} values, but there are "
                             f"{width} columns")


class _View(RawIOBase):
    """The payload as a file, without copying it."""

    def __init__(self, piece):
        self.rest = piece

    def readable(self):
        return True

    def readinto(self, room):
        count = min(len(room), len(self.rest))
        room[:count] = self.rest[:count]
        self.rest = self.rest[count:]
        return count


def _read_csv(piece, separator, pandas):
    """Reads the frame. If integers may have changed, the file is read again with their columns as text."""
    def read(**how):
        return pandas.read_csv(BufferedReader(_View(piece)), sep=separator, **how)

    frame = read()
    names = [frame.columns[i] for i in suspects(frame)]
    if not names:
        return frame
    texts = read(dtype=dict.fromkeys(names, str))[names]
    whole = load("re").compile(r"\s*[+-]?[0-9]{1,40}\s*").fullmatch

    def values_of(i):
        return [int(text) if type(text) is str and whole(text) else text for text in texts[frame.columns[i]]]

    return mend(frame, values_of, pandas)


def _from_csv(piece, pandas, meta):
    separator = "\t" if meta.get("data_format") == "tsv" else ","
    if pandas:
        try:
            return _read_csv(piece, separator, pandas)
        except pandas.errors.EmptyDataError:
            return pandas.DataFrame()
    lines = StringIO(str(piece, "utf-8-sig"), newline="")
    rows = list(load("csv").reader(lines, delimiter=separator))
    return {"columns": rows[0] if rows else [], "rows": rows[1:]}


def _from_parquet(piece, pandas, _meta):
    if not pandas:
        raise InputError(f"data: parquet needs pandas and pyarrow; {_PARQUET_REMEDY}")
    try:
        return pandas.read_parquet(BytesIO(piece))
    except ImportError:
        raise InputError(f"data: parquet needs pyarrow, which this runtime does not have; {_PARQUET_REMEDY}") from None


def _from_sqlite(piece, pandas, meta):
    query = meta.get("data_query")
    if not query:
        raise InputError("data: a sqlite database needs a query")
    sqlite3 = load("sqlite3")
    with load("tempfile").NamedTemporaryFile(dir="/tmp", suffix=".db") as file:
        file.write(piece)
        file.flush()
        base = sqlite3.connect(f"file:{file.name}?mode=ro&immutable=1", uri=True)
        try:
            cursor = base.execute(query)
            columns = [column[0] for column in cursor.description or ()]
            rows = [list(row) for row in cursor]
        except (sqlite3.Error, sqlite3.Warning) as error:
            raise InputError(f"data: sqlite: {error}") from None
        finally:
            base.close()
    if pandas:
        return _frame(rows, columns, pandas)
    return {"columns": columns, "rows": rows}


_READERS = {"json": _from_json, "csv": _from_csv, "tsv": _from_csv, "sqlite": _from_sqlite,
            "parquet": _from_parquet}


def fit(head, body, rows, room, wanted=0):
    """(table as JSON's types, its text, its number of rows): as many of `rows` as fit. `body(n)` has the first n of
    them; "cut" if that is fewer than `wanted`."""
    while True:
        try:
            cut = {"cut": True} if rows < wanted else {}
            table = json_safe({**head, **body(rows), **cut}, room, EXACT_MAX)
            text = dumps(table)
            if len(text) <= room:
                return table, text, rows
        except TooLarge:
            pass
        if rows == 0:
            raise TooLarge
        rows //= 2


def _fit_frame(frame, rows, room):
    """Like `fit`; makes no rows that surely do not fit."""
    width, wanted = frame.shape[1] + frame.index.nlevels, min(rows, len(frame))
    return fit(head(frame), lambda count: body(frame, slice(count)), min(wanted, room // (2 * width) + 1), room, wanted)


def structure(value, room):
    """The natural JSON form of library values; None for all others. A frame is a table (its first rows, with the
    total), arrays are lists, scalars, dates and times are themselves."""
    frame = plain_frame(value)
    if frame is not None:
        return _fit_frame(frame, ROWS_SHOWN, room)[0]
    numpy = sys.modules.get("numpy")
    if numpy and isinstance(value, (numpy.ndarray, numpy.generic)):
        # If even the shortest text cannot fit, no list is made.
        return value if 2 * value.size <= room else None
    for module, names in (("datetime", ("date", "time")), ("decimal", ("Decimal",))):
        for name in names:
            if module in sys.modules and isinstance(value, getattr(sys.modules[module], name)):
                return value
    return None


def _as_table(value):
    """The `_table` of user code as {columns, rows}. A list of dicts and a dict of lists are converted; a dict
    with one of the two keys is passed on as it is."""
    if isinstance(value, dict):
        if value and not {"columns", "rows"} & set(value) \
                and all(isinstance(column, (list, tuple)) for column in value.values()):
            return {"columns": list(value), "rows": [list(row) for row in zip(*value.values())]}
        return value
    if isinstance(value, (list, tuple)):
        if value and all(isinstance(row, dict) for row in value):
            columns = list(dict.fromkeys(key for row in value for key in row))
            rows = [[row.get(key) for key in columns] for row in value]
            return {"columns": columns, "rows": rows}
        return {"columns": ["value"], "rows": [[item] for item in value]}
    return {"columns": ["value"], "rows": [[value]]}


def _without_index(frame):
    """A frame with its index as columns, unless the index only numbers the rows."""
    pandas = sys.modules["pandas"]
    if type(frame.index) is pandas.RangeIndex and frame.index.equals(pandas.RangeIndex(len(frame))):
        return frame
    names = [f"level_{i}" if frame.index.nlevels > 1 else "index" for i in range(frame.index.nlevels)]
    levels = [(name if own is None else own, level)
              for own, name, (level, _dtype) in zip(frame.index.names, names, levels_of(frame.index))]
    frame = frame.reset_index(drop=True)
    for i, (name, level) in enumerate(levels):
        frame.insert(i, name, level, allow_duplicates=True)
    return frame


def table_text(value, run):
    """(JSON text of what user code put in `_table`, whether rows were left out to make it fit). If outputs are
    explicit, a table has only columns and rows, so its index becomes columns; else, in a session, it has a
    handle."""
    frame, room = plain_frame(value), run.result_max
    try:
        if frame is None:
            return _fit_other(_as_table(value), room, run.is_explicit)
        if not run.is_explicit:
            text, rows = _fit_frame(frame, len(frame), room)[1:]
            more = "" if run.is_once else f',"handle":"{hold(value)}"'
        else:
            frame = _without_index(frame)
            names = {"columns": [name_text(name) for name in frame.columns]}
            text, rows = fit(names, lambda count: {"rows": body(frame, slice(count))["rows"]},
                             len(frame), room)[1:]
            more = f',"total":{len(frame)}' if rows < len(frame) else ""
        return f"{text[:-1]}{more}}}", rows < len(frame)
    except TooLarge:
        return '{"columns":[],"rows":[]}', True


def _fit_other(table, room, is_explicit):
    rows = table.get("rows")
    rows = rows if isinstance(rows, (list, tuple)) else []

    def cut(count):
        return table if count == len(rows) else {"rows": rows[:count], "total": len(rows)}

    text, count = fit(table, cut, len(rows), room, 0 if is_explicit else len(rows))[1:]
    return text, count < len(rows)
