# SPDX-License-Identifier: Apache-2.0
"""Plants on the host for one program: secrets that must not come out, targets that must stay.

Each secret carries its own token, so that a leak names the wall that let it through. The programs are
told where everything is (`_args`), never what it says.
"""

import ctypes
import fcntl
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import threading

PYTHON = "/usr/bin/python3"
_libc = ctypes.CDLL(None, use_errno=True)
_libc.shmat.restype = ctypes.c_void_p
_libc.shmat.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_int)
_libc.shmdt.argtypes = (ctypes.c_void_p,)
IPC_CREAT, IPC_EXCL, IPC_RMID = 0o1000, 0o2000, 0


class Server(threading.Thread):
    """Gives its token to whoever comes, and remembers that somebody came."""

    def __init__(self, name, sock, token):
        super().__init__(daemon=True)
        self.name, self.sock, self.token = name, sock, token
        self.visits = []
        self.start()

    def run(self):
        is_stream = self.sock.type == socket.SOCK_STREAM
        while True:
            try:
                if is_stream:
                    peer, _ = self.sock.accept()
                    self.visits.append("connection")
                    with peer:
                        peer.sendall(self.token)
                else:
                    text, who = self.sock.recvfrom(4096)
                    if who is None:  # shut down
                        return
                    self.visits.append(f"datagram {text[:40]!r}")
                    self.sock.sendto(self.token, who)
            except OSError:
                if self.sock.fileno() < 0:
                    return


class Plants:
    def __init__(self, identity, viv_folder):
        self.identity = identity
        self.tokens = {}
        self.servers = []
        self.fds = []
        self.shm_id = -1
        self.mark = "vivmark" + secrets.token_hex(8)
        self.folder = tempfile.mkdtemp(prefix="viv-escape-")
        os.chmod(self.folder, 0o755)
        self.args = {"mark": self.mark, "folder": self.folder, "viv_folder": viv_folder,
                     "host_name": socket.gethostname()}
        self.canary = self.token("env")
        self.make_folders()
        self.plant_files()
        self.plant_descriptors()
        self.plant_servers()
        self.plant_shown()
        self.plant_shm()
        self.start_victim()
        self.before = self.look_at_targets()

    def token(self, name):
        self.tokens[name] = f"VIVSECRET-{name}-{secrets.token_hex(16)}"
        return self.tokens[name]

    def write(self, path, text, mode=0o644):
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        os.chmod(path, mode)
        self.identity.give(path)
        return path

    def make_folder(self, name, mode=0o700):
        path = os.path.join(self.folder, name)
        os.mkdir(path)
        os.chmod(path, mode)
        self.identity.give(path)
        return path

    def make_folders(self):
        self.home = self.make_folder("home")
        self.runtime_dir = self.make_folder("runtime")
        self.tmp = self.make_folder("tmp")
        self.out = self.make_folder("out")
        self.work = self.make_folder("work")
        self.args["work"] = self.work

    def plant_files(self):
        self.shm_file = f"/dev/shm/{self.mark}"
        self.args["home_secret"] = self.write(os.path.join(self.home, "secret.txt"),
                                              self.token("home"), 0o600)
        self.args["tmp_secret"] = self.write(os.path.join(self.folder, "secret.txt"),
                                             self.token("tmp"))
        self.args["shm_secret"] = self.write(self.shm_file, self.token("devshm"))
        target_dir = self.make_folder("target", 0o777)
        self.args["target_dir"] = target_dir
        self.args["target"] = self.write(os.path.join(target_dir, "target.txt"), "unchanged\n",
                                         0o666)

    def plant_descriptors(self):
        """Descriptors that a careless launcher would let through: a file, the host's root, a pipe, a memfd."""
        path = self.write(os.path.join(self.folder, "inherited.txt"), self.token("fd"), 0o600)
        self.fds.append(os.open(path, os.O_RDONLY))
        os.unlink(path)
        self.fds.append(os.open("/", os.O_RDONLY | os.O_DIRECTORY))
        reader, writer = os.pipe()
        os.write(writer, self.token("pipe").encode())
        os.close(writer)
        self.fds.append(reader)
        memory = os.memfd_create("canary", 0)
        os.write(memory, self.token("memfd").encode())
        self.fds.append(memory)

    def serve(self, name, family, kind, address):
        sock = socket.socket(family, kind)
        sock.bind(address)
        if kind == socket.SOCK_STREAM:
            sock.listen(8)
        self.servers.append(Server(name, sock, self.token(name).encode()))
        return sock

    def plant_servers(self):
        tcp = self.serve("tcp", socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0))
        udp = self.serve("udp", socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0))
        self.args["tcp_port"] = tcp.getsockname()[1]
        self.args["udp_port"] = udp.getsockname()[1]
        self.serve("abstract", socket.AF_UNIX, socket.SOCK_STREAM, "\0" + self.mark)
        path = os.path.join(self.folder, "socket")
        self.serve("unix", socket.AF_UNIX, socket.SOCK_STREAM, path)
        os.chmod(path, 0o777)
        self.args["unix_path"] = path

    def plant_shown(self):
        """A folder that a policy shows, with what a program of the host left in it: sockets, a file that is
        locked in both ways, a pipe that holds what somebody else is to read."""
        self.shown = self.make_folder("shown", 0o755)
        for name, kind in (("stream", socket.SOCK_STREAM), ("datagram", socket.SOCK_DGRAM)):
            path = os.path.join(self.shown, name)
            self.serve("shown-" + name, socket.AF_UNIX, kind, path)
            os.chmod(path, 0o777)
        locked = self.write(os.path.join(self.shown, "locked"), "a database")
        self.fds.append(os.open(locked, os.O_RDWR))
        fcntl.flock(self.fds[-1], fcntl.LOCK_EX)
        fcntl.lockf(self.fds[-1], fcntl.LOCK_EX)
        pipe = os.path.join(self.shown, "pipe")
        os.mkfifo(pipe)
        os.chmod(pipe, 0o666)
        self.fds.append(os.open(pipe, os.O_RDWR))
        os.write(self.fds[-1], self.token("shown-pipe").encode())

    def plant_shm(self):
        key = secrets.randbits(30) | 1
        self.shm_id = _libc.shmget(key, 4096, IPC_CREAT | IPC_EXCL | 0o666)
        if self.shm_id < 0:
            raise OSError(ctypes.get_errno(), "shmget")
        address = _libc.shmat(self.shm_id, None, 0)
        text = self.token("sysv").encode()
        ctypes.memmove(address, text, len(text))
        _libc.shmdt(address)
        self.args["sysv_key"] = key

    def start_victim(self):
        """A process of the same user, which must neither die nor stop."""
        self.victim = subprocess.Popen(
            [PYTHON, "-I", "-c", "import signal; signal.pause()", "victim-" + self.mark],
            stdin=subprocess.DEVNULL, **self.identity.popen_args())
        self.args["victim"] = self.victim.pid

    def environment(self):
        """Of the process that starts viv. One variable is a secret."""
        return {"PATH": "/usr/bin:/bin", "HOME": self.home, "TMPDIR": self.tmp, "LANG": "C.UTF-8",
                "XDG_RUNTIME_DIR": self.runtime_dir, "VIV_ESCAPE_CANARY": self.canary}

    def look_at_targets(self):
        """All that an attack could have changed, in a form that compares."""
        seen = {}
        for base in (self.home, self.tmp, self.runtime_dir, self.args["target_dir"], self.folder):
            for name in sorted(os.listdir(base)):
                path = os.path.join(base, name)
                info = os.lstat(path)
                is_file = os.path.isfile(path)
                content = open(path, "rb").read() if is_file else b""
                times = info.st_mtime_ns if is_file else 0
                seen[path] = (info.st_mode, info.st_uid, info.st_size if is_file else 0, times,
                              content)
        return seen

    def changes(self):
        after = self.look_at_targets()
        found = [f"left behind: {path}" for path in after.keys() - self.before.keys()]
        found += [f"gone: {path}" for path in self.before.keys() - after.keys()]
        found += [f"changed: {path}" for path in after.keys() & self.before.keys()
                  if after[path] != self.before[path]]
        return found

    def victim_problem(self):
        if self.victim.poll() is not None:
            return f"the neighbour process ended: {self.victim.returncode}"
        with open(f"/proc/{self.victim.pid}/stat", encoding="ascii", errors="replace") as file:
            state = file.read().rsplit(")", 1)[1].split()[0]
        return f"the neighbour process is in state {state}" if state in "TtZX" else None

    def close(self):
        self.victim.kill()
        self.victim.wait()
        for server in self.servers:
            # shutdown wakes accept(); a datagram socket refuses it and needs none.
            try:
                server.sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            server.sock.close()
        for fd in self.fds:
            os.close(fd)
        _libc.shmctl(self.shm_id, IPC_RMID, None)
        for base in ("/tmp", "/var/tmp", "/dev/shm"):
            for name in os.listdir(base):
                if self.mark in name:
                    remove(os.path.join(base, name))
        remove(self.folder)


def remove(path):
    """Attack debris has odd modes and depths; chmod and rm cope with what shutil does not."""
    if os.path.isdir(path) and not os.path.islink(path):
        subprocess.run(["chmod", "-R", "u+rwX", path], stderr=subprocess.DEVNULL, check=False)
        subprocess.run(["rm", "-rf", "--", path], check=False)
    elif os.path.lexists(path):
        os.unlink(path)


class Identity:
    """The user that runs viv: this one, or as root an ordinary one."""

    def __init__(self, uid=None):
        self.uid = uid

    def give(self, path):
        if self.uid is not None:
            os.lchown(path, self.uid, self.uid)

    def popen_args(self):
        if self.uid is None:
            return {}
        return {"user": self.uid, "group": self.uid, "extra_groups": []}

    def __str__(self):
        return "root" if (self.uid or os.getuid()) == 0 else f"uid {self.uid or os.getuid()}"


if sys.platform != "linux":
    raise SystemExit("tests/escape: Linux only")
