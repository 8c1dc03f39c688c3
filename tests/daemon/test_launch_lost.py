# SPDX-License-Identifier: Apache-2.0
"""viv-launch dies, nobody comes back, or somebody says stop: what ends, what is told, what goes on."""

import os
import re
import signal
import socket
import subprocess
import time

from case import BARE, Case, wait_for


class KillLaunchTest(Case):
    def kill_launch(self, daemon):
        """Kills it; everything under it goes with it, and a new one is found."""
        old = daemon.launch_pid
        below = set(daemon.processes_below(old))
        self.assertTrue(below)
        os.kill(old, signal.SIGKILL)
        wait_for(lambda: not below & set(daemon.living()), what="the end of all sandboxes")
        daemon.find_launch()
        self.assertNotEqual(daemon.launch_pid, old)

    def test_everything_under_it_is_gone_and_said_to_be_lost(self):
        daemon = self.serve()
        sessions = [daemon.session(runtime="bare") for _ in range(5)]
        for session in sessions:
            daemon.run("x = 1", session)
        run = daemon.start_run("print('on', flush=True)\nwhile True: pass", sessions[0])
        alone = daemon.start_run("print('on', flush=True)\nwhile True: pass")
        for one in (run, alone):
            with daemon.events(one) as events:
                events.until_text("on")

        self.kill_launch(daemon)

        result = daemon.result(run)
        self.assertEqual((result["verdict"]["kind"], result["state"]), ("backend", "lost"))
        self.assertTrue(result["verdict"]["message"])
        self.assertEqual(result["verdict"]["remedy_key"], "gone")
        result = daemon.result(alone)
        self.assertEqual((result["verdict"]["kind"], result["state"]), ("backend", "none"))
        self.assertEqual(result["verdict"]["remedy_key"], "again")
        for session in sessions:
            told = daemon.state(session)
            self.assertEqual(told["state"], "lost")
            self.assertTrue(told["why"])
            answer = daemon.request("POST", f"/v1/sessions/{session}/run", {"code": "1"})
            error = self.expect_error(answer, 409, "conflict")
            self.assertEqual(error["remedy"], "DELETE /v1/sessions/{id} removes the session, POST /v1/sessions makes another one")
            for method, path in (("GET", "vars"), ("POST", "restart")):
                answer = daemon.request(method, f"/v1/sessions/{session}/{path}", {} if method == "POST" else None)
                self.assertEqual(self.expect_error(answer, 409, "conflict")["remedy"], error["remedy"])
            with daemon.events(session, follow=False) as events:
                self.assertIn("lost", [event["type"] for event in events])
            self.assertEqual(daemon.request("DELETE", f"/v1/sessions/{session}").status, 204)
        self.goes_on(daemon)
        daemon.stop()

    def stop_leaves_nothing(self, daemon):
        self.assertEqual(daemon.process.wait(30), 0)
        daemon.check_nothing_left()

    def test_a_stop_before_there_is_another_one_leaves_nothing(self):
        """The groups of one that was killed are swept by the next: there is one, though nobody needs it."""
        daemon = self.serve()
        daemon.run("x = 1", daemon.session(runtime="bare"))
        os.kill(daemon.launch_pid, signal.SIGKILL)
        wait_for(lambda: "event=launch.lost" in daemon.log(), what="the notice of it")
        daemon.signal(signal.SIGTERM)
        self.stop_leaves_nothing(daemon)

    def test_its_death_during_a_stop_leaves_nothing(self):
        daemon = self.serve()
        run = daemon.start_run("print('on', flush=True)\nwhile True: pass")
        with daemon.events(run) as events:
            events.until_text("on")
        daemon.signal(signal.SIGTERM)
        wait_for(lambda: "event=daemon.stop" in daemon.log(), what="a stop that waits for the run")
        os.kill(daemon.launch_pid, signal.SIGKILL)
        self.stop_leaves_nothing(daemon)

    def goes_on(self, daemon):
        """The daemon serves, with a viv-launch that it started itself."""
        result = wait_for(lambda: self.try_run(daemon), what="a run")
        self.assertEqual(result["stdout"], "again\n")
        session = daemon.session(runtime="bare")
        daemon.run("x = 2", session)
        self.assertEqual(daemon.value("x", session), 2)

    def try_run(self, daemon):
        """503 is what it says for the moment in which there is none."""
        answer = daemon.request("POST", "/v1/run", {"code": "print('again')"})
        if answer.status == 503:
            self.assertIn("Retry-After", answer.headers)
            return None
        self.assertEqual(answer.status, 200, answer)
        return answer.json if answer.json["verdict"]["kind"] == "ok" else None

    def test_again_and_again(self):
        daemon = self.serve()
        for _ in range(4):
            self.kill_launch(daemon)
            self.goes_on(daemon)
        text = daemon.request("GET", "/metrics").body.decode()
        count = int(re.search(r"^vivarium_launch_restarts_total (\d+)$", text, re.M).group(1))
        self.assertIn(count, range(4, 9))  # a start that fails is tried again, and counted too
        daemon.stop()

    def test_one_that_another_daemon_left_is_replaced_too(self):
        """After a restart launch is not this daemon's child any more."""
        daemon = self.serve()
        session = daemon.session(runtime="bare")
        daemon.run("x = 1", session)
        daemon.restart()
        self.assertEqual(daemon.value("x", session), 1)
        self.kill_launch(daemon)
        self.goes_on(daemon)
        self.assertEqual(daemon.state(session)["state"], "lost")
        daemon.stop()

    def test_both_die(self):
        daemon = self.serve()
        session = daemon.session(runtime="bare")
        run = daemon.run("x = 1\nprint('kept')", session)["id"]
        on = daemon.start_run("print('on', flush=True)\nwhile True: pass", session)
        with daemon.events(on) as events:
            events.until_text("on")
        daemon.kill9()
        os.kill(daemon.launch_pid, signal.SIGKILL)
        wait_for(lambda: not daemon.living(), what="the end of everything")
        daemon.start()
        self.assertEqual(daemon.result(run)["stdout"], "kept\n")
        result = daemon.result(on)
        self.assertEqual((result["verdict"]["kind"], result["state"]), ("backend", "lost"))
        self.assertEqual(daemon.state(session)["state"], "lost")
        self.goes_on(daemon)
        daemon.stop()


class StopTest(Case):
    def becomes_lost(self, daemon, session):
        """Until the new viv-launch has told what it keeps, it is "starting"."""
        wait_for(lambda: daemon.state(session)["state"] != "starting", what="what became of the session")
        self.assertEqual(daemon.state(session)["state"], "lost")

    def test_nobody_comes_back_in_time(self):
        daemon = self.serve(BARE + "reattach_ms: 700\n")
        session = daemon.session(runtime="bare")
        daemon.run("x = 1", session)
        run = daemon.start_run("print('on', flush=True)\nwhile True: pass", session)
        with daemon.events(run) as events:
            events.until_text("on")
        daemon.kill9()
        wait_for(lambda: not daemon.living(), what="the end of everything")
        daemon.start()
        self.becomes_lost(daemon, session)
        verdict = daemon.result(run)["verdict"]
        self.assertEqual((verdict["kind"], verdict["remedy"]), ("backend", "run it again"))
        self.assertIn("cut off", verdict["message"])
        daemon.stop()

    def test_a_graceful_stop_gives_runs_their_time(self):
        daemon = self.serve()
        run = daemon.start_run("print('on', flush=True)\nimport time\ntime.sleep(1)\nprint('end')")
        with daemon.events(run) as events:
            events.until_text("on")
            daemon.signal(signal.SIGTERM)
            seen = [event.get("text", "") for event in events if event["type"] in ("stdout", "verdict")]
        self.assertEqual("".join(seen), "end\n")
        self.assertEqual(daemon.process.wait(30), 0)
        daemon.check_nothing_left()

    def test_a_graceful_stop_takes_nothing_new(self):
        daemon = self.serve()
        run = daemon.start_run("print('on', flush=True)\nimport time\ntime.sleep(1)")
        connection = daemon.connection()
        connection.request("GET", "/health")
        connection.getresponse().read()  # open and idle when the stop comes
        with daemon.events(run) as events:
            events.until_text("on")
            daemon.signal(signal.SIGTERM)
            wait_for(lambda: "daemon.stop" in daemon.log(), what="the stop")
            try:
                self.assertEqual(daemon.request("POST", "/v1/run", {"code": "1"}).status, 503)
            except OSError:
                pass  # nobody listens any more
            events.until("verdict")
        connection.close()
        self.assertEqual(daemon.process.wait(30), 0)
        daemon.check_nothing_left()

    def test_a_second_signal_means_now(self):
        daemon = self.serve()
        session = daemon.session(runtime="bare")
        run = daemon.start_run("print('on', flush=True)\nwhile True: pass", session)
        with daemon.events(run) as events:
            events.until_text("on")
            begin = time.monotonic()
            daemon.signal(signal.SIGTERM)
            wait_for(lambda: "daemon.stop" in daemon.log(), what="the stop")
            daemon.signal(signal.SIGTERM)
            verdict = events.until("verdict")["verdict"]
            self.assertEqual((verdict["kind"], verdict["message"]),
                             ("cancelled", "the daemon was stopped before the run had ended"))
        self.assertEqual(daemon.process.wait(30), 0)
        self.assertLess(time.monotonic() - begin, 8)
        daemon.check_nothing_left()

    def test_keep_leaves_sessions_for_a_successor(self):
        daemon = self.serve(flags=["--keep"])
        session = daemon.session(runtime="bare")
        daemon.run("x = 5", session)
        run = daemon.start_run("print('on', flush=True)\nimport time\ntime.sleep(0.7)\nx += 1\nprint('end')",
                               session)
        with daemon.events(run) as events:
            events.until_text("on")
        self.assertEqual(daemon.terminate(), 0)
        daemon.start()
        self.assertEqual(daemon.result(run)["stdout"], "on\nend\n")
        self.assertEqual(daemon.value("x", session), 6)
        self.assertEqual(daemon.request("DELETE", f"/v1/sessions/{session}").status, 204)
        daemon.flags = []
        daemon.restart()
        daemon.stop()

    def test_a_second_daemon_in_the_same_folders_is_refused_and_harms_nobody(self):
        daemon = self.serve()
        session = daemon.session(runtime="bare")
        daemon.run("x = 1", session)
        second = daemon.spawn()
        self.assertNotIn(second.wait(30), (0, None))
        self.assertEqual(daemon.value("x", session), 1)
        daemon.restart()
        self.assertEqual(daemon.value("x", session), 1)
        daemon.stop()

    def test_a_start_sweeps_what_a_crash_left(self):
        """A socket and a cgroup of daemons that are no more."""
        daemon = self.serve()
        session = daemon.session(runtime="bare")
        daemon.run("x = 1", session)
        old = daemon.cgroup
        for pid in sorted(daemon.living(), reverse=True):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        daemon.process.wait()
        wait_for(lambda: not daemon.living(), what="the end of everything")
        daemon.start()
        if old:
            self.assertNotEqual(daemon.cgroup, old)
            wait_for(lambda: not daemon.cgroup_folders(old), what="the end of the old cgroup")
        self.becomes_lost(daemon, session)
        self.assertEqual(daemon.run("1")["verdict"]["kind"], "ok")
        daemon.stop()

    def test_a_socket_from_systemd_is_served(self):
        """LISTEN_FDS, as man 3 sd_listen_fds has it."""
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen()
            port = listener.getsockname()[1]
            daemon = self.serve(start=False)
            helper = ("import os, sys\nos.dup2(int(sys.argv[1]), 3)\nos.set_inheritable(3, True)\n"
                      "os.environ['LISTEN_PID'] = str(os.getpid())\nos.environ['LISTEN_FDS'] = '1'\n"
                      "os.execv(sys.argv[2], sys.argv[2:])")
            daemon.wrap = ["/usr/bin/python3", "-c", helper, str(listener.fileno())]
            daemon.keep_fds = [listener.fileno()]
            daemon.start()
            daemon.host, daemon.port = "127.0.0.1", port
        self.assertEqual(daemon.value("1 + 1"), 2)
        daemon.stop()

    def test_a_bad_config_stops_the_start_and_says_where(self):
        daemon = self.serve(start=False)
        for text, told in (("bogus: 1\n", "bogus"), ("limits: {concurrent_runs: 0}\n", "concurrent_runs"),
                           ("sessions: {freeze_ms: many}\n", "freeze_ms")):
            daemon.write_config(text)
            process = subprocess.run([*daemon.command()], capture_output=True, text=True, timeout=30,
                                     env=daemon.environment(""), cwd=daemon.folder, check=False)
            self.assertNotEqual(process.returncode, 0)
            self.assertIn(told, process.stderr)
            self.assertRegex(process.stderr, r"vivarium\.yaml:\d+")
        daemon.sweep()
