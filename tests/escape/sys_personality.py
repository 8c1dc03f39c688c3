# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: kernel
# walls: seccomp
# unwalled: safe
"""Older rules for newer programs: no address randomisation, everything executable."""
for flag in (0x0040000, 0x0400000, 0x0008, 0x0100000, 0x4000000):
    refused("personality", flag)
result, number = call("personality", 0xFFFFFFFF)
if WALLED and result != 0:
    breach(f"personality is {result:#x} {name_of(number)}")
