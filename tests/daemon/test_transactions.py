# SPDX-License-Identifier: Apache-2.0
"""A run that goes wrong costs nothing but itself: variables and files are what they were before it."""

from case import DaemonCase, wait_for

MIB = 1 << 20


class RollbackTest(DaemonCase):
    """Each way in which the interpreter itself can end."""

    # A small one: out of memory comes quickly.
    CONFIG = "policies:\n  small: {base: default, memory: 160MiB, output: 64KiB, pids: 32}\n"

    def prepare(self, **body):
        session = self.new_session(policy="small", **body)
        self.daemon.run("x = [1, 2]\nopen('kept.txt', 'w').write('before')\n"
                        "import os\nos.makedirs('deep/er')\nopen('deep/er/a', 'w').write('a')", session)
        return session

    def fails(self, session, code, kind, state="rolled_back", **body):
        """Spoils variables and files first, then does what ends it."""
        spoil = ("x.append(3)\ny = 1\nopen('kept.txt', 'w').write('spoiled')\nopen('new.txt', 'w').write('n')\n"
                 "import os, shutil\nshutil.rmtree('deep')\n")
        result = self.daemon.run(spoil + code, session, kind=kind, **body)
        self.assertEqual(result["state"], state, result["verdict"])
        return result

    def is_as_before(self, session):
        seen = self.daemon.value(
            "[x, 'y' in globals(), open('kept.txt').read(), sorted(os.listdir('.')), "
            "open('deep/er/a').read()]", session)
        self.assertEqual(seen, [[1, 2], False, "before", ["deep", "kept.txt"], "a"])

    def test_timeout(self):
        session = self.prepare()
        result = self.fails(session, "while True: pass", "timeout", timeout_ms=300)
        self.assertEqual(result["verdict"]["by"], "supervisor")
        self.assertEqual(result["verdict"]["limit"], "timeout_ms")
        self.assertTrue(result["verdict"]["remedy"])
        self.is_as_before(session)

    def test_timeout_in_a_child_process(self):
        session = self.prepare()
        self.fails(session, "import subprocess\nsubprocess.run(['sleep', '1000'])", "timeout",
                   timeout_ms=300)
        self.is_as_before(session)
        self.assertEqual(self.daemon.value("[n for n in os.listdir('/proc') if n.isdigit() and "
                                           "'sleep' in open(f'/proc/{n}/comm').read()]", session), [])

    def test_out_of_memory(self):
        session = self.prepare()
        result = self.fails(session, "z = []\nwhile True: z.append(bytearray(1 << 20))", "memory")
        self.assertEqual(result["verdict"]["limit"], "memory")
        self.is_as_before(session)

    def test_out_of_memory_again_and_again(self):
        session = self.prepare()
        for _ in range(3):
            self.fails(session, "z = []\nwhile True: z.append(bytearray(1 << 20))", "memory")
        self.is_as_before(session)

    def test_os_exit(self):
        session = self.prepare()
        for status in (0, 3):
            result = self.fails(session, f"os._exit({status})", "exit")
            self.assertEqual(result["verdict"]["exit_code"], status)
            self.is_as_before(session)

    def test_crash_in_c(self):
        session = self.prepare()
        result = self.fails(session, "import ctypes\nctypes.string_at(0)", "killed")
        self.assertEqual((result["verdict"]["signal"], result["verdict"]["exit_code"]), (11, 139))
        self.assertIn("SIGSEGV", result["verdict"]["message"])
        self.is_as_before(session)

    def test_kill_of_itself(self):
        session = self.prepare()
        result = self.fails(session, "import signal\nos.kill(os.getpid(), signal.SIGKILL)", "killed")
        self.assertEqual(result["verdict"]["signal"], 9)
        self.is_as_before(session)

    def test_abort_after_threads_and_children(self):
        session = self.prepare()
        self.fails(session, "import threading, subprocess, time\n"
                            "threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()\n"
                            "subprocess.Popen(['sleep', '1000'])\nos.abort()", "killed")
        self.is_as_before(session)

    def test_output_flood(self):
        session = self.prepare()
        result = self.fails(session, "while True: print('y' * 1000)", "output")
        self.assertEqual(result["verdict"]["limit"], "output")
        self.assertTrue(result["truncated"]["stdout"])
        self.is_as_before(session)

    def test_cancel(self):
        session = self.prepare()
        run = self.daemon.start_run("x.append(9)\nprint('on', flush=True)\nwhile True: pass", session)
        with self.daemon.events(run) as events:
            events.until_text("on")
            self.assertEqual(self.daemon.request("DELETE", f"/v1/runs/{run}").status, 204)
            verdict = events.until("verdict")
        self.assertEqual((verdict["verdict"]["kind"], verdict["state"]), ("cancelled", "rolled_back"))
        self.is_as_before(session)

    def test_many_failures_in_a_row(self):
        session = self.prepare()
        for i in range(20):
            self.fails(session, f"os._exit({i % 5 + 1})", "exit")
        self.is_as_before(session)

    def test_what_later_runs_put_into_the_background_ends_with_a_rollback(self):
        """What was there when the state was kept goes on."""
        code = ("import os, time\nread, write = os.pipe()\nif os.fork() == 0:\n    os.setsid()\n"
                "    pid = os.fork()\n    if pid: os.write(write, b'%d' % pid); os._exit(0)\n"
                "    time.sleep(1000)\nos.wait()\npid = int(os.read(read, 10))\nos.close(read); os.close(write)\npid")
        session = self.new_session()
        kept = self.daemon.value(code, session)
        clean = self.daemon.ask("POST", f"/v1/sessions/{session}/checkpoints", {"name": "clean"})["id"]
        undone = self.daemon.value(code, session)
        self.daemon.run("y = 1", session)
        self.daemon.ask("POST", f"/v1/sessions/{session}/rollback", {"checkpoint": clean})
        self.daemon.run("def lives(pid):\n    try: os.kill(pid, 0)\n    except ProcessLookupError: return False\n"
                        "    return True", session)
        wait_for(lambda: not self.daemon.value(f"lives({undone})", session), what="its end")
        self.assertTrue(self.daemon.value(f"lives({kept})", session))

    def test_the_result_names_where_it_went_back_to(self):
        session = self.prepare()
        before = self.daemon.run("1", session)["checkpoint"]["id"]
        self.assertEqual(self.fails(session, "os._exit(1)", "exit")["checkpoint"]["id"], before)
        self.assertEqual(self.daemon.state(session)["head"], before)

    def test_runs_that_wait_go_on_after_a_failure(self):
        session = self.prepare()
        first = self.daemon.start_run("x.append(5)\nprint('on', flush=True)\ninput()\nos._exit(1)", session,
                                      stdin="live")
        with self.daemon.events(first) as events:
            events.until_text("on")
            second = self.daemon.start_run("x", session)
            self.daemon.ask("POST", f"/v1/runs/{first}/stdin", {"text": "\n"})
            self.assertEqual(events.until("verdict")["state"], "rolled_back")
        self.assertEqual(self.daemon.result(second)["result"]["application/json"], [1, 2])

    def test_kill_of_everything_is_refused_and_harms_nobody(self):
        session = self.prepare()
        result = self.daemon.run("import signal\ntry:\n    os.kill(-1, signal.SIGKILL)\n"
                                 "except OSError as error:\n    print(type(error).__name__)", session)
        self.assertEqual(result["stdout"], "PermissionError\n")
        self.is_as_before(session)

    def test_a_killed_checkpoint_is_told(self):
        """A run that names the pid of its checkpoint loses what it goes back to, and is told so."""
        session = self.prepare()
        result = self.daemon.run("""
import signal
hit = 0
for pid in set(range(2, 200)) - {os.getpid()}:
    try:
        os.kill(pid, signal.SIGKILL)
        hit += 1
    except ProcessLookupError:
        pass
x.append(hit)
""", session)
        self.assertEqual(result["state"], "preserved")
        self.assertEqual(self.daemon.value("x[:2]", session), [1, 2])
        self.assertGreater(self.daemon.value("x[2]", session), 0)  # there was a checkpoint to kill
        # Checkpoints that were made after that are as good as any.
        self.daemon.run("os._exit(1)", session, kind="exit")
        self.assertEqual(self.daemon.value("x[:2]", session), [1, 2])

    def test_a_run_that_kills_its_checkpoint_and_then_itself_is_lost_and_told_so(self):
        session = self.prepare()
        result = self.daemon.run("""
import signal
for pid in set(range(2, 200)) - {os.getpid()}:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
os._exit(1)
""", session, kind="exit")
        self.assertEqual(result["state"], "lost")
        told = self.daemon.state(session)
        self.assertEqual(told["state"], "lost")
        self.assertTrue(told["why"])
        answer = self.daemon.request("POST", f"/v1/sessions/{session}/run", {"code": "1"})
        self.expect_error(answer, 409, "conflict")

    def test_fork_handlers_of_a_run_cost_nobody_anything(self):
        session = self.prepare()
        result = self.daemon.run("""
import os, time
def hang():
    while True:
        time.sleep(1)
def kill():
    os.kill(os.getppid(), 9)
os.register_at_fork(after_in_child=kill)
os.register_at_fork(before=hang, after_in_parent=hang, after_in_child=hang)
x.append(3)
""", session)
        self.assertEqual(result["state"], "preserved")
        self.assertEqual(self.daemon.value("x", session), [1, 2, 3])
        self.daemon.run("os._exit(1)", session, kind="exit")
        self.assertEqual(self.daemon.value("x", session), [1, 2, 3])
        names = {var["name"] for var in self.daemon.request("GET", f"/v1/sessions/{session}/vars").json["vars"]}
        self.assertIn("x", names)

    def test_a_checkpoint_that_does_not_fork_costs_itself(self):
        """A run spoils the runner so that its checkpoint forks once and never again."""
        for way in ("os._exit(0)", "os.kill(os.getpid(), 9)", "1 / 0"):
            session = self.prepare()
            spoiled = self.daemon.run(f"""
import os
import vivarium.fork
real, count = vivarium.fork.answer, 0
def answer(*args):
    global count
    count += 1
    if count > 1:
        {way}
    real(*args)
vivarium.fork.answer = answer
x.append(3)
""", session)
            self.assertEqual(self.daemon.value("x", session), [1, 2, 3])
            ended = self.daemon.run("os._exit(1)", session, kind="exit")
            self.assertEqual(ended["state"], "rolled_back")
            self.assertEqual(self.daemon.value("x", session), [1, 2], way)
            if way == "1 / 0":  # it went all the way back at once
                undone = ended["checkpoint"]["undone"]
                self.assertEqual((len(undone), undone[0], undone[-1]), (3, spoiled["id"], ended["id"]))

    def test_code_that_damages_the_interpreter_is_undone(self):
        """Builtins and modules are the runner's, too. Either the run that spoils them fails itself, or the next."""
        for damage in ("builtins.len = None", "builtins.__import__ = None", "builtins.isinstance = None",
                       "builtins.str = int", "builtins.type = None", "sys.modules.clear()"):
            with self.subTest(damage):
                session = self.prepare()
                self.daemon.run("x = [1, 2]", session)
                runs = [self.daemon.request("POST", f"/v1/sessions/{session}/run", {"code": code}).json
                        for code in ("import builtins, sys\nx.append(3)\n" + damage, "1")]
                self.assertIn("exception", [run["verdict"]["kind"] for run in runs])
                failed = runs[0] if runs[0]["verdict"]["kind"] == "exception" else runs[1]
                self.assertEqual((failed["state"], failed["verdict"]["remedy_key"]), ("rolled_back", "damaged"))
                self.assertEqual(failed["checkpoint"]["undone"], [run["id"] for run in runs[:runs.index(failed) + 1]])
                self.is_as_before(session)

    def test_damage_that_shows_behind_the_code_is_undone(self):
        session = self.prepare()
        # Goes well once: the checkpoint behind this run is damaged, and each run from there fails at its end.
        later = self.daemon.run("import sys\nsys.modules['vivarium.files'].missing = lambda _, n=[[]]: n.pop()", session)
        first = self.daemon.run("x.append(3)", session, kind="exception")
        self.assertEqual((first["state"], first["checkpoint"]["undone"]), ("rolled_back", [first["id"]]))
        second = self.daemon.run("x.append(4)", session, kind="exception")
        self.assertEqual((second["state"], second["checkpoint"]["undone"]), ("rolled_back", [later["id"], second["id"]]))
        self.is_as_before(session)

    def test_damage_without_a_way_back_costs_no_session(self):
        session = self.new_session(policy="small", transactional=False)
        self.daemon.run("import builtins\nbuiltins.len = None", session)
        for _ in range(2):
            result = self.daemon.run("1", session, kind="exception")
            self.assertEqual((result["state"], result["verdict"]["remedy_key"]), ("preserved", "damaged"))

    def test_without_transactions_a_failure_loses_the_session_and_says_so(self):
        session = self.prepare(transactional=False)
        self.assertNotIn("checkpoint", self.daemon.run("1", session))
        result = self.fails(session, "os._exit(1)", "exit", state="lost")
        self.assertEqual(result["verdict"]["exit_code"], 1)
        told = self.daemon.state(session)
        self.assertEqual(told["state"], "lost")
        answer = self.daemon.request("POST", f"/v1/sessions/{session}/run", {"code": "1"})
        self.expect_error(answer, 409, "conflict")


class BlockerTest(DaemonCase):
    """What cannot be forked is named, and the last checkpoint stays."""

    BLOCKERS = {
        "thread worker-1": "import threading, time\n"
                           "threading.Thread(target=time.sleep, args=(1000,), name='worker-1', "
                           "daemon=True).start()",
        "child process": "import subprocess\nkeep = subprocess.Popen(['sleep', '1000'])",
        "child process ": "import os, time\nif os.fork() == 0: time.sleep(1000)",
        "open file /workspace/log.txt": "keep = open('/workspace/log.txt', 'w')",
        "socket": "import socket\nkeep = socket.socketpair()",
        "/workspace/d.db": "import sqlite3\nkeep = sqlite3.connect('d.db')\n"
                           "keep.execute('create table t (a)')",
    }

    def test_each_is_told(self):
        for name, code in self.BLOCKERS.items():
            with self.subTest(name):
                session = self.new_session()
                last = self.daemon.run("x = 1", session)["checkpoint"]["id"]
                result = self.daemon.run("x = 2\n" + code, session)
                self.assertEqual(result["state"], "preserved")
                self.assertIn(name, result["checkpoint"]["skipped"])
                self.assertEqual(result["checkpoint"]["last"], last)
                self.assertIn(name, self.daemon.state(session)["checkpoint_blocked_by"])

    def test_a_way_back_past_a_skipped_checkpoint_says_which_runs_it_undoes(self):
        session = self.new_session()
        first = self.daemon.run("x = 1", session)
        second = self.daemon.run("import threading\ngate = threading.Event()\nx = 2\n"
                                 "threading.Thread(target=gate.wait, name='worker-1', daemon=True).start()", session)
        self.assertIn("worker-1", second["checkpoint"]["skipped"])
        third = self.daemon.run("x = 3\nwhile True: pass", session, kind="timeout", timeout_ms=500)
        back = third["checkpoint"]
        self.assertEqual(third["state"], "rolled_back")
        self.assertEqual((back["id"], back["undone"]), (first["checkpoint"]["id"], [second["id"], third["id"]]))
        self.assertIn("worker-1", back["why"])
        self.assertIn(first["id"], back["note"])
        self.assertIn("2 runs are undone", back["note"])
        with self.daemon.events(session, follow=False) as events:
            told = [event for event in events if event["type"] == "rolled_back"][-1]
        self.assertEqual((told["checkpoint"], told["undone"], told["why"]), (back["id"], back["undone"], back["why"]))
        self.assertEqual(self.daemon.value("x", session), 1)
        plain = self.daemon.run("while True: pass", session, kind="timeout", timeout_ms=300)["checkpoint"]
        self.assertEqual(len(plain["undone"]), 1)
        self.assertNotIn("why", plain)
        self.assertTrue(plain["note"].endswith("before this run"), plain)

    def test_the_session_goes_on_and_a_failure_goes_back_to_the_last_one(self):
        session = self.new_session()
        self.daemon.run("x = 1", session)
        self.daemon.run("x = 2\n" + self.BLOCKERS["thread worker-1"], session)
        self.assertEqual(self.daemon.value("x", session), 2)
        result = self.daemon.run("import os\nos._exit(1)", session, kind="exit")
        self.assertEqual(result["state"], "rolled_back")
        self.assertEqual(self.daemon.value("x", session), 1)

    def test_checkpoints_go_on_when_the_blocker_is_gone(self):
        session = self.new_session()
        self.assertIn("skipped", self.daemon.run("keep = open('f', 'w')", session)["checkpoint"])
        self.assertIn("id", self.daemon.run("keep.close()\nx = 7", session)["checkpoint"])
        self.daemon.run("x = 8\nimport os\nos._exit(1)", session, kind="exit")
        self.assertEqual(self.daemon.value("x", session), 7)

    def test_a_named_checkpoint_is_refused_and_the_blocker_named(self):
        session = self.new_session()
        self.daemon.run(self.BLOCKERS["socket"], session)
        answer = self.daemon.request("POST", f"/v1/sessions/{session}/checkpoints", {"name": "here"})
        error = self.expect_error(answer, 409, "conflict")
        self.assertIn("socket", error["message"])
