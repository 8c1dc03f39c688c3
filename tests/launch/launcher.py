# SPDX-License-Identifier: Apache-2.0
"""Speaks src/proto/launch_msg.h and frame.h to a real viv-launch, as viv does."""

import array
import json
import os
import resource
import socket
import struct
import subprocess

ROOT, ZYGOTE, RETIRE, SPAWN, BEGIN, KILL, COUNT = range(1, 8)
HELLO, ROOT_MADE, ZYGOTE_UP, ZYGOTE_DOWN, SPAWNED, EXIT, GONE, COUNTED = range(64, 72)
CAUSE_SELF, CAUSE_DEADLINE, CAUSE_MEMORY, CAUSE_ASKED = range(4)
LIMITS_V2, LIMITS_V1, LIMITS_MEASURED = range(3)
LIMITS_CGROUP, LIMITS_MAY_MEASURE = range(2)
FRAME_HELLO, FRAME_RUN, FRAME_EVENT, FRAME_FILE, FRAME_DONE = range(1, 6)
WALLS_ALL = (1 << 12) - 1
WALL_CGROUP = 1 << 6
PYTHON = "/usr/bin/python3"
MIB = 1 << 20

ERR = struct.Struct("<ii500s")
PLAN = struct.Struct("<IIQQIIII")


def text(value, size):
    return value.encode().ljust(size, b"\0")


def plan(version=1, limits=LIMITS_MAY_MEASURE, memory=256 * MIB, disk=64 * MIB, pids=32, cpus=1000,
         files=256, reserved=0):
    return PLAN.pack(version, limits, memory, disk, pids, cpus, files, reserved)


class Event:
    def __init__(self, data):
        self.type, self.id = struct.unpack_from("<II", data, 0)
        kind, self.num, message = ERR.unpack_from(data, 8)
        self.error = message.split(b"\0")[0].decode() if kind else ""
        self.rest = data[(8 + ERR.size + 7) // 8 * 8:]
        if self.type == EXIT:
            (_, self.cause, self.code, self.signal, self.oom_kills, self.peak,
             self.cpu_us) = struct.unpack_from("<IIiiQQQ", self.rest)


class Sandbox:
    """The near ends of a sandbox's pipes and channel."""

    def __init__(self, launcher, number):
        self.launcher, self.number = launcher, number
        self.stdin, self.stdout, self.stderr = -1, -1, -1
        self.channel = None
        self.nonce = 77

    def hello(self):
        kind, payload = self.frame()
        assert kind == FRAME_HELLO, kind
        return struct.unpack("<IIII", payload)

    def frame(self, timeout=20):
        self.channel.settimeout(timeout)
        size, kind, _flags, _nonce = struct.unpack("<IHHQ", self.exactly(16))
        return kind, self.exactly(size)

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
        self.launcher.request(BEGIN, struct.pack("<II", self.number, timeout_ms))
        self.channel.sendall(struct.pack("<IHHQ", len(payload), FRAME_RUN, 0, self.nonce) + payload)

    def done(self):
        while True:
            kind, payload = self.frame()
            if kind == FRAME_DONE:
                return json.loads(payload)

    def output(self, size=65536):
        return os.read(self.stdout, size).decode()

    def close(self):
        for fd in (self.stdin, self.stdout, self.stderr):
            os.close(fd)
        self.channel.close()


class Launcher:
    """A viv-launch of one's own. Its end leaves nothing behind."""

    def __init__(self, program=None, files=None):
        program = program or os.path.join(os.path.dirname(os.environ["VIV"]), "viv-launch")
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        number = theirs.fileno()

        def child():
            os.setsid()
            os.dup2(number, 3)
            if files:
                resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

        # The test's own thread is the only one: preexec_fn is safe here.
        self.process = subprocess.Popen([program], preexec_fn=child, pass_fds=(3,),
                                        stdin=subprocess.DEVNULL)
        theirs.close()
        self.hello = self.event()
        (self.version, self.limits, self.landlock_abi, self.uid_count, self.is_root,
         self.cgroup_kill) = struct.unpack_from("<IIIIII", self.hello.rest)

    def request(self, kind, body=b"", fds=()):
        control = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        self.socket.sendmsg([struct.pack("<II", kind, 0) + body], control)

    def event(self, timeout=20):
        self.socket.settimeout(timeout)
        data = self.socket.recv(65536)
        if not data:
            raise EOFError("viv-launch ended")
        return Event(data)

    def expect(self, kind, timeout=20):
        event = self.event(timeout)
        assert event.type == kind, (event.type, event.id, event.error)
        return event

    def root(self, number=0, binds=()):
        body = struct.pack("<II", number, len(binds))
        for source, target in list(binds) + [("", "")] * (6 - len(binds)):
            body += text(source, 512) + text(target, 512)
        self.request(ROOT, body)
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

    def count(self):
        self.request(COUNT)
        names = ("sandboxes", "zygotes", "roots", "netns", "cgroups", "fds_outer", "fds_inner")
        return dict(zip(names, struct.unpack_from("<7I", self.expect(COUNTED).rest)))

    def close(self):
        self.socket.close()
        return self.process.wait(timeout=20)
