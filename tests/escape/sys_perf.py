# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: kernel
# walls: seccomp
# unwalled: safe
"""Counters and samples of the kernel and of others."""
attr = ctypes.create_string_buffer(struct.pack("IIQQQQQ", 1, 112, 0, 0, 0, 0,
                                               1 << 5 | 1 << 6) + bytes(72))
refused("perf_event_open", attr, 0, -1, -1, 0)
refused("perf_event_open", attr, -1, 0, -1, 0)
