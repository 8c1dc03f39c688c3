# SPDX-License-Identifier: Apache-2.0
"""What blocks a checkpoint: whatever a fork would share between two states, or leave behind.

Owns:    the list, each with a text for people: "thread worker-1", "open file /workspace/a.txt".
May not: call into user code, or cost much: it is asked after every run.
"""

import os
import sys
from time import sleep as _sleep

from . import WORKSPACE
from .hooks import load
from .wire import clean

SHOWN_MAX = 200  # characters of a name
CHANNEL = 3
LEAVING_MS = 50

_modules = sys.modules
_listdir, _readlink, _pread, _open, _read, _close, _stat, _fstat, _waitid = (
    os.listdir, os.readlink, os.pread, os.open, os.read, os.close, os.stat, os.fstat, os.waitid)


_stayed = ""  # the native thread that was waited for, and did not go


def find(interpreter, own_children, own_fds):
    """The first thing in the way, "" when nothing is. `own_children` and `own_fds` are ours."""
    loop = interpreter.notebook.own_loop()
    return (_thread() or _child(own_children) or _task(loop)
            or _descriptor({0, 1, 2, CHANNEL, interpreter.streams.live, *own_fds, *_fds_of(loop)} - {-1})
            or _shared_map(interpreter.has_files))


def _shown(text):
    return clean(text)[:SHOWN_MAX]


def _file(path):
    fd = _open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        pieces = []
        while True:
            piece = _read(fd, 1 << 16)
            if not piece:
                return b"".join(pieces)
            pieces.append(piece)
    finally:
        _close(fd)


def _comm(path):
    try:
        return _file(path).decode("utf-8", "backslashreplace").strip()
    except OSError:
        return ""


def _thread():
    """Only the thread that forks goes on in the child."""
    if _stat("/proc/self/task").st_nlink == 3:  # itself, its parent, and one thread
        return ""
    tasks = _listdir("/proc/self/task")
    if len(tasks) == 1:
        return ""
    threading = _modules.get("threading")
    for thread in list(getattr(threading, "_active", {}).values()):
        name = getattr(thread, "_name", None)
        if thread is not threading._main_thread and type(name) is str:
            return f"thread {_shown(name)}"
    other = _native(tasks)
    return f"native thread {_shown(_comm(f'/proc/self/task/{other}/comm') or other)}" if other else ""


def _native(tasks):
    """A thread that Python does not know, "" when there is none. One that was joined may still be on
    its way out of the kernel, so a new one gets a moment; one that stayed before gets none."""
    global _stayed
    here = str(os.getpid())
    for _ in range(LEAVING_MS):
        other = next((task for task in tasks if task != here), "")
        if other in ("", _stayed):
            return other
        _sleep(0.001)
        tasks = _listdir("/proc/self/task")
    _stayed = other
    return other


def _lives(child):
    """Asks as its parent: what was forked and never exec'd cannot be seen in /proc."""
    try:
        return _waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
    except ChildProcessError:
        return False


def _child(own):
    """The new head would not be its parent."""
    if not own:
        try:
            _waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return ""  # there is none at all
    pid = os.getpid()
    for word in _file(f"/proc/self/task/{pid}/children").split():
        child = int(word)
        if child in own:
            continue
        if _lives(child):
            name = _shown(_comm(f"/proc/{child}/comm")) or "forked"
            return f"child process {child} ({name})"
    return ""


def _task(loop):
    """The loop goes on in the child with all that waits in it, but not in the checkpoint."""
    asyncio = _modules.get("asyncio")
    if loop is None or asyncio is None or loop.is_closed():
        return ""
    for task in asyncio.all_tasks(loop):
        name = task.get_name()
        return f"asyncio task {_shown(name) if type(name) is str else ''}"
    return ""


def _fds_of(loop):
    """The descriptors of our own event loop; it gets new ones in the child."""
    if loop is None or loop.is_closed():
        return ()
    parts = (getattr(loop, "_ssock", None), getattr(loop, "_csock", None),
             getattr(loop, "_selector", None))
    return [part.fileno() for part in parts if hasattr(part, "fileno")]


def _are_open(fds):
    try:
        for fd in fds:
            _fstat(fd)
    except OSError:
        return False
    return True


def _descriptor(own):
    """A position or a lock in a file that is rolled back, or one end of a conversation."""
    if _stat("/proc/self/fd").st_size == len(own) and _are_open(own):
        return ""  # since Linux 6.2 the size is how many there are
    for name in _listdir("/proc/self/fd"):
        fd = int(name)
        if fd in own:
            continue
        try:
            target = _readlink(f"/proc/self/fd/{name}")
            if target.startswith("socket:"):
                return f"socket (descriptor {fd})"
            if target.startswith(WORKSPACE + "/"):
                why = _open_file(fd, target)
                if why:
                    return why
        except OSError:
            continue  # the descriptor of the folder that is being read
    return ""


def _open_file(fd, target):
    flags = load("fcntl").fcntl(fd, load("fcntl").F_GETFL)
    if flags & os.O_ACCMODE != os.O_RDONLY:
        return f"open file {_shown(target)}"
    if "_sqlite3" in _modules and _pread(fd, 16, 0) == b"SQLite format 3\0":
        return f"open database {_shown(target)}"
    return ""


def _shared_map(has_files):
    """A file that can be written through memory. Python keeps a descriptor for each of its own
    maps; this is for those of others. The list of maps is long: it is read only where there is a
    file, and pages of some tmpfs, as the workspace is one, are mapped."""
    if not has_files or b"\nRssShmem:\t       0 kB\n" in _file("/proc/self/status"):
        return ""
    maps = _file("/proc/self/maps")
    if os.fsencode(WORKSPACE + "/") not in maps:
        return ""
    for line in maps.split(b"\n"):
        fields = line.split(None, 5)
        if len(fields) == 6 and fields[1][1:2] == b"w" and fields[1][3:4] == b"s":
            path = os.fsdecode(fields[5])
            if path.startswith(WORKSPACE + "/"):
                return f"mapped file {_shown(path)}"
    return ""
