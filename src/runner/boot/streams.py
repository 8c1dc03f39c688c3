# SPDX-License-Identifier: Apache-2.0
"""sys.stdin, sys.stdout and sys.stderr: text on descriptors 0, 1 and 2.

What C code and subprocesses write goes to the same descriptors, so the order is what the program
did. Each line leaves at once; a client watches the run live.
"""

import builtins
import os
import sys
from io import BufferedReader, BufferedWriter, FileIO, TextIOWrapper

from _vivarium import flush as _flush_c

NO_INPUT = ('EOF when reading a line: this run has no stdin; give it "stdin" text '
            '(viv run --stdin), or start it with "stdin": "live"')

_input = builtins.input
_NULL = os.makedev(1, 3)


class _WholeLines(TextIOWrapper):
    """Lets whole lines go, each with all before it; the rest waits for its end, or for a flush."""

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
    # Lone surrogates must never end a run that only wanted to print.
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
        self.remake()
        self.stdin = None
        self.live = -1  # owned: the descriptor 0 that the sandbox was given, once it was replaced
        self.is_null = False  # descriptor 0 is /dev/null now
        self.is_given = False  # descriptor 0 is this run's own

    def remake(self):
        """A fork has other files behind the same numbers, and a stream remembers what its file can
        do."""
        self.out = _writer(1, "<stdout>")
        self.err = _writer(2, "<stderr>")

    def restore(self):
        """As new for the next run: the last one may have replaced or closed what it found."""
        if self.out.closed:
            self.out = _writer(1, "<stdout>")
        if self.err.closed:
            self.err = _writer(2, "<stderr>")
        sys.stdout = sys.__stdout__ = self.out
        sys.stderr = sys.__stderr__ = self.err

    def keep_lines_whole(self):
        """For a client that is told of lines, not of writes."""
        self.out = _writer(1, "<stdout>", _WholeLines)
        sys.stdout = sys.__stdout__ = self.out

    def flush_own(self):
        """Pushes out what our own streams still hold: a fork would say it twice."""
        for stream in (self.out, self.err):
            try:
                stream.flush()
            except Exception:
                pass
        _flush_c()

    def flush(self):
        """Pushes out what is still held, whatever user code made of the streams."""
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
                pass  # it is user code
        _flush_c()

    def give_none(self):
        """No stdin: end of file, and an `input()` that says what to do about it."""
        if not self.is_null:
            if _device_of_stdin() != _NULL:
                self._replace(os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC))
            self.is_null = True
            self.stdin = None
        if self.stdin is None or self.stdin.closed:
            self.stdin = _reader()
        sys.stdin = sys.__stdin__ = self.stdin
        builtins.input = _no_input

    def give_bytes(self, data):
        """`data` is all that stdin has."""
        self._replace(_file_of(data))
        self._fresh()
        self.is_given = True

    def give_live(self):
        """Descriptor 0 as the sandbox was given it."""
        if self.live >= 0:
            os.dup2(self.live, 0)
        self._fresh()

    def give_pipe(self, fd):
        """Descriptor 0 is the pipe `fd`, which came with the run. Consumes it."""
        self._replace(fd)
        self._fresh()
        self.is_given = True

    def take_back(self):
        """After a run: what it was given and did not read is not for the next one."""
        if self.is_given:
            self.give_none()
            self.is_given = False

    def _fresh(self):
        self.is_null = False
        self.stdin = _reader()
        sys.stdin = sys.__stdin__ = self.stdin
        builtins.input = _input

    def _replace(self, fd):
        if fd == 0:  # user code had closed it, so the new one took its number
            os.set_inheritable(0, True)
            return
        if self.live < 0 and not self.is_null and not self.is_given:
            self.live = os.dup(0)
        os.dup2(fd, 0)
        os.close(fd)


def _device_of_stdin():
    try:
        return os.fstat(0).st_rdev
    except OSError:
        return None


def _file_of(data):
    """A descriptor, at its start, of a file without a name that holds `data`."""
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
