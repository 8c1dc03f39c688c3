# SPDX-License-Identifier: Apache-2.0
"""matplotlib figures as charts: the picture, and a description of it.

Owns:    the hooks on matplotlib, the moment a chart is sent, and that each is sent once.
May not: raise into user code, or import matplotlib: it waits until that is loaded.
"""

import os
import sys
from binascii import b2a_base64
from io import BytesIO

from . import CHART_DIR, WORKSPACE, current, wire
from .hooks import load
from .jsonsafe import json_safe
from .jsontext import dumps, quote

IMAGE_MAX = 11 << 20  # still fits in a frame as base64
DATA_MAX = 4 << 20
SPEC_MAX = 12 << 20  # bytes of a chart object: 100,000 points and their names
SCALE = 2  # of a picture that we draw; a picture that code has saved is sent as it is
FIGURES_MAX = 64  # captured at the end of one run
PNG = b"\x89PNG\r\n\x1a\n"

_HERE = (lambda: 0).__code__.co_filename.rpartition("/")[0] + "/"
_access = os.access
_original = {}  # matplotlib's own functions, before our hooks
_told = {}  # path of a file in the chart folder -> its time of change when it was sent


def chart_path(n=0):
    """Where to save chart number `n`; it is shown the moment `savefig` returns."""
    os.makedirs(CHART_DIR, exist_ok=True)
    return f"{CHART_DIR}/chart_{n}.png"


def hook_matplotlib(module):
    """matplotlib was loaded: its defaults become ours, until the code sets others."""
    from .chart_style import set_house_style

    set_house_style(module)


def hook_figure(module):
    """matplotlib.figure was loaded."""
    _name_no_line_of_ours()
    figure = module.Figure
    original = _original["savefig"] = figure.savefig
    _original["Figure"] = figure

    def savefig(self, fname, *args, **kwargs):
        begin = fname.tell() if type(fname) is BytesIO else 0
        result = original(self, fname, *args, **kwargs)
        _quietly(_saved, self, fname, kwargs, begin)
        return result

    def show(self, *_args, **_kwargs):
        if not current.now.is_explicit:
            _quietly(_capture, self)

    savefig.__doc__, savefig.__wrapped__ = original.__doc__, original
    show.__doc__ = figure.show.__doc__
    figure.savefig, figure.show = savefig, show


def _name_no_line_of_ours():
    """matplotlib names the caller in its warnings (a missing glyph, say). Where that is this file, the user is told the
    warning alone."""
    warnings = load("warnings")
    original = warnings.formatwarning

    def formatwarning(message, category, filename, lineno, line=None):
        if filename.startswith(_HERE):
            return f"{category.__name__}: {message}\n"
        return original(message, category, filename, lineno, line)

    formatwarning.__doc__, formatwarning.__wrapped__ = original.__doc__, original
    warnings.formatwarning = formatwarning


def hook_pyplot(module):
    """matplotlib.pyplot was loaded."""
    def show(*_args, **_kwargs):
        """Show the open figures: they become charts now, and are closed."""
        if not current.now.is_explicit:
            _quietly(capture_open)

    module.show = show


def hook_axes(module):
    """matplotlib.axes._axes was loaded. A box plot keeps only lines, not its statistics, so those are recorded in bxp,
    which every box plot calls."""
    original = module.Axes.bxp

    def bxp(self, bxpstats, *args, **kwargs):
        bxpstats = list(bxpstats)
        result = original(self, bxpstats, *args, **kwargs)
        self.__dict__.setdefault("_vivarium_boxes", []).extend(bxpstats)
        self.__dict__.setdefault("_vivarium_box_artists", []).extend(_box_parts(result, len(bxpstats)))
        return result

    bxp.__doc__, bxp.__wrapped__ = original.__doc__, original
    module.Axes.bxp = bxp


def _box_parts(drawn, count):
    """The artists of each box: whiskers and caps come in pairs."""
    return [{name: artists[i * len(artists) // count:(i + 1) * len(artists) // count]
             for name, artists in drawn.items()} for i in range(count)]


def _quietly(function, *args):
    try:
        function(*args)
    except Exception as error:
        _complain(error)


def _complain(error):
    try:
        print(f"vivarium: a chart could not be shown: {type(error).__name__}: {error}",
              file=sys.stderr)
    except Exception:
        pass


def _target(fname, form):
    """The absolute path of the PNG that a savefig wrote; None if that is not a chart."""
    try:
        path = os.path.abspath(os.fsdecode(fname))
    except (TypeError, ValueError):
        return None
    if not os.path.splitext(path)[1] and not os.path.exists(path):
        path += "." + (form or sys.modules["matplotlib"].rcParams["savefig.format"])
    if path.startswith(CHART_DIR + "/") or path.startswith(WORKSPACE + "/"):
        return path if path.endswith(".png") else None
    return None


def _index(path):
    """A chart's number: that of chart_path(n), the one it had before, or the next."""
    charts = current.now.charts
    if path in charts:
        return charts[path]
    index = max(charts.values(), default=-1) + 1
    folder, _, name = path.rpartition("/") if isinstance(path, str) else ("", "", "")
    number = name[len("chart_"):-len(".png")]
    if folder == CHART_DIR and name.startswith("chart_") and number.isdecimal():
        index = int(number[:9])
    charts[path] = index
    return index


def _read(path):
    """The bytes of a PNG file; None if it is too large or not a PNG."""
    with open(path, "rb") as file:
        data = file.read(IMAGE_MAX + 1)
    return data if data.startswith(PNG) and len(data) <= IMAGE_MAX else None


def _send(image, key, figure, path=None, scale=1):
    """Sends one chart, without its picture if that is too large. `scale` is the number of picture pixels per pixel of
    the page."""
    fields = ['"kind":"image"', '"mime":"image/png"', f'"index":{_index(key)}']
    if scale != 1:
        fields.append(f'"scale":{scale}')
    if image is None:
        current.now.cut.add("result")
        fields.append('"truncated":true')
    else:
        fields.append(f'"base64":"{b2a_base64(image, newline=False).decode("ascii")}"')
    if path is not None:
        fields.append(f'"path":{quote(os.fsencode(path).decode("utf-8", "backslashreplace"))}')
    if figure is not None:
        fields.append(f'"data":{_data_text(figure)}')
    body = "{" + ",".join(fields) + "}"
    current.now.flush()
    if not wire.event("chart", "chart", body, wait=True) and wire.is_ours():
        current.now.cut.add("result")


def _data_text(figure):
    try:
        from .chart_data import describe

        return dumps(json_safe(describe(figure), DATA_MAX))
    except Exception:
        return '{"type":"unknown","title":"","elements":[]}'


def _is_saved(figure):
    return any(figure is other for other in current.now.saved)


def _saved(figure, fname, options, begin):
    if not wire.is_ours():
        return
    path = _target(fname, options.get("format"))
    if path is not None:
        _send(_read(path), path, figure, path)
        _told[path] = os.stat(path).st_mtime_ns
        if not _is_saved(figure):
            current.now.saved.append(figure)
    elif type(fname) is BytesIO and (options.get("dpi") or figure.dpi) == figure.dpi:
        _keep_picture(figure, bytes(fname.getbuffer()[begin:fname.tell()]))


def _keep_picture(figure, image):
    """Keeps a picture that code saved to memory: unless the figure changes after this, it need not be drawn again to be
    shown. savefig() itself leaves the figure marked as changed."""
    if image.startswith(PNG) and len(image) <= IMAGE_MAX:
        figure.stale = False
        current.now.pictures = [(figure, image)] + [kept for kept in current.now.pictures if kept[0] is not figure]


def _kept_picture(figure):
    return next((image for other, image in current.now.pictures if other is figure and not figure.stale), None)


def _draw(figure):
    """(the figure as PNG bytes, its scale): as code has saved it, else sharp on a dense screen, or plain if that would be
    too large."""
    image = _kept_picture(figure)
    if image is not None:
        return image, 1
    for scale in (SCALE, 1):
        data = BytesIO()
        _original["savefig"](figure, data, format="png", bbox_inches="tight", dpi=figure.dpi * scale)
        if len(data.getbuffer()) <= IMAGE_MAX:
            return data.getvalue(), scale
    return None, 1


def _capture(figure):
    """Makes a chart of a figure, unless it is already one."""
    if _is_saved(figure) or not wire.is_ours():
        return
    current.now.saved.append(figure)
    if figure.axes or figure.texts or figure.images or figure.lines or figure.patches:
        image, scale = _draw(figure)
        _send(image, object(), figure, scale=scale)


def show_value(value):
    """For display() and trailing expressions: shows `value` and returns True if it is a figure."""
    if not isinstance(value, _original.get("Figure", ())):
        return False
    _quietly(_capture, value)
    return True


def capture_open():
    """Makes charts of pyplot's open figures, and closes them. If outputs are explicit, only saved figures are
    charts."""
    helpers = sys.modules.get("matplotlib._pylab_helpers")
    if helpers is None:
        return
    managers = helpers.Gcf.get_all_fig_managers()
    for count, manager in enumerate(managers):
        if current.now.is_explicit:
            pass
        elif count < FIGURES_MAX:
            _quietly(_capture, manager.canvas.figure)
        else:
            current.now.cut.add("result")
        helpers.Gcf.destroy(manager.num)


def collect_files():
    """Sends the PNG files in the chart folder that no `savefig` has sent: pictures that PIL or plotly wrote to
    chart_path(n)."""
    if not _access(CHART_DIR, os.F_OK):
        return
    try:
        names = sorted(os.listdir(CHART_DIR))
    except OSError:
        return
    for path in [f"{CHART_DIR}/{name}" for name in names if name.startswith("chart_")]:
        if path.endswith(".png") and os.path.isfile(path) and not os.path.islink(path):
            changed = os.stat(path).st_mtime_ns
            if _told.get(path) != changed:
                _told[path] = changed
                _quietly(lambda: _send(_read(path), path, None, path))
