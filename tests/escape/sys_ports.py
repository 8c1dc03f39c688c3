# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: kernel
# walls: seccomp
# unwalled: root
"""Descriptor tables and ports of the machine."""
refused("modify_ldt", 0, ctypes.create_string_buffer(64), 64)
refused("modify_ldt", 1, ctypes.create_string_buffer(16), 16)
refused("iopl", 9)
refused("ioperm", 1 << 30, 1, 1)
