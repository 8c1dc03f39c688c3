# SPDX-License-Identifier: Apache-2.0
"""A client of /v1 for tests: plain http.client, over TCP or the unix socket, strict about JSON."""

import http.client
import json
import socket
import urllib.parse

from described import Described

TIMEOUT = 60
NDJSON = "application/x-ndjson"


def strict_json(text):
    """As json.loads, but NaN and Infinity are the errors that they are."""
    def refuse(name):
        raise ValueError(f"{name} is not JSON")
    return json.loads(text, parse_constant=refuse)


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout=TIMEOUT):
        super().__init__("localhost", timeout=timeout)
        self.unix_path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.unix_path)


class Answer:
    """An answer: status, headers (http.client's), body (bytes)."""

    def __init__(self, response):
        self.status, self.headers, self.body = response.status, response.headers, response.read()
        self.kind = self.headers.get("Content-Type") or ""

    @property
    def json(self):
        return strict_json(self.body)

    @property
    def error(self):
        return self.json["error"]

    def __repr__(self):
        return f"<{self.status} {self.body[:500]!r}>"


class Events:
    """A stream of events, line by line. Each is checked: ASCII, one object, numbers without a gap."""

    def __init__(self, connection, response, after=0, check=lambda event: None):
        self.connection, self.response, self.check = connection, response, check
        self.status, self.headers = response.status, response.headers
        self.seq = after
        self.held = None  # the run, when the stream said that it waits for a person

    def __iter__(self):
        return self

    def __next__(self):
        event = self.next()
        if event is None:
            raise StopIteration
        return event

    def next(self):
        """The next event that is not only a sign of life, or None at the end."""
        while True:
            line = self.response.readline()
            if not line:
                return None
            assert line.isascii() and line.endswith(b"\n") and line.strip(), line
            event = strict_json(line)
            self.check(event)
            if event["type"] == "keepalive":
                continue
            if event["type"] == "held":
                assert self.seq == 0, event  # nothing has happened yet
                self.held = event["run"]
                continue
            assert event["seq"] == self.seq + 1, (self.seq, event)
            self.seq += 1
            return event

    def until(self, kind):
        """Reads on up to the first event of this type."""
        for event in self:
            if event["type"] == kind:
                return event
        raise AssertionError(f"the stream ended without {kind}")

    def until_text(self, text):
        """Reads on until stdout has shown this."""
        seen = ""
        for event in self:
            if event["type"] == "stdout":
                seen += event["text"]
                if text in seen:
                    return seen
        raise AssertionError(f"the stream ended without {text!r}: {seen[-300:]!r}")

    def close(self):
        """As a client that goes away."""
        try:
            self.connection.sock.shutdown(socket.SHUT_RDWR)
        except (OSError, AttributeError):
            pass
        self.response.close()
        self.connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Client:
    """The calls that tests make. `token` is sent where it is set."""

    document = None  # Described; the same for every daemon of a build

    def __init__(self, host="127.0.0.1", port=0, unix="", token=None):
        self.host, self.port, self.unix, self.token = host, port, unix, token
        self.kept = None  # a connection that is used again and again

    def connection(self, unix=False, timeout=TIMEOUT):
        if unix:
            return UnixConnection(self.unix, timeout)
        return http.client.HTTPConnection(self.host, self.port, timeout=timeout)

    def forget_connections(self):
        if self.kept is not None:
            self.kept.close()
            self.kept = None

    def as_token(self, secret):
        """The same daemon, seen by another caller."""
        client = Client(self.host, self.port, self.unix, secret)
        client.is_described = self.is_described
        return client

    def headers_for(self, given):
        return {**({"Authorization": f"Bearer {self.token}"} if self.token else {}), **(given or {})}

    def send(self, connection, method, path, body, headers):
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
        connection.request(method, path, body, self.headers_for(headers))
        return connection.getresponse()

    def request(self, method, path, body=None, headers=None, unix=False, timeout=TIMEOUT):
        """One exchange on a connection of its own."""
        connection = self.connection(unix, timeout)
        try:
            answer = Answer(self.send(connection, method, path, body, headers))
        finally:
            connection.close()
        described = self.described(unix) if self.is_described(path.split("?")[0]) else None
        if described is not None:
            described.check(method, path, answer)
        return answer

    def is_described(self, path):  # pylint: disable=unused-argument,no-self-use
        """Is what comes from there described? Not if another door answers."""
        return True

    def described(self, unix=False):
        """The daemon's own description of its answers: asked for once, of the first daemon that has one."""
        if Client.document is None:
            connection = self.connection(unix)
            try:
                connection.request("GET", "/openapi.json")
                answer = Answer(connection.getresponse())
            finally:
                connection.close()
            if answer.status == 200:
                Client.document = Described(answer.json)
        return Client.document

    def ask(self, method, path, body=None, status=(200, 201, 202, 204), **kw):
        """One exchange that must go well; its JSON."""
        answer = self.request(method, path, body, **kw)
        wanted = status if isinstance(status, tuple) else (status,)
        assert answer.status in wanted, f"{method} {path}: {answer}"
        return answer.json if answer.body else None

    def stream(self, method, path, body=None, headers=None, unix=False, timeout=TIMEOUT, after=0):
        connection = self.connection(unix, timeout)
        response = self.send(connection, method, path, body, {"Accept": NDJSON, **(headers or {})})
        assert response.status == 200, (response.status, response.read())
        described = self.described(unix)
        return Events(connection, response, after,
                      lambda event: described and described.check_line(path, event))

    # ---- what most tests want ----

    def run(self, code=None, session=None, kind="ok", **body):
        """A run to its end: the result, whose verdict must be `kind` (None: any)."""
        path = f"/v1/sessions/{session}/run" if session else "/v1/run"
        given = {"code": code, **body} if code is not None else body
        result = self.ask("POST", path, given, status=200)
        told = (result["error"] or {}).get("traceback", "")
        assert kind is None or result["verdict"]["kind"] == kind, (result["verdict"], told)
        return result

    def value(self, code, session=None):
        """The value of the code's last expression, as JSON."""
        return self.run(code, session)["result"]["application/json"]

    def start_run(self, code, session=None, **body):
        """A detached run; its id."""
        path = f"/v1/sessions/{session}/run" if session else "/v1/run"
        return self.ask("POST", path, {"code": code, "detach": True, **body}, status=202)["id"]

    def events(self, run, after=0, follow=True):
        """The events of a run, or of a session, from some number on."""
        kind = "sessions" if run.startswith("ses_") else "runs"
        query = urllib.parse.urlencode({"after": after, "follow": str(follow).lower()})
        return self.stream("GET", f"/v1/{kind}/{run}/events?{query}", after=after)

    def result(self, run):
        """The result of a run, once it is over."""
        with self.events(run) as events:
            for _ in events:
                pass
        return self.ask("GET", f"/v1/runs/{run}")

    def session(self, **body):
        """A new session; its id."""
        return self.ask("POST", "/v1/sessions", body, status=201)["id"]

    def state(self, session):
        return self.ask("GET", f"/v1/sessions/{session}")
