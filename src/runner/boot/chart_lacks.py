# SPDX-License-Identifier: Apache-2.0
"""What of a matplotlib figure its description leaves out, in words: nothing is lost in silence."""

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
}
KINDS_MAX = 20


def _count(words):
    """["a line", "a line"] -> ["2 x a line"]: each kind once, with its number."""
    counts = {}
    for word in words:
        counts[word] = counts.get(word, 0) + 1
    return [word if count == 1 else f"{count} × {word}" for word, count in counts.items()][:KINDS_MAX]


def _name(artist):
    kind = type(artist).__name__
    return _NAMES.get(kind, f"a {kind}")


def _is_drawn(artist):
    """A picture that shows nothing of it lacks nothing."""
    return artist.get_visible() and not (hasattr(artist, "get_text") and not artist.get_text().strip())


def _error_bars(axes):
    """The artists of each set of error bars, but for the line that they belong to."""
    for group in axes.containers:
        if type(group).__name__ == "ErrorbarContainer":
            _, caps, bars = group.lines
            yield [*caps, *bars]


def of_axes(axes, told, more):
    """What this axes has beside the artists in `told`; `more` are words for what they lose."""
    errors = list(_error_bars(axes))
    known = {id(artist) for artist in (*told, *(artist for group in errors for artist in group))}
    drawn = [*axes.images, *axes.collections, *axes.patches, *axes.lines, *axes.texts,
             *getattr(axes, "tables", ()), *getattr(axes, "artists", ())]
    words = [_name(artist) for artist in drawn if id(artist) not in known and _is_drawn(artist)]
    words += ["error bars" for _ in errors[:1]]
    words += ["an inset" for child in getattr(axes, "child_axes", ()) if child.get_visible()]
    if axes.name != "rectilinear" and (words or told):
        words.append(f"its {axes.name} axes")
    for axis, name in ((axes.xaxis, "x"), (axes.yaxis, "y")):
        if told and axis.get_scale() not in ("linear", "log"):
            words.append(f"the {axis.get_scale()} scale of {name}")
    return _count([*words, *more])


def of_figure(figure, shown):
    """What stands on the figure itself, colour bars, and axes that share one place."""
    title = getattr(figure, "_suptitle", None)
    drawn = [artist for artist in (*figure.images, *figure.lines, *figure.patches, *figure.texts)
             if artist is not title and artist is not getattr(figure, "_supxlabel", None)
             and artist is not getattr(figure, "_supylabel", None)]
    words = [_name(artist) for artist in drawn if _is_drawn(artist)]
    words += ["a colour bar" for axes in figure.axes if axes.get_label() == "<colorbar>" and axes.get_visible()]
    places = [tuple(round(part, 4) for part in axes.get_position().bounds) for axes in shown]
    if len(set(places)) < len(places):
        words.append("two axes in one place, which are drawn as charts of their own")
    return _count(words)
