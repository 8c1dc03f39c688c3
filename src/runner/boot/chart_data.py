# SPDX-License-Identifier: Apache-2.0
"""What a matplotlib figure shows, as data: lines, scatters, bars, pies, boxes (clients.md, 2.3).

Read from the finished figure, so that it holds for pyplot, pandas and seaborn alike. An axes that
is none of these is "unknown"; several axes are a "superchart". Large series are cut, and say so.
"""

import sys

POINTS_MAX = 10000  # of one series
TOTAL_MAX = 50000  # of one figure
ELEMENTS_MAX = 2000
TICKS_MAX = 200


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


def _kind(axis):
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


def _reader(axis):
    """A function from a position on the axis to what it means there."""
    kind = _kind(axis)
    if kind == "datetime":
        return lambda value: _moment(axis, value) if _is_number(value) else value
    if kind == "categorical":
        return lambda value: _category(axis, value) if _is_number(value) else value
    return lambda value: value


def _is_number(value):
    try:
        return value - value == 0
    except Exception:
        return False


def _plain(values, count):
    """The first `count` of an array, Index or list, as a plain list of plain values."""
    part = values[:count]
    return part.tolist() if hasattr(part, "tolist") else list(part)


def _points(xs, ys, axes, budget):
    """([[x, y], ...], whether it was cut)."""
    total = min(len(xs), len(ys))
    count = budget.take(total)
    read_x, read_y = _reader(axes.xaxis), _reader(axes.yaxis)
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


def _lines(axes, budget):
    lines = [line for line in axes.get_lines() if len(line.get_xdata()) > 0]
    return [_series(_label(line, f"line {i + 1}"), _points(*_numbers(line), axes, budget))
            for i, line in enumerate(lines[:ELEMENTS_MAX])]


def _scatters(axes, budget):
    elements = []
    for i, group in enumerate(_path_collections(axes)[:ELEMENTS_MAX]):
        offsets = group.get_offsets()
        elements.append(_series(_label(group, f"scatter {i + 1}"),
                                _points(offsets[:, 0], offsets[:, 1], axes, budget)))
    return elements


def _path_collections(axes):
    return [group for group in axes.collections
            if type(group).__name__ == "PathCollection" and len(group.get_offsets())]


def _bar_containers(axes):
    return [group for group in axes.containers
            if type(group).__name__ == "BarContainer" and len(group.patches)]


def _tick_texts(axis):
    """Position -> text of the ticks that carry one."""
    return {round(float(position), 6): tick.get_text()
            for position, tick in zip(axis.get_ticklocs(), axis.get_ticklabels())
            if tick.get_text()}


def _bars(axes, budget):
    elements = []
    containers = _bar_containers(axes)
    for i, group in enumerate(containers):
        is_flat = getattr(group, "orientation", None) == "horizontal"
        axis = axes.yaxis if is_flat else axes.xaxis
        name = _bar_namer(axis, len(containers))
        label = _label(group, f"group {i + 1}" if len(containers) > 1 else "")
        for bar in group.patches[:budget.take(len(group.patches))]:
            start, size = (bar.get_y(), bar.get_height()) if is_flat \
                else (bar.get_x(), bar.get_width())
            value = bar.get_width() if is_flat else bar.get_height()
            elements.append({"label": name(start, size), "value": value, "group": label})
    return elements


def _bar_namer(axis, groups):
    """A function from a bar's start and size to its label: the text of the tick under the bar, or
    beside it when several groups share one tick; else its middle."""
    kind = _kind(axis)
    read = _reader(axis)
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
        return f"{middle:.6g}" if _is_number(middle) else str(middle)

    return name


def _wedges(axes):
    return [patch for patch in axes.patches if type(patch).__name__ == "Wedge"]


def _pie(axes):
    return [{"label": _label(wedge, ""), "angle": abs(wedge.theta2 - wedge.theta1),
             "radius": wedge.r} for wedge in _wedges(axes)[:ELEMENTS_MAX]]


def _boxes(axes, budget):
    elements = []
    for i, box in enumerate(axes._vivarium_boxes[:ELEMENTS_MAX]):
        outliers = box.get("fliers", ())
        element = {"label": str(box.get("label", i + 1)), "min": box["whislo"],
                   "first_quartile": box["q1"], "median": box["med"],
                   "third_quartile": box["q3"], "max": box["whishi"],
                   "outliers": _plain(outliers, budget.take(len(outliers)))}
        elements.append(element)
    return elements


def _unit(label):
    """The unit that a label ends in: "speed (m/s)", "speed [m/s]"."""
    for opening, closing in ("()", "[]"):
        start = label.rfind(opening)
        if start > 0 and label.rstrip().endswith(closing):
            return label.rstrip()[start + 1:-1]
    return None


def _axis_facts(axis, name, with_ticks):
    label = axis.get_label_text()
    facts = {f"{name}_label": label or None, f"{name}_unit": _unit(label)}
    if with_ticks:
        low, high = sorted(axis.get_view_interval())
        read = _reader(axis)
        ticks = [(place, tick.get_text()) for place, tick
                 in zip(axis.get_ticklocs(), axis.get_ticklabels()) if low <= place <= high]
        facts[f"{name}_ticks"] = [read(place) for place, _ in ticks[:TICKS_MAX]]
        facts[f"{name}_tick_labels"] = [text for _, text in ticks[:TICKS_MAX]]
        facts[f"{name}_scale"] = _kind(axis)
    return facts


def _chart(axes, budget):
    """One axes as a chart."""
    kind, elements = "unknown", []
    if getattr(axes, "_vivarium_boxes", None):
        kind, elements = "box_and_whisker", _boxes(axes, budget)
    elif _wedges(axes):
        kind, elements = "pie", _pie(axes)
    elif _bar_containers(axes):
        kind, elements = "bar", _bars(axes, budget)
    elif _path_collections(axes):
        kind, elements = "scatter", _scatters(axes, budget)
    elif any(len(line.get_xdata()) for line in axes.get_lines()):
        kind, elements = "line", _lines(axes, budget)

    chart = {"type": kind, "title": axes.get_title() or None, "elements": elements}
    if kind in ("line", "scatter", "bar", "box_and_whisker"):
        for axis, name in ((axes.xaxis, "x"), (axes.yaxis, "y")):
            chart.update(_axis_facts(axis, name, kind in ("line", "scatter")))
    return chart


def _safe_chart(axes, budget):
    try:
        return _chart(axes, budget)
    except Exception:
        return {"type": "unknown", "title": None, "elements": []}


def describe(figure):
    """The chart in a figure that was drawn."""
    budget = _Budget()
    title = getattr(getattr(figure, "_suptitle", None), "get_text", lambda: "")() or None
    shown = [axes for axes in figure.axes
             if axes.get_visible() and axes.get_label() != "<colorbar>"]
    charts = [_safe_chart(axes, budget) for axes in shown[:ELEMENTS_MAX]]
    if len(charts) == 1:
        charts[0]["title"] = charts[0]["title"] or title
        return charts[0]
    if charts:
        return {"type": "superchart", "title": title, "elements": charts}
    return {"type": "unknown", "title": title, "elements": []}
