# SPDX-License-Identifier: Apache-2.0
"""The remote backend against a sidecar that a test makes lie, stall, cut and die."""

import base64
import json
import unittest

from daemon import Daemon, wait_for
from sidecar import HEALTH, Sidecar, lines, says

STREAM, WHOLE = "/exec-python-stream", "/exec-python"
DONE = {"type": "done", "data": {"success": True, "exitCode": 0}}
NO_END = "Python execution was interrupted (no completion signal received)"
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()
MIB = 1 << 20
TIMEOUT_MS = 700  # what it may take beside the run itself


def out(text):
    return {"type": "stdout", "data": text}


class Case(unittest.TestCase):
    TOKEN = ""

    @classmethod
    def setUpClass(cls):
        cls.sidecar = Sidecar()
        cls.addClassCleanup(cls.sidecar.close)
        token = f", token: {cls.TOKEN}" if cls.TOKEN else ""
        cls.daemon = Daemon(f"backends:\n  pin: remote\n  remote: {{url: '{cls.sidecar.url}/', "
                            f"timeout_ms: {TIMEOUT_MS}{token}}}\n")
        cls.addClassCleanup(cls.daemon.stop)

    def setUp(self):
        self.sidecar.answers = {"/health": says(200, HEALTH)}
        self.sidecar.gate.clear()
        self.sidecar.seen.clear()

    def tearDown(self):
        self.sidecar.gate.set()

    def run_on(self, *events, kind="ok", code="1", **body):
        self.sidecar.on(STREAM, lines(*events))
        return self.daemon.run(code, kind=kind, timeout_ms=1000, **body)

    def fails(self, message, stdout="", code="1", **body):
        """A run that failed over there: told as that, with what came before."""
        result = self.daemon.run(code, kind="backend", **{"timeout_ms": 1000, **body})
        self.assertEqual((result["backend"], result["stdout"]), ("remote", stdout))
        self.assertEqual((result["verdict"]["by"], result["verdict"]["exit_code"]), ("supervisor", 125))
        self.assertIn(message, result["verdict"]["message"])
        return result


class Speaks(Case):
    TOKEN = "s3cret"

    def test_a_run_is_asked_for_as_a_sidecar_wants_it(self):
        data = {"columns": ["a"], "rows": [[1], [None]]}
        self.run_on(DONE, code="print('\u00e4')\n", data=data)
        (method, path, headers, body), = [call for call in self.sidecar.seen if call[1] != "/health"]
        self.assertEqual((method, path), ("POST", STREAM))
        self.assertEqual(json.loads(body), {"code": "print('\u00e4')\n", "data": data, "timeout": 1000})
        self.assertEqual(headers["Authorization"], "Bearer s3cret")
        self.assertEqual(headers["Accept"], "application/x-ndjson")
        self.assertNotIn("Accept-Encoding", headers)

    def test_events_become_a_result_of_the_usual_shape(self):
        spec = {"type": "bar", "data": [{"m": "x", "v": 1}], "categoryKey": "m", "valueKeys": ["v"]}
        table = {"columns": ["a"], "rows": [[1]]}
        result = self.run_on(out("one\n"), {"type": "chart", "data": {"base64": PNG, "mimeType": "image/png"}},
                             out("two"), {"type": "table", "data": table}, {"type": "recharts", "data": spec},
                             {"type": "news", "data": 1}, DONE)
        self.assertEqual(result["stdout"], "one\ntwo")
        self.assertEqual(result["charts"], [{"kind": "image", "mime": "image/png", "base64": PNG, "index": 0},
                                            {"kind": "spec", "spec": spec}])
        self.assertEqual((result["table"], result["backend"], result["walls"], result["walls_by"]),
                         (table, "remote", [], "remote"))
        self.assertEqual((result["limits"], result["verdict"]["by"]), (None, "remote"))
        self.assertEqual(set(result), set(self.daemon_result_keys()) | {"walls_by"})

    def daemon_result_keys(self):
        return ("id session verdict state stdout stderr truncated result error displays charts table files "
                "missing usage allowed backend runtime walls limits who").split()

    def test_events_are_passed_on_as_they_come(self):
        def answer(handler):
            handler.begin()
            handler.event(out("early\n"))
            self.sidecar.gate.wait(30)
            handler.event(DONE)
        self.sidecar.on(STREAM, answer)
        with self.daemon.stream("POST", "/v1/run", {"code": "1"}) as events:
            started = events.next()
            self.assertEqual((started["type"], started["backend"]), ("started", "remote"))
            self.assertEqual(events.next()["text"], "early\n")
            self.sidecar.gate.set()
            self.assertEqual(events.until("verdict")["verdict"]["kind"], "ok")

    def test_each_failure_of_the_code_has_its_verdict(self):
        for error, kind, code in (("ZeroDivisionError: division by zero", "exception", 1),
                                  ("Python execution timed out after 1000ms", "timeout", 124),
                                  ('Blocked import: "os" is not allowed', "guard", 126),
                                  ('Blocked builtin: "open()" is not allowed', "guard", 126),
                                  ("Output exceeded 1048576 byte limit", "output", 1),
                                  ("Execution failed: no room", "backend", 125)):
            result = self.run_on(out("a\n"), {"type": "error", "data": {"error": error, "output": "b"}}, kind=kind)
            self.assertEqual((result["stdout"], result["verdict"]["exit_code"]), ("a\nb", code), error)
            self.assertEqual((result["verdict"]["message"], result["verdict"]["by"]), (error, "remote"))
        result = self.run_on({"type": "error", "data": {"error": "my.Error: a: \"b\""}}, kind="exception")
        self.assertEqual((result["error"]["type"], result["error"]["message"]), ("my.Error", 'a: "b"'))

    def test_what_a_sidecar_cannot_take_is_said_and_not_dropped(self):
        for name, value in (("args", {"a": 1}), ("stdin", "x"), ("env", {"A": "b"}), ("cwd", "/tmp"),
                            ("files", [{"path": "a", "text": "b"}]), ("runtime", "base")):
            self.fails(f"a sidecar takes code and data, not {name}", **{name: value})
        self.assertEqual(self.sidecar.paths(), [])

    def test_sessions_and_live_input_stay_on_this_host(self):
        answer = self.daemon.request("POST", "/v1/sessions", {})
        self.assertEqual((answer.status, answer.error["kind"]), (501, "unsupported"))
        self.assertIn("it takes single runs", answer.error["message"])
        answer = self.daemon.request("POST", "/v1/run", {"code": "input()", "stdin": "live"})
        self.assertEqual(answer.status, 501)
        self.assertIn("its stdin is live", answer.error["message"])

    def test_explore_looks_at_the_folder_over_there(self):
        self.sidecar.on("/exec", says(200, {"stdout": "a.yml\n", "stderr": "w", "exitCode": 3}))
        answer = self.daemon.ask("POST", "/v1/explore", {"command": "ls 'x'", "cwd": "sub", "timeout_ms": 2000})
        self.assertEqual((answer["stdout"], answer["stderr"], answer["exit_code"]), ("a.yml\n", "w", 3))
        self.assertEqual((answer["verdict"]["kind"], answer["verdict"]["by"]), ("exit", "remote"))
        body = json.loads(self.sidecar.seen[-1][3])
        self.assertEqual(body, {"command": "ls 'x'", "cwd": "sub", "timeout": 2000})

    def test_explore_failures_are_the_backends(self):
        for answer, message in ((says(500, {"error": "x"}), "Sidecar error (HTTP 500): {\"error\": \"x\"}"),
                                (says(200, {"stdout": "x"}), "Sidecar returned an unexpected response format."),
                                (says(200, b"<html>"), "Sidecar returned an unexpected response format."),
                                (says(401, b"no"), "Sidecar error (HTTP 401): no"),
                                (lambda handler: handler.die(), "Sidecar unreachable at http://127.0.0.1:")):
            self.sidecar.on("/exec", answer)
            found = self.daemon.ask("POST", "/v1/explore", {"command": "ls"})
            self.assertEqual((found["verdict"]["kind"], found["verdict"]["by"]), ("backend", "supervisor"))
            self.assertIn(message, found["verdict"]["message"])
        self.sidecar.on("/exec", says(500, {"error": "Execution failed", "stdout": "", "stderr": "d", "exitCode": 1}))
        found = self.daemon.ask("POST", "/v1/explore", {"command": "ls"})
        self.assertEqual((found["exit_code"], found["stderr"]), (1, "d"))


class Fails(Case):
    # ---- the route without a stream ----

    def whole(self, answer, stream=says(404, {"error": "Not found"})):
        self.sidecar.on(STREAM, stream)
        self.sidecar.on(WHOLE, answer)

    def test_without_the_stream_the_other_route_is_asked_once(self):
        for stream in (says(404, b""), says(500, b"x"), says(429, b"x"), says(401, b"x"),
                       says(302, b"", headers=[("Location", "/elsewhere")])):
            self.sidecar.seen.clear()
            self.whole(says(200, {"success": True, "output": "hi", "rechartsCharts": [{"type": "pie"}, 3],
                                  "charts": [{"base64": PNG, "mimeType": "image/png"}, "]", {"base64": "<"}],
                                  "table": {"columns": [], "rows": []}}), stream)
            result = self.daemon.run("1")
            self.assertEqual((result["stdout"], len(result["charts"])), ("hi", 2))
            self.assertEqual(self.sidecar.paths(), [STREAM, WHOLE])

    def test_a_failed_run_keeps_what_came_before(self):
        self.whole(says(200, {"success": False, "error": "KeyError: 'a'", "output": "part"}))
        result = self.daemon.run("1", kind="exception")
        self.assertEqual((result["stdout"], result["error"]["type"]), ("part", "KeyError"))

    def test_a_500_in_the_usual_shape_is_passed_on(self):
        self.whole(says(500, {"success": False, "error": "Execution failed: no python"}))
        result = self.daemon.run("1", kind="backend")
        self.assertEqual(result["verdict"]["message"], "Execution failed: no python")

    def test_both_routes_missing_is_an_error_with_its_status(self):
        self.whole(says(404, {"error": "Not found"}))
        self.fails('Python sidecar error (HTTP 404): {"error": "Not found"}')
        self.whole(says(429, {"error": "Too many concurrent executions"}))
        self.fails('Python sidecar error (HTTP 429): {"error": "Too many concurrent executions"}')
        self.whole(says(502, b"x" * 5000 + b"\n"))
        self.assertLess(len(self.fails("Python sidecar error (HTTP 502): xxx")["verdict"]["message"]), 600)

    def test_an_answer_that_is_none_is_an_error(self):
        self.whole(says(200, b"<html>busy</html>"))
        self.fails("Failed to parse sidecar response: ")
        for body in (b"[]", b"null", b'{"success":"yes"}', b'{"success":1}', b"{}", b'"x"'):
            self.whole(says(200, body))
            self.fails("Sidecar returned an unexpected response format.")
        self.whole(says(200, b'{"success":true,"output":' + b"[" * 5000 + b"]" * 5000 + b"}"))
        self.fails("Failed to parse sidecar response: ")

    def test_the_other_route_dead_too_is_unreachable(self):
        self.whole(lambda handler: handler.die())
        self.fails(f"Python sidecar unreachable at http://127.0.0.1:{self.sidecar.port}: ")

    # ---- the stream ----

    def test_no_last_event_is_a_failure_with_what_came(self):
        self.sidecar.on(STREAM, lines(out("part\n")))
        self.assertEqual(self.fails(NO_END, "part\n")["verdict"]["message"], NO_END)
        self.sidecar.on(STREAM, lines(out("part\n"), b'{"type":"done","data":{"succ'))
        self.fails(NO_END, "part\n")
        self.sidecar.on(STREAM, lines())
        self.fails(NO_END)
        self.assertEqual(self.sidecar.paths(), [STREAM] * 3)  # never twice: something ran

    def test_one_that_dies_in_the_middle_is_told_as_that(self):
        def answer(handler):
            handler.send_response(200)
            handler.send_header("Content-Length", "100000")
            handler.end_headers()
            handler.event(out("part\n"))
            self.sidecar.gate.wait(30)
            handler.die()
        self.sidecar.on(STREAM, answer)
        with self.daemon.stream("POST", "/v1/run", {"code": "1"}) as events:
            events.until_text("part\n")
            self.sidecar.gate.set()
            self.assertEqual(events.until("verdict")["verdict"]["message"], NO_END)

    def test_what_is_no_event_is_skipped(self):
        result = self.run_on(b"\n\n", b"nonsense\n", b'{"type":\n', b"[1]\n", b'"x"\n', b"\xff\xfe\n", b"{}\n",
                             {"type": 1, "data": 2}, {"type": "stdout", "data": {"a": 1}}, {"type": "stdout"},
                             {"type": "chart", "data": {"base64": "<script>", "mimeType": "image/png"}},
                             {"type": "chart", "data": {"base64": PNG, "mimeType": "text/html"}},
                             {"type": "table", "data": [1]}, {"type": "recharts", "data": "x"},
                             b'{"type":"stdout","data":' + b"[" * 500 + b"]" * 500 + b"}\n",
                             b'  {"type":"stdout","data":"ok\\ud800"}  \r\n', DONE)
        self.assertEqual((result["stdout"], result["charts"], result["table"]), ("ok\ufffd", [], None))

    def test_nothing_counts_behind_the_last_event(self):
        result = self.run_on(out("a"), DONE, out("b"), {"type": "error", "data": {"error": "x"}})
        self.assertEqual((result["stdout"], result["verdict"]["kind"]), ("a", "ok"))

    def test_an_end_is_taken_from_one_that_keeps_the_line_open(self):
        def answer(handler):
            handler.begin()
            handler.event(DONE)
            self.sidecar.gate.wait(30)
        self.sidecar.on(STREAM, answer)
        result = self.daemon.run("1")
        self.assertLess(result["usage"]["wall_ms"], 15000)  # it holds the line for 30 s

    def test_one_that_never_ends_is_given_up(self):
        def answer(handler):
            handler.begin()
            handler.event(out("part\n"))
            self.sidecar.gate.wait(30)
        self.sidecar.on(STREAM, answer)
        result = self.fails("Streaming Python execution failed: ", "part\n", timeout_ms=100)
        self.assertGreaterEqual(result["usage"]["wall_ms"], 100 + TIMEOUT_MS - 10)

    def test_one_that_never_answers_is_given_up(self):
        self.sidecar.on(STREAM, lambda handler: self.sidecar.gate.wait(30))
        self.fails("Streaming Python execution failed: ", timeout_ms=100)
        self.assertEqual(self.sidecar.paths(), [STREAM])

    def test_too_long_a_line_ends_it(self):
        def answer(handler):
            handler.begin()
            handler.event(out("part\n"))
            for _ in range(40):
                handler.wfile.write(b"x" * MIB)
            self.sidecar.gate.wait(30)
        self.sidecar.on(STREAM, answer)
        self.fails("it sent a line of more than 16 MiB", "part\n", timeout_ms=20000)

    def test_too_much_output_is_cut_and_then_ended(self):
        result = self.run_on(*[out("x" * 65536 + "\n")] * 40, DONE)
        self.assertTrue(result["truncated"]["stdout"])
        self.assertEqual(len(result["stdout"]), MIB)

        def flood(handler):
            handler.begin()
            while True:
                handler.event(out("x" * 100000))
        self.sidecar.on(STREAM, flood)
        result = self.daemon.run("1", kind="output", timeout_ms=30000)
        self.assertEqual((len(result["stdout"]), result["verdict"]["by"]), (MIB, "supervisor"))

    def test_too_large_an_answer_is_broken_off(self):
        def answer(handler):
            handler.begin("application/json")
            for _ in range(80):
                handler.wfile.write(b" " * MIB)
        self.whole(answer)
        self.fails("its answer is larger than is taken", timeout_ms=20000)

    def test_a_redirect_is_not_followed(self):
        with Sidecar() as other:
            moved = says(307, b"", headers=[("Location", other.url + STREAM)])
            other.on(STREAM, lines(DONE))
            self.whole(moved, moved)
            self.fails("Python sidecar error (HTTP 307)")
            self.assertEqual(other.seen, [])

    def test_a_run_can_be_cancelled(self):
        def answer(handler):
            handler.begin()
            handler.event(out("on\n"))
            self.sidecar.gate.wait(30)
        self.sidecar.on(STREAM, answer)
        run = self.daemon.start_run("1")
        with self.daemon.events(run) as events:
            events.until("stdout")
            self.daemon.ask("DELETE", f"/v1/runs/{run}")
            self.assertEqual(events.until("verdict")["verdict"]["kind"], "cancelled")

    def test_many_at_once_do_not_mix(self):
        def answer(handler):
            handler.begin()
            handler.event(out(json.loads(handler.body)["code"]))
            handler.event(DONE)
        self.sidecar.on(STREAM, answer)
        runs = {name: self.daemon.start_run(name) for name in map(str, range(24))}
        for name, run in runs.items():
            result = self.daemon.result(run)
            self.assertEqual(result["stdout"], name, result["verdict"])


class Environment(unittest.TestCase):
    def test_no_proxy_is_taken_from_the_environment(self):
        with Sidecar() as sidecar, Sidecar() as proxy:
            sidecar.on(STREAM, lines(out("direct"), DONE))
            with Daemon("backends: {pin: remote}\n",
                        env={"ATLAS_SANDBOX_URL": sidecar.url, "SIDECAR_AUTH_TOKEN": "tok",
                             "http_proxy": proxy.url, "ALL_PROXY": proxy.url}) as daemon:
                self.assertEqual(daemon.run("1")["stdout"], "direct")
            self.assertEqual(proxy.seen, [])
            self.assertEqual(sidecar.seen[-1][2]["Authorization"], "Bearer tok")

    def test_atlas_variables_give_the_documented_order_for_python(self):
        with Sidecar() as sidecar:
            sidecar.on(STREAM, lines(out("there"), DONE))
            with Daemon(env={"ATLAS_SANDBOX_URL": sidecar.url}) as daemon:
                status = daemon.ask("GET", "/v1/status")
                self.assertEqual((status["order"], status["active"]["session"]),
                                 ("atlas-documented", "namespace"))
                self.assertEqual(daemon.run("1")["stdout"], "there")
                self.assertEqual(daemon.value("1+1", daemon.session()), 2)

    def test_atlas_explores_what_the_sidecar_has_where_no_folder_is_named(self):
        for flags, config in (([], "dialects: {atlas: {enabled: true, prefix: /}}\n"), (["--dialect", "atlas"], "")):
            with self.subTest(flags=flags), Sidecar() as sidecar:
                sidecar.on("/exec", says(200, {"stdout": "catalog.yml\n", "stderr": "", "exitCode": 0}))
                env = {"ATLAS_SANDBOX_URL": sidecar.url, "ATLAS_SANDBOX": "sidecar", "SIDECAR_AUTH_TOKEN": "tok",
                       "PORT": "0"}
                with Daemon(config, flags=flags, env=env) as daemon:
                    token = {"Authorization": "Bearer tok"} if flags else {}
                    answer = daemon.ask("POST", "/exec", {"command": "ls", "cwd": "/semantic/sub"}, headers=token)
                    self.assertEqual(answer, {"stdout": "catalog.yml\n", "stderr": "", "exitCode": 0})
                    self.assertEqual(json.loads(sidecar.seen[-1][3])["cwd"], "sub")
                    answer = daemon.ask("POST", "/api/v1/explore", {"command": "ls"}, headers=token)
                    self.assertEqual(answer, {"output": "catalog.yml\n"})

    def test_what_keeps_its_variables_stays_on_this_host(self):
        with Sidecar() as sidecar:
            with Daemon("dialects: {elitea: {enabled: true}}\n", env={"ATLAS_SANDBOX_URL": sidecar.url}) as daemon:
                answer = daemon.ask("POST", "/execute", {"code": "x = 1\nx + 1", "session_metadata": {}},
                                    headers={"X-Tenant-ID": "t"})
                self.assertEqual((answer["success"], answer["result"]), (True, 2), answer)
            self.assertEqual(sidecar.paths(), [])

    def test_health_tells_everybody_neither_its_address_nor_its_words(self):
        with Sidecar() as sidecar:
            sidecar.on(STREAM, says(500, "secret words"))
            sidecar.on(WHOLE, says(500, "secret words"))
            with Daemon(env={"ATLAS_SANDBOX_URL": sidecar.url, "ATLAS_SANDBOX": "sidecar"}) as daemon:

                def failed():
                    tree = daemon.ask("GET", "/health", status=(200, 503))
                    return tree if (tree["why"] or "").startswith("backend: ") else None
                health = wait_for(failed, what="a probe that failed")
                self.assertEqual(health["why"], "backend: the remote ran no code; the log says why")
                self.assertNotIn(sidecar.url.rpartition("/")[2], json.dumps(health))
                self.assertIn("secret words", daemon.log())

    def test_a_sidecar_that_goes_gives_way_where_it_may_and_refuses_where_it_must(self):
        with Sidecar() as sidecar:
            sidecar.answers["/health"] = says(503, {"status": "error", "error": "x"})
            with Daemon(env={"ATLAS_SANDBOX_URL": sidecar.url}) as daemon:
                wait_for(lambda: daemon.ask("GET", "/health", status=(200, 503))["backend"] == "namespace",
                         what="the daemon learning that it is gone")
                self.assertEqual(daemon.run("1")["backend"], "namespace")
                answer = daemon.request("POST", "/v1/run", {"code": "1", "backend": "remote"})
                self.assertEqual(answer.status, 501)
                self.assertIn("is pinned, but it cannot be used", answer.error["message"])


if __name__ == "__main__":
    unittest.main()
