# SPDX-License-Identifier: Apache-2.0
"""A frame as a table that keeps what pandas holds: index, types, exact values.

Owns:    how a frame and its index become a table; results, displays, pages and CSV all use this.
May not: change the frame, or trust its class: methods of a subclass are user code and are not called.
"""

import sys

from .cells import CELL_MAX, cell, cells, gap_text, is_a, missing_text, odd_texts
from .hooks import quiet
from .jsonsafe import safe_repr

EXACT_DIGITS = 15  # every double has this many exact decimal digits
SAMPLE = 100000  # values that decide how many decimals a column has

_modules = sys.modules


def plain_frame(value):
    """A frame or series as a plain pandas DataFrame that shares its data; None for anything else. A series becomes one
    column."""
    pandas = _modules.get("pandas")
    if is_a(value, "pandas", "DataFrame"):
        return value if type(value) is pandas.DataFrame else pandas.DataFrame(value)
    if is_a(value, "pandas", "Series"):
        series = pandas.Series(value)
        return series.to_frame("value" if series.name is None else series.name)
    return None


# ---- how floats are printed ----

def _own_format(pandas):
    """The decimals that the user's `display.float_format` gives; -1 without one."""
    float_format = pandas.get_option("display.float_format")
    if float_format is None:
        return -1
    whole, _, rest = str(float_format(1.5)).partition(".")
    return len(rest) if whole.isdigit() and (rest.isdigit() or not rest) else None


def decimals(series):
    """The number of decimals with which pandas prints a column of floats, even if pandas would use powers of ten for
    large ones. None for other columns, and if a fixed number of decimals would lose or invent digits."""
    pandas, numpy = _modules["pandas"], _modules["numpy"]
    if getattr(series.dtype, "kind", "O") != "f":
        return None
    own = _own_format(pandas)
    if own != -1:
        return own
    if len(series) > SAMPLE:
        series = pandas.concat([series.iloc[:SAMPLE // 2], series.iloc[-SAMPLE // 2:]])
    return fixed_decimals(series.to_numpy(dtype="float64", na_value=numpy.nan), pandas.get_option("display.precision"))


def fixed_decimals(values, most=6):
    """The number of decimals for an array of floats, at most `most`; see `decimals`."""
    numpy = _modules["numpy"]
    values = numpy.abs(values)
    values = values[numpy.isfinite(values)]
    room = EXACT_DIGITS - len(str(int(values.max()))) if len(values) else most
    if room < 1 or ((values > 0) & (values < 10.0 ** -min(most, room))).any():
        return None
    values = numpy.round(values, most)
    found = most
    while found > 1 and (numpy.round(values, found - 1) == values).all():
        found -= 1
    return min(found, room)


# ---- the axes ----

def name_text(name):
    """A column's name as text; if it has several levels, they are joined with blanks."""
    if type(name) is tuple:
        return " ".join(map(name_text, name))
    return name if type(name) is str else _label(name)


def _label(name):
    told = cell(name)
    return told if type(told) is str else gap_text(name) if told is None else str(told)


def levels_of(index):
    """[(series of its values, type)] for each level of an index."""
    pandas = _modules["pandas"]
    if not is_a(index, "pandas", "MultiIndex"):
        return [(pandas.Series(index, dtype=index.dtype), index.dtype)]
    return [(_level(index, i), level.dtype) for i, level in enumerate(index.levels)]


def _level(index, i):
    """A level from its codes: taken as values, integers would become floats if one is missing. A level of categories is
    taken as values, since its codes count places in the level, not among the categories."""
    pandas = _modules["pandas"]
    if is_a(index.levels[i].dtype, "pandas", "CategoricalDtype"):
        return pandas.Series(index.get_level_values(i))
    try:
        return pandas.Series(pandas.Categorical.from_codes(index.codes[i], index.levels[i]))
    except ValueError:
        return pandas.Series(index.get_level_values(i))


def _names(index):
    return [None if name is None else name_text(name) for name in index.names]


def index_names(frame):
    """The names of the index levels; None for those without."""
    return _names(frame.index)


@quiet
def head(frame):
    """The table's descriptions of the columns."""
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


@quiet
def body(frame, rows):
    """The rows that `rows` (a slice or positions) selects, with their index."""
    part = frame.iloc[rows]
    columns = (part.iloc[:, i] for i in range(part.shape[1]))
    levels = levels_of(part.index)
    index = {"names": _names(part.index), "dtypes": [safe_repr(dtype, CELL_MAX, str) for _, dtype in levels]}
    return {**_told(((series, series.dtype) for series in columns), len(part)),
            "index": {**index, **_told(levels, len(part))}}


def _told(columns, count):
    """The rows of these columns, and texts for single values that need them."""
    told, missing, texts = [], {}, {}
    for i, (series, dtype) in enumerate(columns):
        told.append(cells(series))
        gap = missing_text(series, told[-1], dtype)
        if gap is not None:
            missing[str(i)] = gap
        odd = odd_texts(series, told[-1], gap)
        if odd:
            texts[str(i)] = odd
    found = {"rows": _across(told, count)}
    if missing:
        found["missing"] = missing
    if texts:
        found["texts"] = texts
    return found


def _across(columns, count):
    return list(map(list, zip(*columns))) if columns else [[] for _ in range(count)]


def table(frame, rows):
    """The whole table, for JSON."""
    return {**head(frame), **body(frame, rows)}
