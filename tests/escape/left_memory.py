# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: leftovers
# limits: memory=400M timeout=30s
# unwalled: never
# repeat: 2
"""Fills memory with a mark, and looks for it in fresh memory of every kind."""
import mmap

mark = b"REMNANT-" + _args["mark"].encode()
size = 64 << 20
pieces = {"anonymous": mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS),
          "shared": mmap.mmap(-1, size)}
memory = os.open("/dev/shm", os.O_TMPFILE | os.O_RDWR, 0o600)
os.ftruncate(memory, size)
pieces["file"] = mmap.mmap(memory, size)
_libc.malloc.restype = ctypes.c_void_p
address = _libc.malloc(ctypes.c_size_t(size))
pieces["malloc"] = (ctypes.c_char * size).from_address(address)
for name, piece in pieces.items():
    text = bytes(piece[:size])
    if mark in text:
        breach(f"{name}: bytes of an earlier run")
    if text.count(0) != size and name != "malloc":
        breach(f"{name}: fresh memory is not zero")
    del text
pieces["anonymous"][:size] = (mark + b" ") * (size // (len(mark) + 1)) + bytes(size % (len(mark) + 1))
