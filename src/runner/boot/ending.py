# SPDX-License-Identifier: Apache-2.0
"""The end of a script: what Python does when the last line has run.

A sandbox that was made for one run ends with it, so the code may count on the end of a program:
threads are waited for, and `atexit` handlers are called. In a session, as in any notebook, both
would come at the session's end, when nobody reads the output any more.
"""

import atexit
import sys

_modules = sys.modules
_count = atexit._ncallbacks()


def mark():
    """Called before the code: `run_exit_handlers` then calls no handlers unless new ones were added."""
    global _count
    _count = atexit._ncallbacks()


def wait_for_threads():
    """Waits until all non-daemon threads have ended, in the interpreter's own way, which also tells pools of idle
    workers to end."""
    threading = _modules.get("threading")
    if threading is not None and len(threading._active) > 1:
        threading._shutdown()
        here = threading.current_thread()
        if any(other.is_alive() and not other.daemon and other is not here
               for other in list(threading._active.values())):
            raise KeyboardInterrupt  # since Python 3.13 an interrupt ends the wait, but is not raised


def run_exit_handlers():
    """Calls all handlers, last registered first, if the code or its imports have added any. Failures are shown on
    stderr, as at the end of a program."""
    if atexit._ncallbacks() > _count:
        atexit._run_exitfuncs()
