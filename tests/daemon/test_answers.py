# SPDX-License-Identifier: Apache-2.0
"""Clients that ask for much and read nothing: what they cost is bounded, and nobody else notices."""

import hashlib
import json
import socket
import struct

from case import BARE, Case, wait_for

ALICE, BOB = "secret-of-alice", "secret-of-bob"
TOKENS = "tokens:\n" + "".join(f"  - {{name: {name}, sha256: {hashlib.sha256(secret.encode()).hexdigest()}}}\n"
                                for name, secret in (("alice", ALICE), ("bob", BOB)))
MIB = 1 << 20
LIMIT = "limits: {answers: 64MiB}\n"
WIDE = "policies:\n  wide: {base: default, output: 64MiB, memory: 1GiB, timeout: 60s, timeout_max: 60s}\n"
SIZE = 40 * MIB
LOUD = f"import sys\nfor _ in range({SIZE // MIB}): sys.stdout.write('a line of text\\n' * {MIB // 15} + ' ' * {MIB % 15})"
BUNDLE = "{'text/plain': 'x', 'text/html': 'y' * (600 << 10), 'application/json': [[]] * (1 << 15)}"
SHOWN = f"for _ in range(24): display({BUNDLE}, raw=True)"


def own_memory(daemon):
    """Bytes of memory that are the daemon's alone."""
    with open(f"/proc/{daemon.serve_pid}/status", encoding="utf-8") as file:
        for line in file:
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) << 10
    raise AssertionError("no RssAnon")


class Unread:
    """A request whose answer begins, and is then left alone."""

    def __init__(self, case, client, path, method="GET", body=b""):
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        self.sock.settimeout(60)
        self.sock.connect((client.host, client.port))
        case.addCleanup(self.sock.close)
        lines = {"Host": "localhost", "Content-Length": len(body), **client.headers_for({})}
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        self.sock.sendall(f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + body)
        self.begin = b""

    def status(self):
        while b"\r\n" not in self.begin:
            self.begin += self.sock.recv(64)
        return int(self.begin.split()[1])

    def rest(self):
        """The answer after all: its head and its body, taken apart as http.client does."""
        while b"\r\n\r\n" not in self.begin:
            self.begin += self.sock.recv(1 << 16)
        head, body = self.begin.split(b"\r\n\r\n", 1)
        pieces, size = [body], len(body)
        is_chunked = b"chunked" in head.lower()
        wanted = None if is_chunked else int(head.lower().split(b"content-length:")[1].split()[0])
        while not (pieces[-1].endswith(b"0\r\n\r\n") if is_chunked else size >= wanted):
            more = self.sock.recv(1 << 20)
            if not more:
                break
            if len(more) < 5:
                more = pieces.pop() + more
            pieces.append(more)
            size += len(more)
        body = b"".join(pieces)
        return head, unchunk(body) if is_chunked else body


def unchunk(body):
    at, whole = 0, []
    while True:
        end = body.index(b"\r\n", at)
        size = int(body[at:end].split(b";")[0], 16)
        if size == 0:
            return b"".join(whole)
        whole.append(body[end + 2:end + 2 + size])
        at = end + 2 + size + 2


class StreamedTest(Case):
    """Results and notebooks are made from the journal while they are read."""

    def test_large_results_and_notebooks_that_nobody_reads(self):
        daemon = self.serve(BARE + LIMIT + WIDE)
        session = daemon.session(runtime="bare", policy="wide")
        run = daemon.start_run(LOUD, session)
        wait_for(lambda: daemon.ask("GET", "/v1/runs")["runs"][0]["verdict"], what="the end of the run")
        before = own_memory(daemon)
        paths = (f"/v1/runs/{run}", f"/v1/sessions/{session}/export.ipynb", f"/v1/runs/{run}/events",
                 f"/v1/sessions/{session}/events", "/openapi.json")
        unread = [Unread(self, daemon, path) for path in paths * 12]
        self.assertEqual({one.status() for one in unread}, {200})
        self.assertEqual(daemon.value("1 + 1"), 2)
        self.assertEqual(daemon.request("GET", "/v1/status").status, 200)
        self.assertLess(own_memory(daemon) - before, 32 * MIB)  # whole, they are 2 GiB
        head, body = unread[0].rest()
        self.assertIn(b"application/json", head)
        result = json.loads(body)
        self.assertEqual((len(result["stdout"]), result["verdict"]["kind"]), (SIZE, "ok"))
        _, body = unread[1].rest()
        (cell,) = json.loads(body)["cells"]
        self.assertEqual((len(cell["outputs"][0]["text"]), cell["source"]), (SIZE, LOUD))
        self.assertLess(own_memory(daemon) - before, 32 * MIB)
        for one in unread:
            one.sock.close()
        wait_for(lambda: own_memory(daemon) - before < 8 * MIB, what="the memory to be given back")
        daemon.stop()

    def test_the_answers_of_runs_that_nobody_reads(self):
        daemon = self.serve(BARE + LIMIT + WIDE)
        session = daemon.session(runtime="bare", policy="wide")
        before = own_memory(daemon)
        body = json.dumps({"code": LOUD, "policy": "wide"}).encode()
        in_session = json.dumps({"code": LOUD}).encode()
        unread = [Unread(self, daemon, "/v1/run", "POST", body) for _ in range(2)]
        unread.append(Unread(self, daemon, f"/v1/sessions/{session}/run", "POST", in_session))
        self.assertEqual({one.status() for one in unread}, {200})
        wait_for(lambda: own_memory(daemon) - before < 32 * MIB, what="the memory of the runs to be given back")
        self.assertEqual(daemon.value("1 + 1"), 2)
        _, text = unread[2].rest()
        self.assertEqual(len(json.loads(text)["stdout"]), SIZE)
        daemon.stop()

    def test_many_forms_of_one_display_are_gone_through_once(self):
        daemon = self.serve(BARE + LIMIT + WIDE)
        session = daemon.session(runtime="bare", policy="wide")
        shown = daemon.run(SHOWN, session)["displays"]
        self.assertEqual([len(one["text/html"]) for one in shown], [600 << 10] * 24)
        unread = [Unread(self, daemon, f"/v1/sessions/{session}/export.ipynb") for _ in range(24)]
        self.assertEqual({one.status() for one in unread}, {200})
        self.assertEqual(daemon.value("1 + 1"), 2)
        _, body = unread[0].rest()
        self.assertEqual([one["data"] for one in json.loads(body)["cells"][0]["outputs"]], shown)
        daemon.stop()


class AttackTest(Case):
    """Ways to make an answer cost more than it should, on one daemon with one large run."""

    def setUp(self):
        self.daemon = self.serve(BARE + LIMIT + WIDE)
        self.session = self.daemon.session(runtime="bare", policy="wide")
        self.run_id = self.daemon.start_run(LOUD, self.session)
        wait_for(lambda: self.daemon.ask("GET", "/v1/runs")["runs"][0]["verdict"], what="the end of the run")
        self.before = own_memory(self.daemon)
        self.paths = (f"/v1/runs/{self.run_id}", f"/v1/sessions/{self.session}/export.ipynb")

    def tearDown(self):
        self.assertEqual(self.daemon.value("1 + 1"), 2)
        wait_for(lambda: own_memory(self.daemon) - self.before < 16 * MIB, what="the memory to be given back")
        self.daemon.stop()

    def test_pipelines_of_large_answers(self):
        for path in self.paths:
            one = Unread(self, self.daemon, path)
            one.sock.setblocking(False)
            try:
                for _ in range(20000):
                    one.sock.send(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            except BlockingIOError:
                pass  # it takes no more than it answers
            self.assertEqual(self.daemon.request("GET", "/v1/status").status, 200)
            self.assertLess(own_memory(self.daemon) - self.before, 16 * MIB)
            one.sock.close()

    def test_clients_that_go_away_in_the_middle(self):
        for path in self.paths * 50:
            one = Unread(self, self.daemon, path)
            self.assertEqual(one.status(), 200)
            one.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            one.sock.close()
        self.assertLess(own_memory(self.daemon) - self.before, 32 * MIB)

    def test_heads_ranges_and_old_clients(self):
        for path in self.paths:
            answer = self.daemon.request("HEAD", path)
            self.assertEqual((answer.status, answer.body), (200, b""))
            answer = self.daemon.request("GET", path, headers={"Range": "bytes=0-9, 5-20, -1, 0-"})
            self.assertEqual(answer.status, 200)
            self.assertIsNone(answer.headers["Content-Range"])
            whole = answer.json
            with socket.create_connection((self.daemon.host, self.daemon.port), timeout=60) as sock:
                sock.sendall(f"GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n".encode())
                with sock.makefile("rb") as file:
                    head, body = file.read().split(b"\r\n\r\n", 1)
            self.assertNotIn(b"chunked", head.lower())
            self.assertEqual(json.loads(body), whole)

    def test_a_session_that_ends_while_its_notebook_is_read(self):
        one = Unread(self, self.daemon, self.paths[1])
        self.assertEqual(one.status(), 200)
        self.daemon.ask("DELETE", f"/v1/sessions/{self.session}")
        _, body = one.rest()
        self.assertEqual(len(json.loads(body)["cells"][0]["outputs"][0]["text"]), SIZE)


class ForgottenTest(Case):
    def test_a_result_that_is_forgotten_meanwhile_is_not_taken_for_whole(self):
        daemon = self.serve(BARE + LIMIT + WIDE + "events: {keep_ms: 1}\n")
        run = daemon.start_run(LOUD + "\ninput()", policy="wide", stdin="live")
        with daemon.events(run) as events:
            size = 0
            while size < SIZE:  # far more than the kernel holds for a client that does not read
                size += len(events.until("stdout")["text"])
            unread = Unread(self, daemon, f"/v1/runs/{run}")
            self.assertEqual(unread.status(), 200)
            daemon.ask("POST", f"/v1/runs/{run}/stdin", {"text": "on\n"})
        wait_for(lambda: daemon.request("HEAD", f"/v1/runs/{run}").status == 404, what="the end of its log")
        with self.assertRaises((OSError, ValueError, IndexError)):
            unread.rest()
        daemon.stop()


class HeldTest(Case):
    """Answers that are made as a whole count against a limit, for each token and for all."""

    def fill(self, daemon, tokens):
        """Audit lines, so that all that is answered with is about 15 MiB, of one token or of two; its path."""
        for token in tokens:
            daemon.as_token(token).run("1")
        names = {ALICE: '"alice"', BOB: '"bob"', None: "null"}
        with open(daemon.path("state", "audit.jsonl"), "a", encoding="utf-8") as file:
            for i in range(1000):
                for token in tokens:
                    file.write(f'{{"token":{names[token]},"time":"{i}","run":"run_{i}","code":"{"#" * 15000}"}}\n')
        return "/v1/audit?limit=1000"

    def take_all(self, client, path):
        """Asks until it is refused: those that were answered, and the refusal."""
        taken = []
        while True:
            one = Unread(self, client, path)
            if one.status() != 200:
                return taken, one
            taken.append(one)
            self.assertLess(len(taken), 50)

    def expect_refusal(self, one):
        head, body = one.rest()
        error = json.loads(body)["error"]
        self.assertEqual((one.status(), error["kind"]), (503, "busy"))
        self.assertIn("then try again", error["remedy"])
        self.assertIn(b"retry-after: ", head.lower())

    def test_above_the_bound_is_503_until_they_are_read(self):
        daemon = self.serve(BARE + LIMIT)
        path = self.fill(daemon, [None])
        before = own_memory(daemon)
        taken, refused = self.take_all(daemon, path)
        self.expect_refusal(refused)
        self.assertIn(len(taken), (3, 4))
        self.assertLess(own_memory(daemon) - before, 128 * MIB)
        self.assertEqual(daemon.value("1 + 1"), 2)  # what is small is answered
        head, body = taken[0].rest()
        self.assertEqual(len(json.loads(body)["lines"]), 1000)
        answer = wait_for(lambda: daemon.request("GET", path).status == 200, what="room for another one")
        self.assertTrue(answer)
        for one in taken:
            one.sock.close()
        wait_for(lambda: own_memory(daemon) - before < 16 * MIB, what="the memory to be given back")
        daemon.stop()

    def test_one_token_leaves_room_for_another(self):
        daemon = self.serve(BARE + LIMIT + TOKENS)
        path = self.fill(daemon, [ALICE, BOB])
        taken, refused = self.take_all(daemon.as_token(ALICE), path)
        self.expect_refusal(refused)
        self.assertIn(len(taken), (3, 4))  # half of the bound is hers
        self.assertGreater(len(daemon.as_token(BOB).ask("GET", path)["lines"]), 400)
        # A client that has closed its sending end and reads on still counts.
        taken[0].sock.shutdown(socket.SHUT_WR)
        self.assertEqual(Unread(self, daemon.as_token(ALICE), path).status(), 503)
        daemon.stop()
