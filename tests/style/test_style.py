# SPDX-License-Identifier: Apache-2.0
"""The tree is in order, and the checks that say so can fail."""

import os
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

    def test_refuses_a_long_file(self):
        self.assertIn("split", self.messages("src/base/a.c", SPDX + "int a;\n" * 900))
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
