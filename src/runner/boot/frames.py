# SPDX-License-Identifier: Apache-2.0
"""A frame as a table that says what pandas holds: index, types, exact values.

Owns:    how a frame, its index and its cells are told; results, displays, pages and CSV all use this.
May not: change the frame, or trust its class: methods of a subclass are user code and are not called.
"""

import sys

from .jsonsafe import EXACT_MAX, safe_repr

DIGITS_MAX = 4000  # decimal digits that Python writes without being asked twice
CELL_MAX = 4096  # characters of a value that is no text of its own
EXACT_DIGITS = 15  # decimal digits that every double has
SAMPLE = 100000  # values that decide how many decimals a column has

_modules = sys.modules


def library(name, kind):
    """A class of a library; None where that is not loaded, or only half."""
    return getattr(_modules.get(name), kind, None)


def is_a(value, name, kind):
    """By its type alone: what an object says of its class may be a lie."""
    base = library(name, kind)
    return base is not None and issubclass(type(value), base)


def plain_frame(value):
    """A frame or series as a DataFrame of pandas' own class that shares its data; None for all
    others. A series has one column."""
    pandas = _modules.get("pandas")
    if is_a(value, "pandas", "DataFrame"):
        return value if type(value) is pandas.DataFrame else pandas.DataFrame(value)
    if is_a(value, "pandas", "Series"):
        series = pandas.Series(value)
        return series.to_frame("value" if series.name is None else series.name)
    return None


# ---- cells ----

def _integer(value):
    if -EXACT_MAX < value < EXACT_MAX:
        return value
    return str(value) if value.bit_length() < 3 * DIGITS_MAX else hex(value)


def _float(value):
    if value - value == 0.0:
        return value
    return None if value != value else "inf" if value > 0 else "-inf"


def cell(value):
    """One value as JSON: None when it is missing; text where a JSON number cannot carry it."""
    kind = type(value)
    if kind is str or value is None or kind is bool:
        return value
    if kind is int:
        return _integer(value)
    if kind is float:
        return _float(value)
    try:
        return _other(value)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return safe_repr(value, CELL_MAX)


def is_missing(value):
    """Whether a value of any kind is none."""
    kind = type(value)
    if kind is str or kind is int:
        return False
    pandas = _modules.get("pandas")
    if value is None or value is getattr(pandas, "NA", None) or value is getattr(pandas, "NaT", None):
        return True
    if kind is float or kind is complex or is_a(value, "numpy", "generic"):
        return bool(value != value)
    return is_a(value, "decimal", "Decimal") and value.is_nan()


def _other(value):
    kind = type(value)
    if is_missing(value):
        return None
    if issubclass(kind, str):
        return str.__str__(value)
    if issubclass(kind, int):
        return _integer(int.__pos__(value))
    if issubclass(kind, float):
        return _float(float.__pos__(value))
    if is_a(value, "numpy", "generic"):
        return _scalar(value)
    moments = _modules.get("datetime")
    if moments and issubclass(kind, (moments.date, moments.time)):
        return value.isoformat()
    if is_a(value, "decimal", "Decimal"):
        return str(value)
    return safe_repr(value, CELL_MAX, str)


def _scalar(value):
    if value.dtype.kind in "Mm":
        return str(value)
    if value.dtype.kind == "f":
        return _short_float(value)
    item = value.item()
    return safe_repr(value, CELL_MAX, str) if type(item) is type(value) else cell(item)


def _short_float(value):
    """The shortest digits that mean this number in its own type; text if a double has not enough."""
    number = float(str(value))
    if type(value)(number) == value or number != number or number - number != 0.0:
        return _float(number)
    return str(value)


def _kind(dtype):
    """numpy's letter of a type; "O" for what numpy does not hold itself."""
    return dtype.kind if is_a(dtype, "numpy", "dtype") else "O"


def cells(series):
    """The values of a column, each as `cell` tells it."""
    kind = _kind(series.dtype)
    if kind == "b":
        return series.tolist()
    if kind in "iu":
        return [_integer(value) for value in series.tolist()]
    if kind == "f":
        array = series.to_numpy()
        if array.dtype.itemsize == 8:
            return [_float(value) for value in array.tolist()]
        return [_short_float(value) for value in array]
    if kind == "c":
        return [None if value != value else str(value) for value in series.tolist()]
    if kind == "m":
        return [None if value is _modules["pandas"].NaT else str(value) for value in series.tolist()]
    return [cell(value) for value in series.astype(object).tolist()]


def _gap(value):
    """How pandas prints a value that is missing."""
    pandas = _modules["pandas"]
    return "<NA>" if value is pandas.NA else "NaT" if value is pandas.NaT else \
        "None" if value is None else "NaN"


def _missing(series, told):
    """How pandas prints what is missing in this column; None when nothing is."""
    if None not in told:
        return None
    kind = _kind(series.dtype)
    if kind == "O" and hasattr(series.dtype, "na_value"):
        return _gap(series.dtype.na_value)
    if kind != "O":
        return "NaT" if kind in "mM" else "NaN"
    return _gap(series.iloc[told.index(None)])


# ---- how floats are printed ----

def _own_format(pandas):
    """The decimals that the user's `display.float_format` gives; -1 without one."""
    float_format = pandas.get_option("display.float_format")
    if float_format is None:
        return -1
    whole, _, rest = str(float_format(1.5)).partition(".")
    return len(rest) if whole.isdigit() and (rest.isdigit() or not rest) else None


def decimals(series):
    """Digits behind the point with which pandas prints a column of floats, also where it would make powers
    of ten of large ones; None for other columns, and for numbers of which fixed digits would lose or invent
    some."""
    pandas, numpy = _modules["pandas"], _modules["numpy"]
    if getattr(series.dtype, "kind", "O") != "f":
        return None
    own = _own_format(pandas)
    if own != -1:
        return own
    if len(series) > SAMPLE:
        series = pandas.concat([series.iloc[:SAMPLE // 2], series.iloc[-SAMPLE // 2:]])
    values = series.to_numpy(dtype="float64", na_value=numpy.nan)
    values = numpy.abs(values)
    values = values[numpy.isfinite(values)]
    most = pandas.get_option("display.precision")
    if ((values > 0) & (values < 10.0 ** -most)).any():
        return None
    values = numpy.round(values, most)
    found = most
    while found > 1 and (numpy.round(values, found - 1) == values).all():
        found -= 1
    room = EXACT_DIGITS - len(str(int(values.max()))) if len(values) else found
    return None if room < 1 else min(found, room)


# ---- the axes ----

def name_text(name):
    """A column's name as text; the levels of one with several stand behind each other."""
    if type(name) is tuple:
        return " ".join(map(name_text, name))
    return name if type(name) is str else _label(name)


def _label(name):
    told = cell(name)
    return told if type(told) is str else _gap(name) if told is None else str(told)


def levels_of(index):
    """[(series of its values, type)] for each level of an index."""
    pandas = _modules["pandas"]
    if not is_a(index, "pandas", "MultiIndex"):
        return [(pandas.Series(index, dtype=index.dtype), index.dtype)]
    return [(_level(index, i), level.dtype) for i, level in enumerate(index.levels)]


def _level(index, i):
    """By codes: as values, integers become floats where one is missing."""
    pandas = _modules["pandas"]
    try:
        return pandas.Series(pandas.Categorical.from_codes(index.codes[i], index.levels[i]))
    except ValueError:
        return pandas.Series(index.get_level_values(i))


def _names(index):
    return [None if name is None else name_text(name) for name in index.names]


def index_names(frame):
    """The names of the levels of its index; None for those without."""
    return _names(frame.index)


def head(frame):
    """What the table says of the columns."""
    columns = frame.columns
    told = {"columns": [name_text(name) for name in columns]}
    if is_a(columns, "pandas", "MultiIndex"):
        told["column_levels"] = [[_label(level) for level in name] for name in columns]
    if any(name is not None for name in columns.names) or "column_levels" in told:
        told["column_names"] = _names(columns)
    told["total"] = len(frame)
    told["dtypes"] = [safe_repr(dtype, CELL_MAX, str) for dtype in frame.dtypes.tolist()]
    told["decimals"] = [decimals(frame.iloc[:, i]) for i in range(frame.shape[1])]
    return told


def body(frame, rows):
    """The rows that `rows`, a slice or positions, chooses, with their index."""
    part = frame.iloc[rows]
    told, missing = [], {}
    for i in range(part.shape[1]):
        series = part.iloc[:, i]
        told.append(cells(series))
        _note(missing, i, series, told[-1])
    levels = levels_of(part.index)
    index = {"names": _names(part.index), "dtypes": [safe_repr(dtype, CELL_MAX, str) for _, dtype in levels]}
    marks, gaps = [], {}
    for i, (series, _dtype) in enumerate(levels):
        marks.append(cells(series))
        _note(gaps, i, series, marks[-1])
    index["rows"] = _across(marks, len(part))
    if gaps:
        index["missing"] = gaps
    page = {"rows": _across(told, len(part)), "index": index}
    if missing:
        page["missing"] = missing
    return page


def _note(missing, i, series, told):
    gap = _missing(series, told)
    if gap is not None:
        missing[str(i)] = gap


def _across(columns, count):
    return list(map(list, zip(*columns))) if columns else [[] for _ in range(count)]


def table(frame, rows):
    """The whole of it, for JSON."""
    return {**head(frame), **body(frame, rows)}
