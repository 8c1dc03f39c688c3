# SPDX-License-Identifier: Apache-2.0
"""Runs programs in sandboxes forked from one zygote, where `viv run` would make a cold one.

    pooled.py LAUNCH PRELOAD [FOLDER]

FOLDER is shown at /data.

Each line of stdin is a request: {"repeat", "timeout_ms", "memory", "pids", "args", "code"}, the last two as names of
files. Prints one result per run, in the shape of `viv run --json`; and what viv-launch counts, at the start and after
each request. It holds no rules of its own: the facts are those of viv-launch, the testimony is taken as it comes.
"""

import json
import os
import selectors
import signal
import struct
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "launch"))
import launcher  # noqa: E402

WALL_NAMES = ("user", "mount", "pid", "net", "ipc", "uts", "cgroup", "fds", "rlimit", "caps",
              "landlock", "seccomp")
LIMITS_NAMES = ("cgroup v2", "cgroup v1", "measured")
FLAG_WAIT, FLAG_MEMFD, FRAME_ACK = 1, 2, 6
KEEP = 1 << 20
INLINE_MAX = 64 << 10
SETTLE_SECONDS = 5.0


class Run:
    """One run: what came on its pipes, its channel and from launch, until nothing is left of it."""

    def __init__(self, launch, sandbox):
        self.launch, self.sandbox = launch, sandbox
        self.text = {"stdout": bytearray(), "stderr": bytearray()}
        self.inbox, self.pieces = b"", b""
        self.events, self.done, self.exit = [], None, None
        self.is_killed = False

    def begin(self, code, args, timeout_ms):
        meta = {"code": [0, len(code)], "args": [len(code), len(args)], "result_max": KEEP}
        head = json.dumps(meta).encode()
        body = struct.pack("<I", len(head)) + head
        self.launch.request(launcher.BEGIN, struct.pack("<III", self.sandbox.number, 0, timeout_ms))
        if len(body) + len(code) + len(args) > INLINE_MAX:
            raise ValueError("too long for a frame without a memfd")
        self.send(launcher.FRAME_RUN, body + code + args)

    def send(self, kind, body=b""):
        header = launcher.FRAME.pack(len(body), kind, 0, self.sandbox.nonce, 0, 0)
        self.sandbox.channel.sendall(header + body)

    def end(self):
        if not self.is_killed:
            self.is_killed = True
            self.launch.kill(self.sandbox.number)

    def frames(self, data):
        self.inbox += data
        head = launcher.FRAME.size
        while len(self.inbox) >= head:
            size, kind, flags, nonce, _counter, _ = launcher.FRAME.unpack(self.inbox[:head])
            if len(self.inbox) < head + size:
                return
            body, self.inbox = self.inbox[head:head + size], self.inbox[head + size:]
            if nonce != self.sandbox.nonce:
                continue
            self.pieces += body
            if flags & launcher.FRAME_FLAG_MORE:
                continue
            body, self.pieces = self.pieces, b""
            if kind == launcher.FRAME_EVENT:
                self.events.append(json.loads(body))
                if flags & FLAG_WAIT:
                    self.send(FRAME_ACK)
            elif kind == launcher.FRAME_DONE and self.done is None:
                self.done = json.loads(body)
                self.end()

    def pump(self):
        """Until viv-launch says that nothing of the sandbox is left."""
        with selectors.DefaultSelector() as selector:
            selector.register(self.launch.socket, selectors.EVENT_READ, "launch")
            selector.register(self.sandbox.channel, selectors.EVENT_READ, "channel")
            selector.register(self.sandbox.stdout, selectors.EVENT_READ, "stdout")
            selector.register(self.sandbox.stderr, selectors.EVENT_READ, "stderr")
            is_gone = False
            while not is_gone:
                for key, _ in selector.select():
                    if key.data == "launch":
                        event = self.launch.event()
                        if event.type == launcher.EXIT:
                            self.exit = event
                            self.end()
                        is_gone = is_gone or event.type == launcher.GONE
                        continue
                    try:
                        data = os.read(key.fd, 1 << 16)
                    except ConnectionResetError:
                        data = b""
                    if not data:
                        selector.unregister(key.fileobj)
                    elif key.data == "channel":
                        self.frames(data)
                    elif len(self.text[key.data]) < KEEP:
                        self.text[key.data] += data

    def verdict(self):
        found = {"kind": "backend", "exit_code": 125, "signal": None, "message": "", "remedy": "",
                 "limit": None, "peak": None, "by": "supervisor"}
        end = self.exit
        if end and (end.cause == launcher.CAUSE_MEMORY or end.oom_kills):
            found.update(kind="memory", exit_code=137, peak=end.peak)
        elif end and end.cause == launcher.CAUSE_DEADLINE:
            found.update(kind="timeout", exit_code=124)
        elif self.done:
            found.update(kind=self.done["kind"], exit_code=self.done["exit_code"], by="runner")
        elif end and end.signal:
            found.update(kind="killed", signal=end.signal, exit_code=128 + end.signal,
                         message=signal.Signals(end.signal).name)
        elif end:
            found.update(kind="exit" if end.code else "ok", exit_code=end.code)
        return found

    def result(self, walls):
        errors = [event["error"] for event in self.events if event["type"] == "error"]
        return {"id": "run_pooled", "session": None, "verdict": self.verdict(), "state": "none",
                "stdout": self.text["stdout"].decode("utf-8", "replace"),
                "stderr": self.text["stderr"].decode("utf-8", "replace"),
                "truncated": (self.done or {}).get("truncated", {}), "result": None,
                "error": errors[-1] if errors else None, "displays": [], "charts": [], "table": None,
                "files": [event["file"] for event in self.events if event["type"] == "file"],
                "usage": {}, "backend": "namespace", "runtime": "pooled",
                "walls": [name for bit, name in enumerate(WALL_NAMES) if walls >> bit & 1],
                "limits": LIMITS_NAMES[self.launch.limits]}


def read(path):
    with open(path, "rb") as file:
        return file.read()


def run_all(launch, nothing, repeat, timeout_ms, memory, pids, args, code):
    plan = launcher.plan(memory=memory, disk=256 << 20, pids=pids, files=1024)
    # All at once: what one of them leaves behind would be there for the others.
    sandboxes = []
    for number in range(repeat):
        sandboxes.append(launch.spawn(number, zygote=0, packed_plan=plan))
        launch.expect(launcher.SPAWNED)
    for sandbox in sandboxes:
        os.dup2(nothing, sandbox.stdin)  # its own end of the pipe is at end of file now
        walls = sandbox.hello()[1]
        run = Run(launch, sandbox)
        sandbox.channel.settimeout(None)
        run.begin(read(code), read(args), timeout_ms)
        run.pump()
        print(json.dumps(run.result(walls)), flush=True)
        sandbox.close()


def settled(launch, idle):
    """The count once it is as it was before, or what it still is after a while: launch tells of an end before it has
    let go of all that belonged to it."""
    deadline = time.monotonic() + SETTLE_SECONDS
    while True:
        counted = launch.count()
        is_idle = all(counted[what] == idle[what] for what in ("sandboxes", "zygotes", "roots", "heads"))
        has_fds = counted["fds_inner"] - counted["netns"] == idle["fds_inner"] - idle["netns"]
        if is_idle and has_fds or time.monotonic() > deadline:
            return counted
        time.sleep(0.02)


def main(program, preload, shown=None):
    launch = launcher.Launcher(program)
    launch.root(binds=[(shown, "/data")] if shown else [])
    event = launch.zygote(preload=preload)
    if event.type != launcher.ZYGOTE_UP:
        raise SystemExit(f"no zygote: {event.error}")
    nothing = os.open("/dev/null", os.O_WRONLY)
    idle = launch.count()
    print(json.dumps({"counted": idle}), flush=True)
    for line in sys.stdin:
        run_all(launch, nothing, **json.loads(line))
        print(json.dumps({"counted": settled(launch, idle)}), flush=True)
    launch.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
