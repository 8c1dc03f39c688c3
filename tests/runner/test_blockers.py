# SPDX-License-Identifier: Apache-2.0
"""What blocks a checkpoint is found and said; what does not is let through."""

import unittest

from heads import Blocked, Session


class Blockers(unittest.TestCase):
    def blocked(self, code, expected, after=None, folder=None):
        """A fork after `code` is refused with that text; after `after` it is not."""
        with Session(folder=folder) as head:
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

    def test_a_child_that_has_ended_does_not_block(self):
        self.free("import subprocess\np = subprocess.Popen(['true'], stdout=subprocess.PIPE)\n"
                  "p.stdout.read()\nimport os\nos.waitid(os.P_PID, p.pid, os.WEXITED | os.WNOWAIT)")

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

    def test_files_that_are_read_or_lie_elsewhere_do_not_block(self):
        self.free("open('a', 'w').close()\nf = open('a')\nimport tempfile\n"
                  "g = tempfile.TemporaryFile()")

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

    def test_a_map_that_only_the_kernel_knows(self):
        self.blocked("import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\n"
                     "libc.mmap.restype = ctypes.c_void_p\n"
                     "libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]\n"
                     "fd = os.open('a', os.O_RDWR | os.O_CREAT)\nos.truncate(fd, 4096)\n"
                     "at = libc.mmap(None, 4096, 3, 1, fd, 0)\nos.close(fd)\n"
                     "ctypes.memset(at, 1, 1)",
                     "mapped file .*/workspace/a", "assert libc.munmap(at, 4096) == 0",
                     folder="/dev/shm")  # a tmpfs, as the workspace is

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

    def test_an_interpreter_that_cannot_be_looked_at_is_told(self):
        with Session() as head:
            head.run("import asyncio\nawait asyncio.sleep(0)\nasyncio.all_tasks = lambda loop: 1/0")
            with self.assertRaisesRegex(Blocked, "cannot be looked at .ZeroDivisionError."):
                head.fork()


if __name__ == "__main__":
    unittest.main()
