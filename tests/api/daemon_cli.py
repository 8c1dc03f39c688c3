# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of commands that talk to a daemon: one daemon for the class, and a terminal."""

import errno
import os
import pty
import re
import select
import signal
import time

from daemon import Daemon
from vivcli import VIV, WAIT_SECONDS, VivCase, strict_json

TYPED_SECONDS = 60
PROMPT = b"\x1b[?2004h"  # what the line editor sends before each prompt
OUT = b"\x1b[?2004l"  # ... and behind each entry: what the run shows comes next
SEQUENCE = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal:
    """A program on a terminal of its own."""

    def __init__(self, words, folder, env, term="xterm"):
        self.seen = b""
        self.at = 0  # up to here somebody has waited for it
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            try:
                os.chdir(folder)
                os.execve(words[0], words, {**env, "TERM": term})
            finally:
                os._exit(127)

    def read(self):
        """False: it is over."""
        try:
            data = os.read(self.fd, 65536)
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            data = b""
        self.seen += data
        return bool(data)

    def expect(self, *texts, seconds=TYPED_SECONDS):
        """Waits for these, one behind the other; returns what came up to the last of them."""
        begin, end = self.at, time.monotonic() + seconds
        for text in texts:
            while text not in self.seen[self.at:]:
                ready = select.select([self.fd], [], [], max(0, end - time.monotonic()))[0]
                if not ready or not self.read():
                    raise AssertionError(f"no {text!r} in {self.seen[begin:][-2000:]!r}")
            self.at = self.seen.index(text, self.at) + len(text)
        return SEQUENCE.sub(b"", self.seen[begin:self.at])

    def send(self, data):
        while data:
            data = data[os.write(self.fd, data):]

    def enter(self, data, *texts):
        """Types an entry, waits for what it shows and for the next prompt."""
        self.send(data + b"\r")
        return self.expect(*texts, PROMPT)

    def close(self):
        """Its exit status, after its end; ended here when it does not end by itself."""
        end = time.monotonic() + WAIT_SECONDS
        while select.select([self.fd], [], [], max(0, end - time.monotonic()))[0] and self.read():
            pass
        if time.monotonic() >= end:
            os.kill(self.pid, signal.SIGKILL)
        status = os.waitpid(self.pid, 0)[1]
        os.close(self.fd)
        return os.waitstatus_to_exitcode(status)


class DaemonCase(VivCase):
    """Tests against one daemon; `viv` finds it by its config."""

    config = ""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.daemon = Daemon(cls.config)

    @classmethod
    def tearDownClass(cls):
        cls.daemon.stop()

    def environment(self):
        return {**super().environment(), "VIVARIUM_CONFIG": self.daemon.path("vivarium.yaml"),
                "XDG_STATE_HOME": self.path("state")}

    def terminal(self, *words, term="xterm"):
        return Terminal([VIV, *words], self.folder, self.environment(), term)

    def runs(self):
        """Every run that the daemon knows of, latest first."""
        return self.good("ps", "-a", "--json")["runs"]

    def good(self, *words, stdin=None):
        """viv ... --json that must do: the object."""
        done = self.viv(*words, stdin=stdin)
        self.assertEqual(done.code, 0, done.err)
        return strict_json(done.out)

    def text(self, *words, stdin=None, code=0):
        done = self.viv(*words, stdin=stdin)
        self.assertEqual(done.code, code, (done.out, done.err))
        return done.out.decode()

    def session(self, *flags):
        """A new session's id; it is gone after the test."""
        made = self.text("session", "new", *flags).strip()
        self.addCleanup(self.viv, "session", "rm", made)
        return made
