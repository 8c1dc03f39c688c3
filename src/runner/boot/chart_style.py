# SPDX-License-Identifier: Apache-2.0
"""How the artists of a matplotlib figure look, and our own look for code that chooses none.

Owns:    the house style (defaults of rcParams), and an artist's colour, dashes, marker and width as
         plain values, for chart_data; a value that cannot be read is left out.
"""

import sys

# The colours of the page's own charts, so that a series has the same colour in a picture and in a chart.
PALETTE = ("#1f7a58", "#c8611a", "#3567c4", "#b23a74", "#7a6a00", "#0b7f92", "#7b4fc0", "#a8442f",
           "#557a1f", "#5b6670")
_INK, _SOFT, _LINE = "#1d211c", "#585f55", "#8d958a"

# No grid (it would cover imshow), layout, dpi, font or savefig options: the code decides these.
_HOUSE = {
    "axes.edgecolor": _LINE, "axes.labelcolor": _SOFT, "axes.labelpad": 6.0,
    "axes.spines.right": False, "axes.spines.top": False, "axes.titlepad": 10.0,
    "axes.titleweight": "semibold", "axes.axisbelow": True, "grid.color": "#dcded6",
    "legend.edgecolor": "#dcded6", "lines.linewidth": 1.8, "lines.solid_capstyle": "round",
    "text.color": _INK, "xtick.color": _LINE, "xtick.labelcolor": _SOFT, "ytick.color": _LINE,
    "ytick.labelcolor": _SOFT,
}
MARKERS = "os^v<>Dd*+xPX."
_DASHES = {"--": (3.7, 1.6), "-.": (6.4, 1.6, 1.0, 1.6), ":": (1.0, 1.65)}


def set_house_style(matplotlib):
    """Sets our look as the default: settings of a matplotlibrc stay, and those that code or a style sheet makes later
    win, since both write to the same rcParams."""
    current, plain = matplotlib.rcParams, matplotlib.rcParamsDefault
    for name, value in {**_HOUSE, "axes.prop_cycle": matplotlib.cycler(color=PALETTE)}.items():
        if name in current and current[name] == plain[name]:
            current[name] = value


def colour(value):
    """A colour as #rrggbb, followed by its alpha unless opaque; None if it is not a colour."""
    try:
        text = sys.modules["matplotlib.colors"].to_hex(value, keep_alpha=True)
    except Exception:
        return None
    return text[:7] if text.endswith("ff") else text


def is_drawn(artist):
    """Whether the picture shows an artist: not if it is an empty text, or exists only for an entry of the legend."""
    if not artist.get_visible():
        return False
    if hasattr(artist, "get_text"):
        return bool(artist.get_text().strip())
    if hasattr(artist, "get_xdata"):
        return len(artist.get_xdata()) > 0
    if type(artist).__name__ == "PathCollection":
        return len(artist.get_offsets()) > 0
    return type(artist).__name__ != "Rectangle" or artist.get_width() != 0 or artist.get_height() != 0


def hue(artist):
    """The single colour of an artist, without its alpha; None if it has none, or several."""
    for name in ("get_facecolor", "get_color", "get_edgecolor"):
        values = getattr(artist, name, tuple)()
        if getattr(values, "ndim", 1) == 2:
            values = values[0] if len(values) == 1 else ()
        text = colour(values)
        if text is not None and not text.endswith("00", 7):
            return text[:7]
    return None


def _with_alpha(value, alpha):
    try:
        return sys.modules["matplotlib.colors"].to_rgba(value, alpha)
    except Exception:
        return value


def _known(style):
    return {name: value for name, value in style.items() if value is not None}


def of_line(line):
    """{"color","width","dash","marker","size","step"} of a Line2D; "dash" is False if no line is drawn."""
    kind = str(line.get_linestyle())
    width = float(line.get_linewidth())
    pattern = getattr(line, "_unscaled_dash_pattern", (0, None))[1] or _DASHES.get(kind)
    dash = [round(float(part) * width, 2) for part in pattern] if pattern else None
    if kind in ("None", "none", " ", "") or width == 0:
        dash = False
    marker = str(line.get_marker())
    has_marker = marker not in ("None", "none", " ", "")
    step = str(line.get_drawstyle())
    return _known({
        "color": colour(_with_alpha(line.get_color(), line.get_alpha())), "width": width, "dash": dash,
        "marker": marker if has_marker else None,
        "marker_color": colour(line.get_markerfacecolor()) if has_marker else None,
        "size": float(line.get_markersize()) if has_marker else None,
        "step": step[len("steps-"):] if step.startswith("steps-") else None})


def of_points(group, count):
    """({"color","size","edge","marker"} of a scatter, what is lacking). "colors" and "sizes" are those of the first
    `count` points, if they differ."""
    faces, edges = group.get_facecolors(), group.get_edgecolors()
    total = len(group.get_offsets())
    colours = [colour(value) for value in (faces if len(faces) else edges)]
    sizes = [round(float(size) ** 0.5, 2) for size in group.get_sizes()]
    style, lacks = {"marker": _marker(group)}, []
    for name, words, values in (("color", "colours", colours), ("size", "sizes", sizes)):
        if len(set(values)) == 1:
            style[name] = values[0]
        elif len(values) == total:
            style[f"{name}s"] = values[:count]
        elif values:
            lacks.append(f"the {words} of single points")
    if len(faces) == 1 and len(edges) == 1 and tuple(faces[0][:3]) != tuple(edges[0][:3]) and edges[0][3] > 0:
        style["edge"] = colour(edges[0])
    elif not len(faces):
        style["fill"] = False
    if style["marker"] is None:
        lacks.append("the shapes of points")
    return _known(style), lacks


def _marker(group):
    """The name of the marker that all points have; None if it is not in MARKERS."""
    paths = group.get_paths()
    made = sys.modules["matplotlib.markers"].MarkerStyle
    for name in MARKERS if len(paths) == 1 else "":
        marker = made(name)
        path = marker.get_path().transformed(marker.get_transform())
        if path.vertices.shape == paths[0].vertices.shape and abs(path.vertices - paths[0].vertices).max() < 1e-6:
            return name
    return None


def of_patch(patch):
    """{"color","edge"} of a bar, a wedge or a box; "fill" is False if only its edge is drawn."""
    if not hasattr(patch, "get_facecolor"):  # a box made of lines
        return _known({"color": colour(patch.get_color()), "fill": False})
    face, edge = patch.get_facecolor(), patch.get_edgecolor()
    if not patch.get_fill() or face[3] == 0:
        return _known({"color": colour(edge), "fill": False})
    has_edge = edge[3] > 0 and patch.get_linewidth() > 0 and tuple(edge[:3]) != tuple(face[:3])
    return _known({"color": colour(face), "edge": colour(edge) if has_edge else None})


def of_box(parts):
    """The style of the box's patch, and "median", the colour of its median line."""
    boxes, medians = parts.get("boxes", ()), parts.get("medians", ())
    style = of_patch(boxes[0]) if boxes else {}
    return _known({**style, "median": colour(medians[0].get_color()) if medians else None})
