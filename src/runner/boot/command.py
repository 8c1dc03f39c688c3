# SPDX-License-Identifier: Apache-2.0
"""Runs of a shell command instead of code."""

import os
from _signal import (SIG_BLOCK, SIG_SETMASK, SIGCHLD, SIGINT, SIGPIPE, SIGXFSZ, pthread_sigmask,
                     signal, sigtimedwait)

from .hooks import load
from .wire import Done, clean

ARGUMENT_MAX = (128 << 10) - 1  # longest single argument of execve(2)
LOOK_S = 0.5  # between checks, in case another thread got the signal


def _shell():
    return "/bin/bash" if os.path.exists("/bin/bash") else "/bin/sh"


def _arguments(command):
    """(the shell's arguments, path of a file or None); a command that is too long for an argument goes into a file."""
    shell = _shell()
    if len(command) <= ARGUMENT_MAX:
        return [shell, "-c", command], None
    fd, path = load("tempfile").mkstemp(dir="/tmp", suffix=".sh")
    try:
        while command:
            command = command[os.write(fd, command):]
    finally:
        os.close(fd)
    return [shell, path], path


class _Shell:
    """The shell and everything it starts: a process group of its own, so that an interrupt reaches the program that the
    shell waits for, and not only the shell."""

    def __init__(self):
        self.is_interrupted = False

    def note(self, _number, _frame):
        """A signal handler, for an interrupt that another of our threads received."""
        self.is_interrupted = True

    def run(self, arguments):
        """Runs the command; returns its status as waitpid gives it."""
        # Both signals are blocked and taken by sigtimedwait: an interrupt just before a plain waitpid would be noticed
        # only after it.
        signal(SIGINT, self.note)
        before = pthread_sigmask(SIG_BLOCK, (SIGINT, SIGCHLD))
        try:
            # Python ignores two signals that programs expect to be killed by.
            pid = os.posix_spawn(arguments[0], arguments, os.environ, setpgroup=0,
                                 setsigmask=before, setsigdef=(SIGPIPE, SIGXFSZ))
            return self._wait(pid)
        finally:
            pthread_sigmask(SIG_SETMASK, before)

    def _wait(self, pid):
        is_told = False
        while True:
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                return status
            if self.is_interrupted and not is_told:
                os.killpg(pid, SIGINT)
                is_told = True
            taken = sigtimedwait((SIGINT, SIGCHLD), LOOK_S)
            if taken is not None and taken.si_signo == SIGINT:
                self.is_interrupted, is_told = True, False


def run(command):
    """Runs `command` (bytes) on the run's own descriptors 0, 1 and 2; returns the testimony."""
    if b"\0" in command:
        return Done("exception", 1, "the command contains a NUL byte")
    arguments, path = _arguments(command)
    shell = _Shell()
    try:
        status = shell.run(arguments)
    finally:
        if path:
            os.unlink(path)
    if shell.is_interrupted:
        return Done("interrupted", 130, "the run was interrupted")
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        name = load("signal").Signals(number).name
        return Done("exit", 128 + number, clean(f"the shell was killed by {name}"))
    code = os.WEXITSTATUS(status)
    if code == 0:
        return Done()
    return Done("exit", code, f"the command ended with exit code {code}")
