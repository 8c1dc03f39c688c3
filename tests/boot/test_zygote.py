# SPDX-License-Identifier: Apache-2.0
"""Forks of a preloaded interpreter."""

import subprocess
import unittest

from harness import PYTHON, Runner, Zygote

DRAWS = """
import random, tempfile, uuid, ssl, secrets, multiprocessing, numpy as np, twin
[random.random(), np.random.rand(), np.random.randn(), twin.generator.random(), twin.state.rand(),
 twin.philox.random(), twin.own.random(), next(tempfile._get_candidate_names()), str(uuid.uuid4()),
 str(uuid.uuid1()), ssl.RAND_bytes(8).hex(), secrets.token_hex(8),
 bytes(multiprocessing.current_process().authkey).hex()]
"""
TWIN = """
import numpy, random, tempfile, uuid, ssl, multiprocessing
generator = numpy.random.default_rng(1)
state = numpy.random.RandomState(2)
state.randn()
philox = numpy.random.Generator(numpy.random.Philox(3))
own = random.Random(4)
next(tempfile._get_candidate_names())
uuid._node = None
ssl.RAND_bytes(8)
numpy.random.randn()
multiprocessing.current_process().authkey
"""


class PlantedZygote(Zygote):
    """A zygote whose preload holds generators of every kind, some of them in use."""

    def _start(self, python, arguments, channels, stdin, env):
        with open(self.root + "/viv/vivarium/twin.py", "w", encoding="utf-8") as file:
            file.write("import sys\nsys.modules['twin'] = sys.modules[__name__]\n" + TWIN)
        return super()._start(python, arguments, channels, stdin, env)


class Forks(unittest.TestCase):
    def test_no_two_forks_draw_the_same_numbers(self):
        with PlantedZygote(["vivarium.twin"], count=3) as zygote:
            drawn = [fork.run(DRAWS).result["application/json"] for fork in zygote.forks]
        for column, values in enumerate(zip(*drawn)):
            self.assertEqual(len(set(map(str, values))), len(values), f"column {column}: {values}")

    def test_what_was_preloaded_is_there_and_hooked(self):
        with Zygote(["numpy", "pandas", "matplotlib.pyplot"], count=1) as zygote:
            fork = zygote.forks[0]
            outcome = fork.run("import sys\nsorted({'numpy', 'pandas', 'matplotlib.pyplot'} & "
                               "set(sys.modules))")
            self.assertEqual(outcome.result["application/json"],
                             ["matplotlib.pyplot", "numpy", "pandas"])
            outcome = fork.run("import matplotlib.pyplot as plt\nplt.boxplot([1, 2, 3])\n"
                               "plt.savefig(chart_path())")
            self.assertEqual([chart["data"]["type"] for chart in outcome.charts],
                             ["box_and_whisker"])
            outcome = fork.run("import threading, gc\n[threading.active_count(), "
                               "gc.get_freeze_count() > 10000, len(gc.get_objects()) < 20000]")
            self.assertEqual(outcome.result["application/json"], [1, True, True])

    def test_a_bare_fork_works_like_a_cold_interpreter(self):
        with Zygote([], count=1) as zygote:
            fork = zygote.forks[0]
            self.assertEqual(fork.run("print('hello')\nsorted(n for n in dir() if n[0] != '_')")
                             .result["application/json"], ["chart_path", "display"])
            self.assertIn("<cell 2>", fork.run("1/0").error["traceback"])
            self.assertEqual(fork.run("import sys\nsys.stdout.seekable()")
                             .result["application/json"], False)

    def test_a_fork_finds_few_holes_between_the_objects_of_the_zygote(self):
        """A new object in a hole costs the fork a copy of the page around it."""
        holes = ("import sys\nzygote = sys.modules['vivarium.zygote']\n"
                 "[sum(free for _size, free in zygote._read_holes()), len(zygote._fillers)]")
        with Zygote(["numpy", "pandas"], count=1) as zygote:
            left, filled = zygote.forks[0].run(holes).result["application/json"]
        self.assertGreater(filled, 3000)
        self.assertLess(left, filled / 2)

    def test_a_preload_that_fails_says_why_and_ends_with_3(self):
        with Zygote(["json", "asyncio.windows_events"], count=1) as zygote:
            self.assertEqual(zygote.process.wait(), 3)
            self.assertIn(b"import asyncio.windows_events: ImportError: win32 only", zygote.process.stderr.read())

    def test_a_preload_that_is_not_installed_is_left_out_and_told(self):
        with Zygote(["json", "nowhere_at_all.part", "json.nowhere", "colorsys"], count=1) as zygote:
            fork = zygote.forks[0]
            outcome = fork.run("import sys\n'colorsys' in sys.modules")
            self.assertEqual(outcome.result["application/json"], True)
            self.assertIn(b"lacks nowhere_at_all.part, json.nowhere\n", outcome.stderr)  # they share it here
            self.assertEqual(fork.run("import nowhere_at_all").error["type"], "ModuleNotFoundError")


class Cold(unittest.TestCase):
    def test_a_cold_start_imports_little(self):
        with Runner() as runner:
            loaded = set(runner.run("import sys\nsorted(sys.modules)")
                         .result["application/json"])
        plain = set(subprocess.run(["/usr/bin/python3", "-I", "-c", "import sys\n"
                                    "print(*sys.modules)"], capture_output=True, text=True,
                                   check=True).stdout.split())
        # Modules of the stand-in for the C extension, and those that a result needs, are not the start's.
        loaded = {name for name in loaded - plain if not name.startswith("vivarium")}
        self.assertFalse(loaded & {"json", "asyncio", "inspect", "ast", "traceback", "linecache",
                                   "hashlib", "tokenize", "pandas", "numpy", "matplotlib"}, loaded)

    def test_nonsense_arguments_are_refused(self):
        runner = Runner()
        path = runner.root + "/viv/main.py"
        ended = subprocess.run([PYTHON, "-I", path, "nonsense"], check=False,
                               capture_output=True, env={"VIV_TEST_CHANNELS": str(0)},
                               stdin=runner.channel.fileno())
        self.assertEqual(ended.returncode, 1)
        self.assertIn(b"usage", ended.stderr)
        runner.close()


if __name__ == "__main__":
    unittest.main()
