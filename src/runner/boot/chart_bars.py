# SPDX-License-Identifier: Apache-2.0
"""Bars of a matplotlib figure, those of histograms among them.

A bar has a name where a tick with a text stands at it. Bars along an axis of numbers or of time have
none, and are told by their places: "spans" has [from, to, base] for each of them, as they were drawn.
"""

from . import chart_style
from .chart_axis import is_number, kind_of, reader

_NAMED = ("FixedFormatter", "FuncFormatter", "StrCategoryFormatter")  # ticks with texts of the code's own


def containers(axes):
    """[(container, its bars)]: seaborn takes bars away again, and leaves their containers."""
    drawn = {id(patch) for patch in axes.patches}
    found = [(group, [bar for bar in group.patches if id(bar) in drawn and bar.get_visible()])
             for group in axes.containers if type(group).__name__ == "BarContainer"]
    return [(group, bars) for group, bars in found if bars]


def _is_flat(group):
    return getattr(group, "orientation", None) == "horizontal"


def _extent(bar, is_flat):
    """(from, size) along the axis on which it stands, (base, value) along the other."""
    across, along = (bar.get_x(), bar.get_width()), (bar.get_y(), bar.get_height())
    return (along, across) if is_flat else (across, along)


def _label(group, bars, otherwise):
    """That of the container; a histogram of several series gives it to the first bar of each."""
    for artist in (group, bars[0]):
        label = str(artist.get_label())
        if label and not label.startswith("_"):
            return label
    return otherwise


def _tick_texts(axis):
    """Position -> text of the ticks that carry one."""
    if kind_of(axis) != "categorical" and type(axis.get_major_formatter()).__name__ not in _NAMED:
        return {}
    return {round(float(position), 6): tick.get_text()
            for position, tick in zip(axis.get_ticklocs(), axis.get_ticklabels())
            if tick.get_text()}


def _name(texts, start, size, groups):
    """The text of the tick under a bar, or beside it when several groups share one tick; else None."""
    middle = start + size / 2
    reach = 0.5 if groups > 1 else abs(size) / 2 + 1e-6
    near = min(texts, key=lambda position: abs(position - middle), default=None)
    return texts[near] if near is not None and abs(near - middle) <= reach else None


def _middle(read, start, size):
    middle = read(start + size / 2)
    return f"{middle:.6g}" if is_number(middle) else str(middle)


def _is_named(axes, groups):
    """Whether all bars stand at ticks with a text, or on an axis of categories."""
    for group, bars in groups:
        axis = axes.yaxis if _is_flat(group) else axes.xaxis
        texts = _tick_texts(axis)
        if kind_of(axis) != "categorical" and any(
                _name(texts, *_extent(bar, _is_flat(group))[0], len(groups)) is None for bar in bars):
            return False
    return True


def describe(axes, budget, told):
    """(elements, form): {"horizontal","stacked","overlaid","spans"} where they are so."""
    groups = containers(axes)
    is_named = _is_named(axes, groups)
    elements, spans = [], []
    for i, (group, bars) in enumerate(groups):
        is_flat = _is_flat(group)
        axis = axes.yaxis if is_flat else axes.xaxis
        texts, read = _tick_texts(axis), reader(axis)
        label = _label(group, bars, f"group {i + 1}" if len(groups) > 1 else "")
        count = budget.take(len(bars))
        for bar in bars[:count]:
            (start, size), (base, value) = _extent(bar, is_flat)
            name = _name(texts, start, size, len(groups)) or _middle(read, start, size)
            elements.append({"label": name, "value": value, "group": label})
            low, high = sorted((start, start + size))
            spans.append([read(low), read(high), base])
            told.add(chart_style.of_patch(bar), bar)
        if count < len(bars):
            told.artists += bars[count:]
            told.lacks.append("the last bars")
    if any(bar.get_hatch() for _, bars in groups for bar in bars):
        told.lacks.append("the hatching of bars")
    form = _form(groups, is_named, told)
    return elements, form if is_named else {**form, "spans": spans}


def _form(groups, is_named, told):
    """How the bars lie, and for those with names how they stand on each other."""
    form, ends, is_floating = {}, {}, False
    flats = {_is_flat(group) for group, _ in groups}
    if flats == {True}:
        form["horizontal"] = True
    if len(flats) > 1:
        told.lacks.append("the direction of some bars")
    for group, bars in groups if is_named else ():
        for bar in bars:
            (start, _), (base, value) = _extent(bar, _is_flat(group))
            key = (round(float(start), 6), bool(value < 0))
            before = ends.get(key, 0.0)
            if base and abs(base - before) <= 1e-6 * max(1.0, abs(base)):
                form["stacked"] = True
            elif base:
                is_floating = True
            elif before:
                form["overlaid"] = True
            ends[key] = base + value
    if is_floating or "stacked" in form and "overlaid" in form:
        told.lacks.append("where bars begin")
        for name in ("stacked", "overlaid"):
            form.pop(name, None)
    return form
