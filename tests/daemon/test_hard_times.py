# SPDX-License-Identifier: Apache-2.0
"""Full disks, no descriptors, no processes left, a runtime that cannot start, a clock that jumps."""

import errno
import os
import signal
import subprocess
import time

from case import BARE, Case, DaemonCase, wait_for

MIB = 1 << 20
# Holds a mount namespace in which the daemon's state is on a tmpfs of this size.
SMALL_DISK = """set -e
mkdir -p {folder}/state
mount -t tmpfs -o size={size},mode=0700{owner} tmpfs {folder}/state
echo there
exec cat
"""


class FullDiskTest(Case):
    def small(self, size):
        """A daemon whose state_dir is a tmpfs that nobody else sees."""
        daemon = self.serve(start=False)
        # Root has the mount namespace for the asking; others get it with a user namespace.
        unshare = ["unshare", "--mount", "--propagation", "private"]
        owner = ",uid=0"
        if os.geteuid() != 0:
            unshare[1:1] = ["--user", "--map-current-user", "--keep-caps"]
            owner = ""
        script = SMALL_DISK.format(folder=daemon.folder, size=size, owner=owner)
        holder = subprocess.Popen([*unshare, "sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(holder.communicate)
        self.assertEqual(holder.stdout.readline(), b"there\n")
        daemon.others.add(holder.pid)
        daemon.wrap = ["nsenter", f"--target={holder.pid}", "--mount"]
        if os.geteuid() != 0:
            daemon.wrap += ["--user", "--preserve-credentials"]
        daemon.disk = f"/proc/{holder.pid}/root{daemon.folder}/state"
        return daemon

    def test_runs_go_on_and_status_says_why(self):
        daemon = self.small("24m")
        daemon.start()
        session = daemon.session(runtime="bare")
        daemon.run("x = 1", session)
        line = "print('y' * 999)\n"
        full = None
        for _ in range(40):  # a megabyte of events each
            result = daemon.run(f"for i in range(1000): {line}")
            self.assertEqual(len(result["stdout"]), 1000 * 1000)
            full = daemon.ask("GET", "/v1/status").get("journal", {}).get("why")
            if full:
                break
        self.assertTrue(full, "the disk is full, and status does not say so")
        self.assertEqual(daemon.value("x", session), 1)
        self.assertEqual(daemon.run("print('still here')")["stdout"], "still here\n")
        self.assertIn("vivarium_journal", daemon.request("GET", "/metrics").body.decode())
        daemon.stop()


    def fill(self, daemon):
        """Takes all that is left of the daemon's disk; the path of what takes it."""
        path = os.path.join(daemon.disk, "filler")
        with open(path, "wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(64 << 10))
            except OSError as error:
                self.assertEqual(error.errno, errno.ENOSPC)
        return path

    def kept_session(self, daemon):
        session = daemon.session(runtime="bare", keep=True)
        first = daemon.run("x = 1", session)
        self.assertNotIn("kept", first["checkpoint"])
        wait_for(lambda: self.is_on_disk(daemon, session, first["id"]), what="its state on disk")
        return session, first["id"]

    @staticmethod
    def is_on_disk(daemon, session, run):
        states = daemon.ask("GET", f"/v1/sessions/{session}/checkpoints")["checkpoints"]
        return any(one["run"] == run and one.get("bytes") for one in states) and not daemon.state(session)["kept"]["pending"]

    def test_a_run_that_cannot_be_kept_says_so_and_so_does_the_session_that_comes_back(self):
        daemon = self.small("24m")
        daemon.start()
        session, first = self.kept_session(daemon)
        filler = self.fill(daemon)
        lost = []
        for i in (2, 3):
            result = daemon.run(f"x = {i}", session)
            lost.append(result["id"])
            self.assertIn("full", result["checkpoint"]["kept"]["why"])
            self.assertIn("is not saved: the disk of state_dir is full", result["checkpoint"]["note"])
            self.assertEqual(result["checkpoint"]["kept"]["note"], result["checkpoint"]["note"])
            self.assertIn(f"comes back as it was after {first}", result["checkpoint"]["note"])
        made = daemon.ask("POST", f"/v1/sessions/{session}/checkpoints", {"name": "safe"})
        self.assertNotIn("bytes", made)
        self.assertIn("full", made["kept"]["why"])
        self.assertIn("this state is not saved: the disk of state_dir is full", made["kept"]["note"])
        with daemon.events(session) as events:
            events.until("not_kept")
        os.kill(daemon.launch_pid, signal.SIGKILL)
        wait_for(lambda: daemon.state(session)["state"] == "asleep", what="its sleep")
        result = wait_for(lambda: self.woken(daemon, session), what="its wake")
        self.assertEqual(result["stdout"], "1\n")
        woken = result["checkpoint"]["woken"]
        self.assertEqual((woken["after"], woken["undone"], woken["undone_count"]), (first, lost, 2))
        self.assertIn(f"as it was after {first}; 2 later runs are not in it: {lost[0]}, {lost[1]}",
                      result["checkpoint"]["note"])
        os.unlink(filler)
        daemon.stop()

    @staticmethod
    def woken(daemon, session):
        """A run in it, once viv-launch is back."""
        answer = daemon.request("POST", f"/v1/sessions/{session}/run", {"code": "print(x)"})
        return answer.json if answer.status == 200 and answer.json["verdict"]["kind"] == "ok" else None

    def test_a_session_that_could_not_be_kept_is_refused(self):
        daemon = self.small("24m")
        daemon.start()
        plain = daemon.session(runtime="bare")
        filler = self.fill(daemon)
        answer = daemon.request("POST", "/v1/sessions", {"runtime": "bare", "keep": True})
        self.assertIn("the disk of state_dir is full", self.expect_error(answer, 507, "busy")["message"])
        answer = daemon.request("PATCH", f"/v1/sessions/{plain}", {"keep": True})
        self.expect_error(answer, 507, "busy")
        os.unlink(filler)
        self.assertTrue(daemon.ask("PATCH", f"/v1/sessions/{plain}", {"keep": True})["keep"])
        daemon.stop()

    def test_what_could_not_be_written_is_tried_again_before_the_end(self):
        daemon = self.small("24m")
        daemon.start()
        session, _ = self.kept_session(daemon)
        filler = self.fill(daemon)
        daemon.run("x = 2", session)
        wait_for(lambda: "why" in daemon.state(session)["kept"], what="a try to write it")
        os.unlink(filler)
        self.assertEqual(daemon.terminate(), 0)
        daemon.start()
        self.assertEqual(daemon.value("x", session), 2)
        daemon.stop()

    def test_after_a_stop_on_a_full_disk_the_session_tells_what_it_lacks(self):
        daemon = self.small("24m")
        daemon.start()
        session, first = self.kept_session(daemon)
        self.fill(daemon)
        lost = [daemon.run(f"x = {i}", session)["id"] for i in (2, 3)]
        self.assertEqual(daemon.terminate(), 0)
        daemon.start()
        self.assertEqual(daemon.state(session)["runs"], 3)
        result = daemon.run("x", session)
        self.assertEqual((result["result"]["text/plain"], result["checkpoint"]["woken"]["undone"]), ("1", lost))
        self.assertIn(f"as it was after {first}", result["checkpoint"]["note"])
        daemon.stop()


class FullSandboxTest(DaemonCase):
    CONFIG = "policies:\n  small: {base: default, disk: 8MiB, pids: 12, memory: 256MiB}\n"

    def test_a_question_that_takes_more_memory_than_is_left_says_what_helps(self):
        session = self.daemon.session(policy="small")
        self.daemon.run("import numpy, pandas\nx = pandas.Series(numpy.arange(14 << 20))", session)
        answer = self.daemon.request("GET", f"/v1/sessions/{session}/vars/x?search=1")
        self.assertIn("too little memory left for this; delete variables", self.expect_error(answer, 409, "conflict")["message"])
        self.assertEqual(self.daemon.value("len(x)", session), 14 << 20)

    def test_a_full_workspace_is_the_codes_own_error(self):
        session = self.new_session(policy="small")
        self.daemon.run("x = 1", session)
        for folder in ("/workspace", "/tmp"):
            result = self.daemon.run(f"open('{folder}/big', 'wb').write(bytes(64 << 20))", session, kind="disk")
            self.assertEqual((result["state"], result["error"]["type"]), ("preserved", "OSError"))
            result = self.daemon.run(f"""
import os
os.unlink('{folder}/big')
try:
    open('{folder}/big', 'wb').write(bytes(64 << 20))
except OSError as error:
    print(error.errno)
os.unlink('{folder}/big')
""", session)
            self.assertEqual(result["stdout"], "28\n")
        self.assertEqual(self.daemon.value("x", session), 1)

    def test_a_full_workspace_does_not_stop_a_rollback(self):
        session = self.new_session(policy="small")
        self.daemon.run("open('kept', 'w').write('kept')", session)
        self.daemon.run("import os\ntry:\n    open('big', 'wb').write(bytes(64 << 20))\nexcept OSError: pass\n"
                        "os._exit(1)", session, kind="exit")
        self.assertEqual(self.daemon.value("import os\n[os.listdir('.'), open('kept').read()]", session),
                         [["kept"], "kept"])

    def test_no_processes_left_costs_one_run(self):
        session = self.new_session(policy="small")
        self.daemon.run("x = 1", session)
        result = self.daemon.run("""
import os, time
children = []
try:
    while True:
        pid = os.fork()
        if pid == 0:
            time.sleep(1000)
        children.append(pid)
except OSError as error:
    print(error.errno)
""", session)
        self.assertEqual(result["stdout"], "11\n")
        self.assertEqual(result["state"], "preserved")
        self.assertIn("skipped", result["checkpoint"])
        self.assertEqual(self.daemon.run("os._exit(1)", session, kind="exit")["state"], "rolled_back")
        self.assertEqual(self.daemon.value("x", session), 1)

    def test_no_processes_left_is_said_of_a_state_that_is_not_saved(self):
        session = self.daemon.session(policy="small", keep=True)
        first = self.daemon.run("x = 1", session)["id"]
        wait_for(lambda: not self.daemon.state(session)["kept"]["pending"], what="its state on disk")
        self.daemon.run("import threading\nstop = threading.Event()\ntry:\n"
                        "    while True: threading.Thread(target=stop.wait, daemon=True).start()\n"
                        "except RuntimeError: pass", session)
        full = "there are as many processes and threads as the session may have; end some"
        wait_for(lambda: self.daemon.state(session)["kept"].get("why") == full, what="why it is not kept")
        kept = self.daemon.run("y = 2", session)["checkpoint"]["kept"]
        self.assertEqual(kept["why"], full)
        self.assertIn(f"the state after this run is not saved: {full}. The next run tries again", kept["note"])
        self.assertIn(f"comes back as it was after {first}", kept["note"])
        self.assertIn(full, self.expect_error(self.daemon.request("GET", f"/v1/sessions/{session}/vars"), 409, "conflict")["message"])
        self.daemon.run("stop.set()\nfor one in threading.enumerate():\n    one is threading.current_thread() or one.join()", session)
        wait_for(lambda: "why" not in self.daemon.state(session)["kept"], what="its state on disk")

    def test_no_descriptors_left_costs_one_run(self):
        session = self.new_session(policy="small")
        self.daemon.run("x = 1", session)
        result = self.daemon.run("import os\nkept = []\ntry:\n    while True: kept.append(os.open('/', 0))\n"
                                 "except OSError as error: print(error.errno)", session)
        self.assertEqual((result["stdout"], result["state"]), ("24\n", "preserved"))
        self.daemon.run("for fd in kept: os.close(fd)", session)
        self.assertEqual(self.daemon.value("x", session), 1)


class FewDescriptorsTest(Case):
    def test_a_tiny_limit_refuses_and_recovers(self):
        """More sessions than descriptors: some are refused with a reason, none is harmed."""
        daemon = self.serve(wrap=["prlimit", "--nofile=160:160"])
        sessions, refused = [], []
        for _ in range(40):
            answer = daemon.request("POST", "/v1/sessions", {"runtime": "bare"})
            if answer.status == 201:
                sessions.append(answer.json["id"])
            else:
                self.assertIn(answer.status, (500, 503), answer)
                self.assertTrue(answer.error["message"])
                refused.append(answer)
        self.assertTrue(refused, "160 descriptors were enough for 40 sessions")
        self.assertTrue(sessions)
        for session in sessions:
            daemon.run("x = 1", session, kind=None)
        for session in sessions[1:]:
            self.assertEqual(daemon.request("DELETE", f"/v1/sessions/{session}").status, 204)
        self.assertEqual(daemon.run("1")["verdict"]["kind"], "ok")
        self.assertEqual(daemon.value("x", sessions[0]), 1)
        daemon.stop()


class BadRuntimeTest(Case):
    def test_a_zygote_that_crashes_is_told_and_others_go_on(self):
        daemon = self.serve(BARE + "  broken: {python: /usr/bin/python3, preload: [asyncio.windows_events], pool: 2}\n")
        begin = time.monotonic()
        result = daemon.run("print(1)", runtime="broken", kind="backend")
        self.assertIn("broken: import asyncio.windows_events: ImportError: win32 only", result["verdict"]["message"])
        pools = daemon.ask("GET", "/v1/status")["pools"]
        why = [pool["why"] for pool in pools if pool["runtime"] == "broken"]
        self.assertTrue(why and why[0], pools)
        self.assertEqual(daemon.run("print(2)", runtime="bare")["stdout"], "2\n")
        self.assertEqual(daemon.request("GET", "/health").status, 200)
        tries = self.zygotes_seen(daemon, 2.0)
        self.assertLess(len(tries), 2, "a broken package was tried again at once")
        self.assertLess(time.monotonic() - begin, 60)
        self.assertLessEqual(daemon.log().count("event=pool.refill runtime=broken"), 1, "told more than once")
        daemon.stop()

    def test_a_runtime_that_lacks_a_package_serves_the_rest_and_says_so_once(self):
        daemon = self.serve(BARE + "  odd: {python: /usr/bin/python3, preload: [colorsys, no_such_package], pool: 2}\n")
        for _ in range(5):  # more than its pool holds
            result = daemon.run("import sys\n'colorsys' in sys.modules", runtime="odd")
            self.assertEqual(result["result"]["text/plain"], "True")
        self.assertEqual(daemon.run("import no_such_package", runtime="odd", kind="exception")["error"]["type"],
                         "ModuleNotFoundError")
        told = [line for line in daemon.log().splitlines() if "no_such_package" in line]
        self.assertEqual(len(told), 1, told)
        self.assertIn("event=runtime.lacks runtime=odd modules=no_such_package", told[0])
        daemon.stop()

    @staticmethod
    def zygotes_seen(daemon, seconds):
        """Every process that was seen importing the broken module in this time."""
        seen = set()
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for pid in daemon.processes():
                try:
                    with open(f"/proc/{pid}/cmdline", "rb") as file:
                        if b"asyncio.windows_events" in file.read():
                            seen.add(pid)
                except OSError:
                    pass
            time.sleep(0.01)
        return seen

    def test_an_interpreter_that_is_not_there(self):
        daemon = self.serve(BARE + "  gone: {python: /usr/bin/python9, pool: 1}\n")
        result = daemon.run("1", runtime="gone", kind="backend")
        self.assertIn("gone", result["verdict"]["message"])
        self.assertEqual(daemon.run("print(2)", runtime="bare")["stdout"], "2\n")
        daemon.stop()


class ClockTest(Case):
    def test_a_clock_that_jumps_ends_nothing(self):
        """Only the monotonic clocks can be set in a namespace; the wall clock stands in for the rest.

        A day passes on the clock that deadlines and idle times are counted by, between two daemons.
        Sessions and their ages are carried over by the wall clock, so nothing may end.
        """
        daemon = self.serve()
        session = daemon.session(runtime="bare", idle_ms=60000, ttl_ms=60000)
        daemon.run("x = 1", session)
        run = daemon.start_run("print('on', flush=True)\nimport time\ntime.sleep(1)\nx = 2\nprint('end')", session,
                               timeout_ms=20000)
        with daemon.events(run) as events:
            events.until_text("on")
        daemon.kill9()
        root = [] if os.geteuid() == 0 else ["--user", "--map-current-user", "--keep-caps"]
        daemon.wrap = ["unshare", *root, "--time", "--monotonic", "86400", "--boottime", "86400"]
        daemon.start()
        result = daemon.result(run)
        self.assertEqual((result["verdict"]["kind"], result["stdout"]), ("ok", "on\nend\n"))
        self.assertEqual(daemon.value("x", session), 2)
        daemon.restart()
        self.assertEqual(daemon.value("x", session), 2)
        daemon.kill9()
        daemon.wrap = []
        daemon.start()
        self.assertEqual(daemon.value("x", session), 2)
        daemon.stop()
