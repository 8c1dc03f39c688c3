# SPDX-License-Identifier: Apache-2.0
"""Keys by which values are compared.

Owns:    keys of values of any type, and of the value in a filter. Keys are plain numbers and texts, so that no
         method of the user's is called.
"""

import sys
from math import ceil, floor
from _operator import eq, ne

from .cells import cell, is_a

_modules = sys.modules


def _without_commas(text):
    """A number's text without separators of thousands; the text itself if its commas are not these."""
    whole, *rest = text.partition(".")
    first, *groups = whole.strip().lstrip("+-").split(",")
    is_grouped = 0 < len(first) <= 3 and all(len(group) == 3 and group.isdecimal() for group in groups)
    return whole.replace(",", "") + "".join(rest) if is_grouped else text


def number_of(value):
    """The value if it is a number, or the number that a text spells; else None. A comma separates thousands: "1,500"."""
    if type(value) is not str:
        return value
    for read in (int, float):
        try:
            number = read(_without_commas(value))
            return number if number == number else None
        except ValueError:
            pass
    return {"true": True, "false": False}.get(value.lower())


def decimal_of(value):
    """The same as a decimal: as a double, "19.99" is a different number. None if it is not a number."""
    number = number_of(value)
    if type(number) is not float:
        return number
    try:
        return _modules["decimal"].Decimal(_without_commas(str(value)))
    except Exception:  # `decimal` is not loaded, or the exponent is too large for it
        return number


def key_of(value):
    """(0, number) or (1, text) for a value of any type that is not missing."""
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


def can_equal(value, key):
    """Whether a filter's value can be equal to a key, which any type of value can have: a text equals texts, a number
    numbers, and a truth value truth values. A text also equals a number whose JSON is text."""
    if type(key) is str or type(key) is bool or type(value) is bool:
        return type(value) is type(key)
    return type(value) is not str or (type(cell(key)) is str and type(number_of(value)) is not bool)


def is_order(compare):
    return compare is not eq and compare is not ne


def wanted_by(compare, value):
    """(the number, the text) to compare values with. A number is neither more nor less than a text."""
    return number_of(value), None if is_order(compare) and type(value) is not str else str(value)


def compare_numbers(compare, array, number, numpy):
    """Compares exactly: an integer is never rounded."""
    if array.dtype.kind == "f":
        return compare(array, array.dtype.type(number) if abs(number) < 1 << 1000 else float("inf") * number)
    if array.dtype.kind == "b":
        array = array.astype("i8")
    if number - number != 0:  # an infinity
        return numpy.full(len(array), compare(0, number))
    low, high = floor(number), ceil(number)
    range_ = numpy.iinfo(array.dtype)
    if low != high or not range_.min <= low <= range_.max:
        # No integer of the column equals the number, so only the side on which it lies counts.
        below = numpy.full(len(array), low > range_.max) if not range_.min <= low <= range_.max \
            else array <= low
        return numpy.where(below, compare(0, 1), compare(1, 0))
    return compare(array, array.dtype.type(low))
