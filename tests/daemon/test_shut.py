# SPDX-License-Identifier: Apache-2.0
"""Every route there is, ours and those of all doors, is shut for whoever has no token of the daemon."""

import os
import re

from case import BARE, DOORS, DaemonCase
from test_access import ALICE, token

SOURCES = os.path.join(os.path.dirname(__file__), "..", "..", "src", "door")
HEADERS = ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic " + ALICE}, {"Authorization": ALICE},
           {"Authorization": ""}, {"X-Api-Key": "wrong"}, {"Authorization": "Bearer " + ALICE.upper()})
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")


def door_paths(name):
    """The paths of a door's rows, as its source has them; what a macro puts in front comes along."""
    with open(os.path.join(SOURCES, name, name + ".c"), encoding="utf-8") as file:
        text = file.read()
    rows = text[text.index("struct door_route routes[]"):]
    rows = rows[:rows.index("\n};")]
    fronts = dict(re.findall(r'#define (\w+)\([^)]*path_[^)]*\)(?:[^#]*?)\.path = "([^"]+)" path_', text))
    found = set(re.findall(r'\.path = "([^"]+)"', rows))
    for macro, words in re.findall(r"\b([A-Z]+)\(([^)]*)\)?", rows):
        for path in re.findall(r'"(/[^"]*)"', words) if macro in fronts else ():
            found.update((fronts[macro] + path, path) if macro == "BOTH" else (fronts[macro] + path,))
    assert found, name
    return {"/" + name + path for path in found}


class ShutTest(DaemonCase):
    CONFIG = (BARE + "tokens:\n" + token("alice", ALICE) + "dialects:\n" +
              "".join(f"  {name}: {{enabled: true, prefix: /{name}}}\n" for name in DOORS))

    def setUp(self):
        is_ours = self.daemon.is_described
        self.daemon.is_described = lambda path: False  # doors have errors of their own
        self.addCleanup(setattr, self.daemon, "is_described", is_ours)
        self.alice = self.daemon.as_token(ALICE)

    def requests(self):
        """Every method of every path, with a body where it may have one."""
        for path in self.paths():
            for method in METHODS:
                yield method, re.sub(r"\{\w+\}", "x", path), b"{}" if method in ("POST", "PUT", "PATCH") else None

    def paths(self):
        yield from self.daemon.ask("GET", "/openapi.json")["paths"]
        for name in DOORS:
            yield from sorted(door_paths(name))
        yield from ("/mcp", "/", "/nowhere", "/v1", "/v1/", "/metrics", "//v1/run", "/v1/run/", "/V1/RUN")

    def test_no_route_answers_without_a_token_or_with_a_wrong_one(self):
        shut = 0
        for method, path, body in self.requests():
            if method in ("GET", "HEAD") and (path in ("/", "/openapi.json") or path.endswith("/health")):
                continue  # the page is for everybody: it asks for a token itself
            for headers in HEADERS:
                with self.subTest(method=method, path=path, headers=headers):
                    answer = self.daemon.request(method, path, body, headers=headers)
                    if answer.status in (404, 405):  # a door has no such method, whoever asks
                        with_token = self.alice.request(method, path, body)
                        self.assertEqual((with_token.status, with_token.body), (answer.status, answer.body))
                        break
                    self.assertIn(answer.status, (401, 403))
                    shut += 1
        self.assertGreater(shut, 1000)
        self.assertEqual(self.alice.ask("GET", "/v1/runs")["runs"], [])
        self.assertEqual(self.alice.ask("GET", "/v1/sessions")["sessions"], [])

    def test_no_route_answers_a_page_of_strangers_even_with_a_token(self):
        for headers in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}, {"Origin": "null"},
                        {"Origin": f"http://127.0.0.1:{self.daemon.port + 1}"}):
            for method, path, body in self.requests():
                with self.subTest(method=method, path=path, headers=headers):
                    answer = self.alice.request(method, path, body, headers=headers)
                    self.assertEqual(answer.status, 403)
                    self.assertNotIn("Access-Control-Allow-Origin", answer.headers)
