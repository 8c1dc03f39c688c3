# SPDX-License-Identifier: Apache-2.0
"""tests/run and tests/pyunit.py count right, and see what goes wrong."""

import importlib.machinery
import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def load_driver():
    """tests/run has no suffix, and must not run when it is only looked at."""
    path = os.path.join(ROOT, "tests", "run")
    loader = importlib.machinery.SourceFileLoader("driver", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("driver", loader))
    was, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = was
    return module


driver = load_driver()


def numbers(count):
    return count.passed, count.failed, len(count.skips)


class Counting(unittest.TestCase):
    def test_reads_the_last_count(self):
        text = "1 passed, 0 failed\nSKIP a: no cgroup\n7 passed, 2 failed\n"
        self.assertEqual(numbers(driver.count_of_output(1, text)), (7, 2, 1))

    def test_a_suite_without_a_count_has_failed(self):
        self.assertEqual(numbers(driver.count_of_output(0, "all fine\n")), (0, 1, 0))

    def test_a_bad_end_is_a_failure(self):
        self.assertEqual(numbers(driver.count_of_output(1, "3 passed, 0 failed\n")), (3, 1, 0))

    def test_a_line_that_only_looks_like_a_count_is_none(self):
        self.assertEqual(numbers(driver.count_of_output(0, "so 3 passed, 0 failed\n")), (0, 1, 0))

    def test_counts_the_tests_of_a_cmocka_program(self):
        text = ("[==========] Running 5 test(s).\n[  PASSED  ] 3 test(s).\n"
                "[  SKIPPED ] 1 test(s), listed below:\n[  FAILED  ] 1 test(s), listed below:\n")
        test = {"name": "frame", "result": "FAIL", "stdout": text}
        self.assertEqual(numbers(driver.count_of_test(test)), (3, 1, 1))

    def test_a_program_that_crashed_has_failed(self):
        self.assertEqual(numbers(driver.count_of_test({"name": "x", "result": "FAIL"})), (0, 1, 0))
        test = {"name": "x", "result": "TIMEOUT", "stdout": "[  PASSED  ] 2 test(s).\n"}
        self.assertEqual(numbers(driver.count_of_test(test)), (2, 1, 0))

    def test_a_skipped_program_gives_its_reason(self):
        count = driver.count_of_test({"name": "x", "result": "SKIP", "stdout": "no landlock\n"})
        self.assertEqual(count.skips, [("x", "no landlock")])


class Pyunit(unittest.TestCase):
    def run_folder(self, body, **env):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "test_it.py"), "w", encoding="utf-8") as file:
                file.write("import unittest\nclass T(unittest.TestCase):\n" + body)
            done = subprocess.run([sys.executable, os.path.join(ROOT, "tests", "pyunit.py"), folder],
                                  env={**os.environ, "VIV_MUST_RUN": "", **env}, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        return done.returncode, done.stdout

    def test_counts_what_passed_and_failed(self):
        status, text = self.run_folder("    def test_a(self): pass\n    def test_b(self): 1 / 0\n")
        self.assertEqual(status, 1)
        self.assertTrue(text.endswith("\n1 passed, 1 failed\n"), text)

    def test_a_skip_is_named_and_must_run_makes_it_a_failure(self):
        body = "    def test_a(self): self.skipTest('no root')\n    def test_b(self): pass\n"
        status, text = self.run_folder(body)
        self.assertEqual(status, 0)
        self.assertIn("SKIP test_it.T.test_a: no root", text)
        status, text = self.run_folder(body, VIV_MUST_RUN="1")
        self.assertEqual(status, 1)
        self.assertTrue(text.endswith("\n1 passed, 1 failed\n"), text)

    def test_an_empty_folder_is_a_failure(self):
        status, text = self.run_folder("    pass\n")
        self.assertEqual(status, 1)
        self.assertTrue(text.endswith("\n0 passed, 0 failed\n"), text)


if __name__ == "__main__":
    unittest.main()
