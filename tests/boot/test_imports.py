# SPDX-License-Identifier: Apache-2.0
"""The runner's own imports find the standard library, whatever files the user's folder has."""

import ast
import os
import subprocess
import sys
import unittest

BOOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "src", "runner", "boot")
BEFORE = {"main", "start", "zygote", "bundle"}  # they run before user code is there, and never again
FIRST = "start"  # the module whose imports are done by then


def parse(name):
    with open(os.path.join(BOOT, f"{name}.py"), encoding="utf-8") as file:
        return ast.parse(file.read())


def at_once(nodes):
    """The statements that are done when a module is loaded, and nothing goes wrong."""
    for node in nodes:
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield from at_once(getattr(node, "body", ()))


def late(nodes):
    """Those inside of functions."""
    for node in nodes:
        for inner in ast.walk(node):
            if isinstance(inner, ast.FunctionDef):
                yield from ast.walk(inner)


def imported(nodes):
    """(modules of others, modules of the package) that these statements import."""
    others, own = set(), set()
    for node in nodes:
        if isinstance(node, ast.Import):
            others |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            others.add(node.module)
        elif isinstance(node, ast.ImportFrom):
            own |= {node.module} if node.module else {alias.name for alias in node.names}
    return others, own


class ImportTest(unittest.TestCase):
    @staticmethod
    def early():
        """(modules of the package, modules of others) that are loaded before the first user code, without
        what a site adds."""
        start = subprocess.run([sys.executable, "-I", "-S", "-c", "import sys; print(*sys.modules)"],
                               capture_output=True, text=True, check=True)
        found = set(start.stdout.split()) | set(sys.builtin_module_names) | {"_vivarium", "vivarium"}
        waiting, seen = [FIRST], set()
        while waiting:
            name = waiting.pop()
            if name in seen or not os.path.exists(os.path.join(BOOT, f"{name}.py")):
                continue
            seen.add(name)
            others, own = imported(at_once(parse(name).body))
            found |= others
            waiting += own
        return seen, found

    def test_what_comes_late_is_loaded_from_the_standard_library(self):
        own, safe = self.early()
        self.assertIn("wire", own)
        for file in sorted(os.listdir(BOOT)):
            name = file.removesuffix(".py")
            if name not in BEFORE:
                with self.subTest(file=file):
                    nodes = late(parse(name).body) if name in own else ast.walk(parse(name))
                    self.assertEqual(imported(nodes)[0] - safe, set(), "use hooks.load()")
