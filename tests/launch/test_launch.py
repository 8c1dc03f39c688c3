# SPDX-License-Identifier: Apache-2.0
"""viv-launch from outside: what it builds, how sandboxes end, what is left."""

import glob
import os
import re
import signal
import struct
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from launcher import (BEGIN, CAUSE_ASKED, CAUSE_DEADLINE, CAUSE_MEMORY, CAUSE_SELF, EXIT, GONE,
                      LIMITS_CGROUP, LIMITS_MEASURED, LIMITS_V2, METER, METERED, MIB, PYTHON, ROOT_MADE, SPAWN,
                      SPAWNED, WALL_CGROUP, WALLS_ALL, ZYGOTE, ZYGOTE_DOWN, ZYGOTE_UP, Launcher, plan, text)


def inner_of(launcher):
    lines = subprocess.run(["ps", "-o", "pid=,comm=", "--ppid", str(launcher.process.pid)],
                           capture_output=True, text=True, check=True).stdout.splitlines()
    return int(next(line.split()[0] for line in lines if "viv-launch-in" in line))


def groups_of(launcher):
    """A pattern of this launcher's own cgroup directories: its inner half is in one of them."""
    with open(f"/proc/{inner_of(launcher)}/cgroup", encoding="ascii") as file:
        found = re.search(r"vivarium-[0-9a-z]+", file.read())
    return f"/sys/fs/cgroup/**/{found[0]}" if found else None


def groups(pattern):
    return set(glob.glob(pattern, recursive=True)) if pattern else set()


class LaunchTest(unittest.TestCase):
    def setUp(self):
        self.launcher = Launcher()
        self.addCleanup(self.launcher.close)
        self.assertEqual(self.launcher.hello.error, "")
        self.assertEqual(self.launcher.root().error, "")
        self.own_groups = groups_of(self.launcher)

    def start(self, number=0, **options):
        sandbox = self.launcher.spawn(number, **options)
        self.addCleanup(sandbox.close)
        event = self.launcher.event()
        self.assertEqual((event.type, event.error), (SPAWNED, ""))
        self.walls = sandbox.hello()[1]
        return sandbox

    def end(self):
        exit_event = self.launcher.expect(EXIT)
        self.assertEqual(self.launcher.expect(GONE).error, "")
        return exit_event

    def test_all_walls_of_a_cold_sandbox_stand(self):
        self.start()
        expected = WALLS_ALL
        if self.launcher.limits == LIMITS_MEASURED:
            expected &= ~WALL_CGROUP
        self.assertEqual(self.walls, expected)

    def test_all_walls_of_a_warm_sandbox_stand(self):
        self.assertEqual(self.launcher.zygote().type, ZYGOTE_UP)
        self.start(zygote=0)
        self.assertEqual(self.walls | WALL_CGROUP, WALLS_ALL)

    def test_a_run_says_done_and_a_kill_leaves_nothing(self):
        sandbox = self.start()
        sandbox.run("print('hello')")
        self.assertEqual(sandbox.done()["kind"], "ok")
        self.assertEqual(sandbox.output(), "hello\n")
        self.launcher.kill(0)
        self.assertEqual(self.end().cause, CAUSE_ASKED)
        self.assertEqual(self.launcher.count()["sandboxes"], 0)

    def test_the_facts_of_an_end_wait_for_what_the_inner_half_counted(self):
        inner = inner_of(self.launcher)
        os.kill(inner, signal.SIGSTOP)
        try:  # as if the run were over before the outer half has heard of the interpreter
            sandbox = self.launcher.spawn(0)
            self.launcher.request(BEGIN, struct.pack("<III", 0, 0, 20000))
            self.launcher.kill(0)
            self.launcher.request(METER, struct.pack("<I", 0))
            for fd in self.launcher.expect(METERED).fds:  # by the outer half alone: no EXIT before it
                os.close(fd)
        finally:
            os.kill(inner, signal.SIGCONT)
        events = [self.launcher.event()]
        while events[-1].type != GONE:
            events.append(self.launcher.event())
        self.assertEqual([event.cause for event in events if event.type == EXIT], [CAUSE_ASKED])
        sandbox.close()

    def test_the_deadline_ends_a_run(self):
        sandbox = self.start()
        sandbox.run("while True: pass", timeout_ms=300)
        event = self.end()
        self.assertEqual(event.cause, CAUSE_DEADLINE)
        self.assertGreater(event.cpu_us, 0)

    def test_the_exit_code_is_told_and_double_forks_die_with_it(self):
        sandbox = self.start()
        sandbox.run("import os, time\n"
                    "if os.fork() == 0:\n"
                    "    os.setsid()\n"
                    "    if os.fork() == 0: time.sleep(1000)\n"
                    "    os._exit(0)\n"
                    "os.wait(); os._exit(7)")
        event = self.end()
        self.assertEqual((event.cause, event.code, event.signal), (CAUSE_SELF, 7, 0))

    def test_a_signal_is_told(self):
        sandbox = self.start()
        sandbox.run("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
        event = self.end()
        self.assertEqual((event.code, event.signal), (-1, 11))

    def test_too_much_memory_is_told(self):
        sandbox = self.start(packed_plan=plan(memory=64 * MIB))
        sandbox.run("x = []\nwhile True: x.append(b'x' * 1000000)", timeout_ms=30000)
        event = self.end()
        if self.launcher.limits == LIMITS_MEASURED:
            self.assertEqual(event.cause, CAUSE_MEMORY)
        else:
            self.assertEqual((event.cause, event.oom_kills > 0), (CAUSE_SELF, True))
        self.assertGreater(event.peak, 50 * MIB)

    def test_the_limit_of_processes_holds(self):
        sandbox = self.start(packed_plan=plan(pids=5))
        sandbox.run("import os, time\n"
                    "born = 0\n"
                    "try:\n"
                    "    while born < 50:\n"
                    "        if os.fork() == 0: time.sleep(1000)\n"
                    "        born += 1\n"
                    "except BlockingIOError: pass\n"
                    "print(born)")
        self.assertEqual(sandbox.done()["kind"], "ok")
        self.assertLessEqual(int(sandbox.output()), 5)

    def limits_of_reads(self):
        """The limits on reading from disks, of this launcher's groups that have a process."""
        found = []
        for path in glob.glob(f"{self.own_groups}/g*", recursive=True) if self.own_groups else ():
            name = "io.max" if os.path.exists(f"{path}/io.max") else "blkio.throttle.read_bps_device"
            if not os.path.exists(f"{path}/{name}"):
                continue
            with open(f"{path}/cgroup.procs", encoding="ascii") as procs:
                is_used = procs.read() != ""
            with open(f"{path}/{name}", encoding="ascii") as limits:
                found += limits.read().splitlines() if is_used else []
        return found

    def test_a_sandbox_reads_from_disks_as_fast_as_its_plan_says(self):
        self.start(packed_plan=plan(io=10 * MIB))
        limits = self.limits_of_reads()
        self.assertEqual(len(limits), self.launcher.disks)
        for line in limits:
            self.assertRegex(line, rf"^[0-9]+:[0-9]+ (rbps=)?{10 * MIB}\b")

    def test_a_plan_without_a_limit_of_reads_has_none(self):
        self.start(packed_plan=plan(io=0))
        self.assertEqual(self.limits_of_reads(), [])

    def test_reads_of_a_sandbox_come_last(self):
        child = self.start().fork(1)
        self.addCleanup(child.close)
        priority = subprocess.run(["ionice", "-p", str(child.pid)], capture_output=True, text=True, check=True)
        self.assertEqual(priority.stdout.strip(), "best-effort: prio 7")

    def test_a_limit_by_cgroup_or_nothing(self):
        self.launcher.spawn(1, packed_plan=plan(limits=LIMITS_CGROUP)).close()
        event = self.launcher.event()
        if self.launcher.limits == LIMITS_MEASURED:
            self.assertEqual(event.type, GONE)
            self.assertIn("limits: cgroup", event.error)
        else:
            self.assertEqual(event.type, SPAWNED)

    def test_a_missing_interpreter_is_never_said_to_stand(self):
        sandbox = self.launcher.spawn(0, python="/usr/bin/no-such-python")
        self.addCleanup(sandbox.close)
        with self.assertRaises((EOFError, ConnectionError)):
            sandbox.hello()
        while self.launcher.event().type != GONE:
            pass
        self.assertIn("no-such-python", os.read(sandbox.stderr, 4096).decode())

    def test_a_zygote_whose_preload_fails_goes_down_and_others_go_on(self):
        event = self.launcher.zygote(3, preload="asyncio.windows_events")
        self.assertEqual((event.type, event.id), (ZYGOTE_DOWN, 3))
        self.assertIn("import asyncio.windows_events: ImportError", event.error)
        self.assertEqual(self.launcher.zygote(4).type, ZYGOTE_UP)
        self.start(zygote=4)

    def test_a_zygote_names_what_is_not_installed_and_serves(self):
        event = self.launcher.zygote(3, preload="json no_such_module_here")
        self.assertEqual((event.type, event.id), (ZYGOTE_UP, 3))
        self.assertIn("no_such_module_here", event.error)
        self.start(zygote=3)

    def test_a_fork_has_few_maps_and_none_that_is_written_and_executed(self):
        """Each library is one map that is read and one that is written; a cold interpreter shows what they were."""
        count = ("import json, re, sqlite3, decimal\n"
                 "with open('/proc/self/maps') as file: lines = file.read().splitlines()\n"
                 "libraries = [line for line in lines if '.so' in line]\n"
                 "names = {line.split()[-1] for line in libraries}\n"
                 "both = [line for line in lines if re.match(r'\\S+ .wx', line)]\n"
                 "print(len(libraries) / len(names), len(both))\n"
                 "print(sqlite3.connect(':memory:').execute('select 6*7').fetchone()[0], decimal.Decimal('0.1') * 3)")
        self.assertEqual(self.launcher.zygote(preload="json sqlite3 decimal").type, ZYGOTE_UP)
        seen = []
        for number, zygote in enumerate((0, -1)):
            sandbox = self.start(number, zygote=zygote)
            sandbox.run(count)
            self.assertEqual(sandbox.done()["kind"], "ok")
            first, second = sandbox.output().splitlines()
            self.assertEqual(second, "42 0.3")
            maps, both = first.split()
            self.assertEqual(both, "0")
            seen.append(float(maps))
        self.assertLess(seen[0], 1.5, "maps of a file for each library")
        self.assertGreater(seen[1], 3)

    def test_what_makes_forks_cheap_is_not_in_the_environment_of_programs(self):
        self.assertEqual(self.launcher.zygote().type, ZYGOTE_UP)
        sandbox = self.start(zygote=0)
        sandbox.run("import os, subprocess\n"
                    "print('GLIBC_TUNABLES' in os.environ, 'TUNABLES' in subprocess.getoutput('env'))")
        self.assertEqual(sandbox.done()["kind"], "ok")
        self.assertEqual(sandbox.output(), "False False\n")

    def test_a_retired_zygote_leaves_its_sandboxes_alive(self):
        self.launcher.zygote(0)
        sandbox = self.start(zygote=0)
        self.launcher.request(3, struct.pack("<I", 0))
        self.assertEqual(self.launcher.expect(ZYGOTE_DOWN).id, 0)
        sandbox.run("print(2)")
        self.assertEqual(sandbox.done()["kind"], "ok")

    def test_killing_while_it_is_being_built_leaves_nothing(self):
        self.launcher.zygote(0)
        before = self.launcher.count()
        for number in range(40):
            sandbox = self.launcher.spawn(number, zygote=0 if number % 2 else -1)
            self.launcher.kill(number)
            while self.launcher.event().type != GONE:
                pass
            sandbox.close()
        after = self.launcher.count()
        self.assertEqual(after["sandboxes"], 0)
        self.assertEqual(after["fds_inner"] - after["netns"], before["fds_inner"] - before["netns"])
        self.assertEqual(after["fds_outer"], before["fds_outer"])

    def test_descriptors_and_groups_do_not_grow(self):
        self.launcher.zygote(0)

        def one(number):
            sandbox = self.start(number, zygote=0)
            sandbox.run("1")
            sandbox.done()
            self.launcher.kill(number)
            self.end()

        for number in range(5):
            one(number)
        before = self.launcher.count()
        for number in range(100):
            one(number)
        self.assertEqual(self.launcher.count(), before)

    def test_nothing_is_left_of_a_launcher_whose_client_goes_away(self):
        self.launcher.zygote(0)
        for number in range(3):
            self.start(number, zygote=0)
        self.launcher.socket.close()
        self.assertEqual(self.launcher.process.wait(timeout=20), 0)
        self.assertEqual(groups(self.own_groups), set())

    def test_a_live_launcher_is_not_swept_from_another_pid_namespace(self):
        if os.geteuid() != 0:
            self.skipTest("needs root: an ordinary user has no cgroups to sweep here")
        here = os.path.dirname(os.path.abspath(__file__))
        code = f"import sys; sys.path.insert(0, {here!r}); import launcher; launcher.Launcher().close()"
        subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", "/usr/bin/python3", "-c", code],
                       check=True, timeout=30)
        self.assertNotEqual(groups(self.own_groups), set())
        self.start()

    def test_root_of_a_container_without_the_range_has_its_one_id(self):
        here = os.path.dirname(os.path.abspath(__file__))
        code = (f"import sys; sys.path.insert(0, {here!r}); import launcher; l = launcher.Launcher(); "
                "assert l.root().error == ''; s = l.spawn(0); l.expect(launcher.SPAWNED); s.hello(); "
                "s.run('1'); print(s.done()['kind'], l.uid_count)")
        # As in a container: root of a user namespace with a single id, which is not the host's 0.
        drop = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] * (os.geteuid() == 0)
        run = subprocess.run([*drop, "unshare", "--user", "--map-root-user", "/usr/bin/python3", "-c", code],
                             capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(run.stdout.split(), ["ok", "1"], run.stderr)

    def test_a_killed_launcher_takes_its_sandboxes_along_and_the_next_one_sweeps(self):
        sandbox = self.start()
        sandbox.run("import time; time.sleep(1000)")
        self.launcher.process.kill()
        self.launcher.process.wait()
        with self.assertRaises((EOFError, ConnectionError)):
            sandbox.done()
        Launcher().close()
        self.assertEqual(groups(self.own_groups), set())


class WallFromOutsideTest(unittest.TestCase):
    """The host's view of a sandbox: the report is not taken at its word."""

    def test_status_namespaces_and_descriptors(self):
        launcher = Launcher()
        self.addCleanup(launcher.close)
        launcher.root()
        sandbox = launcher.spawn(0)
        self.addCleanup(sandbox.close)
        launcher.expect(SPAWNED)
        sandbox.hello()
        sandbox.run("import time; print('up', flush=True); time.sleep(1000)")
        self.assertEqual(sandbox.output(), "up\n")

        mine = {name: os.stat(f"/proc/self/ns/{name}").st_ino
                for name in ("user", "mnt", "pid", "net", "ipc", "uts", "cgroup")}
        pid = self.head_of(launcher.process.pid)
        status = dict(line.split(":\t", 1) for line in
                      open(f"/proc/{pid}/status", encoding="ascii").read().splitlines()
                      if ":\t" in line)
        self.assertEqual(status["Seccomp"].strip(), "2")
        self.assertEqual(status["NoNewPrivs"].strip(), "1")
        for field in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
            self.assertEqual(int(status[field], 16), 0, field)
        if os.geteuid() == 0:
            self.assertGreater(int(status["Uid"].split()[0]), 0x70000000)
            for name, inode in mine.items():
                self.assertNotEqual(os.stat(f"/proc/{pid}/ns/{name}").st_ino, inode, name)
            # Nor may it see the sockets of the inner half, whose child it is.
            with open(f"/proc/{pid}/stat", encoding="ascii") as file:
                inner = file.read().rpartition(")")[2].split()[1]
            self.assertNotEqual(os.stat(f"/proc/{pid}/ns/net").st_ino,
                                os.stat(f"/proc/{inner}/ns/net").st_ino)
            pipes = {f"pipe:[{os.fstat(fd).st_ino}]"
                     for fd in (sandbox.stdin, sandbox.stdout, sandbox.stderr)}
            links = {fd: os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")}
            self.assertTrue(links.pop("3").startswith("socket:"))
            self.assertLessEqual(set(links.values()), pipes | {"/dev/null"})

    def test_no_user_namespace_can_be_made_below_a_sandbox(self):
        """The fence behind seccomp: a process without the filter joins the sandbox's user namespace
        and tries; from where the test is, without that fence, the same call works."""
        launcher = Launcher()
        self.addCleanup(launcher.close)
        launcher.root()
        sandbox = launcher.spawn(0)
        self.addCleanup(sandbox.close)
        launcher.expect(SPAWNED)
        sandbox.hello()
        code = ("import ctypes, os, sys; l = ctypes.CDLL(None, use_errno=True); "
                "f = os.open(f'/proc/{sys.argv[1]}/ns/user', 0) if sys.argv[1] != '-' else -1; "
                "r = l.setns(f, 0) if f >= 0 else 0; "
                "assert r == 0, os.strerror(ctypes.get_errno()); f < 0 or os.setresuid(1000, 1000, 1000); "
                "print(l.unshare(0x10000000), os.strerror(ctypes.get_errno()))")

        def tried(target):
            return subprocess.run(["/usr/bin/python3", "-c", code, target], capture_output=True,
                                  text=True, timeout=30, check=True).stdout.strip()

        self.assertEqual(tried(str(self.head_of(launcher.process.pid))), "-1 No space left on device")
        self.assertEqual(tried("-"), "0 Success")

    @staticmethod
    def head_of(launcher_pid):
        """The interpreter among the descendants of viv-launch."""
        lines = subprocess.run(["ps", "-eo", "pid,ppid,comm"], capture_output=True, text=True,
                               check=True).stdout.splitlines()[1:]
        rows = [line.split(None, 2) for line in lines]
        family = {str(launcher_pid)}
        for _ in range(4):
            family |= {pid for pid, parent, _ in rows if parent in family}
        return next(int(pid) for pid, _, name in rows if pid in family and name.startswith("python"))


class ScarceTest(unittest.TestCase):
    def test_out_of_descriptors_is_told_and_passes(self):
        """Each live sandbox costs launch a descriptor or two: the limit is met, told, and survived.
        There is a zygote, for without one launch keeps no network namespaces."""
        launcher = Launcher(files=72)
        self.addCleanup(launcher.close)
        self.assertEqual(launcher.root().error, "")
        self.assertEqual(launcher.zygote().type, ZYGOTE_UP)
        alive = []
        for number in range(72):
            sandbox = launcher.spawn(number)
            self.addCleanup(sandbox.close)
            event = launcher.event()
            if event.type == EXIT:  # born, and no descriptor left to build a wall with
                event = launcher.expect(GONE)
            if event.type == GONE:
                break
            self.assertEqual(event.type, SPAWNED)
            alive.append(number)
        self.assertEqual(event.type, GONE)
        self.assertNotEqual(event.error, "")
        self.assertGreater(len(alive), 3)

        for number in alive:
            launcher.kill(number)
        for _ in range(2 * len(alive)):
            self.assertIn(launcher.event().type, (EXIT, GONE))
        sandbox = launcher.spawn(100)
        self.addCleanup(sandbox.close)
        launcher.expect(SPAWNED)
        sandbox.hello()
        sandbox.run("print('again')")
        self.assertEqual(sandbox.done()["kind"], "ok")


class HostileClientTest(unittest.TestCase):
    """Requests that viv would never send: nothing is done, launch goes on."""

    def setUp(self):
        self.launcher = Launcher()
        self.addCleanup(self.launcher.close)

    def still_serves(self):
        self.assertEqual(self.launcher.root().error, "")

    def test_requests_that_are_not_in_the_table(self):
        for kind in (0, 17, 32, 36, 64, 96, 2**31, 2**32 - 1):
            self.launcher.request(kind, b"\xff" * 600)
        for size in (0, 1, 3, 7, 8, 11):
            self.launcher.socket.send(b"\x04\0\0\0\0\0\0\0\0\0\0\0"[:size] or b"\x01")
        self.still_serves()

    def test_requests_cut_short_or_with_the_wrong_descriptors(self):
        self.launcher.request(SPAWN, b"\0" * 40)
        self.launcher.request(BEGIN, b"\0" * 4)
        read_end, write_end = os.pipe()
        self.launcher.request(SPAWN, b"\0" * 600, [read_end])
        self.launcher.request(BEGIN, struct.pack("<III", 0, 0, 1), [read_end, write_end])
        os.close(read_end)
        os.close(write_end)
        self.still_serves()

    def test_numbers_out_of_range(self):
        for number in (4096, 2**31, 2**32 - 1):
            self.launcher.kill(number)
            self.launcher.request(BEGIN, struct.pack("<III", number, 0, 1000))
            self.launcher.request(3, struct.pack("<I", number))
        for options in ({"zygote": -2}, {"zygote": 32}, {"root": 32}, {"root": 2**32 - 1}):
            self.launcher.spawn(1, **options).close()
            self.assertIn("out of range", self.launcher.expect(GONE).error)
        self.still_serves()

    def test_plans_out_of_range(self):
        bad = [{"version": 2}, {"limits": 7}, {"memory": 0}, {"memory": 2**63}, {"disk": 0},
               {"pids": 0}, {"pids": 2**32 - 1}, {"cpus": 0}, {"files": 3}, {"reserved": 1}]
        for change in bad:
            self.launcher.spawn(1, packed_plan=plan(**change)).close()
            event = self.launcher.expect(GONE)
            self.assertNotEqual(event.error, "", change)
        self.still_serves()

    def test_texts_without_an_end(self):
        body = struct.pack("<II", 0, 0) + b"x" * 512 + b"y" * 1024
        self.launcher.request(2, body)
        self.assertIn("out of range", self.launcher.expect(ZYGOTE_DOWN).error)
        body = struct.pack("<II", 0, 1) + b"/" * 6144 + struct.pack("<II", 0, 0)
        self.launcher.request(1, body)
        self.assertIn("not a path", self.launcher.expect(65).error)

    def test_roots_without_python(self):
        self.assertIn("out of range", self.launcher.root(1, is_bare=2).error)
        self.assertEqual(self.launcher.root(1, is_bare=1).error, "")
        sandbox = self.launcher.spawn(1, root=1)
        self.addCleanup(sandbox.close)
        self.launcher.expect(SPAWNED)
        self.assertEqual(self.launcher.expect(EXIT).code, 125)
        self.assertIn(b"Permission denied", os.read(sandbox.stderr, 4096))
        self.launcher.expect(GONE)
        self.still_serves()

    def test_binds_that_lead_elsewhere(self):
        for target in ("/data/../etc", "relative", ""):
            self.assertIn("not a path", self.launcher.root(0, [("/usr", target)]).error)
        self.assertIn("No such file", self.launcher.root(0, [("/no/such/place", "/data")]).error)
        self.still_serves()

    def test_a_sandbox_number_is_used_once_at_a_time(self):
        self.launcher.root()
        sandbox = self.launcher.spawn(1)
        self.addCleanup(sandbox.close)
        self.launcher.expect(SPAWNED)
        self.launcher.spawn(1).close()
        event = self.launcher.expect(GONE)
        self.assertIn("this sandbox is there already", event.error)


class TogetherTest(unittest.TestCase):
    """A sandbox that is asked for together with its root: its shell waits for it."""

    def setUp(self):
        self.launcher = Launcher()
        self.addCleanup(self.launcher.close)

    def ask(self, number=0, binds=()):
        self.launcher.ask_root(number, binds)
        sandbox = self.launcher.spawn(number, root=number)
        self.addCleanup(sandbox.close)
        return sandbox

    def test_both_stand_and_another_one_after_them(self):
        sandbox = self.ask()
        self.assertEqual(self.launcher.expect(ROOT_MADE).error, "")
        self.launcher.expect(SPAWNED)
        self.assertEqual(sandbox.hello()[1] | WALL_CGROUP, WALLS_ALL)
        sandbox.run("import os; print(sorted(os.listdir('/proc/self/fd')), os.listdir('/'))")
        self.assertEqual(sandbox.done()["kind"], "ok")
        together = sandbox.output()

        later = self.launcher.spawn(1)
        self.addCleanup(later.close)
        self.launcher.expect(SPAWNED)
        later.hello()
        later.run("import os; print(sorted(os.listdir('/proc/self/fd')), os.listdir('/'))")
        self.assertEqual(later.done()["kind"], "ok")
        self.assertEqual(later.output(), together)

    def test_a_root_that_cannot_be_built_ends_both_and_says_why(self):
        self.ask(binds=[("/etc", "/usr/no/such/place")])
        why = self.launcher.expect(ROOT_MADE).error
        self.assertIn("root 0", why)
        self.assertEqual(self.launcher.expect(GONE).error, why)
        self.assertEqual(self.launcher.count()["sandboxes"], 0)

    def test_killed_while_it_waits_it_leaves_nothing(self):
        for number in range(20):
            self.ask(number)
            self.launcher.kill(number)
            seen = [self.launcher.event().type]
            while GONE not in seen or ROOT_MADE not in seen:
                seen.append(self.launcher.event().type)
        counts = self.launcher.count()
        self.assertEqual((counts["sandboxes"], counts["roots"]), (0, 20))

    def test_a_zygote_waits_for_its_root(self):
        self.launcher.ask_root()
        self.launcher.request(ZYGOTE, struct.pack("<II", 0, 0) + text(PYTHON, 512) + text("json", 1024))
        self.assertEqual(self.launcher.expect(ROOT_MADE).error, "")
        self.launcher.expect(ZYGOTE_UP, 60)


if __name__ == "__main__":
    unittest.main()
