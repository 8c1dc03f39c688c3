# SPDX-License-Identifier: Apache-2.0
"""The loop of a sandbox's interpreter: reads a frame, runs it, sends its testimony."""

import os
import sys

from . import WORKSPACE, current, hooks, run, settings, wire
from .inputs import Request

interpreter = run.Interpreter()
_forks = None  # the module `fork`, once it is needed
_SHORT = (MemoryError, OSError, RecursionError)  # something ran short, but the interpreter is intact


def get_ready():
    """Called once per interpreter, before any user code."""
    hooks.install()
    sys.dont_write_bytecode = True  # otherwise imports of user modules would leave artifacts
    sys.argv = ["script.py"]


def _try_out():
    """The runner failed after the code of an earlier run that began in this state. If it also fails without that code,
    the state is to blame, and this run fails before its own code."""
    try:
        wire.rehearse(interpreter.rehearse)
    except _SHORT:
        pass
    finally:
        wire.open_run()


def _answer(kind, flags, meta, payload, fds):
    """The testimony for one frame; a failure of the runner itself becomes a testimony, too."""
    request = None
    try:
        if flags & wire.DOUBT:
            _try_out()
        request = Request(meta, payload, *fds)
        if "look" in request.meta:
            from . import look

            return look.answer(request, interpreter)
        if kind == wire.CHECK:
            from .guard import check

            return check(request.piece(request.meta["code"]), request.meta)
        if not request.meta.get("once"):
            interpreter.streams.keep()
        return interpreter.run(request)
    except BaseException as error:
        return _failed(error)
    finally:
        for fd in fds if request is None or request.stdin >= 0 else ():
            os.close(fd)


def _reap():
    try:
        _forks.reap()
    except BaseException:
        pass  # user code has broken something that this needs; zombies are harmless


def _fork(flags, fds):
    """Answers a FORK, whatever is broken; returns once in the parent and once in the child."""
    global _forks
    if not fds:
        wire.forked(0, "no free descriptor")  # they were sent, but the kernel could not deliver them
        return
    try:
        if _forks is None:
            from . import fork as _forks
        _forks.answer(flags, fds, interpreter)
    except BaseException as error:
        wire.forked(0, f"a run has damaged the interpreter, which cannot fork ({type(error).__name__}); "
                       "the next run goes back to before that")


def _failed(error):
    """The testimony of a failed runner; None if user code broke so much that not even this works."""
    try:
        text = f"the runner failed: {type(error).__name__}: {wire.clean(str(error))}"
        return wire.Done("exception", 1, text) if isinstance(error, _SHORT) else wire.failed(text)
    except BaseException:
        return None


def _next():
    """The next frame; None if the other side is gone, for whatever reason."""
    while True:
        try:
            frame = wire.next_frame()
            if frame is None or not frame[1] & wire.STDIN or frame[5]:
                return frame
        except OSError:
            return None
        except ValueError:
            pass
        # A descriptor was sent, but this process had no free number for it.
        wire.open_run()
        wire.close_run(wire.Done("exception", 1, "the inputs of the run did not arrive: this "
                                 "session has no free descriptor", "descriptors"))


def serve():
    """Answers frames until the other side is gone, then ends the process: nobody would read what threads or exit
    handlers print, and cleaning up would unshare the zygote's memory."""
    run.calm()
    interpreter.streams.restore()
    if "" not in sys.path:
        sys.path.insert(0, "")  # for the user's own modules, in the current folder
    try:
        os.chdir(WORKSPACE)
    except OSError:
        pass  # the code then starts where the sandbox put us
    settings.mark()

    while True:
        frame = _next()
        if frame is None:
            os._exit(0)
        kind, flags, _nonce, meta, payload, fds = frame
        del frame
        if _forks is not None:
            _reap()
        if kind == wire.FORK:
            _fork(flags, fds)
            continue
        if _forks is not None:
            _forks.parked = None  # no head came of the fork that made this a checkpoint
        wire.open_run()
        done = _answer(kind, flags, meta, payload, fds)
        del meta, payload
        wire.close_run(done)
        if current.now.is_once:
            os._exit(0)  # the sandbox is ended now anyway; freeing its memory can begin at once
