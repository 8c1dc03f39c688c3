# SPDX-License-Identifier: Apache-2.0
"""A daemon to measure, and a client that costs as little as Python can: one socket, no library."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

CONFIG = """
state_dir: {folder}/state
runtime_dir: {folder}/run
listen: ["127.0.0.1:{port}"]
limits: {{concurrent_runs: 256, queue: 4096, sessions: 4000, connections: 1024}}
sessions: {{freeze_ms: {freeze_ms}}}
runtimes:
  base: {{pool: 16}}
policies:
  loud: {{base: default, output: 1GiB, timeout: 60s, timeout_max: 120s}}
  large: {{base: default, memory: 4GiB, timeout: 60s, timeout_max: 120s}}
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Daemon:
    """`viv serve` in folders of its own; as root it serves as the user vivarium."""

    def __init__(self, build, freeze_ms=0):
        self.folder = tempfile.mkdtemp(prefix="viv-bench-")
        os.chmod(self.folder, 0o755)
        self.port = free_port()
        config = os.path.join(self.folder, "vivarium.yaml")
        with open(config, "w", encoding="utf-8") as file:
            file.write(CONFIG.format(folder=self.folder, port=self.port, freeze_ms=freeze_ms))
        self.process = subprocess.Popen([os.path.join(build, "viv"), "serve", "--config", config,
                                         "--json"])
        self.wait()

    def wait(self):
        """Until code has really run, and every pool is full: imports would be measured, too."""
        for _ in range(1200):
            if self.process.poll() is not None:
                raise SystemExit("bench: viv serve did not start")
            try:
                client = Client(self.port)
                if client.ask("GET", "/health")[0] == 200 and self.is_full(client):
                    return
            except OSError:
                pass
            time.sleep(0.1)
        raise SystemExit("bench: viv serve does not become healthy")

    @staticmethod
    def is_full(client):
        pools = client.ask("GET", "/v1/status")[1]["pools"]
        return all(pool["ready"] >= pool["keep"] for pool in pools)

    def close(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def serving(self):
        """The pid of the process that serves: the child where a minder stands above it."""
        path = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        with open(path, encoding="ascii") as file:
            children = file.read().split()
        for pid in children:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                if b"viv-serve" in file.read().split(b"\0")[0]:
                    return int(pid)
        return self.process.pid

    def memory(self):
        """Bytes that the serving process alone holds."""
        with open(f"/proc/{self.serving()}/status", encoding="ascii") as file:
            return int(re.search(r"RssAnon:\s+(\d+)", file.read()).group(1)) * 1024

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.serving()}/fd"))


class Client:
    """One connection that is kept."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=300)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.rest = b""

    def close(self):
        self.socket.close()

    def send(self, method, path, body=None, headers=""):
        data = json.dumps(body).encode() if body is not None else b""
        self.socket.sendall(f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n{headers}"
                            f"Content-Length: {len(data)}\r\n\r\n".encode() + data)

    def head(self):
        data = self.rest
        while b"\r\n\r\n" not in data:
            piece = self.socket.recv(1 << 16)
            if not piece:
                raise ConnectionError("the daemon closed the connection")
            data += piece
        head, _, self.rest = data.partition(b"\r\n\r\n")
        return int(head.split(b" ", 2)[1]), head.lower()

    def raw(self, method, path, body=None):
        """Status and the bytes of the answer: nothing is parsed."""
        self.send(method, path, body)
        status, head = self.head()
        found = re.search(rb"content-length: (\d+)", head)
        size = int(found.group(1)) if found else 0
        data = self.rest
        while len(data) < size:
            data += self.socket.recv(1 << 20)
        self.rest = data[size:]
        return status, data[:size]

    def ask(self, method, path, body=None):
        status, data = self.raw(method, path, body)
        return status, json.loads(data) if data else None

    def session(self, **fields):
        status, answer = self.ask("POST", "/v1/sessions", fields)
        if status != 201:
            raise SystemExit(f"bench: no session: {answer}")
        return answer["id"]

    def run(self, session, code, **fields):
        path = f"/v1/sessions/{session}/run" if session else "/v1/run"
        status, answer = self.ask("POST", path, dict(code=code, **fields))
        if status != 200:
            raise SystemExit(f"bench: a run was refused: {answer}")
        return answer

    def stream(self, path, body):
        """Bytes of an answer in chunks; only their count."""
        self.send("POST", path, body, "Accept: application/x-ndjson\r\n")
        self.head()
        total = len(self.rest)
        tail = self.rest[-64:]
        while b"0\r\n\r\n" not in tail[-7:]:
            piece = self.socket.recv(1 << 20)
            if not piece:
                break
            total += len(piece)
            tail = (tail + piece)[-64:]
        self.rest = b""
        return total
