# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: kernel
# walls: seccomp
# unwalled: safe
"""A second system call table that no filter sees."""
refused("io_uring_setup", 4, ctypes.create_string_buffer(120))
refused("io_uring_enter", -1, 0, 0, 0, None, 0)
refused("io_uring_register", -1, 0, None, 0)
