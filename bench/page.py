#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How quick the page is, in Chromium on loopback: first paint, first result, scrolling, a large chart.

    bench/page.py [--build DIR] [--quick] [--results DIR]

bench/page.mjs does it and tells the figures; here is what it needs: a daemon, Chromium, and the packages that
tests/browser drives it with. Writes bench/results/page-DATE.json; figures over their target are told, not failed.
"""

import argparse
import datetime
import json
import os
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BROWSER = os.path.join(ROOT, "tests", "browser")
sys.path.insert(0, os.path.join(ROOT, "tests", "clients"))

import host  # pylint: disable=wrong-import-position
import install  # pylint: disable=wrong-import-position
from client import Daemon  # pylint: disable=wrong-import-position


def tell(row):
    met = row.get("met")
    verdict = "" if met is None else "  met" if met else "  NOT MET"
    print(f"{row['name']:62s} {row['value']:10.1f} {row['unit']:6s} {row.get('target') or '':12s}{verdict}", flush=True)


def measure(build, quick):
    chromium = shutil.which("chromium")
    if not chromium:
        raise SystemExit("bench: no Chromium; `scripts/setup test` installs it")
    modules = install.node_modules("browser", BROWSER)
    node = os.path.join(install.node_bin("browser", BROWSER), "node")
    daemon = Daemon(build)
    env = {**os.environ, "VIV_CHROMIUM": chromium, "VIV_NODE_MODULES": modules, "VIV_SCREENSHOTS": build,
           "VIV_PORT": str(daemon.port), "VIV_QUICK": "1" if quick else ""}
    rows = []
    try:
        with subprocess.Popen([node, os.path.join(ROOT, "bench", "page.mjs")], env=env, stdout=subprocess.PIPE,
                              text=True) as child:
            for line in child.stdout:
                rows.append(json.loads(line))
                tell(rows[-1])
    finally:
        daemon.close()
    if child.returncode != 0:
        raise SystemExit("bench: the page could not be measured to its end")
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--results", default=os.path.join(ROOT, "bench", "results"))
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    os.environ["VIV"] = os.path.join(options.build, "viv")
    rows = measure(options.build, options.quick)
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H%M%SZ")
    path = os.path.join(options.results, f"page-{now}.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"when": now, "host": host.describe(), "figures": rows}, file, indent=1)
    print(f"written: {path}")


if __name__ == "__main__":
    main()
