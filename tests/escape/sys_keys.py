# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: kernel
# walls: seccomp
# unwalled: safe
"""Keyrings are not namespaced: a mail box between sandboxes, and memory that nobody counts."""
refused("add_key", b"user", _args["mark"].encode(), b"payload", 7, -2)
refused("request_key", b"user", b"nothing", None, 0)
refused("keyctl", 0, -3, 1)
refused("keyctl", 9999, 0, 0, 0, 0)
