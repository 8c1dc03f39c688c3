# SPDX-License-Identifier: Apache-2.0
"""Read positions: a file that is open for reading has a position of its own in each state.

Descriptors that a fork copies share one position, so rows that one state reads would be missing in all others. One side
of the fork therefore opens these files anew.

Owns:    the list of positions, and the new descriptors, which take the numbers of the old ones.
May not: open and close a file in a head that a look is forked from: closing any descriptor of a file ends all locks
         that the process has on it (fcntl(2)).
"""

import os

from .hooks import load

_open, _close, _lseek, _fstat, _dup2, _is_inheritable = (
    os.open, os.close, os.lseek, os.fstat, os.dup2, os.get_inheritable)


class Place:
    """The position of an open file; descriptors that were duplicated share it."""

    def __init__(self, fd, path, flags):
        self.fds, self.path, self.flags = [fd], path, flags
        self.position = _lseek(fd, 0, os.SEEK_CUR)
        self.fresh = -1

    def open(self):
        """Opens the file anew, at this position."""
        self.fresh = _open(f"/proc/self/fd/{self.fds[0]}", self.flags & ~os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            _lseek(self.fresh, self.position, os.SEEK_SET)
        except OSError:
            self.drop()
            raise

    def take(self):
        """Puts the new descriptor in the place of the old ones."""
        if self.fresh >= 0:
            for fd in self.fds:
                _dup2(self.fresh, fd, _is_inheritable(fd))
        self.drop()

    def drop(self):
        """Closes the new descriptor, if there is one."""
        if self.fresh >= 0:
            _close(self.fresh)
        self.fresh = -1

    def restore(self):
        """For a file that cannot be opened anew: moves the old descriptor back to its position."""
        _lseek(self.fds[0], self.position, os.SEEK_SET)


def find(files):
    """The places of these files: [(descriptor, path, flags)]."""
    places = {}
    for fd, path, flags in files:
        info = _fstat(fd)
        known = places.setdefault((info.st_dev, info.st_ino), [])
        twin = next((place for place in known if _is_twin(place.fds[0], fd)), None)
        if twin is None:
            known.append(Place(fd, path, flags))
        else:
            twin.fds.append(fd)
    return [place for known in places.values() for place in known]


def open_all(places):
    """Opens the files of all places anew; returns those that cannot be, and why: [(place, text)]."""
    failed = []
    for place in places:
        try:
            place.open()
        except OSError as error:
            failed.append((place, error.strerror))
    return failed


def part(places, takes):
    """After the fork of a head, on both sides: this one takes the new descriptors, or drops them."""
    for place in places:
        if takes:
            place.take()
        else:
            place.drop()


def renew(places):
    """In a look: opens each file anew, if that is possible."""
    for place in places:
        open_all([place])
        place.take()


def _is_twin(one, other):
    """Whether two descriptors share their position. They then also share their flags; O_NONBLOCK means nothing for a
    file, so changing it for a moment does no harm."""
    fcntl = load("fcntl")
    flags, others = fcntl.fcntl(one, fcntl.F_GETFL), fcntl.fcntl(other, fcntl.F_GETFL)
    fcntl.fcntl(one, fcntl.F_SETFL, flags ^ os.O_NONBLOCK)
    try:
        return fcntl.fcntl(other, fcntl.F_GETFL) != others
    finally:
        fcntl.fcntl(one, fcntl.F_SETFL, flags)
