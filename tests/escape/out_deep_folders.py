# SPDX-License-Identifier: Apache-2.0
# expect: ok | killed
# status: 125
# class: forge
# unwalled: never
# check: out_is_plain
# within: 20s
"""Empty files four hundred folders deep: no byte counts, and the host's disk fills with folders.

A path of this length also has no name on the host once --out stands in front of it: whoever looks
through that folder, the judge included, stumbles over it.
"""
import _vivarium

for number in range(8):
    path = b"/workspace/%d/" % number + b"folder012/" * 408 + b"f"
    try:
        _vivarium.send(4, 4, struct.pack("<I", len(path)) + path)
    except OSError as error:
        print("gone:", error)
        break
