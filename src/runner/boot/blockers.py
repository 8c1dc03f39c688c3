# SPDX-License-Identifier: Apache-2.0
"""Blockers of a checkpoint: anything that a fork would share between two states, or leave behind.

Owns:    the list, each with a text for people: "thread worker-1", "open file /workspace/a.txt".
May not: call into user code, or cost much: it runs after every run.
"""

import gc
import os
import sys
from stat import S_IFDIR, S_IFMT, S_IFREG
from time import sleep as _sleep

from .hooks import load
from .wire import clean

SHOWN_MAX = 200  # characters of a name
CHANNEL = 3
LEAVING_MS = 50

_modules = sys.modules
_listdir, _readlink, _pread, _open, _read, _close, _stat, _fstat, _fstatvfs = (
    os.listdir, os.readlink, os.pread, os.open, os.read, os.close, os.stat, os.fstat, os.fstatvfs)
_waitid, _waitpid, _exitcode, _get_objects = os.waitid, os.waitpid, os.waitstatus_to_exitcode, gc.get_objects


_stayed = ""  # the native thread that was waited for, and did not end
_unshared = -1  # pages that are not private and writable, when no map was shared; -1: unknown


def find(interpreter, own_children, own_fds):
    """The first thing that blocks a checkpoint; "": nothing does. `own_children` and `own_fds` belong to the runner."""
    loop = interpreter.notebook.own_loop()
    children = _children(own_children)
    return (_thread() or _child(children) or _task(loop)
            or _descriptor(_own(interpreter, own_fds)) or _shared_map() or _unwaited(children))


def read_only(interpreter, own_fds):
    """[(descriptor, path, flags)] of the files and folders that user code has open only for reading."""
    found = [(fd, path, _flags(fd)) for fd, path, kind in _foreign(_own(interpreter, own_fds)) if kind in _FILES]
    return [one for one in found if one[2] & (os.O_ACCMODE | os.O_PATH) == os.O_RDONLY]


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
    """Only the thread that forks lives on in the child."""
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
    """A thread that Python does not know; "": none. A thread that was joined may still be leaving the kernel, so a new
    one gets a moment; one that stayed before gets none."""
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


def _has_ended(child):
    """None: nobody can wait for it. Asks as the parent: /proc hides a child that was forked and never called exec."""
    try:
        return _waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return None


def _child(children):
    """A child process: the new head would not be its parent."""
    for child in children:
        if _has_ended(child) is False:
            name = _shown(_comm(f"/proc/{child}/comm")) or "forked"
            return f"child process {child} ({name})"
    return ""


def _unwaited(children):
    """A child that has ended: only its parent gets its status, and `subprocess` takes a lost one for 0. So the objects
    of `subprocess` learn theirs now, as poll() would tell them. Any other child blocks until user code waits for it."""
    ended = [child for child in children if _has_ended(child)]
    popens = _popens() if ended else {}
    for child in ended:
        if child not in popens:
            return f"child process {child} (ended, not waited for)"
    for child in ended:
        code = _exitcode(_waitpid(child, os.WNOHANG)[1])
        for members in popens[child]:
            members["returncode"] = code
    return ""


def _popens():
    """{pid: the members of each `subprocess.Popen` that knows no status}. Not those of asyncio, which waits itself, and
    not those of a subclass, whose members may be user code."""
    kind = _class("subprocess", "Popen")
    transport = _class("asyncio.base_subprocess", "BaseSubprocessTransport")
    if kind is None:
        return {}
    objects = _get_objects()
    foreign = [] if transport is None else [
        id(_members(item).get("_proc")) for item in objects if issubclass(type(item), transport)]
    found = {}
    for members in [_members(item) for item in objects if type(item) is kind and id(item) not in foreign]:
        pid = members.get("pid")
        if type(pid) is int and members.get("returncode", 0) is None:
            found.setdefault(pid, []).append(members)
    return found


def _class(module, name):
    """A class of a module that user code may have imported; None: there is none, or it would run code when asked."""
    found = _members(_modules.get(module)).get(name)
    return found if type(found) is type else None


def _children(own):
    """The children of user code that live or were not waited for."""
    if not own:
        try:
            _waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return []  # there are no children at all
    children = map(int, _file(f"/proc/self/task/{os.getpid()}/children").split())
    return [child for child in children if child not in own]


def _task(loop):
    """A pending asyncio task: it would go on in the child, but not in the checkpoint."""
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


def _own(interpreter, own_fds):
    loop = interpreter.notebook.own_loop()
    return {0, 1, 2, CHANNEL, *interpreter.streams.own(), *own_fds, *_fds_of(loop)} - {-1}


def _are_open(fds):
    """Whether all of them are open, and none is a file that user code has put at this number."""
    try:
        return all(S_IFMT(_fstat(fd).st_mode) != S_IFREG for fd in fds)
    except OSError:
        return False


_FILES = S_IFREG, S_IFDIR


def _foreign(own):
    """(descriptor, path, type) of everything open that is not the runner's."""
    if _stat("/proc/self/fd").st_size == len(own) and _are_open(own):
        return  # since Linux 6.2 st_size is the number of open descriptors
    for name in _listdir("/proc/self/fd"):
        fd = int(name)
        try:
            kind = S_IFMT(_fstat(fd).st_mode)
            if fd not in own or kind == S_IFREG:
                yield fd, _readlink(f"/proc/self/fd/{name}"), kind
        except OSError:
            continue  # the descriptor with which listdir read the folder


def _flags(fd):
    fcntl = load("fcntl")
    return fcntl.fcntl(fd, fcntl.F_GETFL)


def _descriptor(own):
    """A socket, or an open file with more than a read position, which each state gets for itself."""
    for fd, path, kind in _foreign(own):
        if path.startswith("socket:"):
            return f"socket (descriptor {fd})"
        why = _open_file(fd, path) if kind == S_IFREG else ""
        if why:
            return why
    return ""


def _open_file(fd, path):
    flags = _flags(fd)
    if flags & os.O_PATH:
        return ""
    if flags & os.O_ACCMODE != os.O_RDONLY:
        return _memory(path) or f"open file {_shown(path)}"
    if _fstatvfs(fd).f_flag & os.ST_RDONLY:
        return ""  # nobody can write there, so a lock protects nothing
    if "_sqlite3" in _modules and _pread(fd, 16, 0) == b"SQLite format 3\0":
        return f"open database {_shown(path)}"
    return f"locked file {_shown(path)}" if _is_locked(fd) else ""


def _is_locked(fd):
    """Whether there is a lock that a fork would lose or share. Libraries that read a file hold a shared flock on it;
    a state goes on without that."""
    locks = [line for line in _file(f"/proc/self/fdinfo/{fd}").split(b"\n") if line.startswith(b"lock:")]
    return any(b" FLOCK " not in line or b" READ " not in line for line in locks)


def _memory(path):
    """Memory that processes share, with its name if it has one; "": the path is that of a file."""
    if path.startswith("/dev/shm/"):
        return f"shared memory {_shown(path)}"
    return "shared memory" if path.startswith(("/dev/zero", "/memfd:", "/SYSV")) else ""


def _shared_map():
    """Memory that is mapped shared and writable: all states would write to the same pages. The list of maps is long, so
    it is read only if the size of all maps that are not private and writable has changed since it was last read. New
    libraries change that size, and ordinary memory does not. proc_pid_statm(5): `size` first, `data` sixth."""
    global _unshared
    pages = _file("/proc/self/statm").split()
    unshared = int(pages[0]) - int(pages[5])
    if unshared == _unshared:
        return ""
    semaphores = _semaphores()
    for line in _file("/proc/self/maps").split(b"\n"):
        fields = line.split(None, 5)
        if len(fields) < 6 or fields[1][1:2] != b"w" or fields[1][3:4] != b"s":
            continue
        path = os.fsdecode(fields[5])
        if semaphores > 0 and path.startswith("/dev/shm/sem."):
            semaphores -= 1
            continue
        return _memory(path) or f"mapped file {_shown(path)}"
    _unshared = unshared
    return ""


def _semaphores():
    """The number of locks and semaphores of `multiprocessing`; each has a map of its own. All states share them, but
    they block no checkpoint: a progress bar has one for good, and a pool that has ended still has some."""
    kind = getattr(_modules.get("_multiprocessing"), "SemLock", None)
    registry = getattr(_modules.get("multiprocessing.util"), "_afterfork_registry", None)
    if kind is None or registry is None:
        return 0
    return sum(type(_members(reference()).get("_semlock")) is kind for reference in list(registry.data.values()))


def _members(value):
    try:
        return object.__getattribute__(value, "__dict__")  # the class's own way may be user code
    except AttributeError:
        return {}
