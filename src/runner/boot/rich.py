# SPDX-License-Identifier: Apache-2.0
"""Values as MIME bundles: the result of a cell, and what `display()` shows.

Owns:    which forms of a value are sent, and that together they fit `result_max`.
May not: raise: a value's methods are user code.
"""

import sys
from binascii import b2a_base64

from . import current, wire
from .jsonsafe import EXACT_MAX, Bounded, TooLarge, json_safe, safe_repr
from .jsontext import dumps, quote

# Method of a value -> the MIME type it makes; the names are Jupyter's.
_METHODS = (
    ("_repr_html_", "text/html"),
    ("_repr_markdown_", "text/markdown"),
    ("_repr_svg_", "image/svg+xml"),
    ("_repr_png_", "image/png"),
    ("_repr_jpeg_", "image/jpeg"),
    ("_repr_pdf_", "application/pdf"),
    ("_repr_latex_", "text/latex"),
    ("_repr_javascript_", "application/javascript"),
    ("_repr_json_", "application/json"),
)
HANDLE_MAX = 40  # bytes of a handle
ARRAY = "application/vnd.vivarium.array+json"  # what the text of a NumPy array does not show: {"dtype","shape"}
# Beside the JSON of a container in which a value is not one that JSON has: inf is null there, 2**80 a text.
INEXACT = "application/vnd.vivarium.inexact+json"
_PLAIN = (str, int, float, bool, list, tuple, dict, set, frozenset)


def _call(value, method, *args, **kwargs):
    """Calls a method of the value's class; None if there is none or it fails. Not looked up on the instance: a
    Mock, or a class with __getattr__, has every name."""
    function = getattr(type(value), method, None)
    return None if function is None else _attempt(function, value, *args, **kwargs)


def _attempt(function, *args, **kwargs):
    """Calls the function; None if it fails: even `isinstance` may run user code."""
    try:
        return function(*args, **kwargs)
    except Exception:
        return None


def _entry(mime, content, room):
    """JSON text for one form of a value, and whether a container's values are all in it as they are; raises TooLarge
    if it surely does not fit, or if `content` is TooLarge itself."""
    if content is TooLarge:
        raise TooLarge
    if isinstance(content, (bytes, bytearray)):
        content = b2a_base64(content, newline=False).decode("ascii")
    if isinstance(content, str) and not mime.endswith("json"):
        if len(content) > room:
            raise TooLarge
        return quote(wire.clean(content)), True
    conversion = Bounded(room, EXACT_MAX, with_index=True)
    told = conversion.convert(content)
    if type(told) is str and isinstance(content, dict):
        raise ValueError("two of its keys have the same text")  # text/plain shows them all
    return dumps(told), conversion.is_exact or type(told) not in (list, dict)


def _forms(value, left):
    """Pairs of MIME type and content, without text/plain; later ones win. `left()` is the remaining room."""
    bundle = _call(value, "_repr_mimebundle_", include=None, exclude=None)
    if isinstance(bundle, tuple) and bundle:
        bundle = bundle[0]
    if isinstance(bundle, dict):
        for mime, content in dict.items(bundle):
            if isinstance(mime, str):
                yield mime, content
    for method, mime in _METHODS:
        content = _call(value, method)
        if isinstance(content, tuple) and len(content) == 2:  # (content, metadata)
            content = content[0]
        if content is not None:
            yield mime, content
    facts = _attempt(_array_facts, value)
    if facts is not None:
        yield ARRAY, facts
    structure = _attempt(_structure, value, left())
    if structure is not None:
        yield "application/json", structure


def _array_facts(value):
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(value, numpy.ndarray) or not value.ndim:
        return None
    return {"dtype": str(value.dtype)[:200], "shape": list(value.shape)}


def _structure(value, room):
    """The content of application/json, for values that have a natural form there; else None."""
    if isinstance(value, _PLAIN) and not hasattr(type(value), "_repr_json_"):
        return value
    if any(name in sys.modules for name in ("numpy", "pandas", "datetime", "decimal")):
        from .tables import structure

        try:
            found = structure(value, room - HANDLE_MAX)
        except TooLarge:
            return TooLarge
        return _held(value, found) if type(found) is dict else found
    return None


def _held(value, table):
    """The table of a frame; in a session with the handle by which more of it can be asked for."""
    from .shown import hold

    handle = None if current.now.is_once or current.now.is_explicit else _attempt(hold, value)
    return table if handle is None else {**table, "handle": handle}


def bundle(value, run):
    """The value's MIME bundle as JSON text. Flags "result" as cut if a form was left out."""
    room = run.result_max
    plain, is_cut = wire.cut_quote(safe_repr(value, room + 1), room - 32 if room > 64 else room)
    parts = {"text/plain": plain}
    room -= len(plain)
    for mime, content in _forms(value, lambda: room):
        if mime == "text/plain" and not isinstance(content, str):
            continue
        try:
            text, is_exact = _entry(mime, content, room)
            if len(text) > room:
                raise TooLarge
        except KeyboardInterrupt:
            raise
        except TooLarge:
            is_cut = True
            continue
        except Exception:
            continue
        room -= len(text) - len(parts.get(mime, ""))
        parts[mime] = text
        if content is value and not is_exact:
            parts[INEXACT] = "true"
    if is_cut:
        run.cut.add("result")
    return "{" + ",".join(f"{quote(wire.clean(mime))}:{text}" for mime, text in parts.items()) + "}"


def _as_chart(value):
    """Sends the value as a chart if it is a figure; True if it was one."""
    if "matplotlib.figure" in sys.modules:
        from . import charts

        if charts.show_value(value):
            return True
    if "plotly.basedatatypes" in sys.modules:
        from . import plotly_figures

        if plotly_figures.show_value(value):
            return True
    return False


def display(*values, raw=False, **_ignored):
    """Shows values at once, in the richest forms they have. User code has it under this name."""
    run = current.now
    for value in values:
        try:
            run.flush()
            if raw and isinstance(value, dict):
                text = dumps(json_safe(value, run.result_max))
            elif _attempt(_as_chart, value):
                continue
            else:
                text = bundle(value, run)
        except TooLarge:
            run.cut.add("result")
            text = '{"text/plain":"<too large to show>"}'
        if not wire.event("display", "data", text, wait=True) and wire.is_ours():
            run.cut.add("result")


def send_result(value, run):
    """Sends the value of a cell's trailing expression."""
    if run.is_by_table:
        from .stand_ins import result_text

        text = result_text(value, run)
    elif _attempt(_as_chart, value):
        # The chart is the result; its repr is only a name (plotly's is the whole figure).
        name = safe_repr(value, 200)
        name = f"{type(value).__name__}(...)" if "\n" in name else name
        text = '{"text/plain":' + quote(wire.clean(name)) + "}"
    else:
        text = bundle(value, run)
    if not wire.event("result", "result", text):
        run.cut.add("result")
