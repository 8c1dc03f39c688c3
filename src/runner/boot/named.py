# SPDX-License-Identifier: Apache-2.0
"""Variables whose names make them outputs: `_table`, `_chart` and Atlas's own two.

Owns:    what they may hold: a table is anything that can be shown as one, a chart a dict or a list of dicts.
"""

import os

from . import wire
from .charts import SPEC_MAX
from .jsonsafe import DRAWN_MAX, INT_MAX, TooLarge, json_safe
from .jsontext import dumps
from .tables import table_text

KEYS_MAX = 100  # series that are looked at for text


def tell(name, value, run):
    """Sends a variable whose name makes it an output. If outputs are explicit, only Atlas's two are."""
    if run.is_explicit and not name.startswith("_atlas"):
        return
    if name.endswith("table"):
        text, is_cut = table_text(value, run)
        if is_cut:
            run.cut.add("result")
        wire.event("table", "table", text)
        return
    int_max = INT_MAX if run.is_explicit else DRAWN_MAX  # Atlas's clients draw numbers only
    for spec in _specs(name, value, run):
        try:
            body = '{"kind":"spec","spec":' + dumps(json_safe(spec, SPEC_MAX, int_max)) + "}"
            if not wire.event("chart", "chart", body):
                raise TooLarge
            if not run.is_explicit:
                _tell_texts(name, spec)
        except TooLarge:
            run.cut.add("result")


def _say(text):
    os.write(2, f"vivarium: {text}\n".encode("ascii", "backslashreplace"))


def _texts(spec):
    """(key, texts, number of rows) for each series of the chart that has text among its values."""
    rows, keys = (dict.get(spec, member) for member in ("data", "valueKeys"))
    if type(rows) is not list or type(keys) is not list:
        return
    for key in [key for key in keys[:KEYS_MAX] if type(key) is str]:
        texts = [row[key] for row in rows if type(row) is dict and type(row.get(key)) is str]
        if texts:
            yield key, texts, len(rows)


def _tell_texts(name, spec):
    """Warns on stderr if values of the chart are text: a sum of texts is joined digits, which look like a number."""
    try:
        found = list(_texts(spec))
    except Exception:  # a key that cannot be compared
        return
    for key, texts, count in found:
        _say(f"{len(texts):,} of {count:,} values of {wire.clean(key[:60])!r} in {name} are text, not numbers, such as "
             f"{wire.clean(texts[0][:40])!r}; pandas.to_numeric converts a column")


def _specs(name, value, run):
    """The charts that the variable holds; warns on stderr if it holds something else."""
    specs = value if isinstance(value, list) else [value]
    if run.is_explicit:  # Atlas accepts anything; an empty list still counts as one
        return (specs or [None]) if isinstance(value, (dict, list)) else []
    charts = [spec for spec in specs if isinstance(spec, dict)]
    if len(charts) < len(specs):
        other = next(spec for spec in specs if not isinstance(spec, dict))
        _say(f"{name} must be a dict or a list of dicts; no chart was made of "
             f"{wire.clean(type.__dict__['__name__'].__get__(type(other)))}")
    return charts
