# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: kernel
# walls: seccomp
# unwalled: safe
# stdout: x32: -31
"""System calls by their x32 numbers, which a filter by number would miss."""
status = in_child(lambda: call(0x40000000 | NR["getpid"])[0] > 0)
print("x32:", status)
if status != -signal.SIGSYS:
    breach(f"an x32 call survived: {status}")
status = in_child(lambda: call(0x40000000 | 520)[0] > 0)
if status != -signal.SIGSYS:
    breach(f"an x32 exec survived: {status}")
