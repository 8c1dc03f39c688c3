# SPDX-License-Identifier: Apache-2.0
"""A head forks: the child is the next head, or a look; the parent becomes the checkpoint, or goes on.

Owns:    what a child must have of its own before it says HELLO: streams, names, the event loop;
         touching the memory that its first run needs, which unshares it while nobody is waiting; and
         keeping handlers of os.register_at_fork() from running around this fork.
May not: fail in the child because of what user code has done to the interpreter: an imperfect child
         is better than none.
"""

import gc
import os
from errno import EAGAIN

import _vivarium

from . import blockers, positions, reseed, wire

_waitpid, _close, _exit, _WNOHANG = os.waitpid, os.close, os._exit, os.WNOHANG

_FULL = "there are as many processes and threads as the session may have; end some"  # or as the host allows its user

# How long a session rests before a new head touches memory ahead. In a burst of runs the next request comes sooner, and
# each head would touch pages that its run never needs: 1.5 ms, and 3 MiB that its checkpoint keeps.
_REST_MS = 10

is_look = False  # this process is a throw-away fork
parked = None  # the read positions of this state since the process became a checkpoint; None: it is a head


def _find_handlers():
    """The lists in which Python keeps the handlers of os.register_at_fork(): made at the first registration, and never
    replaced. No API returns them, so a marker that is registered in all of them is searched for. A Python that keeps
    handlers elsewhere has none here: its handlers run, within the time that viv allows a fork."""
    def mark():
        pass

    os.register_at_fork(before=mark, after_in_parent=mark, after_in_child=mark)
    found = [item for item in gc.get_referrers(mark) if type(item) is list and item[-1] is mark]
    for item in found:
        item.pop()
    return found


_handlers = _find_handlers()  # in a session this runs before any user code
children = set()  # pids of the heads that were forked here and have not been reaped


def reap():
    """Reaps the heads that have ended; only ours: user code waits for its own children."""
    for pid in list(children):
        try:
            is_over = _waitpid(pid, _WNOHANG)[0] == pid
        except OSError:
            is_over = True  # user code has already waited for it
        if is_over:
            children.discard(pid)


def answer(flags, fds, interpreter):
    """Answers a FORK frame. Returns in the parent, which has answered, and in the child, which is ready."""
    global is_look, parked
    wants_look, is_branch = bool(flags & wire.LOOK), len(fds) == 3
    # A checkpoint was checked when it was made, and has run nothing since.
    why = "" if wants_look or parked is not None else hindrance(fds, interpreter)
    places, why = ([], why) if why else _find_places(wants_look, is_branch, fds, interpreter)
    pid = 0
    if not why:
        channel, out, err = fds if is_branch else (fds[0], -1, -1)
        renew = _get_ready(wants_look, is_branch, interpreter)
        try:
            pid = _fork(wants_look, channel, out, err)
        except OSError as error:
            why = _FULL if error.errno == EAGAIN else f"no process can be forked: {error.strerror}"
        if pid == 0 and not why:
            children.clear()
            is_look, parked = wants_look, None
            _try(lambda: positions.renew(places) if is_look else positions.part(places, is_branch))
            _begin(fds, interpreter, renew)
            return
    _close_all(fds)
    if pid:
        children.add(pid)
    is_parked = pid > 0 and not wants_look and not is_branch
    _try(lambda: positions.part(places, is_parked))
    if is_parked:
        parked = places
    wire.forked(pid, why)


def _find_places(wants_look, is_branch, fds, interpreter):
    """The read positions that the fork must not share, with their files opened anew, and why there can be no fork. A
    look opens the files itself, and is never refused."""
    try:
        places = positions.find(blockers.read_only(interpreter, fds)) if parked is None else parked
        failed = [] if wants_look else positions.open_all(places)
    except BaseException as error:
        return [], "" if wants_look else f"open files cannot be inspected ({type(error).__name__})"
    if parked is not None and not is_branch:
        # Going back must not fail because the code has made a file unreadable. The old descriptor is still there.
        for place, _why in failed:
            _try(place.restore)
    elif failed:
        place, why = failed[0]
        return places, f"open file {wire.clean(place.path)[:blockers.SHOWN_MAX]} ({why})"
    return places, ""


def _fork(*args):
    """Forks without the handlers: user code must not run between a run and its checkpoint. The work of handlers that
    libraries registered is done elsewhere or not needed: `reseed` handles generators, a head has no other threads
    whose locks it would have to break, and a look does not outlive its answer."""
    held = [item[:] for item in _handlers]
    for item in _handlers:
        item.clear()
    try:
        return _vivarium.fork(*args)
    finally:
        for item, handlers in zip(_handlers, held):
            item[:0] = handlers


def hindrance(fds, interpreter):
    """Why there can be no checkpoint; "": there can be one. `fds` are those of the fork; (): a run is over."""
    try:
        return blockers.find(interpreter, children, fds)
    except BaseException as error:
        # The check inspects what user code may have changed; if it fails, nobody knows what is open.
        return f"the interpreter cannot be inspected ({type(error).__name__})"


def _get_ready(wants_look, is_branch, interpreter):
    """Prepares for the fork; returns the function that sets up the child's random state."""
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
    """In the child: makes it a head of its own, says HELLO, and then touches the memory that a first run needs, unless
    that run comes at once."""
    streams = interpreter.streams
    steps = [lambda: _close_all(fds), wire.forget, *[streams.forget] * (len(fds) == 3), streams.remake, streams.restore]
    if not is_look:
        steps += [renew, interpreter.notebook.remake_loop]
    for step in steps:
        _try(step)
    try:
        _vivarium.hello()
    except BaseException:
        _exit(1)  # the daemon that asked for it is gone
    if not is_look and not _vivarium.is_asked(_REST_MS):
        _try(lambda: wire.rehearse(interpreter.rehearse))


def _try(step):
    """A step that user code has broken must not stop the others."""
    try:
        step()
    except BaseException:
        pass
