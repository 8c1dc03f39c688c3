# SPDX-License-Identifier: Apache-2.0
"""Any Python value as a tree that strict JSON can hold.

NaN and infinities become null, numpy scalars numbers, timestamps ISO text, sets lists, anything
else its repr. Bounded in size and depth; never raises but `TooLarge`. What user code may have
written (a repr, a subclass's method) is called only where its failure is caught.
"""

import sys

from .wire import clean

DEPTH_MAX = 100
REPR_MAX = 4096
INT_MAX = 1 << 63  # from here on JSON readers disagree: such a number is its digits, as text
EXACT_MAX = 1 << 53  # from here on those that make doubles of numbers change it

_repr = repr
_isinstance = isinstance
_modules = sys.modules


class TooLarge(Exception):
    """The value does not fit in the bytes it was given."""


class Bounded:
    """One conversion: how much room is left, and which containers we are in."""

    __slots__ = ("room", "path", "int_max")

    def __init__(self, room, int_max=INT_MAX):
        self.room = room
        self.int_max = int_max
        self.path = set()

    def take(self, size):
        self.room -= size
        if self.room < 0:
            raise TooLarge

    def text(self, value):
        text = clean(str.__str__(value))
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
            return value if value - value == 0.0 else None
        value = int.__pos__(value)
        if -self.int_max < value < self.int_max:
            return value
        return self.fallback(value)

    def inside(self, value, convert):
        """Runs `convert` with `value` on the path; a cycle or great depth ends in a repr."""
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
        return self.inside(value, lambda: {self.key(key): self.convert(item)
                                           for key, item in dict.items(value)})

    def key(self, key):
        if _isinstance(key, str):
            return self.text(key)
        name = self.convert(key) if type(key) not in (tuple, list, dict) else self.fallback(key)
        return name if type(name) is str else str(name)

    def other(self, value):
        """The types that are not JSON's own, most frequent first."""
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
        """Values of modules that may not even be loaded."""
        moments = _modules.get("datetime")
        if moments and _isinstance(value, (moments.date, moments.time)):
            text = value.isoformat()
            return True, None if text == "NaT" else self.text(text)
        if moments and _isinstance(value, moments.timedelta):
            text = str(value)
            return True, None if text == "NaT" else self.text(text)
        decimal = _modules.get("decimal")
        if decimal and _isinstance(value, decimal.Decimal):
            return True, self.number(float(value))
        numpy = _modules.get("numpy")
        if numpy and _isinstance(value, (numpy.ndarray, numpy.generic)):
            return self.from_numpy(numpy, value)
        pandas = _modules.get("pandas")
        if pandas and hasattr(pandas, "Series"):
            return self.from_pandas(pandas, value)
        return False, None

    def from_numpy(self, numpy, value):
        if _isinstance(value, numpy.ndarray):
            self.take(2 * value.size)  # before a list of it is made
            if value.dtype.kind == "m":
                value = value.astype("m8[us]")
            elif value.dtype.kind == "M":
                told = value.astype(str).astype(object)
                told[numpy.isnat(value)] = None
                value = told
            return True, self.convert(value.tolist())
        if _isinstance(value, numpy.datetime64):
            text = str(value)
            return True, None if text == "NaT" else self.text(text)
        plain = value.item()
        if type(plain) is type(value):  # longdouble and its like have no plain form
            return (True, self.number(float(value))) if value.dtype.kind == "f" else (False, None)
        return True, self.convert(plain)

    def from_pandas(self, pandas, value):
        if value is pandas.NA or value is pandas.NaT:
            return True, None
        if _isinstance(value, (pandas.Series, pandas.Index)):
            self.take(2 * len(value))
            return True, self.convert(value.tolist())
        if _isinstance(value, (pandas.Period, pandas.Interval)):
            return True, self.text(str(value))
        if _isinstance(value, pandas.DataFrame):
            from .frames import plain_frame, table

            self.take(2 * value.size)
            return True, self.convert(table(plain_frame(value), slice(None)))
        return False, None

    def fallback(self, value):
        return self.text(safe_repr(value, REPR_MAX))


def _in_order(values):
    """A set of texts has another order in each process; a result should not."""
    items = list(set.__iter__(values) if _isinstance(values, set) else frozenset.__iter__(values))
    return sorted(items) if all(type(item) is str for item in items) else items


def safe_repr(value, limit, make=_repr):
    """repr(value), or another text of it, cut at `limit` characters; says so when it cannot be made."""
    try:
        text = str.__str__(make(value))
        return text if len(text) <= limit else text[:limit]
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return f"<{type.__dict__['__name__'].__get__(type(value))} whose repr failed: " \
               f"{type.__dict__['__name__'].__get__(type(error))}>"


def json_safe(value, room, int_max=INT_MAX):
    """`value` as strict JSON's types, at about `room` bytes; TooLarge when it needs more. Integers
    from `int_max` on are text."""
    return Bounded(room, int_max).convert(value)
