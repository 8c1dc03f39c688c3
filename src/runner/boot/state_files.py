# SPDX-License-Identifier: Apache-2.0
"""The files of a session: written to an exported stream, and read from one.

Owns:    the records of folders and files. Anything else is listed as lost; links are not followed.
May not: write anywhere but below the workspace, or set more mode bits than permissions: the stream comes
         from outside.
"""

import os
from stat import S_ISDIR, S_ISREG

from .files import DEPTH_MAX, PIECE
from .hooks import load
from .look_files import ENTRIES_MAX, enter, open_regular, parts_of, put_file, shown

FOLDER, FILE = b"D", b"F"
OLD_FOLDER, OLD_FILE = b"d", b"f"  # in old formats: without permissions and time
KINDS = (FOLDER, FILE, OLD_FOLDER, OLD_FILE)
PERMISSIONS = 0o777
SECOND = 1000000000
_FACTS = load("struct").Struct("<HqI")  # permissions, and time of change in seconds and nanoseconds


def _facts(info):
    seconds, rest = divmod(info.st_mtime_ns, SECOND)
    return _FACTS.pack(info.st_mode & PERMISSIONS, seconds, rest)


def _read_facts(reader):
    """(permissions, nanoseconds), or ValueError."""
    data = reader.read(_FACTS.size)
    if len(data) != _FACTS.size:
        raise ValueError("its permissions and time are incomplete")
    mode, seconds, rest = _FACTS.unpack(data)
    if mode & ~PERMISSIONS or rest >= SECOND:
        raise ValueError("its permissions or its time are not valid")
    return mode, seconds * SECOND + rest


def _settle(fd, facts):
    """Sets the permissions and the time of change of an open file or folder."""
    mode, nanoseconds = facts
    os.utime(fd, ns=(nanoseconds, nanoseconds))
    os.fchmod(fd, mode)


def _entries(parts):
    """[(name, status)] of a folder's entries, sorted."""
    fd = enter(parts)
    try:
        with os.scandir(fd) as entries:
            return sorted(((entry.name, entry.stat(follow_symlinks=False)) for entry in entries),
                          key=lambda pair: pair[0])
    finally:
        os.close(fd)


def _send(stream, parts, lose):
    def fill(out):
        fd, info = open_regular(parts)
        try:
            out.write(_facts(info))
            left = info.st_size
            while left:
                piece = os.read(fd, min(PIECE, left))
                if not piece:
                    raise EOFError("it became shorter while it was read")
                left -= len(piece)
                out.write(piece)
        finally:
            os.close(fd)

    try:
        stream.record(FILE, "/".join(parts), fill)
    except (OSError, EOFError) as error:
        lose(shown(parts), error)


def send_files(stream, lose):
    """Sends every folder and file of the workspace; `lose(path, why)` for what cannot be sent."""
    folders = [[]]
    seen = 0
    while folders:
        here = folders.pop()
        try:
            entries = _entries(here)
        except OSError as error:
            lose(shown(here), error)
            continue
        for name, info in entries:
            parts = [*here, name]
            seen += 1
            if seen > ENTRIES_MAX or len(parts) > DEPTH_MAX:
                lose(shown(parts), "there are too many files, or it is nested too deeply")
            elif S_ISREG(info.st_mode):
                _send(stream, parts, lose)
            elif S_ISDIR(info.st_mode):
                stream.record(FOLDER, "/".join(parts), lambda out, info=info: out.write(_facts(info)))
                folders.append(parts)
            else:
                lose(shown(parts), "it is neither a file nor a folder")
        if seen > ENTRIES_MAX:
            return


def take_file(kind, name, reader, chunks):
    """Writes the file or folder of a record, or raises. Returns the arguments for `close_folder`, for a folder that
    needs it; else None."""
    facts = _read_facts(reader) if kind in (FOLDER, FILE) else None
    if kind in (FOLDER, OLD_FOLDER):
        parts = parts_of(name)
        os.close(enter(parts, makes=True))
        return facts and (parts, facts)

    def pieces():
        while True:
            piece = reader.read(PIECE)
            if not piece:
                break
            yield piece
        if chunks.is_void or not chunks.is_ended:
            raise EOFError("it was not exported completely")

    put_file(name, pieces(), facts and (lambda fd: _settle(fd, facts)))
    return None


def close_folder(parts, facts):
    """Sets a folder's permissions and time after all its files were written: it may have to be read-only."""
    fd = enter(parts)
    try:
        _settle(fd, facts)
    finally:
        os.close(fd)
