# SPDX-License-Identifier: Apache-2.0
"""The real C extension in a real interpreter, without walls: frames in, frames out.

VIV_WRAP is put in front of the interpreter; `make check` sets it to valgrind.
"""

import array
import os
import shlex
import socket
import struct
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
VIV = os.environ.get("VIV", os.path.join(ROOT, "build", "viv"))
RUNNER = os.path.join(os.path.dirname(VIV), "runner")
WRAP = shlex.split(os.environ.get("VIV_WRAP", ""))
PYTHON = "/usr/bin/python3"
HEADER = struct.Struct("<IHHQII")  # size, type, flags, nonce, counter, 0: src/proto/frame.h
RUN, EVENT, DONE, ACK, FORK = 2, 3, 5, 6, 8
WAIT, MEMFD, MORE, STDIN, LOOK = 1, 2, 8, 16, 32
CHANNEL_FD = 3
FRAME_MAX = 16 << 20
PIECE_MAX = 64 << 10


class Interpreter:
    """A python3 with _vivarium loaded and a channel as descriptor 3, executing `code`."""

    def __init__(self, code, malloc="malloc"):
        self.channel, inside = socket.socketpair()
        self.channel.settimeout(60)
        prelude = f"import sys; sys.path.insert(0, {RUNNER!r}); import _vivarium as v\n"
        # The shell puts the channel where the walls would.
        shell = f'exec {CHANNEL_FD}<&{inside.fileno()} {inside.fileno()}<&-; exec "$@"'
        if inside.fileno() == CHANNEL_FD:
            shell = 'exec "$@"'
        env = {"PATH": "/usr/bin:/bin", "PYTHONMALLOC": malloc, "PYTHONDONTWRITEBYTECODE": "1"}
        argv = ["/bin/bash", "-c", shell, "bash", *WRAP, PYTHON, "-S", "-E", "-c", prelude + code]
        if WRAP:
            argv.remove("-E")  # it would ignore PYTHONMALLOC, without which valgrind sees little
        self.process = subprocess.Popen(argv, env=env, pass_fds=[inside.fileno()], text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        inside.close()

    def send(self, kind, payload, flags=0, nonce=7, fds=()):
        message = HEADER.pack(len(payload), kind, flags, nonce, 0, 0) + payload
        control = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        sent = self.channel.sendmsg([message], control)
        if sent < len(message):  # it may have all it needs, and be gone
            self.channel.sendall(message[sent:])

    def run_frame(self, meta, payload=b"", **more):
        self.send(RUN, struct.pack("<I", len(meta)) + meta + payload, **more)

    def read(self, size):
        data = b""
        while len(data) < size:
            piece = self.channel.recv(size - len(data))
            if not piece:
                raise AssertionError("the channel ended")
            data += piece
        return data

    def receive(self):
        size, kind, flags, nonce, self.counter, _ = HEADER.unpack(self.read(HEADER.size))
        return kind, flags, nonce, self.read(size)

    def receive_whole(self):
        """The payload of one send, and how many pieces it came in."""
        whole, flags, count, first = b"", MORE, 0, None
        while flags & MORE:
            _kind, flags, _nonce, piece = self.receive()
            first = first or self.counter
            if self.counter != first + count or flags & MORE and len(piece) != PIECE_MAX:
                raise AssertionError(f"piece {self.counter} of {len(piece)} bytes")
            whole, count = whole + piece, count + 1
        return whole, count

    def end(self):
        """Closes the channel; what the interpreter printed."""
        self.channel.close()
        out, err = self.process.communicate(timeout=120)
        if self.process.returncode != 0:
            raise AssertionError(f"ended with {self.process.returncode}: {err}")
        return out


def raises(call):
    return f"""
try:
    {call}
    print("no error")
except (OSError, ValueError) as error:
    print(type(error).__name__, getattr(error, "errno", None) or error)
"""


class Requests(unittest.TestCase):
    def test_a_request_comes_apart_into_meta_and_payload(self):
        inside = Interpreter("t, f, n, meta, data, fds = v.next()\n"
                             "print(t, f, n, meta, bytes(data), fds)")
        inside.run_frame(b"{}", b"code", nonce=2**63 + 1)
        self.assertEqual(inside.end(), f"2 0 {2**63 + 1} b'{{}}' b'code' ()\n")

    def test_a_request_that_waits_is_seen_before_it_is_read(self):
        inside = Interpreter("import select\n"
                             "seen = [v.is_asked()]\n"
                             f"v.send({DONE}, 0, b'')\n"
                             f"select.select([{CHANNEL_FD}], [], [])\n"
                             "seen.append(v.is_asked())\n"
                             "v.next()\n"
                             "print(*seen, v.is_asked())\n"
                             f"v.send({DONE}, 0, b'')")
        inside.receive()
        inside.run_frame(b"{}")
        inside.receive()
        self.assertEqual(inside.end(), "False True False\n")

    def test_a_descriptor_never_takes_the_number_of_a_closed_stream(self):
        inside = Interpreter("import os\n"
                             "os.close(1)\n"
                             "fds = v.next()[5]\n"
                             "import sys\n"
                             "sys.exit(0 if len(fds) == 1 and fds[0] > 3 else 9)")
        with open(os.devnull, "rb") as file:
            inside.send(FORK, b"", fds=[file.fileno()])
        self.assertEqual(inside.end(), "")

    def test_a_large_payload_comes_in_a_memfd(self):
        inside = Interpreter("meta, data = v.next()[3:5]\n"
                             "print(meta, len(data), bytes(data[:3]))")
        memfd = os.memfd_create("payload")
        os.write(memfd, b"abc" * 100_000)
        inside.run_frame(b"{}", flags=MEMFD, fds=[memfd])
        os.close(memfd)
        self.assertEqual(inside.end(), "b'{}' 300000 b'abc'\n")

    def test_an_empty_memfd_is_an_empty_payload(self):
        inside = Interpreter("print(bytes(v.next()[4]))")
        memfd = os.memfd_create("payload")
        inside.run_frame(b"{}", flags=MEMFD, fds=[memfd])
        os.close(memfd)
        self.assertEqual(inside.end(), "b''\n")

    def test_a_memfd_that_did_not_come_is_an_error_of_its_own(self):
        inside = Interpreter(raises("v.next()"))
        inside.run_frame(b"{}", flags=MEMFD)
        self.assertIn("ValueError no payload came", inside.end())

    def test_the_end_of_the_channel_is_none(self):
        self.assertEqual(Interpreter("print(v.next())").end(), "None\n")

    def test_a_frame_cut_short_is_the_end(self):
        inside = Interpreter("print(v.next())")
        inside.channel.sendall(HEADER.pack(100, RUN, 0, 1, 0, 0) + b"only this")
        self.assertEqual(inside.end(), "None\n")

    def test_a_length_above_the_limit_is_refused(self):
        inside = Interpreter(raises("v.next()"))
        inside.channel.sendall(HEADER.pack(FRAME_MAX + 1, RUN, 0, 1, 0, 0))
        self.assertIn("OSError", inside.end())

    def test_a_meta_size_that_does_not_add_up_is_refused(self):
        inside = Interpreter(raises("v.next()"))
        inside.send(RUN, struct.pack("<I", 1000) + b"{}")
        self.assertIn("OSError", inside.end())

    def test_a_late_ack_is_passed_over(self):
        inside = Interpreter("print(v.next()[3])")
        inside.send(ACK, b"")
        inside.run_frame(b"meta")
        self.assertEqual(inside.end(), "b'meta'\n")

    def test_descriptors_that_were_not_asked_for_are_closed(self):
        inside = Interpreter("import os; a = os.listdir('/proc/self/fd'); v.next();"
                             "print(len(os.listdir('/proc/self/fd')) - len(a))")
        inside.run_frame(b"{}", fds=[0, 1, 2])
        self.assertEqual(inside.end(), "0\n")

    def test_a_pipe_for_stdin_comes_behind_the_memfd(self):
        inside = Interpreter("import os; data, (fd,) = v.next()[4:]\n"
                             "print(bytes(data), os.read(fd, 9), os.get_inheritable(fd))")
        memfd = os.memfd_create("payload")
        os.write(memfd, b"abc")
        ours, theirs = os.pipe()
        os.write(theirs, b"typed")
        inside.run_frame(b"{}", flags=MEMFD | STDIN, fds=[memfd, ours])
        for fd in (memfd, ours, theirs):
            os.close(fd)
        self.assertEqual(inside.end(), "b'abc' b'typed' False\n")

    def test_a_fork_comes_with_its_descriptors(self):
        inside = Interpreter("t, f, n, meta, data, fds = v.next(); print(t, f, meta, len(fds))")
        inside.send(FORK, b"", flags=LOOK, fds=[0, 1, 2])
        self.assertEqual(inside.end(), "8 32 b'' 3\n")


class Zygotes(unittest.TestCase):
    def test_one_that_launch_let_go_of_ends_without_a_word(self):
        """Before it has said what the walls are, and before it is told that the imports are done."""
        walls = struct.pack("<IIII", 1, 1, 0, 0)  # src/proto/zygote_msg.h
        for first in (b"", walls):
            inside = Interpreter("import socket\n"
                                 "mine, launchs = socket.socketpair(type=socket.SOCK_SEQPACKET)\n"
                                 f"if {first!r}: launchs.send({first!r})\n"
                                 "launchs.close()\n"
                                 "v.zygote(mine.fileno(), '')")
            self.assertEqual(inside.end(), "")


# What the kernel counts of this process, in KiB.
KIB_OF = """
def kib_of(name):
    with open("/proc/self/smaps_rollup") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(name + ":"))
"""


class Arenas(unittest.TestCase):
    def test_small_objects_live_in_huge_pages_and_give_them_back(self):
        with open("/sys/kernel/mm/transparent_hugepage/enabled", encoding="ascii") as file:
            if "[never]" in file.read():
                self.skipTest("this kernel has huge pages turned off")
        inside = Interpreter(KIB_OF + """
v.huge()
v.huge()  # twice is as good as once
kept = [str(number) for number in range(1_000_000)]
huge, full = kib_of("AnonHugePages"), kib_of("Rss")
total = sum(map(int, kept))
del kept
again = [str(number) for number in range(1_000_000)]
grown = kib_of("Rss") - full
del again
print(huge > 40_000, total, grown < 8_000, full - kib_of("Rss") > 30_000)
""", malloc="pymalloc")
        self.assertEqual(inside.end(), "True 499999500000 True True\n")

    def test_a_limit_on_memory_is_a_memory_error(self):
        inside = Interpreter("""
import resource
v.huge()
resource.setrlimit(resource.RLIMIT_AS, (300 << 20, 300 << 20))
kept = []
try:
    while True:
        kept.append(str(len(kept)))
except MemoryError:
    count = len(kept)
    del kept
    print(count > 1_000_000, len([str(number) for number in range(1000)]))
""", malloc="pymalloc")
        self.assertEqual(inside.end(), "True 1000\n")


class Answers(unittest.TestCase):
    def test_a_frame_carries_the_nonce_of_its_run(self):
        inside = Interpreter(f"v.next(); v.send({DONE}, 0, b'{{}}'); v.next(); v.send({DONE}, 0, b'')")
        inside.run_frame(b"{}", nonce=41)
        self.assertEqual(inside.receive(), (DONE, 0, 41, b"{}"))
        inside.run_frame(b"{}", nonce=42)
        self.assertEqual(inside.receive(), (DONE, 0, 42, b""))
        inside.end()

    def test_both_parts_are_sent_whatever_their_type(self):
        inside = Interpreter(f"v.next(); v.send({EVENT}, 0, memoryview(b'ab'), bytearray(b'cd'))")
        inside.run_frame(b"{}")
        self.assertEqual(inside.receive()[3], b"abcd")
        inside.end()

    def test_an_event_that_waits_takes_its_ack(self):
        inside = Interpreter(
            f"import os, socket; v.next(); v.send({EVENT}, {WAIT}, b'1')\n"
            "print(socket.socket(fileno=os.dup(3)).recv(8, socket.MSG_PEEK)[4])")
        inside.run_frame(b"{}")
        inside.send(ACK, b"")
        inside.run_frame(b"{}")
        self.assertEqual(inside.receive()[3], b"1")
        self.assertEqual(inside.end(), f"{RUN}\n")

    def test_a_payload_of_megabytes_goes_through_a_small_socket(self):
        inside = Interpreter(f"v.next(); v.send({EVENT}, 0, b'x' * 5_000_000, b'y' * 5_000_000)")
        inside.run_frame(b"{}")
        payload, count = inside.receive_whole()
        self.assertEqual(payload, b"x" * 5_000_000 + b"y" * 5_000_000)
        self.assertEqual(count, 10_000_000 // PIECE_MAX + 1)
        inside.end()

    def test_pieces_end_with_the_payload(self):
        sizes = [(0, 0), (1, 0), (0, 1), (PIECE_MAX, 0), (PIECE_MAX - 1, 1), (PIECE_MAX, 1),
                 (10, 2 * PIECE_MAX - 10), (PIECE_MAX + 7, PIECE_MAX)]
        inside = Interpreter(f"v.next()\nfor a, b in {sizes}:\n    v.send(3, 0, b'x' * a, b'y' * b)")
        inside.run_frame(b"{}")
        for first, second in sizes:
            payload, count = inside.receive_whole()
            self.assertEqual(payload, b"x" * first + b"y" * second)
            self.assertEqual(count, max(1, -(-(first + second) // PIECE_MAX)))
        inside.end()

    def test_frames_are_counted_from_two(self):
        inside = Interpreter(f"v.next()\nfor _ in range(3): v.send({EVENT}, 0, b'')")
        inside.run_frame(b"{}")
        counters = []
        for _ in range(3):
            inside.receive()
            counters.append(inside.counter)
        self.assertEqual(counters, [2, 3, 4])  # HELLO, by whoever puts the walls up, was 1
        inside.end()

    def test_a_payload_above_the_limit_is_refused(self):
        inside = Interpreter(raises(f"v.send({EVENT}, 0, b'x' * {FRAME_MAX}, b'y')"))
        self.assertEqual(inside.end(), "OSError 90\n")

    def test_what_is_no_bytes_is_a_type_error(self):
        inside = Interpreter("try:\n    v.send(3, 0, object())\nexcept TypeError:\n    print('no')")
        self.assertEqual(inside.end(), "no\n")

    def test_only_an_empty_folder_of_a_tmpfs_is_surely_empty(self):
        with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
            def answers(*steps):
                code = f"import os\nos.chdir({folder!r})\n"
                code += "".join(f"{step}\nprint(v.is_empty({folder!r}))\n" for step in steps)
                return Interpreter(code).end().split()

            self.assertEqual(answers("", "open('a', 'w').close()", "os.remove('a')", "os.mkdir('d')",
                                     "os.rmdir('d')", "os.symlink('x', '.s')"),
                             ["True", "False", "True", "False", "True", "False"])
        # Not there, no folder, no tmpfs.
        inside = Interpreter(f"print(v.is_empty({folder!r}), v.is_empty('/dev/null'), "
                             "v.is_empty('/proc/self/task'))")
        self.assertEqual(inside.end(), "False False False\n")

    def test_a_closed_channel_is_an_error_and_no_signal(self):
        inside = Interpreter("v.next()" + raises(f"for _ in range(100): v.send({EVENT}, 0, b'x')"))
        self.assertIn("BrokenPipeError 32", inside.end())


if __name__ == "__main__":
    unittest.main()
