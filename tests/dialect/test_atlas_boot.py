# SPDX-License-Identifier: Apache-2.0
"""`viv serve --dialect atlas`: what the environment of Atlas's sidecar decides."""

import hashlib
import os
import unittest

from atlas_case import Daemon, make_semantic, wait_for

SECRET = "a secret of the sidecar"
BEARER = {"Authorization": f"Bearer {SECRET}"}


class Boot(unittest.TestCase):
    def make(self, env, config="", flags=("--dialect", "atlas")):
        daemon = Daemon(config, flags=flags, env={"PORT": "0", **env}, start=False)
        self.addCleanup(daemon.sweep)
        daemon.semantic = make_semantic(daemon.path("semantic"))
        daemon.env.setdefault("SEMANTIC_DIR", daemon.semantic)
        return daemon

    def refuses(self, env, *words, **kw):
        daemon = self.make(env, **kw)
        process = daemon.spawn()
        self.assertEqual(process.wait(60), 1, daemon.log())
        for word in words:
            self.assertIn(word, daemon.log())

    def starts(self, env, **kw):
        daemon = self.make(env, **kw)
        daemon.start()
        return daemon

    def test_without_a_token_it_does_not_start(self):
        for env in ({}, {"SIDECAR_AUTH_TOKEN": ""}, {"SIDECAR_AUTH_DISABLE": "true"}, {"SIDECAR_AUTH_DISABLE": "0"},
                    {"SIDECAR_AUTH_DISABLE": ""}, {"SIDECAR_AUTH_TOKEN": "", "SIDECAR_AUTH_DISABLE": "yes"}):
            with self.subTest(env=env):
                self.refuses(env, "SIDECAR_AUTH_TOKEN")

    def test_a_port_that_is_none_is_refused(self):
        for port in ("x", "65536", "-1", "80 80"):
            self.refuses({"SIDECAR_AUTH_TOKEN": SECRET, "PORT": port}, "PORT")

    def test_an_unknown_dialect_is_refused(self):
        self.refuses({}, "no dialect nobody", flags=("--dialect", "nobody"))

    def test_the_token_is_asked_for(self):
        daemon = self.starts({"SIDECAR_AUTH_TOKEN": SECRET, "SIDECAR_AUTH_DISABLE": "1"})
        self.assertIn(f"listening on http://0.0.0.0:{daemon.port}", daemon.log())
        daemon.host = "127.0.0.1"
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": SECRET},
                        {"Authorization": f"Basic {SECRET}"}, {"Authorization": f"Bearer {SECRET}x"},
                        {"Authorization": "Bearer " + "x" * 5000}, {"X-Sandbox-Token": SECRET}):
            for path in ("/exec", "/exec-python", "/exec-python-stream"):
                with self.subTest(headers=headers, path=path):
                    answer = daemon.request("POST", path, b"not even json", headers=headers)
                    self.assertEqual((answer.status, answer.json), (401, {"error": "Unauthorized"}))
        answer = daemon.request("POST", "/exec-python", '{"code":"print(1)"}', headers=BEARER)
        self.assertEqual(answer.json, {"success": True, "output": "1"})
        answer = daemon.request("POST", "/exec", '{"command":"cat catalog.yml"}', headers=BEARER)
        self.assertEqual(answer.json, {"stdout": "name: shop\n", "stderr": "", "exitCode": 0})
        self.assertEqual(daemon.request("GET", "/health").json["semanticDir"], daemon.semantic)
        self.assertEqual(daemon.request("POST", "/v1/run", '{"code":"1"}').status, 401)
        self.assertEqual(daemon.request("POST", "/v1/run", '{"code":"1"}', headers=BEARER).status, 200)

    def test_the_secret_is_handed_on_to_nobody(self):
        self.refuses({"SIDECAR_AUTH_TOKEN": "x" * 513}, "SIDECAR_AUTH_TOKEN")
        daemon = self.starts({"SIDECAR_AUTH_TOKEN": SECRET})
        with open(f"/proc/{daemon.launch_pid}/environ", "rb") as file:
            self.assertNotIn(SECRET.encode(), file.read())

    def test_it_starts_in_a_home_that_holds_nothing(self):
        daemon = self.make({"SIDECAR_AUTH_DISABLE": "1"})
        home = daemon.path("home")
        with open(daemon.path("vivarium.yaml"), "w", encoding="utf-8") as file:
            file.write("{}\n")
        daemon.env["XDG_RUNTIME_DIR"] = home
        if os.geteuid() == 0:
            daemon.wrap = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        process = daemon.spawn()
        try:
            wait_for(lambda: "listening on unix:" in daemon.log() or process.poll() is not None,
                     what="a word of the daemon")
            self.assertIn("listening on unix:", daemon.log())
            self.assertTrue(os.path.isdir(os.path.join(home, ".local/state/vivarium")))
        finally:
            process.terminate()
            self.assertEqual(process.wait(60), 0, daemon.log())

    def test_it_answers_to_the_name_a_container_has(self):
        daemon = self.starts({"SIDECAR_AUTH_TOKEN": SECRET})
        daemon.host = "127.0.0.1"
        answer = daemon.request("POST", "/exec-python", '{"code":"print(1)"}', headers={**BEARER, "Host": "sandbox:80"})
        self.assertEqual(answer.json, {"success": True, "output": "1"})
        answer = daemon.request("POST", "/exec-python", '{"code":"print(1)"}',
                                headers={**BEARER, "Origin": "http://evil.example"})
        self.assertEqual(answer.status, 403)

    def test_only_its_routes_and_v1_are_there(self):
        daemon = self.starts({"SIDECAR_AUTH_TOKEN": SECRET})
        daemon.host = "127.0.0.1"
        for path in ("/", "/metrics", "/openapi.json", "/mcp", "/atlas/health", "/exec/", "/v1"):
            with self.subTest(path=path):
                answer = daemon.request("GET", path, headers=BEARER)
                self.assertEqual((answer.status, answer.json), (404, {"error": "Not found"}))
        self.assertEqual(daemon.request("GET", "/v1/status", headers=BEARER).status, 200)

    def test_without_auth_only_this_machine_can_connect(self):
        daemon = self.starts({"SIDECAR_AUTH_DISABLE": "1"})
        self.assertIn(f"listening on http://127.0.0.1:{daemon.port}", daemon.log())
        self.assertIn("SIDECAR_AUTH_DISABLE", daemon.log())
        answer = daemon.request("POST", "/exec-python", '{"code":"print(1)"}')
        self.assertEqual(answer.json, {"success": True, "output": "1"})
        answer = daemon.request("GET", "/health", headers={"Host": "evil.example"})
        self.assertEqual(answer.status, 403)

    def test_no_auth_and_tokens_of_the_config_contradict_each_other(self):
        line = f"tokens:\n  - {{name: a, sha256: {hashlib.sha256(b'x').hexdigest()}}}\n"
        self.refuses({"SIDECAR_AUTH_DISABLE": "1"}, "SIDECAR_AUTH_DISABLE", config=line)

    def test_a_folder_that_is_not_there_shows_in_health(self):
        daemon = self.starts({"SIDECAR_AUTH_TOKEN": SECRET, "SEMANTIC_DIR": "/nowhere/at/all"})
        daemon.host = "127.0.0.1"
        answer = daemon.request("GET", "/health")
        self.assertEqual(answer.status, 503)
        self.assertEqual(answer.json["status"], "error")
        self.assertIn("SEMANTIC_DIR not readable: ", answer.json["error"])
        answer = daemon.request("POST", "/exec", '{"command":"ls"}', headers=BEARER)
        self.assertEqual((answer.status, answer.json["exitCode"], answer.json["stdout"]), (500, 1, ""))
        self.assertTrue(answer.json["error"].startswith("Execution failed: "), answer)
        self.assertTrue(os.path.isabs(daemon.semantic))


if __name__ == "__main__":
    unittest.main()
