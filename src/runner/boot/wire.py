# SPDX-License-Identifier: Apache-2.0
"""The channel as the runner sees it: sends events and the testimony.

Owns:    who may send, and when: only the process that was started, during a run.
May not: decide anything. docs/protocol.md, section 2, describes the protocol.
"""

from _thread import allocate_lock
from os import getpid
from time import process_time as _count_time

import _vivarium

from .jsontext import dumps, quote

RUN, EVENT, FILE, DONE, CHECK, FORK, FORKED = 2, 3, 4, 5, 7, 8, 9
WAIT, LAST, STDIN, LOOK, DOUBT = 1, 4, 16, 32, 64
EVENT_MAX = (16 << 20) - 4096  # one frame, with room for what surrounds the body

next_frame = _vivarium.next
_send = _vivarium.send

# One sender at a time: the answer to a WAIT has no id, so two threads must not wait together.
_lock = allocate_lock()
_owner = 0
_stage = "start"  # of the run; "end" once the user's code has begun


def open_run():
    """From here to `close_run` this process, and none that it forks, may send events."""
    global _owner, _stage
    _owner = getpid()
    _stage = "start"


def begin_code():
    """From here on user code may change anything in the interpreter."""
    global _stage
    _stage = "end"


def failed(message):
    """The testimony of a run in which the runner itself failed."""
    done = Done("exception", 1, message, "damaged")
    done.failed = _stage
    return done


def is_ours():
    """Whether this process took the run, and is not one that user code forked from it."""
    return _owner == getpid()


def event(kind, member, body, wait=False):
    """Sends `{"type":kind, member:body}`; `body` is JSON text. False if it is too large, or if this process must not
    send: between runs, or in a fork made by user code."""
    if len(body) > EVENT_MAX:
        return False
    data = f'{{"type":"{kind}","{member}":{body}}}'.encode("ascii")
    with _lock:
        if _owner != getpid():
            return False
        _send(EVENT, WAIT if wait else 0, data)
    return True


def file_piece(path, piece, is_last):
    """Sends a piece of an artifact; `path` and `piece` are bytes."""
    with _lock:
        if _owner == getpid():
            _send(FILE, LAST if is_last else 0, len(path).to_bytes(4, "little") + path, piece)


# Most testimonies, including those of the shortest runs.
_PLAIN = ('{"kind":"ok","exit_code":0,"message":"","remedy":"",'
          '"truncated":{"files":false,"result":false}}')


class Done:
    """The testimony of one run."""

    __slots__ = ("kind", "exit_code", "message", "remedy", "cut", "missing", "left_out", "files_dirty",
                 "blocked", "failed")

    def __init__(self, kind="ok", exit_code=0, message="", remedy=""):
        self.kind = kind
        self.exit_code = exit_code
        self.message = message
        self.remedy = remedy
        self.cut = set()  # which parts of the run were cut: "files", "result"
        self.missing = []
        self.left_out = []  # what the run made that is not a file
        self.files_dirty = False  # the workspace has changed
        self.blocked = ""  # what blocks a checkpoint
        self.failed = ""  # where the runner itself failed: "start", before the code, or "end", after it

    def text(self):
        if self.kind == "ok" and not (self.exit_code or self.message or self.remedy or self.cut
                                      or self.missing or self.left_out or self.files_dirty or self.blocked):
            return _PLAIN
        cut = {"files": False, "result": False}
        cut.update((name, True) for name in self.cut)
        body = {"kind": self.kind, "exit_code": self.exit_code, "message": self.message,
                "remedy": self.remedy, "truncated": cut}
        if self.missing:
            body["missing"] = self.missing
        if self.left_out:
            body["left_out"] = self.left_out
        if self.files_dirty:
            body["files_dirty"] = True
        if self.blocked:
            body["blocked"] = self.blocked
        if self.failed:
            body["failed"] = self.failed
        return dumps(body)


def close_run(done):
    """Sends the testimony (None: there is none); nothing of this run may be sent after it."""
    global _owner
    try:
        data = done.text().encode("ascii")
    except BaseException:
        # User code may have broken what this needs (builtins are shared); the run must still end.
        data = b'{"kind":"exception","exit_code":1,"message":"the runner could not tell how the ' \
               b'run ended","remedy":"damaged","truncated":{"files":false,"result":true},' \
               b'"failed":"' + (b"end" if _stage == "end" else b"start") + b'"}'
    # When a process asks for its own CPU time, the kernel adds the current slice, up to a tick, to the process's time
    # and to its cgroup's: so what others read there is exact from DONE on.
    _count_time()
    with _lock:
        _owner = 0
        _send(DONE, 0, data)


def forked(pid, why):
    """Answers a FORK: the child's pid, or 0 and what blocks it."""
    text = why.encode("utf-8", "backslashreplace")
    with _lock:
        _send(FORKED, 0, bool(why).to_bytes(4, "little") + pid.to_bytes(4, "little") + text)


def forget():
    """In a new head: a thread of its parent may have held the lock at the fork."""
    global _lock, _owner
    _lock = allocate_lock()
    _owner = 0


def rehearse(play, *how):
    """Does everything that happens around a run, without sending anything. In a fresh fork this unshares the memory
    that a first run touches, while nobody is waiting. Raises if the runner itself would have failed."""
    global _send, _owner
    real, _send = _send, lambda *_parts: None
    try:
        open_run()
        done = play(*how)
        done.text()
        close_run(done)
    finally:
        _send, _owner = real, 0


def clean(text):
    """`text` as valid Unicode: lone surrogates become the escapes that Python would print."""
    if text.isascii():
        return text
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def cut_quote(text, room):
    """The start of `text` whose JSON string fits in `room` bytes, and whether it was cut."""
    is_cut = len(text) > room
    kept = clean(text[:room])
    quoted = quote(kept)
    while len(quoted) > room and kept:
        is_cut = True
        kept = kept[:max(0, len(kept) * room // len(quoted) - 1)]
        quoted = quote(kept)
    return quoted, is_cut
