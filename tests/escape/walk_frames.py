# SPDX-License-Identifier: Apache-2.0
# expect: exception | ok | exit | killed
# class: forge
# unwalled: never
# within: 15s
"""Rewrites the variables of whoever called it, up to the top."""
frame = sys._getframe()
while frame:
    for name in list(frame.f_locals):
        if name not in ("frame", "name"):
            try:
                frame.f_locals[name] = None
                ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(0))
            except Exception:
                pass
    frame = frame.f_back
print("rewritten")
