# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: kernel
# walls: seccomp
# unwalled: safe
"""Lays hands on its own filter: adds, replaces, listens."""
refused("seccomp", 1, 0, None)
refused("seccomp", 1, 8, None)
refused("seccomp", 2, 0, ctypes.create_string_buffer(8))
refused("seccomp", 3, 0, ctypes.create_string_buffer(8))
refused("prctl", 22, 2, 0, 0, 0)
refused("landlock_create_ruleset", None, 0, 1)
refused("landlock_add_rule", -1, 1, None, 0)
refused("landlock_restrict_self", -1, 0)
