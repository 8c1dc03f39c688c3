# SPDX-License-Identifier: Apache-2.0
# expect: ok | killed
# class: forge
# unwalled: never
# check: out_is_plain
# within: 20s
"""Files of the run whose names lead out of the folder they are written to."""
import _vivarium

target = _args["target"].encode()
for path in (target, b"../" * 12 + target.lstrip(b"/"), b"/workspace/../../../.." + target, b"",
             b"/", b".", b"..", b"\x00/etc/x",
             b"/workspace/" + b"a/" * 5000 + b"b", b"/workspace/x\x00" + target,
             b"/workspace//..//../" + target, b"a" * 70000,
             _args["home_secret"].encode(),
             b"/workspace/" + b"../" * 12 + _args["folder"].lstrip("/").encode() + b"/home/.bashrc"):
    try:
        _vivarium.send(4, 4, struct.pack("<I", len(path)) + path, b"overwritten")
        _vivarium.send(3, 0,
                       b'{"type":"file","file":{"path":%s,"size":11,"mime":"text/plain","sha256":"00"}}'
                       % ascii(path.decode("latin-1")).replace("'",
                                                               '"').replace("\\x", "\\u00").encode())
    except OSError as error:
        print("gone:", error)
        break
_vivarium.send(4, 4, struct.pack("<I", 0xFFFFFFF0) + b"short", b"")
