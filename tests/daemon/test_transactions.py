# SPDX-License-Identifier: Apache-2.0
"""A run that goes wrong costs nothing but itself: variables and files are what they were before it."""

import os

from case import BARE, Case, DaemonCase, wait_for

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

    def test_streams_that_a_run_closed_do_not_take_its_state_along(self):
        session = self.prepare()
        self.daemon.run("y = 5\nos.close(0)\nos.close(1)\nprint(1)", session, kind="exception")
        self.assertEqual(self.daemon.value("y", session), 5)
        self.assertEqual(self.daemon.run("y += 1\nimport sys\nprint(y, file=sys.stderr)", session)["stderr"], "6\n")

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
        """A process that was there when the state was kept goes on."""
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

    def test_the_same_damage_again_undoes_no_run_before_it(self):
        """The state is sound: each time the damage comes from the run itself."""
        session = self.prepare()
        last = self.daemon.run("x = [1, 2]", session)["checkpoint"]["id"]
        for _ in range(3):
            failed = self.daemon.run("import sys\nx.append(3)\nsys.modules.clear()", session, kind="exception")
            back = failed["checkpoint"]
            self.assertEqual((failed["state"], back["id"], back["undone"]), ("rolled_back", last, [failed["id"]]))
            self.assertNotIn("why", back)
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


class OneCheckpointTest(DaemonCase):
    """One way back is all that there is, as in a session that uses more than half of its memory."""

    CONFIG = "sessions: {checkpoints: 1}\n"

    def prepare(self, code):
        """A session whose only checkpoint is the one behind this code; that checkpoint."""
        session = self.new_session()
        last = self.daemon.run("x = [1, 2]\n" + code, session)["checkpoint"]["id"]
        wait_for(lambda: self.states(session) == [last], what="its one checkpoint")
        return session, last

    def states(self, session):
        return [one["id"] for one in self.daemon.ask("GET", f"/v1/sessions/{session}/checkpoints")["checkpoints"]]

    def test_damage_again_and_again_leaves_the_only_state_alone(self):
        session, last = self.prepare("")
        for _ in range(3):
            failed = self.daemon.run("import sys\nx.append(3)\nsys.modules.clear()", session, kind="exception")
            self.assertEqual((failed["state"], failed["checkpoint"]["id"]), ("rolled_back", last))
        self.assertEqual(self.daemon.value("x", session), [1, 2])

    def test_a_damaged_state_without_an_older_one_is_not_kept_anew(self):
        session, last = self.prepare("import sys\nsys.modules['vivarium.inputs'].give_stdin = None")
        for _ in range(2):
            failed = self.daemon.run("1", session, kind="exception")
            self.assertEqual((failed["state"], failed["checkpoint"]["id"]), ("rolled_back", last))
        self.assertEqual(self.states(session), [last])


class ReaderTest(DaemonCase):
    """A file that is open for reading goes on where it was in each state."""

    LINES = "open('a.csv', 'w').writelines(f'{i}\\n' for i in range(100_000))\n"
    READ = "import csv\nf = open('a.csv')\nrows = csv.reader(f)\nnext(rows)\nNone"
    REST = "rest = [int(n) for n, in rows]\n[len(rest), rest == list(range(1, 100_000))]"

    def prepare(self, **body):
        session = self.new_session(**body)
        self.daemon.run(self.LINES + self.READ, session)
        return session

    def test_rows_that_a_failed_run_has_read_are_read_again(self):
        session = self.prepare()
        for code, kind in (("for row in rows: pass\nwhile True: pass", "timeout"),
                           ("f.read()\nimport os\nos._exit(1)", "exit")):
            failed = self.daemon.run(code, session, kind=kind, **({"timeout_ms": 500} if kind == "timeout" else {}))
            self.assertEqual(failed["state"], "rolled_back")
        self.assertEqual(self.daemon.value(self.REST, session), [99_999, True])

    def test_chunks_that_a_failed_run_has_read_are_read_again(self):
        session = self.new_session(runtime="base")
        self.daemon.run(self.LINES + "import os, pandas\n"
                        "chunks = pandas.read_csv('a.csv', chunksize=100, header=None)\nfirst = next(chunks)", session)
        failed = self.daemon.run("for chunk in chunks: pass\nos._exit(1)", session, kind="exit")
        self.assertEqual(failed["state"], "rolled_back")
        rest = "rest = pandas.concat(chunks)[0]\n[len(rest), list(rest) == list(range(100, 100_000))]"
        self.assertEqual(self.daemon.value(rest, session), [99_900, True])

    def test_a_completion_reads_nothing_away(self):
        session = self.new_session()
        self.daemon.run(self.LINES + "import csv\nrows = csv.DictReader(open('a.csv'), restkey='rest')", session)
        for _ in range(2):
            question = {"code": "rows.fieldnames.", "cursor": 16}
            told = self.daemon.ask("POST", f"/v1/sessions/{session}/complete", question)
            self.assertIn("append", str(told))
        found = self.daemon.value("first = next(rows)\n[first, sum(1 for _ in rows)]", session)
        self.assertEqual(found, [{"0": "1"}, 99_998])

    def test_branches_read_each_for_itself(self):
        session = self.prepare()
        told = self.daemon.ask("POST", f"/v1/sessions/{session}/fork", {"n": 2}, status=201)
        branches = [one["id"] for one in told["sessions"]]
        for branch in branches:
            self.addCleanup(self.daemon.request, "DELETE", f"/v1/sessions/{branch}")
        self.daemon.run("for _ in range(50_000): next(rows)", branches[0])
        for reader in (session, branches[1]):
            self.assertEqual(self.daemon.value(self.REST, reader), [99_999, True])

    def test_a_file_that_became_unreadable_costs_no_state(self):
        session = self.prepare()
        last = self.daemon.run("1", session)["checkpoint"]["id"]
        for _ in range(2):
            failed = self.daemon.run("import os\nf.read()\nos.chmod('a.csv', 0)\nos._exit(1)", session, kind="exit")
            self.assertEqual((failed["state"], failed["checkpoint"]["id"]), ("rolled_back", last))
        self.assertEqual(self.daemon.value(self.REST, session), [99_999, True])

    def test_files_of_other_places(self):
        session = self.new_session()
        self.daemon.run("import os\nopen('/tmp/t', 'w').write('0123456789')\nt = open('/tmp/t')\nos.unlink('/tmp/t')\n"
                        "t.read(1)\nu = open(os.__file__)\ntext = u.read()\nu.seek(0)", session)
        self.daemon.run("t.read()\nu.read()\nos._exit(1)", session, kind="exit")
        self.assertEqual(self.daemon.value("[t.read(), u.read() == text]", session), ["123456789", True])


class BlockerTest(DaemonCase):
    """Blockers of a fork are named, and the last checkpoint stays."""

    BLOCKERS = {
        "thread worker-1": "import threading, time\n"
                           "threading.Thread(target=time.sleep, args=(1000,), name='worker-1', "
                           "daemon=True).start()",
        "child process": "import subprocess\nkeep = subprocess.Popen(['sleep', '1000'])",
        "child process ": "import os, time\nif os.fork() == 0: time.sleep(1000)",
        "open file /workspace/log.txt": "keep = open('/workspace/log.txt', 'w')",
        "socket": "import socket\nkeep = socket.socketpair()",
        "open file /tmp/": "import tempfile\nkeep = tempfile.TemporaryFile()",
        "shared memory": "import mmap\nkeep = mmap.mmap(-1, 10)",
        "shared memory /dev/shm/": "import multiprocessing\nkeep = multiprocessing.RawValue('i', 1)",
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
        self.assertEqual(back["after"], first["id"])
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


class ThreadOver:
    """A run leaves a thread, which ends before the next run begins: as soon as somebody looks at `gate`."""

    GATE = """
import os
class Gate:
    def __repr__(self):
        open('go', 'w').close()
        return 'open'
gate = Gate()
"""
    CODE = GATE + """
import threading, time
def wait():
    while not os.path.exists('go'):
        time.sleep(0.01)
threading.Thread(target=wait, name='worker-1', daemon=True).start()
"""

    @staticmethod
    def threads(daemon):
        """Every thread in a sandbox that is not the first of its process."""
        found = set()
        for pid in daemon.processes_below(daemon.launch_pid):
            try:
                found |= {(pid, name) for name in os.listdir(f"/proc/{pid}/task") if name != str(pid)}
            except OSError:
                pass  # it has ended
        return found

    def outlive(self, daemon, session, code):
        """Runs code that leaves the thread, and waits until the kernel has no such thread any more; nothing runs in the
        session itself, only a look. The result of the run."""
        before = self.threads(daemon)
        result = daemon.run(self.CODE + code, session)
        self.assertEqual(result["checkpoint"]["skipped"], "thread worker-1")
        mine = self.threads(daemon) - before
        self.assertTrue(mine)
        daemon.ask("GET", f"/v1/sessions/{session}/vars")
        wait_for(lambda: not mine & self.threads(daemon), what="the end of the thread")
        return result

    def expect_only_itself_undone(self, daemon, session, last):
        """The run that fails undoes itself alone: `last`, after which a thread lived on for a while, has a state."""
        ended = daemon.run("x = 3\nopen('f', 'w').write('3')\nos._exit(1)", session, kind="exit")
        back = ended["checkpoint"]
        self.assertEqual((ended["state"], back["after"], back["undone"]), ("rolled_back", last["id"], [ended["id"]]))
        self.assertNotIn("why", back)
        self.assertEqual(daemon.value("x", session), 2)
        return back


class RetryTest(ThreadOver, DaemonCase):
    """A checkpoint that was blocked after a run is tried once more before the next run."""

    # Counts how often the runner looks for blockers, and says each time that there is one.
    COUNT = """
import vivarium.blockers
asked = []
def find(*_args):
    asked.append(1)
    %s
    return 'thread of the test'
vivarium.blockers.find = find
"""

    def states(self, session):
        return self.daemon.ask("GET", f"/v1/sessions/{session}/checkpoints")["checkpoints"]

    def fork(self, session):
        branch = self.daemon.ask("POST", f"/v1/sessions/{session}/fork", {}, status=201)["sessions"][0]["id"]
        self.addCleanup(self.daemon.request, "DELETE", f"/v1/sessions/{branch}")
        return branch

    def test_a_thread_that_has_ended_costs_no_run(self):
        session = self.new_session()
        self.daemon.run("x = 1", session)
        last = self.outlive(self.daemon, session, "x = 2\nopen('f', 'w').write('2')")
        back = self.expect_only_itself_undone(self.daemon, session, last)
        self.assertEqual(self.daemon.value("[open('f').read(), os.path.exists('go')]", session), ["2", True])
        self.assertNotIn("checkpoint_blocked_by", self.daemon.state(session))
        made = {state["id"]: state for state in self.states(session)}[back["id"]]
        self.assertEqual((made["run"], made["parent"]), (last["id"], last["checkpoint"]["last"]))

    def test_a_thread_that_has_ended_costs_no_run_of_a_branch(self):
        session = self.new_session()
        self.daemon.run("x = 1", session)
        branch = self.fork(session)
        last = self.outlive(self.daemon, branch, "x = 2")
        self.expect_only_itself_undone(self.daemon, branch, last)
        self.assertEqual(self.daemon.value("x", session), 1)

    def test_the_reason_is_the_one_that_is_left(self):
        session = self.new_session()
        first = self.daemon.run("x = 1", session)
        last = self.outlive(self.daemon, session, "import socket\nkeep = socket.socketpair()")
        ended = self.daemon.run("os._exit(1)", session, kind="exit")
        back = ended["checkpoint"]
        self.assertEqual((back["after"], back["undone"]), (first["id"], [last["id"], ended["id"]]))
        self.assertIn("socket", back["why"])
        self.assertIn("socket", back["note"])

    POPEN, SPAWN = "subprocess.Popen(%s)", "os.posix_spawn('/bin/sh', %s, os.environ)"

    def leave_child(self, session, way=POPEN):
        """A run starts a child, which ends after it."""
        command = "['sh', '-c', 'until [ -e go ]; do sleep 0.01; done; exit 7']"
        self.daemon.run(self.GATE + f"import os, subprocess\nchild = {way % command}", session)
        self.assertIn("sh", self.daemon.processes().values())
        self.daemon.ask("GET", f"/v1/sessions/{session}/vars")
        wait_for(lambda: "sh" not in self.daemon.processes().values(), what="the end of the child")

    def test_a_child_of_subprocess_that_has_ended_keeps_its_status(self):
        """A fork loses the status, and subprocess takes a lost one for 0."""
        session = self.new_session()
        self.leave_child(session)
        self.daemon.ask("POST", f"/v1/sessions/{session}/checkpoints", {"name": "ended"}, status=201)
        branch = self.fork(session)
        for _ in range(2):
            self.assertIn("id", self.daemon.run("x = 'other work'", session)["checkpoint"])
        self.daemon.run("os._exit(1)", session, kind="exit")
        for one in (session, branch):
            self.assertEqual(self.daemon.value("[child.poll(), child.wait()]", one), [7, 7])

    def test_any_other_child_that_has_ended_blocks_until_it_is_waited_for(self):
        session = self.new_session()
        self.leave_child(session, self.SPAWN)
        ended = r"child process \d+ \(ended, not waited for\)"
        error = self.expect_error(self.daemon.request("POST", f"/v1/sessions/{session}/checkpoints", {}), 409, "conflict")
        self.assertRegex(error["message"], ended)
        for _ in range(2):
            self.assertRegex(self.daemon.run("x = 'other work'", session)["checkpoint"]["skipped"], ended)
        waited = self.daemon.run("os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])", session)
        self.assertEqual(waited["result"]["application/json"], 7)
        self.assertIn("id", waited["checkpoint"])

    def test_a_child_that_nobody_waits_for_blocks_no_later_checkpoint(self):
        session = self.new_session()
        self.leave_child(session)
        self.assertIn("id", self.daemon.run("x = 1", session)["checkpoint"])
        self.daemon.run("x = 2\nos._exit(1)", session, kind="exit")
        self.assertEqual(self.daemon.value("x", session), 1)

    def test_without_room_that_is_the_reason(self):
        session = self.new_session()
        count = 0
        while "id" in self.daemon.run(f"x = {count}", session)["checkpoint"]:
            count += 1
            self.daemon.ask("POST", f"/v1/sessions/{session}/checkpoints", {"name": f"n{count}"}, status=201)
            self.assertLess(count, 32)
        self.outlive(self.daemon, session, "x = 'last'")
        ended = self.daemon.run("os._exit(1)", session, kind="exit")
        self.assertIn("drop a checkpoint", ended["checkpoint"]["why"])
        self.assertEqual(self.daemon.value("x", session), count - 1)

    def test_each_run_tries_once(self):
        session = self.new_session()
        self.daemon.run(self.COUNT % "pass", session)
        for i in range(1, 4):  # once before the run and once after it
            self.assertEqual(self.daemon.value("len(asked)", session), 2 * i)
        self.assertEqual(self.daemon.state(session)["checkpoint_blocked_by"], "thread of the test")

    def test_a_runner_that_claims_that_there_is_no_room_is_not_asked_without_end(self):
        session = self.new_session()
        claim = "return 'the sandbox has no room for another state: drop a checkpoint or delete a branch'"
        self.daemon.run(self.COUNT % claim, session)
        self.assertEqual(self.daemon.value("len(asked)", session), 3)  # after the run, at once, and before this one

    def test_a_session_without_transactions_tries_nothing(self):
        session = self.new_session(transactional=False)
        self.daemon.run(self.COUNT % "pass", session)
        self.daemon.request("POST", f"/v1/sessions/{session}/checkpoints", {})
        count = self.daemon.value("len(asked)", session)
        self.assertEqual(self.daemon.value("len(asked)", session), count)

    def test_a_head_that_dies_of_it_goes_back_and_the_run_that_waits_begins(self):
        session = self.new_session()
        self.daemon.run("x = 1", session)
        last = self.daemon.run("import os\nx = 2\n" + self.COUNT % "if len(asked) > 1: os._exit(3)", session)
        self.assertIn("skipped", last["checkpoint"])
        self.assertEqual(self.daemon.value("x", session), 1)
        with self.daemon.events(session, follow=False) as events:
            told = [event for event in events if event["type"] == "rolled_back"]
        self.assertEqual([event["undone"] for event in told], [[last["id"]]])

    def test_a_run_that_waits_for_it_can_be_cancelled(self):
        session = self.new_session()
        self.daemon.run("import os, time\nx = 1", session)
        branch = self.fork(session)
        wait = """if len(asked) > 1:
        open('asked', 'w').close()
        while not os.path.exists('go'): time.sleep(0.01)
        vivarium.blockers.find = real
        return ''"""
        self.daemon.run("import vivarium.blockers\nreal = vivarium.blockers.find\nx = 2\n" + self.COUNT % wait, session)
        run = self.daemon.start_run("x = 3", session)
        wait_for(lambda: self.daemon.value("os.path.exists('asked')", branch), what="the second try")
        self.assertEqual(self.daemon.request("DELETE", f"/v1/runs/{run}").status, 204)
        self.daemon.run("open('go', 'w').close()", branch)
        result = self.daemon.result(run)
        self.assertEqual((result["verdict"]["kind"], result["state"]), ("cancelled", "preserved"))
        self.daemon.run("x = 4\nos._exit(1)", session, kind="exit")
        self.assertEqual(self.daemon.value("x", session), 2)


class RetryLaterTest(ThreadOver, Case):
    """The same, past the end of a daemon and with states on disk."""

    def test_the_next_daemon_tries_it(self):
        daemon = self.serve(BARE)
        session = daemon.session(runtime="bare")
        daemon.run("x = 1", session)
        last = self.outlive(daemon, session, "x = 2")
        daemon.kill9()
        daemon.start()
        self.expect_only_itself_undone(daemon, session, last)
        daemon.stop()

    def test_a_newer_state_on_disk_is_named_with_the_way_to_it(self):
        daemon = self.serve(BARE)
        session = daemon.session(runtime="bare", keep=True)
        first = daemon.run("x = 1", session)
        last = daemon.run("x = 2\n" + self.CODE, session)
        states = f"/v1/sessions/{session}/checkpoints"
        stored = wait_for(lambda: [one for one in daemon.ask("GET", states)["checkpoints"] if one["run"] == last["id"]],
                          what="its state on disk")[0]
        ended = daemon.run("os._exit(1)", session, kind="exit")
        back = ended["checkpoint"]
        self.assertEqual((back["after"], back["undone"]), (first["id"], [last["id"], ended["id"]]))
        self.assertIn("No newer live state was kept: thread worker-1. "
                      f"The state after {last['id']} is on disk: a rollback to {stored['id']} brings it back", back["note"])
        self.assertEqual(daemon.value("x", session), 1)
        daemon.ask("POST", f"/v1/sessions/{session}/rollback", {"checkpoint": stored["id"]})
        self.assertEqual(daemon.value("x", session), 2)
        back = daemon.run("import os\nos._exit(1)", session, kind="exit")["checkpoint"]
        self.assertNotIn("on disk", back["note"])
        daemon.stop()
