# SPDX-License-Identifier: Apache-2.0
"""Variables that are outputs by their names: `_table`, `_chart` and Atlas's own two.

Owns:    what they may hold: a table is anything that can be one, a chart a dict or a list of dicts.
"""

import os

from . import wire
from .charts import SPEC_MAX
from .jsonsafe import TooLarge, json_safe
from .jsontext import dumps
from .tables import table_text


def tell(name, value, run):
    """Sends a variable that is an output by its name. Under Atlas only its own two are."""
    if run.is_atlas and not name.startswith("_atlas"):
        return
    if name.endswith("table"):
        text, is_cut = table_text(value, run)
        if is_cut:
            run.cut.add("result")
        wire.event("table", "table", text)
        return
    for spec in _specs(name, value, run):
        try:
            body = '{"kind":"spec","spec":' + dumps(json_safe(spec, SPEC_MAX)) + "}"
            if not wire.event("chart", "chart", body):
                raise TooLarge
        except TooLarge:
            run.cut.add("result")


def _specs(name, value, run):
    """The charts that the variable holds; says so where it holds something else."""
    specs = value if isinstance(value, list) else [value]
    if run.is_atlas:  # it asks no questions; a list is there, though it holds nothing
        return (specs or [None]) if isinstance(value, (dict, list)) else []
    charts = [spec for spec in specs if isinstance(spec, dict)]
    if len(charts) < len(specs):
        other = next(spec for spec in specs if not isinstance(spec, dict))
        text = f"vivarium: {name} must be a dict or a list of dicts, and no chart was made of " \
               f"{wire.clean(type.__dict__['__name__'].__get__(type(other)))}\n"
        os.write(2, text.encode("ascii", "backslashreplace"))
    return charts
