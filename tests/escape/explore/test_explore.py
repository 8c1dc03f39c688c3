#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Hostile commands through `viv explore`, judged from outside; and the same without walls, where they
must get through.

    VIV=build/viv tests/escape/explore/test_explore.py

In a command {folder} is the folder as the command sees it, every other name is one of the plants'.
As root every attack is done twice: by root, and by an ordinary user.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
import unittest

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(FOLDER, ".."))

from harness import oracles  # noqa: E402
from harness.plants import Identity, Plants  # noqa: E402

VIV = os.path.abspath(os.environ.get("VIV", os.path.join(FOLDER, "..", "..", "..", "build", "viv")))
NOBODY = 65534
WAIT_SECONDS = 40
ALONE = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}

PYTHONS = """
for python in python3 python /usr/bin/python3* /usr/local/bin/python3* /viv/python3 \\
              $(find /usr -name 'python3*' -type f -perm /111 2>/dev/null | head -50); do
    for way in '' $(ls /lib64/ld-linux*.so.* /lib/ld-linux*.so.* 2>/dev/null | head -1); do
        $way $python -c 'print("BREACH: Python runs")' 2>/dev/null
        cp $python /tmp/{mark}.py 2>/dev/null && chmod 755 /tmp/{mark}.py &&
            $way /tmp/{mark}.py -S -c 'print("BREACH: a copy of Python runs")' 2>/dev/null
    done
done
rm -f /tmp/{mark}.py
true
"""
ABSTRACT = """perl -MSocket -e 'socket($s, AF_UNIX, SOCK_STREAM, 0);
    connect($s, pack_sockaddr_un("\\0{mark}")) and print <$s>'"""
UNIX = """perl -MSocket -e 'socket($s, AF_UNIX, SOCK_STREAM, 0);
    connect($s, pack_sockaddr_un("{unix_path}")) and print <$s>'"""
STREAM = """exec 3<>/dev/tcp/127.0.0.1/{tcp_port}; cat <&3"""
DATAGRAM = """exec 3<>/dev/udp/127.0.0.1/{udp_port}; echo hello >&3; timeout 1 cat <&3"""


def digest(path):
    """All of a folder that a command could change, in a form that compares."""
    seen = {}
    for base, folders, files in os.walk(path):
        for name in ["."] + folders + files:
            full = os.path.join(base, name)
            info = os.lstat(full)
            content = b""
            if os.path.isfile(full) and not os.path.islink(full):
                with open(full, "rb") as file:
                    content = file.read()
            seen[full] = (info.st_mode, info.st_uid, info.st_nlink, info.st_mtime_ns, info.st_ctime_ns,
                          hashlib.sha256(content).hexdigest())
    return seen


class Attack(unittest.TestCase):
    uid = None

    def setUp(self):
        oracles.become_subreaper()
        self.plants = Plants(Identity(self.uid), os.path.dirname(VIV))
        self.addCleanup(self.plants.close)
        self.folder = self.plants.make_folder("look", 0o755)
        for name, text in (("a.txt", "alpha\n"), ("b.yml", "beta: 1\n")):
            self.plants.write(os.path.join(self.folder, name), text)
        os.mkdir(os.path.join(self.folder, "sub"))
        os.symlink(self.plants.args["tmp_secret"], os.path.join(self.folder, "link"))
        os.symlink(self.plants.folder, os.path.join(self.folder, "up"))
        shutil.copy("/usr/bin/env", os.path.join(self.folder, "program"))
        self.plants.before = self.plants.look_at_targets()
        self.before = digest(self.folder)

    def start(self, words, env):
        return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, cwd=self.folder, env=env,
                                pass_fds=self.plants.fds, **self.plants.identity.popen_args())

    def command(self, text, folder):
        names = {**self.plants.args, "folder": folder}
        return re.sub(r"\{([a-z_]+)\}", lambda found: str(names[found[1]]), text)

    def harm(self, out):
        """The harm that was done, as seen from outside."""
        found = [name for name, token in self.plants.tokens.items() if token.encode() in out]
        found += re.findall(rb"^BREACH: .{0,200}", out, re.MULTILINE)
        found += [server.name for server in self.plants.servers if server.visits]
        if digest(self.folder) != self.before:
            found.append("the folder is changed")
        if self.plants.victim_problem():
            found.append(self.plants.victim_problem())
        return found + self.plants.changes()

    def walled(self, text, kind="ok", flags=(), within=WAIT_SECONDS):
        """Runs it; nothing may come of it. Returns the answer."""
        begin = time.monotonic()
        process = self.start([VIV, "explore", "--folder", self.folder, "--json", *flags, "--",
                              self.command(text, "/data")], self.plants.environment())
        out, err = process.communicate(timeout=WAIT_SECONDS + 20)
        seconds = time.monotonic() - begin
        left = oracles.leftover_processes({self.plants.victim.pid})
        self.assertEqual(left, [])
        answer = json.loads(out)
        told = (answer["stdout"] + answer["stderr"]).encode()
        self.assertEqual(self.harm(told + out + err), [], out[-2000:])
        self.assertEqual(answer["verdict"]["kind"], kind, out[-2000:])
        self.assertLess(seconds, within)
        return answer

    def unwalled(self, text):
        """The same by plain bash: it must do the harm that the walls are there for."""
        process = self.start(["/bin/bash", "-c", self.command(text, self.folder)],
                             {**ALONE, "VIV_ESCAPE_CANARY": self.plants.token("bare")})
        out, err = process.communicate(timeout=WAIT_SECONDS)
        left = oracles.leftover_processes({self.plants.victim.pid})
        self.assertNotEqual(self.harm(out + err) + left, [], "the test cannot fail")

    def holds(self, text, kind="ok", **more):
        answer = self.walled(text, kind, **more)
        self.unwalled(text)
        return answer

    # ---- the folder ----

    def test_nothing_in_the_folder_can_be_changed(self):
        for text in ("echo more >> {folder}/a.txt", "rm -rf {folder}/a.txt", "touch {folder}/new",
                     "mkdir {folder}/new", "mv {folder}/a.txt {folder}/c", "ln {folder}/a.txt {folder}/c",
                     "ln -s a.txt {folder}/c", "chmod 777 {folder}/a.txt", "touch -d 2001-01-01 {folder}/a.txt",
                     "truncate -s 0 {folder}/b.yml", "rmdir {folder}/sub", "mkfifo {folder}/fifo"):
            with self.subTest(text):
                self.walled(text, "exit")
        self.unwalled("echo more >> {folder}/a.txt")

    def test_it_cannot_be_made_writable(self):
        self.holds("mount -o remount,rw {folder} 2>/dev/null; mount -o remount,rw,bind {folder} 2>/dev/null; "
                   "unshare -Urm mount -o remount,rw,bind {folder} 2>/dev/null; umount -l {folder} 2>/dev/null; "
                   "echo x > {folder}/new; true")

    def test_links_lead_to_nothing_of_the_host(self):
        self.holds("cat {folder}/link {folder}/up/secret.txt {folder}/../secret.txt ../secret.txt; true")

    def test_programs_of_the_folder_do_not_run(self):
        self.holds("./program echo 'BREACH: ran'; cp program /tmp/{mark}; /tmp/{mark} echo 'BREACH: copied'; "
                   "$(ls /lib64/ld-linux*.so.* /lib/ld-linux*.so.* | head -1) ./program echo 'BREACH: loaded'; "
                   "rm -f /tmp/{mark}; true")

    # ---- the host ----

    def test_other_files_of_the_host_are_not_there(self):
        self.walled("grep -rs VIVSECRET /tmp /dev/shm /home /root /var /etc | head -c 4000; true")
        self.holds("cat {tmp_secret} {shm_secret} {home_secret}; true")

    def test_processes_and_descriptors_of_the_host_are_not_there(self):
        self.holds("cat /proc/*/environ /proc/[0-9]*/root{tmp_secret} /proc/{victim}/cmdline; "
                   "for fd in /proc/self/fd/* /proc/$PPID/fd/*; do timeout 1 head -c 999 $fd; done; "
                   "env; kill -KILL {victim}; kill -STOP {victim}; true")

    def test_targets_that_anybody_may_write_stay(self):
        self.holds("echo x >> {target}; echo x > {target_dir}/new; echo x > /data/../{target}; true")

    def test_there_is_no_python(self):
        self.holds(PYTHONS)

    def test_no_library_of_python_and_none_of_its_modules(self):
        """A program linked to libpython cannot start, and there is nothing for it to import."""
        look = ("cat /usr/lib64/libpython3* /usr/lib/*/libpython3*.so* /usr/lib/libpython3* 2>/dev/null | head -c 4; "
                "ls -A /usr/lib/python3*/ /usr/lib64/python3*/ 2>/dev/null | grep -v :; true")
        has_any = subprocess.run(["/bin/bash", "-c", look], capture_output=True, check=True).stdout
        self.assertRegex(has_any, rb"os\.py")
        self.assertEqual(self.walled(look)["stdout"].strip(), "")

    # ---- the network ----

    def test_no_network(self):
        for text in (STREAM, DATAGRAM, UNIX, ABSTRACT):
            with self.subTest(text):
                self.holds(text + "; true")
                for server in self.plants.servers:
                    server.visits.clear()

    # ---- whoever is beside it, and what is left ----

    def test_its_supervisor_is_out_of_reach(self):
        answer = self.walled("echo forged >&3; echo forged > /proc/$PPID/fd/3; cat /proc/$PPID/environ; "
                             "ls /proc/$PPID/fd; exit 7", "exit")
        self.assertEqual(answer["exit_code"], 7)
        self.assertNotIn("socket", answer["stdout"])

    def test_killing_its_runner_is_told_as_it_is(self):
        answer = self.walled("kill -KILL $PPID; sleep 60", "killed")
        self.assertEqual((answer["exit_code"], answer["verdict"]["by"]), (137, "supervisor"))

    def test_killing_everybody(self):
        self.walled("kill -KILL -1; kill -KILL 1; exit 3", "exit")

    def test_nothing_outlives_it(self):
        self.holds("(setsid sleep 1000 > /dev/null 2>&1 < /dev/null &); true")

    def test_nothing_outlives_its_timeout(self):
        answer = self.walled("(setsid sleep 1000 &); (trap '' TERM INT HUP; sleep 1000) & echo on; sleep 1000",
                             "timeout", flags=("--timeout", "500ms"), within=8)
        self.assertEqual((answer["stdout"], answer["exit_code"]), ("on\n", 124))

    def test_held_output_does_not_hold_the_answer(self):
        self.walled("(setsid sleep 1000 &) ; echo done", within=8)

    # ---- more than its share ----

    def test_fork_bomb(self):
        bomb = "bomb() { bomb | bomb & bomb; }; bomb; sleep 1000"
        process = self.start([VIV, "explore", self.folder, "--json", "--timeout", "3s", "--", bomb],
                             self.plants.environment())
        honest = self.start([VIV, "explore", self.folder, "--", "cat", "a.txt"], self.plants.environment())
        self.assertEqual(honest.communicate(timeout=WAIT_SECONDS)[0], b"alpha\n")
        out, _ = process.communicate(timeout=WAIT_SECONDS)
        self.assertIn(json.loads(out)["verdict"]["kind"], ("timeout", "exit", "killed", "memory", "output"))
        self.assertEqual(oracles.leftover_processes({self.plants.victim.pid}), [])
        self.assertEqual(self.walled("cat a.txt")["stdout"], "alpha\n")

    def test_output_flood(self):
        for text, stream in (("yes", "stdout"), ("yes >&2", "stderr")):
            answer = self.walled(text, "output")
            self.assertTrue(answer["truncated"][stream])
            self.assertEqual(len(answer[stream]), 1 << 20)

    def test_memory(self):
        """tail keeps all of a line that never ends."""
        answer = self.walled("tail /dev/zero", "memory", flags=("--timeout", "30s"))
        self.assertEqual(answer["exit_code"], 137)

    def test_disk(self):
        before = oracles.available_memory()
        answer = self.walled("for d in /tmp /workspace /dev/shm; do head -c 4G /dev/zero > $d/x; done; "
                             "stat -c %s /tmp/x", kind=answer_kinds(), flags=("--timeout", "30s"))
        self.assertLess(before - oracles.available_memory(), 1 << 30)
        self.assertNotIn("4294967296", answer["stdout"])


class answer_kinds(str):
    """Equal to the verdicts that writing without end may have: the tmpfs is full, or memory is."""

    def __new__(cls):
        return super().__new__(cls, "ok|memory|exit")

    def __eq__(self, other):
        return other in self.split("|")

    __hash__ = str.__hash__


if os.getuid() == 0:
    class AttackAsUser(Attack):
        uid = NOBODY


if __name__ == "__main__":
    unittest.main()
