# SPDX-License-Identifier: Apache-2.0
"""Clients that go away in the middle of whatever they asked for, at every door: nothing of them is left."""

import os
import socket

from case import BARE, DaemonCase, wait_for

HALF = b'{"code":"1", "files":[{"path":"a","text":"' + b"x" * 100000
ASKED = (
    (b"POST /v1/run HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9999999\r\n\r\n" + HALF),
    (b"POST /v1/run HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n18704\r\n" + HALF),
    b"POST /v1/run HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\nExpect: 100-continue\r\n\r\n",
    b"POST /v1/run?on_disconnect=cancel HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n"
    b"Content-Length: 41\r\n\r\n" + b'{"code":"while True: print(1, end=\' \')" }',
    b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n",
    b"GET /v1/status HTTP/1.1\r\nHost: localhost\r\n\r\n" * 50 + b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"PUT /v1/sessions/SESSION/files/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9999999\r\n\r\n" + HALF,
    b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9999999\r\n\r\n" + HALF,
    b"POST /elitea/execute HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n18704\r\n" + HALF,
    b"POST /piston/api/v2/execute HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9999999\r\n\r\n" + HALF,
    b"GET /openapi.json HTTP/1.1\r\nHo",
)


class GoneTest(DaemonCase):
    CONFIG = BARE + "dialects:\n  elitea: {enabled: true, prefix: /elitea}\n  piston: {enabled: true, prefix: /piston}\n"

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.daemon.serve_pid}/fd"))

    def go_away(self, asked):
        """Three ways to go: at once, after a byte of the answer, and with a reset."""
        for way in range(3):
            with socket.create_connection((self.daemon.host, self.daemon.port), timeout=30) as sock:
                sock.sendall(asked)
                if way == 1 and b"GET" in asked and asked.endswith(b"\r\n\r\n"):
                    sock.recv(1)
                if way == 2:
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")

    def test_nothing_is_left_of_them(self):
        session = self.new_session()
        self.daemon.run("1", session)
        rounds = [asked.replace(b"SESSION", session.encode()) for asked in ASKED]

        def settled():
            busy = [run for run in self.daemon.ask("GET", "/v1/runs?limit=1000")["runs"] if run["state"] != "over"]
            return not busy

        def after_a_round():
            for asked in rounds:
                self.go_away(asked)
            wait_for(settled, what="the end of all runs")
            self.daemon.forget_connections()

        after_a_round()
        before = self.descriptors()
        for _ in range(5):
            after_a_round()
        # Fewer than one for each client: pools and the journal have their own.
        wait_for(lambda: self.descriptors() < before + 3 * len(ASKED), what="the end of the connections")
        verdicts = {run["verdict"] for run in self.daemon.ask("GET", "/v1/runs?limit=1000")["runs"]}
        self.assertEqual(verdicts, {"ok", "cancelled"})
        self.assertEqual(self.daemon.value("6 * 7", session), 42)
