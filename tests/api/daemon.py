# SPDX-License-Identifier: Apache-2.0
"""A real `viv serve` for tests: its own folders, a free port, and proof that it leaves nothing behind.

    with Daemon() as daemon:
        result = daemon.run("1 + 1")

Orphans of the daemon become children of this process (PR_SET_CHILD_SUBREAPER), so its processes can
be counted without asking it.
"""

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from http_client import Client

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
VIV = os.path.abspath(os.environ.get("VIV", os.path.join(ROOT, "build", "viv")))
DOORS = sorted(entry.name for entry in os.scandir(os.path.join(ROOT, "src", "door")) if entry.is_dir())
WAIT_SECONDS = 60
PR_SET_CHILD_SUBREAPER = 36
CONFIG = """listen: ["127.0.0.1:0"]
state_dir: {folder}/state
runtime_dir: {folder}/run
runtimes: {{full: {{pool: 0}}}}
"""  # `full` imports for two seconds: it starts when a run wants it, or beside the others with `runtimes: {}`

os.umask(0o022)  # a config that others may write is refused


def wait_for(look, seconds=WAIT_SECONDS, what="it"):
    """The first true value that `look` returns. For what the kernel gives no event of."""
    end = time.monotonic() + seconds
    while True:
        value = look()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"{what} did not happen within {seconds} s")
        time.sleep(0.005)


def parents():
    """The parent and the name of every process there is."""
    found = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                text = file.read()
        except OSError:
            continue
        state, parent = text[text.rindex(")") + 2:].split()[:2]
        if state != "Z":
            found[int(name)] = (int(parent), text[text.index("(") + 1:text.rindex(")")])
    return found


def descendants(pid):
    """Every living process below one, however deep: {pid: name}."""
    every = parents()
    below, more = {}, {pid}
    while more:
        more = {child for child, (parent, _) in every.items() if parent in more and child not in below}
        below.update((child, every[child][1]) for child in more)
    return below


def reap():
    """Takes note of orphans that ended."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0] > 0:
            pass
    except ChildProcessError:
        pass


def cgroup_folders(name):
    """Where a cgroup of this name is, in every hierarchy."""
    found = []
    with open("/proc/mounts", encoding="utf-8") as file:
        tops = [line.split()[1] for line in file if line.split()[2] in ("cgroup", "cgroup2")]
    for top in tops:
        for path, folders, _ in os.walk(top):
            if name in folders:
                found.append(os.path.join(path, name))
    return found


def has_freezer(daemon):
    """The v2 freezer is there wherever launch has a group of its own in a v2 tree."""
    return any(os.path.exists(os.path.join(path, "cgroup.procs")) and
               os.path.exists(os.path.join(path, "cgroup.freeze"))
               for path in cgroup_folders(daemon.cgroup)) if daemon.cgroup else False


def mounts():
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        return {line.split()[4] for line in file}


class Daemon(Client):
    """One daemon and what is known of it from outside. As root it serves as the user vivarium."""

    def __init__(self, config="", flags=(), wrap=(), env=None, start=True, beside=()):
        super().__init__()
        if not os.access(VIV, os.X_OK):
            raise AssertionError(f"{VIV} is not there: build first, or set VIV")
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self.folder = tempfile.mkdtemp(prefix="vd-", dir="/tmp")  # short: sockets are in it
        os.chmod(self.folder, 0o711)
        self.flags, self.wrap, self.env = list(flags), list(wrap), dict(env or {})
        self.beside = list(beside)  # daemons that were started before, and outlive this one
        self.keep_fds = ()  # descriptors that it inherits
        self.process = None
        self.serve_pid = self.launch_pid = 0
        self.cgroup = ""
        self.cgroups = set()  # those of a launch that was replaced, too
        self.mounts_before = mounts()
        self.others = set(descendants(os.getpid()))
        for name in ("home", "tmp"):
            os.mkdir(self.path(name))
            os.chmod(self.path(name), 0o777)
        self.write_config(config)
        if start:
            try:
                self.start()
            except BaseException:
                self.sweep()  # nobody else knows of it yet
                raise

    # ---- its life ----

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def write_config(self, text):
        """The lines that every test has, unless `text` has the key, and those of `text`."""
        keys = {line.split(":")[0] for line in text.splitlines()}
        lines = [line for line in CONFIG.format(folder=self.folder).splitlines()
                 if line.split(":")[0] not in keys]
        with open(self.path("vivarium.yaml"), "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n" + text)

    def is_described(self, path):
        with open(self.path("vivarium.yaml"), encoding="utf-8") as file:
            return path.startswith("/v1/") or "dialect" not in file.read() + " ".join(self.flags)

    def environment(self, notify):
        return {"PATH": "/usr/bin:/bin", "HOME": self.path("home"), "LANG": "C.UTF-8",
                "TMPDIR": self.path("tmp"), "XDG_RUNTIME_DIR": self.path("home"),
                "NOTIFY_SOCKET": notify, **self.env}

    def command(self):
        return [*self.wrap, VIV, "serve", "--config", self.path("vivarium.yaml"), "-v", *self.flags]

    def spawn(self, notify=""):
        """Only starts it: for those that are to fail."""
        with open(self.path("log"), "ab") as log:
            return subprocess.Popen(self.command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                    cwd=self.folder, env=self.environment(notify), start_new_session=True,
                                    pass_fds=self.keep_fds)

    def start(self):
        """Starts it and waits until it says READY=1 (man 3 sd_notify)."""
        begin = len(self.log())
        notify = self.path("notify")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ready:
            ready.bind(notify)
            os.chmod(notify, 0o777)
            ready.settimeout(0.2)
            self.process = self.spawn(notify)
            self.await_ready(ready)
        os.unlink(notify)
        self.find_port(begin)
        self.find_processes()

    def await_ready(self, ready):
        end = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < end:
            try:
                if ready.recv(4096) == b"READY=1":
                    return
            except socket.timeout:
                if self.process.poll() is not None:
                    break
        raise AssertionError(f"viv serve did not become ready: {self.log()[-2000:]}")

    def find_port(self, begin):
        def line_of_last_socket():
            text = self.log()[begin:]
            return text if "listening on unix:" in text else ""

        text = "" if self.keep_fds else wait_for(line_of_last_socket, what="the line about the unix socket")
        self.unix = self.path("run", "viv.sock")
        for line in text.splitlines():
            if "listening on http://" in line:
                self.host, self.port = line.rsplit("/", 1)[1].rsplit(":", 1)
                self.port = int(self.port)

    def find_processes(self):
        """As root the first process minds one that serves, with no privilege; else it serves itself."""
        def serving():
            if os.geteuid() != 0:
                return self.process.pid
            for pid, (parent, name) in parents().items():
                if parent == self.process.pid and name in ("viv-serve", "viv-serve-test") and os.stat(f"/proc/{pid}").st_uid != 0:
                    return pid
            return 0

        self.serve_pid = wait_for(serving, what="the one that serves")
        self.find_launch()

    def find_launch(self):
        def outer_half():
            for pid, (parent, name) in parents().items():
                if name == "viv-launch" and pid not in self.others and \
                        parent in (self.process.pid, os.getpid()) and \
                        "viv-launch-in" in descendants(pid).values():  # its inner half is in its cgroup by then
                    return pid
            return 0

        self.launch_pid = wait_for(outer_half, what="viv-launch")
        self.cgroup = ""
        for pid in descendants(self.launch_pid):
            try:
                with open(f"/proc/{pid}/cgroup", encoding="utf-8") as file:
                    for word in file.read().replace("\n", "/").split("/"):
                        self.cgroup = word if word.startswith("vivarium-") else self.cgroup
            except OSError:
                pass
        self.cgroups |= {self.cgroup} - {""}

    def log(self):
        try:
            with open(self.path("log"), encoding="utf-8", errors="replace") as file:
                return file.read()
        except OSError:
            return ""

    def processes(self):
        """Every living process of this daemon: {pid: name}."""
        every = descendants(os.getpid())
        others = set(self.others)
        for daemon in self.beside:  # looked at later: what is born meanwhile is not ours
            for pid in (daemon.process.pid, daemon.launch_pid):
                others |= set(descendants(pid)) | {pid}
        return {pid: name for pid, name in every.items() if pid not in others}

    @staticmethod
    def processes_below(pid):
        return descendants(pid)

    @staticmethod
    def cgroup_folders(name):
        return cgroup_folders(name)

    # ---- its end ----

    def signal(self, number):
        os.kill(self.process.pid, number)

    def kill9(self):
        """The daemon dies as in a crash; viv-launch stays."""
        os.kill(self.serve_pid, signal.SIGKILL)
        self.process.wait(WAIT_SECONDS)
        self.forget_connections()

    def kill9_all(self):
        """The daemon and the one that minds it."""
        for pid in {self.process.pid, self.serve_pid}:
            os.kill(pid, signal.SIGKILL)
        self.process.wait(WAIT_SECONDS)
        wait_for(lambda: self.serve_pid not in parents(), what="the end of the daemon")
        self.forget_connections()

    def restart(self):
        self.kill9()
        self.start()

    def terminate(self, seconds=WAIT_SECONDS):
        """A graceful stop. Returns its exit status."""
        self.forget_connections()
        self.signal(signal.SIGTERM)
        return self.process.wait(seconds)

    def stop(self):
        """A graceful stop, after which nothing may be left."""
        try:
            status = self.process.poll()
            status = self.terminate() if status is None else f"{status}, unasked"
            assert status == 0, f"viv serve ended with {status}: {self.log()[-2000:]}"
            self.check_nothing_left()
        finally:
            self.sweep()

    def check_nothing_left(self, seconds=WAIT_SECONDS):
        try:
            wait_for(lambda: not self.living(), seconds)
        except AssertionError:
            raise AssertionError(f"processes are left: {self.living()}") from None
        left = [folder for name in self.cgroups for folder in cgroup_folders(name)]
        assert not left, f"cgroups are left: {left}"
        more = {path for path in mounts() - self.mounts_before if "viv" in path or "vd-" in path}
        assert not more, f"mounts are left: {more}"
        files = os.listdir(self.path("tmp")) + os.listdir(self.path("home"))
        if os.path.isdir(self.path("run")):
            files += os.listdir(self.path("run"))
        assert not files, f"files are left: {files}"

    def living(self):
        reap()
        return self.processes()

    def sweep(self):
        """After a failed test, too, nothing of ours stays."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait(WAIT_SECONDS)
        for pid in self.living():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        wait_for(lambda: not self.living(), what="the end of what was left")
        for path in [folder for name in self.cgroups for folder in cgroup_folders(name)]:
            for folder, _, _ in os.walk(path, topdown=False):
                try:
                    os.rmdir(folder)
                except FileNotFoundError:
                    pass  # the next launch has swept it already
        shutil.rmtree(self.folder, True)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if kind is None:
            self.stop()
        else:
            self.sweep()
