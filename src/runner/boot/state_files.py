# SPDX-License-Identifier: Apache-2.0
"""The files of a session in an exported stream, and out of one.

Owns:    the records of folders and files. What is neither is named as lost; a link is not followed.
May not: write anywhere but below the workspace: the stream comes from outside.
"""

import os
from stat import S_ISDIR, S_ISREG

from .files import DEPTH_MAX, PIECE
from .look_files import ENTRIES_MAX, enter, open_regular, parts_of, put_file, shown


def _entries(parts):
    """[(name, mode)] of a folder, in order."""
    fd = enter(parts)
    try:
        with os.scandir(fd) as entries:
            return sorted((entry.name, entry.stat(follow_symlinks=False).st_mode)
                          for entry in entries)
    finally:
        os.close(fd)


def _send(stream, parts, lose):
    def fill(out):
        fd, info = open_regular(parts)
        try:
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
        stream.record(b"f", "/".join(parts), fill)
    except (OSError, EOFError) as error:
        lose(shown(parts), error)


def send_files(stream, lose):
    """Every folder and file of the workspace; `lose(path, why)` for what cannot go."""
    folders = [[]]
    seen = 0
    while folders:
        here = folders.pop()
        try:
            entries = _entries(here)
        except OSError as error:
            lose(shown(here), error)
            continue
        for name, mode in entries:
            parts = [*here, name]
            seen += 1
            if seen > ENTRIES_MAX or len(parts) > DEPTH_MAX:
                lose(shown(parts), "there are too many files, or it is too deep")
            elif S_ISREG(mode):
                _send(stream, parts, lose)
            elif S_ISDIR(mode):
                stream.record(b"d", "/".join(parts), lambda out: None)
                folders.append(parts)
            else:
                lose(shown(parts), "it is neither a file nor a folder")
        if seen > ENTRIES_MAX:
            return


def take_file(kind, name, reader, chunks):
    """Writes what a record has, or raises."""
    if kind == b"d":
        os.close(enter(parts_of(name), makes=True))
        return

    def pieces():
        while True:
            piece = reader.read(PIECE)
            if not piece:
                break
            yield piece
        if chunks.is_void or not chunks.is_ended:
            raise EOFError("it was not exported whole")

    put_file(name, pieces())
