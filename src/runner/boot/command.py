# SPDX-License-Identifier: Apache-2.0
"""Runs of a shell command instead of code."""

import os
from _signal import SIGINT, SIGPIPE, SIGXFSZ, signal

from .hooks import load
from .wire import Done, clean

ARGUMENT_MAX = (128 << 10) - 1  # of one argument, to execve(2)


def _shell():
    return "/bin/bash" if os.path.exists("/bin/bash") else "/bin/sh"


def _arguments(command):
    """How the shell gets the command; one that is too long for an argument goes by a file."""
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
    """The shell and all it starts: a process group of its own, so that an interrupt reaches the
    program that the shell waits for, and not only the shell."""

    def __init__(self):
        self.pid = 0
        self.is_interrupted = False

    def interrupt(self, _number=None, _frame=None):
        """As a signal handler: it never raises, so that no moment is the wrong one."""
        self.is_interrupted = True
        if self.pid:
            os.killpg(self.pid, SIGINT)

    def run(self, arguments):
        """Exit status, as waitpid has it."""
        signal(SIGINT, self.interrupt)
        # Python ignores two signals that programs expect to die of.
        pid = os.posix_spawn(arguments[0], arguments, os.environ, setpgroup=0,
                             setsigdef=(SIGPIPE, SIGXFSZ))
        self.pid = pid
        if self.is_interrupted:
            self.interrupt()
        status = os.waitpid(pid, 0)[1]
        self.pid = 0
        return status


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
