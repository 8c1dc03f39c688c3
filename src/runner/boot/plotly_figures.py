# SPDX-License-Identifier: Apache-2.0
"""plotly figures as charts: their JSON, for the client to draw. Each figure is sent once.

May not: raise into user code, or import plotly: it waits until that is loaded.
"""

import sys
from _weakref import ref

from . import current, wire
from .jsonsafe import TooLarge, json_safe
from .jsontext import dumps, loads

FIGURE_MAX = wire.EVENT_MAX - 1024

_told = {}  # id of a figure -> weak reference to it


def hook_figure(module):
    """plotly.basedatatypes was loaded."""
    def show(self, *_args, **_kwargs):
        """Show the figure: it becomes a chart now."""
        show_value(self)

    module.BaseFigure.show = show


def hook_io(module):
    """plotly.io was loaded."""
    def show(fig, *_args, **_kwargs):
        """Show the figure: it becomes a chart now."""
        if not show_value(fig):
            base = sys.modules["plotly.graph_objs"].Figure
            show_value(base(fig))

    module.show = show


def _is_figure(value):
    base = getattr(sys.modules.get("plotly.basedatatypes"), "BaseFigure", ())
    return isinstance(value, base)


def _text(figure):
    """The figure's JSON: plotly's own, made strict, ASCII and bounded."""
    return dumps(json_safe(loads(figure.to_json()), FIGURE_MAX))


def show_value(value):
    """For display(), show() and trailing expressions: True when `value` is a plotly figure."""
    if not _is_figure(value):
        return False
    _told[id(value)] = ref(value)
    try:
        current.now.flush()
        body = '{"kind":"plotly","figure":' + _text(value) + "}"
        if not wire.event("chart", "chart", body, wait=True) and wire.is_ours():
            raise TooLarge
    except TooLarge:
        current.now.cut.add("result")
        wire.event("chart", "chart", '{"kind":"plotly","figure":null,"truncated":true}', wait=True)
    except Exception as error:
        print(f"vivarium: a plotly figure could not be shown: {error!r}", file=sys.stderr)
    return True


def collect(names):
    """Sends the figures that the code left in its namespace without showing them."""
    for value in list(names.values()):
        if _is_figure(value):
            known = _told.get(id(value))
            if known is None or known() is not value:
                show_value(value)
    for key in [key for key, known in _told.items() if known() is None]:
        del _told[key]
