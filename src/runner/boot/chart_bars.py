# SPDX-License-Identifier: Apache-2.0
"""Bars of a matplotlib figure, including those of histograms.

A bar has a name if a tick with a text stands at it: "places" has the number of that name for each bar. Bars along
an axis of numbers or times have no names, and some bars at names stand in a way that has no word: for these "spans"
has [from, to, base] of each bar, as drawn. At names, positions are counted in names; the first name is at 0.
"""

from . import chart_style
from .chart_axis import Names, Odd, is_number, kind_of, place_text, reader

_NEAR = 1e-6


def containers(axes):
    """[(container, its bars)]: seaborn removes bars again, but leaves their containers."""
    drawn = {id(patch) for patch in axes.patches}
    found = [(group, [bar for bar in group.patches if id(bar) in drawn and bar.get_visible()])
             for group in axes.containers if type(group).__name__ == "BarContainer"]
    return [(group, bars) for group, bars in found if bars]


def _is_flat(group):
    return getattr(group, "orientation", None) == "horizontal"


def _extent(bar, is_flat):
    """(low end, size) along the axis on which the bar stands, (base, value) along the other."""
    across, along = (bar.get_x(), bar.get_width()), (bar.get_y(), bar.get_height())
    (start, size), values = (along, across) if is_flat else (across, along)
    return (min(start, start + size), abs(size)), values


def _names(axis, groups, is_flat):
    """The names at which all bars stand, directly or, when several groups share a name, beside it; else None."""
    names = Names(axis, with_ticks=True)
    for _, bars in groups:
        for bar in bars:
            (start, size), _ = _extent(bar, is_flat)
            place = names.at(start + size / 2)
            reach = 0.5 if len(groups) > 1 else size / abs(names.step) / 2
            if abs(place - round(place)) > reach + _NEAR or not 0 <= round(place) < len(names.texts):
                return None
    return names


def _check(axes, groups, is_flat):
    """Refuses bars that a description cannot represent."""
    if len({_is_flat(group) for group, _ in groups}) > 1:
        raise Odd("both vertical and horizontal bars")
    if kind_of(axes.xaxis if is_flat else axes.yaxis) in ("datetime", "categorical"):
        raise Odd("bars whose length is not a number")
    if any(bar.get_data_transform() != axes.transData or bar.angle for _, bars in groups for bar in bars):
        raise Odd("bars outside the coordinates of the axes")


def describe(axes, budget, told, is_alone):
    """(elements, form, names); form has those of "horizontal", "stacked", "overlaid", "places" or "spans" that apply.
    If other elements are in the axes, bars are described by their positions."""
    groups = containers(axes)
    is_flat = _is_flat(groups[0][0])
    _check(axes, groups, is_flat)
    axis = axes.yaxis if is_flat else axes.xaxis
    names = _names(axis, groups, is_flat)
    read, at = reader(axis, names), names.at if names is not None else reader(axis)
    elements, spans, placed = [], [], []
    for i, (group, bars) in enumerate(groups):
        label = told.names.of(group, f"group {i + 1}" if len(groups) > 1 else "", *bars)
        count = budget.take(len(bars))
        for bar in bars[:count]:
            (start, size), (base, value) = _extent(bar, is_flat)
            place = None if names is None else round(names.at(start + size / 2))
            name = place_text(read, start + size / 2) if names is None else names.texts[place]
            elements.append({"label": name, "value": value, "group": label})
            spans.append([at(start), at(start + size), base])
            placed.append((i, place, value))
            told.add(chart_style.of_patch(bar), bar)
        if count < len(bars):
            told.artists += bars[count:]
            told.lacks.append("the last bars")
    if any(bar.get_hatch() for _, bars in groups for bar in bars):
        told.lacks.append("the hatching of bars")
    form = {"horizontal": True} if is_flat else {}
    stand = _stand(placed, spans) if names is not None and is_alone else None
    if stand is None:
        return elements, {**form, "spans": spans}, names
    form["places"] = [place for _, place, _ in placed]
    return elements, {**form, stand: True} if stand else form, names


def _is_same(one, other):
    return abs(one - other) <= _NEAR * max(1.0, abs(one), abs(other))


def _stand(placed, spans):
    """How bars stand at their names: "" alone or side by side, "stacked", "overlaid"; None if none of these."""
    offsets = {}
    for (group, place, _), (low, high, _) in zip(placed, spans):
        offset = offsets.setdefault(group, (low - place, high - place))
        if not _is_same(offset[0], low - place) or not _is_same(offset[1], high - place):
            return None
    if len({(group, place) for group, place, _ in placed}) < len(placed):
        return None
    sides = [offsets[group] for group in sorted(offsets)]
    if all(_is_same(sides[0][0], low) and _is_same(sides[0][1], high) for low, high in sides):
        return _pile(placed, spans)
    is_even = all(_is_same(high - low, sides[0][1] - sides[0][0]) for low, high in sides)
    is_apart = all(one[1] <= other[0] + _NEAR for one, other in zip(sides, sides[1:]))
    return "" if is_even and is_apart and not any(base for _, _, base in spans) else None


def _pile(placed, spans):
    """How bars at one name stand on each other; see _stand."""
    ends, is_stacked, is_grounded = {}, True, True
    for (_, place, value), (_, _, base) in zip(placed, spans):
        if is_number(value) and value:
            key = (place, bool(value < 0))
            is_stacked = is_stacked and _is_same(base, ends.get(key, 0.0))
            is_grounded = is_grounded and base == 0
            ends[key] = base + value
    if is_stacked:
        return "stacked" if len({group for group, _, _ in placed}) > 1 else ""
    return "overlaid" if is_grounded else None
