# SPDX-License-Identifier: Apache-2.0
"""Bytes on the wire: chunks, 100-continue, keep-alive, pipelines, slow and many clients, large bodies."""

import json
import select
import socket
import threading
import time

from case import BARE, WAIT_SECONDS, Case, DaemonCase, wait_for

MIB = 1 << 20


class RawTest(DaemonCase):
    def dial(self, timeout=30):
        sock = socket.create_connection((self.daemon.host, self.daemon.port), timeout=timeout)
        self.addCleanup(sock.close)
        return sock

    def post(self, body, extra=""):
        head = f"POST /v1/run HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n{extra}\r\n"
        return head.encode() + body

    def answer(self, file):
        """One response from a socket's file: status, headers, body."""
        status = int(file.readline().split()[1])
        headers = {}
        while True:
            line = file.readline().strip()
            if not line:
                break
            name, _, value = line.decode().partition(":")
            headers[name.lower()] = value.strip()
        if headers.get("transfer-encoding") != "chunked":
            return status, headers, file.read(int(headers.get("content-length", 0)))
        body = b""
        while True:
            size = int(file.readline(), 16)
            body += file.read(size)
            file.readline()
            if size == 0:
                return status, headers, body

    def test_expect_continue(self):
        sock = self.dial()
        body = b'{"code":"1 + 1"}'
        sock.sendall(self.post(body, "Expect: 100-continue\r\n")[:-len(body)])
        self.assertEqual(sock.recv(100), b"HTTP/1.1 100 Continue\r\n\r\n")
        sock.sendall(body)
        status, _, told = self.answer(sock.makefile("rb"))
        self.assertEqual((status, json.loads(told)["result"]["application/json"]), (200, 2))

    def test_a_body_that_is_refused_is_not_asked_for(self):
        sock = self.dial()
        sock.sendall(b"POST /v1/run HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n"
                     b"Expect: 100-continue\r\n\r\n")
        self.assertEqual(self.answer(sock.makefile("rb"))[0], 413)

    def test_chunks_of_one_byte(self):
        sock = self.dial()
        sock.sendall(b"POST /v1/run HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
        for byte in b'{"code":"40 + 2"}':
            sock.sendall(b"1\r\n" + bytes([byte]) + b"\r\n")
        sock.sendall(b"0\r\n\r\n")
        self.assertEqual(json.loads(self.answer(sock.makefile("rb"))[2])["result"]["application/json"], 42)

    def test_what_is_refused_is_answered_on_its_own_connection(self):
        """Others that are in the middle of a head, of a body, or at work, go on."""
        good = b"GET /v1/status HTTP/1.1\r\nHost: localhost\r\n\r\n"
        run = self.daemon.start_run("input()", stdin="live", runtime="bare")
        with self.daemon.events(run) as events:
            events.until("started")
            self.refuse_beside(good)
            self.daemon.ask("POST", f"/v1/runs/{run}/stdin", {"text": "on\n"})
            events.until("verdict")
        self.assertEqual(self.daemon.result(run)["result"]["application/json"], "on")

    def refuse_beside(self, good):
        heads = [(self.dial(), cut) for cut in range(1, len(good), 4)]
        for sock, cut in heads:
            sock.sendall(good[:cut])
        body = self.dial()
        body.sendall(self.post(b'{"code":"6 * 7"}')[:-5])
        for bad in (b"GET / HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n"):
            for before in (0, 2):
                sock = self.dial()
                sock.sendall(good * before + bad + good)
                file = sock.makefile("rb")
                self.assertEqual([self.answer(file)[0] for _ in range(before + 1)], [200] * before + [400])
                self.assertEqual(file.read(), b"")
            gone = self.dial()
            gone.sendall(bad)
            gone.close()
        for sock, cut in heads:
            sock.sendall(good[cut:])
            self.assertEqual(self.answer(sock.makefile("rb"))[0], 200)
        body.sendall(b'* 7"}')
        told = json.loads(self.answer(body.makefile("rb"))[2])
        self.assertEqual(told["result"]["application/json"], 42)

    def test_many_requests_on_one_connection(self):
        connection = self.daemon.connection()
        for i in range(50):
            connection.request("POST", "/v1/run", json.dumps({"code": str(i), "runtime": "bare"}))
            told = json.loads(connection.getresponse().read())
            self.assertEqual(told["result"]["application/json"], i)
        connection.request("GET", "/nowhere")
        self.assertEqual(connection.getresponse().read()[:9], b'{"error":')
        connection.request("GET", "/v1/status")
        self.assertEqual(connection.getresponse().status, 200)
        connection.close()

    def test_a_pipeline_is_answered_in_order(self):
        sock = self.dial()
        sock.sendall(b"".join(self.post(json.dumps({"code": str(i)}).encode()) for i in range(8)))
        file = sock.makefile("rb")
        told = [json.loads(self.answer(file)[2])["result"]["application/json"] for _ in range(8)]
        self.assertEqual(told, list(range(8)))

    def test_two_readings_of_one_message_are_refused(self):
        """Smuggling: lengths that contradict, and what only some take for a header."""
        for head in ("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
                     "Content-Length: 4\r\nContent-Length: 5\r\n",
                     "Content-Length: +4\r\n", "Content-Length: 0x4\r\n", "Transfer-Encoding: gzip\r\n",
                     "Content-Length : 4\r\n", "X: a\r\n folded\r\nContent-Length: 2\r\n"):
            with self.subTest(head):
                sock = self.dial()
                sock.sendall(f"POST /v1/run HTTP/1.1\r\nHost: localhost\r\n{head}\r\n".encode() + b"{}{}")
                status, _, _ = self.answer(sock.makefile("rb"))
                self.assertIn(status, (400, 501))
        self.assertEqual(self.daemon.value("1"), 1)

    def test_headers_that_decide_stand_there_once(self):
        own, evil = f"http://localhost:{self.daemon.port}", "http://evil.example"
        host = f"Host: localhost:{self.daemon.port}\r\n"
        for name, first, second in (("Host", "localhost", "evil.example"), ("Origin", own, evil), ("Origin", own, own),
                                    ("Authorization", "Bearer a", "Bearer b"), ("authorization", "", "Bearer b"),
                                    ("Sec-Fetch-Site", "same-origin", "cross-site"),
                                    ("Vivarium-Approve", "a", "b"), ("Vivarium-Client", "a", "b")):
            for path in ("/v1/status", "/health", "/nowhere"):
                with self.subTest(name=name, path=path):
                    sock = self.dial()
                    sock.sendall((f"GET {path} HTTP/1.1\r\n{host if name != 'Host' else ''}{name}: {first}\r\n"
                                  f"X: y\r\n{name.upper()}: {second}\r\n\r\n").encode())
                    status, headers, body = self.answer(sock.makefile("rb"))
                    self.assertEqual(status, 400, body)
                    self.assertNotIn("access-control-allow-origin", headers)

    def test_garbage_harms_nobody(self):
        for data in (b"\x16\x03\x01\x02\x00\x01\x00", b"\0" * 4096, b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n",
                     b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"A" * 100000):
            sock = self.dial()
            try:
                sock.sendall(data)
                sock.shutdown(socket.SHUT_WR)
                sock.recv(4096)
            except OSError:
                pass
        self.assertEqual(self.daemon.value("1"), 1)


class SlowClientTest(Case):
    def test_headers_that_never_end_are_cut_off(self):
        """Slowloris: a byte now and then does not keep a connection."""
        daemon = self.serve()
        socks = []
        for _ in range(20):
            sock = socket.create_connection((daemon.host, daemon.port))
            self.addCleanup(sock.close)
            sock.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nX: ")
            socks.append(sock)
        end = time.monotonic() + WAIT_SECONDS
        open_socks = set(socks)
        while open_socks and time.monotonic() < end:
            for sock in select.select(list(open_socks), [], [], 0.5)[0]:
                try:
                    if not sock.recv(4096):
                        open_socks.discard(sock)
                except OSError:
                    open_socks.discard(sock)
            for sock in list(open_socks):
                try:
                    sock.send(b"x")
                except OSError:
                    open_socks.discard(sock)
        self.assertFalse(open_socks, "slow clients are still there")
        self.assertEqual(daemon.value("1"), 1)
        daemon.stop()

    def test_connections_that_ask_nothing_make_room(self):
        daemon = self.serve(BARE + "limits: {connections: 16}\n")
        for _ in range(32):
            self.addCleanup(socket.create_connection((daemon.host, daemon.port)).close)
        self.assertEqual(daemon.request("GET", "/v1/status").status, 200)
        daemon.stop()

    def test_too_many_connections_are_refused_and_room_comes_back(self):
        daemon = self.serve(BARE + "limits: {connections: 16}\n")
        run = daemon.start_run("print('on', flush=True)\nwhile True: pass", timeout_ms=120000)
        held = [daemon.events(run) for _ in range(16)]
        for events in held:
            events.until_text("on")
        self.assertEqual(daemon.request("GET", "/v1/status").status, 503)
        for events in held:
            events.close()
        wait_for(lambda: daemon.request("GET", "/v1/status").status == 200, what="room")
        daemon.request("DELETE", f"/v1/runs/{run}")
        daemon.stop()


def memory_of(pid, key="RssAnon"):
    """Bytes that are the process's own; what is mapped of the journal is the kernel's to take back."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        for line in file:
            if line.startswith(key):
                return int(line.split()[1]) * 1024
    raise AssertionError(f"{key} of {pid}")


class Peak(threading.Thread):
    """The most memory that a process is seen with while something goes on."""

    def __init__(self, pid):
        super().__init__()
        self.pid, self.peak, self.is_over = pid, 0, threading.Event()

    def run(self):
        while not self.is_over.wait(0.01):
            self.peak = max(self.peak, memory_of(self.pid))

    def __enter__(self):
        self.before = memory_of(self.pid)
        self.start()
        return self

    def __exit__(self, *_):
        self.is_over.set()
        self.join()

    @property
    def grown(self):
        return max(0, self.peak - self.before)


class FlatMemoryTest(Case):
    """The daemon's own memory does not grow with what passes through it."""

    CONFIG = "policies:\n  wide: {base: default, output: 256MiB, memory: 2GiB, timeout: 120s, disk: 512MiB}\n"

    def test_a_hundred_megabytes_of_data(self):
        daemon = self.serve(self.CONFIG)
        daemon.run("1", policy="wide")
        row = json.dumps([1, "x" * 96]).encode() + b","
        count = 100 * MIB // len(row)

        def body():
            yield b'{"code":"len(data)","policy":"wide","runtime":"bare","data":{"columns":["a","b"],"rows":['
            for at in range(0, count, 1000):
                n = min(1000, count - at)
                yield row * n if at + n < count else (row * n)[:-1]
            yield b"]}}"

        connection = daemon.connection(timeout=120)
        with Peak(daemon.serve_pid) as peak:
            connection.request("POST", "/v1/run", body(), {"Transfer-Encoding": "chunked"}, encode_chunked=True)
            told = json.loads(connection.getresponse().read())
        connection.close()
        self.assertEqual(told["verdict"]["kind"], "ok", told["verdict"])
        self.assertEqual(told["result"]["application/json"], count)
        self.assertLess(peak.grown, 32 * MIB)
        daemon.stop()

    def median_seconds(self, daemon, session):
        """How long a run takes that does nothing."""
        times = []
        for _ in range(100):
            begin = time.monotonic()
            self.assertEqual(daemon.value("x", session), 1)
            times.append(time.monotonic() - begin)
        return sorted(times)[50]

    def test_a_slow_reader_of_two_hundred_megabytes_stalls_nobody(self):
        daemon = self.serve(self.CONFIG)
        session = daemon.session(runtime="bare")
        daemon.run("x = 1", session)
        line = "y" * 1023
        before = self.median_seconds(daemon, session)
        with Peak(daemon.serve_pid) as peak:
            slow = daemon.stream("POST", "/v1/run", {
                "code": f"import sys\nfor i in range(200 * 1024): sys.stdout.write('{line}\\n')",
                "policy": "wide", "runtime": "bare", "timeout_ms": 120000}, timeout=120)
            slow.next()
            self.assertEqual(slow.next()["type"], "stdout")
            # It reads no more for now: others must not notice.
            self.assertLess(self.median_seconds(daemon, session), max(0.2, 10 * before))
            size = 0
            with daemon.events(slow.headers["Vivarium-Run"]) as events:
                for event in events:
                    size += len(event.get("text", ""))
            verdict = slow.until("verdict")
            slow.close()
        self.assertEqual(verdict["verdict"]["kind"], "ok")
        self.assertEqual(size, 200 * MIB)
        self.assertLess(peak.grown, 32 * MIB)
        daemon.stop()
