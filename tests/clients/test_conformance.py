# SPDX-License-Identifier: Apache-2.0
"""The official conformance suite of MCP, whole: what it scores and what it only runs."""

import os
import re

from case import ClientCase, npm

TOTAL = re.compile(r"^Total: (\d+) passed, (\d+) failed", re.M)
SCENARIO = re.compile(r"^([✓✗]) (\S+): (\d+) passed, (\d+) failed", re.M)


class Conformance(ClientCase):
    FLAGS = ("--conformance",)

    def run_suite(self, package, *args):
        program = os.path.join(npm(), package, "dist", "index.js")
        status, out, err = self.node(program, "server", "--url", self.url + "/mcp", *args)
        summary = out[out.find("=== SUMMARY ==="):]
        failed = [name for mark, name, _, bad in SCENARIO.findall(summary) if mark != "✓" or bad != "0"]
        self.assertEqual(failed, [], f"status {status}\n{summary}\n{err[-3000:]}")
        self.assertEqual(status, 0, f"{out[-6000:]}\n{err[-3000:]}")
        passed, bad = map(int, TOTAL.search(summary).groups())
        self.assertEqual(bad, 0)
        return len(SCENARIO.findall(summary)), passed

    def test_the_stable_suite(self):
        scenarios, passed = self.run_suite("conformance-stable")
        self.assertGreaterEqual((scenarios, passed), (30, 39))

    def test_the_requirements_of_2025_11_25(self):
        scenarios, passed = self.run_suite("@modelcontextprotocol/conformance", "--requirements", "2025-11-25")
        self.assertGreaterEqual((scenarios, passed), (33, 83))

    def test_the_requirements_of_2026_07_28(self):
        scenarios, passed = self.run_suite("@modelcontextprotocol/conformance", "--requirements", "2026-07-28")
        self.assertGreaterEqual((scenarios, passed), (50, 196))
