# SPDX-License-Identifier: Apache-2.0
"""The lock files: what is fetched is decided here, and not by whoever has published since."""

import json
import os
import re
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
BROWSER = os.path.join(HERE, "..", "browser")
WEB = os.path.join(HERE, "..", "..", "web")


def load(name, folder=HERE):
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return json.load(file)


class Locks(unittest.TestCase):
    def test_every_client_is_wanted_in_one_version(self):
        for package in (load("package.json"), load("package.json", BROWSER)):
            wanted = {**package["dependencies"], **package["optionalDependencies"]}
            for name, version in wanted.items():
                self.assertRegex(version, r"^(npm:@[\w/.-]+@)?\d+\.\d+\.\d+(-[a-z]+\.\d+)?$", name)

    def test_every_package_is_known_by_its_hash_and_by_no_host(self):
        for folder, least in ((HERE, 200), (BROWSER, 3), (WEB, 50)):
            packages = load("package-lock.json", folder)["packages"]
            self.assertGreater(len(packages), least)
            for path, package in packages.items():
                if path:
                    self.assertRegex(package.get("integrity", ""), "^sha512-", path)
                    self.assertNotIn("resolved", package, path)

    def test_the_lock_holds_what_is_wanted(self):
        for folder in (HERE, BROWSER):
            package, lock = load("package.json", folder), load("package-lock.json", folder)["packages"][""]
            for kind in ("dependencies", "optionalDependencies"):
                self.assertEqual(lock[kind], package[kind])

    def test_python_packages_have_one_version_each(self):
        for name in ("mcp-1.txt", "mcp-2.txt"):
            with open(os.path.join(HERE, name), encoding="utf-8") as file:
                lines = [line for line in file.read().splitlines() if line and not line.startswith("#")]
            self.assertTrue(any(re.match(rf"mcp=={name[4]}\.", line) for line in lines), lines)
            for line in lines:
                self.assertRegex(line, r"^[\w.-]+==[\w.]+$")
