# SPDX-License-Identifier: Apache-2.0
"""Every route once, and every way in which a request can be refused."""

import io
import json

from case import DaemonCase, wait_for

KINDS = {400: "bad_request", 403: "forbidden", 404: "not_found", 405: "forbidden", 409: "conflict", 413: "too_large"}


class RouteTest(DaemonCase):
    """The happy path of every route, in the order of the description."""

    CONFIG = "runtimes: {}\n"  # as a user has them

    def test_health_has_really_run_code(self):
        self.daemon.run("1")
        told = self.daemon.ask("GET", "/health", status=200)
        self.assertEqual(told["status"], "ok")
        self.assertGreaterEqual(told["last_run_ms"], 0)

    def test_status_tells_what_there_is(self):
        told = self.daemon.ask("GET", "/v1/status")
        self.assertTrue(told["version"])
        backend = {one["name"]: one for one in told["backends"]}["namespace"]
        self.assertEqual((backend["available"], backend["why"]), (True, None))
        self.assertIsInstance(backend["priority"], int)
        self.assertIn("seccomp", told["walls"])
        self.assertIn("bare", [one["name"] for one in told["runtimes"]])
        self.assertLessEqual({"bare", "base", "full"}, {pool["runtime"] for pool in told["pools"] if pool["keep"] > 0})
        self.assertEqual(told["limits"]["concurrent_runs"], 64)

    def test_policies_runtimes_and_packages(self):
        policies = {one["name"]: one for one in self.daemon.ask("GET", "/v1/policies")["policies"]}
        self.assertLessEqual({"default", "analysis", "ephemeral", "workspace", "conversation"}, set(policies))
        self.assertEqual(policies["default"]["memory"], 512 << 20)
        self.assertEqual(policies["default"]["timeout_ms"], 30000)
        names = [one["name"] for one in self.daemon.ask("GET", "/v1/runtimes")["runtimes"]]
        self.assertIn("base", names)
        packages = {one["name"].lower(): one["version"] for one in
                    self.daemon.ask("GET", "/v1/packages?runtime=base")["packages"]}
        self.assertIn("numpy", packages)
        self.expect_error(self.daemon.request("GET", "/v1/packages?runtime=none"), 404, "not_found", "runtime")

    def test_metrics_and_the_description(self):
        answer = self.daemon.request("GET", "/metrics")
        self.assertTrue(answer.headers["Content-Type"].startswith("text/plain; version=0.0.4"))
        told = self.daemon.ask("GET", "/openapi.json")
        self.assertTrue(told["openapi"].startswith("3.1"))
        for path in ("/v1/run", "/v1/sessions/{id}/run", "/v1/runs/{id}/events", "/v1/sessions/{id}/checkpoints"):
            self.assertIn(path, told["paths"])

    def test_sessions_from_create_to_delete(self):
        made = self.daemon.request("POST", "/v1/sessions", {"runtime": "bare", "name": "n"})
        self.assertEqual(made.status, 201)
        path = f"/v1/sessions/{made.json['id']}"
        self.assertEqual(self.daemon.ask("GET", path)["name"], "n")
        run = self.daemon.ask("POST", path + "/run", {"code": "table = [[1, 2], [3, 4]]\nprint('x')"})
        self.assertEqual(run["session"], made.json["id"])
        self.assertEqual([one["name"] for one in self.daemon.ask("GET", path + "/vars")["vars"]], ["table"])
        rows = self.daemon.ask("GET", path + "/vars/table?offset=1&limit=1")
        self.assertEqual((rows["rows"], rows["total"]), ([[3, 4]], 2))
        self.assertEqual(self.daemon.request("PUT", path + "/files/a/b.txt", b"bytes\0").status, 201)
        self.assertEqual(self.daemon.request("GET", path + "/files/a/b.txt").body, b"bytes\0")
        listed = self.daemon.ask("GET", path + "/files?recursive=true")["files"]
        self.assertEqual([one["path"] for one in listed if one["size"] == 6], ["/workspace/a/b.txt"])
        self.assertEqual(self.daemon.request("DELETE", path + "/files/a/b.txt").status, 204)
        self.assertIn("table", self.daemon.ask("POST", path + "/complete", {"code": "tab", "cursor": 3})["matches"])
        notebook = self.daemon.ask("GET", path + "/export.ipynb")
        self.assertEqual(notebook["nbformat"], 4)
        whole = self.daemon.request("GET", path + "/export")
        self.assertEqual(whole.status, 200)
        self.assertEqual(self.daemon.request("DELETE", path).status, 204)
        again = self.daemon.request("POST", "/v1/sessions/import?runtime=bare", whole.body)
        self.assertEqual(again.status, 201, again)
        self.assertEqual(self.daemon.value("table", again.json["id"]), [[1, 2], [3, 4]])
        self.assertEqual(self.daemon.request("DELETE", f"/v1/sessions/{again.json['id']}").status, 204)

    def test_the_unix_socket_answers_the_same(self):
        answer = self.daemon.request("POST", "/v1/run", {"code": "1 + 1"}, unix=True)
        self.assertEqual(answer.json["result"]["application/json"], 2)

    def test_head_has_the_headers_and_no_body(self):
        self.daemon.run("1")  # health is good from here on
        for path in ("/health", "/openapi.json", "/v1/status", "/metrics"):
            answer = self.daemon.request("HEAD", path)
            self.assertEqual((answer.status, answer.body), (200, b""))
            self.assertGreater(int(answer.headers["Content-Length"]), 0)

    def test_options_tells_what_is_allowed(self):
        answer = self.daemon.request("OPTIONS", "/v1/sessions")
        self.assertEqual(answer.status, 204)
        self.assertLessEqual({"GET", "POST"}, set(answer.headers["Allow"].replace(",", " ").split()))


class RefusalTest(DaemonCase):
    """Status, kind, message, field: the same shape for everything."""

    CONFIG = "limits: {body: 4MiB}\n"

    BAD_RUNS = [
        ("{", None), ("[]", None), ('"code"', None), ("", None), ("null", None),
        ('{"code":"1"} x', None), ('{"code":"1","code":"2"}', "code"),
        ('{"cod":"1"}', "cod"), ('{"code":1}', "code"), ('{"code":null}', "code"),
        ('{"code":"1","command":"x"}', "code"), ("{}", "code"),
        ('{"code":"1","timeout_ms":"soon"}', "timeout_ms"), ('{"code":"1","timeout_ms":-1}', "timeout_ms"),
        ('{"code":"1","timeout_ms":1.5}', "timeout_ms"), ('{"code":"1","timeout_ms":9}', "timeout_ms"),
        ('{"code":"1","timeout_ms":1e99}', "timeout_ms"),
        ('{"code":"1","limits":{"memory":"1 potato"}}', "limits.memory"),
        ('{"code":"1","limits":{"memry":1}}', "limits.memry"), ('{"code":"1","limits":[]}', "limits"),
        ('{"code":"1","env":{"A":1}}', "env.A"), ('{"code":"1","env":[]}', "env"),
        ('{"code":"1","detach":"yes"}', "detach"), ('{"code":"1","expect_files":[1]}', "expect_files"),
        ('{"code":"1","policy":"none"}', "policy"), ('{"code":"1","runtime":"none"}', "runtime"),
        ('{"code":"1","backend":"none"}', "backend"),
    ]

    def test_a_bad_body_is_refused_and_the_field_named(self):
        for body, field in self.BAD_RUNS:
            with self.subTest(body):
                answer = self.daemon.request("POST", "/v1/run", body)
                self.assertIn(answer.status, (400, 403, 404), answer)
                error = answer.error
                self.assertEqual(error["kind"], KINDS[answer.status])
                if field is not None:
                    self.assertTrue(error.get("field", "").startswith(field.split(".")[0]), error)

    def test_bytes_that_are_no_utf8_and_json_that_is_too_deep(self):
        for body in (b'{"code":"\xff"}', b'{"code":"1","args":' + b"[" * 100000 + b"]" * 100000 + b"}",
                     b"\0" * 100, b'{"code":"\\ud800"}'):
            answer = self.daemon.request("POST", "/v1/run", body)
            self.assertEqual(answer.status, 400, answer)
            self.assertEqual(answer.error["kind"], "bad_request")

    def test_unknown_and_bad_query_parameters(self):
        run = self.daemon.run("1")["id"]
        for query, field in (("after=x", "after"), ("follow=perhaps", "follow"), ("aftr=1", "aftr"),
                             ("after=-1", "after"), ("after=99999999999999999999999", "after")):
            answer = self.daemon.request("GET", f"/v1/runs/{run}/events?{query}")
            self.expect_error(answer, 400, "bad_request", field)

    def test_what_is_not_there(self):
        for method, path in (("GET", "/nothing"), ("GET", "/v2/run"), ("GET", "/v1/run/"), ("GET", "/v1/sessions/ses_x"),
                             ("GET", "/v1/runs/ses_x"), ("GET", "/v1/sessions/%00"), ("GET", "/..%2fetc/passwd"),
                             ("GET", "/v1/sessions/ses_x/vars"), ("POST", "/v1/sessions/ses_x/interrupt")):
            with self.subTest(path):
                answer = self.daemon.request(method, path, {} if method == "POST" else None)
                self.assertIn(answer.status, (400, 404), answer)
                self.assertTrue(answer.error["message"])

    def test_a_wrong_method_is_told_which_are_right(self):
        for method, path, allowed in (("GET", "/v1/run", {"POST"}), ("POST", "/v1/status", {"GET", "HEAD"}),
                                      ("PATCH", "/v1/sessions", {"GET", "POST"}), ("BREW", "/health", {"GET"})):
            answer = self.daemon.request(method, path)
            self.assertEqual(answer.status, 405, answer)
            self.assertLessEqual(allowed, set(answer.headers["Allow"].replace(",", " ").split()))
            self.assertTrue(answer.error["message"])

    def test_a_conflict_names_its_reason(self):
        session = self.new_session()
        answer = self.daemon.request("POST", f"/v1/sessions/{session}/interrupt", {})
        self.expect_error(answer, 409, "conflict")

    def test_a_body_that_is_too_large(self):
        answer = self.daemon.request("POST", "/v1/run", json.dumps({"code": "#" * (5 << 20)}))
        self.expect_error(answer, 413, "too_large")

        def pieces():  # nobody knows how much is coming
            yield b'{"code":"'
            for _ in range(80):
                yield b"#" * 65536
            yield b'"}'

        connection = self.daemon.connection()
        try:
            connection.request("POST", "/v1/run", pieces(), {"Transfer-Encoding": "chunked"}, encode_chunked=True)
            self.assertEqual(connection.getresponse().status, 413)
        except (BrokenPipeError, ConnectionResetError):
            pass  # it was cut off while it sent, which says the same
        finally:
            connection.close()
        self.assertEqual(self.daemon.value("1"), 1)

    def test_a_packed_body_is_refused(self):
        answer = self.daemon.request("POST", "/v1/run", io.BytesIO(b"\x1f\x8b"), {"Content-Encoding": "gzip",
                                                                               "Content-Length": "2"})
        self.assertIn(answer.status, (415, 501))
        self.assertEqual(answer.error["kind"], "unsupported")

    def test_a_name_that_is_too_long(self):
        answer = self.daemon.request("POST", "/v1/sessions", {"name": "n" * 5000})
        self.expect_error(answer, 400, "bad_request", "name")
        answer = self.daemon.request("GET", "/v1/runs/run_" + "x" * 8000)
        self.assertIn(answer.status, (404, 414, 431))
        answer = self.daemon.request("GET", "/health", headers={"X-Long": "x" * 20000})
        self.assertEqual(answer.status, 431)

    def test_lifetimes_have_limits(self):
        for field in ("idle_ms", "ttl_ms"):
            for value in (1, 10 ** 15, {"idle_ms": 1800001, "ttl_ms": 86400001}[field]):
                answer = self.daemon.request("POST", "/v1/sessions", {field: value})
                self.expect_error(answer, 400, "bad_request", field)


class BusyTest(DaemonCase):
    """Admission: a bounded queue, then 503 with the time to come back."""

    CONFIG = "limits: {concurrent_runs: 2, queue: 1, sessions: 3}\n"

    def fill(self):
        """As many runs as may be on, until each gets a line."""
        wait_for(lambda: self.gauge("vivarium_runs_running") == 0, what="the end of what others ran")
        runs = [self.daemon.start_run("print('on', flush=True)\ninput()", stdin="live") for _ in range(2)]
        for run in runs:
            with self.daemon.events(run) as events:
                events.until_text("on")
        return runs

    def test_above_queue_and_concurrency_is_busy(self):
        runs = self.fill()
        waiting = self.daemon.connection()
        waiting.request("POST", "/v1/run", json.dumps({"code": "'waited'"}))
        refused = None
        while refused is None:  # the one that waits may not have been read yet
            answer = self.daemon.request("POST", "/v1/run", {"code": "1", "detach": True}, timeout=1) \
                if self.gauge("vivarium_runs_waiting") == 1 else None
            refused = answer
        self.expect_error(refused, 503, "busy")
        self.assertGreaterEqual(int(refused.headers["Retry-After"]), 1)
        self.daemon.ask("POST", f"/v1/runs/{runs[0]}/stdin", {"text": "\n"})
        told = json.loads(waiting.getresponse().read())
        self.assertEqual(told["result"]["application/json"], "waited")
        self.daemon.ask("POST", f"/v1/runs/{runs[1]}/stdin", {"text": "\n"})
        waiting.close()
        self.assertIn('vivarium_rejects_total{reason="queue"}', self.daemon.request("GET", "/metrics").body.decode())

    def test_one_that_waits_is_forgotten_with_its_client_where_that_was_asked(self):
        runs = self.fill()
        for ask, stays in (("cancel", 0), ("continue", 1)):
            waiting = self.daemon.connection()
            waiting.request("POST", f"/v1/run?on_disconnect={ask}", json.dumps({"code": "1"}))
            wait_for(lambda: self.gauge("vivarium_runs_waiting") == 1, what="a run that waits")
            waiting.close()
            if not stays:
                wait_for(lambda: self.gauge("vivarium_runs_waiting") == 0, what="its end")
        before = self.gauge("vivarium_runs_waiting")
        self.assertEqual(before, 1)  # the other one goes on without its client
        for run in runs:
            self.daemon.ask("POST", f"/v1/runs/{run}/stdin", {"text": "\n"})
        wait_for(lambda: self.gauge("vivarium_runs_waiting") == 0, what="its turn")

    def test_one_that_waits_is_a_run_like_any_other(self):
        """It has an id at once, can be seen and cancelled, and its client may come back for it."""
        busy = self.fill()
        waits = self.daemon.ask("POST", "/v1/run", {"code": "'waited'", "detach": True}, status=202)["id"]
        self.assertEqual(self.daemon.ask("GET", f"/v1/runs/{waits}")["verdict"], None)
        self.assertIn((waits, "waiting"), [(run["id"], run["state"])
                                           for run in self.daemon.ask("GET", "/v1/runs")["runs"]])
        self.assertEqual(self.gauge("vivarium_runs_waiting"), 1)
        self.daemon.ask("DELETE", f"/v1/runs/{waits}", status=204)
        wait_for(lambda: self.gauge("vivarium_runs_waiting") == 0, what="its end")
        self.assertEqual(self.daemon.ask("GET", f"/v1/runs/{waits}")["verdict"]["kind"], "cancelled")
        self.expect_error(self.daemon.request("POST", "/v1/run", {"code": "1", "policy": "nowhere"}), 404,
                          "not_found", "policy")  # nobody waits for that
        gone = self.daemon.connection()
        gone.request("POST", "/v1/run", json.dumps({"code": "'waited'"}), {"Accept": "application/x-ndjson"})
        left = gone.getresponse().getheader("Vivarium-Run")
        gone.close()
        for run in busy:
            self.daemon.ask("POST", f"/v1/runs/{run}/stdin", {"text": "\n"})
        self.assertEqual(self.daemon.result(left)["result"]["application/json"], "waited")

    def gauge(self, name):
        for line in self.daemon.request("GET", "/metrics").body.decode().splitlines():
            if line.startswith(name + " "):
                return float(line.split()[1])
        raise AssertionError(f"no metric {name}")

    def test_too_many_sessions(self):
        for _ in range(3):
            self.new_session()
        answer = self.daemon.request("POST", "/v1/sessions", {"runtime": "bare"})
        self.expect_error(answer, 503, "busy")
        self.assertGreaterEqual(int(answer.headers["Retry-After"]), 1)
