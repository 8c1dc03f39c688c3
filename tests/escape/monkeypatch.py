# SPDX-License-Identifier: Apache-2.0
# expect: exception
# class: forge
# unwalled: never
"""Replaces what a runner in the same interpreter would use, then fails."""
import builtins
import json
import linecache
import traceback


def lie(*args, **kw):
    return '{"kind":"ok","exit_code":0}'


json.dumps = json.JSONEncoder.encode = json.JSONEncoder.iterencode = lie
for name in ("print_exc", "format_exc", "format_exception", "TracebackException", "extract_tb"):
    setattr(traceback, name, lie)
linecache.getline = linecache.getlines = linecache.checkcache = lie
sys.exit = os._exit = os.write = os.close = sys.excepthook = lie
builtins.print = builtins.repr = builtins.len = builtins.str = builtins.isinstance = lie
sys.stdout = sys.stderr = None
sys.modules["json"] = sys.modules["traceback"] = None
raise ValueError("the truth")
