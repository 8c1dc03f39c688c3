# SPDX-License-Identifier: Apache-2.0
"""Describes a matplotlib figure as data: lines, scatters, bars, pies, boxes (clients.md, 2.3).

Read from the finished figure, so that it works for pyplot, pandas and seaborn alike. An axes of any other
kind is "unknown"; several axes are a "superchart". Large series are cut, and marked as cut.
Each chart also describes how its elements look ("styles", one for each). "lacks" names what was drawn but is
not described; "complete" is true if nothing is lacking. Elements that cannot be described as drawn are left out:
each artist is claimed by the code that understands it, and unclaimed artists are lacking.
"""

import math

from . import chart_bars, chart_boxes, chart_lacks, chart_names, chart_style
from .chart_axis import Odd, axis_facts, first_of, has_clock_change, has_lost_texts, reader
from .chart_names import plain

POINTS_MAX = 10000  # points of one series
TOTAL_MAX = 50000  # points of one figure
ELEMENTS_MAX = 2000
CIRCLE_NEAR = 0.1  # degrees by which a full circle may be off
LACKS_MAX = 40


class _Told:
    """The description of one axes: the styles of its elements, the artists they stand for, what is lacking."""

    def __init__(self, names):
        self.names = names
        self.styles = []
        self.artists = []
        self.lacks = []

    def add(self, style, *artists):
        self.styles.append(style)
        self.artists += artists


class _Budget:
    """How many more points the figure's description may have."""

    def __init__(self):
        self.left = TOTAL_MAX

    def take(self, wanted):
        given = max(0, min(wanted, POINTS_MAX, self.left))
        self.left -= given
        return given


def _points(xs, ys, axes, budget, names=None):
    """([[x, y], ...], whether it was cut)."""
    total = min(len(xs), len(ys))
    count = budget.take(total)
    read_x, read_y = reader(axes.xaxis, names), reader(axes.yaxis)
    pairs = zip(first_of(xs, count), first_of(ys, count))
    return [[read_x(x), read_y(y)] for x, y in pairs], count < total


def _series(label, points):
    pairs, is_cut = points
    element = {"label": label, "points": pairs}
    if is_cut:
        element["truncated"] = True
    return element


def _numbers(line):
    """A line's positions as the axis has them, after all converters."""
    return line.get_xdata(orig=False), line.get_ydata(orig=False)


def _containers(axes, kind):
    return [group for group in axes.containers if type(group).__name__ == kind]


def _cap_lines(axes):
    """Lines that are parts of other elements: the caps of error bars."""
    return {id(cap) for group in _containers(axes, "ErrorbarContainer") for cap in group.lines[1]}


def _data_lines(axes):
    """Lines in data coordinates. Those of axhline and the like run from 0 to 1 instead."""
    caps = _cap_lines(axes)
    return [line for line in axes.get_lines()
            if len(line.get_xdata()) > 0 and line.get_visible() and id(line) not in caps
            and line.get_transform() is axes.transData]


def _below_log(line, axes):
    """The axes, "x" or "y", on which a line goes to values that a logarithmic scale has no place for. matplotlib draws it
    down to the end of the axis, unless the scale masks such values."""
    for axis, name, values in zip((axes.xaxis, axes.yaxis), "xy", _numbers(line)):
        transform = axis.get_transform()
        if axis.get_scale() == "log" and getattr(transform, "_clip", True) and (values <= 0).any():
            yield name


def _lines(axes, budget, told, names=None):
    elements = []
    owners = {id(group.lines[0]): group for group in _containers(axes, "ErrorbarContainer")}  # which has the label
    for i, line in enumerate(_data_lines(axes)[:ELEMENTS_MAX]):
        label = told.names.of(owners.get(id(line), line), f"line {i + 1}", line)
        elements.append(_series(label, _points(*_numbers(line), axes, budget, names)))
        told.add(chart_style.of_line(line), line)
        told.lacks += [f"what is at or below 0 along {name}" for name in _below_log(line, axes)]
        if line.get_markevery() is not None:
            told.lacks.append("which points have a marker")
        if elements[-1].get("truncated"):
            told.lacks.append(f"the last points of {label[:80]}")
    return elements


def _beside(axes, budget, told, names):
    """{"lines","line_styles"} of the lines over bars or points; {} if there are none."""
    lines = _Told(told.names)
    elements = _lines(axes, budget, lines, names)
    told.artists += lines.artists
    told.lacks += lines.lacks
    return {"lines": elements, "line_styles": lines.styles} if elements else {}


def _scatters(axes, budget, told):
    elements = []
    for i, group in enumerate(_path_collections(axes)[:ELEMENTS_MAX]):
        offsets = group.get_offsets()
        label = told.names.of(group, f"scatter {i + 1}")
        elements.append(_series(label, _points(offsets[:, 0], offsets[:, 1], axes, budget)))
        style, lost = chart_style.of_points(group, len(elements[-1]["points"]))
        told.add(style, group)
        told.lacks += lost
        if elements[-1].get("truncated"):
            told.lacks.append(f"the last points of {label[:80]}")
    return elements


def _path_collections(axes):
    return [group for group in axes.collections
            if type(group).__name__ == "PathCollection" and len(group.get_offsets())
            and group.get_visible() and group.get_offset_transform() is axes.transData]


def _wedges(axes):
    return [patch for patch in axes.patches if type(patch).__name__ == "Wedge"]


def _is_of(text, wedges, circle):
    """Whether a text is the label or the percentage of a slice: these stand on the line through its middle."""
    words = plain(text.get_text())
    x, y = text.get_position()
    for wedge in wedges:
        (left, down), middle = wedge.center, math.radians((wedge.theta1 + wedge.theta2) / 2)
        away = (x - left) * math.cos(middle) + (y - down) * math.sin(middle)
        aside = (y - down) * math.cos(middle) - (x - left) * math.sin(middle)
        if away > 0 and abs(aside) < 1e-6:
            part = words.strip("% ")
            is_part = part.replace(".", "", 1).isdecimal() and abs(
                float(part) - 100 * abs(wedge.theta2 - wedge.theta1) / circle) <= 1
            return is_part or words == plain(wedge.get_label())
    return False


def _pie(axes, told):
    """(elements, form); form has where the pie begins, its direction, and the hole as a fraction of the radius."""
    wedges = _wedges(axes)[:ELEMENTS_MAX]
    most = max(wedge.r for wedge in wedges)
    wedges, inner = [wedge for wedge in wedges if wedge.r == most], [wedge for wedge in wedges if wedge.r != most]
    for wedge in wedges:
        told.add(chart_style.of_patch(wedge), wedge)
    told.artists += inner
    circle = sum(abs(wedge.theta2 - wedge.theta1) for wedge in wedges)
    if circle > 360 + CIRCLE_NEAR:
        raise Odd("several pies in one place")
    told.artists += [text for text in axes.texts if _is_of(text, wedges, circle)]
    if inner:
        told.lacks.append("the inner rings")
    if len({wedge.center for wedge in wedges}) > 1:
        told.lacks.append("the offset of exploded slices")
    if circle < 360 - CIRCLE_NEAR:
        told.lacks.append("the part of the circle that is left open")
    is_clockwise = len(wedges) > 1 and abs(wedges[0].theta1 - wedges[1].theta2) < 1e-6
    width = wedges[0].width
    form = {"start": (wedges[0].theta2 if is_clockwise else wedges[0].theta1) % 360, "clockwise": is_clockwise,
            "hole": 0.0 if width is None else max(0.0, 1 - width / most)}
    return [{"label": told.names.of(wedge, ""), "angle": abs(wedge.theta2 - wedge.theta1),
             "radius": wedge.r} for wedge in wedges], form


def _describe(axes, budget, told):
    """(kind, elements, form, names): `names` are those at which bars stand."""
    if axes.name == "3d":
        return "unknown", [], {}, None  # its artists have positions on the screen, not in data
    if chart_boxes.are_in(axes):
        return "box_and_whisker", *chart_boxes.describe(axes, budget, told), None
    if _wedges(axes):
        return "pie", *_pie(axes, told), None
    if chart_bars.containers(axes):
        has_lines = bool(_data_lines(axes))
        elements, form, names = chart_bars.describe(axes, budget, told, not has_lines)
        if "spans" in form and "horizontal" not in form:
            form = {**form, **_beside(axes, budget, told, names)}
        return "bar", elements, form, names
    if _path_collections(axes):
        return "scatter", _scatters(axes, budget, told), _beside(axes, budget, told, None), None
    if _data_lines(axes):
        return "line", _lines(axes, budget, told), {}, None
    return "unknown", [], {}, None


def _axes_facts(axes, kind, form, names, told):
    """The facts of both axes of a chart, if it has axes."""
    facts = {}
    for axis, name in ((axes.xaxis, "x"), (axes.yaxis, "y")) if kind not in ("unknown", "pie") else ():
        at = names if (name == "y") == ("horizontal" in form) else None
        facts.update(axis_facts(axis, name, kind in ("line", "scatter"), at))
        is_of_boxes = kind == "box_and_whisker" and (name == "y") == ("horizontal" in form)
        if not is_of_boxes and has_lost_texts(axis, at):
            told.lacks.append(f"the tick labels along {name}")
        if has_clock_change(axis):
            told.lacks.append(f"the clock change along {name}")
    return facts


def _title(axes):
    """An axes can have a title on the left, in the middle and on the right."""
    titles = [plain(axes.get_title(place)) for place in ("left", "center", "right")]
    return " · ".join(title for title in titles if title) or None


def _chart(axes, budget):
    """One axes as a chart."""
    told = _Told(chart_names.Names(axes))
    try:
        kind, elements, form, names = _describe(axes, budget, told)
    except Odd as odd:
        told = _Told(told.names)
        kind, elements, form, names = "unknown", [], {}, None
        told.lacks.append(str(odd))

    chart = {"type": kind, "title": _title(axes), "elements": elements,
             **_axes_facts(axes, kind, form, names, told)}
    legend = axes.get_legend()
    if legend is not None and legend.get_visible():
        form = {**form, "legend": True, "legend_names": [plain(text.get_text()) for text in legend.get_texts()]}
        if legend.get_title().get_text():
            told.lacks.append("the title of the legend")
    lacks = chart_lacks.of_axes(axes, told, chart)
    return {**chart, **form, "styles": told.styles, "complete": not lacks, "lacks": lacks}


def _safe_chart(axes, budget):
    try:
        return _chart(axes, budget)
    except Exception:
        return {"type": "unknown", "title": None, "elements": [], "styles": [], "complete": False,
                "lacks": ["a panel that could not be read"]}


def _of(chart, number):
    """The gaps of one panel, with its name. A panel without any described element is missing as a whole."""
    name = chart["title"] or f"panel {number + 1}"
    if chart["lacks"] and not chart["elements"]:
        return [f"the whole of {name[:80]}: {', '.join(chart['lacks'])}"]
    return [f"{words} in {name[:80]}" for words in chart["lacks"]]


def describe(figure):
    """The description of a drawn figure."""
    budget = _Budget()
    title = plain(getattr(getattr(figure, "_suptitle", None), "get_text", lambda: "")()) or None
    shown = [axes for axes in figure.axes
             if axes.get_visible() and axes.get_label() != "<colorbar>"]
    charts = [_safe_chart(axes, budget) for axes in shown[:ELEMENTS_MAX]]
    lacks = chart_lacks.of_figure(figure, shown, charts)
    if len(charts) == 1:
        charts[0]["title"] = "\n".join(filter(None, (title, charts[0]["title"]))) or None
        charts[0]["lacks"] += lacks
        charts[0]["complete"] = not charts[0]["lacks"]
        return charts[0]
    if not charts:
        return {"type": "unknown", "title": title, "elements": [], "complete": not lacks, "lacks": lacks}
    for number, chart in enumerate(charts):
        lacks += _of(chart, number)
    return {"type": "superchart", "title": title, "elements": charts, "complete": not lacks,
            "lacks": lacks[:LACKS_MAX]}
