# SPDX-License-Identifier: Apache-2.0
"""sys.stdin, sys.stdout and sys.stderr: text on descriptors 0, 1 and 2.

C code and subprocesses write to the same descriptors, so the order of output is kept. Each line is sent
at once, since a client may watch the run live.
"""

import builtins
import os
import sys
from io import BufferedReader, BufferedWriter, FileIO, TextIOWrapper

from _vivarium import flush as _flush_c

NO_INPUT = "EOF when reading a line: this run has no stdin"  # the remedy says how to give it one

_input = builtins.input
_fstat, _get_inheritable = os.fstat, os.get_inheritable  # user code may replace those in `os`
_NULL = os.makedev(1, 3)


class _WholeLines(TextIOWrapper):
    """Writes only whole lines, together with everything before them; the rest waits for its line end, or for a
    flush."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._rest = []

    def write(self, text):
        end = text.rfind("\n") + 1
        if end:
            line, self._rest = "".join([*self._rest, text[:end]]), [text[end:]]
            super().write(line)
        elif text:
            self._rest.append(text)
        return len(text)

    def flush(self):
        rest, self._rest = self._rest, []
        super().write("".join(rest))
        super().flush()


def _writer(fd, name, kind=TextIOWrapper):
    raw = FileIO(fd, "w", closefd=False)
    raw.name = name
    # Lone surrogates must not end a run that only wanted to print.
    return kind(BufferedWriter(raw), encoding="utf-8", errors="backslashreplace",
                line_buffering=True)


def _reader():
    raw = FileIO(0, "r", closefd=False)
    raw.name = "<stdin>"
    return TextIOWrapper(BufferedReader(raw), encoding="utf-8", errors="surrogateescape")


def _no_input(prompt="", /):
    print(prompt, end="", flush=True)
    raise EOFError(NO_INPUT)


class Streams:
    """The three streams of one interpreter, across its runs."""

    def __init__(self):
        self.spares = {}  # descriptor -> (owned duplicate of its pipe, identity of that pipe)
        self.remake()
        self.stdin = None
        self.live = -1, None  # owned duplicate of the sandbox's first stdin once that is replaced, and its identity
        self.is_null = False  # descriptor 0 is /dev/null
        self.is_given = False  # descriptor 0 belongs to this run

    def remake(self):
        """Makes new streams after a fork, where the same numbers are other files: a stream remembers what its file can
        do."""
        self.mend()
        self.out = _writer(1, "<stdout>")
        self.err = _writer(2, "<stderr>")

    def restore(self):
        """Restores the streams for the next run: the last one may have replaced or closed them."""
        self.mend()
        if self.out.closed:
            self.out = _writer(1, "<stdout>")
        if self.err.closed:
            self.err = _writer(2, "<stderr>")
        sys.stdout = sys.__stdout__ = self.out
        sys.stderr = sys.__stderr__ = self.err

    def keep(self):
        """Keeps duplicates before code runs in a session, so that what it closes can be reopened for the next run."""
        for fd in (1, 2):
            if fd not in self.spares:
                try:
                    spare = os.dup(fd)
                    self.spares[fd] = spare, _file_at(spare)
                except OSError:
                    pass

    def own(self):
        """The duplicates that are still ours: user code may have closed one and opened a file at its number."""
        return [fd for fd, file in (self.live, *self.spares.values()) if file and _file_at(fd) == file]

    def forget(self):
        """Drops the duplicates: the descriptors were replaced by new ones of ours."""
        for spare, pipe in self.spares.values():
            if _file_at(spare) == pipe:
                os.close(spare)
        self.spares.clear()

    def mend(self):
        """Reopens what was closed. A file that user code has put there is left alone."""
        for fd, (spare, pipe) in self.spares.items():
            if not _is_open(fd) and _file_at(spare) == pipe:
                os.dup2(spare, fd)

    def keep_lines_whole(self):
        """For a client that gets lines, not single writes."""
        self.out = _writer(1, "<stdout>", _WholeLines)
        sys.stdout = sys.__stdout__ = self.out

    def flush_own(self):
        """Flushes our own streams: after a fork their contents would be written twice."""
        for stream in (self.out, self.err):
            try:
                stream.flush()
            except Exception:
                pass
        _flush_c()

    def flush(self):
        """Flushes all streams, whatever user code has made of them."""
        for name, stream in (("stdout", self.out), ("stderr", self.err)):
            try:
                stream.flush()
            except Exception:
                pass
            try:
                shown = getattr(sys, name)
                if shown is not stream:
                    shown.flush()
            except BaseException:
                pass  # the stream may be user code
        _flush_c()

    def give_none(self):
        """No stdin: reading gives end of file, and `input()` raises an error that says what to do."""
        if not self.is_null or not _is_open(0):
            if _device_of_stdin() != _NULL:
                self._replace(os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC))
            self.is_null = True
            self.stdin = None
        if self.stdin is None or self.stdin.closed:
            self.stdin = _reader()
        sys.stdin = sys.__stdin__ = self.stdin
        builtins.input = _no_input

    def give_bytes(self, data):
        """Makes `data` the whole stdin."""
        self._replace(_file_of(data))
        self._fresh()
        self.is_given = True

    def give_live(self):
        """Makes descriptor 0 what the sandbox was given at first."""
        fd, _file = self.live
        if fd >= 0:
            os.dup2(fd, 0)
        self._fresh()

    def give_pipe(self, fd):
        """Makes descriptor 0 the pipe `fd`, which came with the run. Consumes it."""
        self._replace(fd)
        self._fresh()
        self.is_given = True

    def take_back(self):
        """After a run: drops input that it did not read, so that the next run does not get it."""
        if self.is_given:
            self.give_none()
            self.is_given = False

    def _fresh(self):
        self.is_null = False
        self.stdin = _reader()
        sys.stdin = sys.__stdin__ = self.stdin
        builtins.input = _input

    def _replace(self, fd):
        if fd == 0:  # user code had closed descriptor 0, so the new one got its number
            os.set_inheritable(0, True)
            return
        if self.live[1] is None and not self.is_null and not self.is_given:
            live = os.dup(0)
            self.live = live, _file_at(live)
        os.dup2(fd, 0)
        os.close(fd)


def _is_open(fd):
    """Asked before every run, and cheaper than _file_at(): nothing is made of the answer."""
    try:
        _get_inheritable(fd)
        return True
    except OSError:
        return False


def _file_at(fd):
    """The identity of an open file; None: the descriptor is closed."""
    try:
        info = _fstat(fd)
        return info.st_dev, info.st_ino
    except OSError:
        return None


def _device_of_stdin():
    try:
        return _fstat(0).st_rdev
    except OSError:
        return None


def _file_of(data):
    """A descriptor of an unnamed file that holds `data`, positioned at its start."""
    fd = os.open("/tmp", os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(fd, rest):]
        os.lseek(fd, 0, os.SEEK_SET)
    except BaseException:
        os.close(fd)
        raise
    return fd
