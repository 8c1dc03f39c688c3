# SPDX-License-Identifier: Apache-2.0
"""Memory that the daemon lends to a sandbox comes back, whatever the code inside keeps."""

import concurrent.futures

from case import BARE, Case, DaemonCase, wait_for

MIB = 1 << 20

# The interpreter is shared: what one run changes in the runner is there for the next one.
KEEPER = """
import os, sys
inputs = sys.modules['vivarium.inputs']
kept, seen = [], []
def keep(request):
    if len(request.payload) > 65536:
        kept.append(request.payload)
        seen.append(bytes(request.payload[-1:]))
    request.payload = memoryview(b'')
inputs.Request.release = keep
def pinned():
    '''Bytes of memory behind every memfd that this process holds.'''
    total = 0
    for name in os.listdir('/proc/self/fd'):
        try:
            if 'memfd:' in os.readlink('/proc/self/fd/' + name):
                total += os.fstat(int(name)).st_blocks * 512
        except OSError:
            pass
    return total
"""


class PayloadTest(DaemonCase):
    """Large inputs come in a memfd of the daemon's: charged to it, seen by no limit of the sandbox."""

    CONFIG = BARE

    def test_descriptors_of_inputs_that_are_kept_hold_nothing_once_the_run_is_over(self):
        session = self.new_session()
        self.daemon.run(KEEPER, session)
        for _ in range(6):
            self.daemon.run("#" + "x" * (4 * MIB), session)
        kept, seen, left = self.daemon.value("[len(kept), b''.join(seen).decode(), pinned()]", session)
        self.assertEqual((kept, seen), (6, "x" * 6))
        self.assertEqual(left, 0)

    def test_the_payload_is_whole_while_its_run_is_on(self):
        session = self.new_session()
        self.daemon.run(KEEPER, session)
        files = [{"path": f"{i}.txt", "text": str(i) * MIB} for i in range(3)]
        body = {"code": "held = pinned()\n[held, [len(open(f'{i}.txt').read()) for i in range(3)]]", "files": files}
        result = self.daemon.ask("POST", f"/v1/sessions/{session}/run", body)
        held, sizes = result["result"]["application/json"]
        self.assertGreater(held, 3 * MIB)
        self.assertEqual(sizes, [MIB] * 3)


class RestartTest(Case):
    GO = """
class Go:
    def __repr__(self):
        return str(os.close(os.open('/tmp/go', os.O_CREAT)))
go = [Go()]
"""

    def test_what_a_killed_daemon_had_lent_is_taken_back_by_the_next_one(self):
        daemon = self.serve()
        for wait, body in (("input()", {"stdin": "live"}),
                           ("import time\nwhile not os.path.exists('/tmp/go'):\n    time.sleep(0.001)", {})):
            session = daemon.session(runtime="bare")
            daemon.run(KEEPER + self.GO, session)
            run = daemon.start_run(f"print(pinned(), flush=True)\n{wait}\n#" + "x" * (8 * MIB), session, **body)
            with daemon.events(run) as events:
                self.assertGreater(int(events.until("stdout")["text"]), 8 * MIB)
            daemon.restart()
            if body:
                wait_for(lambda path=f"/v1/runs/{run}/stdin": daemon.request("POST", path, {"text": "go\n"}).status == 200)
            daemon.ask("GET", f"/v1/sessions/{session}/vars/go")
            with daemon.events(run) as events:
                self.assertEqual(events.until("verdict")["verdict"]["kind"], "ok")
            self.assertEqual(daemon.value("[len(kept), pinned()]", session), [1, 0])
        daemon.stop()


class PipeTest(DaemonCase):
    """Text for a live stdin waits in a pipe of the daemon. The pipe's size depends on how many its user has; every pipe
    can take a page."""

    CONFIG = BARE
    CODE = """
import fcntl, os, struct, termios, time
kept = globals().get('kept', []) + [os.dup(0)]
print('on', flush=True)
while struct.unpack('i', fcntl.ioctl(0, termios.FIONREAD, b'    '))[0] < 3000:
    time.sleep(0.001)
"""
    LEFT = "[[struct.unpack('i', fcntl.ioctl(fd, termios.FIONREAD, b'    '))[0], fcntl.fcntl(fd, 1032)] for fd in kept]"

    def test_bytes_that_nobody_has_read_are_taken_back(self):
        session = self.new_session()
        for eof in (False, True):
            run = self.daemon.start_run(self.CODE, session, stdin="live")
            with self.daemon.events(run) as events:
                for event in events:
                    if event["type"] == "stdout":
                        self.daemon.ask("POST", f"/v1/runs/{run}/stdin", {"text": "x" * 3000, "eof": eof})
            self.assertEqual(self.daemon.result(run)["verdict"]["kind"], "ok")
        self.assertEqual(self.daemon.value(self.LEFT, session), [[0, 4096], [0, 4096]])


class SocketTest(DaemonCase):
    """A frame that was sent and is never read stays in the kernel, charged to the daemon."""

    CONFIG = BARE
    # Looks end as soon as they are asked, and whoever forked them keeps the other end of their channels.
    CODE = """
import os, select
import _vivarium
fork = __import__('vivarium.fork', fromlist=['fork'])
fork._close_all = lambda fds: None
class Ender:
    def __init__(self, near):
        self.near = near
    def __getattr__(self, name):
        return getattr(self.near, name)
    def hello(self):
        self.near.hello()
        select.select([3], [], [])
        os._exit(0)
fork._vivarium = Ender(_vivarium)
"""

    def test_a_sandbox_that_leaves_too_much_unread_is_ended(self):
        other = self.new_session()
        self.daemon.run("kept = 1", other)
        session = self.new_session(transactional=False)
        self.daemon.run(self.CODE, session)

        def look(_number):
            return self.daemon.request("POST", f"/v1/sessions/{session}/complete", {"code": "#" + "x" * 150000, "cursor": 3}).status

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            statuses = set(pool.map(look, range(200)))
        self.assertEqual(statuses - {409, 503}, set())
        wait_for(lambda: self.daemon.state(session)["state"] == "lost", what="the end of the session")
        self.assertEqual(self.daemon.value("kept", other), 1)


class AnswerTest(DaemonCase):
    """An event can ask for an answer; answers that are not read must not pile up in the daemon."""

    CONFIG = BARE
    CODE = """
import _vivarium, os, socket, struct
near, far = socket.socketpair()
channel = os.dup(3)
os.dup2(near.fileno(), 3)
_vivarium.send(3, 0, b"{}")  # into a socket of our own: it tells the nonce and the counter
nonce, counter = struct.unpack("<IHHQII", far.recv(24))[3:5]
os.dup2(channel, 3)
body = b'{"type":"display","data":{"a":1}}'
out = socket.socket(fileno=channel)
for number in range(counter, counter + 100000):
    out.sendall(struct.pack("<IHHQII", len(body), 3, 1, nonce, number, 0) + body)
"""

    def test_who_does_not_read_answers_is_not_heard(self):
        session = self.new_session()
        self.daemon.run("x = 1", session)
        run = self.daemon.start_run(self.CODE, session, timeout_ms=3000)
        told = self.read_all(self.daemon, run)
        self.assertEqual(told[-1]["verdict"]["kind"], "timeout")
        self.assertLess(len(told), 5000)
        self.assertEqual(self.daemon.value("x", session), 1)
