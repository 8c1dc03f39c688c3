# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: kernel
# walls: seccomp
# unwalled: safe
"""Pages of shared files in a pipe: how read-only files were written (Dirty Pipe and its kin)."""
reader, writer = os.pipe()
other_reader, other_writer = os.pipe()
os.write(writer, b"x" * 100)
file = os.open("/usr/bin/env", os.O_RDONLY)
piece = ctypes.create_string_buffer(4096)
vector = (ctypes.c_size_t * 2)(ctypes.addressof(piece), 64)
refused("splice", file, None, other_writer, None, 100, 2)
refused("splice", reader, None, other_writer, None, 10, 2)
refused("tee", reader, other_writer, 10, 2)
refused("vmsplice", other_writer, vector, 1, 0)
