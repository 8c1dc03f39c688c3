# SPDX-License-Identifier: Apache-2.0
# Stands before each attack. It imports only the standard library; `_args` says what was planted where.
import ctypes, errno, os, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
_said = []
def breach(what):
    _said.append(what)
    print('BREACH:', ascii(what), flush=True)
def name(e):
    return errno.errorcode.get(getattr(e, 'errno', None), type(e).__name__)
def tries(what, call, *args):
    try:
        got = call(*args)
    except (OSError, ValueError, EOFError, ImportError) as e:
        return name(e)
    breach(what)
    return got
def leak(what, seen):
    seen = seen if isinstance(seen, bytes) else str(seen).encode('utf-8', 'replace')
    if _args['token'].encode() in seen:
        breach(what)
def check(r):
    if r < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return r
def sysc(number, *args):
    return check(libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) for a in args]))
def slurp(path):
    with open(path, 'rb') as f:
        return f.read(65536)
