# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of Atlas's door: a folder to look at, a daemon that speaks it, its client."""

import json
import os
import socket
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "api"))
# pylint: disable=wrong-import-position
from daemon import Daemon, wait_for  # noqa: E402,F401
from http_client import strict_json  # noqa: E402

MIB = 1 << 20
FILES = {"catalog.yml": "name: shop\n", "entities/orders.yml": "table: orders\n",
         "metrics/sales.yml": "sum: total\n"}
WAIT_FOREVER = "import time\nprint('here')\ntime.sleep(100)"


def make_semantic(folder):
    for name, text in FILES.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    return folder


class Lines:
    """The events of /exec-python-stream, one by one, each strict JSON."""

    def __init__(self, connection, response):
        self.connection, self.response = connection, response
        self.headers = response.headers

    def __iter__(self):
        for line in self.response:
            assert line.endswith(b"\n"), line
            event = strict_json(line)
            assert set(event) == {"type", "data"}, event
            yield event

    def close(self):
        try:
            self.connection.sock.shutdown(socket.SHUT_RDWR)
        except (OSError, AttributeError):
            pass
        self.response.close()
        self.connection.close()


class AtlasCase(unittest.TestCase):
    """One daemon for the class, with Atlas at the root by its config."""

    maxDiff = None
    MORE = ""

    @classmethod
    def setUpClass(cls):
        daemon = Daemon(start=False)
        cls.daemon = daemon
        cls.addClassCleanup(daemon.sweep)
        cls.semantic = make_semantic(daemon.path("semantic"))
        daemon.write_config("dialects: {atlas: {enabled: true, prefix: /, semantic_dir: "
                            f"{cls.semantic}{cls.MORE}}}}}\n")
        daemon.described = lambda unix=False: None  # /health is Atlas's here, not ours
        daemon.start()

    def post(self, path, body, **kw):
        if not isinstance(body, (str, bytes)):
            body = json.dumps(body)
        return self.daemon.request("POST", path, body, **kw)

    def python(self, code, **more):
        """PythonResult of a run; all its keys are known ones."""
        answer = self.post("/exec-python", {"code": code, **more})
        self.assertEqual(answer.status, 200, answer)
        result = answer.json
        self.assertIs(type(result["success"]), bool)
        self.assertLessEqual(set(result), {"success", "output", "error", "table", "rechartsCharts",
                                           "charts", "plotlyCharts"})
        self.assertEqual("error" in result, not result["success"], result)
        return result

    def open_stream(self, code, **more):
        connection = self.daemon.connection()
        connection.request("POST", "/exec-python-stream", json.dumps({"code": code, **more}))
        response = connection.getresponse()
        self.assertEqual(response.status, 200)
        lines = Lines(connection, response)
        self.addCleanup(lines.close)
        return lines

    def stream(self, code, **more):
        """Every event of a run; the last one is the only terminal one."""
        events = list(self.open_stream(code, **more))
        kinds = [event["type"] for event in events]
        self.assertIn(kinds[-1], ("done", "error"), events[-3:])
        self.assertFalse({"done", "error"} & set(kinds[:-1]), kinds)
        return events

    def refused(self, answer, status, text):
        self.assertEqual((answer.status, answer.json), (status, {"error": text}))
