# SPDX-License-Identifier: Apache-2.0
"""One token takes all it can get; another one must not notice."""

import hashlib
import json
import select
import socket

from case import BARE, DaemonCase, wait_for

ALICE, BOB = "secret-of-alice", "secret-of-bob"
CONNECTIONS = 16
FOREVER = "print('on', flush=True)\nwhile True: pass"
TOKENS = "tokens:\n" + "".join(f"  - {{name: {name}, sha256: {hashlib.sha256(secret.encode()).hexdigest()}}}\n"
                                for name, secret in (("alice", ALICE), ("bob", BOB)))


class ShareTest(DaemonCase):
    CONFIG = BARE + f"limits: {{connections: {CONNECTIONS}}}\n" + TOKENS

    def setUp(self):
        self.alice, self.bob = self.daemon.as_token(ALICE), self.daemon.as_token(BOB)

    def test_those_that_closed_their_end_count_and_go_first(self):
        run = self.alice.start_run(FOREVER, timeout_ms=120000)
        streams = []
        for _ in range(2 * CONNECTIONS):  # each reads on, and says that it has nothing more to ask
            connection = self.alice.connection()
            response = self.alice.send(connection, "GET", f"/v1/runs/{run}/events", None, None)
            self.assertEqual(response.status, 200)
            self.assertIn(b"started", response.readline())
            response.fp.raw._sock.shutdown(socket.SHUT_WR)  # pylint: disable=protected-access
            streams.append((connection, response))
            self.assertEqual(self.bob.request("GET", "/v1/status").status, 200)

        def living():
            """The streams that the daemon has not closed."""
            socks = [response.fp.raw._sock for _, response in streams]  # pylint: disable=protected-access
            for sock in socks:
                sock.setblocking(False)
            count = 0
            for sock in socks:
                try:
                    while sock.recv(1 << 16):
                        pass
                except BlockingIOError:
                    count += 1
                except OSError:
                    pass
            return count

        wait_for(lambda: living() <= CONNECTIONS // 2, what="the share of alice")
        self.alice.request("DELETE", f"/v1/runs/{run}")
        for connection, response in streams:
            response.close()
            connection.close()

    def test_half_of_the_connections_is_the_most_that_one_token_gets(self):
        run = self.alice.start_run(FOREVER, timeout_ms=120000)
        streams, refused = [], None
        while refused is None:
            connection = self.alice.connection()
            response = self.alice.send(connection, "GET", f"/v1/runs/{run}/events", None, None)
            if response.status == 200:
                streams.append((connection, response))
                self.assertIn(b"started", response.readline())
            else:
                refused = response
        self.assertEqual((refused.status, json.loads(refused.read())["error"]["kind"]), (429, "busy"))
        self.assertEqual(refused.headers["Connection"], "close")
        self.assertEqual(len(streams), CONNECTIONS // 2)
        strangers = []  # whose they are she need not say
        for text in (b"", b"GET /", b"GET /v1/status HTTP/1.1\r\nHost: localhost\r\n",
                     b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n") * CONNECTIONS:
            stranger = socket.create_connection((self.daemon.host, self.daemon.port))
            stranger.sendall(text)
            strangers.append(stranger)
        for _ in range(CONNECTIONS):
            self.assertEqual(self.bob.value("1 + 1"), 2)
        # Nor has she lost what was hers, and a place that she gives back is hers again.
        for one in streams.pop():
            one.close()
        wait_for(lambda: self.alice.request("DELETE", f"/v1/runs/{run}").status != 429, what="a place")
        for connection, response in streams:
            self.assertIn(b'"verdict"', response.read())
            connection.close()
        for stranger in strangers:
            stranger.close()


class BodyShareTest(DaemonCase):
    """All bodies under way take four times the largest at most, those of one token half of that."""

    BODY = 1 << 20
    CONFIG = BARE + "limits: {body: 1MiB}\n" + TOKENS

    def begin(self, client, path="/v1/run", **headers):
        """A request that has sent all but the last byte of the largest body."""
        sock = socket.create_connection((self.daemon.host, self.daemon.port))
        self.addCleanup(sock.close)
        lines = {"Host": "localhost", "Content-Length": self.BODY, **client.headers_for(headers)}
        head = f"POST {path} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        sock.sendall(head.encode() + b"\r\n" + b'{"code":"'.ljust(self.BODY - 1, b"#"))
        return sock

    def test_bodies_that_are_sent_slowly(self):
        alice, bob = self.daemon.as_token(ALICE), self.daemon.as_token(BOB)
        held = [self.begin(alice) for _ in range(2)]
        refused = []
        while not refused:  # those before may not have been read yet
            one = self.begin(alice)
            held.append(one)
            refused = select.select(held, [], [], 0.2)[0]
        self.assertIn(b"HTTP/1.1 429 ", refused[0].recv(100))
        body = json.dumps({"code": "print(1)".ljust(self.BODY - 100)})
        self.assertEqual(bob.ask("POST", "/v1/run", body)["stdout"], "1\n")
