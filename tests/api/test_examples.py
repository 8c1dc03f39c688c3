# SPDX-License-Identifier: Apache-2.0
"""The example programs print what they should, byte for byte."""

import os
import unittest

from vivcli import EXAMPLES, HERE, VivCase


class Examples(VivCase):
    def check(self, name):
        done = self.viv("run", "--no-daemon", os.path.join(EXAMPLES, name + ".py"))
        with open(os.path.join(HERE, "expected", name + ".txt"), "rb") as file:
            self.assertEqual(done.out.decode(), file.read().decode())
        self.assertEqual((done.code, done.err), (0, b""))

    def test_email_validator(self):
        self.check("email_validator")

    def test_sales_statistics(self):
        self.check("sales_statistics")

    def test_binary_search(self):
        self.check("binary_search")

    def test_quadratic(self):
        self.check("quadratic")

    def test_the_analysis_of_the_tour(self):
        path = os.path.join(EXAMPLES, "sales.csv")
        result = self.result_of_file(os.path.join(EXAMPLES, "analysis.py"), "--data", path,
                                     "--file", path)
        self.assertGreaterEqual(len(result["charts"]), 3)
        self.assertTrue(result["stdout"])


if __name__ == "__main__":
    unittest.main()
