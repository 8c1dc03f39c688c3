# SPDX-License-Identifier: Apache-2.0
"""JSON text, both ways, without importing `json`.

The `json` package imports `re` and `enum`: a quarter of a cold interpreter's start. Its C half (`_json`)
is enough for us; if an interpreter has none, `json` itself is used.
"""


class _Rules:
    """The settings that `_json.make_scanner` reads."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = {"NaN": float("nan"), "Infinity": float("inf"),
                      "-Infinity": float("-inf")}.__getitem__


def _refuse(value):
    raise TypeError(f"not JSON: {type(value)}")


try:
    from _json import encode_basestring_ascii as quote
    from _json import make_encoder, make_scanner

    scan = make_scanner(_Rules())
    # No markers: trees that come here were made by json_safe, which breaks cycles.
    _encode = make_encoder(None, _refuse, quote, None, ":", ",", False, False, False)
    if "".join(_encode({"a": [1, None, "\u00e9"]}, 0)) != '{"a":[1,null,"\\u00e9"]}':
        raise ImportError("_json changed")

    def dumps(value):
        """Strict JSON in ASCII; ValueError for NaN, TypeError for a type that JSON does not have."""
        return "".join(_encode(value, 0))

except (ImportError, TypeError):
    from json import JSONDecoder, JSONEncoder
    from json.encoder import py_encode_basestring_ascii as quote

    scan = JSONDecoder().scan_once
    dumps = JSONEncoder(allow_nan=False, separators=(",", ":")).encode


def loads(text):
    """The value of a JSON text. A ValueError says where it is broken."""
    stripped = text.strip(" \t\r\n")
    try:
        value, end = scan(stripped, 0)
        if end == len(stripped):
            return value
    except (StopIteration, SystemError):
        pass  # SystemError: `_json` cannot raise its own error while `json` is not loaded

    from .hooks import load

    return load("json").loads(text)
