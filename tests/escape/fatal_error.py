# SPDX-License-Identifier: Apache-2.0
# expect: killed
# class: dos
# unwalled: never
# exit: 134
# signal: 6
# by: supervisor
"""Makes the interpreter itself give up."""
ctypes.pythonapi.Py_FatalError(b"from inside")
