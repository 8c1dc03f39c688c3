# SPDX-License-Identifier: Apache-2.0
"""The stream to a box: what each relay refuses, how much it takes, and what it does for the other side.

That frames, payloads, stdin, output and forked heads go through it is what the other tests of this
folder and tests/boot show: `tests/pyunit.py tests/runner --form stream`.
"""

import os
import signal
import socket
import struct
import subprocess
import unittest

from harness import CHANNEL_FD, DEADLINE_S, RELAY

CHUNK = struct.Struct("<IIHH")  # size, port, kind, 0
OPEN, DATA, CREDIT, CLOSE, ATTACH, SIGNAL = range(1, 7)
CHANNEL, STDIN, STDOUT, STDERR = range(4)
IS_CHANNEL, IS_INPUT, IS_OUTPUT, IS_PAYLOAD = range(4)
CHUNK_MAX, WINDOW, PORTS_MAX = 64 << 10, 128 << 10, 256


def chunk(port, kind, data=b""):
    if isinstance(data, tuple):
        data = struct.pack(f"<{len(data)}I", *data)
    return CHUNK.pack(len(data), port, kind, 0) + data


class Inside:
    """A relay next to a program, and the stream to it, spoken by the test."""

    def __init__(self, *argv):
        self.process = subprocess.Popen([RELAY, "inside", *argv], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def send(self, *chunks):
        self.process.stdin.write(b"".join(chunks))
        self.process.stdin.flush()

    def receive(self):
        """(port, kind, bytes); None at the end."""
        header = self.process.stdout.read(CHUNK.size)
        if not header:
            return None
        size, port, kind, zero = CHUNK.unpack(header)
        assert zero == 0 and size <= CHUNK_MAX
        return port, kind, self.process.stdout.read(size)

    def all(self, port):
        """All data of that port up to its CLOSE; credit is given for it."""
        whole, granted, owed = b"", WINDOW, 0
        while True:
            number, kind, data = self.receive()
            if number != port:
                continue
            if kind == CLOSE:
                return whole
            if kind == DATA:
                whole += data
                owed += len(data)
                assert len(whole) <= granted, "more than there was credit for"
                if owed == WINDOW:  # as late as can be
                    self.send(chunk(port, CREDIT, (owed,)))
                    granted, owed = granted + owed, 0

    def __enter__(self):
        return self

    def __exit__(self, *_unused):
        self.process.stdin.close()
        self.process.stdout.read()
        self.process.wait(DEADLINE_S)
        self.process.stdout.close()
        self.process.stderr.close()


class Outside:
    """A relay that stands for a box, and the stream from and to it."""

    def __init__(self):
        ours, theirs = socket.socketpair()
        from_box, self.to_relay = os.pipe()
        self.from_relay, to_box = os.pipe()
        high = [os.dup(fd) for fd in (theirs.fileno(), from_box, to_box)]
        places = (f"exec 13<&{high[0]} 14<&{high[1]} 15>&{high[2]}; "
                  + " ".join(f"exec {fd}<&-; " for fd in high if fd not in (13, 14, 15))
                  + "exec 3<&13 4<&14 5>&15 13<&- 14<&- 15<&-")
        self.process = subprocess.Popen(["/bin/bash", "-c", places + '; exec "$0" outside', RELAY],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, pass_fds=high)
        for fd in (from_box, to_box, *high):
            os.close(fd)
        theirs.close()
        self.channel = ours
        self.channel.settimeout(DEADLINE_S)

    def send(self, *chunks):
        try:
            os.write(self.to_relay, b"".join(chunks))
        except BrokenPipeError:
            pass  # it has heard enough

    def end(self):
        """The status and last words of the relay once the box is gone."""
        os.close(self.to_relay)
        self.channel.close()
        self.process.stdin.close()
        out = self.process.stdout.read()
        words = self.process.stderr.read().decode()
        self.process.wait(DEADLINE_S)
        os.close(self.from_relay)
        self.process.stdout.close()
        self.process.stderr.close()
        return self.process.returncode, words, out


class Window(unittest.TestCase):
    def test_no_more_comes_than_there_is_credit_for(self):
        with Inside("/bin/sh", "-c", "head -c 1000000 /dev/zero; echo end >&2") as box:
            self.assertEqual(len(box.all(STDOUT)), 1000000)

    def test_a_full_window_of_one_port_leaves_the_others_open(self):
        with Inside("/bin/sh", "-c", "(head -c 1000000 /dev/zero; echo done >&2) & read line; "
                    "echo $line >&2; wait") as box:
            size = 0
            while size < WINDOW:
                port, kind, data = box.receive()
                self.assertEqual((port, kind), (STDOUT, DATA))
                size += len(data)
            box.send(chunk(STDIN, DATA, b"hello\n"))
            self.assertEqual(box.receive(), (STDERR, DATA, b"hello\n"))
            box.send(chunk(STDOUT, CLOSE))  # nobody wants the rest: its writer ends

    def test_credit_is_given_back_for_what_was_read(self):
        with Inside("/bin/sh", "-c", "wc -c") as box:
            for _ in range(4):
                box.send(*[chunk(STDIN, DATA, bytes(CHUNK_MAX // 2))] * 2)
                self.assertEqual(box.receive(), (STDIN, CREDIT, struct.pack("<I", CHUNK_MAX)))
            box.send(chunk(STDIN, CLOSE))
            self.assertEqual(box.receive(), (STDOUT, DATA, b"262144\n"))

    def test_a_slow_reader_outside_gets_everything(self):
        relay = Outside()
        relay.send(chunk(STDOUT, DATA, b"x" * CHUNK_MAX))
        relay.send(chunk(STDOUT, DATA, b"y" * CHUNK_MAX))
        status, words, out = relay.end()
        self.assertEqual((status, words), (0, ""))
        self.assertEqual(out, b"x" * CHUNK_MAX + b"y" * CHUNK_MAX)


class Order(unittest.TestCase):
    def test_frames_do_not_overtake_output(self):
        """Outside: more output than the pipe takes; the frame behind it, and the end, must wait."""
        relay = Outside()
        relay.send(chunk(STDOUT, DATA, b"x" * CHUNK_MAX))
        relay.send(chunk(STDOUT, DATA, b"y" * CHUNK_MAX))
        relay.send(chunk(CHANNEL, DATA, b"frame"), chunk(STDIN, CLOSE), chunk(CHANNEL, CLOSE))
        with self.assertRaises(BlockingIOError):
            self._wait_for_close(relay)
            relay.channel.setblocking(False)
            relay.channel.recv(5)
        self.assertEqual(len(relay.process.stdout.read(2 * CHUNK_MAX)), 2 * CHUNK_MAX)
        relay.channel.settimeout(DEADLINE_S)
        self.assertEqual(relay.channel.recv(5), b"frame")
        self.assertEqual(relay.channel.recv(5), b"")
        self.assertEqual(relay.end()[0], 0)

    @staticmethod
    def _wait_for_close(relay):
        """Until the relay has read all that was sent: its stdin was closed with the last chunk but one."""
        while True:
            try:
                os.write(relay.process.stdin.fileno(), b"x")
            except BrokenPipeError:
                return

    def test_output_comes_before_the_frame_that_was_sent_behind_it(self):
        program = ("import os\nfor i in range(200):\n    os.write(1, b'o' * 500)\n"
                   f"    os.write({CHANNEL_FD}, b'f' * 10)\n")
        with Inside("/usr/bin/python3", "-S", "-c", program) as box:
            seen = {STDOUT: 0, CHANNEL: 0}
            while (got := box.receive()) != (CHANNEL, CLOSE, b""):
                port, kind, data = got
                if kind == CLOSE:
                    continue
                seen[port] += len(data)
                self.assertGreaterEqual(seen[STDOUT] // 500, seen[CHANNEL] // 10)
            self.assertEqual(seen, {STDOUT: 100000, CHANNEL: 2000})


class Heads(unittest.TestCase):
    def test_a_signal_reaches_the_head_at_the_end_of_its_channel(self):
        program = ("import array, os, signal, socket, time\n"
                   "def hear(*_): os.write(3, b'heard'); os._exit(0)\n"
                   "first = socket.socket(fileno=3)\n"
                   "data, control, _, _ = first.recvmsg(24, 64)\n"
                   "fork = array.array('i', control[0][2])[0]\n"
                   "signal.signal(signal.SIGINT, hear)\n"
                   "if os.fork() == 0:\n    os.dup2(fork, 3)\n"
                   "os.close(fork)\nos.write(3, b'up')\n"
                   "while True: time.sleep(1)\n")
        with Inside("/usr/bin/python3", "-S", "-c", program) as box:
            box.send(chunk(4, OPEN, (IS_CHANNEL, STDOUT, STDERR)), chunk(CHANNEL, ATTACH, (4,)),
                     chunk(CHANNEL, DATA, bytes(24)))
            up = {box.receive(), box.receive()}
            self.assertEqual(up, {(CHANNEL, DATA, b"up"), (4, DATA, b"up")})
            for port in (4, CHANNEL):
                box.send(chunk(port, SIGNAL, (signal.SIGINT,)))
                while (got := box.receive()) != (port, DATA, b"heard"):
                    self.assertEqual(got[1], CLOSE)  # pipes that were let go of with the last head
                while box.receive() != (port, CLOSE, b""):
                    pass

    def test_what_is_attached_to_a_channel_that_has_ended_is_let_go_of(self):
        with Inside("/bin/sh", "-c", f"exec {CHANNEL_FD}<&-; cat") as box:
            self.assertEqual(box.receive(), (CHANNEL, CLOSE, b""))
            box.send(chunk(4, OPEN, (IS_INPUT, 4, 4)), chunk(5, OPEN, (IS_PAYLOAD, 5, 5)),
                     chunk(5, DATA, b"x"), chunk(5, CLOSE), chunk(CHANNEL, ATTACH, (5, 4)))
            self.assertEqual(box.receive(), (4, CLOSE, b""))


class Hostile(unittest.TestCase):
    def refused(self, *chunks):
        """By the relay outside: it ends, and everything behind it with it."""
        relay = Outside()
        relay.send(*chunks)
        self.assertEqual(relay.channel.recv(1), b"")
        status, words, _out = relay.end()
        self.assertEqual(status, 1, chunks)
        self.assertIn("relay: ", words)

    def test_what_no_relay_in_a_box_sends_ends_the_one_outside(self):
        for chunks in (
                [CHUNK.pack(CHUNK_MAX + 1, STDOUT, DATA, 0)], [CHUNK.pack(2**32 - 1, STDOUT, DATA, 0)],
                [chunk(STDOUT, 0)], [chunk(STDOUT, 7)], [chunk(STDOUT, DATA)],
                [CHUNK.pack(1, STDOUT, DATA, 1) + b"x"],
                [chunk(4, DATA, b"x")], [chunk(2**32 - 1, CLOSE)],
                [chunk(STDIN, DATA, b"x")], [chunk(STDOUT, CREDIT, (1,))],
                [chunk(CHANNEL, CREDIT, (1,))], [chunk(CHANNEL, CREDIT, (2**32 - 1,))],
                [chunk(CHANNEL, CREDIT, b"x")], [chunk(STDOUT, CLOSE, b"xxxx")],
                [chunk(4, OPEN, (IS_CHANNEL, 4, 4))], [chunk(CHANNEL, ATTACH, (1,))],
                [chunk(CHANNEL, SIGNAL, (9,))]):
            with self.subTest(chunks):
                self.refused(*chunks)

    def test_more_than_a_window_ends_it(self):
        relay = Outside()
        for _ in range(4):  # the pipe takes one of them, and the window two
            relay.send(chunk(STDOUT, DATA, bytes(CHUNK_MAX)))
        relay.send(*[chunk(STDOUT, DATA, b"x")] * 2)
        self.assertEqual(relay.channel.recv(1), b"")
        self.assertEqual(relay.end()[0], 1)

    def test_data_behind_the_end_of_a_port_ends_it(self):
        relay = Outside()
        relay.send(chunk(STDOUT, DATA, bytes(CHUNK_MAX)), chunk(STDOUT, DATA, bytes(CHUNK_MAX)))
        relay.send(chunk(STDOUT, CLOSE), chunk(STDOUT, DATA, b"x"))
        self.assertEqual(relay.channel.recv(1), b"")
        self.assertEqual(relay.end()[0], 1)

    def test_half_a_chunk_is_the_end_of_the_box(self):
        relay = Outside()
        relay.send(chunk(CHANNEL, DATA, b"frame"), CHUNK.pack(10, CHANNEL, DATA, 0) + b"ha")
        self.assertEqual(relay.channel.recv(5), b"frame")
        status, words, _out = relay.end()
        self.assertEqual((status, words), (0, ""))

    def test_the_end_of_a_port_that_was_not_heard_of_yet_is_no_fault(self):
        relay = Outside()
        relay.send(chunk(STDERR, CLOSE), chunk(STDERR, DATA, b"late"), chunk(STDERR, CLOSE))
        relay.send(chunk(STDOUT, DATA, b"fine"), chunk(CHANNEL, CLOSE))
        self.assertEqual(relay.channel.recv(1), b"")
        self.assertEqual(relay.end(), (0, "", b"fine"))

    def test_ports_without_end_are_refused_inside_too(self):
        with Inside("/bin/sh", "-c", "cat") as box:
            for number in range(4, PORTS_MAX + 1):
                box.send(chunk(number, OPEN, (IS_PAYLOAD, number, number)))
            self.assertIsNone(box.receive())
            self.assertEqual(box.process.wait(DEADLINE_S), 1)
        for wrong in (chunk(3, OPEN, (IS_INPUT, 3, 3)), chunk(4, OPEN, (4, 4, 4)),
                      chunk(STDIN, ATTACH, (STDOUT,)), chunk(STDIN, SIGNAL, (2,))):
            with Inside("/bin/sh", "-c", "cat") as box:
                box.send(wrong)
                self.assertIsNone(box.receive())
                self.assertEqual(box.process.wait(DEADLINE_S), 1)


if __name__ == "__main__":
    unittest.main()
