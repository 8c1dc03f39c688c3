# SPDX-License-Identifier: Apache-2.0
"""Every operation under way while a process that serves it is killed: each is answered, and nothing is left."""

import concurrent.futures
import os
import signal

from case import BARE, Case, wait_for

CONFIG = BARE + "policies:\n  other: {base: default, memory: 300MiB}\n"
VICTIMS = ("viv-launch", "viv-launch-in", "init", "python3")


class StruckTest(Case):
    @staticmethod
    def asked(session):
        """(method, path, body) of all that needs a sandbox, a few of each so that they wait for each other, too."""
        here = f"/v1/sessions/{session}"
        return (("POST", here + "/run", {"code": "x += 1\nopen('f', 'w').write(str(x))"}), ("POST", here + "/fork", {"n": 2}),
                ("POST", here + "/checkpoints", {"name": "n"}), ("POST", here + "/rollback", {}),
                ("POST", here + "/restart", {"policy": "other"}), ("GET", here + "/vars", None), ("GET", here + "/files", None),
                ("PUT", here + "/files/g", b"z" * 200000), ("PATCH", here, {"keep": True}), ("POST", here + "/wake", {}),
                ("POST", here + "/complete", {"code": "x.", "cursor": 2}),
                ("POST", "/v1/run", {"code": "1", "files": [{"path": "a", "text": "x" * 100000}]}),
                ("POST", "/v1/sessions", {"runtime": "bare", "keep": True}))

    @staticmethod
    def strike(daemon, name):
        """The youngest of that name: most likely it is being made, or is what a fork is made of."""
        below = {**daemon.processes_below(daemon.launch_pid), daemon.launch_pid: "viv-launch"}
        for pid in sorted((pid for pid, one in below.items() if one == name), reverse=True)[:1]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def sessions(self, daemon):
        """Two that have run, once there is a sandbox to be had again."""
        def one(keep):
            answer = daemon.request("POST", "/v1/sessions", {"runtime": "bare", "keep": keep})
            ran = answer.status < 300 and daemon.request("POST", f"/v1/sessions/{answer.json['id']}/run", {"code": "x = 1"})
            return ran and ran.status == 200 and ran.json["verdict"]["kind"] == "ok" and answer.json["id"]

        return [wait_for(lambda keep=keep: one(keep), what="a session") for keep in (True, False)]

    def test_each_is_answered_and_nothing_is_left(self):
        daemon = self.serve(CONFIG)
        with concurrent.futures.ThreadPoolExecutor(32) as pool:
            for victim in VICTIMS:
                for late in range(3):
                    asked = [row for session in self.sessions(daemon) for row in self.asked(session)]
                    asked = asked[late:] + asked[:late]
                    answers = [pool.submit(daemon.request, *row) for row in asked]
                    done = concurrent.futures.wait(answers[:late * 4], return_when=concurrent.futures.FIRST_COMPLETED).done
                    self.strike(daemon, victim)
                    for row, answer in zip(asked, answers):
                        with self.subTest(victim=victim, late=len(done), row=row[:2]):
                            told = answer.result()
                            self.assertIn(told.status, (200, 201, 204, 400, 404, 409, 429, 503), told)
                            self.assertNotRegex(told.body, b"Connection reset|Broken pipe|viv-launch|the look ended|sandbox [0-9]|head [0-9]")  # it ended: nobody can do more with how
                    self.settles(daemon)
                    daemon.find_launch()
        daemon.stop()

    def settles(self, daemon):
        """No session is between two states, no run goes on; and they can be deleted."""
        def rests():
            sessions = daemon.ask("GET", "/v1/sessions")["sessions"]
            runs = daemon.ask("GET", "/v1/runs?limit=1000")["runs"]
            return not [one for one in sessions if one["state"] in ("starting", "running")] and \
                all(run["state"] == "over" for run in runs)

        wait_for(rests, what="the end of all that was begun")
        for one in daemon.ask("GET", "/v1/sessions")["sessions"]:
            self.assertEqual(daemon.request("DELETE", f"/v1/sessions/{one['id']}").status, 204)
