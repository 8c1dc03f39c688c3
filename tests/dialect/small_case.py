# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of the small doors: a daemon that speaks one of them, and the requests that all get."""

import json
import os
import socket
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "api"))
# pylint: disable=wrong-import-position
from daemon import Daemon, wait_for  # noqa: E402,F401

MIB = 1 << 20

# Bodies that are no request: broken, cut off, of another kind, deep, or not UTF-8.
NO_OBJECTS = (b"", b"{", b'{"code": "print(1)"', b"[]", b"null", b'"text"', b"7", b"nonsense", b"\xff\xfe{}",
              b"[" * 5000, b'{"a":' * 5000, b'{"code": "\xc3\x28"}', b"{} {}")


class SmallCase(unittest.TestCase):
    """One daemon for the class, with the door at the root as far as it can be."""

    maxDiff = None
    DOOR = ""
    MORE = ""

    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon(f"dialects: {{{cls.DOOR}: {{enabled: true}}}}\n" + cls.MORE)

    @classmethod
    def tearDownClass(cls):
        cls.daemon.stop()

    def post(self, path, body, **kw):
        return self.daemon.request("POST", path, body, **kw)

    def run_count(self):
        """How many runs there have been: what is refused adds none."""
        return len(self.daemon.ask("GET", "/v1/runs?limit=1000")["runs"])

    def assert_other_host_refused(self, path, keys):
        """A page that has made a name of its own lead here: told in the door's own shape."""
        before = self.run_count()
        for headers in ({"Host": "evil.example.com"}, {"Origin": "http://evil.example.com"}):
            answer = self.post(path, "{}", headers=headers)
            self.assertEqual((answer.status, list(answer.json)), (403, keys), answer)
        self.assertEqual(self.run_count(), before)

    def leave_while_it_runs(self, path, body, header=""):
        """A client that closes its connection once its code is running; waits until that is over."""
        with socket.create_connection(("127.0.0.1", self.daemon.port)) as client:
            data = json.dumps(body).encode()
            client.sendall(b"POST %s HTTP/1.1\r\nHost: localhost\r\n%sContent-Length: %d\r\n\r\n%s"
                           % (path.encode(), header.encode(), len(data), data))
            wait_for(self.living, what="the run")
        wait_for(lambda: not self.living(), what="the end of the run")

    def living(self):
        runs = self.daemon.ask("GET", "/v1/runs?limit=1000")["runs"]
        return [run for run in runs if run["verdict"] is None]
