# SPDX-License-Identifier: Apache-2.0
"""How the artists of a matplotlib figure look, and our own look for those that say nothing.

Owns:    the house style (defaults of rcParams), and an artist's colour, dashes, marker and width as
         plain values. Read by chart_data; a value that cannot be read is left out.
"""

import sys

# The colours of the page's own charts: a picture and a chart beside it speak of the same series.
PALETTE = ("#1f7a58", "#c8611a", "#3567c4", "#b23a74", "#7a6a00", "#0b7f92", "#7b4fc0", "#a8442f",
           "#557a1f", "#5b6670")
_INK, _SOFT, _LINE = "#1d211c", "#585f55", "#8d958a"

# No grid (it would lie over imshow), no layout, no dpi, no font and nothing of savefig's: those are
# decisions of the code.
_HOUSE = {
    "axes.edgecolor": _LINE, "axes.labelcolor": _SOFT, "axes.labelpad": 6.0,
    "axes.spines.right": False, "axes.spines.top": False, "axes.titlepad": 10.0,
    "axes.titleweight": "semibold", "axes.axisbelow": True, "grid.color": "#dcded6",
    "legend.frameon": False, "lines.linewidth": 1.8, "lines.solid_capstyle": "round",
    "text.color": _INK, "xtick.color": _LINE, "xtick.labelcolor": _SOFT, "ytick.color": _LINE,
    "ytick.labelcolor": _SOFT,
}
MARKERS = "os^v<>Dd*+xPX."
_DASHES = {"--": (3.7, 1.6), "-.": (6.4, 1.6, 1.0, 1.6), ":": (1.0, 1.65)}


def set_house_style(matplotlib):
    """Our look as the defaults: what a matplotlibrc has set stays, and what code or a style sheet
    sets later wins, for both write into the same rcParams."""
    current, plain = matplotlib.rcParams, matplotlib.rcParamsDefault
    for name, value in {**_HOUSE, "axes.prop_cycle": matplotlib.cycler(color=PALETTE)}.items():
        if name in current and current[name] == plain[name]:
            current[name] = value


def colour(value):
    """A colour as #rrggbb, with its alpha behind where it has one; None when it is none."""
    try:
        text = sys.modules["matplotlib.colors"].to_hex(value, keep_alpha=True)
    except Exception:
        return None
    return text[:7] if text.endswith("ff") else text


def _with_alpha(value, alpha):
    try:
        return sys.modules["matplotlib.colors"].to_rgba(value, alpha)
    except Exception:
        return value


def _known(style):
    return {name: value for name, value in style.items() if value is not None}


def of_line(line):
    """{"color","width","dash","marker","size","step"} of a Line2D; "dash" is False where no line is."""
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
    """({"color","size","edge","marker"} of a scatter, what it lacks). "colors" and "sizes" are those of its
    first `count` points, where they differ."""
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
    """The name of the marker that all points have, None when it is none of ours."""
    paths = group.get_paths()
    made = sys.modules["matplotlib.markers"].MarkerStyle
    for name in MARKERS if len(paths) == 1 else "":
        marker = made(name)
        path = marker.get_path().transformed(marker.get_transform())
        if path.vertices.shape == paths[0].vertices.shape and abs(path.vertices - paths[0].vertices).max() < 1e-6:
            return name
    return None


def of_patch(patch):
    """{"color","edge"} of a bar, a wedge or a box; "fill" is False where only its edge is drawn."""
    if not hasattr(patch, "get_facecolor"):  # a box of lines
        return _known({"color": colour(patch.get_color()), "fill": False})
    face, edge = patch.get_facecolor(), patch.get_edgecolor()
    if not patch.get_fill() or face[3] == 0:
        return _known({"color": colour(edge), "fill": False})
    has_edge = edge[3] > 0 and patch.get_linewidth() > 0 and tuple(edge[:3]) != tuple(face[:3])
    return _known({"color": colour(face), "edge": colour(edge) if has_edge else None})


def of_box(parts):
    """That of its patch, and "median", the colour of that line."""
    boxes, medians = parts.get("boxes", ()), parts.get("medians", ())
    style = of_patch(boxes[0]) if boxes else {}
    return _known({**style, "median": colour(medians[0].get_color()) if medians else None})
