# SPDX-License-Identifier: Apache-2.0
"""The loop of a sandbox's interpreter: a frame in, a run, its testimony out."""

import os
import sys

from . import WORKSPACE, hooks, run, wire
from .inputs import Request

interpreter = run.Interpreter()


def get_ready():
    """Once per interpreter, before anything of the user's is there."""
    hooks.install()
    sys.dont_write_bytecode = True  # or imports of user modules would leave artifacts
    sys.argv = ["script.py"]


def _answer(kind, meta, payload):
    """The testimony for one frame; whatever goes wrong in the runner itself is one, too."""
    try:
        request = Request(meta, payload)
        if kind == wire.CHECK:
            from .guard import check

            return check(request.piece(request.meta["code"]), request.meta)
        return interpreter.run(request)
    except BaseException as error:
        return _failed(error)


def _failed(error):
    """None when user code broke so much that not even this can be said."""
    try:
        return wire.Done("exception", 1, f"the runner failed: {type(error).__name__}: "
                                         f"{wire.clean(str(error))}")
    except BaseException:
        return None


def _next():
    """The next frame, None when the other side is gone, however it went."""
    try:
        return wire.next_frame()
    except OSError:
        return None


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
        kind, _nonce, meta, payload = frame
        del frame
        wire.open_run()
        done = _answer(kind, meta, payload)
        del meta, payload
        wire.close_run(done)
