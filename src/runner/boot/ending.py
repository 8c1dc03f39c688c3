# SPDX-License-Identifier: Apache-2.0
"""The end of a script: what Python does when the last line has run.

A sandbox that was made for one run ends with it, so the code may count on the end of a program:
threads come to their end, and what was registered with `atexit` is called. In a session, as in any
notebook, both wait for the session's end, which nobody hears.
"""

import atexit
import sys

_modules = sys.modules
_count = atexit._ncallbacks()


def mark():
    """Before the code: what `run_exit_handlers` later need not call."""
    global _count
    _count = atexit._ncallbacks()


def wait_for_threads():
    """Until all threads that are not daemons have ended. The interpreter's own way: it also tells
    pools of idle workers to end."""
    threading = _modules.get("threading")
    if threading is not None and len(threading._active) > 1:
        threading._shutdown()
        here = threading.current_thread()
        if any(other.is_alive() and not other.daemon and other is not here
               for other in list(threading._active.values())):
            raise KeyboardInterrupt  # since Python 3.13 it ends the wait, but is not raised


def run_exit_handlers():
    """Calls the handlers, last registered first, if the code or its imports have added any. Each
    one's failure is shown on stderr, as at the end of a program."""
    if atexit._ncallbacks() > _count:
        atexit._run_exitfuncs()
