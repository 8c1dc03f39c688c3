# SPDX-License-Identifier: Apache-2.0
"""Reading GET /v1/events in tests: line by line, each checked."""

import json
import socket

from http_client import TIMEOUT, strict_json


class Feed:
    """One reader. Its numbers never fall; `hello` is taken at once."""

    def __init__(self, client, query="", headers=None, unix=False):
        self.connection = client.connection(unix, TIMEOUT)
        response = client.send(self.connection, "GET", f"/v1/events{query}", None, headers or {})
        self.response, self.status, self.headers = response, response.status, response.headers
        self.described = client.described(unix)
        assert response.status == 200, (response.status, response.read())
        self.seq, self.lines = 0, []
        self.hello = self.next()
        assert self.hello["type"] == "hello", self.hello

    def next(self):
        """The next line that is not only a sign of life; None at the end."""
        for _ in range(5):  # a minute of nothing else is no wait but a failure
            line = self.response.readline()
            if not line:
                return None
            assert line.isascii() and line.endswith(b"\n"), line
            event = strict_json(line)
            self.described.check_line("/v1/events", event)
            assert event["seq"] >= self.seq, (self.seq, event)
            self.seq = event["seq"]
            self.lines.append(event)
            if event["type"] != "keepalive":
                return event
        raise AssertionError(f"nothing but signs of life: {json.dumps(self.lines[-8:])}")

    def until(self, is_it):
        """Reads on up to the first line of which this is true."""
        while True:
            event = self.next()
            assert event is not None, f"the feed ended: {json.dumps(self.lines[-5:])}"
            if is_it(event):
                return event

    def until_run(self, run, state):
        return self.until(lambda event: event["type"] == "run" and event["run"]["id"] == run and
                          event["run"]["state"] == state)["run"]

    def until_session(self, session, state):
        return self.until(lambda event: event["type"] == "session" and event["session"]["id"] == session and
                          event["session"]["state"] == state)["session"]

    def close(self):
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
