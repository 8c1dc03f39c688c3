# SPDX-License-Identifier: Apache-2.0
"""Blockers of a checkpoint are found and named; everything else is let through."""

import sys
import unittest

from heads import Blocked, Session


class Blockers(unittest.TestCase):
    def blocked(self, code, expected, after=None):
        """A fork after `code` is refused with that text; after `after` it is not."""
        with Session() as head:
            outcome = head.run(code)
            self.assertEqual(outcome.done["kind"], "ok", outcome.error)
            with self.assertRaisesRegex(Blocked, "^" + expected + "$"):
                head.fork()
            with head.fork(is_look=True):
                pass  # a look is blocked by nothing
            if after is not None:
                self.assertEqual(head.run(after).done["kind"], "ok")
                head.fork()

    def free(self, code):
        with Session() as head:
            outcome = head.run(code)
            self.assertEqual(outcome.done["kind"], "ok", outcome.error)
            self.assertEqual(head.fork().run("1").done["kind"], "ok")

    def test_a_thread(self):
        self.blocked("import threading\ngo = threading.Event()\n"
                     "t = threading.Thread(target=go.wait, name='worker-1')\nt.start()",
                     "thread worker-1", "go.set()\nt.join()")

    def test_a_daemon_thread(self):
        self.blocked("import threading\ngo = threading.Event()\n"
                     "t = threading.Thread(target=go.wait, daemon=True, name='d')\nt.start()",
                     "thread d", "go.set()\nt.join()")

    def test_a_thread_that_threading_does_not_know(self):
        self.blocked("import _thread\nlock = _thread.allocate_lock()\nlock.acquire()\n"
                     "_thread.start_new_thread(lock.acquire, ())", "native thread .+")

    def test_a_thread_on_its_way_out_does_not_block(self):
        """It has told that it is done, as a joined one has, and the kernel still has it for a while."""
        self.free("import _thread, time\ndone = _thread.allocate_lock()\ndone.acquire()\n"
                  "def leave():\n    done.release()\n    time.sleep(0.01)\n"
                  "_thread.start_new_thread(leave, ())\ndone.acquire()")

    def test_an_executor(self):
        self.blocked("from concurrent.futures import ThreadPoolExecutor\np = ThreadPoolExecutor(1)\n"
                     "p.submit(int).result()", "thread ThreadPoolExecutor-0_0", "p.shutdown()")

    def test_a_hostile_name_of_a_thread(self):
        self.blocked("import threading\ngo = threading.Event()\n"
                     "t = threading.Thread(target=go.wait, name='\\ud800' + 'x' * 1000)\nt.start()",
                     r"thread \\ud800x{194}", "go.set()\nt.join()")

    def test_a_child(self):
        self.blocked("import subprocess\np = subprocess.Popen(['sleep', '1000'])",
                     r"child process \d+ \(sleep\)", "p.kill()\np.wait()")

    def test_a_forked_child(self):
        self.blocked("import os, time\npid = os.fork()\nif pid == 0:\n    time.sleep(1000)",
                     r"child process \d+ \(.+\)", "os.kill(pid, 9)\nos.waitpid(pid, 0)")

    ENDED = "import os\nos.waitid(os.P_PID, %s, os.WEXITED | os.WNOWAIT)"  # not waited for
    UNWAITED = r"child process \d+ \(ended, not waited for\)"

    def test_a_child_of_subprocess_that_has_ended_does_not_block_and_keeps_its_status(self):
        for command, status in (("exit 5", 5), ("kill -9 $$", -9), ("exit 0", 0)):
            with self.subTest(command), Session() as head:
                head.run(f"import subprocess\np = subprocess.Popen(['sh', '-c', '{command}'])\n"
                         + self.ENDED % "p.pid")
                branch, head = head.fork(), head.fork().fork()
                for one in (branch, head):
                    told = one.run("[p.poll(), p.wait(), p.returncode]").result
                    self.assertEqual(told["application/json"], [status] * 3)

    def test_children_of_subprocess_that_nobody_refers_to_do_not_block(self):
        self.free("import os, subprocess\nr, w = os.pipe()\npid = subprocess.Popen(['cat'], stdin=r).pid\n"
                  "os.close(w)\nos.close(r)\n" + self.ENDED % "pid")

    def test_each_child_of_subprocess_gets_its_own_status(self):
        with Session() as head:
            head.run("import subprocess\nall = [subprocess.Popen(['sh', '-c', f'exit {i}']) for i in range(5)]\n"
                     "for p in all:\n    " + (self.ENDED % "p.pid").replace("\n", "\n    ") + "\nall[3].wait()")
            self.assertEqual(head.fork().run("[p.wait() for p in all]").result["application/json"], [0, 1, 2, 3, 4])

    def test_any_other_child_that_has_ended_blocks_until_it_is_waited_for(self):
        wait = "assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 5"
        self.blocked("import os\npid = os.fork()\nif pid == 0: os._exit(5)\n" + self.ENDED % "pid",
                     self.UNWAITED, wait)
        self.blocked("import os\npid = os.posix_spawn('/bin/sh', ['sh', '-c', 'exit 5'], {})\n" + self.ENDED % "pid",
                     self.UNWAITED, wait)
        self.blocked("import multiprocessing, sys\n"
                     "p = multiprocessing.get_context('fork').Process(target=sys.exit, args=(5,))\np.start()\n"
                     + self.ENDED % "p.pid", self.UNWAITED, "p.join()\nassert p.exitcode == 5")

    def test_a_child_of_a_subclass_blocks_and_runs_no_code(self):
        self.blocked("import subprocess\nclass P(subprocess.Popen):\n"
                     "    def __getattribute__(self, name):\n        seen.append(name)\n"
                     "        return super().__getattribute__(name)\n"
                     "seen = []\np = P(['sh', '-c', 'exit 5'])\n" + self.ENDED % "p.pid" + "\nseen.clear()",
                     self.UNWAITED, "assert not seen, seen\nassert p.wait() == 5")

    def test_a_child_of_asyncio_blocks_until_the_loop_has_waited_for_it(self):
        with Session() as head:
            head.run("import asyncio, os\nif hasattr(asyncio, 'set_child_watcher'):\n"
                     "    watcher = asyncio.PidfdChildWatcher()\n    watcher.attach_loop(asyncio.get_running_loop())\n"
                     "    watcher.attach_loop = lambda _loop: None  # which forgets the children, for the same loop, too\n"
                     "    asyncio.set_child_watcher(watcher)\nr, w = os.pipe()\n"
                     "p = await asyncio.create_subprocess_exec('sh', '-c', 'read a; exit 5', stdin=r)")
            head.run("os.close(w)\n" + self.ENDED % "p.pid")  # the loop does not run here
            with self.assertRaisesRegex(Blocked, self.UNWAITED):
                head.fork()
            self.assertEqual(head.run("await p.wait()").result["application/json"], 5)
            head.fork()

    def test_many_objects_that_claim_to_be_something_else_run_no_code(self):
        with Session() as head:
            head.run("import subprocess\nseen = []\nclass Meta(type):\n"
                     "    def __instancecheck__(*_): seen.append(1)\n    __subclasscheck__ = __instancecheck__\n"
                     "class Liar(metaclass=Meta):\n    @property\n    def __class__(self): seen.append(2)\n"
                     "liars = [Liar() for _ in range(9)]\np = subprocess.Popen(['sh', '-c', 'exit 5'])\n"
                     + self.ENDED % "p.pid" + "\nseen.clear()")
            self.assertEqual(head.fork().run("[seen, p.wait()]").result["application/json"], [[], 5])

    def test_a_pool(self):
        self.blocked("import multiprocessing\np = multiprocessing.get_context('fork').Pool(1)\n"
                     "p.map(int, [1])", "thread .+", "p.terminate()\np.join()")

    def test_a_socket(self):
        self.blocked("import socket\na, b = socket.socketpair()", r"socket \(descriptor \d+\)",
                     "a.close()\nb.close()")

    def test_a_writable_file_of_the_workspace(self):
        self.blocked("f = open('out.txt', 'w')", "open file .*/workspace/out.txt", "f.close()")

    def test_a_file_of_a_strange_name(self):
        self.blocked("f = open(b'a\\xff\\n', 'wb')", r"open file .*/workspace/a\\udcff\n", "f.close()")

    def test_a_deleted_file(self):
        self.blocked("import os\nf = open('out.txt', 'w')\nos.unlink('out.txt')",
                     r"open file .*/workspace/out.txt \(deleted\)", "f.close()")

    def test_a_writable_file_elsewhere(self):
        self.blocked("import tempfile\nf = tempfile.TemporaryFile()", r"open file /.+ \(deleted\)", "f.close()")

    def test_a_writable_file_in_the_place_of_a_stream(self):
        self.blocked("import os\nheld = os.dup(2)\nf = open('log.txt', 'w')\nos.dup2(f.fileno(), 2)\nf.close()",
                     "open file .*/workspace/log.txt", "os.dup2(held, 2)\nos.close(held)")

    def test_a_lock(self):
        self.blocked("import fcntl\nopen('a', 'w').close()\nf = open('a')\nfcntl.flock(f, fcntl.LOCK_EX)",
                     "locked file .*/workspace/a", "fcntl.flock(f, fcntl.LOCK_UN)")
        self.free("import fcntl\nopen('a', 'w').close()\nf = open('a')\nfcntl.flock(f, fcntl.LOCK_SH)")

    def test_files_that_are_only_read_do_not_block(self):
        self.free("open('a', 'w').close()\nf = open('a')\nimport os\ng = open(os.__file__)\n"
                  "p = os.open('a', os.O_PATH)\nd = os.open('.', os.O_RDONLY)\nn = open('/dev/null', 'w')")

    def test_a_database(self):
        self.blocked("import sqlite3\ndb = sqlite3.connect('a.db')\n"
                     "db.execute('create table t (x)').close()\ndb.commit()",
                     "open file .*/workspace/a.db", "db.close()")

    def test_a_database_that_is_only_read(self):
        self.blocked("import sqlite3\ndb = sqlite3.connect('a.db')\n"
                     "db.execute('create table t (x)').close()\ndb.commit()\ndb.close()\n"
                     "db = sqlite3.connect('file:a.db?mode=ro', uri=True)\n"
                     "db.execute('select * from t').fetchall()",
                     "open database .*/workspace/a.db", "db.close()")

    def test_a_database_in_memory_does_not_block(self):
        self.free("import sqlite3\ndb = sqlite3.connect(':memory:')\ndb.execute('select 1')")

    def test_a_map_that_python_knows(self):
        self.blocked("import mmap\nf = open('a', 'w+b')\nf.write(b'x' * 4096)\nf.flush()\n"
                     "m = mmap.mmap(f.fileno(), 4096)\nf.close()", "open file .*/workspace/a",
                     "m.close()")

    MAPPED = ("import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\n"
              "libc.mmap.restype = ctypes.c_void_p\n"
              "libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]\n")

    def test_a_map_that_only_the_kernel_knows(self):
        self.blocked(self.MAPPED + "fd = os.open('a', os.O_RDWR | os.O_CREAT)\nos.truncate(fd, 4096)\n"
                     "at = libc.mmap(None, 4096, 3, 1, fd, 0)\nos.close(fd)",
                     "mapped file .*/workspace/a", "assert libc.munmap(at, 4096) == 0")

    def test_shared_memory_without_a_name(self):
        self.blocked("import mmap\nm = mmap.mmap(-1, 10)", "shared memory", "m.close()")
        self.blocked("import mmap\nm = mmap.mmap(-1, 10)\nm[0] = 1", "shared memory", "m.close()")
        self.blocked(self.MAPPED + "at = libc.mmap(None, 4096, 3, 0x21, -1, 0)", "shared memory",
                     "assert libc.munmap(at, 4096) == 0")

    def test_shared_memory_after_a_state_without_any(self):
        with Session() as head:
            head.run("import mmap")
            head.fork().fork().run("1")
            head = head.fork()
            head.run("m = mmap.mmap(-1, 10)")
            for _ in range(2):
                with self.assertRaisesRegex(Blocked, "^shared memory$"):
                    head.fork()
                head.run("1")

    def test_shared_memory_of_multiprocessing(self):
        self.blocked("import multiprocessing\nv = multiprocessing.RawValue('i', 1)",
                     r"shared memory /dev/shm/pym-.+ \(deleted\)")
        self.blocked("from multiprocessing import shared_memory\n"
                     "m = shared_memory.SharedMemory(create=True, size=10, track=False)"
                     if sys.version_info >= (3, 13) else
                     "from multiprocessing import resource_tracker, shared_memory\n"
                     "resource_tracker.register = resource_tracker.unregister = lambda *_: None\n"
                     "m = shared_memory.SharedMemory(create=True, size=10)",
                     "shared memory /dev/shm/psm_.+", "m.close()\nm.unlink()")

    def test_shared_memory_in_a_memfd(self):
        self.blocked("import os\nfd = os.memfd_create('x')", "shared memory", "os.close(fd)")

    def test_locks_of_multiprocessing_do_not_block_and_hide_nothing(self):
        locks = "import multiprocessing, mmap\nlocks = [multiprocessing.RLock(), multiprocessing.Lock()]\n" \
                "with locks[0]: pass"
        self.free(locks)
        self.blocked(locks + "\nm = mmap.mmap(-1, 10)", "shared memory", "m.close()")
        self.blocked(self.MAPPED + "fd = os.open('/dev/shm/sem.viv-test', os.O_RDWR | os.O_CREAT)\n"
                     "os.truncate(fd, 4096)\nos.unlink('/dev/shm/sem.viv-test')\n"
                     "at = libc.mmap(None, 4096, 3, 1, fd, 0)\nos.close(fd)",
                     r"shared memory /dev/shm/sem.viv-test \(deleted\)", "assert libc.munmap(at, 4096) == 0")

    def test_private_memory_does_not_block(self):
        self.free("import mmap\nopen('a', 'wb').write(bytes(4096))\nwith open('a', 'rb') as f:\n"
                  "    m = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)\n"
                  "    n = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_COPY)\nn[0] = 1\n"
                  "p = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE)\np[0] = 1")

    def test_an_asyncio_task(self):
        self.blocked("import asyncio\nt = asyncio.ensure_future(asyncio.sleep(1000))\n"
                     "t.set_name('poller')\nawait asyncio.sleep(0)", "asyncio task poller",
                     "t.cancel()\nawait asyncio.wait([t])")

    def test_the_runners_own_loop_does_not_block(self):
        self.free("import asyncio\nawait asyncio.sleep(0)")

    def test_another_loop_has_sockets(self):
        self.blocked("import asyncio\nloop = asyncio.new_event_loop()",
                     r"socket \(descriptor \d+\)", "loop.close()")

    def test_stdin_of_a_run_does_not_block(self):
        with Session() as head:
            self.assertEqual(head.run("input()", stdin="x\n").done["kind"], "ok")
            head.fork()

    def test_a_file_at_the_number_of_a_descriptor_that_was_held_aside(self):
        with Session() as head:
            head.run("import os\ninput()", stdin="x\n")
            aside = head.run("held = []\nfor fd in map(int, os.listdir('/proc/self/fd')):\n"
                             "    try:\n        os.fstat(fd)\n        held.append(fd)\n    except OSError: pass\n"
                             "[fd for fd in held if fd > 3]").result["application/json"]
            self.assertEqual(len(aside), 3, "second ones of stdin, stdout and stderr")
            for fd in aside:
                with self.subTest(fd=fd):
                    head.run(f"f = open('out.txt', 'w')\nos.dup2(f.fileno(), {fd})\nf.close()")
                    with self.assertRaisesRegex(Blocked, "^open file .*/workspace/out.txt$"):
                        head.fork()
                head.run(f"os.close({fd})")
                head.fork()

    def test_an_interpreter_that_cannot_be_looked_at_is_told(self):
        with Session() as head:
            head.run("import asyncio\nawait asyncio.sleep(0)\nasyncio.all_tasks = lambda loop: 1/0")
            with self.assertRaisesRegex(Blocked, "cannot be inspected .ZeroDivisionError."):
                head.fork()


if __name__ == "__main__":
    unittest.main()
