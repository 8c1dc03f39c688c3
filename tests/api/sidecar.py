# SPDX-License-Identifier: Apache-2.0
"""A sidecar that lies: an HTTP server on a free port of loopback whose every answer a test decides.

    with Sidecar() as sidecar:
        sidecar.on("/exec-python-stream", lines({"type": "done", "data": {"success": True}}))

An answer is a function that gets the handler, with its request in `body`, and writes what it likes.
"""

import http.server
import json
import socket
import struct
import threading

HEALTH = {"status": "ok", "semanticDir": "/semantic", "fileCount": 0, "bashAvailable": True,
          "bashPath": "/bin/bash", "pythonAvailable": True}
PROBE = b'"1 + 1"'  # what a daemon runs by itself, to see that it can


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        size = int(self.headers.get("Content-Length") or 0)
        self.body = self.rfile.read(size)
        path = self.path.split("?")[0]
        if PROBE not in self.body:
            self.server.sidecar.seen.append((self.command, self.path, dict(self.headers), self.body))
        try:
            self.server.sidecar.answers.get(path, missing)(self)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    do_GET = do_POST = answer

    def log_message(self, *_):
        pass

    # ---- what answers are made of ----

    def reply(self, status, body, kind="application/json", headers=()):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def begin(self, kind="application/x-ndjson"):
        """A body of unknown length, up to the end of the connection."""
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True

    def event(self, event):
        self.wfile.write(json.dumps(event).encode() + b"\n")
        self.wfile.flush()

    def die(self):
        """As a process that was killed: the connection is reset."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()


def missing(handler):
    handler.reply(404, b'{"error":"Not found"}')


def says(status, value, **kw):
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    return lambda handler: handler.reply(status, body, **kw)


def lines(*events):
    """A stream of these: dicts as JSON, bytes as they are."""
    def answer(handler):
        handler.begin()
        for event in events:
            if isinstance(event, bytes):
                handler.wfile.write(event)
            else:
                handler.event(event)
    return answer


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_):
        pass  # a connection that was cut is what some tests want


class Sidecar:
    def __init__(self):
        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.sidecar = self
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.gate = threading.Event()  # an answer may wait for it
        self.seen = []
        self.answers = {"/health": says(200, HEALTH)}
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02},
                                       daemon=True)
        self.thread.start()

    def on(self, path, answer):
        self.answers[path] = answer

    def paths(self):
        """The paths that were requested, but for its health."""
        return [path.split("?")[0] for _, path, _, _ in self.seen if path != "/health"]

    def close(self):
        self.gate.set()
        self.server.shutdown()
        self.server.server_close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
