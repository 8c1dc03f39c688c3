# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: privilege
# walls: caps
# unwalled: safe
"""Looks for a capability left in any set, and asks for all."""
status = status_of()
for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
    if int(status[name], 16):
        breach(f"{name} is {status[name]}")
for number in range(0, 41):
    if _libc.prctl(23, number, 0, 0, 0) == 1:
        breach(f"capability {number} is in the bounding set")
        break
header = ctypes.create_string_buffer(struct.pack("Ii", 0x20080522, 0))
data = ctypes.create_string_buffer(struct.pack("6I", *[0xFFFFFFFF] * 6))
result, number = call("capset", header, data)
if result == 0:
    breach("capset gave everything")
else:
    held(f"capset: {name_of(number)}")
bits = _libc.prctl(27, 0, 0, 0, 0)
held(f"securebits {bits:#x}")
if WALLED and bits != -1 and bits & 0xAA != 0xAA:
    breach(f"securebits are not locked: {bits:#x}")
