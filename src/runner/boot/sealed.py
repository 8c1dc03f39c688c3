# SPDX-License-Identifier: Apache-2.0
"""The end of a saved state or an exported session: its size and its checksum. A client keeps the bytes and may
lose or damage some: a state that is not complete must not be accepted.

This is against accidents only: whoever makes up a state can seal it, too.
"""

from binascii import crc32

from .look import LookError

_HEAD = b"e\0\0\0\0\x0c\0\0\0"  # a record without a name, and a chunk of twelve bytes
SIZE = len(_HEAD) + 12 + 4


def seal(size, checksum):
    """The seal that follows `size` bytes with this CRC-32."""
    return _HEAD + size.to_bytes(8, "little") + checksum.to_bytes(4, "little") + bytes(4)


def unseal(data):
    """The bytes before the seal; LookError if they are not as they were sealed."""
    inner = data[:-SIZE]
    if bytes(data[-SIZE:]) != seal(len(inner), crc32(inner)):
        raise LookError("this is not as it was saved: bytes are missing or changed")
    return inner
