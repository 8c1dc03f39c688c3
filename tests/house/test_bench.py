# SPDX-License-Identifier: Apache-2.0
"""The bench's chart is well-formed and complete, and its machine has no name."""

import json
import os
import sys
import unittest
from xml.etree import ElementTree

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "bench"))

import chart  # noqa: E402  (found by the line above)
import host  # noqa: E402
import run  # noqa: E402

SVG = "{http://www.w3.org/2000/svg}"


def report(**pooled):
    outside = {job: {name: {"p50_ms": 20.0 * (i + 1)} for i, name in enumerate(run.CONTENDERS)}
               for job in run.JOBS}
    machine = {"cpu": "A <cpu> & more", "cores": 2, "virtual": True, "memory_gib": 8.0,
               "kernel": "6.1", "python": "3.11.2"}
    return {"date": "2024-01-01", "machine": machine, "outside": outside,
            "inside": {"figures": [{"name": f"pooled {job}(1), p50", "value": value}
                                   for job, value in pooled.items()]}}


class Chart(unittest.TestCase):
    def draw(self, **pooled):
        return ElementTree.fromstring(chart.draw(report(**pooled), run.JOB_TITLES))

    def test_has_a_bar_for_each_job_and_contender(self):
        bars = [rect for rect in self.draw().iter(SVG + "rect") if rect.get("rx")]
        self.assertEqual(len(bars), len(run.JOBS) * len(run.CONTENDERS))
        bars = [rect for rect in self.draw(print=0.5).iter(SVG + "rect") if rect.get("rx")]
        self.assertEqual(len(bars), len(run.JOBS) * len(run.CONTENDERS) + 1)

    def test_bars_are_to_scale_and_inside_the_picture(self):
        picture = self.draw()
        widths = [int(rect.get("width")) for rect in picture.iter(SVG + "rect") if rect.get("rx")]
        self.assertAlmostEqual(widths[0] * 3, widths[2], delta=2)
        for rect in picture.iter(SVG + "rect"):
            right = int(rect.get("x", 0)) + int(rect.get("width"))
            self.assertLessEqual(right, int(picture.get("width")))

    def test_text_is_escaped_and_tells_the_ratio(self):
        words = " ".join(text.text for text in self.draw(print=0.5).iter(SVG + "text"))
        self.assertIn("A <cpu> & more", words)
        self.assertIn("3.00x", words)
        self.assertIn("0.50 ms", words)


class Host(unittest.TestCase):
    def test_tells_the_machine_and_not_its_name(self):
        told = host.describe()
        self.assertGreaterEqual(told["cores"], 1)
        self.assertGreater(told["memory_gib"], 0)
        name = os.uname().nodename
        if len(name) > 3:
            self.assertNotIn(name, json.dumps(told))

    def test_the_file_name_is_plain(self):
        self.assertRegex(host.kind(host.describe()), r"^[a-z]+-(vm|metal)-\d+c$")


class Summary(unittest.TestCase):
    def test_gives_median_and_tail(self):
        told = run.summary([float(n) for n in range(1, 101)])
        self.assertEqual((told["n"], told["p50_ms"], told["p95_ms"]), (100, 50.5, 96.0))


if __name__ == "__main__":
    unittest.main()
