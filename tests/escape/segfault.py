# SPDX-License-Identifier: Apache-2.0
# expect: killed
# class: dos
# unwalled: never
# exit: 139
# signal: 11
# by: supervisor
# stdout: before the crash
# message: SIGSEGV
"""Reads address zero."""
print("before the crash", flush=True)
ctypes.string_at(0)
