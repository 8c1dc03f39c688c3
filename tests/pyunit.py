# SPDX-License-Identifier: Apache-2.0
"""Runs the unittest files of a folder and prints the count that tests/run reads.

    tests/pyunit.py FOLDER [--viv PATH] [--form FORM] [--without NAME]... [PATTERN...]

The path of viv reaches the tests as the environment variable VIV, the form as VIV_TEST_FORM.
"""

import argparse
import os
import sys
import time
import unittest

SLOWEST = 10  # tests whose time is shown, for whoever wants the suites to be faster


class Result(unittest.TextTestResult):
    """Names each skipped test in a line of its own; with VIV_MUST_RUN=1 a skip is a failure."""

    passed = 0

    def __init__(self, *args, **kw):
        super().__init__(*args, **kw)
        self.seconds = {}  # of each test, by its name
        self.name, self.begin = "", 0

    def startTest(self, test):
        super().startTest(test)
        self.name, self.begin = test.id(), time.monotonic()  # a test may call a session of its own `id`

    def stopTest(self, test):
        super().stopTest(test)
        self.seconds[self.name] = time.monotonic() - self.begin

    def print_slowest(self):
        for name in sorted(self.seconds, key=self.seconds.get)[-SLOWEST:]:
            print(f"{self.seconds[name]:7.1f} s  {name}")

    def addSuccess(self, test):
        super().addSuccess(test)
        self.passed += 1

    def addSkip(self, test, reason):
        if os.environ.get("VIV_MUST_RUN") == "1":
            self.addFailure(test, (AssertionError, AssertionError(f"must run: {reason}"), None))
            return
        super().addSkip(test, reason)
        print(f"SKIP {test.id()}: {reason}", flush=True)


def each_of(tests):
    """The single tests of a suite of suites."""
    for test in tests:
        if isinstance(test, unittest.TestSuite):
            yield from each_of(test)
        else:
            yield test


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--viv", help="the viv to test")
    parser.add_argument("--form", choices=["descriptors", "stream"],
                        help="how frames reach a runner: tests/boot and tests/runner (docs/protocol.md)")
    parser.add_argument("--without", action="append", default=[],
                        help="not the tests whose name has this; can be given again")
    parser.add_argument("patterns", nargs="*", help="only tests whose name has one of these")
    args = parser.parse_intermixed_args()

    if args.viv:
        os.environ["VIV"] = os.path.abspath(args.viv)
    if args.form:
        os.environ["VIV_TEST_FORM"] = args.form
    loader = unittest.TestLoader()
    if args.patterns:
        loader.testNamePatterns = [f"*{pattern}*" for pattern in args.patterns]
    tests = loader.discover(args.folder, pattern="test_*.py", top_level_dir=args.folder)
    if args.without:
        tests = unittest.TestSuite(test for test in each_of(tests)
                                   if not any(name in test.id() for name in args.without))
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2, resultclass=Result).run(tests)
    result.print_slowest()
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    passed = result.passed + len(result.expectedFailures)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


sys.exit(main())
