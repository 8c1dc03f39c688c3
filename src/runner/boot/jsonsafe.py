# SPDX-License-Identifier: Apache-2.0
"""Any Python value as a tree that strict JSON can hold.

NaN and infinities become null, numpy scalars numbers, or text if no double is exact, decimals their digits
as text, timestamps ISO text, sets lists, and anything else its repr, including a dict with two keys of the
same text. Bounded in size and depth; raises nothing but `TooLarge`. Methods that may be user code (a repr, a
method of a subclass) are called only where their failure is caught.
"""

import sys

from .wire import clean

DEPTH_MAX = 100
REPR_MAX = 4096
INT_MAX = 1 << 63  # JSON readers disagree about larger numbers: these are sent as text
DECIMAL_BITS_MAX = 1 << 18
EXACT_MAX = 1 << 53  # readers that use doubles change larger numbers
DAY_NS = 86400 * 10 ** 9
UNITS_NS = {"W": 7 * DAY_NS, "D": DAY_NS, "h": DAY_NS // 24, "m": DAY_NS // 1440, "s": 10 ** 9, "ms": 10 ** 6,
            "us": 10 ** 3, "ns": 1}
DRAWN_MAX = EXACT_MAX + 1  # of a chart object: only what a double changes is text

_repr = repr
_isinstance = isinstance
_modules = sys.modules


class TooLarge(Exception):
    """The value does not fit in the bytes it was given."""


class Bounded:
    """One conversion: how much room is left, which containers it is inside of, and whether every value in them was
    one that JSON has."""

    __slots__ = ("room", "path", "int_max", "with_index", "is_exact")

    def __init__(self, room, int_max=INT_MAX, with_index=False):
        self.room = room
        self.int_max = int_max
        self.with_index = with_index
        self.path = set()
        self.is_exact = True

    def take(self, size):
        self.room -= size
        if self.room < 0:
            raise TooLarge

    def text(self, value):
        text = clean(str.__str__(value))
        self.is_exact &= len(text) == str.__len__(value)
        self.take(len(text) + 3)
        return text

    def convert(self, value):
        kind = type(value)
        if value is None or kind is bool:
            self.take(5)
            return value
        if kind is str:
            return self.text(value)
        if kind is int or kind is float:
            return self.number(value)
        if kind is list or kind is tuple:
            return self.sequence(value)
        if kind is dict:
            return self.mapping(value)
        return self.other(value)

    def number(self, value):
        self.take(20)
        if _isinstance(value, float):
            value = float.__pos__(value)
            if value - value == 0.0:
                return value
            self.is_exact = False
            return None
        value = int.__pos__(value)
        if -self.int_max < value < self.int_max:
            return value
        self.is_exact = False
        return self.text(integer_text(value))

    def inside(self, value, convert):
        """Calls `convert` with `value` on the path; for a cycle or too great a depth, returns a repr."""
        if id(value) in self.path or len(self.path) >= DEPTH_MAX:
            return self.fallback(value)
        self.path.add(id(value))
        try:
            return convert()
        finally:
            self.path.discard(id(value))

    def sequence(self, value):
        self.take(2)
        return self.inside(value, lambda: [self.convert(item) for item in value])

    def mapping(self, value):
        self.take(2)
        return self.inside(value, lambda: self.members(value))

    def members(self, value):
        """The members of a dict; its repr if two keys have the same text: an object would lose one of the values."""
        told = {self.key(key): self.convert(item) for key, item in dict.items(value)}
        return told if len(told) == dict.__len__(value) else self.fallback(value)

    def key(self, key):
        if _isinstance(key, str):
            return self.text(key)
        name = self.convert(key) if type(key) not in (tuple, list, dict) else self.fallback(key)
        return name if type(name) is str else str(name)

    def other(self, value):
        """Types that JSON does not have, most frequent first."""
        try:
            found, converted = self.known(value)
        except (TooLarge, KeyboardInterrupt):
            raise
        except BaseException:
            found = False
        return converted if found else self.fallback(value)

    def known(self, value):
        if _isinstance(value, str):
            return True, self.text(value)
        if _isinstance(value, (int, float)):
            return True, self.number(value)
        if _isinstance(value, dict):
            return True, self.mapping(value)
        if _isinstance(value, (list, tuple)):
            base = list if _isinstance(value, list) else tuple
            return True, self.inside(value, lambda: [self.convert(x) for x in base.__iter__(value)])
        if _isinstance(value, (set, frozenset)):
            return True, self.inside(value, lambda: self.sequence(_in_order(value)))
        if type(value) is range:
            self.take(2 * len(value))
            return True, self.sequence(list(value))
        return self.from_library(value)

    def from_library(self, value):
        """Values of modules that may not be loaded. Of these, only NumPy's plain values are what JSON has."""
        numpy = _modules.get("numpy")
        is_numpy = numpy and _isinstance(value, (numpy.ndarray, numpy.generic))
        if not is_numpy or _isinstance(value, numpy.ndarray) and type(value) is not numpy.ndarray \
                or value.dtype.kind not in "biufUO":
            self.is_exact = False
        moments = _modules.get("datetime")
        if moments and _isinstance(value, (moments.date, moments.time)):
            text = value.isoformat()
            return True, None if text == "NaT" else self.text(text)
        if moments and _isinstance(value, moments.timedelta):
            text = str(value)
            return True, None if text == "NaT" else self.text(text)
        decimal = _modules.get("decimal")
        if decimal and _isinstance(value, decimal.Decimal):
            return True, self.decimal(decimal.Decimal, value)
        if is_numpy:
            return self.from_numpy(numpy, value)
        pandas = _modules.get("pandas")
        if pandas and hasattr(pandas, "Series"):
            return self.from_pandas(pandas, value)
        return False, None

    def decimal(self, kind, value):
        """A decimal's digits as text if integers are exact; a number in a chart, which has to draw it."""
        if not kind.is_finite(value):
            self.take(5)
            return None
        return self.number(float(value)) if self.int_max > EXACT_MAX else self.text(kind.__str__(value))

    def from_numpy(self, numpy, value):
        if _isinstance(value, numpy.ndarray):
            self.take(2 * value.size)  # before a list of it is made
            if value.dtype.names:  # as a list, times in its rows would be bare numbers
                return True, self.convert(list(value) if value.ndim else value[()])
            if value.dtype.kind == "m":
                value = numpy.frompyfunc(_span_writer(numpy, value.dtype), 1, 1)(value.astype("i8"))
            elif value.dtype.kind == "M":
                told = value.astype(str).astype(object)
                told[numpy.isnat(value)] = None
                value = told
            return True, self.convert(value.tolist() if _isinstance(value, numpy.ndarray) else value)
        if _isinstance(value, numpy.datetime64):
            text = str(value)
            return True, None if text == "NaT" else self.text(text)
        if _isinstance(value, numpy.timedelta64):
            return True, self.convert(_span_writer(numpy, value.dtype)(int(value.astype("i8"))))
        if value.dtype.names:
            return True, self.convert([value[name] for name in value.dtype.names])
        plain = value.item()
        if type(plain) is not type(value):
            return True, self.convert(plain)
        return (True, self.long_float(value)) if value.dtype.kind == "f" else (False, None)

    def long_float(self, value):
        """A longdouble, which has no plain form: its digits as text if no double is equal to it, and integers are
        exact."""
        number = float(value)
        is_odd = value == value and value - value == 0 and type(value)(number) != value
        self.is_exact &= not is_odd
        return self.text(str(value)) if is_odd and self.int_max == EXACT_MAX else self.number(number)

    def from_pandas(self, pandas, value):
        if value is pandas.NA or value is pandas.NaT:
            return True, None
        if _isinstance(value, pandas.Index) or _isinstance(value, pandas.Series) and not self.with_index:
            self.take(2 * len(value))
            return True, self.convert(value.tolist())
        if _isinstance(value, (pandas.Period, pandas.Interval)):
            return True, self.text(str(value))
        if _isinstance(value, (pandas.DataFrame, pandas.Series)):
            from .frames import plain_frame, table

            self.take(2 * value.size)
            return True, self.convert(table(plain_frame(value), slice(None)))
        return False, None

    def fallback(self, value):
        self.is_exact = False
        return self.text(safe_repr(value, REPR_MAX))


def _in_order(values):
    """A set of strings has a different order in each process; a result should not."""
    items = list(set.__iter__(values) if _isinstance(values, set) else frozenset.__iter__(values))
    return sorted(items) if all(type(item) is str for item in items) else items


def _span_writer(numpy, dtype):
    """A function that writes an integer of this timedelta64 type as pandas does; without a fixed length, as months, or
    below nanoseconds, as numpy does. None for NaT."""
    unit, count = numpy.datetime_data(dtype)

    def write(number):
        if number == -INT_MAX:
            return None
        if unit not in UNITS_NS:
            return str(numpy.int64(number).view(dtype.newbyteorder("=")))
        days, rest = divmod(number * count * UNITS_NS[unit], DAY_NS)
        seconds, parts = divmod(rest, 10 ** 9)
        fraction = f".{parts:09}" if parts % 1000 else f".{parts // 1000:06}" if parts else ""
        sign = "+" if days < 0 else ""
        return f"{days} days {sign}{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}{fraction}"

    return write


def integer_text(value):
    """All digits of an integer: Python refuses to write more than 4300. An integer so long that this takes time is
    written in hexadecimal."""
    if value.bit_length() > DECIMAL_BITS_MAX:
        return hex(value)
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        return _repr(value)
    finally:
        sys.set_int_max_str_digits(limit)


def safe_repr(value, limit, make=_repr):
    """repr(value), or what `make` returns, cut at `limit` characters; says so if it fails."""
    try:
        text = integer_text(value) if type(value) is int else str.__str__(make(value))
        return text if len(text) <= limit else text[:limit]
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return f"<{type.__dict__['__name__'].__get__(type(value))} whose repr failed: " \
               f"{type.__dict__['__name__'].__get__(type(error))}>"


def json_safe(value, room, int_max=INT_MAX, with_index=False):
    """`value` as strict JSON's types, in about `room` bytes; TooLarge if it needs more. Integers from `int_max` on are
    text; so are decimals if that is EXACT_MAX. With `with_index` a series is a table; without it, in charts and rows
    of tables, a list of its values."""
    return Bounded(room, int_max, with_index).convert(value)
