# SPDX-License-Identifier: Apache-2.0
"""Speaks src/proto/launch_msg.h and frame.h to a real viv-launch, as viv does."""

import array
import json
import os
import resource
import select
import socket
import struct
import subprocess

(ROOT, ZYGOTE, RETIRE, SPAWN, BEGIN, KILL, COUNT, END, HEAD, DROP, SIGNAL, FREEZE, SAVE, RESTORE, KEEP,
 QUIT, METER, DISARM, SWEEP) = range(1, 20)
(HELLO, ROOT_MADE, ZYGOTE_UP, ZYGOTE_DOWN, SPAWNED, EXIT, GONE, COUNTED, ENDED, HEAD_UP, SIGNALLED, FROZEN,
 SAVED, RESTORED, KEPT, KEPT_HEAD, ATTACHED, METERED, SWEPT) = range(64, 83)
ERR_FORBIDDEN, ERR_NOT_FOUND, ERR_CONFLICT, ERR_TOO_LARGE, ERR_BUSY, ERR_UNSUPPORTED = range(3, 9)
CAUSE_SELF, CAUSE_DEADLINE, CAUSE_MEMORY, CAUSE_ASKED = range(4)
LIMITS_V2, LIMITS_V1, LIMITS_MEASURED = range(3)
LIMITS_CGROUP, LIMITS_MAY_MEASURE = range(2)
FRAME_HELLO, FRAME_RUN, FRAME_EVENT, FRAME_FILE, FRAME_DONE = range(1, 6)
FRAME_FORK, FRAME_FORKED = 8, 9
WAIT_SECONDS = 60  # for what comes at once, unless the machine is busy
FRAME_FLAG_MORE = 8
FRAME_FLAG_LOOK = 32
FRAME = struct.Struct("<IHHQII")  # size, type, flags, nonce, counter, 0: src/proto/frame.h
WALLS_ALL = (1 << 12) - 1
WALL_CGROUP = 1 << 6
PYTHON = "/usr/bin/python3"
SCM_CREDENTIALS = 2
MIB = 1 << 20

ERR = struct.Struct("<ii500s")
PLAN = struct.Struct("<IIQQIIIIQ")


def text(value, size):
    return value.encode().ljust(size, b"\0")


def plan(version=1, limits=LIMITS_MAY_MEASURE, memory=256 * MIB, disk=64 * MIB, pids=32, cpus=1000,
         files=256, reserved=0, io=0):
    return PLAN.pack(version, limits, memory, disk, pids, cpus, files, reserved, io)


class Event:
    def __init__(self, data, fds=()):
        self.fds = list(fds)
        self.type, self.id = struct.unpack_from("<II", data, 0)
        self.kind, self.num, message = ERR.unpack_from(data, 8)
        self.error = message.split(b"\0")[0].decode() if self.kind else ""
        self.rest = data[(8 + ERR.size + 7) // 8 * 8:]
        if self.type in (EXIT, ENDED):
            (_, self.head, self.cause, self.code, self.signal, self.oom_kills, self.peak, self.cpu_us,
             self.memory) = struct.unpack_from("<IIIii4xQQQQ", self.rest)
        elif self.type in (HEAD_UP, SIGNALLED, FROZEN, SAVED, RESTORED, SWEPT, KEPT_HEAD):
            (_, self.head, self.pid, self.is_armed, self.bytes,
             self.left) = struct.unpack_from("<IIiIQQ", self.rest)
        elif self.type == KEPT:
            self.name = self.rest[4:68].split(b"\0")[0].decode()

    def __repr__(self):
        return f"<event {self.type} of {self.id}: {self.error or vars(self)}>"


class Channel:
    """The near end of what an interpreter speaks frames on."""

    def __init__(self, launcher, number, head=0, channel=None):
        self.launcher, self.number, self.head = launcher, number, head
        self.channel = channel
        self.nonce = 77

    def hello(self):
        kind, payload = self.frame()
        assert kind == FRAME_HELLO, kind
        return struct.unpack("<IIIIII", payload)

    def frame(self, timeout=WAIT_SECONDS):
        self.channel.settimeout(timeout)
        payload, flags = b"", FRAME_FLAG_MORE
        while flags & FRAME_FLAG_MORE:
            size, kind, flags, _nonce, _counter, _ = FRAME.unpack(self.exactly(FRAME.size))
            payload += self.exactly(size)
        return kind, payload

    def exactly(self, size):
        data = b""
        while len(data) < size:
            more = self.channel.recv(size - len(data))
            if not more:
                raise EOFError("the channel ended")
            data += more
        return data

    def run(self, code, timeout_ms=20000):
        code = code.encode()
        meta = json.dumps({"code": [0, len(code)]}).encode()
        payload = struct.pack("<I", len(meta)) + meta + code
        self.launcher.request(BEGIN, struct.pack("<III", self.number, self.head, timeout_ms))
        self.channel.sendall(FRAME.pack(len(payload), FRAME_RUN, 0, self.nonce, 0, 0) + payload)

    def done(self):
        while True:
            kind, payload = self.frame()
            if kind == FRAME_DONE:
                return json.loads(payload)

    def end(self):
        """The run is over: what launch has counted meanwhile."""
        self.launcher.request(END, struct.pack("<II", self.number, self.head))
        return self.launcher.expect(ENDED)

    def cell(self, code, timeout_ms=20000):
        self.run(code, timeout_ms)
        done = self.done()
        self.end()
        return done["kind"]

    def born(self, flags=0):
        """Lets the interpreter fork. Returns the child's channel and its pid as we count."""
        ours, theirs = socket.socketpair()
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        control = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [theirs.fileno()]))]
        self.channel.sendmsg([FRAME.pack(0, FRAME_FORK, flags, 0, 0, 0)], control)
        theirs.close()
        kind, payload = self.frame()
        assert kind == FRAME_FORKED, kind
        assert struct.unpack_from("<I", payload)[0] == 0, payload[8:]
        ours.settimeout(WAIT_SECONDS)
        hello, control, _, _ = ours.recvmsg(FRAME.size + 24, socket.CMSG_SPACE(12))
        assert FRAME.unpack_from(hello)[1] == FRAME_HELLO and len(hello) == FRAME.size + 24
        pid = struct.unpack("<iII", next(data for _, kind, data in control if kind == SCM_CREDENTIALS))[0]
        return ours, pid

    def fork(self, head, is_look=False):
        """A new head, which this one is the parent of."""
        channel, pid = self.born(FRAME_FLAG_LOOK if is_look else 0)
        event = self.launcher.head(self.number, head, self.head, pid, channel.fileno(), is_look)
        assert (event.type, event.error) == (HEAD_UP, ""), event
        child = Channel(self.launcher, self.number, head, channel)
        child.pid = pid
        return child

    def drop(self):
        self.launcher.request(DROP, struct.pack("<II", self.number, self.head))

    def close(self):
        self.channel.close()


class Sandbox(Channel):
    """The near ends of a sandbox's pipes and of its first interpreter's channel."""

    def __init__(self, launcher, number):
        super().__init__(launcher, number)
        self.stdin, self.stdout, self.stderr = -1, -1, -1

    def output(self, size=65536, timeout=WAIT_SECONDS):
        ready, _, _ = select.select([self.stdout], [], [], timeout)
        assert ready, "nothing was printed"
        return os.read(self.stdout, size).decode()

    def close(self):
        for fd in (self.stdin, self.stdout, self.stderr):
            os.close(fd)
        self.channel.close()


class Client:
    """One who asks viv-launch."""

    def __init__(self, connection):
        self.socket = connection
        self.hello = self.event()
        (self.version, self.limits, self.landlock_abi, self.uid_count, self.is_root, self.cgroup_kill,
         self.can_freeze, self.reattach_ms, self.disks) = struct.unpack_from("<9I", self.hello.rest)

    def request(self, kind, body=b"", fds=()):
        control = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        self.socket.sendmsg([struct.pack("<II", kind, 0) + body], control)

    def event(self, timeout=WAIT_SECONDS):
        self.socket.settimeout(timeout)
        data, fds, _, _ = socket.recv_fds(self.socket, 65536, 8)
        if not data:
            raise EOFError("viv-launch ended")
        return Event(data, fds)

    def expect(self, kind, timeout=WAIT_SECONDS):
        event = self.event(timeout)
        assert event.type == kind, (event.type, event.id, event.error)
        return event

    def ask_root(self, number=0, binds=(), is_bare=0):
        body = struct.pack("<II", number, len(binds))
        for source, target in list(binds) + [("", "")] * (6 - len(binds)):
            body += text(source, 512) + text(target, 512)
        self.request(ROOT, body + struct.pack("<II", is_bare, 0))

    def root(self, number=0, binds=(), is_bare=0):
        self.ask_root(number, binds, is_bare)
        return self.expect(ROOT_MADE)

    def zygote(self, number=0, root=0, preload="json", python=PYTHON):
        self.request(ZYGOTE, struct.pack("<II", number, root) + text(python, 512) + text(preload, 1024))
        return self.event(60)

    def spawn(self, number, zygote=-1, root=0, packed_plan=None, python=PYTHON):
        sandbox = Sandbox(self, number)
        their_in, sandbox.stdin = os.pipe()
        sandbox.stdout, their_out = os.pipe()
        sandbox.stderr, their_err = os.pipe()
        sandbox.channel, their_channel = socket.socketpair()
        body = struct.pack("<IIiI", number, root, zygote, 0) + (packed_plan or plan()) + text(python, 512)
        self.request(SPAWN, body, [their_in, their_out, their_err, their_channel.fileno()])
        for fd in (their_in, their_out, their_err):
            os.close(fd)
        their_channel.close()
        return sandbox

    def kill(self, number):
        self.request(KILL, struct.pack("<I", number))

    def head(self, sandbox, head, parent, pid, channel, is_look=False):
        """Makes a fork of a sandbox's interpreter one of its heads."""
        self.request(HEAD, struct.pack("<IIIiI", sandbox, head, parent, pid, is_look), [channel])
        return self.expect(HEAD_UP)

    def ask(self, kind, sandbox, head=0):
        """A request about one head, or (FREEZE, SWEEP) with one number; its answer."""
        self.request(kind, struct.pack("<II", sandbox, head))
        answers = {SIGNAL: SIGNALLED, FREEZE: FROZEN, SAVE: SAVED, RESTORE: RESTORED, SWEEP: SWEPT}
        return self.expect(answers[kind])

    def keep(self, sandbox, name, fds):
        self.request(KEEP, struct.pack("<I", sandbox.number) + text(name, 64), fds)

    def count(self):
        self.request(COUNT)
        names = ("sandboxes", "zygotes", "roots", "netns", "cgroups", "fds_outer", "fds_inner", "heads")
        return dict(zip(names, struct.unpack_from("<8I", self.expect(COUNTED).rest)))


def start(arguments, number, program=None, files=None):
    """A process viv-launch that finds descriptor `number` of ours as its socket."""
    program = program or os.path.join(os.path.dirname(os.environ["VIV"]), "viv-launch")

    def child():
        os.setsid()
        os.dup2(number, 3)
        if files:
            resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

    # The test's own thread is the only one: preexec_fn is safe here.
    return subprocess.Popen([program, *arguments], preexec_fn=child, pass_fds=(3,),
                            stdin=subprocess.DEVNULL)


class Launcher(Client):
    """A viv-launch of one's own. Its end leaves nothing behind."""

    def __init__(self, program=None, files=None):
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.process = start([], theirs.fileno(), program, files)
        theirs.close()
        super().__init__(ours)

    def close(self):
        self.socket.close()
        return self.process.wait(timeout=WAIT_SECONDS)


class Staying:
    """A viv-launch that stays when its client goes."""

    def __init__(self, path, owner=None, reattach_ms=60000):
        self.path = path
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        listener.bind(path)
        listener.listen(8)
        owner = os.getuid() if owner is None else owner
        self.process = start(["--owner", str(owner), "--reattach-ms", str(reattach_ms)],
                             listener.fileno())
        listener.close()

    def connect(self):
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        connection.settimeout(WAIT_SECONDS)
        connection.connect(self.path)
        return Client(connection)

    def close(self):
        if self.process.poll() is None:
            self.process.terminate()
        return self.process.wait(timeout=WAIT_SECONDS)
