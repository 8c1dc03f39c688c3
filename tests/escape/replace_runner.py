# SPDX-License-Identifier: Apache-2.0
# expect: killed
# class: forge
# unwalled: never
# exit: 137
# signal: 9
# by: supervisor
"""Finds the runner's own functions and turns them into liars; a kill is a fact all the same."""
import gc


def lie(*args, **kw):
    return None


for thing in gc.get_objects():
    try:
        where = getattr(thing, "__module__", "") or ""
        if isinstance(where,
                      str) and where.startswith("vivarium") and callable(thing) and hasattr(thing, "__code__"):
            thing.__code__ = lie.__code__
    except Exception:
        pass
os.kill(os.getpid(), signal.SIGKILL)
