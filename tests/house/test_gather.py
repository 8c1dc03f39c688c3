# SPDX-License-Identifier: Apache-2.0
"""src/runner/gather.py lays the runner out as a sandbox needs it."""

import importlib.util
import marshal
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUNDLE = importlib.util.MAGIC_NUMBER.hex() + ".bundle"
UNCHECKED_HASH = 0b01  # PEP 552: flags of a pyc, the four bytes behind its magic number


class Gather(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="viv-gather-")
        self.addCleanup(shutil.rmtree, self.folder)
        os.mkdir(self.path("boot"))
        self.write("boot/main.py", "import vivarium.cell\n")
        self.write("boot/cell.py", "VALUE = 1\ndef f(): pass\n")
        self.write("_vivarium.abi3.so", "binary")

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def gather(self, *args, **env):
        subprocess.run([sys.executable, os.path.join(ROOT, "src", "runner", "gather.py"),
                        "--boot", self.path("boot"), "--extension", self.path("_vivarium.abi3.so"),
                        *args], env={**os.environ, **env}, check=True)

    def test_lays_out_sources_bytecode_and_extension(self):
        self.gather("--into", self.path("out"))
        self.assertEqual(sorted(os.listdir(self.path("out"))),
                         sorted(["_vivarium.abi3.so", BUNDLE, "main.py", "vivarium",
                                 "vivarium.zip"]))
        self.assertEqual(sorted(os.listdir(self.path("out", "vivarium"))), ["__pycache__", "cell.py"])

    def test_bundle_and_zip_hold_every_module(self):
        self.gather("--into", self.path("out"))
        with open(self.path("out", BUNDLE), "rb") as file:
            data = file.read()
        parts = marshal.loads(data)
        self.assertEqual(list(parts), ["vivarium.cell"])
        begin, end = parts["vivarium.cell"]
        code = marshal.loads(data[begin:end])
        self.assertEqual(code.co_filename, "/viv/vivarium/cell.py")
        with zipfile.ZipFile(self.path("out", "vivarium.zip")) as archive, \
                open(self.path("boot", "cell.py"), "rb") as file:
            self.assertEqual(archive.namelist(), ["vivarium/cell.py"])
            self.assertEqual(archive.read("vivarium/cell.py"), file.read())

    def test_everybody_can_read_it_whatever_the_umask(self):
        was = os.umask(0o077)
        self.addCleanup(os.umask, was)
        self.gather("--into", self.path("out"))
        for folder, folders, files in os.walk(self.path("out")):
            for name in folders:
                self.assertEqual(os.stat(os.path.join(folder, name)).st_mode & 0o777, 0o755, name)
            for name in files:
                self.assertEqual(os.stat(os.path.join(folder, name)).st_mode & 0o777, 0o644, name)

    def test_bytecode_is_never_checked_and_names_the_place_in_the_sandbox(self):
        self.gather("--into", self.path("out"))
        cache = self.path("out", "vivarium", "__pycache__")
        with open(os.path.join(cache, os.listdir(cache)[0]), "rb") as file:
            data = file.read()
        self.assertEqual(int.from_bytes(data[4:8], "little"), UNCHECKED_HASH)
        self.assertIn(b"/viv/vivarium/cell.py", data)
        self.assertNotIn(self.folder.encode(), data)

    def test_a_removed_module_goes_away(self):
        self.gather("--into", self.path("out"))
        os.rename(self.path("boot", "cell.py"), self.path("boot", "other.py"))
        self.gather("--into", self.path("out"))
        self.assertEqual(sorted(os.listdir(self.path("out", "vivarium"))), ["__pycache__", "other.py"])
        self.assertEqual(len(os.listdir(self.path("out", "vivarium", "__pycache__"))), 1)

    def test_installs_below_destdir(self):
        self.gather("--into", "/usr/lib/vivarium/runner", DESTDIR=self.path("dest"))
        self.assertTrue(os.path.isfile(self.path("dest/usr/lib/vivarium/runner/main.py")))

    def test_the_depfile_names_every_source_and_their_folder(self):
        self.gather("--into", self.path("out"), "--stamp", self.path("stamp"),
                    "--depfile", self.path("deps"))
        with open(self.path("deps"), encoding="utf-8") as file:
            deps = file.read()
        for name in ("boot", "boot/main.py", "boot/cell.py", "_vivarium.abi3.so"):
            self.assertIn(self.path(name), deps.replace("\n", " ").split(" "))


if __name__ == "__main__":
    unittest.main()
