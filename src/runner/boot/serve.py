# SPDX-License-Identifier: Apache-2.0
"""The loop of a sandbox's interpreter: a frame in, a run, its testimony out."""

import os
import sys

from . import WORKSPACE, current, hooks, run, wire
from .inputs import Request

interpreter = run.Interpreter()
_forks = None  # the module `fork`, once it was needed
_SHORT = (MemoryError, OSError, RecursionError)  # of something: the interpreter is whole


def get_ready():
    """Once per interpreter, before anything of the user's is there."""
    hooks.install()
    sys.dont_write_bytecode = True  # or imports of user modules would leave artifacts
    sys.argv = ["script.py"]


def _answer(kind, meta, payload, fds):
    """The testimony for one frame; whatever goes wrong in the runner itself is one, too."""
    request = None
    try:
        request = Request(meta, payload, *fds)
        if "look" in request.meta:
            from . import look

            return look.answer(request, interpreter)
        if kind == wire.CHECK:
            from .guard import check

            return check(request.piece(request.meta["code"]), request.meta)
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
        pass  # user code has taken away what this stands on; zombies are the least of it


def _fork(flags, fds):
    """Answers a FORK, whatever is broken; returns once in the parent and once in the child."""
    global _forks
    if not fds:
        wire.forked(0, "no free descriptor")  # they were sent, and the kernel could not give them
        return
    try:
        if _forks is None:
            from . import fork as _forks
        _forks.answer(flags, fds, interpreter)
    except BaseException as error:
        wire.forked(0, f"the interpreter cannot fork ({type(error).__name__})")


def _failed(error):
    """None when user code broke so much that not even this can be said."""
    try:
        text = f"the runner failed: {type(error).__name__}: {wire.clean(str(error))}"
        return wire.Done("exception", 1, text) if isinstance(error, _SHORT) else wire.failed(text)
    except BaseException:
        return None


def _next():
    """The next frame, None when the other side is gone, however it went."""
    while True:
        try:
            frame = wire.next_frame()
            if frame is None or not frame[1] & wire.STDIN or frame[5]:
                return frame
        except OSError:
            return None
        except ValueError:
            pass
        # A descriptor was sent along, and the kernel had none free to hand it over with.
        wire.open_run()
        wire.close_run(wire.Done("exception", 1, "the inputs of the run did not arrive: this "
                                 "session has no free descriptor", "descriptors"))


def serve():
    """Answers frames until the other side is gone, and ends the process: nobody is left to hear
    what threads or exit handlers would say, and tidying up would unshare the zygote's memory."""
    run.calm()
    interpreter.streams.restore()
    if "" not in sys.path:
        sys.path.insert(0, "")  # a user's own modules, from the folder they are in
    try:
        os.chdir(WORKSPACE)
    except OSError:
        pass  # then the code starts where the sandbox put us

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
        wire.open_run()
        done = _answer(kind, meta, payload, fds)
        del meta, payload
        wire.close_run(done)
        if current.now.is_once:
            os._exit(0)  # the sandbox is ended at once; what takes long about that begins now
