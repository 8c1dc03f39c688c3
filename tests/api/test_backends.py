# SPDX-License-Identifier: Apache-2.0
"""Which backend does a run, and runs that another Vivarium does: a real second daemon."""

import base64
import hashlib
import json
import os
import socket
import subprocess
import unittest

from daemon import Daemon, VIV, wait_for

SECRET = "far-secret"
TOKENS = ("tokens:\n"
          f"  - {{name: near, sha256: {hashlib.sha256(SECRET.encode()).hexdigest()}}}\n")
WALLS = ["user", "mount", "pid", "net", "ipc", "uts", "fds", "rlimit", "caps", "landlock", "seccomp"]


def near_config(far, more="pin: remote", token=SECRET):
    return (f"backends:\n  {more}\n"
            f"  remote: {{url: 'http://127.0.0.1:{far.port}', token: {token}, timeout_ms: 5000}}\n")


def backend(tree, name):
    return next(row for row in tree["backends"] if row["name"] == name)


class Elsewhere(unittest.TestCase):
    """Runs that the far daemon does for the near one."""

    @classmethod
    def setUpClass(cls):
        cls.far = Daemon(TOKENS)
        cls.addClassCleanup(cls.far.stop)
        cls.far.token = SECRET
        os.mkdir(cls.far.path("folder"))
        os.chmod(cls.far.path("folder"), 0o755)
        cls.near = Daemon(near_config(cls.far), beside=[cls.far])
        cls.addClassCleanup(cls.near.stop)

    def test_a_result_is_as_if_it_had_been_made_here(self):
        result = self.near.run("import sys\nprint('h\u00e4')\nprint('e', file=sys.stderr)\n"
                               "display({'a': 1})\n[1, None]")
        self.assertEqual((result["stdout"], result["stderr"]), ("h\u00e4\n", "e\n"))
        self.assertEqual(result["result"]["application/json"], [1, None])
        self.assertEqual((result["backend"], result["state"], len(result["displays"])), ("remote", "none", 1))
        self.assertTrue(set(WALLS) <= set(result["walls"]))
        self.assertEqual((result["walls_by"], result["verdict"]["by"]), ("remote", "remote"))
        self.assertEqual(result["allowed"]["memory"], 512 << 20)  # the other machine's word
        if result["limits"].startswith("cgroup"):  # where it is only measured, a short run may be missed
            self.assertGreater(result["usage"]["peak_memory"], 0)

    def test_everything_that_a_run_takes_goes_along(self):
        code = ("import os, sys\nopen('out.bin', 'wb').write(b'\\x00\\xff')\n"
                "[_args, data, sys.stdin.read(), os.environ['K'], open('/workspace/in.txt').read(), os.getcwd()]")
        result = self.near.run(code, args={"a": [1]}, data={"columns": ["x"], "rows": [[1]]}, stdin="line\n",
                               env={"K": "v \u00fc"}, files=[{"path": "in.txt", "text": "in"}], cwd="/tmp",
                               runtime="bare", expect_files=["/workspace/none"], return_files=True)
        args, data, text, key, content, cwd = result["result"]["application/json"]
        self.assertEqual((args, text, key, content, cwd), ({"a": [1]}, "line\n", "v \u00fc", "in", "/tmp"))
        self.assertIn("1", json.dumps(data))
        self.assertEqual((result["runtime"], result["missing"]), ("bare", ["/workspace/none"]))

    def test_files_come_back_with_their_bytes(self):
        result = self.near.run("open('out.bin', 'wb').write(b'\\x00\\xff' * 1000)", return_files=True)
        file, = result["files"]
        self.assertEqual((file["path"], file["size"]), ("/workspace/out.bin", 2000))
        self.assertEqual(base64.b64decode(file["base64"]), b"\x00\xff" * 1000)
        result = self.near.run("open('out.bin', 'wb').write(b'x')")
        self.assertNotIn("base64", result["files"][0])

    def test_each_verdict_of_the_other_side_is_passed_on(self):
        for code, kind, exit_code, more in (
                ("1/0", "exception", 1, {}), ("import sys; sys.exit(7)", "exit", 7, {}),
                ("while True: pass", "timeout", 124, {"timeout_ms": 300}),
                ("x = bytearray(400 << 20)\nfor i in range(0, len(x), 4096): x[i] = 1", "memory", 137,
                 {"limits": {"memory": "64MiB"}}),
                ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "killed", 139, {})):
            result = self.near.run(code, kind=kind, **more)
            self.assertEqual((result["verdict"]["exit_code"], result["verdict"]["by"]), (exit_code, "remote"), kind)
        self.assertEqual(self.near.run("1/0", kind="exception")["error"]["type"], "ZeroDivisionError")

    def test_limits_are_never_more_than_the_policy_here_grants(self):
        result = self.near.run("import resource", limits={"output": "2KiB", "memory": "100MiB"})
        self.assertEqual(result["backend"], "remote")
        result = self.near.run("print('x' * 5000)", limits={"output": "2KiB"})
        self.assertEqual((len(result["stdout"]), result["truncated"]["stdout"]), (2048, True))

    def test_commands_and_charts_are_for_it_too(self):
        self.assertEqual(self.near.run(command="echo hi; pwd")["stdout"], "hi\n/workspace\n")
        result = self.near.run("_chart = {'type': 'bar', 'data': [], 'categoryKey': 'a', 'valueKeys': []}\n"
                               "_table = {'columns': ['a'], 'rows': [[1]]}")
        self.assertEqual((result["charts"][0]["kind"], result["table"]["rows"]), ("spec", [[1]]))

    def test_large_inputs_go_along(self):
        rows = [[i, "x" * 100] for i in range(40000)]
        code = "len(data) if not isinstance(data, dict) else len(data['rows'])"
        self.assertEqual(self.near.run(code, data={"columns": ["a", "b"], "rows": rows})
                         ["result"]["application/json"], 40000)

    def test_a_client_that_leaves_ends_it_on_both_sides(self):
        run = self.near.start_run("print('on', flush=True)\nwhile True: pass", timeout_ms=60000)
        with self.near.events(run) as events:
            events.until_text("on")
            far_run = self.far.ask("GET", "/v1/runs?limit=1")["runs"][0]["id"]
            self.near.ask("DELETE", f"/v1/runs/{run}")
            self.assertEqual(events.until("verdict")["verdict"]["kind"], "cancelled")
        self.assertEqual(self.far.result(far_run)["verdict"]["kind"], "cancelled")

    def test_a_refusal_over_there_is_told_in_its_words(self):
        result = self.near.run("1", kind="backend", runtime="full", cwd="relative")
        self.assertIn("the remote refused (HTTP 400): cwd: ", result["verdict"]["message"])

    def test_health_and_status_name_the_active_one_and_the_way_to_the_others(self):
        for path in ("/health", "/v1/status"):
            tree = self.near.ask("GET", path, status=(200, 503))
            self.assertEqual((tree["backend"], tree["active"]["python"], tree["pin"]), ("remote",) * 3)
            self.assertEqual(tree["active"]["session"], "fail-closed")
            self.assertEqual(backend(tree, "remote")["kind"], "vivarium")
            self.assertNotIn(str(self.far.port), json.dumps(tree))
            for row in tree["backends"]:
                self.assertEqual(row["available"], row["why"] is None)
                self.assertEqual(row["available"], row["remedy"] is None)
            self.assertIn("backends.process.development", backend(tree, "process")["remedy"])

    def test_a_pin_forbids_every_other(self):
        answer = self.near.request("POST", "/v1/run", {"code": "1", "backend": "namespace"})
        self.assertEqual((answer.status, answer.error["kind"]), (403, "forbidden"))
        answer = self.near.request("POST", "/v1/run", {"code": "1", "backend": "nosuch"})
        self.assertEqual(answer.status, 404)

    def test_runs_of_its_own_stay_in_the_log_and_in_the_audit(self):
        run = self.near.run("print(1)")["id"]
        self.assertEqual(self.near.result(run)["backend"], "remote")
        with open(self.near.path("state", "audit.jsonl"), encoding="utf-8") as file:
            line, = [json.loads(text) for text in file if run in text]
        self.assertEqual((line["verdict"], line["op"]), ("ok", "run"))


class OtherSide(unittest.TestCase):
    """A remote that is wrong, goes away, or comes back."""

    @classmethod
    def setUpClass(cls):
        cls.far = Daemon(TOKENS + "explore: {root: /etc}\n")
        cls.addClassCleanup(cls.far.stop)

    def near(self, more="pin: remote", token=SECRET, config="", **kw):
        daemon = Daemon(near_config(self.far, more, token) + config, beside=[self.far], **kw)
        self.addCleanup(daemon.stop)
        return daemon

    def test_a_wrong_token_is_told_and_runs_nothing(self):
        result = self.near(token="wrong").run("1", kind="backend")
        self.assertIn("the remote refused (HTTP 401)", result["verdict"]["message"])
        self.assertNotIn("wrong", result["verdict"]["message"])

    def test_explore_without_a_folder_of_our_own_is_over_there(self):
        near = self.near()
        found = near.ask("POST", "/v1/explore", {"command": "cat hostname; exit 3"})
        with open("/etc/hostname", encoding="utf-8") as file:
            self.assertEqual((found["stdout"], found["exit_code"]), (file.read(), 3))
        self.assertEqual((found["verdict"]["kind"], found["verdict"]["by"]), ("exit", "remote"))
        found = near.ask("POST", "/v1/explore", {"command": "ls", "root": "nosuch"})
        self.assertIn("the remote refused (HTTP 404)", found["verdict"]["message"])

    def test_a_folder_of_our_own_is_never_looked_at_over_there(self):
        near = self.near("order: atlas-planner", config="explore: {root: /usr}\n")
        self.assertIn("bin\n", near.ask("POST", "/v1/explore", {"command": "ls"})["stdout"])
        self.assertEqual(near.ask("GET", "/v1/status")["active"],
                         {"python": "remote", "command": "remote", "session": "namespace", "explore": "namespace"})

    def test_by_strength_this_host_is_first(self):
        near = self.near("order: strength")
        self.assertEqual(near.run("1")["backend"], "namespace")
        self.assertEqual(near.run("1", backend="remote")["backend"], "remote")

    def test_what_only_this_host_can_do_is_done_here_unless_pinned(self):
        near = self.near("order: atlas-documented", config="policies: {vault: {data: /usr/share}}\n")
        self.assertEqual(near.run("1")["backend"], "remote")
        self.assertEqual(near.run("1", policy="vault")["backend"], "namespace")
        answer = near.request("POST", "/v1/run", {"code": "1", "policy": "vault", "backend": "remote"})
        self.assertEqual(answer.status, 501)
        self.assertIn("/data is on this host", answer.error["message"])

    def test_the_guard_is_asked_here_before_anything_is_sent(self):
        result = self.near().run("import os", kind="guard", policy="analysis")
        self.assertEqual(result["verdict"]["by"], "runner")

    def test_a_policy_pins_too(self):
        near = self.near("order: strength", config="policies: {away: {backend: remote}, here: {backend: namespace}}\n")
        self.assertEqual(near.run("1", policy="away")["backend"], "remote")
        self.assertEqual(near.run("1", policy="here")["backend"], "namespace")
        answer = near.request("POST", "/v1/run", {"code": "1", "policy": "here", "backend": "remote"})
        self.assertEqual(answer.status, 403)

    def test_one_that_dies_takes_its_runs_and_a_pin_refuses_until_it_is_back(self):
        far = Daemon("", beside=[self.far])
        self.addCleanup(far.stop)
        near = Daemon(f"backends:\n  pin: remote\n  remote: {{url: 'http://127.0.0.1:{far.port}', timeout_ms: 5000}}\n",
                      beside=[self.far, far])
        self.addCleanup(near.stop)
        port = far.port
        run = near.start_run("print('on', flush=True)\nimport time; time.sleep(60)", timeout_ms=90000)
        with near.events(run) as events:
            events.until_text("on")
            far.kill9()
            verdict = events.until("verdict")["verdict"]
        self.assertEqual((verdict["kind"], verdict["by"]), ("backend", "supervisor"))
        self.assertIn("the remote broke off before the run's end", verdict["message"])

        def refused():
            answer = near.request("POST", "/v1/run", {"code": "1"})
            return answer if answer.status == 501 else None
        message = wait_for(refused, what="the refusal").error["message"]
        self.assertIn("backend: remote is pinned, but it cannot be used: it does not answer",
                      message)
        self.assertEqual(near.request("GET", "/health").json["backend"], "fail-closed")
        far.flags = ["--listen", f"127.0.0.1:{port}"]
        far.start()
        wait_for(lambda: near.request("POST", "/v1/run", {"code": "1"}).status == 200, what="its return")

    def test_a_daemon_that_dies_ends_its_runs_over_there_as_its_own_failure(self):
        near = self.near()
        run = near.start_run("print('on', flush=True)\nimport time; time.sleep(60)", timeout_ms=90000)
        with near.events(run) as events:
            events.until_text("on")
        near.restart()
        result = near.result(run)
        self.assertEqual((result["verdict"]["kind"], result["stdout"]), ("backend", "on\n"))


class Loop(unittest.TestCase):
    """A remote that is the daemon itself, as when all parts of an Atlas share one environment."""

    def test_a_run_is_passed_on_once(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        daemon = Daemon(f"listen: ['127.0.0.1:{port}']\ndialects: {{atlas: {{enabled: true, policy: default}}}}\n",
                        env={"ATLAS_SANDBOX_URL": f"http://127.0.0.1:{port}"}, start=False)
        daemon.start()
        self.addCleanup(daemon.stop)
        for _ in range(3):
            self.assertEqual(daemon.run("print(1)")["stdout"], "1\n")
        self.assertTrue(daemon.ask("POST", "/exec-python", {"code": "print(1)"})["success"])
        answer = daemon.request("POST", "/v1/run", {"code": "1", "backend": "remote"},
                                headers={"Vivarium-Forwarded": "1"})
        self.assertEqual(answer.status, 501)
        self.assertIn("it was passed on to this host already", answer.error["message"])
        answer = daemon.request("POST", "/v1/explore", {"command": "ls"})
        self.assertIn("it was passed on to this host already", answer.json["verdict"]["message"])


class Atlas(unittest.TestCase):
    """An Atlas door on this side, and one that answers as a sidecar on the other."""

    CODE = "print(data is df, len(df))\n_atlas_table = {'columns': ['a'], 'rows': [[1]]}\n"

    PICTURES = ("import matplotlib.pyplot as plt\nfor n in range(2):\n    plt.figure()\n    plt.plot([n, 1])\n"
                "    plt.savefig(chart_path(n))\n    print(n)\n")

    @classmethod
    def setUpClass(cls):
        cls.far = Daemon("dialects: {atlas: {enabled: true, policy: default}}\n")
        cls.addClassCleanup(cls.far.stop)

    def test_a_sidecar_of_our_own_is_one(self):
        config = (f"backends:\n  pin: remote\n  remote: {{url: 'http://127.0.0.1:{self.far.port}', kind: atlas}}\n")
        with Daemon(config, beside=[self.far]) as near:
            result = near.run(self.CODE, data={"columns": ["a"], "rows": [[1], [2]]})
            self.assertEqual((result["stdout"], result["table"]["rows"]), ("True 2\n", [[1]]))
            self.assertEqual(near.run("1/0", kind="exception")["error"]["type"], "ZeroDivisionError")
            self.assertEqual(near.run("while True: pass", kind="timeout", timeout_ms=1000)["verdict"]["by"], "remote")

    def test_its_clients_get_the_same_from_a_vivarium_behind_us(self):
        config = (f"backends:\n  pin: remote\n  remote: {{url: 'http://127.0.0.1:{self.far.port}'}}\n"
                  "dialects: {atlas: {enabled: true, policy: default}}\n")
        body = {"code": self.CODE, "data": {"columns": ["a"], "rows": [[1], [2]]}}
        with Daemon(config, beside=[self.far]) as near:
            self.assertEqual(near.ask("GET", "/health", status=(200, 503))["backend"], "remote")
            self.assertEqual(near.ask("POST", "/exec-python", body), self.far.ask("POST", "/exec-python", body))
            body = {"code": self.PICTURES}
            here, there = (daemon.ask("POST", "/exec-python", body) for daemon in (near, self.far))
            self.assertEqual((len(here["charts"]), here), (2, there))
            here, there = (daemon.request("POST", "/exec-python-stream", body).body for daemon in (near, self.far))
            self.assertEqual((here.count(b'"type":"chart"'), here), (2, there))

    def test_a_refusal_is_in_its_words(self):
        config = "backends: {priority: [remote]}\ndialects: {atlas: {enabled: true, policy: default}}\n"
        with Daemon(config, beside=[self.far]) as near:
            answer = near.ask("POST", "/exec-python", {"code": "1"}, status=500)
            self.assertEqual(answer, {"success": False, "error":
                                      "Execution failed: All backends in sandbox.priority (sidecar) failed to "
                                      "initialize. sidecar: no address is configured"})


class Choice(unittest.TestCase):
    """Pins, lists and refusals that need no second machine."""

    def daemon(self, config="", **kw):
        daemon = Daemon(config, **kw)
        self.addCleanup(daemon.stop)
        return daemon

    def test_atlas_pins_the_jail_and_its_list_is_exact(self):
        with Daemon(env={"ATLAS_SANDBOX": "nsjail"}) as daemon:
            self.assertEqual((daemon.run("1")["backend"], daemon.ask("GET", "/v1/status")["pin"]),
                             ("namespace",) * 2)
        daemon = self.daemon(env={"ATLAS_SANDBOX_PRIORITY": "vercel-sandbox,sidecar"})
        answer = daemon.request("POST", "/v1/run", {"code": "1"})
        self.assertEqual((answer.status, answer.error["message"]),
                         (501, "All backends in sandbox.priority (vercel-sandbox, sidecar) failed to initialize. "
                               "vercel-sandbox: this version of viv does not have it; sidecar: no address is "
                               "configured"))
        self.assertEqual(daemon.ask("GET", "/health", status=503)["backend"], "fail-closed")

    def test_a_wrong_setting_stops_the_start(self):
        for env, message in (({"ATLAS_SANDBOX": "docker"}, "ATLAS_SANDBOX: docker is not a backend"),
                             ({"ATLAS_SANDBOX_PRIORITY": ""}, "ATLAS_SANDBOX_PRIORITY: (nothing)"),
                             ({"ATLAS_SANDBOX": "nsjail", "ATLAS_SANDBOX_PRIORITY": "sidecar"},
                              "ATLAS_SANDBOX: namespace is not in ATLAS_SANDBOX_PRIORITY, so nothing could run"),
                             ({"ATLAS_SANDBOX_URL": "sidecar:8080"}, "Invalid ATLAS_SANDBOX_URL: sidecar:8080")):
            daemon = Daemon(env=env, start=False)
            self.addCleanup(daemon.sweep)
            daemon.process = daemon.spawn()
            self.assertEqual(daemon.process.wait(60), 2)
            self.assertIn(message, daemon.log())

    def test_process_runs_explore_in_development_and_never_python(self):
        daemon = self.daemon("backends: {pin: process, process: {development: true}}\nexplore: {root: /usr}\n")
        self.assertIn("WITHOUT ANY ISOLATION", daemon.log())
        found = daemon.ask("POST", "/v1/explore", {"command": "echo $PWD; echo e >&2; exit 4", "cwd": "share"})
        self.assertEqual((found["stdout"], found["stderr"], found["exit_code"]), ("/usr/share\n", "e\n", 4))
        self.assertEqual(found["verdict"]["by"], "supervisor")
        for body in ({"code": "1"}, {"command": "id"}):
            answer = daemon.request("POST", "/v1/run", body)
            self.assertEqual((answer.status, answer.error["kind"]), (501, "unsupported"))
            self.assertIn("never for Python", answer.error["message"])
        self.assertEqual(daemon.request("POST", "/v1/sessions", {}).status, 501)

    def test_process_ends_what_takes_too_long_and_what_is_too_loud(self):
        daemon = self.daemon("backends: {pin: process, process: {development: true}}\nexplore: {root: /usr}\n")
        found = daemon.ask("POST", "/v1/explore", {"command": "echo a; sleep 61 & sleep 60", "timeout_ms": 300})
        self.assertEqual((found["stdout"], found["exit_code"], found["verdict"]["kind"]), ("a\n", 124, "timeout"))
        found = daemon.ask("POST", "/v1/explore", {"command": "yes"})
        self.assertEqual((len(found["stdout"]), found["verdict"]["kind"]), (1 << 20, "output"))
        found = daemon.ask("POST", "/v1/explore", {"command": "kill -9 $$"})
        self.assertEqual((found["exit_code"], found["verdict"]["kind"]), (137, "killed"))
        found = daemon.ask("POST", "/v1/explore", {"command": "sleep 60 & echo b"})
        self.assertEqual(found["stdout"], "b\n")
        # They were killed, and are ours to reap.
        wait_for(lambda: not {"sleep", "yes"} & set(daemon.living().values()), what="the end of what was started")

    def test_process_is_off_unless_asked_for(self):
        daemon = self.daemon("backends: {priority: [process]}\nexplore: {root: /usr}\n")
        answer = daemon.request("POST", "/v1/explore", {"command": "ls"})
        self.assertEqual(answer.status, 501)
        self.assertIn("off unless this is development", answer.error["message"])


class CommandLine(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.far = Daemon(TOKENS)
        cls.addClassCleanup(cls.far.stop)

    def viv(self, *words, config="", env=None):
        path = self.far.path("cli.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(config)
        return subprocess.run([VIV, *words, "--config", path], capture_output=True, text=True, timeout=120,
                              env={"PATH": "/usr/bin:/bin", "HOME": self.far.path("home"), **(env or {})},
                              check=False)

    def test_a_run_without_a_daemon_can_be_done_elsewhere(self):
        done = self.viv("run", "--no-daemon", "--backend", "remote", "-c", "print('hi')\n6*7",
                        config=near_config(self.far, "order: strength"))
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "hi\n42\n", ""))
        folder = self.far.path("out")
        done = self.viv("run", "--no-daemon", "--backend", "remote", "--out", folder, "-c",
                        "open('a.bin', 'wb').write(b'\\x00\\xff'); None", config=near_config(self.far, "order: strength"))
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(os.path.join(folder, "a.bin"), "rb") as file:
            self.assertEqual(file.read(), b"\x00\xff")

    def test_a_pin_that_is_broken_refuses(self):
        done = self.viv("run", "--no-daemon", "-c", "1", config="backends: {pin: remote}")
        self.assertEqual(done.returncode, 125)
        self.assertIn("backend: remote is pinned, but it cannot be used", done.stderr)

    def test_doctor_names_the_active_one_and_the_way_to_the_others(self):
        done = self.viv("doctor", "--json", config=near_config(self.far))
        report = json.loads(done.stdout)
        rows = {row["name"]: row for row in report["backends"]}
        self.assertEqual(rows["remote"]["active_for"], "python, command, explore")
        self.assertTrue(rows["remote"]["available"])
        self.assertFalse(rows["process"]["available"])
        self.assertIn("backends.process.development", rows["process"]["remedy"])
        self.assertEqual((done.returncode, report["ok"]), (0, True))
        done = self.viv("doctor", config="backends: {pin: remote, remote: {url: 'http://127.0.0.1:1'}}")
        self.assertEqual(done.returncode, 1)
        self.assertIn("it does not answer", done.stdout)


if __name__ == "__main__":
    unittest.main()
