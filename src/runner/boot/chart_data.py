# SPDX-License-Identifier: Apache-2.0
"""What a matplotlib figure shows, as data: lines, scatters, bars, pies, boxes (clients.md, 2.3).

Read from the finished figure, so that it holds for pyplot, pandas and seaborn alike. An axes that
is none of these is "unknown"; several axes are a "superchart". Large series are cut, and say so.
Each chart also tells how its elements look ("styles", one for each), and "lacks" names what was drawn
and is not told; "complete" says whether there is such a thing.
"""

from . import chart_lacks, chart_style
from .chart_axis import axis_facts, has_named_ticks, is_number, kind_of, reader

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
    for i, line in enumerate(_data_lines(axes)[:ELEMENTS_MAX]):
        label = _label(line, f"line {i + 1}")
        elements.append(_series(label, _points(*_numbers(line), axes, budget)))
        told.add(chart_style.of_line(line), line)
        if elements[-1].get("truncated"):
            told.lacks.append(f"the last points of {label[:80]}")
    return elements


def _scatters(axes, budget, told):
    elements = []
    for i, group in enumerate(_path_collections(axes)[:ELEMENTS_MAX]):
        offsets = group.get_offsets()
        label = _label(group, f"scatter {i + 1}")
        elements.append(_series(label, _points(offsets[:, 0], offsets[:, 1], axes, budget)))
        style, lost = chart_style.of_points(group)
        told.add(style, group)
        told.lacks += lost
        if elements[-1].get("truncated"):
            told.lacks.append(f"the last points of {label[:80]}")
    return elements


def _path_collections(axes):
    return [group for group in axes.collections
            if type(group).__name__ == "PathCollection" and len(group.get_offsets())
            and group.get_visible()]


def _bar_containers(axes):
    return [group for group in _containers(axes, "BarContainer") if len(group.patches)]


def _tick_texts(axis):
    """Position -> text of the ticks that carry one."""
    return {round(float(position), 6): tick.get_text()
            for position, tick in zip(axis.get_ticklocs(), axis.get_ticklabels())
            if tick.get_text()}


def _bars(axes, budget, told):
    elements = []
    containers = _bar_containers(axes)
    for i, group in enumerate(containers):
        is_flat = getattr(group, "orientation", None) == "horizontal"
        axis = axes.yaxis if is_flat else axes.xaxis
        name = _bar_namer(axis, len(containers))
        label = _label(group, f"group {i + 1}" if len(containers) > 1 else "")
        count = budget.take(len(group.patches))
        for bar in group.patches[:count]:
            start, size = (bar.get_y(), bar.get_height()) if is_flat \
                else (bar.get_x(), bar.get_width())
            value = bar.get_width() if is_flat else bar.get_height()
            elements.append({"label": name(start, size), "value": value, "group": label})
            told.add(chart_style.of_patch(bar), bar)
        if count < len(group.patches):
            told.artists += group.patches[count:]
            told.lacks.append("the last bars")
    return elements


def _bar_form(axes, told):
    """{"horizontal","stacked"} of bars, where they are so. Bars that begin elsewhere are neither."""
    form = {}
    ends = {}
    containers = _bar_containers(axes)
    flats = {getattr(group, "orientation", None) == "horizontal" for group in containers}
    if flats == {True}:
        form["horizontal"] = True
    for group in containers:
        for bar in group.patches:
            is_flat = getattr(group, "orientation", None) == "horizontal"
            place, base = (bar.get_y(), bar.get_x()) if is_flat else (bar.get_x(), bar.get_y())
            value = bar.get_width() if is_flat else bar.get_height()
            key = (round(float(place), 6), bool(value < 0))
            if base and abs(base - ends.get(key, 0.0)) <= 1e-6 * max(1.0, abs(base)):
                form["stacked"] = True
            elif base:
                form["floating"] = True
            ends[key] = base + value
    if form.pop("floating", False):
        form.pop("stacked", None)
        told.lacks.append("where bars begin")
    if len(flats) > 1:
        told.lacks.append("the direction of some bars")
    return form


def _bar_namer(axis, groups):
    """A function from a bar's start and size to its label: the text of the tick under the bar, or
    beside it when several groups share one tick; else its middle."""
    kind = kind_of(axis)
    read = reader(axis)
    formatter = type(axis.get_major_formatter()).__name__
    texts = _tick_texts(axis) if kind == "categorical" or formatter in (
        "FixedFormatter", "FuncFormatter", "StrCategoryFormatter") else {}

    def name(start, size):
        middle = start + size / 2
        reach = 0.5 if groups > 1 else abs(size) / 2 + 1e-6
        near = min(texts, key=lambda position: abs(position - middle), default=None)
        if near is not None and abs(near - middle) <= reach:
            return texts[near]
        middle = read(middle)
        return f"{middle:.6g}" if is_number(middle) else str(middle)

    return name


def _wedges(axes):
    return [patch for patch in axes.patches if type(patch).__name__ == "Wedge"]


def _pie(axes, told):
    wedges = _wedges(axes)[:ELEMENTS_MAX]
    for wedge in wedges:
        told.add(chart_style.of_patch(wedge), wedge)
    told.artists += axes.texts  # its labels and percents
    return [{"label": _label(wedge, ""), "angle": abs(wedge.theta2 - wedge.theta1),
             "radius": wedge.r} for wedge in wedges]


def _boxes(axes, budget, told):
    elements = []
    drawn = getattr(axes, "_vivarium_box_artists", [])
    for i, box in enumerate(axes._vivarium_boxes[:ELEMENTS_MAX]):
        outliers = box.get("fliers", ())
        element = {"label": str(box.get("label", i + 1)), "min": box["whislo"],
                   "first_quartile": box["q1"], "median": box["med"],
                   "third_quartile": box["q3"], "max": box["whishi"],
                   "outliers": _plain(outliers, budget.take(len(outliers)))}
        elements.append(element)
        patches = drawn[i].get("boxes", ()) if i < len(drawn) else ()
        told.add(chart_style.of_patch(patches[0]) if patches else {})
    for parts in drawn:
        told.artists += [artist for group in parts.values() for artist in group]
    return elements


def _chart(axes, budget):
    """One axes as a chart."""
    kind, elements, form, told = "unknown", [], {}, _Told()
    if getattr(axes, "_vivarium_boxes", None):
        kind, elements = "box_and_whisker", _boxes(axes, budget, told)
    elif _wedges(axes):
        kind, elements = "pie", _pie(axes, told)
    elif _bar_containers(axes):
        kind, elements = "bar", _bars(axes, budget, told)
        form = _bar_form(axes, told)
    elif _path_collections(axes):
        kind, elements = "scatter", _scatters(axes, budget, told)
    elif _data_lines(axes):
        kind, elements = "line", _lines(axes, budget, told)

    chart = {"type": kind, "title": axes.get_title() or None, "elements": elements}
    if kind in ("line", "scatter", "bar", "box_and_whisker"):
        for axis, name in ((axes.xaxis, "x"), (axes.yaxis, "y")):
            with_ticks = kind in ("line", "scatter")
            chart.update(axis_facts(axis, name, with_ticks))
            if with_ticks and has_named_ticks(axis):
                told.lacks.append(f"the texts along {name}")
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
