# SPDX-License-Identifier: Apache-2.0
"""Runs over HTTP: the result, the events and resuming them, inputs, limits, cancelling."""

import base64
import hashlib
import threading

from case import RESULT_KEYS, USAGE_KEYS, VERDICT_KEYS, DaemonCase

MIB = 1 << 20


class ResultTest(DaemonCase):
    """POST /v1/run answers with one object, whatever became of the code."""

    def test_has_every_member_of_the_contract(self):
        result = self.daemon.run("import sys\nprint('out')\nprint('err', file=sys.stderr)\n2 + 3")
        self.assertEqual(RESULT_KEYS - set(result), set())
        self.assertEqual(VERDICT_KEYS - set(result["verdict"]), set())
        self.assertEqual(USAGE_KEYS - set(result["usage"]), set())
        self.assertEqual((result["stdout"], result["stderr"]), ("out\n", "err\n"))
        self.assertEqual(result["result"], {"text/plain": "5", "application/json": 5})
        self.assertEqual((result["session"], result["state"], result["error"], result["table"]),
                         (None, "none", None, None))
        self.assertRegex(result["id"], "^run_[0-9a-z]+$")
        self.assertIn("seccomp", result["walls"])

    def test_a_run_that_fails_is_no_http_error(self):
        for code, kind, exit_code in (("1 / 0", "exception", 1), ("import sys; sys.exit(3)", "exit", 3),
                                      ("import os; os.kill(os.getpid(), 11)", "killed", 139),
                                      ("while True: pass", "timeout", 124)):
            with self.subTest(kind):
                result = self.daemon.run(code, kind=kind, timeout_ms=500)
                self.assertEqual(result["verdict"]["exit_code"], exit_code)

    def test_the_id_is_in_a_header_and_the_result_can_be_had_again(self):
        answer = self.daemon.request("POST", "/v1/run", {"code": "print('x')\n7"})
        self.assertEqual(answer.headers["Vivarium-Run"], answer.json["id"])
        again = self.daemon.ask("GET", f"/v1/runs/{answer.json['id']}")
        self.assertEqual(again, answer.json)

    def test_a_command_runs_in_a_shell(self):
        result = self.daemon.run(command="echo $((6 * 7)); exit 3", kind="exit")
        self.assertEqual((result["stdout"], result["verdict"]["exit_code"]), ("42\n", 3))

    def test_bytes_that_are_no_text_and_odd_text_come_through(self):
        result = self.daemon.run("import sys\nsys.stdout.buffer.write(b'a\\xff\\x00b')\nsys.stdout.flush()\n"
                                 "print('\\ud7ff\\U0001f600 \\u2028')")
        self.assertIn("\U0001f600 \u2028\n", result["stdout"])
        self.assertTrue(result["stdout"].startswith("a\ufffd\x00b"))

    def test_a_short_run_has_used_something(self):
        session = self.daemon.session(runtime="bare")
        self.addCleanup(self.daemon.request, "DELETE", f"/v1/sessions/{session}")
        for where in (session, None):
            with self.subTest(session=where):
                body = {} if where else {"runtime": "bare"}
                usages = [self.daemon.run("1", where, **body)["usage"] for _ in range(200)]
                self.assertGreater(min(usage["peak_memory"] for usage in usages), 1 << 20)
                self.assertGreater(min(usage["cpu_ms"] for usage in usages), 0)

    def test_the_peak_is_that_of_children_too(self):
        code = "import subprocess\nsubprocess.run(['python3', '-c', 'x = bytearray(80 << 20)'])"
        self.assertGreater(self.daemon.run(code)["usage"]["peak_memory"], 80 << 20)

    def test_values_that_json_cannot_hold_become_null_or_text(self):
        value = self.daemon.value("[float('nan'), float('inf'), {1, 1}, 1 + 2j, b'x']")
        self.assertEqual(value, [None, None, [1], "(1+2j)", "b'x'"])

    def test_ten_megabytes_of_code(self):
        code = f"x = '''{'y' * (10 * MIB)}'''\nlen(x)"
        self.assertEqual(self.daemon.value(code), 10 * MIB)


class InputTest(DaemonCase):
    """Inputs of a run."""

    CONFIG = ("policies:\n  tight: {base: default, memory: 64MiB, cpus: 0.5, pids: 16, disk: 8MiB, "
              "output: 4KiB, timeout: 2s, timeout_max: 3s}\n")

    def test_files_data_args_env_cwd_and_stdin(self):
        result = self.daemon.run(
            "import os\n[_args, data, open('in/a.txt').read(), open('b.bin', 'rb').read().hex(), "
            "os.environ['K'], os.getcwd(), input()]",
            args={"n": 1}, data={"columns": ["a"], "rows": [[1], [2]]}, env={"K": "v"}, stdin="line\n",
            files=[{"path": "in/a.txt", "text": "é"},
                   {"path": "b.bin", "base64": base64.b64encode(b"\0\xff").decode()}])
        value = result["result"]["application/json"]
        self.assertEqual(value[0], {"n": 1})
        self.assertEqual(value[2:], ["é", "00ff", "v", "/workspace", "line"])
        self.assertEqual(self.daemon.value("import os\nos.getcwd()"), "/workspace")
        self.assertEqual(self.daemon.run("import os\nos.getcwd()", cwd="/tmp")["result"]["application/json"],
                         "/tmp")

    def test_data_is_a_frame_where_there_is_pandas(self):
        body = {"data": {"columns": ["a", "b"], "rows": [[1, "x"], [2, "y"]]}, "runtime": "base"}
        self.assertEqual(self.daemon.run("int(df.a.sum())", **body)["result"]["application/json"], 3)

    def test_input_without_stdin_says_what_to_do(self):
        result = self.daemon.run("input()", kind="exception")
        self.assertEqual(result["error"]["type"], "EOFError")
        self.assertIn("stdin", result["verdict"]["remedy"] + result["error"]["message"])

    def test_live_stdin(self):
        run = self.daemon.start_run("print('name?', flush=True)\nprint('hello', input())\n"
                                    "import sys\nprint(len(sys.stdin.read()))", stdin="live")
        path = f"/v1/runs/{run}/stdin"
        with self.daemon.events(run) as events:
            events.until_text("name?")
            self.daemon.ask("POST", path, {"text": "Ada\n"})
            events.until_text("hello Ada")
            self.daemon.ask("POST", path, {"text": "rest", "eof": True})
            self.assertEqual(events.until("verdict")["verdict"]["kind"], "ok")
        self.assertTrue(self.daemon.result(run)["stdout"].endswith("4\n"))
        self.expect_error(self.daemon.request("POST", path, {"text": "x"}), 409, "conflict")

    def test_what_is_typed_is_an_event_where_that_is_asked_for(self):
        run = self.daemon.start_run("import sys\nfor line in sys.stdin: print(len(line), flush=True)", stdin="live")
        path = f"/v1/runs/{run}/stdin"
        with self.daemon.events(run) as events:
            events.until("started")
            self.daemon.ask("POST", path, {"text": "secret\n"})
            self.assertEqual((events.next() or {})["text"], "7\n")
            self.daemon.ask("POST", path, {"text": "Ada\u00e4\n", "echo": True})
            told = [events.next(), events.next()]
            self.assertEqual([(event["type"], event["text"]) for event in told], [("stdin", "Ada\u00e4\n"), ("stdout", "5\n")])
            for _ in range(20):  # the last ones are more than is told of one run
                self.daemon.ask("POST", path, {"text": "x" * 3999 + "\n", "echo": True})
                events.until_text("4000")
            self.daemon.ask("POST", path, {"eof": True, "echo": True})
            events.until("verdict")
        with self.daemon.events(run) as events:
            self.assertEqual([len(event["text"]) for event in events if event["type"] == "stdin"], [5] + [4000] * 16)
        self.assertNotIn("Ada", self.daemon.result(run)["stdout"])

    def test_stdin_of_a_run_that_has_none_is_refused(self):
        run = self.daemon.start_run("print('on', flush=True)\nwhile True: pass")
        with self.daemon.events(run) as events:
            events.until_text("on")
            answer = self.daemon.request("POST", f"/v1/runs/{run}/stdin", {"text": "x"})
            self.expect_error(answer, 409, "conflict")
            self.daemon.request("DELETE", f"/v1/runs/{run}")

    def test_expected_files_that_are_missing_are_told(self):
        result = self.daemon.run("open('a.txt', 'w').write('x')",
                                 expect_files=["/workspace/a.txt", "/workspace/b.txt"])
        self.assertEqual(result["missing"], ["/workspace/b.txt"])

    def test_new_files_are_listed_and_sent_when_asked(self):
        code = "open('a.txt', 'w').write('abc')\nimport os\nos.mkdir('d')\nopen('d/b.bin', 'wb').write(bytes(256))"
        for file in self.daemon.run(code)["files"]:
            self.assertNotIn("base64", file)
        files = {file["path"]: file for file in self.daemon.run(code, return_files=True)["files"]}
        self.assertEqual(set(files), {"/workspace/a.txt", "/workspace/d/b.bin"})
        self.assertEqual(base64.b64decode(files["/workspace/d/b.bin"]["base64"]), bytes(256))
        self.assertEqual(files["/workspace/a.txt"]["sha256"], hashlib.sha256(b"abc").hexdigest())

    def test_limits_narrow_the_policy(self):
        result = self.daemon.run("x = bytearray(200 << 20)", kind=None, limits={"memory": "32MiB"})
        self.assertIn(result["verdict"]["kind"], ("memory", "exception"))
        result = self.daemon.run("print('x' * 5000)", limits={"output": 1024})
        self.assertTrue(result["truncated"]["stdout"])
        self.assertEqual(len(result["stdout"]), 1024)

    def test_limits_above_the_policy_are_refused_by_name(self):
        for body, field in (({"timeout_ms": 3001}, "timeout_ms"), ({"limits": {"memory": "65MiB"}}, "limits.memory"),
                            ({"limits": {"cpus": 0.6}}, "limits.cpus"), ({"limits": {"pids": 17}}, "limits.pids"),
                            ({"limits": {"disk": "9MiB"}}, "limits.disk"),
                            ({"limits": {"output": "5KiB"}}, "limits.output")):
            with self.subTest(field):
                answer = self.daemon.request("POST", "/v1/run", {"code": "1", "policy": "tight", **body})
                self.expect_error(answer, 400, "bad_request", field)

    def test_the_guard_of_a_policy_refuses_before_anything_runs(self):
        result = self.daemon.run("print('ran')\nimport subprocess", kind="guard", policy="analysis")
        self.assertEqual((result["stdout"], result["verdict"]["exit_code"]), ("", 126))
        self.assertIn("subprocess", result["verdict"]["message"])
        self.assertEqual(self.daemon.run("import math\nmath.floor(1.5)", policy="analysis")["stdout"], "")


class EventTest(DaemonCase):
    """The log of a run: numbered, complete, to be read again from anywhere."""

    PRINTS = "import sys\nfor i in range(30):\n    print(i, flush=True)\nprint('e', file=sys.stderr)\n1"

    def read(self, run, after=0, follow=True):
        with self.daemon.events(run, after, follow) as events:
            return list(events)

    def test_a_stream_begins_with_started_and_ends_with_one_verdict(self):
        with self.daemon.stream("POST", "/v1/run", {"code": self.PRINTS}) as stream:
            run = stream.headers["Vivarium-Run"]
            events = list(stream)
        self.assertEqual(events[0]["type"], "started")
        self.assertEqual((events[0]["run"], events[0]["runtime"]), (run, "bare"))
        self.assertIn("backend", events[0])
        kinds = [event["type"] for event in events]
        self.assertEqual(kinds.count("verdict"), 1)
        last = events[-1]
        self.assertEqual(last["type"], "verdict")
        for member in ("verdict", "state", "usage", "walls", "truncated", "files"):
            self.assertIn(member, last)
        times = [event["t_ms"] for event in events]
        self.assertEqual(times, sorted(times))
        text = "".join(event["text"] for event in events if event["type"] == "stdout")
        self.assertEqual(text, "".join(f"{i}\n" for i in range(30)))

    def test_detach_answers_at_once_and_the_log_has_it_all(self):
        answer = self.daemon.request("POST", "/v1/run", {"code": "print(1)", "detach": True})
        self.assertEqual(answer.status, 202)
        run = answer.json["id"]
        self.assertEqual(self.daemon.result(run)["stdout"], "1\n")

    def test_can_be_resumed_from_every_number(self):
        run = self.daemon.run(self.PRINTS)["id"]
        every = self.read(run)
        for after in range(len(every) + 1):
            self.assertEqual(self.read(run, after), every[after:])
        self.assertEqual(self.read(run, len(every) + 5), [])

    def test_follow_false_ends_at_what_is_there(self):
        run = self.daemon.start_run("print('on', flush=True)\ninput()", stdin="live")
        with self.daemon.events(run) as events:
            events.until_text("on")
            there = self.read(run, follow=False)
            self.assertEqual([event["type"] for event in there], ["started", "stdout"])
            self.assertIsNone(self.daemon.ask("GET", f"/v1/runs/{run}")["verdict"])
            self.daemon.ask("POST", f"/v1/runs/{run}/stdin", {"text": "\n"})
            events.until("verdict")

    def test_two_readers_see_the_same(self):
        run = self.daemon.start_run("input()\n" + self.PRINTS, stdin="live")
        seen = [None, None]

        def follow(i):
            seen[i] = self.read(run)

        threads = [threading.Thread(target=follow, args=(i,)) for i in range(2)]
        for thread in threads:
            thread.start()
        with self.daemon.events(run) as events:
            events.until("started")
        self.daemon.ask("POST", f"/v1/runs/{run}/stdin", {"text": "\n"})
        for thread in threads:
            thread.join()
        self.assertEqual(seen[0], seen[1])
        self.assertEqual(seen[0][-1]["type"], "verdict")

    def test_a_client_that_goes_away_does_not_kill_its_run(self):
        with self.daemon.stream("POST", "/v1/run", {"code": "print('on', flush=True)\ninput()\nprint('end')",
                                                    "stdin": "live"}) as stream:
            run = stream.headers["Vivarium-Run"]
            stream.until_text("on")
            seen = stream.seq
        self.daemon.ask("POST", f"/v1/runs/{run}/stdin", {"text": "\n"})
        rest = self.read(run, seen)
        self.assertEqual("".join(event.get("text", "") for event in rest), "end\n")
        self.assertEqual(rest[-1]["verdict"]["kind"], "ok")

    def test_on_disconnect_cancel_asks_for_the_other(self):
        with self.daemon.stream("POST", "/v1/run?on_disconnect=cancel",
                                {"code": "print('on', flush=True)\nwhile True: pass"}) as stream:
            run = stream.headers["Vivarium-Run"]
            stream.until_text("on")
        self.assertEqual(self.daemon.result(run)["verdict"]["kind"], "cancelled")
        answer = self.daemon.request("POST", "/v1/run?on_disconnect=maybe", {"code": "1"})
        self.expect_error(answer, 400, "bad_request", "on_disconnect")

    def test_cancel(self):
        run = self.daemon.start_run("print('on', flush=True)\nwhile True: pass")
        with self.daemon.events(run) as events:
            events.until_text("on")
            self.assertEqual(self.daemon.request("DELETE", f"/v1/runs/{run}").status, 204)
            verdict = events.until("verdict")["verdict"]
        self.assertEqual((verdict["kind"], verdict["exit_code"]), ("cancelled", 143))
        self.assertEqual(self.daemon.request("DELETE", f"/v1/runs/{run}").status, 204)

    def test_the_list_has_the_latest_runs(self):
        run = self.daemon.run("1 / 0", kind="exception")["id"]
        row = self.daemon.ask("GET", "/v1/runs?limit=1")["runs"][0]
        self.assertEqual((row["id"], row["verdict"], row["session"]), (run, "exception", None))

    def test_an_unknown_run_is_not_found(self):
        for method, path in (("GET", ""), ("DELETE", ""), ("GET", "/events")):
            self.expect_error(self.daemon.request(method, f"/v1/runs/run_nothing{path}"), 404, "not_found")
        self.expect_error(self.daemon.request("POST", "/v1/runs/run_nothing/stdin", {"text": ""}), 404,
                          "not_found")
