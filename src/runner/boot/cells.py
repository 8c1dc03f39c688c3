# SPDX-License-Identifier: Apache-2.0
"""A value of a frame, and a column of values, as JSON that keeps what pandas holds.

Owns:    how a cell becomes JSON, and how a missing one is printed.
May not: trust a value's class: methods of a subclass are user code and are not called.
"""

import sys
from math import copysign

from .jsonsafe import EXACT_MAX, safe_repr

DIGITS_MAX = 4000  # Python writes this many decimal digits by default
CELL_MAX = 4096  # characters of a value that is not a string

_modules = sys.modules


def library(name, kind):
    """A class of a library; None if the library is not loaded, or only partly."""
    return getattr(_modules.get(name), kind, None)


def is_a(value, name, kind):
    """Whether the type is that class or a subclass; `__class__` is not asked, since it may lie."""
    base = library(name, kind)
    return base is not None and issubclass(type(value), base)


def _integer(value):
    if -EXACT_MAX < value < EXACT_MAX:
        return value
    return str(value) if value.bit_length() < 3 * DIGITS_MAX else hex(value)


def _float(value):
    if value - value == 0.0:
        return value
    return None if value != value else "inf" if value > 0 else "-inf"


def cell(value):
    """One value as JSON: None if it is missing; text if a JSON number cannot hold it."""
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
    """Whether a value of any type counts as missing."""
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
    """Whole numbers stay as they are; others get the shortest digits that give this number in its own type. Text if a
    double is not precise enough."""
    number = float(value)
    if not number.is_integer() or type(value)(number) != value:
        number = float(str(value))
    if type(value)(number) == value or number != number or number - number != 0.0:
        return _float(number)
    return str(value)


def _kind(dtype):
    """numpy's letter for a type; "O" for types that are not numpy's."""
    return dtype.kind if is_a(dtype, "numpy", "dtype") else "O"


def cells(series):
    """The values of a column, each as `cell` gives it."""
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
    values = series.astype(object).tolist()
    narrow = getattr(series.dtype, "numpy_dtype", None)  # only pandas' masked columns have it
    if narrow is not None and narrow.kind == "f" and narrow.itemsize < 8:
        return [_short_float(narrow.type(value)) if type(value) is float else cell(value) for value in values]
    return [cell(value) for value in values]


def gap_text(value):
    """How pandas prints a value that is missing."""
    pandas = _modules["pandas"]
    if is_a(value, "decimal", "Decimal") and value.is_snan():
        return "sNaN"
    return "<NA>" if value is pandas.NA else "NaT" if value is pandas.NaT else \
        "None" if value is None else "NaN"


def missing_text(series, told, dtype):
    """How pandas prints the first missing value of a column, or of an index level, of that type. None if nothing is
    missing."""
    if None not in told:
        return None
    if is_a(dtype, "pandas", "CategoricalDtype"):
        return "NaT" if getattr(dtype.categories.dtype, "kind", "O") in "mM" else "NaN"
    kind = _kind(dtype)
    if kind == "O" and hasattr(dtype, "na_value"):
        return gap_text(dtype.na_value)
    if kind != "O":
        return "NaT" if kind in "mM" else "NaN"
    return gap_text(series.iloc[told.index(None)])


def odd_texts(series, told, missing):
    """{row: text} for values whose JSON does not show what pandas prints: missing values that are not printed as
    `missing`, floats without a fraction in a column of objects, which readers take for integers, and -0.0."""
    dtype = getattr(getattr(series.dtype, "categories", None), "dtype", series.dtype)
    if getattr(series.dtype, "kind", "O") == "f":
        return {str(i): "-0.0" for i, said in enumerate(told) if said == 0 and copysign(1, said) < 0}
    if not is_a(dtype, "numpy", "dtype") or dtype.kind != "O":
        return {}
    found = {}
    for i, (value, said) in enumerate(zip(series.astype(object).tolist(), told)):
        if type(said) is float and said.is_integer():
            found[str(i)] = repr(said)
        elif said is None and series.dtype is dtype and gap_text(value) != missing:
            found[str(i)] = gap_text(value)
    return found
