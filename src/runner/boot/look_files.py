# SPDX-License-Identifier: Apache-2.0
"""Files under the workspace, for a client of the session: list, read, write, remove.

Owns:    how a path is resolved: folder by folder, from the workspace down, never through a link. For a
         client, links do not exist, nor does anything else that is neither a file nor a folder.
May not: trust a tree: processes of the session may be changing it.
"""

import os
from stat import S_ISDIR, S_ISREG

from . import WORKSPACE, wire
from .files import DEPTH_MAX, PIECE, mime_of
from .inputs import InputError, resolve
from .jsontext import dumps
from .look import LookError

FILES_MAX = 10000
ENTRIES_MAX = 200000
PATH_MAX = 4095
ENOENT, EEXIST, ENOTDIR, EISDIR, ENOSPC, ENOTEMPTY, ELOOP, EDQUOT = 2, 17, 20, 21, 28, 39, 40, 122

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def _failure(path, error):
    """An OSError as an error for the client."""
    if error.errno == ELOOP:
        return LookError(f"{path!r} is a link, and links are not followed; name the file that it leads to", "not_found")
    if error.errno in (ENOENT, ENOTDIR):
        return LookError(f"there is no file {path!r}", "not_found")
    if error.errno in (ENOSPC, EDQUOT):
        return LookError(f"{path!r} does not fit: the workspace is full", "too_large")
    if error.errno in (EEXIST, EISDIR, ENOTEMPTY):
        return LookError(f"{path!r}: {error.strerror}", "conflict")
    return LookError(f"{path!r}: {error.strerror}")


def parts_of(path):
    try:
        full = resolve(path)
    except InputError as error:
        raise LookError(str(error)) from None
    parts = [part for part in full[len(WORKSPACE):].split("/") if part]
    # Walking step by step can reach deeper than code in the session could with a path.
    if len(os.fsencode(full)) > PATH_MAX or len(parts) > DEPTH_MAX:
        raise LookError(f"a path may have at most {PATH_MAX} bytes and {DEPTH_MAX} names")
    return parts


def enter(parts, makes=False):
    """A descriptor of the folder at this path, or OSError."""
    fd = os.open(WORKSPACE, _FOLDER)
    for part in parts:
        try:
            if makes:
                try:
                    os.mkdir(part, 0o777, dir_fd=fd)
                except FileExistsError:
                    pass
            inner = os.open(part, _FOLDER, dir_fd=fd)
        finally:
            os.close(fd)
        fd = inner
    return fd


def shown(parts):
    path = "/".join([WORKSPACE, *parts])
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _fact(parts, info, mime=None):
    return {"path": shown(parts), "size": info.st_size if mime is None else 0,
            "mtime_ms": info.st_mtime_ns // 1000000, "mime": mime or mime_of(parts[-1])}


def _walk(parts, is_recursive, found):
    """Adds the files in the folder and, if recursive, below it. Folders themselves are listed only if not recursive."""
    folders = [parts]
    seen = 0
    while folders:
        here = folders.pop()
        try:
            fd = enter(here)
        except OSError:
            if here is parts:
                raise
            continue  # gone meanwhile
        try:
            with os.scandir(fd) as entries:
                for entry in entries:
                    seen += 1
                    info = entry.stat(follow_symlinks=False)
                    if S_ISREG(info.st_mode):
                        found.append(_fact([*here, entry.name], info))
                    elif S_ISDIR(info.st_mode) and not is_recursive:
                        found.append(_fact([*here, entry.name], info, "inode/directory"))
                    elif S_ISDIR(info.st_mode) and len(here) < DEPTH_MAX and seen < ENTRIES_MAX:
                        folders.append([*here, entry.name])
        except OSError:
            continue
        finally:
            os.close(fd)


def list_files(look):
    """{"files":[...]}, sorted by path; if cut, "next" is the path to continue `after`."""
    path = look.get("path") or WORKSPACE
    parts = parts_of(path)
    found = []
    try:
        _walk(parts, bool(look.get("recursive")), found)
    except NotADirectoryError:
        try:
            fd, info = open_regular(parts)
            os.close(fd)
        except OSError as error:
            raise _failure(path, error) from None
        found = [_fact(parts, info)]
    except OSError as error:
        raise _failure(path, error) from None
    found.sort(key=lambda fact: fact["path"])
    after = look.get("after")
    if isinstance(after, str):
        found = [fact for fact in found if fact["path"] > after]
    limit = min(max(1, int(look.get("limit", 1000))), FILES_MAX)
    answer = {"files": found[:limit]}
    if len(found) > limit:
        answer["next"] = found[limit - 1]["path"]
    return answer


def open_regular(parts):
    """(descriptor, status) of a regular file, or OSError."""
    if not parts:
        raise IsADirectoryError(EISDIR, os.strerror(EISDIR))
    folder = enter(parts[:-1])
    try:
        fd = os.open(parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC,
                     dir_fd=folder)
    finally:
        os.close(folder)
    info = os.fstat(fd)
    if not S_ISREG(info.st_mode):
        os.close(fd)
        number = EISDIR if S_ISDIR(info.st_mode) else ENOENT
        raise OSError(number, os.strerror(number))
    return fd, info


def read_file(look):
    """Sends {"file":{...}}, then the bytes as FILE frames; returns {"file":{...}} with the size that was sent, which is
    smaller than at first if the file became shorter."""
    path = look.get("path")
    parts = parts_of(path)
    try:
        fd, info = open_regular(parts)
    except OSError as error:
        raise _failure(path, error) from None
    fact = _fact(parts, info)
    wire.event("look", "look", dumps({"file": fact}))
    name = fact["path"].encode("utf-8")
    left, sent, held = info.st_size, 0, b""
    try:
        while left:  # no more than its size at first, so that this ends
            piece = os.read(fd, min(PIECE, left))
            if not piece:
                break
            if held:
                wire.file_piece(name, held, False)
            held = piece
            left -= len(piece)
            sent += len(piece)
    finally:
        os.close(fd)
    wire.file_piece(name, held, True)
    fact["size"] = sent
    return {"file": fact}


def write_file(look, data):
    """{"file":{...},"created":whether it is new}."""
    parts, info, is_new = put_file(look.get("path"), [data])
    return {"file": _fact(parts, info), "created": is_new}


def put_file(path, pieces, settle=None):
    """Puts the file in place atomically: written beside it, then renamed; `settle(fd)` is called when it is written.
    Returns (parts of the path, its status, whether it is new)."""
    parts = parts_of(path)
    if not parts or path.endswith("/"):
        raise LookError(f"{path!r} names a folder")
    new = f".{os.urandom(8).hex()}.part"
    try:
        folder = enter(parts[:-1], makes=True)
        try:
            _fill(new, pieces, folder, settle)
            is_new = not _is_there(parts[-1], folder)
            os.rename(new, parts[-1], src_dir_fd=folder, dst_dir_fd=folder)
            info = os.stat(parts[-1], dir_fd=folder, follow_symlinks=False)
        except BaseException:
            _drop(new, folder)
            raise
        finally:
            os.close(folder)
    except OSError as error:
        if error.errno in (ENOTDIR, ELOOP):
            raise LookError(f"{path!r}: a part of the path is not a folder", "conflict") from None
        raise _failure(path, error) from None
    return parts, info, is_new


def _is_there(name, folder):
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _fill(name, pieces, folder, settle):
    fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666,
                 dir_fd=folder)
    try:
        for piece in pieces:
            rest = memoryview(piece)
            while rest:
                rest = rest[os.write(fd, rest):]
        if settle:
            settle(fd)
    finally:
        os.close(fd)


def _drop(name, folder):
    try:
        os.unlink(name, dir_fd=folder)
    except OSError:
        pass


def remove_file(look):
    """Removes a file, a link (not its target), or an empty folder."""
    path = look.get("path")
    parts = parts_of(path)
    if not parts:
        raise LookError("the workspace itself cannot be removed", "conflict")
    try:
        folder = enter(parts[:-1])
        try:
            info = os.stat(parts[-1], dir_fd=folder, follow_symlinks=False)
            remove = os.rmdir if S_ISDIR(info.st_mode) else os.unlink
            remove(parts[-1], dir_fd=folder)
        finally:
            os.close(folder)
    except OSError as error:
        raise _failure(path, error) from None
    return {"removed": shown(parts)}
