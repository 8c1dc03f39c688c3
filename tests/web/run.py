#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The page's own tests: its types by tsc, its modules and components by Vitest.

    tests/web/run.py [--viv PATH] [NAME...]

They run in a copy of web/ beside the build, next to the packages of its lock file, so that nothing is left in the
sources.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
WEB = os.path.join(HERE, "..", "..", "web")
SECONDS = 900  # for a machine that is busy with other suites
sys.path.insert(0, os.path.join(HERE, "..", "clients"))

import install  # pylint: disable=wrong-import-position


def copy_of_page(folder):
    """Sources beside the packages: what was removed since the last run must not be found any more."""
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        if name != "node_modules" and os.path.isdir(path):
            shutil.rmtree(path)
    shutil.copytree(WEB, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("node_modules", "dist"))


def run_tool(folder, name, *words):
    # By path: npx would look for what is missing elsewhere.
    return subprocess.run([os.path.join(folder, "node_modules", ".bin", name), *words], cwd=folder, check=False,
                          stdin=subprocess.DEVNULL, timeout=SECONDS).returncode


def count_vitest(folder, names):
    """Passed and failed; a run that did not come to its end is a failure, too."""
    report = os.path.join(folder, "report.json")
    if os.path.exists(report):
        os.unlink(report)
    status = run_tool(folder, "vitest", "run", "--testTimeout=60000", "--reporter=default", "--reporter=json", f"--outputFile={report}", *names)
    try:
        with open(report, encoding="utf-8") as file:
            told = json.load(file)
    except (OSError, ValueError):
        return 0, 1
    failed = told["numFailedTests"] + sum(1 for suite in told["testResults"]
                                          if suite["status"] == "failed" and not suite["assertionResults"])
    for suite in told["testResults"]:
        for test in suite["assertionResults"]:
            if test["status"] in ("pending", "skipped", "todo"):
                print(f"SKIP {test['fullName']}: by its own file")
    return told["numPassedTests"], failed or (1 if status else 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--viv", default=os.path.join(HERE, "..", "..", "build", "viv"), help="says where the build is")
    parser.add_argument("names", nargs="*", help="only test files whose path has one of these")
    args = parser.parse_args()
    os.environ["VIV"] = os.path.abspath(args.viv)

    try:
        folder = os.path.dirname(install.node_modules("web", WEB))
    except install.Missing as why:
        must_run = os.environ.get("VIV_MUST_RUN") == "1"
        print(f"SKIP web: {why}\n0 passed, {1 if must_run else 0} failed")
        return 1 if must_run else 0

    copy_of_page(folder)
    types = run_tool(folder, "tsc", "--noEmit")
    print("ok types" if types == 0 else "not ok types")
    passed, failed = count_vitest(folder, args.names)
    passed, failed = passed + (types == 0), failed + (types != 0)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
