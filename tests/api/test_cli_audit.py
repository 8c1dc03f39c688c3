# SPDX-License-Identifier: Apache-2.0
"""viv audit: every wall held here, and each attack is real: outside a sandbox it gets through."""

import ctypes
import os
import socket
import subprocess
import unittest

from vivcli import WALLS, VivCase, strict_json

TOKEN = "viv_planted_by_the_test"
IPC_CREAT, IPC_RMID = 0o1000, 0


class Plants:
    """The secrets that `viv audit` plants on the host, planted by the test."""

    def __init__(self, folder):
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.file = os.path.join(folder, "secret")
        with open(self.file, "w", encoding="ascii") as file:
            file.write(TOKEN)
        self.shm_file = f"/dev/shm/viv-test-{os.getpid()}"
        with open(self.shm_file, "w", encoding="ascii") as file:
            file.write(TOKEN)
        self.tcp = socket.create_server(("127.0.0.1", 0))
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(("127.0.0.1", 0))
        self.abstract = self._listen(f"\0viv-test-{os.getpid()}")
        self.unix = self._listen(os.path.join(folder, "socket"))
        self.key = os.getpid()
        self.segment = self.libc.shmget(self.key, 4096, IPC_CREAT | 0o666)
        self.queue = f"/viv-test-{os.getpid()}".encode()
        self.queue_fd = self.libc.mq_open(self.queue, os.O_CREAT | os.O_RDWR, 0o666, None)
        if self.queue_fd < 0:
            raise OSError(ctypes.get_errno(), "mq_open: is RLIMIT_MSGQUEUE used up?")
        self.memfd = os.memfd_create("planted", 0)
        os.write(self.memfd, TOKEN.encode())

    @staticmethod
    def _listen(address):
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(address)
        listener.listen()
        return listener

    def args(self):
        return {"token": TOKEN, "marker": "viv-test", "files": [self.file, self.shm_file],
                "tcp": self.tcp.getsockname()[1], "udp": self.udp.getsockname()[1],
                "abstract": self.abstract.getsockname()[1:].decode(),
                "unix": self.unix.getsockname(), "shm": self.key, "queue": self.queue.decode(),
                "pid": os.getpid()}

    def clear(self):
        for listener in (self.tcp, self.udp, self.abstract, self.unix):
            listener.close()
        os.unlink(self.shm_file)
        os.close(self.memfd)
        self.libc.shmctl(self.segment, IPC_RMID, None)
        self.libc.mq_close(self.queue_fd)
        self.libc.mq_unlink(self.queue)


class Audit(VivCase):
    def test_every_wall_holds_and_json_tells_each_attack(self):
        done = self.viv("audit", "--json")
        report = strict_json(done.out)
        bad = [(wall["wall"], attack) for wall in report["walls"] for attack in wall["attacks"]
               if attack["verdict"] not in ("held", "skipped")]
        self.assertEqual(bad, [])
        self.assertEqual((done.code, report["ok"]), (0, True))
        self.assertEqual({wall["wall"] for wall in report["walls"]}, WALLS)
        self.assertEqual({wall["verdict"] for wall in report["walls"]}, {"held"})
        self.assertEqual({wall["wall"] for wall in report["walls"] if wall["up"]}, set(self.result("1")["walls"]))
        self.assertGreaterEqual(report["held"], 100)
        for wall in report["walls"]:
            self.assertEqual({attack["sandbox"] for attack in wall["attacks"]}, {"cold", "pooled"})

    def test_the_table_says_held_for_the_walls_asked_for(self):
        done = self.viv("audit", "uts", "ipc")
        self.assertEqual(done.code, 0, done)
        lines = done.out.decode().splitlines()
        self.assertEqual([line.split()[:2] for line in lines[:2]], [["ipc", "held"], ["uts", "held"]])
        is_up = "cgroup" in self.result("1")["walls"]
        self.assertIn("every wall held." if is_up else "every wall that is up here held; the cgroup is not, ", lines[-1])

    def test_a_cgroup_that_is_not_up_is_not_said_to_be(self):
        is_up = "cgroup" in self.result("1")["walls"]
        lines = self.viv("audit", "cgroup").out.decode().splitlines()
        self.assertEqual("; not up here, limits are measured" in lines[0], not is_up, lines)

    def test_an_unknown_wall_is_bad_usage(self):
        done = self.viv("audit", "moat")
        self.assertEqual(done.code, 2)
        self.assertIn(b"moat", done.err)

    @staticmethod
    def planted():
        return {name for folder in ("/tmp", "/var/tmp", "/dev/shm") for name in os.listdir(folder)
                if name.startswith("viv-audit-")}

    def test_nothing_planted_stays(self):
        before = self.planted()
        self.viv("audit", "fds")
        self.assertEqual(self.planted() - before, set())


class Attacks(VivCase):
    """The attacks themselves, run in the open where that harms nothing."""

    def setUp(self):
        super().setUp()
        self.plants = Plants(self.folder)
        self.addCleanup(self.plants.clear)
        report = strict_json(self.viv("audit", "--list", "--json").out)
        self.attacks = report["attacks"]
        self.args = {**report["args"], **self.plants.args()}

    def outside(self, attack):
        code = f"_args = {self.args!r}\n{attack['code']}"
        return subprocess.run(["/usr/bin/python3", "-I", "-c", code], cwd=self.folder,
                              env={"SECRET": TOKEN}, pass_fds=[self.plants.memfd],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=60, check=False)

    def test_without_walls_each_one_gets_through(self):
        who = ("any", "root") if os.geteuid() == 0 else ("any",)
        tried = [attack for attack in self.attacks if attack["control"] in who]
        self.assertGreaterEqual(len(tried), 35)
        for attack in tried:
            with self.subTest(wall=attack["wall"], attack=attack["name"]):
                done = self.outside(attack)
                self.assertIn("BREACH:", done.stdout, done.stderr)

    def test_there_are_attacks_on_every_wall(self):
        self.assertEqual({attack["wall"] for attack in self.attacks}, WALLS)
        self.assertGreaterEqual(len(self.attacks), 30)

    def test_every_attack_is_python(self):
        for attack in self.attacks:
            compile(attack["code"], attack["name"], "exec")


if __name__ == "__main__":
    unittest.main()
