# SPDX-License-Identifier: Apache-2.0
"""Access: which caller may do what, what the audit log says about it, and what no sandbox can reach."""

import hashlib
import json
import os
import re
import signal

from case import BARE, Case, DaemonCase, wait_for

ALICE, BOB, CAROL = "secret-of-alice", "secret-of-bob", "secret-of-carol"
SAMPLE = re.compile(r"^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (NaN|[+-]?Inf|[-+0-9.eE]+)$")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)')


def token(name, secret, rest=""):
    return f"  - {{name: {name}, sha256: {hashlib.sha256(secret.encode()).hexdigest()}{rest}}}\n"


def prometheus(text):
    """Reads the text format 0.0.4 strictly: {name: {labels: value}}, and {name: type}."""
    samples, types, helps = {}, {}, set()
    assert text.endswith("\n")
    for line in text.splitlines():
        if line.startswith("# HELP "):
            name = line.split()[2]
            assert name not in helps, line
            helps.add(name)
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split()
            assert name not in types and kind in ("counter", "gauge", "histogram"), line
            types[name] = kind
        else:
            match = SAMPLE.match(line)
            assert match, line
            name, labels, value = match.groups()
            pairs = LABEL.findall(labels or "")
            assert ",".join(f'{key}="{text}"' for key, text in pairs) == (labels or ""), line
            family = re.sub(r"_(bucket|sum|count)$", "", name)
            assert name in types or types.get(family) == "histogram", line
            key = tuple(sorted(pairs))
            assert key not in samples.setdefault(name, {}), line
            samples[name][key] = float(value)
    check_histograms(samples, types)
    return samples, types


def check_histograms(samples, types):
    for name in [name for name, kind in types.items() if kind == "histogram"]:
        series = {}
        for labels, value in samples.get(name + "_bucket", {}).items():
            rest = tuple(pair for pair in labels if pair[0] != "le")
            series.setdefault(rest, []).append((float(dict(labels)["le"]), value))
        for rest, buckets in series.items():
            counts = [value for _, value in sorted(buckets)]
            assert counts == sorted(counts), (name, rest)
            assert max(buckets)[0] == float("inf")
            assert counts[-1] == samples[name + "_count"][rest], (name, rest)


class TokenTest(DaemonCase):
    CONFIG = (BARE + "tokens:\n" + token("alice", ALICE) +
              token("bob", BOB, ", policies: [tight], quotas: {concurrent_runs: 1, sessions: 1}") +
              token("carol", CAROL, ", policies: [default], quotas: {runs_per_minute: 3}") +
              "policies:\n  tight: {base: default, timeout: 5s, timeout_max: 6s}\n")

    def setUp(self):
        self.alice, self.bob, self.carol = (self.daemon.as_token(secret) for secret in (ALICE, BOB, CAROL))

    def test_without_or_with_a_wrong_token_nothing_is_answered(self):
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Bearer "},
                        {"Authorization": "Basic " + ALICE}, {"Authorization": ALICE},
                        {"Authorization": "Bearer " + ALICE + "x"}, {"Authorization": "Bearer " + ALICE[:-1]},
                        {"Authorization": "Bearer " + "x" * 5000}):
            for method, path in (("POST", "/v1/run"), ("GET", "/v1/status"), ("GET", "/metrics"),
                                 ("GET", "/v1/sessions"), ("GET", "/nowhere")):
                answer = self.daemon.request(method, path, headers=headers)
                self.expect_error(answer, 401, "unauthorized")
                self.assertIn("Bearer", answer.headers["WWW-Authenticate"])

    def test_health_and_the_description_are_open(self):
        self.alice.run("1")
        self.assertEqual(self.daemon.request("GET", "/health").status, 200)
        self.assertEqual(self.daemon.request("GET", "/openapi.json").status, 200)

    def test_with_a_token_work_is_done(self):
        self.assertEqual(self.alice.value("1 + 1"), 2)
        self.assertEqual(self.alice.request("POST", "/v1/run", {"code": "1"}, unix=True).status, 200)

    def test_the_unix_socket_asks_others_for_a_token_too(self):
        answer = self.daemon.request("GET", "/v1/status", unix=True)
        self.assertIn(answer.status, (200, 401))  # 200 for the daemon's own user and root, by their uid
        self.expect_error(self.daemon.request("GET", "/v1/status", unix=True,
                                              headers={"Authorization": "Bearer wrong"}), 401, "unauthorized")

    def test_sessions_and_runs_of_others_are_not_there(self):
        session = self.alice.session(runtime="bare")
        run = self.alice.run("secret = 1", session)["id"]
        for method, path in (("GET", ""), ("DELETE", ""), ("GET", "/vars"), ("GET", "/events"),
                             ("GET", "/checkpoints"), ("GET", "/files"), ("GET", "/export"), ("GET", "/export.ipynb")):
            answer = self.carol.request(method, f"/v1/sessions/{session}{path}")
            self.expect_error(answer, 404, "not_found")
        for path in ("run", "interrupt", "fork", "checkpoints"):
            body = {"code": "1"} if path == "run" else {}
            self.expect_error(self.carol.request("POST", f"/v1/sessions/{session}/{path}", body), 404, "not_found")
        for method, path in (("GET", ""), ("GET", "/events"), ("DELETE", "")):
            self.expect_error(self.carol.request(method, f"/v1/runs/{run}{path}"), 404, "not_found")
        self.assertEqual(self.carol.ask("GET", "/v1/sessions")["sessions"], [])
        self.assertNotIn(run, [one["id"] for one in self.carol.ask("GET", "/v1/runs")["runs"]])
        self.assertEqual(self.alice.value("secret", session), 1)
        self.alice.request("DELETE", f"/v1/sessions/{session}")

    def test_policies_of_a_token(self):
        names = [one["name"] for one in self.bob.ask("GET", "/v1/policies")["policies"]]
        self.assertEqual(names, ["tight"])
        answer = self.bob.request("POST", "/v1/run", {"code": "1", "policy": "default"})
        self.expect_error(answer, 403, "forbidden", "policy")
        answer = self.bob.request("POST", "/v1/sessions", {"policy": "default"})
        self.expect_error(answer, 403, "forbidden", "policy")
        answer = self.bob.request("POST", "/v1/run", {"code": "1", "timeout_ms": 20000})
        self.expect_error(answer, 400, "bad_request", "timeout_ms")

    def test_quotas(self):
        run = self.bob.start_run("print('on', flush=True)\nwhile True: pass")
        with self.bob.events(run) as events:
            events.until_text("on")
        answer = self.bob.request("POST", "/v1/run", {"code": "1"})
        self.expect_error(answer, 429, "busy")
        self.assertGreaterEqual(int(answer.headers["Retry-After"]), 1)
        self.assertEqual(self.alice.value("2"), 2)  # the quota of one is not another's
        self.bob.request("DELETE", f"/v1/runs/{run}")
        session = self.bob.session(runtime="bare")
        answer = self.bob.request("POST", "/v1/sessions", {"runtime": "bare"})
        self.expect_error(answer, 429, "busy")
        answer = self.bob.request("POST", f"/v1/sessions/{session}/fork", {"n": 2})
        self.expect_error(answer, 429, "busy")
        self.bob.request("DELETE", f"/v1/sessions/{session}")
        self.bob.request("DELETE", f"/v1/sessions/{self.bob.session(runtime='bare')}")

    def test_runs_a_minute(self):
        for body, status in (({"policy": "tight"}, 403), ({"timeout_ms": 3000000}, 400)):
            for _ in range(2):  # what does not run is not counted
                answer = self.carol.request("POST", "/v1/run", {"code": "1", **body})
                self.assertEqual(answer.status, status, answer)
        answers = [self.carol.request("POST", "/v1/run", {"code": "1"}) for _ in range(4)]
        self.assertEqual([answer.status for answer in answers], [200, 200, 200, 429])
        self.assertGreaterEqual(int(answers[-1].headers["Retry-After"]), 1)


class HostTest(DaemonCase):
    CONFIG = BARE + "hosts: [viv.example]\norigins: [\"http://localhost:3000\"]\n"

    def test_host_must_be_ours(self):
        for host, status in (("localhost", 200), ("127.0.0.1", 200), ("[::1]:80", 200), ("viv.example", 200),
                             ("evil.example", 403), ("localhost.evil.example", 403), ("", 403), ("a b", 403),
                             ("169.254.169.254", 403), ("localhost:99999", 403)):
            answer = self.daemon.request("GET", "/v1/status", headers={"Host": host})
            if status == 200:
                self.assertEqual(answer.status, 200, (host, answer))
            else:
                self.assertIn(answer.status, (400, 403), (host, answer))

    def test_origin_must_be_that_of_the_host(self):
        own = f"http://127.0.0.1:{self.daemon.port}"
        for origin, status in ((own, 200), ("https://viv.example", 200), ("http://localhost:3000", 200), ("null", 403),
                               ("http://127.0.0.1", 403), ("http://127.0.0.1:1", 403), ("http://localhost:3001", 403),
                               (own.replace("127.0.0.1", "localhost"), 403), (own.replace("http", "ws"), 403),
                               ("http://evil.example", 403), ("file://", 403), ("http://localhost.evil.example", 403)):
            for type_ in ("application/json", "text/plain"):
                answer = self.daemon.request("POST", "/v1/run", {"code": "1"},
                                             headers={"Origin": origin, "Content-Type": type_})
                self.assertEqual(answer.status, status, (origin, answer))
                allowed = answer.headers["Access-Control-Allow-Origin"]
                self.assertEqual(allowed, origin if status == 200 else None)

    def test_preflights_tell_strangers_nothing(self):
        for path in ("/v1/run", "/v1/sessions", "/mcp", "/health", "/"):
            for origin in ("http://127.0.0.1:1", "null", "http://evil.example"):
                answer = self.daemon.request("OPTIONS", path, headers={
                    "Origin": origin, "Access-Control-Request-Method": "POST", "Access-Control-Request-Private-Network": "true"})
                self.assertEqual(answer.status, 403, (path, origin))
                self.assertEqual([name for name in answer.headers if name.lower().startswith("access-control")], [])

    def test_a_page_of_strangers_loads_nothing(self):
        for site, status in (("same-origin", 200), ("none", 200), ("same-site", 403), ("cross-site", 403)):
            for path in ("/v1/sessions", "/v1/status", "/openapi.json"):
                answer = self.daemon.request("GET", path, headers={"Sec-Fetch-Site": site})
                self.assertEqual((answer.status, answer.headers["Cross-Origin-Resource-Policy"]), (status, "same-origin"))


class BindTest(Case):
    def test_all_addresses_without_a_token_are_refused(self):
        daemon = self.serve(start=False)
        for address in ("0.0.0.0:0", "[::]:0", ":0"):
            daemon.write_config(f'listen: ["{address}"]\n')
            process = daemon.spawn()
            self.assertNotEqual(process.wait(30), 0)
        self.assertIn("viv token new", daemon.log())
        daemon.check_nothing_left()

    def test_all_addresses_with_a_token_are_served(self):
        daemon = self.serve(BARE + 'listen: ["0.0.0.0:0"]\ntokens:\n' + token("alice", ALICE))
        daemon.host = "127.0.0.1"
        self.expect_error(daemon.request("GET", "/v1/status"), 401, "unauthorized")
        self.assertEqual(daemon.as_token(ALICE).value("1"), 1)
        daemon.stop()


class AuditTest(Case):
    def lines(self, path):
        with open(path, encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def test_every_run_is_written_down_without_its_code_or_output(self):
        daemon = self.serve(BARE + "tokens:\n" + token("alice", ALICE))
        alice = daemon.as_token(ALICE)
        code = "print('the output ' + 'of it')"
        run = alice.run(code)["id"]
        session = alice.session(runtime="bare")
        failed = alice.run("1 / 0 # code of it", session, kind="exception")["id"]
        path = daemon.path("state", "audit.jsonl")
        lines = {line["run"]: line for line in self.lines(path)}
        self.assertEqual(set(lines), {run, failed})
        line = lines[run]
        self.assertEqual((line["token"], line["policy"], line["verdict"], line["session"], line["op"]),
                         ("alice", "default", "ok", None, "run"))
        self.assertEqual(line["sha256"], hashlib.sha256(code.encode()).hexdigest())
        self.assertEqual(lines[failed]["session"], session)
        self.assertEqual((lines[failed]["verdict"], lines[failed]["state"]), ("exception", "preserved"))
        self.assertLessEqual({"queue_ms", "wall_ms", "cpu_ms", "peak_memory", "output_bytes"}, set(line["usage"]))
        for place in (path, daemon.path("log")):
            with open(place, encoding="utf-8") as file:
                text = file.read()
            for secret in ("the output", "code of it", ALICE, "ZeroDivision"):
                self.assertNotIn(secret, text)
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        daemon.stop()

    def test_it_is_bounded_and_survives_a_kill(self):
        daemon = self.serve(BARE + "audit: {max: 4KiB}\n")
        path = daemon.path("state", "audit.jsonl")
        runs = [daemon.run("1")["id"] for _ in range(15)]
        daemon.kill9()
        daemon.start()
        runs += [daemon.run("1")["id"] for _ in range(15)]
        told = [line["run"] for line in daemon.ask("GET", "/v1/audit")["lines"]]
        self.assertEqual(told, runs[-len(told):])
        self.assertEqual(told, [line["run"] for line in self.lines(path + ".1") + self.lines(path)])
        self.assertGreater(len(told), 5)
        self.assertLess(len(told), 30)
        for name in (path, path + ".1"):
            self.assertLessEqual(os.stat(name).st_size, 4096)
            self.assertEqual(os.stat(name).st_mode & 0o777, 0o600)
        daemon.stop()

    def test_hup_goes_on_in_a_new_file(self):
        daemon = self.serve()
        path = daemon.path("state", "audit.jsonl")
        first = daemon.run("1")["id"]
        os.rename(path, path + ".1")
        before = daemon.run("1")["id"]  # still in the old one
        daemon.signal(signal.SIGHUP)
        wait_for(lambda: os.path.exists(path), what="the new file")
        after = daemon.run("1")["id"]
        self.assertEqual([line["run"] for line in self.lines(path + ".1")], [first, before])
        self.assertEqual([line["run"] for line in self.lines(path)], [after])
        daemon.stop()


class MetricsTest(DaemonCase):
    CONFIG = BARE

    def read(self):
        return prometheus(self.daemon.request("GET", "/metrics").body.decode())

    def test_are_well_formed_and_move(self):
        before, types = self.read()
        session = self.new_session()
        self.daemon.run("1", session)
        self.daemon.run("1 / 0", kind="exception")
        after, _ = self.read()
        self.assertEqual(types["vivarium_run_seconds"], "histogram")

        def grown(name, **labels):
            key = tuple(sorted(labels.items()))
            return after[name].get(key, 0) - before.get(name, {}).get(key, 0)

        self.assertEqual(grown("vivarium_runs_total", policy="default", verdict="ok"), 1)
        self.assertEqual(grown("vivarium_runs_total", policy="default", verdict="exception"), 1)
        for name in ("vivarium_run_queue_seconds", "vivarium_run_start_seconds", "vivarium_run_seconds"):
            self.assertEqual(grown(name + "_count", policy="default", verdict="ok"), 1)
        self.assertGreater(sum(after["vivarium_sessions"].values()), 0)
        self.assertIn((("runtime", "bare"),), after["vivarium_pool_ready"])
        self.assertGreater(after["process_resident_memory_bytes"][()], 0)
        self.assertGreater(sum(after["vivarium_http_requests_total"].values()),
                           sum(before.get("vivarium_http_requests_total", {}).values()))


class PoolMetricsTest(DaemonCase):
    CONFIG = BARE + "policies:\n  small: {base: default, memory: 100MiB}\n"

    def test_pools_of_one_runtime_are_added_up(self):
        self.daemon.run("1", runtime="bare")
        self.daemon.run("1", runtime="bare", policy="small")

        def settled():
            pools = [pool for pool in self.daemon.ask("GET", "/v1/status")["pools"] if pool["runtime"] == "bare"]
            return all(pool["ready"] == pool["keep"] and not pool["coming"] for pool in pools) and pools

        ready = [pool["ready"] for pool in wait_for(settled, what="full pools")]
        self.assertEqual(sorted(ready)[-2:], [2, 2])
        samples, _ = prometheus(self.daemon.request("GET", "/metrics").body.decode())
        self.assertEqual(samples["vivarium_pool_ready"][(("runtime", "bare"),)], sum(ready))


class ReachTest(DaemonCase):
    """From inside nothing of the daemon can be reached."""

    def test_sandboxes_cannot_reach_the_daemon(self):
        places = [("127.0.0.1", self.daemon.port), ("::1", self.daemon.port), ("localhost", self.daemon.port),
                  self.daemon.unix, self.daemon.path("run", "launch.sock")]
        result = self.daemon.run("""
import socket
told = []
for place in _args:
    family = socket.AF_UNIX if isinstance(place, str) else socket.AF_INET6 if ':' in place[0] else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as sock:
            sock.settimeout(2)
            sock.connect(tuple(place) if isinstance(place, list) else place)
        told.append('reached')
    except OSError as error:
        told.append(type(error).__name__)
told
""", args=places)
        told = result["result"]["application/json"]
        self.assertEqual(len(told), len(places))
        self.assertNotIn("reached", told)

    def test_sandboxes_see_none_of_its_files(self):
        code = f"import os\n[os.path.exists(p) for p in ({self.daemon.folder!r}, '/proc/{self.daemon.serve_pid}')]"
        self.assertEqual(self.daemon.value(code), [False, False])
