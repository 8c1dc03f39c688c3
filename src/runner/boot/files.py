# SPDX-License-Identifier: Apache-2.0
"""Artifacts: the regular files under the workspace that a run made or changed.

Owns:    which files those are, and sending them. Symbolic links, devices, pipes and sockets are never opened. A hard
         link can only lead to another file of the workspace, which is a file system of its own.
May not: trust a name, a size or a tree: other processes of the run may still be changing them.
"""

import os
from stat import S_IFMT, S_IFIFO, S_IFLNK, S_IFSOCK, S_ISDIR, S_ISREG

from _vivarium import is_empty as _is_empty

from . import WORKSPACE, wire
from .hooks import load
from .inputs import InputError, resolve
from .jsontext import quote

DEPTH_MAX = 64
ENTRIES_MAX = 200000
PATH_SHOWN_MAX = 4096
PIECE = 1 << 20
MISSING_MAX = 1000
LEFT_OUT_MAX = 20
_KINDS = {S_IFLNK: "a symbolic link", S_IFIFO: "a pipe", S_IFSOCK: "a socket"}

_scandir, _open, _fstat, _read, _close = os.scandir, os.open, os.fstat, os.read, os.close

_MIME = {
    "avif": "image/avif", "bmp": "image/bmp", "csv": "text/csv", "css": "text/css",
    "db": "application/vnd.sqlite3", "doc": "application/msword",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "gif": "image/gif", "gz": "application/gzip", "htm": "text/html", "html": "text/html",
    "ipynb": "application/x-ipynb+json", "jpeg": "image/jpeg", "jpg": "image/jpeg",
    "js": "text/javascript", "json": "application/json", "jsonl": "application/x-ndjson",
    "log": "text/plain", "md": "text/markdown", "mp3": "audio/mpeg", "mp4": "video/mp4",
    "ndjson": "application/x-ndjson", "ods": "application/vnd.oasis.opendocument.spreadsheet",
    "parquet": "application/vnd.apache.parquet", "pdf": "application/pdf", "png": "image/png",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "py": "text/x-python", "sqlite": "application/vnd.sqlite3", "svg": "image/svg+xml",
    "tar": "application/x-tar", "tex": "text/x-tex", "tif": "image/tiff", "tiff": "image/tiff",
    "tsv": "text/tab-separated-values", "txt": "text/plain", "wav": "audio/wav",
    "webp": "image/webp", "xls": "application/vnd.ms-excel",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "xml": "application/xml", "yaml": "application/yaml", "yml": "application/yaml",
    "zip": "application/zip",
}


def mime_of(path):
    return _MIME.get(path.rpartition(".")[2].lower(), "application/octet-stream")


def _mark(info):
    return info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns


class Tree:
    """The workspace at one moment."""

    __slots__ = ("files", "others", "is_cut")

    def __init__(self):
        self.files = {}  # path -> mark of each regular file
        self.others = {}  # the same for folders, links and the like
        self.is_cut = False  # too large to be scanned completely

    def add(self, entry):
        """Records an entry of a folder; True for a folder. A folder's own times are left out: they say nothing that its
        entries do not."""
        info = entry.stat(follow_symlinks=False)
        if S_ISDIR(info.st_mode):
            self.others[entry.path] = info.st_mode, info.st_ino
            return True
        if S_ISREG(info.st_mode):
            self.files[entry.path] = _mark(info)
        else:
            self.others[entry.path] = (info.st_mode, *_mark(info))
        return False

    def is_like(self, other):
        return not self.is_cut and not other.is_cut and self.files == other.files \
            and self.others == other.others


def snapshot():
    """The Tree of the workspace."""
    tree = Tree()
    if _is_empty(WORKSPACE):
        return tree
    seen = 0
    folders = [(WORKSPACE, 0)]
    while folders:
        folder, depth = folders.pop()
        try:
            with _scandir(folder) as entries:
                for entry in entries:
                    seen += 1
                    if seen > ENTRIES_MAX:
                        tree.is_cut = True
                        return tree
                    if tree.add(entry):
                        folders.append((entry.path, depth + 1))
        except OSError:
            # The folder is gone or not readable, or its path is too long for the kernel.
            tree.is_cut = tree.is_cut or depth > 0
            continue
        if depth > DEPTH_MAX:
            tree.is_cut = True
            folders = [item for item in folders if item[1] <= DEPTH_MAX]
    return tree


def _show(path):
    """The path as valid text; bytes that are not UTF-8 show as escapes."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


class _Unreadable(Exception):
    pass


def _pieces(path, size_max):
    """The file's bytes, in pieces; no more than its size at first, so that this ends."""
    try:
        fd = _open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        raise _Unreadable from None
    try:
        info = _fstat(fd)
        if not S_ISREG(info.st_mode) or info.st_size > size_max:
            raise _Unreadable
        left = info.st_size
        while left:
            piece = _read(fd, min(PIECE, left))
            if not piece:
                break
            left -= len(piece)
            yield piece
    except OSError:
        raise _Unreadable from None
    finally:
        _close(fd)


def _send_bytes(path, shown, size_told, run):
    """Sends the bytes if they are wanted; returns (size, sha256) of exactly what was read."""
    digest = load("hashlib").sha256()
    name = shown.encode("utf-8")
    size = 0
    held = None  # each piece is held until it is known whether another follows
    most = run.want_files  # True, or the largest size of a file whose bytes are wanted
    is_wanted = most is True or bool(most) and size_told <= most
    for piece in _pieces(path, run.file_max):
        if is_wanted and held is not None:
            wire.file_piece(name, held, False)
        held = piece
        digest.update(piece)
        size += len(piece)
    if is_wanted:
        wire.file_piece(name, held or b"", True)
    return size, digest.hexdigest()


def _send(path, mark, run):
    """Sends one file: its pieces, then the event that ends them with their size and hash."""
    shown = _show(path)
    size = mark[1]
    digest = None
    if len(shown.encode("utf-8")) > PATH_SHOWN_MAX:
        run.cut.add("files")
        return
    if size <= run.file_max:
        try:
            size, digest = _send_bytes(path, shown, size, run)
        except _Unreadable:
            digest = None
    if digest is None:
        run.cut.add("files")
    wire.event("file", "file",
               f'{{"path":{quote(shown)},"size":{size},"mtime_ms":{mark[2] // 1000000},"mime":"{mime_of(shown)}",'
               f'"sha256":{"null" if digest is None else quote(digest)}}}')


def collect(before, after, run):
    """Sends every file that is new or changed from one snapshot to the other."""
    if not after.files and not after.is_cut:
        return
    known = before.files
    changed = sorted(path for path, mark in after.files.items() if known.get(path) != mark)
    if after.is_cut or len(changed) > run.files_max:
        run.cut.add("files")
    for path in changed[:run.files_max]:
        _send(path, after.files[path], run)


def left_out(before, after):
    """New and changed entries that are neither files nor folders, each with its kind; only the first ones, if there
    are many."""
    if not after.others:
        return []
    known = before.others
    odd = sorted(path for path, mark in after.others.items() if not S_ISDIR(mark[0]) and known.get(path) != mark)
    told = [f"{_show(path)[:PATH_SHOWN_MAX]} ({_KINDS.get(S_IFMT(after.others[path][0]), 'a device')})"
            for path in odd[:LEFT_OUT_MAX]]
    return told + [f"{len(odd) - LEFT_OUT_MAX} more"] if len(odd) > LEFT_OUT_MAX else told


def missing(expected):
    """The expected paths that are not regular files; only the first ones, if there are many."""
    absent = []
    for path in expected:
        if len(absent) == MISSING_MAX:
            break
        try:
            if not S_ISREG(os.lstat(resolve(path)).st_mode):
                absent.append(path)
        except (OSError, ValueError, InputError):
            absent.append(path)
    return absent
