# SPDX-License-Identifier: Apache-2.0
"""kill -9 of what is just starting, and two that start at once: the next one works, and nothing is left."""

import os
import shutil
import signal

from case import BARE, Case, wait_for
from daemon import parents


class KilledStartTest(Case):
    @staticmethod
    def launchers(daemon):
        """The outer halves of every viv-launch there is, as soon as they are called that."""
        return {pid for pid, (parent, name) in parents().items()
                if name == "viv-launch" and pid not in daemon.others and parent in (daemon.process.pid, os.getpid())}

    @staticmethod
    def kill(pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def goes_on(self, daemon):
        """503 is what it says while there is no viv-launch; a run that is on when it dies is lost with it."""
        def works():
            answer = daemon.request("POST", "/v1/run", {"code": "print('again')"})
            return answer.status == 200 and answer.json["verdict"]["kind"] == "ok"
        wait_for(works, what="a run")
        daemon.find_launch()

    def test_each_new_launch_is_killed_at_first_sight(self):
        daemon = self.serve()
        daemon.run("1")
        seen = set()
        for _ in range(6):
            for pid in wait_for(lambda: self.launchers(daemon) - seen, what="another viv-launch"):
                self.kill(pid)
                seen.add(pid)
        self.goes_on(daemon)
        daemon.stop()

    def test_its_socket_is_removed_before_it_dies(self):
        daemon = self.serve()
        daemon.run("1")
        os.unlink(daemon.path("run", "launch.sock"))
        self.kill(daemon.launch_pid)
        self.goes_on(daemon)
        daemon.stop()

    def test_two_start_at_once(self):
        daemon = self.serve(start=False)
        both = [daemon.spawn(), daemon.spawn()]
        wait_for(lambda: any(one.poll() is not None for one in both), what="the end of one of them")
        ended = [one for one in both if one.poll() is not None]
        self.assertEqual(len(ended), 1, daemon.log())
        self.assertNotEqual(ended[0].returncode, 0)
        self.assertIn("another viv serve uses it", daemon.log())
        daemon.process = next(one for one in both if one not in ended)
        daemon.find_port(0)
        daemon.find_processes()
        self.goes_on(daemon)
        self.kill(daemon.launch_pid)
        self.goes_on(daemon)
        daemon.stop()

    def test_the_daemon_is_killed_at_each_step_of_its_start(self):
        daemon = self.serve(start=False)

        def serving():
            """The pids of daemons that serve, or will: a process has its own name a moment after its birth."""
            return [pid for pid, name in daemon.living().items() if name in ("viv", "viv-serve")]

        steps = {
            "the first process": serving,
            "its folder": lambda: os.path.exists(daemon.path("run")),
            "its journal": lambda: os.path.exists(daemon.path("state", "journal")),
            "the socket of launch": lambda: os.path.exists(daemon.path("run", "launch.sock")),
            "viv-launch": lambda: self.launchers(daemon),
            "its own socket": lambda: os.path.exists(daemon.path("run", "viv.sock")),
            "the last word of a start": lambda: "listening on unix:" in daemon.log(),
        }
        for name, step in steps.items():
            with self.subTest(step=name):
                daemon.process = daemon.spawn()
                wait_for(step, what=name)
                self.kill(daemon.process.pid)
                daemon.process.wait()
                wait_for(lambda: not serving(), what="the end of the one that serves")
                daemon.start()
                self.goes_on(daemon)
                self.assertEqual(daemon.terminate(), 0)
                daemon.check_nothing_left()
                for folder in ("run", "state"):
                    shutil.rmtree(daemon.path(folder))
                os.truncate(daemon.path("log"), 0)
        daemon.sweep()
