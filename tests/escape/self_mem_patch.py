# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: proc
# walls: seccomp
# unwalled: never
# stdout: own memory patched: still filtered
"""Writes its own read-only memory through /proc/self/mem: neither the file nor the filter may change."""
import mmap

path = "/usr/bin/env"
with open(path, "rb") as file:
    before = file.read()
    page = mmap.mmap(file.fileno(), 4096, mmap.MAP_PRIVATE, mmap.PROT_READ)
with open("/proc/self/maps") as file:
    where = next(int(line.split("-")[0], 16) for line in file if line.rstrip().endswith(path))
try:
    with open("/proc/self/mem", "r+b", buffering=0) as memory:
        memory.seek(where)
        memory.write(b"PATCHED!")
    print("own memory:", page[:8])
except OSError as error:
    held(f"/proc/self/mem: {name_of(error.errno)}")
with open(path, "rb") as file:
    if file.read() != before:
        breach("the file behind the mapping changed")
if refused("bpf", 0, None, 0):
    print("own memory patched: still filtered")
