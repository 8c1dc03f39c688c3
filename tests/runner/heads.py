# SPDX-License-Identifier: Apache-2.0
"""The whole runner, C and Python, without walls: a session's heads, forked and asked as viv does."""

import array
import atexit
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "boot"))
import harness  # noqa: E402

RUNNER = os.path.join(os.path.dirname(harness.VIV), "runner")
HEADER = harness.HEADER
HELLO, RUN, EVENT, FILE, DONE, ACK, CHECK, FORK, FORKED = range(1, 10)
WAIT, MEMFD, LAST, MORE, STDIN, LOOK = 1, 2, 4, 8, 16, 32
PIECE_MAX = 64 << 10
CHANNEL_FD = harness.CHANNEL_FD


class Blocked(Exception):
    """A head could not fork; the text says why."""


class Head(harness.Runner):
    """One interpreter at the end of its own channel."""

    def __init__(self, session, channel, stdout, stderr):
        self.session, self.channel = session, channel
        self.root, self.workspace, self.process = session.root, session.workspace, session.process
        self.stdout, self.stderr = stdout, stderr
        self.nonce = 0
        self.counter = 0
        self.pid = 0
        self.walls = None  # what HELLO said

    def close(self):
        self.channel.close()

    def send_frame(self, kind, payload, flags=0, fds=()):
        message = HEADER.pack(len(payload), kind, flags, self.nonce, 0, 0) + payload
        control = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        sent = self.channel.sendmsg([message], control)
        if sent < len(message):  # it may have all it needs, and be gone
            self.channel.sendall(message[sent:])

    def receive(self):
        """(type, flags, nonce, payload), put together from its pieces, each of which is checked."""
        whole, flags = b"", MORE
        while flags & MORE:
            size, kind, flags, nonce, counter, _ = HEADER.unpack(self._exactly(HEADER.size))
            self.counter += 1
            assert counter == self.counter, f"frame {counter} where {self.counter} was to come"
            assert size == PIECE_MAX if flags & MORE else size <= PIECE_MAX, size
            whole += self._exactly(size)
        return kind, flags, nonce, whole

    def hello(self):
        kind, _flags, nonce, payload = self.receive()
        assert (kind, nonce) == (HELLO, 0), kind
        version, walls, abi, self.pid, self.shown, _reserved = struct.unpack("<IIIIII", payload)
        assert version == 3, version
        self.walls = walls, abi

    def fork(self, is_look=False, pipes=None):
        """The child. `pipes` are the writing ends for its stdout and stderr, and ours to read."""
        ours, theirs = socket.socketpair()
        ours.settimeout(harness.DEADLINE_S)
        ends = pipes[0] if pipes else ()
        self.nonce += 1
        self.send_frame(FORK, b"", LOOK if is_look else 0, [theirs.fileno(), *ends])
        theirs.close()
        kind, _flags, nonce, payload = self.receive()
        assert (kind, nonce) == (FORKED, self.nonce), (kind, nonce)
        is_blocked, pid = struct.unpack("<II", payload[:8])
        if is_blocked:
            ours.close()
            assert pid == 0
            raise Blocked(payload[8:].decode())
        out, err = pipes[1] if pipes else (self.stdout, self.stderr)
        child = Head(self.session, ours, out, err)
        self.session.heads.append(child)
        child.hello()
        assert child.pid == pid
        return child

    def look(self, payload=b"", **look):
        """Asks a throw-away fork; what it said, and the whole outcome."""
        with self.fork(is_look=True) as fork:
            return fork.ask(payload, **look)

    def ask(self, payload=b"", **look):
        """The same of this very head. The payload comes in a memfd, as viv sends what is large."""
        meta = json.dumps({"look": look}).encode()
        memfd = os.memfd_create("payload")
        with open(memfd, "wb") as file:
            file.write(payload)
            file.flush()
            self.nonce += 1
            self.send_frame(RUN, struct.pack("<I", len(meta)) + meta, MEMFD, [memfd])
        outcome = self._collect(None)
        answers = outcome.of("look")
        return answers[0]["look"] if answers else None, outcome

    def _outputs(self):
        return self.stdout, self.stderr

    def _last_words(self):
        return f"head {self.pid} ended"

    def _frame(self, outcome, on_event):
        self._take(outcome, on_event, *self.receive())


class Session:
    """A sandbox's interpreter; `heads` are all that were ever forked, the first one is its own."""

    def __init__(self, env=None):
        self.root = tempfile.mkdtemp(prefix="viv-heads-")
        atexit.register(shutil.rmtree, self.root, ignore_errors=True)
        harness.lay_out(self.root)
        os.unlink(os.path.join(self.root, "viv", "_vivarium.py"))
        shutil.copy(os.path.join(RUNNER, "_vivarium.abi3.so"), os.path.join(self.root, "viv"))
        self.workspace = os.path.join(self.root, "workspace")
        ours, theirs = socket.socketpair()
        ours.settimeout(harness.DEADLINE_S)
        environment = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "MPLBACKEND": "Agg",
                       "HOME": self.root, "MPLCONFIGDIR": os.path.join(self.root, "mpl"),
                       "OPENBLAS_NUM_THREADS": "1", **(env or {})}
        main = os.path.join(self.root, "viv", "main.py")
        argv = [harness.PYTHON, "-I", main, "cold", "4095", "7", "0"]
        if harness.FORM == "stream":
            self.process = harness.start_over_stream(argv, theirs, subprocess.DEVNULL, env=environment,
                                                     start_new_session=True)
        else:
            self.process = self._start(argv, theirs, environment)
        theirs.close()
        self.heads = [Head(self, ours, self.process.stdout, self.process.stderr)]
        self.heads[0].counter = 1  # whoever puts the walls up says HELLO

    @staticmethod
    def _start(argv, channel, environment):
        """The shell puts the channel where the walls would."""
        number = channel.fileno()
        shell = f'exec {CHANNEL_FD}<&{number} {number}<&-; exec "$@"'
        if number == CHANNEL_FD:
            shell = 'exec "$@"'
        return subprocess.Popen(["/bin/bash", "-c", shell, "bash", *argv], stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment,
                                pass_fds=[number], start_new_session=True)

    def __enter__(self):
        return self.heads[0]

    def __exit__(self, *_unused):
        for head in self.heads:
            head.close()
        self.process.stdout.close()
        self.process.stderr.close()
        try:
            harness.end_of(self.process)
        finally:
            self.sweep()

    def sweep(self):
        """Ends the processes below the heads, which elsewhere die with their sandbox. A head is a process group of
        its own; all that were forked here have the name of the folder in their command line."""
        left = self.processes()
        while left:
            for pid in left:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            left = self.processes()
        harness.end_of(self.process)
        shutil.rmtree(self.root, ignore_errors=True)

    def processes(self):
        """The pids of those that live; a zombie has no command line."""
        found = []
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{name}/cmdline", "rb") as file:
                    if os.fsencode(self.root) + b"/" in file.read():
                        found.append(int(name))
            except OSError:
                pass
        return found
