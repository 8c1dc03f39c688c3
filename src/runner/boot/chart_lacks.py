# SPDX-License-Identifier: Apache-2.0
"""Names the parts of a matplotlib figure that its description leaves out: nothing is lost silently."""

from .chart_names import is_formula, plain
from .chart_style import is_drawn

_NAMES = {
    "AxesImage": "a picture (imshow)", "NonUniformImage": "a picture", "FigureImage": "a picture",
    "QuadMesh": "a colour mesh (pcolormesh)", "PolyQuadMesh": "a colour mesh (pcolor)",
    "PolyCollection": "a filled area", "FillBetweenPolyCollection": "a filled area",
    "LineCollection": "a collection of lines", "QuadContourSet": "contours", "TriContourSet": "contours",
    "TriMesh": "a colour mesh", "Quiver": "arrows", "Barbs": "wind barbs", "EventCollection": "events",
    "PathCollection": "points", "Line2D": "a line", "Annotation": "an annotation", "Text": "a text",
    "Table": "a table", "Rectangle": "a rectangle", "Polygon": "a shape", "Wedge": "a wedge",
    "PathPatch": "a shape", "FancyArrowPatch": "an arrow", "FancyArrow": "an arrow",
    "Ellipse": "an ellipse", "Circle": "a circle", "StepPatch": "steps (stairs)",
    "Legend": "a legend", "Axes": "an inset", "SecondaryAxis": "a secondary axis",
}
KINDS_MAX = 20


def _count(words):
    """["a line", "a line"] -> ["2 x a line"]: each kind once, with its number unless the word is a plural."""
    counts = {}
    for word in words:
        counts[word] = counts.get(word, 0) + 1
    return [f"{count} × {word}" if count > 1 and word.startswith(("a ", "an ")) else word
            for word, count in counts.items()][:KINDS_MAX]


def _name(artist):
    kind = type(artist).__name__
    if kind == "PathCollection" and type(artist.get_offset_transform()).__name__ == "IdentityTransform":
        return "filled contours"  # shapes in data coordinates, where points would have offsets
    return _NAMES.get(kind, f"a {kind}")


def _error_bars(axes):
    """The artists of each set of error bars, without the line they belong to."""
    for group in axes.containers:
        if type(group).__name__ == "ErrorbarContainer":
            _, caps, bars = group.lines
            yield [*caps, *bars]


def _formulas(chart):
    """Whether a text in the description is a formula that cannot be written as plain letters."""
    texts = [chart["title"], chart.get("x_label"), chart.get("y_label"),
             *chart.get("x_categories", ()), *chart.get("y_categories", ()),
             *(element.get(name) for element in chart["elements"] for name in ("label", "group"))]
    return any(is_formula(text) for text in set(texts) if isinstance(text, str))


def of_axes(axes, told, chart):
    """The names of everything that the picture shows of this axes and the chart lacks."""
    errors = list(_error_bars(axes))
    frame = (axes.patch, axes.xaxis, axes.yaxis, getattr(axes, "zaxis", None), axes.get_legend(),
             *axes.spines.values(), axes.title, axes._left_title, axes._right_title)
    known = {id(artist) for artist in (*told.artists, *frame, *(artist for group in errors for artist in group))}
    words = [_name(artist) for artist in axes.get_children() if id(artist) not in known and is_drawn(artist)]
    words += ["error bars" for _ in errors[:1]]
    legend = axes.get_legend()
    if legend is not None and legend.get_visible() and told.artists and not told.names.are_told(legend):
        words.append("the legend")
    if axes.name != "rectilinear" and (words or told.artists):
        words.append(f"its {axes.name} axes")
    for axis, name in ((axes.xaxis, "x"), (axes.yaxis, "y")):
        if told.artists and axis.get_scale() not in ("linear", "log"):
            words.append(f"the {axis.get_scale()} scale of {name}")
    if _formulas(chart):
        words.append("the formulas in its texts")
    return _count([*words, *told.lacks])


def _are_told(legend, charts):
    """Whether each name of a legend is that of a series in one of the charts."""
    told = {element.get(name) for chart in charts for element in (*chart["elements"], *chart.get("lines", ()))
            for name in ("label", "group")}
    return all(plain(text.get_text()) in told for text in legend.get_texts())


def of_figure(figure, shown, charts):
    """Names parts of the figure outside its axes, colour bars, and axes in the same place."""
    legends = [legend for legend in figure.legends if _are_told(legend, charts)]
    known = {id(artist) for artist in (figure.patch, getattr(figure, "_suptitle", None), *figure.axes, *legends)}
    words = [_name(artist) for artist in figure.get_children() if id(artist) not in known and is_drawn(artist)]
    words += ["a colour bar" for axes in figure.axes if axes.get_label() == "<colorbar>" and axes.get_visible()]
    places = [tuple(round(part, 4) for part in axes.get_position().bounds) for axes in shown]
    if len(set(places)) < len(places):
        words.append("two axes in one place, which are drawn as charts of their own")
    return _count(words)
