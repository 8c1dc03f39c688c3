# SPDX-License-Identifier: Apache-2.0
"""The axis of a matplotlib figure: how its positions are read, and what is reported about it."""

import sys

from .chart_names import plain

TICKS_MAX = 200
PERIODS_MAX = 10000
CLOCKS_DAYS = 60  # longest axis on which an hour more or less can be seen
_NEAR = 1e-6

# Formatters whose tick labels are the code's own texts.
_NAMED = ("FixedFormatter", "FuncFormatter", "StrCategoryFormatter")
# Formatters that write the numbers or times of the axis, in whatever form; all others may write anything.
_WRITE_PLACES = ("ScalarFormatter", "LogFormatter", "LogFormatterExponent", "LogFormatterMathtext",
                 "LogFormatterSciNotation", "LogitFormatter", "NullFormatter", "DateFormatter", "AutoDateFormatter",
                 "ConciseDateFormatter", "PandasAutoDateFormatter", "TimeFormatter", "ThetaFormatter",
                 "TimeSeries_DateFormatter", "StrCategoryFormatter")


class Odd(Exception):
    """Something that cannot be described: the axes it was drawn in are shown as a picture only."""


def kind_of(axis):
    """How an axis is to be read: datetime, categorical, or the name of its scale."""
    converter = getattr(axis, "get_converter", lambda: getattr(axis, "converter", None))()
    name = type(converter).__name__
    locator = type(axis.get_major_locator()).__name__
    if "Category" in name:
        return "categorical"
    if "Date" in name or "Period" in name or "Date" in locator:
        return "datetime"
    return axis.get_scale()


def _zone(axis):
    """The time zone of an axis's labels; None means the zone of rcParams, as in matplotlib."""
    formatter = axis.get_major_formatter()
    zone = getattr(formatter, "tz", None) or getattr(formatter, "_tz", None)
    return zone if isinstance(zone, sys.modules["datetime"].tzinfo) else None


def _moment(axis, number, zone):
    """A position on a time axis as ISO text, as the picture shows it, so without a zone."""
    frequency = getattr(axis, "freq", None)
    pandas = sys.modules.get("pandas")
    if frequency is not None and pandas is not None:  # pandas counts periods from 1970
        if int(number) != number:
            raise Odd("positions between periods")
        return str(pandas.Period(ordinal=int(number), freq=frequency))
    moment = sys.modules["matplotlib.dates"].num2date(number, zone).replace(tzinfo=None)
    return moment.isoformat() if moment.time() != moment.min.time() else moment.date().isoformat()


def is_number(value):
    try:
        return value - value == 0
    except Exception:
        return False


def has_names(axis):
    """Whether the tick labels are the code's own texts, not the axis's numbers or times."""
    return kind_of(axis) == "categorical" or type(axis.get_major_formatter()).__name__ in _NAMED


def place_text(read, place):
    """A position on an axis of numbers or times, as text."""
    told = read(place)
    return f"{told:.6g}" if is_number(told) else str(told)


def first_of(values, count):
    """The first `count` of an array, Index or list, as a plain list of plain values."""
    part = values[:count]
    return part.tolist() if hasattr(part, "tolist") else list(part)


def tick_texts(axis):
    """[(position, text)] of the ticks that have a text. Panels that share an axis hide all labels but one panel's."""
    places = [float(place) for place in axis.get_ticklocs()]
    if type(axis.get_major_locator()).__name__ != "FixedLocator":  # other locators give one more tick on either side
        low, high = sorted(axis.get_view_interval())
        places = [place for place in places if low <= place <= high]
    return [(place, text) for place, text in zip(places, axis.get_major_formatter().format_ticks(places)) if text]


class Names:
    """The names at equal distances along an axis: categories, or ticks with texts."""

    def __init__(self, axis, with_ticks=False):
        mapping = getattr(getattr(axis, "units", None), "_mapping", None) or {}
        formatter = type(axis.get_major_formatter()).__name__
        found = []
        if kind_of(axis) == "categorical" and (formatter == "StrCategoryFormatter" or not with_ticks):
            found = [(float(place), name) for name, place in mapping.items()]
        elif with_ticks and formatter in _NAMED:
            found = tick_texts(axis)
        self._found = sorted((place, plain(text)) for place, text in found)
        places = [place for place, _ in self._found]
        self.texts = [text for _, text in self._found]
        self.first = places[0] if places else 0.0
        self.step = places[1] - places[0] if len(places) > 1 else 1.0
        if self.step <= 0 or any(abs(self.first + self.step * i - place) > _NEAR * self.step
                                 for i, place in enumerate(places)):
            self.texts = []
        self._is_clear = len(set(self.texts)) == len(self.texts)

    def nearest(self, position, reach):
        """The text of the nearest name within reach; None if there is none."""
        place, text = min(self._found, key=lambda found: abs(found[0] - position), default=(0, None))
        return text if abs(place - position) <= reach else None

    def has(self, position, text):
        """Whether the description has this text at this position."""
        number = round(self.at(position))
        return 0 <= number < len(self.texts) and self.texts[number] == text \
            and abs(self.at(position) - number) <= _NEAR

    def at(self, position):
        """A position counted in names from the first one."""
        return (position - self.first) / self.step

    def read(self, position):
        """The name at a position; a number between names, and where two names are equal."""
        if not is_number(position):
            return position
        number = self.at(position)
        nearest = round(number)
        if abs(number - nearest) > _NEAR or not 0 <= nearest < len(self.texts):
            return number
        return self.texts[nearest] if self._is_clear else nearest


def reader(axis, names=None):
    """A function from a position on the axis to its meaning; `names` are those of its ticks, if any."""
    kind = kind_of(axis)
    if names is not None:
        return names.read
    if kind == "datetime":
        zone = _zone(axis)
        return lambda value: _moment(axis, value, zone) if is_number(value) else value
    return Names(axis).read if kind == "categorical" else lambda value: value


def _periods(axis):
    """The names of the years, quarters or weeks along an axis, including those without a value; None for dates."""
    low, high = axis.get_data_interval()
    if getattr(axis, "freq", None) is None or not 0 <= high - low < PERIODS_MAX:
        return None
    texts = [_moment(axis, number, None) for number in range(int(low), int(high) + 1)]
    return texts if texts and (texts[0][4:5] != "-" or "/" in texts[0]) else None


def has_clock_change(axis):
    """Whether clocks in the zone change along a time axis: then its texts have an hour twice, or skip one."""
    if kind_of(axis) != "datetime" or getattr(axis, "freq", None) is not None:
        return False
    ends, zone = axis.get_view_interval(), _zone(axis)
    offsets = {sys.modules["matplotlib.dates"].num2date(end, zone).utcoffset() for end in ends}
    return len(offsets) > 1 and abs(ends[1] - ends[0]) <= CLOCKS_DAYS


def _unit(label):
    """The unit that a label ends in: "speed (m/s)", "speed [m/s]"."""
    for opening, closing in ("()", "[]"):
        start = label.rfind(opening)
        if start > 0 and label.rstrip().endswith(closing):
            return label.rstrip()[start + 1:-1]
    return None


def _is_shared(axis, name):
    """Whether other panels have the same axis, so that its ends are not only those of this panel's data."""
    return len(getattr(axis.axes, f"get_shared_{name}_axes")().get_siblings(axis.axes)) > 1


def axis_facts(axis, name, with_ticks, names=None):
    """The facts about one axis. `names` are those at which bars or boxes stand."""
    label = plain(axis.get_label_text())
    kind = kind_of(axis)
    low, high = axis.get_view_interval()
    facts = {f"{name}_label": label or None, f"{name}_unit": _unit(label), f"{name}_scale": kind}
    read = reader(axis)
    whole = float if getattr(axis, "freq", None) is None else int  # an axis of periods may end between two periods
    if names is None and kind == "categorical":
        names = Names(axis)
    categories = names.texts if names is not None else _periods(axis)
    if categories is not None:
        facts[f"{name}_categories"] = categories
    if with_ticks:
        ticks = [(place, tick.get_text()) for place, tick
                 in zip(axis.get_ticklocs(), axis.get_ticklabels())
                 if min(low, high) <= place <= max(low, high)]
        facts[f"{name}_ticks"] = [read(whole(place)) for place, _ in ticks[:TICKS_MAX]]
        facts[f"{name}_tick_labels"] = [text for _, text in ticks[:TICKS_MAX]]
    is_chosen = not getattr(axis.axes, f"get_autoscale{name}_on")() or _is_shared(axis, name)
    # On a logarithmic axis bars begin at its end: with an end at a power of ten, a bar of that value would vanish.
    if kind != "categorical" and (is_chosen or kind == "log" and not with_ticks):
        facts[f"{name}_limits"] = [read(whole(min(low, high))), read(whole(max(low, high)))]
    facts[f"{name}_grid"] = any(tick.gridline.get_visible() for tick in axis.get_major_ticks())
    if any(tick.gridline.get_visible() for tick in axis.get_minor_ticks()):
        facts[f"{name}_minor_grid"] = True
    if low > high:
        facts[f"{name}_inverted"] = True
    return facts


def has_lost_texts(axis, names):
    """Whether ticks have the code's own texts that are not in `names`."""
    if type(axis.get_major_formatter()).__name__ in _WRITE_PLACES:
        return False
    told = names if names is not None else Names(axis)
    return not all(told.has(place, plain(text)) for place, text in tick_texts(axis))
