# SPDX-License-Identifier: Apache-2.0
"""A daemon and the clients that talk to it.

The scripts of this folder print `ok NAME` or `not ok NAME: why` for each of their checks and `N tried`
at their end; a script that says less, or ends badly, has failed.
"""

import os
import re
import shutil
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "api"))

import install  # pylint: disable=wrong-import-position
from daemon import VIV, Daemon  # pylint: disable=wrong-import-position

SECONDS = 180  # for any one client


def npm():
    """The folder of node_modules; skips where it cannot be had."""
    try:
        return install.node_modules()
    except install.Missing as why:
        raise unittest.SkipTest(str(why)) from None


def python(generation):
    try:
        return install.python_mcp(generation)
    except install.Missing as why:
        raise unittest.SkipTest(str(why)) from None


class ClientCase(unittest.TestCase):
    """One daemon for all tests of a class."""

    CONFIG = ""
    FLAGS = ()
    daemon = None

    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon(cls.CONFIG, cls.FLAGS)

    @classmethod
    def tearDownClass(cls):
        cls.daemon.stop()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.daemon.port}"

    def environment(self, config):
        home = self.daemon.path("client-home")
        os.makedirs(home, exist_ok=True)
        self.addCleanup(shutil.rmtree, home, True)
        return {"PATH": f"{os.path.dirname(VIV)}:/usr/bin:/bin", "HOME": home, "LANG": "C.UTF-8",
                "NO_COLOR": "1", "VIVARIUM_CONFIG": config or self.daemon.path("vivarium.yaml")}

    def run_program(self, argv, config=None, path=""):
        """Runs a client to its end: status and everything it said. `config`: what `viv mcp` reads."""
        env = self.environment(config)
        if path:
            env["PATH"] = path + ":" + env["PATH"]
        done = subprocess.run(argv, cwd=env["HOME"], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, errors="replace", timeout=SECONDS, check=False)
        return done.returncode, done.stdout, done.stderr

    def node(self, script, *args, config=None):
        """A script of the npm packages, or of this folder, whose imports are found where npm put them."""
        modules = npm()
        if not os.path.isabs(script):
            script = self.beside(modules, script)
        return self.run_program(["node", script, *args], config, install.node_bin())

    @staticmethod
    def beside(modules, script):
        """Where a module's imports are looked for goes by where it is (`import` has no search path)."""
        folder = os.path.dirname(modules)
        for name in os.listdir(HERE):
            if name.endswith(".mjs"):
                shutil.copy(os.path.join(HERE, name), folder)
        return os.path.join(folder, script)

    def assert_checks(self, answer):
        status, out, err = answer
        said = f"status {status}\n{out[-6000:]}\n{err[-3000:]}"
        good = re.findall(r"^ok (\S+)$", out, re.M)
        bad = re.findall(r"^not ok (.*)$", out, re.M)
        self.assertEqual(bad, [], said)
        tried = re.search(r"^(\d+) tried$", out, re.M)
        self.assertTrue(status == 0 and tried and int(tried.group(1)) == len(good) > 0, said)
