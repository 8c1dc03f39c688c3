# SPDX-License-Identifier: Apache-2.0
"""Hostile code in sessions: what it does between runs, to its own heads, to its supervisor and to others."""

import concurrent.futures
import hashlib
import json
import os
import re

from case import BARE, Case, DaemonCase, wait_for

MIB = 1 << 20
HELP = """
import os, signal, socket, struct, time
def left_behind(what):
    '''Runs in a process that no run waits for.'''
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            try:
                what()
            finally:
                os._exit(0)
        os._exit(0)
    os.wait()
def count(number):
    file = os.open('/workspace/count', os.O_CREAT | os.O_WRONLY)
    os.pwrite(file, b'%12d' % number, 0)
    os.close(file)
class Go:
    def __repr__(self):
        '''Asked for in a look, whose end is the sign: the run is over then.'''
        self.sign = os.open('/tmp/go', os.O_WRONLY)
        return ''
def begin():
    os.read(os.open('/tmp/go', os.O_RDONLY), 1)
def frame(kind, flags, counter, payload):
    return struct.pack('<IHHQII', len(payload), kind, flags, 7, counter, 0) + payload
os.mkfifo('/tmp/go')
count(0)
go = [Go()]
"""
DONE = '{"kind": "ok", "exit_code": 0, "message": "", "remedy": "", "blocked": %s}'
DISPLAY = 'b\'{"type":"display","data":{"text/plain":"\' + b"a" * (15 << 20) + b\'"}}\''


def state_of(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rsplit(")", 1)[1].split()[0]
    except OSError:
        return ""  # it has ended


def resident(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return int(re.search(r"VmRSS:\s+(\d+)", file.read()).group(1)) << 10


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        return sum(map(int, file.read().rsplit(")", 1)[1].split()[11:13])) / os.sysconf("SC_CLK_TCK")


class IdleTest(DaemonCase):
    """Output between runs belongs to no run, and must not be work for the daemon."""

    CONFIG = BARE

    def counted(self, session):
        return int(self.daemon.request("GET", f"/v1/sessions/{session}/files/count").body or b"0")

    def attack(self, body):
        """Leaves an attack behind that begins once the run is over, and waits until its count stands
        still. Looks read neither output nor the channel of the interpreter that ran it."""
        session = self.new_session()
        lines = "".join(f"    {line}\n" for line in body.splitlines())
        result = self.daemon.run(f"{HELP}\ndef attack():\n    begin()\n{lines}\nleft_behind(attack)", session)
        self.assertIn("id", result["checkpoint"])
        self.daemon.ask("GET", f"/v1/sessions/{session}/vars/go")
        seen = []

        def stands_still():
            seen.append(self.counted(session))
            return seen[-1] > 0 and len(seen) > 20 and len(set(seen[-20:])) == 1

        wait_for(stands_still, what="the end of the flood")
        return session, seen[-1]

    def test_output_between_runs_waits_in_its_pipe(self):
        session, blocks = self.attack("n = 0\nwhile True:\n    n += 1\n    count(n)\n    os.write(1, b'x' * 65536)")
        self.assertLess(blocks * 65536, 8 * MIB)
        result = self.daemon.run("print('mine')", session, kind=None)
        self.assertEqual(result["state"], "preserved")

    def test_frames_between_runs_wait_in_their_socket(self):
        flood = ("near = socket.socket(fileno=3)\nn = 2\nwhile True:\n    count(n)\n"
                 "    near.sendall(b''.join(frame(%s, 0, n + i, b'{}') for i in range(1000)))\n    n += 1000")
        for kind in (3, 9):
            with self.subTest(kind=kind):
                _, frames = self.attack(flood % kind)
                self.assertLess(frames, 100000)

    def test_pieces_between_runs_wait_in_their_socket(self):
        _, pieces = self.attack("near = socket.socket(fileno=3)\nn = 2\nwhile True:\n    count(n)\n"
                                "    near.sendall(frame(3, 8, n, b'a' * 65536))\n    n += 1")
        self.assertLess(pieces * 65536, 8 * MIB)

    def test_half_a_payload_is_not_kept_for_anybody(self):
        before = resident(self.daemon.serve_pid)
        for _ in range(3):
            self.attack("near = socket.socket(fileno=3)\nfor n in range(2, 252):\n"
                        "    count(n)\n    near.sendall(frame(3, 8, n, b'a' * 65536))\ntime.sleep(60)")
        self.assertLess(resident(self.daemon.serve_pid) - before, 24 * MIB)


class HeadTest(DaemonCase):
    """Code that turns on its own interpreters harms its own session, and whoever asks is answered."""

    CONFIG = BARE
    SIGNAL = HELP + """
def attack():
    begin()
    me = os.getpid()
    while True:
        for pid in range(2, 64):
            if pid != me:
                try:
                    os.kill(pid, signal.NUMBER)
                except OSError:
                    pass
        time.sleep(0.001)
left_behind(attack)
"""

    def stopped(self):
        """A session whose processes are stopped as soon as they are there."""
        session = self.new_session()
        before = set(self.daemon.processes())
        self.daemon.run("kept = 1", session)
        self.daemon.run(self.SIGNAL.replace("NUMBER", "SIGSTOP"), session)
        self.daemon.ask("GET", f"/v1/sessions/{session}/vars/go")

        def all_stopped():
            mine = [pid for pid, name in self.daemon.processes().items() if name == "python3" and pid not in before]
            return [state_of(pid) for pid in mine].count("T") >= 2

        wait_for(all_stopped, what="the stop")
        return session

    def test_an_interpreter_that_does_not_fork_keeps_nobody_waiting(self):
        asked = [("GET", "vars", None), ("POST", "fork", {"n": 2})]
        with concurrent.futures.ThreadPoolExecutor() as pool:
            answers = [pool.submit(self.daemon.request, method, f"/v1/sessions/{self.stopped()}/{what}", body)
                       for method, what, body in asked]
            for answer in answers:
                self.assertIn("did not fork", self.expect_error(answer.result(), 409, "conflict")["message"])
        self.assertNotIn("starting", [one["state"] for one in self.daemon.ask("GET", "/v1/sessions")["sessions"]])

    def test_killing_all_that_can_be_named_ends_one_session_only(self):
        other = self.new_session()
        self.daemon.run("kept = 1", other)
        session = self.new_session()
        self.daemon.run("kept = 1", session)
        self.daemon.run(self.SIGNAL.replace("NUMBER", "SIGKILL"), session)
        answer = self.daemon.request("GET", f"/v1/sessions/{session}/vars/go")  # the kill may come before its answer
        self.assertIn(answer.status, (200, 409, 503), answer)
        wait_for(lambda: self.daemon.state(session)["state"] == "lost", what="the loss")
        self.expect_error(self.daemon.request("POST", f"/v1/sessions/{session}/run", {"code": "1"}), 409, "conflict")
        self.assertEqual(self.daemon.value("kept", other), 1)

    def test_hooks_at_a_fork_can_do_no_more_than_end_it(self):
        for hook in ("after_in_child=lambda: os._exit(1)", "after_in_parent=lambda: os._exit(1)",
                     "before=lambda: os._exit(1)", "after_in_child=lambda: os.kill(os.getppid(), 9)"):
            with self.subTest(hook=hook):
                session = self.new_session()
                self.daemon.run("x = 5", session)
                self.daemon.run(f"import os; x = 6; os.register_at_fork({hook})", session, kind=None)
                for method, what, body in (("GET", "vars", None), ("POST", "checkpoints", {}), ("POST", "fork", {})):
                    answer = self.daemon.request(method, f"/v1/sessions/{session}/{what}", body)
                    self.assertIn(answer.status, (200, 201, 409, 503), answer)
                    answer.json  # pylint: disable=pointless-statement
                result = self.daemon.run("print(x)", session, kind=None)
                self.assertIn(result["stdout"] + result["state"], ("5\npreserved", "6\npreserved", "rolled_back"))

    def test_what_a_runner_says_of_blockers_cannot_break_the_result(self):
        for text in ("\1" * 40, "\1" * 85, "\1" * 255, '"},"state":"lost', "\\", "\x7f\U0001f600" * 60, "é" * 127):
            with self.subTest(text=text):
                session = self.new_session()
                done = DONE % json.dumps(text)
                result = self.daemon.run(f"import _vivarium, time\n_vivarium.send(5, 0, {done.encode()!r})\n"
                                         "time.sleep(60)", session)
                self.assertEqual(result["state"], "preserved")
                self.assertIn("skipped", result["checkpoint"])
                self.assertEqual(self.daemon.result(result["id"])["checkpoint"], result["checkpoint"])

    def test_events_that_are_too_large_are_little_work(self):
        """Each of these grows to six times its size, and is not kept. What they cost must end with what a run may keep."""
        before = cpu_seconds(self.daemon.serve_pid)
        result = self.daemon.run(
            "import _vivarium\n"
            "def show(text): _vivarium.send(3, 0, b'{\"type\":\"display\",\"data\":{\"a\":\"' + text + b'\"}}')\n"
            "for _ in range(12): show(b'\\x7f' * 15000000)\n"
            "show(b'large' * 20000)\n"
            "show(b'small')\n", runtime="bare")
        self.assertEqual((result["displays"], result["truncated"]["result"]), ([{"a": "small"}], True))
        self.assertLess(cpu_seconds(self.daemon.serve_pid) - before, 8)

    def test_whatever_a_run_did_to_its_files_is_taken_back(self):
        for code in ("os.mkdir('q'); open('q/r', 'w').close(); os.chmod('q', 0); os.chmod('/workspace', 0)",
                     "shutil.rmtree('dir'); os.symlink('/tmp', 'dir'); os.remove('a'); os.mkdir('a')",
                     "os.chmod('a', 0); os.chmod('dir', 0); os.mkfifo('new'); os.link('a', 'second')",
                     "[(os.mkdir('d'), os.chdir('d')) for _ in range(500)]"):
            with self.subTest(code=code):
                session = self.new_session()
                self.daemon.run("import os, shutil; open('a', 'w').write('one'); os.mkdir('dir')", session)
                result = self.daemon.run(f"{code}; os._exit(1)", session, kind="exit")
                self.assertEqual(result["state"], "rolled_back")
                found = "[sorted(os.listdir()), os.path.isdir('dir'), os.path.islink('dir'), open('a').read()]"
                self.assertEqual(self.daemon.value(found, session), [["a", "dir"], True, False, "one"])


class OthersTest(Case):
    """One caller's deeds do not disturb another."""

    ALICE, BOB = "a" * 43, "b" * 43

    def tokens(self):
        row = "  - {{name: {}, sha256: {}{}}}\n"
        return "tokens:\n" + "".join(
            row.format(name, hashlib.sha256(secret.encode()).hexdigest(), rest)
            for name, secret, rest in (("alice", self.ALICE, ""), ("bob", self.BOB, ", quotas: {sessions: 3}")))

    @staticmethod
    def bodies(api, row):
        """The names that a JSON body of this operation may have, or None where it has no body."""
        schema = row.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
        while schema is not None and "$ref" in schema:
            schema = api["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
        return None if schema is None else schema.get("properties", {})

    def test_every_operation_knows_only_what_is_the_callers_own(self):
        daemon = self.serve(BARE + self.tokens())
        alice, bob = daemon.as_token(self.ALICE), daemon.as_token(self.BOB)
        session = alice.session(runtime="bare")
        run = alice.run("x = 1", session)["id"]
        point = alice.ask("POST", f"/v1/sessions/{session}/checkpoints", {"name": "mine"})["id"]
        api = alice.ask("GET", "/openapi.json")
        given = {"code": "1", "checkpoint": point, "text": "x", "from": point, "to": point, "cursor": 0,
                 "version": 1}
        tried = 0
        for path, rows in api["paths"].items():
            for method, row in rows.items():
                if "{id}" not in path:
                    continue
                where = path.replace("{id}", run if "/runs/" in path else session)
                where = where.replace("{checkpoint}", point).replace("{path}", "f").replace("{name}", "x")
                names = self.bodies(api, row)
                body = None if names is None else {key: value for key, value in given.items() if key in names}
                where += f"?from={point}&to={point}" if where.endswith("/diff") else ""
                with self.subTest(method=method, path=path):
                    self.expect_error(bob.request(method.upper(), where, body), 404, "not_found")
                    self.expect_error(daemon.request(method.upper(), where, body), 401, "unauthorized")
                tried += 1
        self.assertGreater(tried, 15)
        self.assertEqual(alice.value("x", session), 1)

    def test_ids_of_others_inside_of_ones_own_are_not_there(self):
        """Bob has a session, a conversation and a run of his own, and names Alice's in them."""
        daemon = self.serve(BARE + self.tokens())
        alice, bob = daemon.as_token(self.ALICE), daemon.as_token(self.BOB)
        hers, his = (one.session(runtime="bare", name="same", keep=True) for one in (alice, bob))
        point = alice.ask("POST", f"/v1/sessions/{hers}/checkpoints", {"name": "mine"})["id"]
        alice.run("x = 1", hers)
        run = alice.start_run("print('on', flush=True)\nwhile True: pass", hers)
        with alice.events(run) as events:
            events.until_text("on")
        bob.run("y = 1", his)
        for method, path, body in (("POST", "rollback", {"checkpoint": point}), ("POST", "fork", {"checkpoint": point}),
                                   ("DELETE", f"checkpoints/{point}", None), ("GET", f"diff?from={point}", None),
                                   ("GET", f"diff?from={point}&to={point}", None), ("POST", "interrupt", {"run": run})):
            with self.subTest(path=path):
                answer = bob.request(method, f"/v1/sessions/{his}/{path}", body)
                self.assertIn(answer.status, (404, 409), answer)
        self.assertEqual(bob.ask("GET", f"/v1/runs?session={hers}")["runs"], [])
        again = bob.ask("POST", "/v1/sessions", {"runtime": "bare", "name": "same", "reuse": True})["id"]
        self.assertEqual(again, his)
        answer = bob.request("POST", "/v1/conversations", {"name": "c", "session": hers})
        if answer.status < 300:  # a document may name anything: that gives no power over it
            bob.ask("DELETE", "/v1/conversations/" + answer.json["id"])
        self.assertEqual({one["id"]: one["state"] for one in alice.ask("GET", "/v1/runs")["runs"]}[run], "running")
        alice.ask("DELETE", f"/v1/runs/{run}")
        self.assertEqual(alice.value("x", hers), 1)
        self.assertIn(point, [one["id"] for one in alice.ask("GET", f"/v1/sessions/{hers}/checkpoints")["checkpoints"]])
        for one, session in ((alice, hers), (bob, his)):
            one.ask("DELETE", f"/v1/sessions/{session}")

    def test_branches_count_as_sessions(self):
        daemon = self.serve(BARE + self.tokens())
        bob = daemon.as_token(self.BOB)
        session = bob.session(runtime="bare")
        self.expect_error(bob.request("POST", f"/v1/sessions/{session}/fork", {"n": 3}), 429, "busy")
        self.assertEqual(len(bob.ask("POST", f"/v1/sessions/{session}/fork", {"n": 2})["sessions"]), 2)
        self.expect_error(bob.request("POST", f"/v1/sessions/{session}/fork", {"n": 1}), 429, "busy")

    def test_one_run_does_not_push_the_others_off_the_disk(self):
        daemon = self.serve(BARE)
        first = daemon.run("print('first')")["id"]
        daemon.run(f"import _vivarium\nevent = {DISPLAY}\nfor _ in range(30):\n    _vivarium.send(3, 0, event)",
                   kind=None)
        journal = daemon.path("state", "journal")
        size = sum(os.stat(os.path.join(journal, name)).st_size for name in os.listdir(journal))
        self.assertLess(size, 256 * MIB)
        self.assertEqual(daemon.result(first)["stdout"], "first\n")


LOCKS = """
import fcntl, os
def lock_all():
    with open('/workspace/locked', 'w') as file:
        for offset in range(0, 1 << 22, 2):
            fcntl.lockf(file, fcntl.LOCK_EX, 1, offset)
"""


class LocksTest(DaemonCase):
    """File locks are memory that no limit counts: whoever takes too many of them is ended."""

    CONFIG = BARE

    def test_a_run_is_ended_and_the_session_goes_on(self):
        session = self.new_session()
        self.daemon.run(LOCKS + "x = 41", session)
        result = self.daemon.run("x = 0; lock_all()", session, kind="memory")
        self.assertEqual((result["verdict"]["limit"], result["verdict"]["by"]), ("locks", "supervisor"))
        self.assertEqual(self.daemon.value("x", session), 41)

    def test_what_a_run_left_behind_is_ended_with_its_sandbox(self):
        session = self.new_session()
        self.daemon.run(LOCKS + "if os.fork() == 0:\n    os.setsid()\n    lock_all()\n    os._exit(0)", session)
        wait_for(lambda: self.daemon.ask("GET", f"/v1/sessions/{session}")["state"] == "lost", what="the end of its sandbox")

    def test_a_database_takes_few(self):
        code = "import sqlite3\nfor n in range(50):\n    with sqlite3.connect(f'/workspace/{n}.db') as base:\n"
        result = self.daemon.run(code + "        base.execute('create table t(x)'); kept = base")
        self.assertEqual(result["verdict"]["kind"], "ok")


class FolderTest(Case):
    """Root makes folders and sockets for somebody else: what that one put there leads nowhere."""

    def test_a_link_in_place_of_a_folder_is_not_followed(self):
        for key in ("runtime_dir", "state_dir") if os.geteuid() == 0 else ("runtime_dir",):
            with self.subTest(key=key):
                daemon = self.serve(BARE, start=False)
                target = daemon.path("target")
                os.mkdir(target)
                os.symlink(target, daemon.path("link"))
                daemon.write_config(f"{BARE}{key}: {daemon.path('link')}\n")
                process = daemon.spawn()
                self.addCleanup(process.kill)
                self.assertNotEqual(process.wait(20), 0)
                self.assertEqual(os.stat(target).st_uid, os.geteuid())
                self.assertEqual(os.listdir(target), [])

    def test_the_sockets_are_for_one_user(self):
        daemon = self.serve(BARE)
        owner = os.stat(f"/proc/{daemon.serve_pid}").st_uid
        folder = os.stat(daemon.path("run"))
        self.assertEqual((folder.st_uid, folder.st_mode & 0o777), (owner, 0o700))
        launch = os.stat(daemon.path("run", "launch.sock"))
        self.assertEqual((launch.st_uid, launch.st_mode & 0o777), (owner, 0o600))
