# SPDX-License-Identifier: Apache-2.0
"""Boxes of a matplotlib figure, from the statistics that were noted when they were drawn (charts.hook_axes).

A box has the name of the tick at its position: pandas and seaborn write the names of their groups along the
axis, and give the boxes no labels.
"""

from . import chart_style
from .chart_axis import Names, Odd, first_of, has_names, place_text, reader

BOXES_MAX = 2000


def _drawn(axes):
    """[(statistics, artists)] of the boxes that are still in the axes."""
    lines = {id(line) for line in axes.lines}
    noted = zip(getattr(axes, "_vivarium_boxes", ()), getattr(axes, "_vivarium_box_artists", ()))
    return [(box, parts) for box, parts in noted if any(id(line) in lines for line in parts.get("medians", ()))]


def are_in(axes):
    return bool(_drawn(axes))


def _is_lying(parts):
    """Whether a box is horizontal: then its median is a vertical line, or nowhere if it has no values."""
    return any(not abs(line.get_xdata()[-1] - line.get_xdata()[0]) > 0 for line in parts.get("medians", ()))


def _place(parts, is_lying):
    """The middle of a box along the axis on which it stands."""
    median = parts["medians"][0]
    ends = median.get_ydata() if is_lying else median.get_xdata()
    return float(ends[0] + ends[-1]) / 2


def _name(axis, names, place, label):
    """The name of a box: that of the tick at its position, else its own label."""
    is_numbered = not has_names(axis) and type(axis.get_major_formatter()).__name__ != "NullFormatter" \
        and len(axis.get_ticklocs()) > 0
    return names.nearest(place, 0.5) or (place_text(reader(axis), place) if is_numbered else label)


def _are_even(places):
    """Whether the distances between neighbours are equal."""
    rooms = [after - before for before, after in zip(places, places[1:])]
    return not rooms or max(rooms) - min(rooms) <= 1e-6 * max(rooms)


def _element(box, parts, name, budget, told):
    outliers = box.get("fliers", ()) if parts.get("fliers") else ()  # the picture may leave them out
    shown = first_of(outliers, budget.take(len(outliers)))
    if len(shown) < len(outliers):
        told.lacks.append("the last outliers")
    told.add(chart_style.of_box(parts), *(artist for group in parts.values() for artist in group))
    return {"label": name, "min": box["whislo"], "first_quartile": box["q1"], "median": box["med"],
            "third_quartile": box["q3"], "max": box["whishi"], "outliers": shown}


def describe(axes, budget, told):
    """(elements, form) of the boxes, in the order of their positions."""
    drawn = _drawn(axes)
    ways = {_is_lying(parts) for _, parts in drawn}
    if len(ways) > 1:
        raise Odd("both vertical and horizontal boxes")
    is_lying = True in ways
    axis = axes.yaxis if is_lying else axes.xaxis
    names = Names(axis, with_ticks=True)
    boxes = sorted(((_place(parts, is_lying), i, box, parts) for i, (box, parts) in enumerate(drawn[:BOXES_MAX])),
                   key=lambda entry: entry[0])
    elements = [_element(box, parts, _name(axis, names, place, str(box.get("label", i + 1))), budget, told)
                for place, i, box, parts in boxes]
    if not _are_even([place for place, *_ in boxes]) or len(names.texts) > len(boxes):
        told.lacks.append("the positions of boxes")
    if any(parts.get("means") for _, parts in drawn):
        told.lacks.append("the means of boxes")
    if any(len(box.get_path().vertices) > 6 for _, parts in drawn for box in parts.get("boxes", ())):
        told.lacks.append("the notches of boxes")
    return elements, {"horizontal": True} if is_lying else {}
