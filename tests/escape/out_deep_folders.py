# SPDX-License-Identifier: Apache-2.0
# expect: ok | killed
# class: forge
# unwalled: never
# check: out_is_plain
# within: 20s
"""Empty files in folders two thousand deep: no byte is written, and the host's disk fills with folders."""
import _vivarium

for number in range(4):
    path = b"/workspace/%d/" % number + b"d/" * 2000 + b"f"
    try:
        _vivarium.send(4, 4, struct.pack("<I", len(path)) + path)
    except OSError as error:
        print("gone:", error)
        break
