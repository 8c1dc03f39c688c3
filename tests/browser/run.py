#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The page, used as a person would: Chromium against a real daemon.

    tests/browser/run.py [--viv PATH] [--keep] [--wait MS] [NAME...]

A NAME picks the subjects (files `NAME.test.mjs`) or tests whose title has it. What Chromium is driven with
comes by the lock file of this folder and stays beside the build, as that of tests/clients does. Screenshots
go to `screenshots` beside the viv that is tested; --keep takes one after each test, not only where one fails.
"""

import argparse
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "clients"))

import install  # pylint: disable=wrong-import-position

NAMES = ("chromium", "chromium-browser", "google-chrome")


def skip(why):
    """Nothing was tried: said as tests/run reads it, and a failure where everything must run."""
    must_run = os.environ.get("VIV_MUST_RUN") == "1"
    print(f"SKIP browser: {why}\n{0} passed, {1 if must_run else 0} failed")
    return 1 if must_run else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--viv", default=os.path.join(HERE, "..", "..", "build", "viv"), help="the viv to test")
    parser.add_argument("--keep", action="store_true", help="a screenshot after each test")
    parser.add_argument("--wait", type=int, default=60000, help="ms that a test waits for what is to be seen: a busy machine is slow")
    parser.add_argument("names", nargs="*", help="only subjects or tests whose name has one of these")
    args = parser.parse_args()

    viv = os.path.abspath(args.viv)
    os.environ["VIV"] = viv
    chromium = next(filter(None, map(shutil.which, NAMES)), None)
    if not chromium:
        return skip("no Chromium; `scripts/setup test` installs it")
    try:
        modules = install.node_modules("browser", HERE)
        node = os.path.join(install.node_bin("browser", HERE), "node")
    except install.Missing as why:
        return skip(why)

    screenshots = os.path.join(os.path.dirname(viv), "screenshots")
    os.makedirs(screenshots, exist_ok=True)
    env = {**os.environ, "VIV_CHROMIUM": chromium, "VIV_NODE_MODULES": modules, "VIV_SCREENSHOTS": screenshots,
           "VIV_KEEP": "1" if args.keep else "", "VIV_WAIT_MS": str(args.wait)}
    return subprocess.run([node, os.path.join(HERE, "main.mjs"), *args.names], env=env, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
