# SPDX-License-Identifier: Apache-2.0
"""Heads: a fork goes on where its parent was, and the parent stays what it was."""

import os
import select
import signal
import struct
import unittest

from heads import EVENT, FORK, FORKED, LOOK, Blocked, Session


def value(outcome):
    return outcome.result["application/json"]


def wait_for_end(pid):
    """Until the process is gone or a zombie; it is not our child."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        if not select.select([fd], [], [], 60)[0]:
            raise TimeoutError(f"process {pid} lives on")
    finally:
        os.close(fd)


class Forks(unittest.TestCase):
    def test_a_child_goes_on_and_its_parent_stays(self):
        with Session() as first:
            first.run("x = [1]")
            second = first.fork()
            self.assertEqual(value(second.run("x.append(2)\nx")), [1, 2])
            third = first.fork()
            self.assertEqual(value(third.run("x")), [1])
            self.assertEqual(value(second.run("x")), [1, 2])

    def test_every_head_is_a_process_group_of_its_own(self):
        with Session() as first:
            second = first.fork()
            self.assertEqual(value(second.run("import os\n[os.getpgrp(), os.getpid()]")),
                             [second.pid, second.pid])

    def test_hello_says_what_the_walls_said(self):
        with Session() as first:
            self.assertEqual(first.fork().walls, (4095, 7))

    def test_the_channel_is_not_inherited_by_programs(self):
        with Session() as first:
            second = first.fork()
            outcome = second.run(command="ls /proc/self/fd")
            self.assertNotIn("3", outcome.text.split()[:-1])

    def test_a_child_has_no_descriptor_of_its_parents_channel(self):
        with Session() as first:
            count = "import os\nlen(os.listdir('/proc/self/fd'))"
            before = value(first.run(count))
            self.assertEqual(value(first.fork().fork().fork().run(count)), before)

    def test_a_child_outlives_its_parent(self):
        with Session() as first:
            first.run("x = 5")
            second = first.fork()
            third = second.fork()
            second.close()
            wait_for_end(second.pid)
            self.assertEqual(value(third.run("x")), 5)

    def test_the_end_of_its_channel_ends_a_head(self):
        with Session() as first:
            second = first.fork()
            second.close()
            wait_for_end(second.pid)

    def test_nothing_of_a_session_outlives_it(self):
        """Neither a head that hangs nor its children: without a sandbox the end of a test is theirs."""
        session = Session()
        with session as first:
            head = first.fork()
            head.run("import os, time\nif not os.fork():\n    os.setsid()\n    time.sleep(10000)")
            self.assertGreaterEqual(len(session.processes()), 3)
        self.assertEqual(session.processes(), [])

    def test_heads_that_ended_are_reaped_when_their_parent_wakes(self):
        with Session() as first:
            second = first.fork()
            os.kill(second.pid, signal.SIGKILL)
            wait_for_end(second.pid)
            third = first.fork()
            self.assertFalse(os.path.exists(f"/proc/{second.pid}"))
            self.assertEqual(value(third.run("1")), 1)

    def test_a_checkpoint_forks_any_number_of_times(self):
        with Session() as first:
            first.run("x = 0")
            for number in range(20):
                head = first.fork()
                self.assertEqual(value(head.run(f"x += {number}\nx")), number)
                head.close()

    def test_a_branch_speaks_on_its_own_pipes(self):
        with Session() as first:
            out, err = os.pipe(), os.pipe()
            ours = [os.fdopen(end[0], "rb") for end in (out, err)]
            second = first.fork(pipes=([out[1], err[1]], ours))
            os.close(out[1])
            os.close(err[1])
            outcome = second.run("import sys\nprint('out')\nprint('err', file=sys.stderr)")
            self.assertEqual((outcome.stdout, outcome.stderr), (b"out\n", b"err\n"))
            self.assertEqual(first.run("print('first')").stdout, b"first\n")
            for pipe in ours:
                pipe.close()

    def test_what_a_head_has_printed_is_not_printed_again(self):
        with Session() as first:
            self.assertEqual(first.run("print('x', end='')\n").stdout, b"x")
            first.run("import ctypes\nctypes.CDLL(None).printf(b'y')")
            second = first.fork()
            self.assertEqual(second.run("print('z')").stdout, b"z\n")

    def test_frames_of_a_new_head_are_counted_anew(self):
        with Session() as first:
            for _ in range(3):
                first.run("display(1)")
            self.assertEqual(value(first.fork().run("2")), 2)  # Head checks each counter

    def test_a_checkpoint_is_not_dumpable(self):
        with Session() as first:
            question = "import ctypes\nctypes.CDLL(None).prctl(3, 0, 0, 0, 0)"  # PR_GET_DUMPABLE
            first.fork(is_look=True).close()
            self.assertEqual(value(first.run(question)), 1)
            first.fork()
            self.assertEqual(value(first.run(question)), 0)


class State(unittest.TestCase):
    def test_a_new_head_is_a_notebook_as_before(self):
        with Session() as first:
            first.run("def f():\n    1/0")
            first.run("41 + 1")
            second = first.fork()
            self.assertEqual(value(second.run("_")), 42)
            error = second.run("f()").error
            self.assertIn("<cell 1>", error["traceback"])
            self.assertIn("1/0", error["traceback"])
            self.assertIn("<cell 4>", error["traceback"])
            self.assertEqual(value(second.run(
                "import sys\n[sys.modules['__main__'].__dict__ is globals(), 'x' in globals()]")),
                [True, False])

    def test_an_underscore_that_was_not_there_does_not_appear(self):
        with Session() as first:
            first.run("x = 1")
            self.assertEqual(first.fork().run("_").error["type"], "NameError")

    def test_changed_builtins_are_not_called_for_the_rehearsal(self):
        with Session() as first:
            first.run("import builtins\ncalls = []\nreal = print\n"
                      "builtins.print = lambda *a, **k: (calls.append(a), real(*a, **k))")
            second = first.fork()
            self.assertEqual(value(second.run("calls")), [])

    def test_a_seed_holds_from_cell_to_cell(self):
        with Session() as first:
            first.run("import random\nrandom.seed(42)")
            plain = value(first.run("state = random.getstate()\nx = random.random()\n"
                                    "random.setstate(state)\nx"))
            second = first.fork()
            self.assertEqual(value(second.run("random.random()")), plain)
            self.assertEqual(value(first.fork().run("random.random()")), plain)

    def test_branches_draw_their_own_numbers(self):
        with Session() as first:
            first.run("import random, numpy\nrandom.seed(42)\nnumpy.random.seed(42)")
            drawn = []
            null = os.open("/dev/null", os.O_WRONLY)
            for _ in range(2):
                branch = first.fork(pipes=([null, null], (first.stdout, first.stderr)))
                drawn.append(value(branch.run("[random.random(), numpy.random.rand()]")))
            os.close(null)
            for a, b in zip(*drawn):
                self.assertNotEqual(a, b)

    def test_names_of_temporary_files_differ(self):
        with Session() as first:
            first.run("import tempfile, uuid\nnext(tempfile._get_candidate_names())")
            names = {value(first.fork().run("next(tempfile._get_candidate_names())"))
                     for _ in range(3)}
            self.assertEqual(len(names), 3)

    def test_the_event_loop_goes_on(self):
        with Session() as first:
            first.run("import asyncio\nq = asyncio.Queue()\nlock = asyncio.Lock()\n"
                      "async with lock:\n    await q.put(5)\n    await asyncio.sleep(0)")
            for _ in range(2):
                second = first.fork()
                outcome = second.run("async with lock:\n    await asyncio.sleep(0.001)\n"
                                     "    x = await q.get()\nx")
                self.assertEqual((outcome.error, outcome.stderr), (None, b""))
                self.assertEqual(value(outcome), 5)

    def test_a_loop_that_code_made_itself_goes_on(self):
        """asyncio.get_event_loop(), as much code has it, and later an await."""
        with Session() as first:
            first.run("import asyncio\nloop = asyncio.get_event_loop()\n"
                      "loop.run_until_complete(asyncio.sleep(0))\nq = asyncio.Queue()")
            second = first.fork()
            self.assertEqual(second.run("loop.run_until_complete(asyncio.sleep(0.001, 7))")
                             .result["application/json"], 7)
            third = second.fork()
            outcome = third.run("await q.put(8)\n[await q.get(), asyncio.get_running_loop() is loop]")
            self.assertEqual(outcome.result["application/json"], [8, True])
            self.assertEqual(second.run("loop.run_until_complete(asyncio.sleep(0.001, 9))")
                             .result["application/json"], 9)

    def test_an_event_loop_is_woken_by_its_own_threads_only(self):
        with Session() as first:
            first.run("import asyncio\nawait asyncio.sleep(0)")
            second = first.fork()
            outcome = second.run("await asyncio.get_running_loop().run_in_executor(None, lambda: 7)")
            self.assertEqual(value(outcome), 7)

    def test_sys_exit_leaves_the_state(self):
        with Session() as first:
            head = first.fork()
            outcome = head.run("x = 3\nimport sys\nsys.exit(4)")
            self.assertEqual((outcome.done["kind"], outcome.done["exit_code"]), ("exit", 4))
            self.assertEqual(head.run("sys.exit(0)").done["kind"], "ok")
            self.assertEqual(value(head.run("x")), 3)

    def test_a_head_that_dies_leaves_its_parent(self):
        with Session() as first:
            first.run("x = 3")
            for death in ("os._exit(7)", "os.kill(os.getpid(), 9)", "os.abort()"):
                head = first.fork()
                with self.assertRaises(EOFError):
                    head.run(f"x = 4\nimport os\n{death}")
                self.assertEqual(value(first.fork().run("x")), 3)


class Hostile(unittest.TestCase):
    def test_fork_handlers_of_user_code_do_not_run_when_a_head_is_made(self):
        """Neither one that would hang, nor one that would kill the checkpoint; its own forks have them."""
        with Session() as first:
            first.run("import os, time\ncalls = []\nours = True\n"
                      "def hang():\n    while ours: time.sleep(1)\n"
                      "def kill():\n    if ours: os.kill(os.getppid(), 9)\n"
                      "os.register_at_fork(before=hang, after_in_parent=hang, after_in_child=kill)\n"
                      "for side in 'before', 'after_in_parent', 'after_in_child':\n"
                      "    os.register_at_fork(**{side: lambda side=side: calls.append(side)})")
            for is_look in (True, False):
                head = first.fork(is_look)
                self.assertEqual(value(head.run("calls")), [])
            self.assertEqual(value(head.run(
                "ours = False\nread, write = os.pipe()\nif not os.fork():\n"
                "    os.write(write, str(calls).encode())\n    os._exit(0)\n"
                "os.wait()\n[calls, os.read(read, 100).decode()]")),
                [["before", "after_in_parent"], "['before', 'after_in_child']"])

    def test_fork_handlers_of_modules_that_were_there_first_can_be_spoiled_as_little(self):
        with Session() as first:
            first.run("import concurrent.futures.thread, random, time\nx = 1\n"
                      "concurrent.futures.thread._global_shutdown_lock.acquire()\n"
                      "def spoiled(self, a=None, version=2):\n"
                      "    while True: __import__('time').sleep(1)\n"
                      "random.Random.seed.__code__ = spoiled.__code__")
            self.assertEqual(value(first.fork().run("x")), 1)

    def test_broken_modules_do_not_keep_a_head_from_standing(self):
        with Session() as first:
            first.run("import random, tempfile, uuid, ssl, asyncio\nawait asyncio.sleep(0)\n"
                      "random._inst = tempfile._name_sequence = None\ndel uuid._node\n"
                      "ssl.RAND_add = None")
            self.assertEqual(first.fork().run("print(1)").stdout, b"1\n")

    def test_broken_builtins_are_told(self):
        with Session() as first:
            first.run("import builtins\nx = 1\ndel builtins.len, builtins.list, builtins.set")
            with self.assertRaisesRegex(Blocked, "a run has damaged the interpreter, which cannot fork"):
                first.fork()
            self.assertIsNotNone(first.run("x").done)

    def test_a_run_cannot_answer_a_fork(self):
        """Frames that user code sends while it runs carry its run's number, and a fork has its own."""
        with Session() as first:
            first.run("import _vivarium\n"
                      f"_vivarium.send({EVENT}, 0, b'{{\"type\":\"display\",\"data\":{{}}}}')")
            second = first.fork()
            self.assertEqual(value(second.run("1")), 1)

    def test_a_fork_without_descriptors_is_refused(self):
        with Session() as first:
            first.nonce += 1
            first.send_frame(FORK, b"", LOOK)
            kind, _flags, _nonce, payload = first.receive()
            self.assertEqual((kind, struct.unpack("<II", payload[:8])), (FORKED, (1, 0)))
            self.assertEqual(payload[8:], b"no free descriptor")

    def test_no_free_descriptor_is_told(self):
        with Session() as first:
            first.run("import os, resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (16, 16))\n"
                      "held = []\ntry:\n    while True: held.append(os.open('/dev/null', 0))\n"
                      "except OSError: pass")
            with self.assertRaisesRegex(Blocked, "no free descriptor"):
                first.fork()
            first.run("for fd in held: os.close(fd)")
            self.assertEqual(value(first.fork().run("1")), 1)

    def test_no_free_process_is_told(self):
        if os.geteuid() == 0:
            limit = "import ctypes\nctypes.CDLL(None).setresuid(65534, 65534, 65534)\n"
        else:
            limit = ""
        with Session() as first:
            first.fork(is_look=True).close()
            first.run(limit + "import resource\nresource.setrlimit(resource.RLIMIT_NPROC, (1, 1))")
            with self.assertRaisesRegex(Blocked, "as many processes and threads as the session may have"):
                first.fork()
            self.assertEqual(first.run("print(1)").stdout, b"1\n")

    def test_a_chain_of_a_hundred_checkpoints_holds(self):
        with Session() as first:
            head = first
            first.run("depth = 0")
            for _ in range(100):
                head.run("depth += 1")
                head = head.fork()
            self.assertEqual(value(head.run("depth")), 100)
            self.assertEqual(value(first.session.heads[50].fork().run("depth")), 51)


if __name__ == "__main__":
    unittest.main()
