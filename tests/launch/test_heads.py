# SPDX-License-Identifier: Apache-2.0
"""Sandboxes with several heads: births, runs, ends, and who goes along."""

import glob
import os
import struct
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from launcher import (BEGIN, CAUSE_ASKED, CAUSE_DEADLINE, CAUSE_MEMORY, CAUSE_SELF, DISARM, DROP, END,
                      ERR_CONFLICT, ERR_FORBIDDEN, ERR_NOT_FOUND, ERR_UNSUPPORTED, EXIT, FREEZE, GONE,
                      LIMITS_MEASURED, METER, METERED, MIB, SIGNAL, SPAWNED, SWEEP, Launcher, plan)
from test_launch import groups_of

# A process whose parents are gone, in a session of its own. It prints its number and stays.
# Prints who lives. A process that ended is in /proc until its init has reaped it.
LIVING = """
import os
found = []
for name in filter(str.isdigit, os.listdir('/proc')):
    try:
        with open(f'/proc/{name}/stat') as file:
            if file.read().rpartition(')')[2].split()[0] not in 'ZX':
                found.append(int(name))
    except OSError:
        pass
print(sorted(found))
"""
ORPHAN = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.write(1, b'%d\\n' % os.getpid())
        time.sleep(1000)
    os._exit(0)
os.wait()
"""


def below(pattern):
    """All cgroups of a launcher."""
    return {path for path in glob.glob(f"{pattern}/**/", recursive=True)} if pattern else set()


def mounts_of(launcher):
    with open(f"/proc/{launcher.process.pid}/mountinfo", encoding="utf-8") as file:
        return len(file.readlines())


class HeadsTest(unittest.TestCase):
    def setUp(self):
        self.launcher = Launcher()
        self.addCleanup(self.launcher.close)
        self.assertEqual(self.launcher.root().error, "")

    def start(self, number=0, **options):
        sandbox = self.launcher.spawn(number, **options)
        self.addCleanup(sandbox.close)
        self.launcher.expect(SPAWNED)
        sandbox.hello()
        return sandbox

    def fork(self, parent, head, is_look=False):
        child = parent.fork(head, is_look)
        self.addCleanup(child.close)
        return child

    def exit(self, head):
        event = self.launcher.expect(EXIT)
        self.assertEqual(event.head, head)
        return event

    def test_a_fork_has_the_state_and_a_dropped_one_leaves_the_checkpoint(self):
        first = self.start()
        self.assertEqual(first.cell("x = 1"), "ok")
        second = self.fork(first, 1)
        self.assertEqual(second.cell("x += 1; print(x)"), "ok")
        self.assertEqual(first.output(), "2\n")
        second.drop()
        event = self.exit(1)
        self.assertEqual((event.cause, event.code), (CAUSE_ASKED, -1))
        third = self.fork(first, 1)
        self.assertEqual(third.cell("print(x)"), "ok")
        self.assertEqual(first.output(), "1\n")

    def test_the_deadline_ends_the_head_alone(self):
        first = self.start()
        first.cell("x = 7")
        second = self.fork(first, 1)
        second.run("while True: pass", timeout_ms=200)
        event = self.exit(1)
        self.assertEqual((event.cause, event.signal), (CAUSE_DEADLINE, 9))
        self.assertGreater(event.cpu_us, 5000)
        self.assertEqual(self.fork(first, 2).cell("print(x)"), "ok")
        self.assertEqual(first.output(), "7\n")

    def test_exit_code_and_signal_of_a_head(self):
        first = self.start()
        second = self.fork(first, 1)
        second.run("import os; os._exit(7)")
        event = self.exit(1)
        self.assertEqual((event.cause, event.code, event.signal), (CAUSE_SELF, 7, 0))
        second = self.fork(first, 1)
        second.run("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
        event = self.exit(1)
        self.assertEqual((event.cause, event.code, event.signal), (CAUSE_SELF, -1, 11))

    def test_forks_of_a_zygote_are_heads_like_others(self):
        self.launcher.zygote(0)
        first = self.start(zygote=0)
        first.cell("x = 6")
        for code, expected in ((3, (3, 0)), (0, (0, 0))):
            self.fork(first, 1).run(f"import os; os._exit({code})")
            event = self.exit(1)
            self.assertEqual((event.cause, event.code, event.signal), (CAUSE_SELF, *expected))
        self.fork(first, 1).run("import os; os.abort()")
        self.assertEqual(self.exit(1).signal, 6)
        self.assertEqual(self.fork(first, 1).cell("print(x)"), "ok")
        self.assertEqual(first.output(), "6\n")

    def test_the_exit_code_of_a_head_whose_parent_is_gone(self):
        first = self.start()
        second = self.fork(first, 1)
        first.drop()
        self.exit(0)
        second.run("import os; os._exit(9)")
        event = self.exit(1)
        self.assertEqual((event.cause, event.code), (CAUSE_SELF, 9))
        self.assertEqual(self.launcher.expect(GONE).error, "")

    def test_what_a_head_started_goes_with_it(self):
        first = self.start()
        second = self.fork(first, 1)
        self.assertEqual(second.cell(ORPHAN + "if os.fork() == 0: time.sleep(1000)"), "ok")
        orphan = int(first.output())
        second.drop()
        self.exit(1)
        third = self.fork(first, 2)
        third.cell(LIVING)
        self.assertNotIn(orphan, eval(first.output()))

    def test_what_a_checkpoint_left_behind_stays(self):
        """A process that an earlier run has put into the background is part of the state."""
        first = self.start()
        self.assertEqual(first.cell(ORPHAN), "ok")
        orphan = int(first.output())
        second = self.fork(first, 1)
        third = self.fork(second, 2)
        third.drop()
        self.exit(2)
        first.drop()
        self.exit(0)
        second.cell(f"import os; os.kill({orphan}, 0); print('there')")
        self.assertEqual(first.output(), "there\n")

    def left_by_a_later_run(self):
        """A head, what a second one has put into the background, and a third that goes on from there."""
        first = self.start()
        second = self.fork(first, 1)
        self.assertEqual(second.cell(ORPHAN), "ok")
        return first, int(first.output()), self.fork(second, 2)

    def pids(self, first, head):
        head.cell(LIVING)
        return eval(first.output())

    def test_what_later_runs_left_ends_when_it_is_gone_back(self):
        first, orphan, third = self.left_by_a_later_run()
        self.assertIn(orphan, self.pids(first, third))
        third.drop()
        self.exit(2)
        fourth = self.fork(first, 3)
        # It was killed; the kernel and the init take their time.
        self.assertTrue(any(orphan not in self.pids(first, fourth) for _ in range(5000)))

    def test_what_later_runs_left_stays_where_one_goes_on_from_there(self):
        first, orphan, third = self.left_by_a_later_run()
        branch = self.fork(first, 3)
        self.assertIn(orphan, self.pids(first, third))
        branch.drop()

    def test_a_fork_bomb_in_a_head_ends_with_it(self):
        first = self.start(packed_plan=plan(pids=24))
        first.cell("x = 3")
        second = self.fork(first, 1)
        second.run("import os\n"
                   "while True:\n"
                   "    try:\n"
                   "        if os.fork() == 0: os.setsid()\n"
                   "    except OSError: pass", timeout_ms=400)
        event = self.exit(1)
        self.assertEqual(event.cause, CAUSE_DEADLINE)
        self.assertEqual(self.fork(first, 2).cell("print(x)"), "ok")
        self.assertEqual(first.output(), "3\n")

    def test_out_of_memory_in_a_head_keeps_the_checkpoint(self):
        first = self.start(packed_plan=plan(memory=96 * MIB))
        first.cell("x = 5")
        for head in (1, 2):
            second = self.fork(first, head)
            second.run("x = []\nwhile True: x.append(b'x' * 1000000)", timeout_ms=30000)
            event = self.exit(head)
            if self.launcher.limits == LIMITS_MEASURED:
                self.assertEqual(event.cause, CAUSE_MEMORY)
            else:
                self.assertEqual((event.cause, event.oom_kills > 0), (CAUSE_SELF, True))
            self.assertGreater(event.peak, 64 * MIB)
        third = self.fork(first, 1)
        third.run("print(x)")
        self.assertEqual(third.done()["kind"], "ok")
        ended = third.end()
        self.assertEqual(ended.oom_kills, 0)
        self.assertEqual(first.output(), "5\n")

    def test_out_of_memory_in_a_child_of_a_head_ends_that_head(self):
        first = self.start(packed_plan=plan(memory=96 * MIB))
        second = self.fork(first, 1)
        second.run("import os, time\n"
                   "if os.fork() == 0:\n"
                   "    x = []\n"
                   "    while True: x.append(b'x' * 1000000)\n"
                   "time.sleep(1000)", timeout_ms=30000)
        event = self.exit(1)
        measured = self.launcher.limits == LIMITS_MEASURED
        self.assertEqual((event.cause, event.oom_kills > 0),
                         (CAUSE_MEMORY, False) if measured else (CAUSE_SELF, True))
        self.assertEqual(self.fork(first, 1).cell("1"), "ok")

    def test_a_run_that_ends_is_counted_for_itself(self):
        first = self.start()
        first.run("x = bytearray(100 << 20); sum(range(3000000))")
        self.assertEqual(first.done()["kind"], "ok")
        large = first.end()
        first.cell("del x")
        first.run("1")
        self.assertEqual(first.done()["kind"], "ok")
        small = first.end()
        self.assertGreater(large.cpu_us, small.cpu_us)
        if self.launcher.limits != LIMITS_MEASURED:
            self.assertGreater(large.peak, 100 * MIB)
            self.assertLess(small.peak, 100 * MIB)
            self.assertGreater(large.memory, 100 * MIB)
            self.assertTrue(0 < small.memory < 100 * MIB)

    def test_an_ended_run_has_no_deadline(self):
        first = self.start()
        first.run("1", timeout_ms=300)
        first.done()
        first.end()
        first.run("import time; time.sleep(0.4)", timeout_ms=20000)  # past the first deadline
        self.assertEqual(first.done()["kind"], "ok")

    def test_a_disarmed_run_has_no_deadline(self):
        first = self.start()
        first.run("1", timeout_ms=300)
        first.done()
        self.launcher.request(DISARM, struct.pack("<II", 0, 0))
        first.run("import time; time.sleep(0.4)", timeout_ms=20000)  # past the first deadline
        self.assertEqual(first.done()["kind"], "ok")

    def test_the_next_run_replaces_the_deadline_of_the_last(self):
        first = self.start()
        first.run("1", timeout_ms=300)
        first.done()
        first.run("import time; time.sleep(0.4)", timeout_ms=20000)  # launch heard of no end
        self.assertEqual(first.done()["kind"], "ok")

    def test_the_meter_shows_what_launch_counts(self):
        first = self.start()
        first.run("x = bytearray(50 << 20); sum(range(1000000))")
        self.assertEqual(first.done()["kind"], "ok")
        counted = first.end()
        self.launcher.request(METER, struct.pack("<I", 0))
        event = self.launcher.expect(METERED)
        for fd in event.fds:
            self.addCleanup(os.close, fd)
        if self.launcher.limits == LIMITS_MEASURED:
            self.assertEqual(event.fds, [])
            self.assertIn("no cgroup", event.error)
            return
        cpu, memory, peak, kills = (os.pread(fd, 4096, 0).decode() for fd in event.fds)
        self.assertGreaterEqual(int(cpu.split()[1]), counted.cpu_us)
        self.assertEqual(cpu.split()[0], "usage_usec")
        self.assertGreater(int(memory), 50 * MIB)
        self.assertGreaterEqual(int(peak), counted.peak)
        self.assertRegex(kills, r"(?m)^oom_kill 0$")
        first.cell("del x")
        os.write(event.fds[2], b"0")  # from here on the peak is counted anew
        self.assertLess(int(os.pread(event.fds[2], 4096, 0)), 50 * MIB)

    def test_a_meter_of_nothing(self):
        before = self.launcher.count()
        for number in (1, 4095, 4096, 0xffffffff):
            self.launcher.request(METER, struct.pack("<I", number))
            self.launcher.request(DISARM, struct.pack("<II", number, 0))
        self.assertEqual(self.launcher.count(), before)

    def test_branches_run_side_by_side_and_end_one_by_one(self):
        first = self.start()
        first.cell("x = 1")
        branches = [self.fork(first, head) for head in range(1, 5)]
        for branch in branches:
            branch.run(f"x += {branch.head}; import time\nwhile {branch.head} % 2: pass",
                       timeout_ms=300 if branch.head % 2 else 20000)
        for branch in branches[1::2]:
            self.assertEqual(branch.done()["kind"], "ok")
        ended = sorted(self.launcher.expect(EXIT).head for _ in range(2))
        self.assertEqual(ended, [1, 3])
        for branch in branches[1::2]:
            branch.end()
            branch.cell("print(x)")
            self.assertEqual(first.output(), f"{1 + branch.head}\n")

    def test_an_interrupt_reaches_the_head_it_is_for(self):
        first = self.start()
        second = self.fork(first, 1)
        for number, head in ((0, first), (1, second)):
            head.run("import time\nprint('up', flush=True)\ntime.sleep(1000)")
            self.assertEqual(first.output(), "up\n")
            self.assertEqual(self.launcher.ask(SIGNAL, 0, number).error, "")
            self.assertEqual(head.done()["kind"], "interrupted")
            head.end()
        self.assertEqual(self.launcher.ask(SIGNAL, 0, 5).kind, ERR_NOT_FOUND)
        self.assertEqual(self.launcher.ask(SIGNAL, 9, 0).kind, ERR_NOT_FOUND)

    def test_a_single_head_is_interrupted_too(self):
        first = self.start()
        first.run("import time\nprint('up', flush=True)\ntime.sleep(1000)")
        first.output()
        self.assertEqual(self.launcher.ask(SIGNAL, 0, 0).error, "")
        self.assertEqual(first.done()["kind"], "interrupted")

    def test_a_look_goes_and_its_parent_stays_the_head(self):
        first = self.start()
        first.cell("x = 2")
        look = self.fork(first, 1, is_look=True)
        look.drop()
        self.assertEqual(self.exit(1).cause, CAUSE_ASKED)
        first.cell(ORPHAN + "print(x)")
        self.assertIn("2\n", first.output())

    def test_dropping_the_only_head_ends_the_sandbox(self):
        first = self.start()
        first.drop()
        self.assertEqual(self.exit(0).cause, CAUSE_ASKED)
        self.launcher.expect(GONE)

    def test_a_killed_sandbox_tells_the_exit_of_each_head(self):
        first = self.start()
        self.fork(self.fork(first, 1), 2)
        self.launcher.kill(0)
        heads = sorted(self.launcher.expect(EXIT).head for _ in range(3))
        self.assertEqual(heads, [0, 1, 2])
        self.launcher.expect(GONE)
        self.assertEqual(self.launcher.count()["heads"], 0)

    def test_processes_that_are_no_heads_of_this_sandbox(self):
        first = self.start(0)
        other = self.start(1)
        channel, stranger = other.born()
        self.addCleanup(channel.close)
        with open("/proc/sys/kernel/pid_max", encoding="ascii") as file:
            nobody = int(file.read()) + 7
        for pid, kind in ((stranger, ERR_FORBIDDEN), (os.getpid(), ERR_FORBIDDEN),
                          (self.launcher.process.pid, ERR_FORBIDDEN)):
            self.assertEqual(self.launcher.head(0, 1, 0, pid, channel.fileno()).kind, kind)
        for pid in (0, -1, 1, nobody):
            self.assertNotEqual(self.launcher.head(0, 1, 0, pid, channel.fileno()).error, "")
        # It was refused, not ended: it is none of this sandbox's.
        self.assertEqual(self.launcher.head(1, 1, 0, stranger, channel.fileno()).error, "")
        self.assertEqual(self.launcher.head(1, 2, 0, stranger, channel.fileno()).kind, ERR_CONFLICT)
        self.assertEqual(first.cell("1"), "ok")

    def test_numbers_of_heads(self):
        first = self.start()
        channel, pid = first.born()
        self.addCleanup(channel.close)
        for sandbox, head, parent in ((0, 0, 0), (0, 32, 0), (0, 2**32 - 1, 0), (0, 1, 3), (7, 1, 0),
                                      (2**32 - 1, 1, 0)):
            self.assertNotEqual(self.launcher.head(sandbox, head, parent, pid, channel.fileno()).error, "")
        self.assertEqual(self.launcher.head(0, 31, 0, pid, channel.fileno()).error, "")
        channel, pid = first.born()
        self.addCleanup(channel.close)
        self.assertEqual(self.launcher.head(0, 31, 0, pid, channel.fileno()).kind, ERR_CONFLICT)
        for kind in (BEGIN, END, DROP):
            for sandbox, head in ((0, 4), (0, 99), (8, 0), (2**32 - 1, 0)):
                self.launcher.request(kind, struct.pack("<III", sandbox, head, 10))
        self.assertEqual(self.launcher.count()["heads"], 1)

    def test_a_rollback_again_and_again_leaves_nothing(self):
        first = self.start(packed_plan=plan(pids=40))
        first.cell("x = 4")

        def one(code):
            head = first.fork(1)
            head.run(code, timeout_ms=20000)
            self.exit(1)
            head.close()

        one("import os; os._exit(1)")
        pattern = groups_of(self.launcher)
        held = lambda: (self.launcher.count(), below(pattern), mounts_of(self.launcher))
        before = held()
        for _ in range(200):
            one("import os\nif os.fork() == 0:\n    import time; time.sleep(1000)\nos._exit(1)")
        end = time.monotonic() + 60
        while held() != before and time.monotonic() < end:
            pass  # the inner half may still be at the last one: each look is an answer of it
        self.assertEqual(held(), before)
        head = self.fork(first, 1)
        head.cell("import os; print(x, len([n for n in os.listdir('/proc') if n.isdigit()]))")
        x, processes = first.output().split()
        self.assertEqual(x, "4")
        self.assertLessEqual(int(processes), 3)  # init, the checkpoint, this head

    def freeze(self, number=0):
        """False where this user has no freezer: then it is said, and the sandbox goes on."""
        event = self.launcher.ask(FREEZE, number, 1)
        if self.launcher.can_freeze:
            self.assertEqual((event.error, event.head), ("", 1))
        else:
            self.assertEqual(event.kind, ERR_UNSUPPORTED)
        return bool(self.launcher.can_freeze)

    def test_a_frozen_sandbox_stands_still_and_goes_on(self):
        first = self.start()
        second = self.fork(first, 1)
        second.cell("x = 8")
        if self.freeze():
            with open(f"/proc/{second.pid}/cgroup", encoding="ascii") as file:
                path = next(line.split("::")[1] for line in file.read().splitlines() if "::" in line)
            events, = glob.glob(f"/sys/fs/cgroup{path}/cgroup.events") or glob.glob(
                f"/sys/fs/cgroup/unified{path}/cgroup.events")
            with open(events, encoding="ascii") as file:
                self.assertIn("frozen 1", file.read())
            self.assertEqual(self.launcher.ask(FREEZE, 0, 0).error, "")
        self.assertEqual(second.cell("print(x)"), "ok")
        self.assertEqual(first.output(), "8\n")

    def test_a_frozen_sandbox_can_be_killed_and_a_run_thaws_it(self):
        first = self.start()
        second = self.fork(first, 1)
        self.freeze()
        self.assertEqual(second.cell("print('again')"), "ok")
        self.freeze()
        second.drop()
        self.assertEqual(self.exit(1).cause, CAUSE_ASKED)
        self.launcher.kill(0)
        self.exit(0)
        self.launcher.expect(GONE)

    def test_what_runs_is_not_frozen(self):
        first = self.start()
        first.run("import time\nprint('up', flush=True)\ntime.sleep(1000)")
        first.output()
        self.assertEqual(self.launcher.ask(FREEZE, 0, 1).kind, ERR_CONFLICT)
        self.assertEqual(self.launcher.ask(FREEZE, 5, 1).kind, ERR_NOT_FOUND)

    def test_a_sweep_leaves_the_heads_alone(self):
        first = self.start()
        self.assertEqual(first.cell(ORPHAN), "ok")
        first.output()
        second = self.fork(first, 1)
        self.assertEqual(second.cell("x = 8\nimport subprocess\nchild = subprocess.Popen(['sleep', '1000'])"), "ok")
        self.assertEqual(self.launcher.ask(SWEEP, 0, 0).left, 2)
        self.assertEqual(self.launcher.ask(SWEEP, 0, 1).left, 0)
        self.assertEqual(self.launcher.ask(SWEEP, 0, 0).left, 0)
        self.assertEqual(second.cell("print(x, child.wait())"), "ok")
        self.assertEqual(first.output(), "8 -9\n")
        self.assertEqual(self.launcher.ask(SWEEP, 5, 1).kind, ERR_NOT_FOUND)

    def test_the_end_of_the_launcher_takes_every_head_along(self):
        first = self.start()
        second = self.fork(first, 1)
        second.run("import time; time.sleep(1000)")
        self.launcher.process.kill()
        self.launcher.process.wait()
        for head in (first, second):
            with self.assertRaises((EOFError, ConnectionError)):
                head.done()


if __name__ == "__main__":
    unittest.main()
