# SPDX-License-Identifier: Apache-2.0
"""The tree is in order, and the checks that say so can fail."""

import fnmatch
import os
import re
import tempfile
import unittest

import check_layers
import check_style

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SPDX = "// SPDX-License-Identifier: Apache-2.0\n"
HEADER = SPDX + "/*\n * Name - a thing\n *\n * Owns:    it.\n */\n#pragma once\n"


def told(found):
    return "\n".join(f"{path}:{line}: {message}" for path, line, message in found)


class Tree(unittest.TestCase):
    def test_dependencies_point_one_way(self):
        found, count = check_layers.check(os.path.join(ROOT, "src"))
        self.assertGreater(count, 30)
        self.assertEqual(found, [], told(found))

    def test_files_keep_to_the_style(self):
        found, count = check_style.check(ROOT)
        self.assertGreater(count, 60)
        self.assertEqual(found, [], told(found))


class Unseen(unittest.TestCase):
    """The command line and the page show the same characters by their number."""

    def ranges(self, path, name):
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            table = re.search(rf"{name}(?:\[\]|: Range\[\]) = [{{\[](.*?)\n[}}\]];", file.read(), re.S).group(1)
        return [tuple(int(end, 16) for end in pair) for pair in re.findall(r"(0x[0-9a-f]+), *(0x[0-9a-f]+)", table)]

    def test_both_have_one_table(self):
        for ours, theirs in (("unseen", "HIDDEN"), ("pictures", "PICTURES")):
            table = self.ranges("src/cli/safe.c", ours)
            self.assertGreater(len(table), 10)
            self.assertEqual(table, sorted(table))
            self.assertEqual(table, self.ranges("web/src/panels/unseen.ts", theirs))

    def test_it_has_what_nobody_sees(self):
        table = self.ranges("src/cli/safe.c", "unseen")
        for point in (*range(0xfe00, 0xfe10), *range(0xe0000, 0xe0080), *range(0xe0100, 0xe01f0), *range(0x180b, 0x1810),
                      0xad, 0x34f, 0x115f, 0x1160, 0x200b, 0x202e, 0x2066, 0x3164, 0xfeff, 0xffa0):
            self.assertTrue(any(first <= point <= last for first, last in table), hex(point))


class Named(unittest.TestCase):
    """Paths in HACKING.md exist. NAME, SUBJECT and * stand for any name; a name without a folder may be in any."""

    def setUp(self):
        with open(os.path.join(ROOT, "HACKING.md"), encoding="utf-8") as file:
            text = re.sub(r"^```.*?^```", "", file.read(), flags=re.M | re.S)
        self.spans = [word for span in re.findall(r"`([^`]+)`", text) for word in span.split()]
        self.files = []
        for folder in ("src", "tests", "docs", "web", "bench", "scripts", "share", "examples"):
            for here, folders, names in os.walk(os.path.join(ROOT, folder)):
                folders[:] = [name for name in folders if name not in ("node_modules", "__pycache__")]
                self.files += [os.path.relpath(os.path.join(here, name), ROOT) for name in names]

    def words(self):
        found = set()
        for path in self.files:
            if path.startswith("src/") and path.endswith((".c", ".h", ".py")):
                with open(os.path.join(ROOT, path), encoding="utf-8", errors="replace") as file:
                    found.update(re.findall(r"\w+", file.read()))
        return found

    def is_there(self, path):
        pattern = re.sub(r"NAME|SUBJECT", "*", path)
        if pattern.endswith("/"):
            pattern += "*"
        return any(fnmatch.fnmatch(file, form) for file in self.files
                   for form in (pattern, f"src/{pattern}", f"*/{pattern}", f"{pattern}/*"))

    def test_its_files_are_there(self):
        paths = [word for word in self.spans if re.fullmatch(r"[\w*./-]+", word) and not word.startswith((".", "/", "-", "build/", "*"))
                 and (re.search(r"\w\.(c|h|py|ts|tsx|mjs|md|build)$", word) or "/" in word)]
        self.assertGreater(len(paths), 100)
        self.assertEqual([path for path in paths if not self.is_there(path)], [])

    def test_its_functions_are_there(self):
        names = {word.rstrip("()") for word in self.spans if re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)+(\(\))?", word)}
        known = self.words() | {os.path.basename(path).split(".")[0] for path in self.files}
        self.assertGreater(len(names), 20)
        self.assertEqual(sorted(name for name in names if name not in known), [])

    def test_it_can_fail(self):
        self.assertTrue(self.is_there("session/run.c"))
        self.assertFalse(self.is_there("session/router.c"))
        self.assertFalse(self.is_there("nowhere.c"))
        self.assertFalse(self.is_there("src/nowhere/"))


class Layers(unittest.TestCase):
    def messages(self, files):
        with tempfile.TemporaryDirectory() as src:
            for name, text in files.items():
                path = os.path.join(src, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
            return [message for _, _, message in check_layers.check(src)[0]]

    def test_accepts_an_include_downwards(self):
        self.assertEqual(self.messages({"base/c.h": "", "walls/a.c": '#include "base/c.h"\n'}), [])

    def test_refuses_an_include_upwards(self):
        found = self.messages({"walls/wall.h": "", "base/a.c": '#include "walls/wall.h"\n'})
        self.assertIn("other way", found[0])

    def test_privileged_code_sees_the_plan_only(self):
        files = {"policy/plan.h": "", "policy/policy.h": "",
                 "launch/a.c": '#include "policy/plan.h"\n#include "policy/policy.h"\n'}
        found = self.messages(files)
        self.assertEqual(len(found), 1)
        self.assertIn("policy/policy.h", found[0])

    def test_a_door_knows_no_other_door(self):
        files = {"door/door.h": "", "door/a/a.h": "", "door/b/b.h": "",
                 "door/a/a.c": '#include "door/door.h"\n#include "door/a/a.h"\n#include "door/b/b.h"\n',
                 "door/table.c": '#include "door/a/a.h"\n'}
        found = self.messages(files)
        self.assertEqual(len(found), 2)
        self.assertTrue(all("no other door" in message for message in found))

    def test_a_dialect_is_named_by_its_door_only(self):
        found = self.messages({"door/far/far.c": "/* far */\n", "op/a.c": "int far_enabled; int afar;\n",
                               "policy/b.c": "/* Far's own */\n"})
        self.assertEqual([message[:4].lower() for message in found], ["far:", "far:"])

    def test_launch_is_named_below_the_box_only(self):
        found = self.messages({"session/a.c": "/* Launch ends it. */\nint launcher;\n",
                               "backend/namespace/b.c": "/* launch */\n", "daemon/c.c": "/* launch */\n"})
        self.assertEqual(["below the box" in message for message in found], [True, True])

    def test_refuses_an_include_without_its_folder(self):
        self.assertIn("so that its folder shows",
                      self.messages({"base/c.h": "", "base/a.c": '#include "c.h"\n'})[0])

    def test_refuses_a_folder_nobody_knows(self):
        self.assertIn("not in the table", self.messages({"misc/a.c": ""})[0])


class Style(unittest.TestCase):
    def messages(self, name, text):
        with tempfile.TemporaryDirectory() as root:
            path = os.path.join(root, name)
            os.makedirs(os.path.dirname(path))
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            return " | ".join(message for _, _, message in check_style.check(root)[0])

    def test_accepts_what_is_in_order(self):
        self.assertEqual(self.messages("src/base/a.h", HEADER), "")
        self.assertEqual(self.messages("src/base/a.c", SPDX + 'static const char *u = "a//b";\n'), "")

    def test_refuses_a_file_without_a_licence(self):
        self.assertIn("SPDX", self.messages("src/base/a.c", "int a;\n"))
        self.assertIn("SPDX", self.messages("scripts/a", "#!/bin/sh\n"))

    def test_refuses_a_header_that_owns_nothing(self):
        self.assertIn("owns", self.messages("src/base/a.h", HEADER.replace("Owns", "Holds")))
        self.assertIn("pragma", self.messages("src/base/a.h", HEADER.replace("#pragma once", "")))

    def test_refuses_a_long_file_of_the_runner_alone(self):
        self.assertEqual(self.messages("src/base/a.c", SPDX + "int a;\n" * 2000), "")
        self.assertIn("split", self.messages("src/runner/boot/a.py", "# " + SPDX + "a = 1\n" * 300))

    def test_refuses_a_long_function(self):
        body = "\ta++;\n"
        self.assertEqual(self.messages("src/base/a.c", SPDX + "int f(void)\n{\n" + body * 60 + "}\n"), "")
        self.assertIn("61 lines", self.messages("src/base/a.c",
                                                SPDX + "int f(void)\n{\n" + body * 61 + "}\n"))
        self.assertIn("61 lines", self.messages("tests/a.py",
                                                "# " + SPDX + "def f():\n" + "    a = 1\n" * 60))

    def test_refuses_words(self):
        self.assertIn("must not appear", self.messages("src/base/a.c", SPDX + "/* TODO: all */\n"))

    def test_refuses_a_line_comment(self):
        self.assertIn("//", self.messages("src/base/a.c", SPDX + "int a; // one\n"))


if __name__ == "__main__":
    unittest.main()
