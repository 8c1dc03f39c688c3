# SPDX-License-Identifier: Apache-2.0
"""viv runtime: environments are tried in a sandbox before they are kept."""

import os
import subprocess
import unittest
import zipfile

from daemon import Daemon
from vivcli import VivCase, strict_json


def make_wheel(folder, name, text):
    """A package as pip takes it, without a build step."""
    path = os.path.join(folder, f"{name}-1.0-py3-none-any.whl")
    info = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(f"{name}.py", text)
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\n"
                                        "Root-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")


class Runtime(VivCase):
    def setUp(self):
        super().setUp()
        # Sandboxes have ids of their own: what they shall read, others must be able to reach.
        os.chmod(self.folder, 0o755)

    def environment(self):
        return {**super().environment(), "XDG_CONFIG_HOME": self.path("config"),
                "XDG_DATA_HOME": self.path("data")}

    def runtimes(self):
        return {row["name"]: row for row in strict_json(
            self.viv("runtime", "list", "--json").out)["runtimes"]}

    def made_venvs(self):
        folder = self.path("data/vivarium/runtimes")
        return os.listdir(folder) if os.path.isdir(folder) else []

    def requirements(self, *names):
        make_wheel(self.folder, "vivtoy", "VALUE = 42\n")
        lines = ["--no-index", f"--find-links {self.folder}", *names]
        return self.write("requirements.txt", "\n".join(lines) + "\n")

    def test_a_path_that_is_not_there_is_bad_usage(self):
        for flag in ("--python", "--requirements"):
            done = self.viv("runtime", "add", "bad", flag, "/nope")
            self.assertEqual((done.code, done.err.decode()),
                             (2, f"viv runtime: {flag} /nope: No such file or directory\n"))

    def test_list_shows_what_is_built_in(self):
        rows = self.runtimes()
        self.assertLessEqual({"bare", "base", "full"}, set(rows))
        self.assertEqual(rows["base"]["preload"], ["numpy", "pandas", "matplotlib.pyplot"])
        self.assertRegex(rows["bare"]["version"], r"^3\.\d+\.\d+$")
        self.assertGreater(rows["bare"]["packages"], 0)

    def test_a_venv_is_added_used_and_forgotten(self):
        venv = self.path("venv")
        subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", venv], check=True)
        done = self.viv("runtime", "add", "mine", "--python", "venv", "--preload", "json", "--json")
        self.assertEqual(done.code, 0, done.err)
        row = strict_json(done.out)
        self.assertEqual((row["name"], row["python"], row["preload"]), ("mine", venv, ["json"]))
        self.assertEqual(self.runtimes()["mine"]["python"], venv)
        result = self.result("import sys\nsys.prefix != sys.base_prefix", "--runtime", "mine")
        self.assertEqual(result["runtime"], "mine")
        self.assertIs(result["result"]["application/json"], True)
        self.assertEqual(self.viv("runtime", "rm", "mine").code, 0)
        self.assertNotIn("mine", self.runtimes())
        self.assertTrue(os.path.isdir(venv), "a venv that viv did not make is not viv's to delete")

    def test_a_daemon_is_spoken_of_only_when_one_runs(self):
        venv = self.path("venv")
        subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", venv], check=True)
        done = self.viv("runtime", "add", "mine", "--python", "venv")
        self.assertEqual((done.code, done.out.count(b"\n")), (0, 1), done)
        with Daemon() as daemon:
            words = ("runtime", "add", "other", "--python", "venv", "--config", daemon.path("vivarium.yaml"))
            self.assertIn(b"The running daemon will know it after a restart", self.viv(*words).out)

    def test_requirements_become_a_venv(self):
        done = self.viv("runtime", "add", "toy", "--requirements", self.requirements("vivtoy"),
                        "--preload", "vivtoy")
        self.assertEqual(done.code, 0, done.err)
        self.assertEqual(len(self.made_venvs()), 1)
        done = self.run_viv("import vivtoy\nprint(vivtoy.VALUE)", "--runtime", "toy")
        self.assertEqual((done.code, done.out), (0, b"42\n"), done.err)
        self.assertEqual(self.viv("runtime", "rm", "toy").code, 0)
        self.assertEqual(self.made_venvs(), [])

    def test_adding_again_replaces(self):
        for _ in range(2):
            done = self.viv("runtime", "add", "toy", "--requirements", self.requirements("vivtoy"))
            self.assertEqual(done.code, 0, done.err)
        self.assertEqual(len(self.made_venvs()), 1)

    def test_what_cannot_be_installed_leaves_nothing(self):
        done = self.viv("runtime", "add", "toy", "--requirements", self.requirements("no-such-package"))
        self.assertEqual(done.code, 2)
        self.assertEqual(self.made_venvs(), [])
        self.assertNotIn("toy", self.runtimes())

    def test_what_is_no_python_is_refused(self):
        for program in ("/usr/bin/true", "/usr/bin/false", self.path("nowhere")):
            done = self.viv("runtime", "add", "odd", "--python", program)
            self.assertNotEqual(done.code, 0, program)
            self.assertTrue(done.err)
        self.assertNotIn("odd", self.runtimes())

    def test_a_preload_that_does_not_import_is_refused(self):
        done = self.viv("runtime", "add", "odd", "--python", "/usr/bin/python3", "--preload",
                        "no_such_module")
        self.assertEqual(done.code, 2)
        self.assertIn(b"no_such_module", done.err)
        self.assertNotIn("odd", self.runtimes())

    def test_what_is_built_in_stays(self):
        done = self.viv("runtime", "rm", "bare")
        self.assertEqual((done.code, done.err), (2, b"viv runtime: rm: bare is built in or comes from the config, and "
                                                    b"cannot be removed here\n"))

    def test_bad_usage(self):
        for words in (["add", "x"], ["add"], ["rm"], ["paint"], ["add", "a/b", "--python", "/x"],
                      ["add", "x", "--python", "/x", "--requirements", "y"], ["rm", "nothing"]):
            self.assertEqual(self.viv("runtime", *words).code, 2, words)


if __name__ == "__main__":
    unittest.main()
