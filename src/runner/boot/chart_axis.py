# SPDX-License-Identifier: Apache-2.0
"""The axis of a matplotlib figure: how its positions are read, and what is told of it."""

import sys

TICKS_MAX = 200


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


def _moment(axis, number):
    """A position on a time axis as ISO text."""
    frequency = getattr(axis, "freq", None)
    pandas = sys.modules.get("pandas")
    if frequency is not None and pandas is not None:  # pandas counts periods from 1970
        return str(pandas.Period(ordinal=int(number), freq=frequency))
    moment = sys.modules["matplotlib.dates"].num2date(number).replace(tzinfo=None)
    return moment.isoformat() if moment.time() != moment.min.time() else moment.date().isoformat()


def _category(axis, number):
    mapping = getattr(getattr(axis, "units", None), "_mapping", None) or {}
    for name, position in mapping.items():
        if position == number:
            return name
    return number


def reader(axis):
    """A function from a position on the axis to what it means there."""
    kind = kind_of(axis)
    if kind == "datetime":
        return lambda value: _moment(axis, value) if is_number(value) else value
    if kind == "categorical":
        return lambda value: _category(axis, value) if is_number(value) else value
    return lambda value: value


def is_number(value):
    try:
        return value - value == 0
    except Exception:
        return False


def _unit(label):
    """The unit that a label ends in: "speed (m/s)", "speed [m/s]"."""
    for opening, closing in ("()", "[]"):
        start = label.rfind(opening)
        if start > 0 and label.rstrip().endswith(closing):
            return label.rstrip()[start + 1:-1]
    return None


def axis_facts(axis, name, with_ticks):
    label = axis.get_label_text()
    kind = kind_of(axis)
    low, high = axis.get_view_interval()
    facts = {f"{name}_label": label or None, f"{name}_unit": _unit(label), f"{name}_scale": kind}
    read = reader(axis)
    if with_ticks:
        ticks = [(place, tick.get_text()) for place, tick
                 in zip(axis.get_ticklocs(), axis.get_ticklabels())
                 if min(low, high) <= place <= max(low, high)]
        facts[f"{name}_ticks"] = [read(place) for place, _ in ticks[:TICKS_MAX]]
        facts[f"{name}_tick_labels"] = [text for _, text in ticks[:TICKS_MAX]]
    if kind != "categorical" and not getattr(axis.axes, f"get_autoscale{name}_on")():
        facts[f"{name}_limits"] = [read(min(low, high)), read(max(low, high))]
    facts[f"{name}_grid"] = any(tick.gridline.get_visible() for tick in axis.get_major_ticks())
    if any(tick.gridline.get_visible() for tick in axis.get_minor_ticks()):
        facts[f"{name}_minor_grid"] = True
    if low > high:
        facts[f"{name}_inverted"] = True
    return facts


def has_named_ticks(axis):
    """Ticks with texts of the code's own, on an axis of numbers."""
    formatter = type(axis.get_major_formatter()).__name__
    return kind_of(axis) not in ("categorical", "datetime") and formatter in (
        "FixedFormatter", "FuncFormatter", "StrMethodFormatter", "PercentFormatter") \
        and any(tick.get_text() for tick in axis.get_ticklabels())
