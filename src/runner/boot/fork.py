# SPDX-License-Identifier: Apache-2.0
"""A head forks: its child is the next head, or a look; it is itself the checkpoint, or goes on.

Owns:    what a child must have of its own before it says HELLO: streams, names, the event loop; and
         the memory that its first run touches, which it makes its own while nobody is waiting; and
         that no handler of os.register_at_fork() runs around this fork.
May not: fail in the child for what user code has done to the interpreter: a child that has been
         made is better than none.
"""

import gc
import os

import _vivarium

from . import blockers, reseed, wire

_waitpid, _close, _exit, _WNOHANG = os.waitpid, os.close, os._exit, os.WNOHANG

is_look = False  # this process is a throw-away fork


def _find_handlers():
    """The lists in which Python keeps what os.register_at_fork() was given: made at the first
    registration, and these objects for good. Nothing gives them out, so a mark that is in all of them
    is looked for. A Python that keeps them elsewhere has none here: its handlers run, within the time
    that viv gives to a fork."""
    def mark():
        pass

    os.register_at_fork(before=mark, after_in_parent=mark, after_in_child=mark)
    found = [item for item in gc.get_referrers(mark) if type(item) is list and item[-1] is mark]
    for item in found:
        item.pop()
    return found


_handlers = _find_handlers()  # in a session: before there is any user code
children = set()  # pids of the heads that were forked here and have not been reaped


def reap():
    """Lets go of the heads that have ended. Of ours only: user code waits for its own."""
    for pid in list(children):
        try:
            is_over = _waitpid(pid, _WNOHANG)[0] == pid
        except OSError:
            is_over = True  # user code has waited for whatever came
        if is_over:
            children.discard(pid)


def answer(flags, fds, interpreter):
    """A FORK frame. Returns in the parent, which has answered, and in the child, which stands."""
    global is_look
    wants_look = bool(flags & wire.LOOK)
    why = "" if wants_look else hindrance(fds, interpreter)
    pid = 0
    if not why:
        channel, out, err = fds if len(fds) == 3 else (fds[0], -1, -1)
        renew = _get_ready(wants_look, out >= 0, interpreter)
        try:
            pid = _fork(wants_look, channel, out, err)
        except OSError as error:
            why = f"no process can be forked: {error}"
        if pid == 0 and not why:
            children.clear()
            is_look = wants_look
            _begin(fds, interpreter, renew)
            return
    _close_all(fds)
    if pid:
        children.add(pid)
    wire.forked(pid, why)


def _fork(*args):
    """Without the handlers: user code has no say between a run and its checkpoint. What those of
    libraries do is done elsewhere or not needed: generators are `reseed`'s, a head has no other
    threads whose locks it would have to break, and a look does not outlive its answer."""
    held = [item[:] for item in _handlers]
    for item in _handlers:
        item.clear()
    try:
        return _vivarium.fork(*args)
    finally:
        for item, handlers in zip(_handlers, held):
            item[:0] = handlers


def hindrance(fds, interpreter):
    """Why there can be no checkpoint; "" when there can."""
    try:
        return blockers.find(interpreter, children, fds)
    except BaseException as error:
        # It looks at what user code may have twisted; then nobody knows what is open.
        return f"the interpreter cannot be looked at ({type(error).__name__})"


def _get_ready(wants_look, is_branch, interpreter):
    """Just before the fork; returns what makes the child's random numbers right."""
    if wants_look:
        return lambda: None
    interpreter.streams.flush_own()
    return reseed.reseed if is_branch else reseed.refresh


def _close_all(fds):
    for fd in fds:
        try:
            _close(fd)
        except OSError:
            pass


def _begin(fds, interpreter, renew):
    """In the child: makes it a head of its own, says so, and then touches the memory that a first
    run needs, unless that run is there already."""
    steps = [lambda: _close_all(fds), wire.forget, interpreter.streams.remake,
             interpreter.streams.restore]
    if not is_look:
        steps += [renew, interpreter.notebook.remake_loop]
    for step in steps:
        _try(step)
    try:
        _vivarium.hello()
    except BaseException:
        _exit(1)  # whoever asked for it is gone
    if not is_look and not _vivarium.is_asked():
        _try(lambda: wire.rehearse(interpreter.rehearse))


def _try(step):
    """A step that user code has broken must not keep the others from being done."""
    try:
        step()
    except BaseException:
        pass
