# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: dos
# unwalled: never
# stdout: end
"""Bytes that are no text, terminal commands, half characters: the result stays valid JSON."""
os.write(1, bytes(range(256)) * 4)
os.write(1, b"\x1b]0;title\x07\x1b[2J\xe2\x82")
os.write(1, b"\n\xed\xa0\x80\xf8\xff\n\x00end\n")
