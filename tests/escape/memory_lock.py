# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: dos
# walls: rlimit
# unwalled: never
"""Memory that cannot be taken back."""
import mmap

piece = mmap.mmap(-1, 64 << 20)
address = ctypes.addressof(ctypes.c_char.from_buffer(piece))
for what, result in (("mlock", _libc.mlock(ctypes.c_void_p(address), ctypes.c_size_t(64 << 20))),
                     ("mlockall", _libc.mlockall(3))):
    if result == 0:
        breach(f"{what} of 64 MiB")
    else:
        held(f"{what}: {name_of(ctypes.get_errno())}")
