# SPDX-License-Identifier: Apache-2.0
"""The texts of a matplotlib figure: names of its series, and formulas as plain text."""

import sys

from . import chart_style
from .hooks import load

_LOWER = dict(zip("0123456789+-=()", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎"))
_UPPER = dict(zip("0123456789+-=()", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾"))
_MARKUP = "\\{}^_"  # characters that remain if a formula is more than letters and signs


def is_formula(text):
    return bool(sys.modules["matplotlib.cbook"].is_math_text(text))


def _raised(text, sign, letters):
    """Replaces m^2, m^{23} and the like by Unicode superscripts (or subscripts)."""
    head, *parts = text.split(sign)
    for part in parts:
        inner, rest = part[1:].split("}", 1) if part.startswith("{") and "}" in part else (part[:1], part[1:])
        is_known = inner and all(letter in letters for letter in inner)
        head += "".join(letters[letter] for letter in inner) + rest if is_known else sign + part
    return head


def _letters(formula):
    """A formula of letters and signs as text; None if it is more than that."""
    re, signs = load("re"), load("matplotlib._mathtext_data").tex2uni
    formula = re.sub(r"\\(?:mathrm|mathit|mathbf|mathregular|text)\{([^{}\\]*)\}", r"\1", formula)
    formula = re.sub(r"\\([A-Za-z]+) ?|\\([%#&$])|\\[ ,;:]",
                     lambda found: chr(signs[found[1]]) if found[1] in signs else
                     found[0] if found[1] else found[2] or " ", formula)
    formula = _raised(_raised(formula, "_", _LOWER), "^", _UPPER)
    return None if any(sign in formula for sign in _MARKUP) else formula


def plain(text):
    """A text as the picture shows it: formulas as plain letters if possible, else as they were written."""
    text = str(text)
    if not is_formula(text):
        return text.replace("\\$", "$")
    parts = text.replace("\\$", "\0").split("$")
    parts[1::2] = [_letters(part) for part in parts[1::2]]
    return text if None in parts else "".join(parts).replace("\0", "$")


def own_label(artist):
    """The label that the code gave to an artist; matplotlib's automatic ones begin with an underscore and count as
    none."""
    label = artist.get_label()
    return None if label is None or not str(label) or str(label).startswith("_") else str(label)


class Names:
    """The names of an axes' series: their own, or the legend's entry for their colour."""

    def __init__(self, axes):
        self.entries = []
        self.given = set()
        self.taken = set()  # names that artists have as labels of their own
        self.areas = set()  # names of filled areas, which are not described: lines may be their edges
        legends = [axes.get_legend(), *getattr(axes.figure, "legends", ())]
        for legend in legends:
            if legend is not None and legend.get_visible():
                handles = getattr(legend, "legend_handles", None) or getattr(legend, "legendHandles", [])
                self.entries += [(chart_style.hue(handle), text.get_text())
                                 for handle, text in zip(handles, legend.get_texts())]
        for artist in axes.get_children():
            is_area = "PolyCollection" in type(artist).__name__
            if chart_style.is_drawn(artist):  # else it exists only for an entry of the legend
                (self.areas if is_area else self.taken).add(own_label(artist))
        self.taken.update(map(own_label, axes.containers))

    def of(self, artist, otherwise, *parts):
        """The name of an artist; `parts` are those of a container, which has no colour itself."""
        texts = {text for _, text in self.entries}
        labels = [label for label in map(own_label, (artist, *parts)) if label is not None]
        hue = chart_style.hue(parts[0] if parts else artist)
        fitting = [text for colour, text in self.entries
                   if colour == hue and hue is not None and text not in self.taken]
        if labels and (labels[0] in texts or len(fitting) != 1):
            name = labels[0]
        else:
            name = fitting[0] if len(fitting) == 1 else None
        self.given.add(name)
        if name is None:
            return otherwise
        return f"{plain(name)} (edge)" if name in self.areas and not labels else plain(name)

    def are_told(self, legend):
        """Whether each name in a legend is the name of a series."""
        return all(text.get_text() in self.given for text in legend.get_texts())
