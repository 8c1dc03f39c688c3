# SPDX-License-Identifier: Apache-2.0
"""Agentrail's tools over HTTP: texts, details, files that stay, and what goes on in the background."""

import concurrent.futures
import hashlib
import json
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "api"))

from daemon import Daemon, has_freezer, wait_for  # noqa: E402

HOME = "/workspace/.deep-research"
ARTIFACTS = HOME + "/artifacts"
MIB = 1 << 20


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon("dialects: {agentrail: {enabled: true}}\n")
        cls.addClassCleanup(cls.daemon.stop)

    def setUp(self):
        self.session = self.id().rsplit(".", 1)[1][-100:]
        self.addCleanup(self.drop)

    def drop(self):
        for session in self.daemon.ask("GET", "/v1/sessions")["sessions"]:
            self.daemon.request("DELETE", f"/v1/sessions/{session['id']}")

    def post(self, name, body, status=200):
        answer = self.daemon.request("POST", f"/tools/{name}", body if isinstance(body, bytes) else json.dumps(body).encode())
        self.assertEqual(answer.status, status, answer)
        return answer.json

    def call(self, tool, **body):
        """The text and the details of a call in this test's session."""
        answer = self.post(tool, {"session_id": self.session, **body})
        self.assertEqual(set(answer) - {"isError"}, {"content", "details", "session_id"})
        self.assertEqual(len(answer["content"]), 1)
        self.assertEqual(answer["content"][0]["type"], "text")
        self.is_error = answer.get("isError", False)
        self.session_id = answer["session_id"]
        return answer["content"][0]["text"], answer["details"]

    def python(self, code, **more):
        return self.call("Python", code=code, **more)

    def bash(self, command, **more):
        return self.call("Bash", command=command, **more)


class Python(Case):
    def test_the_text_and_the_details(self):
        text, details = self.python("import sys\nprint('  out ')\nsys.stderr.write(' err\\n\\n')")
        self.assertEqual(text, "out\n[stderr]\nerr\n\n[exit code: 0]")
        self.assertEqual(set(details), {"exitCode", "stdout", "stderr", "timedOut", "scriptPath", "outputFiles"})
        self.assertEqual((details["stdout"], details["stderr"]), ("  out \n", " err\n\n"))
        self.assertEqual((details["exitCode"], details["timedOut"], details["outputFiles"]), (0, False, []))

    def test_no_output_says_so(self):
        self.assertEqual(self.python("pass")[0], "(no output)\n\n[exit code: 0]")
        self.assertEqual(self.python("print('\\n \\u00a0\\t')")[0], "(no output)\n\n[exit code: 0]")

    def test_only_stderr(self):
        self.assertEqual(self.python("import sys; sys.stderr.write('e')")[0], "[stderr]\ne\n\n[exit code: 0]")

    def test_an_exit_code_is_no_error_of_the_tool(self):
        text, details = self.python("print(1)\nimport sys\nsys.exit(3)")
        self.assertEqual((text, details["exitCode"], self.is_error), ("1\n\n[exit code: 3]", 3, False))
        text, details = self.python("1/0")
        self.assertIn("ZeroDivisionError", details["stderr"])
        self.assertTrue(text.endswith("\n\n[exit code: 1]"), text)

    def test_a_script_is_written_run_and_removed(self):
        text, details = self.python("import sys, os\nprint(__file__)\nprint(__name__, sys.argv == [__file__])\n"
                                    "print(open(__file__).read()[:10])")
        self.assertRegex(details["scriptPath"], rf"^{re.escape(HOME)}/tmp/run-\d{{13}}-[0-9a-z]{{6}}\.py$")
        self.assertEqual(text, f"{details['scriptPath']}\n__main__ True\nimport sys\n\n[exit code: 0]")
        self.assertEqual(self.bash(f"ls -A {HOME}/tmp")[1]["stdout"], "")

    def test_a_script_is_removed_after_a_failure_too(self):
        self.python("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)")
        self.python("import time\ntime.sleep(60)", timeout=200)
        self.assertEqual(self.bash(f"ls -A {HOME}/tmp; ls -d {ARTIFACTS}")[1]["stdout"], ARTIFACTS + "\n")

    def test_files_stay_and_variables_do_not(self):
        self.python("x = 1\nopen('note.txt', 'w').write('kept')")
        text, _ = self.python("print(open('/workspace/note.txt').read(), 'x' in globals())")
        self.assertEqual(text, "kept False\n\n[exit code: 0]")

    def test_sessions_do_not_see_each_other(self):
        self.python("open('note.txt', 'w').write('mine')")
        answer = self.post("Python", {"code": "import os; print(os.listdir('.'))", "session_id": self.session + "2"})
        self.assertEqual(answer["details"]["stdout"], "['.deep-research']\n")

    def test_without_a_session_each_call_is_fresh_and_can_be_gone_on_with(self):
        first = self.post("Python", {"code": "open('a', 'w').write('1')"})
        second = self.post("Python", {"code": "import os; print(os.path.exists('a'))"})
        self.assertEqual(second["details"]["stdout"], "False\n")
        self.assertNotEqual(first["session_id"], second["session_id"])
        again = self.post("Python", {"code": "print(open('a').read())", "session_id": first["session_id"]})
        self.assertEqual((again["details"]["stdout"], again["session_id"]), ("1\n", first["session_id"]))

    def test_packages_are_there(self):
        text, _ = self.python("import pandas, matplotlib\nprint(pandas.DataFrame({'a': [1, 2]}).a.sum())")
        self.assertEqual(text, "3\n\n[exit code: 0]")

    # ---- artifacts ----

    def test_artifacts_are_told(self):
        text, details = self.python(
            f"import os\nos.makedirs('{ARTIFACTS}/sub')\nopen('{ARTIFACTS}/b.csv', 'w').write('x')\n"
            f"open('{ARTIFACTS}/sub/a.png', 'w').write('x')\nopen('elsewhere', 'w').write('x')\n"
            f"os.symlink('/etc/passwd', '{ARTIFACTS}/link')\nos.mkfifo('{ARTIFACTS}/pipe')")
        self.assertEqual(details["outputFiles"], [f"{ARTIFACTS}/b.csv", f"{ARTIFACTS}/sub/a.png"])
        self.assertEqual(text, f"(no output)\n\n[exit code: 0]\nGenerated files:\n- {ARTIFACTS}/b.csv\n- {ARTIFACTS}/sub/a.png")
        self.assertEqual(self.python("print(1)")[1]["outputFiles"], [])
        _, details = self.python(f"open('{ARTIFACTS}/b.csv', 'a').write('more')")
        self.assertEqual(details["outputFiles"], [f"{ARTIFACTS}/b.csv"])

    def test_expected_files_are_told_made_or_not_and_once(self):
        text, details = self.python(f"open('{ARTIFACTS}/a.txt', 'w').write('x')",
                                    expected_output_files=["/workspace/never.png", f"{ARTIFACTS}/a.txt",
                                                           "/workspace/never.png"])
        self.assertEqual(details["outputFiles"], [f"{ARTIFACTS}/a.txt", "/workspace/never.png"])
        self.assertTrue(text.endswith(f"Generated files:\n- {ARTIFACTS}/a.txt\n- /workspace/never.png"))

    def test_names_of_artifacts_are_only_names(self):
        _, details = self.python(f"open('{ARTIFACTS}/\\u00e4 \"q\\\\n.txt', 'w').write('x')\n"
                                 f"open(b'{ARTIFACTS}/bad\\xff', 'w').write('x')")
        self.assertIn(f"{ARTIFACTS}/\u00e4 \"q\\n.txt", details["outputFiles"])
        self.assertEqual(len(details["outputFiles"]), 2)

    # ---- paths ----

    def test_working_directory(self):
        self.bash("mkdir -p /workspace/proj")
        self.assertEqual(self.python("import os; print(os.getcwd())")[1]["stdout"], "/workspace\n")
        for path in ("/workspace/proj", "/workspace/./proj/", "/workspace/x/../proj", "//workspace//proj"):
            self.assertEqual(self.python("import os; print(os.getcwd())", working_directory=path)[1]["stdout"],
                             "/workspace/proj\n", path)

    def test_a_path_elsewhere_is_refused_and_nothing_runs(self):
        for path in ("/workspaceX", "/workspace/../etc", "/etc", "workspace", "", "/", "/workspace/../workspacex",
                     "/workspace/a/../../..", "/./workspace/../tmp"):
            answer = self.post("Python", {"code": "open('/workspace/ran', 'w')", "working_directory": path,
                                          "session_id": self.session}, 400)
            self.assertEqual(answer, {"error": "working_directory must start with /workspace"}, path)
            answer = self.post("Python", {"code": "open('/workspace/ran', 'w')", "session_id": self.session,
                                          "expected_output_files": ["/workspace/ok", path]}, 400)
            self.assertEqual(answer, {"error": "expected_output_files must start with /workspace"}, path)
        self.assertEqual(self.bash("ls -A")[1]["stdout"], "")

    def test_a_folder_that_is_not_there(self):
        text, details = self.python("print(1)", working_directory="/workspace/none")
        self.assertTrue(self.is_error)
        self.assertEqual(details, {"error": text})
        self.assertIn("/workspace/none", text)

    # ---- limits ----

    def test_a_timeout_keeps_what_was_printed_and_written(self):
        text, details = self.python("import time\nopen('half', 'w').write('x')\nprint('so far')\ntime.sleep(60)",
                                    timeout=500)
        self.assertEqual(text, "so far\n\n[exit code: 143]\n[timed out]")
        self.assertEqual((details["exitCode"], details["timedOut"], details["stdout"]), (143, True, "so far\n"))
        self.assertEqual(self.bash("cat half")[1]["stdout"], "x")

    def test_who_ignores_sigterm_is_killed(self):
        _, details = self.python("import signal, time, subprocess\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
                                 "subprocess.Popen(['sleep', '77'])\nprint('deaf')\ntime.sleep(60)", timeout=500)
        self.assertEqual((details["exitCode"], details["timedOut"], details["stdout"]), (137, True, "deaf\n"))
        self.assertEqual(self.bash("pgrep -x sleep || true")[1]["stdout"], "")  # nobody outlives it

    def test_an_exit_at_sigterm_is_its_own(self):
        _, details = self.python("import signal, sys, time\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(9))\n"
                                 "time.sleep(60)", timeout=300)
        self.assertEqual((details["exitCode"], details["timedOut"]), (9, True))

    def test_output_is_cut_at_a_mebibyte_each(self):
        text, details = self.python(f"import sys\nsys.stdout.write('a' * {2 * MIB})\nsys.stderr.write('b' * {2 * MIB})")
        for name, letter in (("stdout", "a"), ("stderr", "b")):
            self.assertEqual(details[name], letter * MIB + "\n[output truncated]")
        self.assertIn("a\n[output truncated]\n[stderr]\nb", text)
        self.assertEqual(details["exitCode"], 0)

    def test_too_much_memory_ends_the_script_and_keeps_the_files(self):
        self.python("open('kept', 'w').write('x')")
        text, details = self.python("x = [bytearray(1 << 20) for _ in range(9000)]")
        self.assertEqual(details["exitCode"], 137)
        self.assertIn("out of memory", details["stderr"])
        self.assertIn("[exit code: 137]", text)
        self.assertEqual(self.bash("cat kept")[1]["stdout"], "x")

    def test_concurrent_first_calls_share_one_session(self):
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            answers = list(pool.map(lambda n: self.post("Python", {"code": f"print({n})", "session_id": "shared"}),
                                    range(6)))
        self.assertEqual([answer["details"]["stdout"] for answer in answers], [f"{n}\n" for n in range(6)])
        self.assertEqual(len({answer["session_id"] for answer in answers}), 1)
        self.assertEqual(len(self.daemon.ask("GET", "/v1/sessions")["sessions"]), 1)

    def test_a_session_has_its_policy_and_its_rest(self):
        self.python("pass")
        session = self.daemon.ask("GET", f"/v1/sessions/{self.session_id}")
        self.assertEqual((session["policy"], session["idle_ms"], session["name"]),
                         ("workspace", 1800000, f"sandbox-{self.session}"))

    def test_a_client_that_leaves_ends_its_script(self):
        self.python("pass")
        connection = self.daemon.connection()
        connection.request("POST", "/tools/Python", json.dumps(
            {"code": "import time\ntime.sleep(600)", "timeout": 300000, "session_id": self.session}))
        wait_for(lambda: self.daemon.ask("GET", f"/v1/sessions/{self.session_id}")["state"] == "running", what="the run")
        connection.close()
        wait_for(lambda: self.daemon.ask("GET", f"/v1/sessions/{self.session_id}")["state"] != "running", what="its end")
        self.assertEqual(self.python("print('alive')")[1]["stdout"], "alive\n")

    def test_a_run_that_is_cancelled_elsewhere_says_so(self):
        self.python("pass")
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            going = pool.submit(self.post, "Python", {"code": "import time\ntime.sleep(600)", "timeout": 300000,
                                                      "session_id": self.session}, 409)

            def running():
                return self.daemon.ask("GET", f"/v1/sessions/{self.session_id}").get("run")

            self.daemon.ask("DELETE", f"/v1/runs/{wait_for(running, what='the run')}")
            self.assertEqual(going.result(), {"error": "Sandbox command aborted"})

    def test_wrong_arguments_are_named(self):
        cases = [({}, "code"), ({"code": 1}, "code"), ({"code": None}, "code"), ({"code": "1", "timeout": 0}, "timeout"),
                 ({"code": "1", "timeout": -5}, "timeout"), ({"code": "1", "timeout": "9"}, "timeout"),
                 ({"code": "1", "timeout": 1.5}, "timeout"), ({"code": "1", "timeout": 1e300}, "timeout"),
                 ({"code": "1", "working_directory": 7}, "working_directory"),
                 ({"code": "1", "expected_output_files": "/workspace/a"}, "expected_output_files"),
                 ({"code": "1", "expected_output_files": [1]}, "expected_output_files"),
                 ({"code": "1", "session_id": {}}, "session_id"), ({"code": "1", "session_id": "x" * 300}, "session_id")]
        for body, field in cases:
            self.assertTrue(self.post("Python", body, 400)["error"].startswith(field), body)
        self.assertIn("at most 180 bytes", self.post("Python", {"code": "1", "session_id": "x" * 300}, 400)["error"])
        for mode in ("", "ount", "content|count", "all"):
            answer = self.post("Grep", {"pattern": "x", "path": "/workspace", "output_mode": mode}, 400)
            self.assertTrue(answer["error"].startswith("output_mode must be content|"), answer)
        for body in (b"", b"[]", b"null"):
            self.post("Python", body, 400)
        for body in (b"{", b"\xff", b"[" * 9000):
            self.assertEqual(set(self.post("Python", body, 400)), {"error"})
        self.post("Nothing", {}, 404)
        self.post("Python/x", {}, 404)
        self.assertEqual(self.daemon.request("GET", "/tools/Python").status, 405)


class Bash(Case):
    def test_what_ends_in_time_is_in_the_foreground(self):
        text, details = self.bash("echo out; echo err >&2; exit 4")
        self.assertEqual(text, "out\n\n[stderr]\nerr\n\n\n[exit code: 4]")
        self.assertEqual(details, {"mode": "foreground", "exit_code": 4, "stdout": "out\n", "stderr": "err\n"})
        self.assertEqual(self.bash("true")[0], "(no output)\n\n[exit code: 0]")

    def test_what_takes_longer_goes_on_in_the_background(self):
        self.bash("mkfifo gate")
        text, details = self.bash("echo first; read line < gate; echo $line > after", timeout=300)
        self.assertEqual(details, {"mode": "background", "stdout": "first\n", "stderr": ""})
        self.assertEqual(text, "Process moved to background (still running in sandbox)\nfirst\n")
        self.assertEqual(self.python("open('gate', 'w').write('go\\n')")[1]["exitCode"], 0)
        wait_for(lambda: self.bash("cat after 2>/dev/null || true")[1]["stdout"] == "go\n", what="the background process")

    def test_zero_is_the_background_at_once(self):
        text, details = self.bash("sleep 600", timeout=0)
        self.assertEqual(details, {"mode": "background", "stdout": "", "stderr": ""})
        self.assertEqual(text, "Process moved to background (still running in sandbox)")
        self.assertNotEqual(self.bash("pgrep -x sleep")[1]["stdout"], "")

    def test_a_background_process_ends_with_its_session(self):
        self.bash("sleep 600", timeout=0)
        self.daemon.request("DELETE", f"/v1/sessions/{self.session_id}")
        self.assertEqual(self.bash("pgrep -x sleep || echo none")[1]["stdout"], "none\n")

    def test_output_is_cut(self):
        _, details = self.bash(f"head -c {3 * MIB} /dev/zero | tr '\\0' x")
        self.assertEqual(details["stdout"], "x" * MIB + "\n[output truncated]")

    def test_paths_are_checked_here_too(self):
        self.assertEqual(self.post("Bash", {"command": "pwd", "working_directory": "/etc"}, 400),
                         {"error": "working_directory must start with /workspace"})
        self.bash("mkdir d")
        self.assertEqual(self.bash("pwd", working_directory="/workspace/d")[1]["stdout"], "/workspace/d\n")


class Files(Case):
    def test_write_read_edit(self):
        text, details = self.call("Write", file_path="/workspace/d/a.txt", content="one\ntwo\n\u00e4")
        self.assertEqual((text, details), ("Successfully wrote 10 bytes to /workspace/d/a.txt", {"bytes": 10}))
        text, details = self.call("Read", file_path="/workspace/d/a.txt")
        self.assertEqual(text, "     1|one\n     2|two\n     3|\u00e4")
        self.assertEqual(details, {"totalLines": 3, "startLine": 1, "endLine": 3, "lines": ["one", "two", "\u00e4"]})
        self.assertEqual(self.call("Read", file_path="/workspace/d/a.txt", offset=2, limit=1)[0], "     2|two")
        text, details = self.call("Edit", file_path="/workspace/d/a.txt", old_string="two", new_string="2")
        self.assertEqual((text, details["replacedCount"]), ("Successfully replaced 1 occurrence(s) in /workspace/d/a.txt", 1))
        self.assertEqual(self.bash("cat d/a.txt")[1]["stdout"], "one\n2\n\u00e4")

    def test_an_edit_must_be_clear(self):
        self.call("Write", file_path="/workspace/a", content="x x")
        text, _ = self.call("Edit", file_path="/workspace/a", old_string="x", new_string="y")
        self.assertIn("not unique (found 2", text)
        self.assertTrue(self.is_error)
        text, _ = self.call("Edit", file_path="/workspace/a", old_string="z", new_string="y")
        self.assertIn("not found", text)
        self.call("Edit", file_path="/workspace/a", old_string="x", new_string="y", replace_all=True)
        self.assertEqual(self.bash("cat a")[1]["stdout"], "y y")

    def test_grep_and_glob(self):
        for name, content in (("a.py", "import os\nprint(1)"), ("sub/b.py", "IMPORT"), ("c.md", "import"), (".h.py", "import")):
            self.call("Write", file_path=f"/workspace/{name}", content=content)
        self.assertEqual(self.call("Grep", pattern="^import")[1]["matches"], ["/workspace/a.py", "/workspace/c.md"])
        self.assertEqual(self.call("Grep", pattern="import", type="py", case_insensitive=True, output_mode="content")[0],
                         "/workspace/a.py:1:import os\n/workspace/sub/b.py:1:IMPORT")
        self.assertEqual(self.call("Grep", pattern="os.print", glob="*.py", multiline=True, output_mode="count")[0],
                         "/workspace/a.py:1")
        self.assertEqual(self.call("Grep", pattern="nothing")[0], "(no matches)")
        self.assertEqual(self.call("Glob", pattern="**/*.py")[1]["matches"], ["/workspace/a.py", "/workspace/sub/b.py"])
        self.assertEqual(self.call("Glob", pattern="*.{md,txt}")[0], "/workspace/c.md")
        self.assertIn("regular expression", self.call("Grep", pattern="(")[0])

    def test_paths_outside_are_refused(self):
        for path in ("/etc/passwd", "/workspace/../etc/passwd", "/workspaceX/a", "a.txt", "/proc/self/environ"):
            for tool, more in (("Read", {}), ("Write", {"content": "x"}), ("Edit", {"old_string": "a", "new_string": "b"})):
                text, details = self.call(tool, file_path=path, **more)
                self.assertEqual(text, f"Path '{path}' is outside the sandbox. All paths must start with /workspace/ or /skills/.")
                self.assertEqual((details, self.is_error), ({"error": text}, True))
        self.assertTrue(self.call("Grep", pattern="x", path="/etc")[0].startswith("Path '/etc' is outside"))

    def test_what_is_not_there_is_said(self):
        self.assertIn("No such file", self.call("Read", file_path="/workspace/none")[0])
        self.call("Write", file_path="/workspace/empty", content="")
        self.assertIn("empty contents", self.call("Read", file_path="/workspace/empty")[0])
        self.assertIn("Is a directory", self.call("Read", file_path="/workspace")[0])


class OwnDaemon(unittest.TestCase):
    def test_the_configs_idle_time_is_the_most_that_a_session_gets(self):
        for most, own, want in ((60000, 1800000, 60000), (60000, 20000, 20000)):
            config = f"sessions: {{idle_ms: {most}}}\ndialects: {{agentrail: {{enabled: true, idle_ms: {own}}}}}\n"
            with Daemon(config) as daemon:
                answer = daemon.request("POST", "/tools/Python", {"code": "print(1)", "session_id": "s"})
                self.assertEqual((answer.status, answer.json["details"]["stdout"]), (200, "1\n"), answer)
                (session,) = daemon.ask("GET", "/v1/sessions")["sessions"]
                self.assertEqual(session["idle_ms"], want)

    def test_a_session_is_found_by_its_name_after_a_crash(self):
        with Daemon("dialects: {agentrail: {enabled: true}}\n") as daemon:
            body = {"session_id": "mine", "command": "echo kept > a; cat a"}
            first = daemon.ask("POST", "/tools/Bash", body)
            daemon.restart()
            again = daemon.ask("POST", "/tools/Bash", {"session_id": "mine", "command": "cat a"})
            self.assertEqual((again["details"]["stdout"], again["session_id"]), ("kept\n", first["session_id"]))

    def test_one_with_work_in_the_background_is_not_frozen(self):
        with Daemon("dialects: {agentrail: {enabled: true}}\nsessions: {freeze_ms: 200}\n") as daemon:
            works = daemon.ask("POST", "/tools/Bash", {"command": "while :; do date +%N > tick; done", "timeout": 0})["session_id"]
            rests = daemon.session()  # younger than the other, so frozen after it, were that to be
            daemon.run("1", rests)
            if not has_freezer(daemon):
                self.skipTest("needs root: an ordinary user has no freezer here")
            wait_for(lambda: daemon.ask("GET", f"/v1/sessions/{rests}")["state"] == "frozen", what="the freezing")
            self.assertEqual(daemon.ask("GET", f"/v1/sessions/{works}")["state"], "idle")


class Reuse(Case):
    def make(self, status, **body):
        return self.daemon.ask("POST", "/v1/sessions", body, status=status)

    def test_a_session_of_that_name_is_the_answer(self):
        first = self.make(201, name="one", reuse=True)
        self.assertEqual(self.make(200, name="one", reuse=True)["id"], first["id"])
        self.assertEqual(self.make(200, name="one", reuse=True, policy="default")["id"], first["id"])
        others = [self.make(201, name="one")["id"], self.make(201, name="two", reuse=True)["id"],
                  self.make(201, reuse=True)["id"], self.make(201, name="one", reuse=True, policy="workspace")["id"]]
        self.assertEqual(len({first["id"], *others}), 5)

    def test_one_that_is_gone_is_made_again(self):
        first = self.make(201, name="gone", reuse=True)["id"]
        self.daemon.request("DELETE", f"/v1/sessions/{first}")
        self.assertNotEqual(self.make(201, name="gone", reuse=True)["id"], first)


class Tokens(unittest.TestCase):
    def test_a_call_that_is_refused_leaves_no_session_that_nobody_knows(self):
        secret = "ann" * 20
        token = f"{{name: ann, sha256: {hashlib.sha256(secret.encode()).hexdigest()}, quotas: {{concurrent_runs: 1, sessions: 1}}}}"
        with Daemon(f"dialects: {{agentrail: {{enabled: true}}}}\ntokens: [{token}]\n") as daemon:
            ann = daemon.as_token(secret)
            run = ann.ask("POST", "/v1/run", {"code": "import time\ntime.sleep(600)", "timeout_ms": 110000, "detach": True},
                          status=202)["id"]
            for _ in range(2):
                answer = ann.request("POST", "/tools/Python", {"code": "1"})
                self.assertEqual((answer.status, answer.headers["Retry-After"]), (429, "1"), answer)
                self.assertIn("limit of concurrent runs", answer.json["error"])
                self.assertEqual(ann.ask("GET", "/v1/sessions")["sessions"], [])
            ann.ask("POST", "/v1/sessions", {}, status=201)
            answer = ann.request("POST", "/tools/Python", {"code": "1"})
            self.assertEqual((answer.status, answer.headers["Retry-After"]), (429, "30"), answer)
            self.assertIn("delete one, or wait until one has been idle", answer.json["error"])
            ann.ask("DELETE", f"/v1/runs/{run}", status=(200, 202, 204))

    def test_a_name_of_another_token_is_another_session(self):
        secrets = {name: name * 20 for name in ("ann", "bob")}
        tokens = ", ".join(f"{{name: {name}, sha256: {hashlib.sha256(secret.encode()).hexdigest()}}}"
                           for name, secret in secrets.items())
        with Daemon(f"dialects: {{agentrail: {{enabled: true}}}}\ntokens: [{tokens}]\n") as daemon:
            ann, bob = (daemon.as_token(secrets[name]) for name in ("ann", "bob"))
            body = json.dumps({"code": "open('mine', 'x')", "session_id": "same"}).encode()
            first = ann.request("POST", "/tools/Python", body).json
            self.assertEqual(first["details"]["exitCode"], 0)
            self.assertEqual(bob.request("POST", "/tools/Python", body).json["details"]["exitCode"], 0)
            stolen = json.dumps({"code": "print(1)", "session_id": first["session_id"]}).encode()
            self.assertEqual(bob.request("POST", "/tools/Python", stolen).status, 404)
            self.assertEqual(daemon.request("POST", "/tools/Python", body).status, 401)


if __name__ == "__main__":
    unittest.main()
