# SPDX-License-Identifier: Apache-2.0
"""The end of a saved state: its size and its sum. A client keeps the bytes, and what keeps bytes loses
some: a state that is not whole must not pass for one.

Against accidents: whoever makes a state may seal it, too.
"""

from binascii import crc32

from .look import LookError

_HEAD = b"e\0\0\0\0\x0c\0\0\0"  # a record without a name, and a chunk of twelve bytes
SIZE = len(_HEAD) + 12 + 4


def seal(data):
    """What goes behind `data`."""
    return _HEAD + len(data).to_bytes(8, "little") + crc32(data).to_bytes(4, "little") + bytes(4)


def unseal(data):
    """What stands before the seal; a LookError when it is not as it was sealed."""
    inner = data[:-SIZE]
    if bytes(data[-SIZE:]) != seal(inner):
        raise LookError("it is not as it was saved: bytes are missing or changed")
    return inner
