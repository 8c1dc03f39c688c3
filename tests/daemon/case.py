# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of this folder: one daemon for a class, and a look at what it leaves."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "api"))
# pylint: disable=wrong-import-position
from daemon import DOORS, WAIT_SECONDS, Daemon, has_freezer, wait_for  # noqa: E402,F401
from http_client import Client, Events  # noqa: E402,F401

RESULT_KEYS = {"id", "session", "verdict", "state", "stdout", "stderr", "truncated", "result", "error",
               "displays", "charts", "table", "files", "usage", "backend", "runtime", "walls"}
VERDICT_KEYS = {"kind", "exit_code", "signal", "message", "remedy", "remedy_key", "limit", "peak", "by"}
USAGE_KEYS = {"queue_ms", "wall_ms", "cpu_ms", "peak_memory", "output_bytes"}
SESSION_KEYS = {"id", "name", "state", "policy", "runtime", "backend", "created_ms", "idle_ms", "ttl_ms",
                "runs", "memory", "head"}
BARE = "runtimes:\n  base: {pool: 0}\n  full: {pool: 0}\n  bare: {python: /usr/bin/python3, preload: [], pool: 2}\n"


class Checks(unittest.TestCase):
    """Checks that every test of this folder can make."""

    maxDiff = None

    def expect_error(self, answer, status, kind, field=None):
        """An answer in the shape that every refusal has."""
        self.assertEqual(answer.status, status, answer)
        error = answer.error
        self.assertEqual(error["kind"], kind, error)
        self.assertTrue(error["message"])
        if field is not None:
            self.assertEqual(error.get("field"), field, error)
        return error

    @staticmethod
    def read_all(daemon, run):
        """Every event of a run from the first; Events checks that no number is missing or twice."""
        with daemon.events(run) as events:
            return list(events)

    @staticmethod
    def output(events):
        return "".join(event["text"] for event in events if event["type"] == "stdout")


class Case(Checks):
    """A daemon for each test: it is going to die."""

    def serve(self, config=BARE, **kw):
        daemon = Daemon(config, **kw)
        self.addCleanup(daemon.sweep)
        return daemon


class DaemonCase(Checks):
    """Tests on one daemon, started for the class. The last check is that it leaves nothing."""

    CONFIG = ""
    FLAGS = ()

    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon(cls.CONFIG, cls.FLAGS)
        cls.addClassCleanup(cls.daemon.sweep)

    @classmethod
    def tearDownClass(cls):
        cls.daemon.stop()

    def new_session(self, **body):
        """A session that ends with the test."""
        session = self.daemon.session(**{"runtime": "bare", **body})
        self.addCleanup(self.daemon.request, "DELETE", f"/v1/sessions/{session}")
        return session
