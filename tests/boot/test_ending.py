# SPDX-License-Identifier: Apache-2.0
"""The end of a run in a sandbox that is made for one, and in a session."""

import unittest

from harness import Runner

THREAD = ("import threading\ngo = threading.Event()\ndef work():\n    go.wait()\n"
          "    print('thread done')\nthreading.Thread(target=work).start()\n"
          "threading.Timer(0.01, go.set).start()\nprint('main done')")


class Once(unittest.TestCase):
    def run_once(self, code, **meta):
        with Runner() as runner:
            return runner.run(code, once=True, **meta)

    def test_threads_come_to_their_end(self):
        self.assertEqual(self.run_once(THREAD).text, "main done\nthread done\n")

    def test_threads_come_to_their_end_after_an_exception(self):
        outcome = self.run_once(THREAD + "\n1/0")
        self.assertEqual((outcome.done["kind"], outcome.text),
                         ("exception", "main done\nthread done\n"))

    def test_idle_workers_do_not_hold_the_end(self):
        outcome = self.run_once("from concurrent.futures import ThreadPoolExecutor\n"
                                "pool = ThreadPoolExecutor(2)\n"
                                "future = pool.submit(print, 'worked')\n'value'")
        self.assertEqual((outcome.done["kind"], outcome.text), ("ok", "worked\n"))

    def test_daemons_are_not_waited_for(self):
        outcome = self.run_once("import threading\nthreading.Thread(target=threading.Event().wait, "
                                "daemon=True).start()")
        self.assertEqual(outcome.done["kind"], "ok")

    def test_exit_handlers_are_called_and_their_files_told(self):
        outcome = self.run_once("import atexit\natexit.register(open('late.txt', 'w').write, 'x')\n"
                                "atexit.register(print, 'bye')\natexit.register(lambda: 1/0)")
        self.assertEqual((outcome.done["kind"], outcome.text), ("ok", "bye\n"))
        self.assertIn(b"ZeroDivisionError", outcome.stderr)
        self.assertEqual(len(outcome.of("file")), 1)

    def test_an_interrupt_ends_the_wait_for_threads(self):
        outcome = self.run_once(
            "import threading\nthreading.Thread(target=lambda: (display('on'), "
            "threading.Event().wait())).start()", insist=True)
        self.assertEqual(outcome.done["kind"], "interrupted")


class Session(unittest.TestCase):
    def test_a_thread_goes_on_while_the_next_cell_runs(self):
        with Runner() as runner:
            runner.run("import threading, atexit\natexit.register(print, 'bye')\n"
                       "go = threading.Event()\nworker = threading.Thread(target=lambda: "
                       "(go.wait(), print('in the next cell')))\nworker.start()")
            outcome = runner.run("go.set()\nworker.join()")
            self.assertEqual(outcome.text, "in the next cell\n")


if __name__ == "__main__":
    unittest.main()
