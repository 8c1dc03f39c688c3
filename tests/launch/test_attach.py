# SPDX-License-Identifier: Apache-2.0
"""A viv-launch that stays: who may come, what is kept, and when all of it ends."""

import contextlib
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from launcher import (ATTACHED, CAUSE_DEADLINE, CAUSE_SELF, ERR_BUSY, ERR_FORBIDDEN, EXIT, GONE, HEAD, HEAD_UP,
                      KEPT, KEPT_HEAD, QUIT, SPAWNED, Channel, Staying)
from test_launch import groups, groups_of


def wait_for_ends(pidfds, timeout=60):
    """All of these processes are over."""
    for pidfd in pidfds:
        ready, _, _ = select.select([pidfd], [], [], timeout)
        assert ready, "a process lives on"
        os.close(pidfd)


class AttachTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="viv-attach-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.staying = None

    def stay(self, **options):
        self.staying = Staying(os.path.join(self.folder, "launch.sock"), **options)
        self.addCleanup(self.staying.close)
        return self.staying

    def attach(self):
        """A client, what is kept for it, and what it is told behind that."""
        client = self.staying.connect()
        self.addCleanup(client.socket.close)
        self.assertEqual(client.hello.error, "")
        events = []
        while not events or events[-1].type != ATTACHED:
            events.append(client.event())
            for fd in events[-1].fds:
                self.addCleanup(os.close, fd)
        return client, events[:-1]

    def begin(self, **options):
        """A first client with a root."""
        self.stay(**options)
        client, kept = self.attach()
        self.assertEqual(kept, [])
        self.assertEqual(client.root().error, "")
        return client

    def start(self, client, number=0, name=None):
        sandbox = client.spawn(number)
        self.addCleanup(sandbox.close)
        client.expect(SPAWNED)
        sandbox.hello()
        if name:
            client.keep(sandbox, name, [sandbox.channel.fileno(), sandbox.stdout])
        return sandbox

    def again(self, client, number, event, head=0):
        """The channel of a head that was kept, as the next client finds it."""
        return Channel(client, number, head, socket.socket(fileno=os.dup(event.fds[0])))

    def family(self):
        """The outer half and all below it, as pidfds."""
        rows = [line.split() for line in subprocess.run(
            ["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True).stdout.splitlines()]
        family = {str(self.staying.process.pid)}
        for _ in range(5):
            family |= {pid for pid, parent in rows if parent in family}
        fds = []
        for pid in family:
            with contextlib.suppress(ProcessLookupError):  # it has ended since
                fds.append(os.pidfd_open(int(pid)))
        return fds

    def test_hello_says_how_long_it_waits(self):
        client = self.begin(reattach_ms=12345)
        self.assertEqual(client.reattach_ms, 12345)

    def test_a_second_client_is_refused_while_the_first_lives(self):
        client = self.begin()
        second = self.staying.connect()
        self.addCleanup(second.socket.close)
        self.assertEqual(second.hello.kind, ERR_BUSY)
        with self.assertRaises((EOFError, ConnectionError)):
            second.event()
        self.assertEqual(client.count()["sandboxes"], 0)

    def test_a_stranger_is_refused(self):
        if os.geteuid() != 0:
            # We are the stranger: this launch is for somebody else.
            self.stay(owner=os.getuid() + 1)
            self.assertEqual(self.staying.connect().hello.kind, ERR_FORBIDDEN)
            return
        self.begin().socket.close()
        os.chmod(self.folder, 0o755)
        os.chmod(self.staying.path, 0o666)
        code = (f"import sys; sys.path.insert(0, {HERE!r}); import socket, launcher; "
                "s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.connect(sys.argv[1]); "
                "print(launcher.Client(s).hello.kind)")
        run = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
                              "/usr/bin/python3", "-c", code, self.staying.path],
                             capture_output=True, text=True, timeout=30, check=False)
        self.assertEqual(run.stdout.strip(), str(ERR_FORBIDDEN), run.stderr)

    def test_what_is_kept_survives_and_what_is_not_dies(self):
        client = self.begin()
        kept = self.start(client, 0, "session-a")
        left = self.start(client, 1)
        kept.cell("x = 41")
        client.socket.close()
        with self.assertRaises((EOFError, ConnectionError)):
            left.frame()

        client, events = self.attach()
        self.assertEqual([(event.type, event.id) for event in events], [(KEPT, 0), (KEPT_HEAD, 0)])
        self.assertEqual(events[0].name, "session-a")
        self.assertEqual(len(events[0].fds), 2)
        self.assertEqual((events[1].head, events[1].is_armed, len(events[1].fds)), (0, 0, 0))
        self.assertTrue(os.path.exists(f"/proc/{events[1].pid}"))
        first = self.again(client, 0, events[0])
        self.addCleanup(first.close)
        self.assertEqual(first.cell("print(x + 1)"), "ok")
        self.assertEqual(os.read(events[0].fds[1], 100), b"42\n")

        # Its numbers are free: the next client makes its own root and sandboxes.
        self.assertEqual(client.root().error, "")
        self.start(client, 1)
        self.assertEqual(client.count()["sandboxes"], 2)

    def test_heads_are_kept_with_their_channels_and_looks_are_not(self):
        client = self.begin()
        first = self.start(client, 3, "tree")
        first.cell("x = 1")
        second = first.fork(1)
        self.addCleanup(second.close)
        second.cell("x = 2")
        look = second.fork(2, is_look=True)
        self.addCleanup(look.close)
        client.socket.close()

        client, events = self.attach()
        heads = {event.head: event for event in events if event.type == KEPT_HEAD}
        self.assertEqual(sorted(heads), [0, 1])
        self.assertEqual(heads[1].pid, second.pid)
        again = self.again(client, 3, heads[1], 1)
        self.addCleanup(again.close)
        event = client.expect(EXIT)  # of the look
        self.assertEqual(event.head, 2)
        self.assertEqual(again.cell("print(x)"), "ok")
        checkpoint = self.again(client, 3, events[0])
        self.addCleanup(checkpoint.close)
        third = checkpoint.fork(2)
        self.addCleanup(third.close)
        third.cell("print(x)")
        self.assertEqual(first.output(), "2\n1\n")

    def test_the_pipes_of_a_branch_are_kept_with_it(self):
        client = self.begin()
        first = self.start(client, 0, "branches")
        channel, pid = first.born()
        self.addCleanup(channel.close)
        pipes = [*os.pipe(), *os.pipe()]
        for fd in pipes:
            self.addCleanup(os.close, fd)
        client.request(HEAD, struct.pack("<IIIiI", 0, 1, 0, pid, 0), [channel.fileno(), *pipes])
        self.assertEqual(client.expect(HEAD_UP).error, "")
        client.socket.close()
        client, events = self.attach()
        head = next(event for event in events if event.type == KEPT_HEAD and event.head == 1)
        self.assertEqual([os.fstat(fd).st_ino for fd in head.fds],
                         [os.fstat(fd).st_ino for fd in (channel.fileno(), *pipes)])
        before = client.count()["fds_outer"]
        Channel(client, 0, 1).drop()
        client.expect(EXIT)
        self.assertEqual(client.count()["fds_outer"], before - 6)  # and its pidfd

    def test_a_run_goes_on_and_its_deadline_is_kept(self):
        client = self.begin()
        slow = self.start(client, 0, "slow")
        late = self.start(client, 1, "late")
        quick = self.start(client, 2, "quick")
        over = self.start(client, 3, "over")
        slow.run("import time; time.sleep(600)", timeout_ms=600000)
        over.run("x = 1", timeout_ms=2000)
        late.run("while True: pass", timeout_ms=2000)
        quick.run("import os; os._exit(5)", timeout_ms=20000)
        client.socket.close()
        with self.assertRaises((EOFError, ConnectionError)):
            late.done()
        with self.assertRaises((EOFError, ConnectionError)):
            quick.done()

        client, events = self.attach()
        self.assertEqual({event.name for event in events if event.type == KEPT}, {"slow", "late", "quick", "over"})
        self.assertIn(3, {event.id for event in events if event.type == KEPT_HEAD})  # what was done lives on
        armed = {event.id for event in events if event.type == KEPT_HEAD and event.is_armed}
        self.assertEqual(armed, {0})
        told = [client.event() for _ in range(4)]
        exits = {event.id: event for event in told if event.type == EXIT}
        self.assertEqual({event.id for event in told if event.type == GONE}, {1, 2})
        self.assertEqual(exits[1].cause, CAUSE_DEADLINE)
        self.assertEqual((exits[2].cause, exits[2].code), (CAUSE_SELF, 5))

    def test_an_exit_that_was_sent_but_not_read_is_told_again(self):
        client = self.begin()
        first = self.start(client, 0, "deaf")
        second = first.fork(1)
        self.addCleanup(second.close)
        second.run("import os; os._exit(3)")
        with self.assertRaises((EOFError, ConnectionError)):
            second.done()
        client.socket.close()
        client, _ = self.attach()
        event = client.expect(EXIT)
        self.assertEqual((event.head, event.code), (1, 3))

    def test_a_number_that_is_used_again_is_not_told_of(self):
        client = self.begin()
        first = self.start(client, 0, "once")
        first.drop()
        client.expect(EXIT)
        client.expect(GONE)
        self.start(client, 0)
        client.socket.close()
        _, events = self.attach()
        self.assertEqual(events, [])

    def test_a_sandbox_that_has_ended_is_kept_until_the_client_forgets_it(self):
        """A kill that crossed its end is no word of a client that has heard of it."""
        client = self.begin()
        first = self.start(client, 0, "gone")
        first.drop()
        client.expect(EXIT)
        client.expect(GONE)
        client.kill(0)
        client.socket.close()
        client, events = self.attach()
        self.assertEqual([(event.type, event.name, len(event.fds)) for event in events], [(KEPT, "gone", 2)])
        client.keep(first, "", [])
        client.socket.close()
        _, events = self.attach()
        self.assertEqual(events, [])

    def test_keep_replaces_and_without_descriptors_it_ends(self):
        client = self.begin()
        first = self.start(client, 0, "one")
        second = self.start(client, 1, "two")
        before = client.count()["fds_outer"]
        for number in range(20):
            client.keep(first, f"name {number}", [first.channel.fileno(), first.stdout])
        self.assertEqual(client.count()["fds_outer"], before)
        client.keep(second, "", [])
        self.assertEqual(client.count()["fds_outer"], before - 2)
        client.socket.close()
        _, events = self.attach()
        self.assertEqual([event.name for event in events if event.type == KEPT], ["name 19"])

    def test_nobody_comes_back(self):
        client = self.begin(reattach_ms=700)
        pattern = groups_of(self.staying)
        first = self.start(client, 0, "alone")
        second = first.fork(1)
        self.addCleanup(second.close)
        family = self.family()
        client.socket.close()
        begin = time.monotonic()
        with self.assertRaises((EOFError, ConnectionError)):
            second.frame()
        self.assertEqual(self.staying.process.wait(timeout=20), 0)
        self.assertTrue(0.6 < time.monotonic() - begin < 1.7)
        wait_for_ends(family)
        self.assertEqual(groups(pattern), set())

    def test_nobody_ever_comes(self):
        self.stay(reattach_ms=300)
        self.assertEqual(self.staying.process.wait(timeout=20), 0)

    def test_quit_ends_everything_at_once(self):
        client = self.begin()
        pattern = groups_of(self.staying)
        first = self.start(client, 0, "kept")
        client.request(QUIT)
        with self.assertRaises((EOFError, ConnectionError)):
            first.frame()
        self.assertEqual(self.staying.process.wait(timeout=20), 0)
        self.assertEqual(groups(pattern), set())

    def test_quit_is_heard_of_a_client_that_closed_with_events_unread(self):
        """The kernel tells the reset before the request that is still queued."""
        client = self.begin()
        first = self.start(client, 0, "kept")
        second = first.fork(1)
        self.addCleanup(second.close)
        second.run("import os; os._exit(3)")
        self.assertTrue(select.select([client.socket], [], [], 20)[0])
        self.staying.process.send_signal(signal.SIGSTOP)
        client.request(QUIT)
        client.socket.close()
        self.staying.process.send_signal(signal.SIGCONT)
        self.assertEqual(self.staying.process.wait(timeout=20), 0)

    def test_a_killed_launch_leaves_no_process(self):
        client = self.begin()
        first = self.start(client, 0, "kept")
        second = first.fork(1)
        self.addCleanup(second.close)
        family = self.family()
        self.staying.process.kill()
        self.staying.process.wait()
        for head in (first, second):
            with self.assertRaises((EOFError, ConnectionError)):
                head.frame()
        wait_for_ends(family)

    def test_coming_and_going_again_and_again_leaves_nothing(self):
        client = self.begin()
        first = self.start(client, 0, "steady")
        first.cell("n = 0")
        before = None
        for number in range(30):
            self.start(client, 1)
            client.socket.close()
            client, events = self.attach()
            first.launcher = client
            self.assertEqual(first.cell("n += 1"), "ok")
            self.assertEqual(client.root().error, "")
            if number == 3:
                before = client.count()
        self.assertEqual(client.count(), before)
        first.cell("print(n)")
        self.assertEqual(first.output(), "30\n")

    def test_only_numbers_are_taken_as_options(self):
        for arguments in ([], ["--owner", "0"], ["--owner", "x", "--reattach-ms", "1"],
                          ["--owner", "0", "--reattach-ms", "1", "more"],
                          ["--owner", "0", "--reattach-ms", "99999999999"]):
            path = os.path.join(self.folder, "other.sock")
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            listener.bind(path)
            listener.listen(1)
            program = os.path.join(os.path.dirname(os.environ["VIV"]), "viv-launch")
            run = subprocess.run([program, *arguments], preexec_fn=lambda: os.dup2(listener.fileno(), 3),
                                 pass_fds=(3,), capture_output=True, timeout=20, check=False)
            self.assertEqual(run.returncode, 2)
            listener.close()
            os.unlink(path)


if __name__ == "__main__":
    unittest.main()
