# SPDX-License-Identifier: Apache-2.0
"""The programs have the hardening that the build asks for: checked copies, marked jump targets, no late binding."""

import os
import platform
import re
import subprocess
import unittest

BUILD = os.path.dirname(os.path.abspath(os.environ["VIV"]))
PROGRAMS = ("viv", "viv-serve", "viv-launch", "runner/_vivarium.abi3.so", "runner/bin/explore")


def told(*words):
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


class Hardening(unittest.TestCase):
    def test_copies_are_checked(self):
        for name in PROGRAMS:
            symbols = told("readelf", "-Ws", os.path.join(BUILD, name))
            if "__asan_" not in symbols:  # a sanitizer checks them itself
                self.assertRegex(symbols, r"__(memcpy|snprintf|vsnprintf|read|recv|fgets|poll)_chk", name)

    def test_functions_begin_with_a_mark(self):
        mark = {"x86_64": "endbr64", "aarch64": r"(paciasp|bti)"}[platform.machine()]
        for name, function in zip(PROGRAMS, ("err_set", "err_set", "outer_main", "walls_up", "io_write_all")):
            code = told("objdump", "-d", "--no-show-raw-insn", f"--disassemble={function}", os.path.join(BUILD, name))
            self.assertTrue(re.search(rf"<{function}>:\n\s*[0-9a-f]+:\s+{mark}", code), (name, code[:400]))

    def test_nothing_is_bound_late(self):
        for name in PROGRAMS:
            dynamic = told("readelf", "-Wd", os.path.join(BUILD, name))
            self.assertRegex(dynamic, "BIND_NOW|NOW", name)
            self.assertNotIn("TEXTREL", dynamic, name)


if __name__ == "__main__":
    unittest.main()
