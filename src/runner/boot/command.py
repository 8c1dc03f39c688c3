# SPDX-License-Identifier: Apache-2.0
"""Runs of a shell command instead of code."""

import os

from .hooks import load
from .wire import Done, clean

ARGUMENT_MAX = (128 << 10) - 1  # of one argument, to execve(2)
SIGPIPE, SIGXFSZ, SIGINT = 13, 25, 2


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


def _wait(pid):
    """Exit status of the shell. An interrupt is passed on and told when the shell has ended."""
    interrupted = None
    while True:
        try:
            status = os.waitpid(pid, 0)[1]
        except KeyboardInterrupt as error:
            interrupted = error
            os.kill(pid, SIGINT)
            continue
        if interrupted is not None:
            raise interrupted
        return status


def run(command):
    """Runs `command` (bytes) on the run's own descriptors 0, 1 and 2; returns the testimony."""
    if b"\0" in command:
        return Done("exception", 1, "the command contains a NUL byte")
    arguments, path = _arguments(command)
    try:
        # Python ignores these two; a program expects to die of them.
        pid = os.posix_spawn(arguments[0], arguments, os.environ, setsigdef=(SIGPIPE, SIGXFSZ))
        status = _wait(pid)
    finally:
        if path:
            os.unlink(path)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        name = load("signal").Signals(number).name
        return Done("exit", 128 + number, clean(f"the shell was killed by {name}"))
    code = os.WEXITSTATUS(status)
    if code == 0:
        return Done()
    return Done("exit", code, f"the command ended with exit code {code}")
