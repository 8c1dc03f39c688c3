# SPDX-License-Identifier: Apache-2.0
"""Starts the runner's Python half in a process of its own and talks frames with it."""

import atexit
import fcntl
import json
import os
import selectors
import shutil
import signal
import socket
import struct
import subprocess
import tempfile

BOOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "src", "runner", "boot")
PYTHON = os.environ.get("VIV_TEST_PYTHON", "/usr/bin/python3")
HEADER = struct.Struct("<IHHQII")  # size, type, flags, nonce, counter, 0
RUN, EVENT, FILE, DONE, ACK, CHECK = 2, 3, 4, 5, 6, 7
WAIT, LAST = 1, 4
DEADLINE_S = 120  # of a whole run; only a hang reaches it
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
VIV = os.environ.get("VIV", os.path.join(ROOT, "build", "viv"))
RELAY = os.path.join(os.path.dirname(VIV), "src", "relay", "relay")
# How frames reach the runner: "descriptors" (a socket for each head), or "stream" (one pipe each way).
FORM = os.environ.get("VIV_TEST_FORM", "descriptors")
CHANNEL_FD = 3


class Outcome:
    """All that came back from one run."""

    def __init__(self):
        self.events = []
        self.stdout = b""
        self.stderr = b""
        self.files = {}  # path -> bytes, put together from FILE frames
        self.complete = set()  # paths whose last piece came
        self.sent = []  # types of the frames, in order
        self.stdout_at = []  # how much stdout there was when the n-th waiting event came
        self.done = None

    def of(self, kind):
        return [event for event in self.events if event["type"] == kind]

    @property
    def result(self):
        found = self.of("result")
        return found[0]["result"] if found else None

    @property
    def error(self):
        found = self.of("error")
        return found[0]["error"] if found else None

    @property
    def charts(self):
        return [event["chart"] for event in self.of("chart")]

    @property
    def text(self):
        return self.stdout.decode()


def lay_out(root):
    """The runner as a sandbox sees it at /viv, with its two folders moved below `root`."""
    package = os.path.join(root, "viv", "vivarium")
    shutil.copytree(BOOT, package, ignore=shutil.ignore_patterns("__pycache__", "main.py"))
    shutil.copy(os.path.join(BOOT, "main.py"), os.path.join(root, "viv", "main.py"))
    here = os.path.dirname(os.path.abspath(__file__))
    shutil.copy(os.path.join(here, "fake_vivarium.py"), os.path.join(root, "viv", "_vivarium.py"))
    path = os.path.join(package, "__init__.py")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for there, name in (('"/workspace"', "workspace"), ('"/tmp/charts"', "charts")):
        assert there in text
        text = text.replace(there, repr(os.path.join(root, name)))
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.mkdir(os.path.join(root, "workspace"))


def start_over_stream(argv, channel, stdin, **how):
    """The program behind a pair of relays with a pipe each way between them. The one outside stands for
    it: it has its stdin, stdout and stderr, and SIGINT goes on to it."""
    from_viv, to_box = os.pipe()
    from_box, to_viv = os.pipe()
    inside = subprocess.Popen([RELAY, "inside", *argv], stdin=from_viv, stdout=to_viv, **how)
    high = [fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (channel.fileno(), from_box, to_box)]
    one, two, three = high
    places = f"exec 3<&{one} 4<&{two} 5>&{three} {one}<&- {two}<&- {three}>&-"
    process = subprocess.Popen(["/bin/bash", "-c", f'{places}; exec "$0" outside', RELAY], stdin=stdin,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, pass_fds=high, **how)
    for fd in (from_viv, to_box, from_box, to_viv, *high):
        os.close(fd)
    process.inside = inside
    return process


def end_of(process):
    """Waits for the end of a started runner, and of what stands beside it."""
    process.wait(DEADLINE_S)
    if hasattr(process, "inside"):
        process.inside.wait(DEADLINE_S)


class Runner:
    """One interpreter, cold or forked from a zygote; runs in it share their state."""

    def __init__(self, python=PYTHON, stdin=subprocess.DEVNULL, env=None):
        self.root = tempfile.mkdtemp(prefix="viv-boot-")
        atexit.register(shutil.rmtree, self.root, ignore_errors=True)
        lay_out(self.root)
        self.workspace = os.path.join(self.root, "workspace")
        self.channel, theirs = socket.socketpair()
        self.process = self._start(python, ["cold"], [theirs], stdin, env)
        theirs.close()
        self.nonce = 0

    def _start(self, python, arguments, channels, stdin, env):
        is_stream = FORM == "stream" and arguments == ["cold"]
        numbers = [CHANNEL_FD] if is_stream else [channel.fileno() for channel in channels]
        environment = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "MPLBACKEND": "Agg",
                       "HOME": self.root, "MPLCONFIGDIR": os.path.join(self.root, "mpl"),
                       "VIV_TEST_CHANNELS": ",".join(map(str, numbers)), **(env or {})}
        argv = [python, "-I", os.path.join(self.root, "viv", "main.py"), *arguments]
        if is_stream:
            return start_over_stream(argv, channels[0], stdin, env=environment)
        return subprocess.Popen(argv, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                env=environment, pass_fds=numbers)

    def close(self):
        self.channel.close()
        for pipe in (self.process.stdout, self.process.stderr):
            pipe.close()
        if self.process.stdin:
            self.process.stdin.close()
        try:
            end_of(self.process)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise
        finally:
            shutil.rmtree(self.root, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_unused):
        self.close()

    def path(self, name):
        return os.path.join(self.workspace, name)

    def send(self, kind, pieces, meta):
        """A RUN or CHECK: `pieces` maps a member of meta to its bytes."""
        meta = dict(meta)
        payload = bytearray()

        def place(data):
            data = data.encode() if isinstance(data, str) else data
            payload.extend(data)
            return [len(payload) - len(data), len(data)]

        for name, data in pieces.items():
            if data is not None:
                meta[name] = place(data)
        if "files" in meta:
            meta["files"] = [{"path": path, "at": place(data)} for path, data in meta["files"]]
        text = json.dumps(meta).encode()
        body = struct.pack("<I", len(text)) + text + payload
        self.nonce += 1
        self.channel.sendall(HEADER.pack(len(body), kind, 0, self.nonce, 0, 0) + body)

    def run(self, code=None, *, command=None, args=None, data=None, stdin=None, pieces=(), on_event=None,
            on_start=None, insist=False, **meta):
        """A whole run. `insist`: interrupts it, from the first event on, until it is over."""
        if stdin == "live":
            meta["stdin"], stdin = "live", None
        self.send(RUN, {"code": code, "command": command, "args": args, "data": data,
                        "stdin": stdin, **dict(pieces)}, meta)
        if on_start:
            on_start(self)
        return self._collect(on_event, insist)

    def check(self, code, **meta):
        self.send(CHECK, {"code": code}, meta)
        return self._collect(None).done

    def _collect(self, on_event, insist=False):
        outcome = Outcome()
        wait_s = 0.05 if insist else DEADLINE_S
        with selectors.DefaultSelector() as selector:
            for source in (self.channel, *self._outputs()):
                selector.register(source, selectors.EVENT_READ)
            while outcome.done is None:
                ready = selector.select(wait_s)
                if not ready and insist:
                    # CPython notices an interrupt that comes just before a thread blocks only later.
                    if outcome.events:
                        self.interrupt()
                elif not ready:
                    raise TimeoutError(f"nothing came for {DEADLINE_S} s")
                # Output first: what was written before an event was there before the event.
                self._drain(outcome)
                if any(key.fileobj is self.channel for key, _ in ready):
                    self._frame(outcome, on_event)
            self._drain(outcome)
        return outcome

    def _outputs(self):
        return self.process.stdout, self.process.stderr

    def _drain(self, outcome):
        for pipe, name in zip(self._outputs(), ("stdout", "stderr")):
            os.set_blocking(pipe.fileno(), False)
            while True:
                try:
                    piece = os.read(pipe.fileno(), 1 << 16)
                except BlockingIOError:
                    break
                if not piece:
                    break
                setattr(outcome, name, getattr(outcome, name) + piece)

    def _exactly(self, size):
        data = bytearray()
        while len(data) < size:
            piece = self.channel.recv(min(size - len(data), 1 << 20))
            if not piece:
                raise EOFError(self._last_words())
            data += piece
        return bytes(data)

    def _last_words(self):
        self.process.wait(DEADLINE_S)
        return f"the runner ended: {self.process.returncode} {self.process.stderr.read()!r}"

    def _frame(self, outcome, on_event):
        size, kind, flags, nonce, _counter, _ = HEADER.unpack(self._exactly(HEADER.size))
        self._take(outcome, on_event, kind, flags, nonce, self._exactly(size))

    def _take(self, outcome, on_event, kind, flags, nonce, payload):
        assert nonce == self.nonce, "a frame of another run"
        outcome.sent.append(kind)
        if kind == FILE:
            length = int.from_bytes(payload[:4], "little")
            path = payload[4:4 + length].decode()
            outcome.files[path] = outcome.files.get(path, b"") + payload[4 + length:]
            if flags & LAST:
                outcome.complete.add(path)
            return
        value = json.loads(payload.decode("ascii"), parse_constant=_refuse)
        if kind == DONE:
            outcome.done = value
            return
        self._drain(outcome)
        outcome.events.append(value)
        if on_event:
            on_event(self, value)
        if flags & WAIT:
            outcome.stdout_at.append(len(outcome.stdout))
            self.channel.sendall(HEADER.pack(0, ACK, 0, nonce, 0, 0))

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)


class Forked(Runner):
    """A child of a zygote; its siblings are made along with it."""

    def __init__(self, root, channel, process):
        self.root, self.channel, self.process = root, channel, process
        self.workspace = os.path.join(root, "workspace")
        self.nonce = 0

    def close(self):
        self.channel.close()


class Zygote(Runner):
    """A zygote and `count` forks of it, which share stdout, stderr and workspace here."""

    def __init__(self, preload, count=2, python=PYTHON):
        self.root = tempfile.mkdtemp(prefix="viv-boot-")
        atexit.register(shutil.rmtree, self.root, ignore_errors=True)
        lay_out(self.root)
        pairs = [socket.socketpair() for _ in range(count)]
        self.process = self._start(python, ["zygote", "0", *preload], [b for _, b in pairs],
                                   subprocess.DEVNULL, None)
        for _, theirs in pairs:
            theirs.close()
        self.channel = pairs[0][0]
        self.forks = [Forked(self.root, ours, self.process) for ours, _ in pairs]

    def close(self):
        for fork in self.forks:
            fork.close()
        super().close()


def _refuse(name):
    raise ValueError(f"{name} is not strict JSON")
