# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: dos
# unwalled: never
# check: out_is_plain
"""Names for files that hurt whoever handles them."""
names = [b"new\nline.txt", b"\xff\xfe\xfa.bin", b"-rf", b"..x", b" ", b"a" * 255, b"tab\there",
         b"\x1b[31mred",
         "\u202egpj.exe".encode(), b"$(id)", b"`id`", b"';drop", b"%n%n", b"C:\\x", b"con", b"~",
         b"...", b"\x7f",
         "caf\u00e9".encode(), "cafe\u0301".encode(), b'quote".json', b"back\\slash",
         b"\xed\xa0\x80", b"CON.txt:stream"]
for name in names:
    with open(b"/workspace/" + name, "wb") as file:
        file.write(b"x")
os.mkdir(b"/workspace/\xffdir\n")
with open(b"/workspace/\xffdir\n/in\x01side", "wb") as file:
    file.write(b"y")
