# SPDX-License-Identifier: Apache-2.0
"""A runtime on a venv with wheels from PyPI: numpy brings an OpenBLAS that starts threads."""

import os
import subprocess
import sys
import tempfile
import textwrap
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from launcher import PYTHON, SPAWNED, ZYGOTE_UP, Launcher

# A preload that starts the threads of a BLAS before the first fork.
THREADED = """
import os
os.environ["OPENBLAS_NUM_THREADS"] = "2"
import numpy
square = numpy.ones((600, 600))
square @ square
assert len(os.listdir("/proc/self/task")) > 1, "no thread was started: this tests nothing"
"""
MULTIPLY = """
import os, numpy
square = numpy.ones((700, 700))
print(numpy.__version__, (square @ square)[0, 0], len(os.listdir("/proc/self/task")))
"""


class WheelsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="viv-wheels-", dir="/var/tmp")
        cls.addClassCleanup(folder.cleanup)
        os.chmod(folder.name, 0o755)
        cls.venv = os.path.join(folder.name, "venv")
        subprocess.run([PYTHON, "-m", "venv", cls.venv], check=True)
        pip = subprocess.run([f"{cls.venv}/bin/pip", "install", "-q", "--no-cache-dir", "numpy"],
                             capture_output=True, text=True, check=False, timeout=300)
        if pip.returncode != 0:
            raise unittest.SkipTest("no package index to get numpy's wheel from: "
                                    + " ".join(pip.stderr.split())[-200:])
        packages = subprocess.run([f"{cls.venv}/bin/python", "-c",
                                   "import sysconfig; print(sysconfig.get_path('purelib'))"],
                                  capture_output=True, text=True, check=True).stdout.strip()
        with open(os.path.join(packages, "threaded_preload.py"), "w", encoding="ascii") as file:
            file.write(THREADED)
        cls.config = os.path.join(folder.name, "vivarium.yaml")
        with open(cls.config, "w", encoding="ascii") as file:
            file.write(textwrap.dedent(f"""\
                runtimes:
                  wheels: {{python: {cls.venv}, preload: [numpy]}}
                """))

    def check(self, line):
        version, value, threads = line.split()
        self.assertGreaterEqual(int(version.split(".", maxsplit=1)[0]), 2, "Debian's numpy is older")
        self.assertEqual(float(value), 700.0)
        return int(threads)

    def test_a_cold_run(self):
        run = subprocess.run([os.environ["VIV"], "run", "--config", self.config, "--runtime", "wheels",
                              "-c", MULTIPLY], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.check(run.stdout)

    def warm(self, preload):
        launcher = Launcher()
        self.addCleanup(launcher.close)
        self.assertEqual(launcher.root(0, [(self.venv, "/opt/wheels")]).error, "")
        event = launcher.zygote(preload=preload, python="/opt/wheels/bin/python")
        self.assertEqual((event.type, event.error), (ZYGOTE_UP, ""))
        for number in range(3):
            sandbox = launcher.spawn(number, zygote=0)
            self.addCleanup(sandbox.close)
            launcher.expect(SPAWNED)
            sandbox.hello()
            sandbox.run(MULTIPLY)
            self.assertEqual(sandbox.done()["kind"], "ok")
            yield self.check(sandbox.output())

    def test_a_warm_run(self):
        self.assertEqual(list(self.warm("numpy")), [1, 1, 1])

    def test_a_warm_run_after_a_preload_that_starts_threads(self):
        """The zygote sheds them, and each sandbox's BLAS starts its own again."""
        self.assertEqual(list(self.warm("threaded_preload")), [2, 2, 2])


if __name__ == "__main__":
    unittest.main()
