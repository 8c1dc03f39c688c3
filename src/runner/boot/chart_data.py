# SPDX-License-Identifier: Apache-2.0
"""What a matplotlib figure shows, as data: lines, scatters, bars, pies, boxes (clients.md, 2.3).

Read from the finished figure, so that it holds for pyplot, pandas and seaborn alike. An axes that
is none of these is "unknown"; several axes are a "superchart". Large series are cut, and say so.
Each chart also tells how its elements look ("styles", one for each), and "lacks" names what was drawn
and is not told; "complete" says whether there is such a thing.
"""

from . import chart_bars, chart_lacks, chart_style
from .chart_axis import axis_facts, has_named_ticks, reader

POINTS_MAX = 10000  # of one series
TOTAL_MAX = 50000  # of one figure
ELEMENTS_MAX = 2000
LACKS_MAX = 40


class _Told:
    """What is told of one axes: styles of its elements, the artists they stand for, what is lost."""

    def __init__(self):
        self.styles = []
        self.artists = []
        self.lacks = []

    def add(self, style, *artists):
        self.styles.append(style)
        self.artists += artists


class _Budget:
    """How many points the figure may still tell."""

    def __init__(self):
        self.left = TOTAL_MAX

    def take(self, wanted):
        given = max(0, min(wanted, POINTS_MAX, self.left))
        self.left -= given
        return given


def _label(artist, otherwise):
    """An artist's label; matplotlib's own begin with an underscore and mean none."""
    label = str(artist.get_label())
    return otherwise if not label or label.startswith("_") else label


def _plain(values, count):
    """The first `count` of an array, Index or list, as a plain list of plain values."""
    part = values[:count]
    return part.tolist() if hasattr(part, "tolist") else list(part)


def _points(xs, ys, axes, budget):
    """([[x, y], ...], whether it was cut)."""
    total = min(len(xs), len(ys))
    count = budget.take(total)
    read_x, read_y = reader(axes.xaxis), reader(axes.yaxis)
    pairs = zip(_plain(xs, count), _plain(ys, count))
    return [[read_x(x), read_y(y)] for x, y in pairs], count < total


def _series(label, points):
    pairs, is_cut = points
    element = {"label": label, "points": pairs}
    if is_cut:
        element["truncated"] = True
    return element


def _numbers(line):
    """A line's positions as the axis has them, which is what all converters end in."""
    return line.get_xdata(orig=False), line.get_ydata(orig=False)


def _containers(axes, kind):
    return [group for group in axes.containers if type(group).__name__ == kind]


def _cap_lines(axes):
    """Lines that are parts of something else: caps of error bars."""
    return {id(cap) for group in _containers(axes, "ErrorbarContainer") for cap in group.lines[1]}


def _data_lines(axes):
    """Lines in the axes' own coordinates. Those of axhline and its like run from 0 to 1."""
    caps = _cap_lines(axes)
    return [line for line in axes.get_lines()
            if len(line.get_xdata()) > 0 and line.get_visible() and id(line) not in caps
            and line.get_transform() is axes.transData]


def _lines(axes, budget, told):
    elements = []
    owners = {id(group.lines[0]): group for group in _containers(axes, "ErrorbarContainer")}  # they have its label
    for i, line in enumerate(_data_lines(axes)[:ELEMENTS_MAX]):
        label = _label(owners.get(id(line), line), f"line {i + 1}")
        elements.append(_series(label, _points(*_numbers(line), axes, budget)))
        told.add(chart_style.of_line(line), line)
        if elements[-1].get("truncated"):
            told.lacks.append(f"the last points of {label[:80]}")
    return elements


def _beside(axes, budget, told):
    """The lines over bars or points: {"lines","line_styles"}, where there are any."""
    lines = _Told()
    elements = _lines(axes, budget, lines)
    told.artists += lines.artists
    told.lacks += lines.lacks
    return {"lines": elements, "line_styles": lines.styles} if elements else {}


def _scatters(axes, budget, told):
    elements = []
    for i, group in enumerate(_path_collections(axes)[:ELEMENTS_MAX]):
        offsets = group.get_offsets()
        label = _label(group, f"scatter {i + 1}")
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
            and group.get_visible()]


def _wedges(axes):
    return [patch for patch in axes.patches if type(patch).__name__ == "Wedge"]


def _pie(axes, told):
    """(elements, form): where it begins, which way it goes, and how wide its hole is, as a part of it."""
    wedges = _wedges(axes)[:ELEMENTS_MAX]
    most = max(wedge.r for wedge in wedges)
    wedges, inner = [wedge for wedge in wedges if wedge.r == most], [wedge for wedge in wedges if wedge.r != most]
    for wedge in wedges:
        told.add(chart_style.of_patch(wedge), wedge)
    told.artists += [*axes.texts, *inner]  # its labels and percents
    if inner:
        told.lacks.append("the inner rings")
    if len({wedge.center for wedge in wedges}) > 1:
        told.lacks.append("the slices that stand out")
    is_clockwise = len(wedges) > 1 and abs(wedges[0].theta1 - wedges[1].theta2) < 1e-6
    width = wedges[0].width
    form = {"start": (wedges[0].theta2 if is_clockwise else wedges[0].theta1) % 360, "clockwise": is_clockwise,
            "hole": 0.0 if width is None else max(0.0, 1 - width / most)}
    return [{"label": _label(wedge, ""), "angle": abs(wedge.theta2 - wedge.theta1),
             "radius": wedge.r} for wedge in wedges], form


def _boxes(axes, budget, told):
    elements, form = [], {}
    drawn = getattr(axes, "_vivarium_box_artists", [])
    ways = {_is_lying(parts) for parts in drawn}
    if ways == {True}:
        form["horizontal"] = True
    elif len(ways) > 1:
        told.lacks.append("the direction of some boxes")
    for i, box in enumerate(axes._vivarium_boxes[:ELEMENTS_MAX]):
        outliers = box.get("fliers", ())
        element = {"label": str(box.get("label", i + 1)), "min": box["whislo"],
                   "first_quartile": box["q1"], "median": box["med"],
                   "third_quartile": box["q3"], "max": box["whishi"],
                   "outliers": _plain(outliers, budget.take(len(outliers)))}
        elements.append(element)
        told.add(chart_style.of_box(drawn[i]) if i < len(drawn) else {})
    for parts in drawn:
        told.artists += [artist for group in parts.values() for artist in group]
    if any(parts.get("means") for parts in drawn):
        told.lacks.append("the means of boxes")
    return elements, form


def _is_lying(parts):
    """Whether a box lies: its median stands upright then."""
    return any(line.get_xdata()[0] == line.get_xdata()[-1] for line in parts.get("medians", ()))


def _chart(axes, budget):
    """One axes as a chart."""
    kind, elements, form, told = "unknown", [], {}, _Told()
    if getattr(axes, "_vivarium_boxes", None):
        kind, (elements, form) = "box_and_whisker", _boxes(axes, budget, told)
    elif _wedges(axes):
        kind, (elements, form) = "pie", _pie(axes, told)
    elif chart_bars.containers(axes):
        kind, (elements, form) = "bar", chart_bars.describe(axes, budget, told)
    elif _path_collections(axes):
        kind, elements = "scatter", _scatters(axes, budget, told)
    elif _data_lines(axes):
        kind, elements = "line", _lines(axes, budget, told)

    if (kind == "scatter" or "spans" in form) and "horizontal" not in form:
        form = {**form, **_beside(axes, budget, told)}

    chart = {"type": kind, "title": axes.get_title() or None, "elements": elements}
    if kind in ("line", "scatter", "bar", "box_and_whisker"):
        for axis, name in ((axes.xaxis, "x"), (axes.yaxis, "y")):
            with_ticks = kind in ("line", "scatter")
            chart.update(axis_facts(axis, name, with_ticks))
            is_names = not with_ticks and "spans" not in form and (name == "y") == ("horizontal" in form)
            if not is_names and has_named_ticks(axis):
                told.lacks.append(f"the texts along {name}")
    legend = axes.get_legend()
    if legend is not None and legend.get_visible():
        form = {**form, "legend": True}
        if legend.get_title().get_text():
            told.lacks.append("the title of the legend")
    lacks = chart_lacks.of_axes(axes, told.artists, told.lacks)
    return {**chart, **form, "styles": told.styles, "complete": not lacks, "lacks": lacks}


def _safe_chart(axes, budget):
    try:
        return _chart(axes, budget)
    except Exception:
        return {"type": "unknown", "title": None, "elements": [], "styles": [], "complete": False,
                "lacks": ["a panel that could not be read"]}


def _of(chart, number):
    """What one panel lacks, with the name of the panel."""
    name = chart["title"] or f"panel {number + 1}"
    return [f"{words} in {name[:80]}" for words in chart["lacks"]]


def describe(figure):
    """The chart in a figure that was drawn."""
    budget = _Budget()
    title = getattr(getattr(figure, "_suptitle", None), "get_text", lambda: "")() or None
    shown = [axes for axes in figure.axes
             if axes.get_visible() and axes.get_label() != "<colorbar>"]
    charts = [_safe_chart(axes, budget) for axes in shown[:ELEMENTS_MAX]]
    lacks = chart_lacks.of_figure(figure, shown)
    if len(charts) == 1:
        charts[0]["title"] = charts[0]["title"] or title
        charts[0]["lacks"] += lacks
        charts[0]["complete"] = not charts[0]["lacks"]
        return charts[0]
    if not charts:
        return {"type": "unknown", "title": title, "elements": [], "complete": not lacks, "lacks": lacks}
    for number, chart in enumerate(charts):
        lacks += _of(chart, number)
    return {"type": "superchart", "title": title, "elements": charts, "complete": not lacks,
            "lacks": lacks[:LACKS_MAX]}
