#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Sandboxes of one launcher, and launchers of one host, must not feel each other.

    VIV=build/viv tests/escape/pool/test_neighbours.py

As root every test is done twice: by root, and by an ordinary user, whose sandboxes all share one uid.
"""

import os
import sys
import time
import unittest

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(FOLDER, "..", "..", "launch"))

import launcher  # noqa: E402

NOBODY = 65534
SPAWN_SECONDS = 0.7     # some milliseconds, or as many times longer as a machine is busy
DEADLINE_SECONDS = 2.0  # from a deadline of 0.2 s to the last process's end
SLOWER = 20             # than a spawn with nobody beside it

FORK = """
import os, signal
count = 0
try:
    while count < 100:
        if os.fork() == 0:
            signal.pause()
        count += 1
except OSError:
    pass
print(count, flush=True)
"""

# One page of shared memory is in a thousand places: cheap to hold, dear to measure exactly.
SPREAD = """
import mmap, os, signal
SIZE = 64 << 20
fd = os.open("/dev/shm/x", os.O_RDWR | os.O_CREAT)
os.write(fd, bytes(SIZE))
reader, writer = os.pipe()
for number in range(24):
    if os.fork() == 0:
        areas = [mmap.mmap(fd, SIZE) for _ in range(32)]
        for area in areas:
            for at in range(0, SIZE, 65536):
                area[at]
        os.write(writer, b"x")
        signal.pause()
    os.read(reader, 1)
print("ready", flush=True)
signal.pause()
"""


class Neighbours(unittest.TestCase):
    def setUp(self):
        self.launcher = self.start()

    def start(self):
        one = launcher.Launcher()
        self.addCleanup(one.close)
        self.assertEqual(one.root().error, "")
        return one

    def spawn(self, number, owner=None, **plan):
        owner = owner or self.launcher
        sandbox = owner.spawn(number, packed_plan=launcher.plan(**plan))
        self.addCleanup(sandbox.close)
        self.wait_for(launcher.SPAWNED, number, owner)
        sandbox.hello()
        return sandbox

    def wait_for(self, kind, number, owner=None):
        while True:
            event = (owner or self.launcher).event(60)
            if event.id == number and event.type == kind:
                return event
            if event.id == number and event.type == launcher.GONE:
                self.fail(f"sandbox {number} is gone: {event.error}")

    def test_processes_are_counted_per_sandbox(self):
        for number in range(3):
            sandbox = self.spawn(number, pids=32)
            sandbox.run(FORK)
            self.assertEqual(int(sandbox.output()), 31, f"sandbox {number}")

    def test_measuring_one_holds_up_no_other(self):
        before = time.monotonic()
        hog = self.spawn(0, pids=32)
        alone = time.monotonic() - before
        hog.run(SPREAD, timeout_ms=120000)
        self.assertEqual(hog.output(), "ready\n")
        for number in range(1, 4):
            before = time.monotonic()
            sandbox = self.spawn(number, pids=64)
            self.assertLess(time.monotonic() - before, max(SPAWN_SECONDS, SLOWER * alone), "a spawn beside it")
        before = time.monotonic()
        sandbox.run("import time\ntime.sleep(60)", timeout_ms=200)
        self.wait_for(launcher.GONE, 3)
        self.assertLess(time.monotonic() - before, max(DEADLINE_SECONDS, SLOWER * alone), "a deadline beside it")

    def test_launchers_of_root_share_no_uid(self):
        if not self.launcher.is_root:
            self.skipTest("an ordinary user has one uid")
        owners = set()
        for one in (self.launcher, self.start()):
            sandbox = self.spawn(0, one)
            sandbox.run("print([line.split('uid=')[1].split(',')[0] for line in "
                        "open('/proc/self/mountinfo') if ' /workspace ' in line][0])")
            owners.add(sandbox.output().strip())
        self.assertEqual(len(owners), 2, f"both are uid {owners}")


def main():
    if os.getuid() != 0:
        return 0 if unittest.main(exit=False).result.wasSuccessful() else 1
    child = os.fork()
    if child == 0:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
        os.environ["HOME"] = "/nonexistent"
    else:
        is_good_for_user = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    is_good = unittest.main(exit=False).result.wasSuccessful()
    if child == 0:
        os._exit(0 if is_good else 1)
    return 0 if is_good and is_good_for_user else 1


if __name__ == "__main__":
    sys.exit(main())
