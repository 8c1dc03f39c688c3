# SPDX-License-Identifier: Apache-2.0
"""Synapse's own HTTP routes, as its clients speak them: runs, and the shapes of what goes wrong."""

import concurrent.futures
import hashlib
import json
import os
import unittest

from vaults import Daemon, wait_for, with_vault

TEST = "/api/tools/python/test"
CUSTOM = "/api/tools/python/custom"
TRANSFORM = "/api/tools/python/transform"
PACKAGES = ["pandas", "pandas_ta", "numpy", "scipy", "scikit-learn", "matplotlib", "seaborn", "requests",
            "httpx", "beautifulsoup4", "lxml", "openpyxl", "xlsxwriter", "pyyaml", "tabulate", "jinja2",
            "jsonschema", "pillow", "sympy"]


class Synapse(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = with_vault()
        cls.addClassCleanup(cls.daemon.stop)

    def post(self, path, body, status=200):
        answer = self.daemon.request("POST", path, json.dumps(body).encode()
                                     if not isinstance(body, bytes) else body)
        self.assertEqual(answer.status, status, answer)
        return answer.json

    def run_code(self, code, **more):
        return self.post(TEST, {"code": code, **more})

    # ---- what stands for Docker ----

    def test_docker_is_there_and_needs_no_build(self):
        answer = self.daemon.request("GET", "/api/tools/docker/status")
        self.assertEqual((answer.status, answer.json),
                         (200, {"installed": True, "running": True, "image_exists": True}))
        built = self.post("/api/tools/docker/build", {})
        self.assertEqual((set(built), built["success"]), ({"success", "output"}, True))
        self.assertLessEqual(len(built["output"]), 3000)

    def test_the_packages_are_listed_in_their_order(self):
        answer = self.daemon.request("GET", "/api/tools/python/packages")
        self.assertEqual(answer.json, {"packages": PACKAGES})

    def test_the_routes_are_below_the_name_too(self):
        answer = self.daemon.request("GET", "/synapse/api/tools/python/packages")
        self.assertEqual(answer.json, {"packages": PACKAGES})

    # ---- runs ----

    def test_code_runs_with_args_and_json(self):
        self.assertEqual(self.run_code("import sys\nprint(json.dumps(_args))\nprint('e', file=sys.stderr)",
                                   args={"a": [1, "\u00e4", None]}),
                         {"exit_code": 0, "stdout": '{"a": [1, "\\u00e4", null]}\n', "stderr": "e\n"})

    def test_args_are_an_empty_dict_when_there_are_none(self):
        for more in ({}, {"args": None}, {"args": {}}):
            self.assertEqual(self.run_code("print(_args == {} and type(_args) is dict)", **more)["stdout"], "True\n")

    def test_it_is_a_script_and_no_cell(self):
        self.assertEqual(self.run_code("print(__name__, __file__)\n6*7"),
                         {"exit_code": 0, "stdout": "__main__ /sandbox/script.py\n", "stderr": ""})

    def test_an_exception_is_exit_code_1_with_its_traceback(self):
        answer = self.run_code("print('before')\n1/0")
        self.assertEqual((answer["exit_code"], answer["stdout"]), (1, "before\n"))
        self.assertTrue(answer["stderr"].startswith("Traceback (most recent call last):\n"))
        self.assertTrue(answer["stderr"].endswith("ZeroDivisionError: division by zero\n"))
        self.assertIn("line 2", answer["stderr"])

    def test_an_exit_code_is_its_own(self):
        self.assertEqual(self.run_code("import sys\nsys.exit(7)"), {"exit_code": 7, "stdout": "", "stderr": ""})
        self.assertEqual(self.run_code("import os\nos._exit(9)")["exit_code"], 9)

    def test_a_signal_is_128_more(self):
        answer = self.run_code("import ctypes\nctypes.string_at(0)")
        self.assertEqual(answer["exit_code"], 139)
        self.assertIn("SIGSEGV", answer["stderr"])

    def test_too_much_memory_says_so(self):
        answer = self.run_code("x = [bytearray(1 << 20) for _ in range(4000)]")
        self.assertEqual(answer["exit_code"], 137)
        self.assertIn("out of memory", answer["stderr"])

    def test_a_timeout_has_its_own_shape(self):
        answer = self.run_code("print('lost', flush=True)\nwhile True: pass", timeout=1)
        self.assertEqual(answer, {"exit_code": -1, "stdout": "", "stderr": "Execution timed out after 1s"})

    def test_timeouts_are_clamped_never_refused(self):
        for seconds in (100000, -3, 0, 1, 59.0, "5", True, None):
            self.assertEqual(self.run_code("print(1)", timeout=seconds)["exit_code"], 0, seconds)

    def test_output_is_cut_at_characters(self):
        answer = self.run_code("import sys\nprint('\U0001f600' * 30000)\nsys.stderr.write('\u00e4' * 9000)")
        self.assertEqual(answer["stdout"], "\U0001f600" * 20000)
        self.assertEqual(answer["stderr"], "\u00e4" * 5000)

    def test_nothing_stays_from_run_to_run(self):
        self.run_code("open('/workspace/x', 'w').write('x')\nopen('/tmp/x', 'w').write('x')")
        self.assertEqual(self.run_code("import os\nprint(os.path.exists('/workspace/x'), os.path.exists('/tmp/x'))"),
                         {"exit_code": 0, "stdout": "False False\n", "stderr": ""})

    def test_there_is_no_network(self):
        answer = self.run_code("import socket\nsocket.create_connection(('127.0.0.1', %d), 2)" % self.daemon.port)
        self.assertEqual(answer["exit_code"], 1)

    def test_the_vault_is_at_data_and_read_only(self):
        with open(os.path.join(self.daemon.vault, "seen.txt"), "w", encoding="utf-8") as file:
            file.write("from the host")
        answer = self.run_code("print(open('/data/seen.txt').read())\n"
                           "for act in (lambda: open('/data/seen.txt', 'w'), lambda: open('/data/new', 'w'),\n"
                           "            lambda: __import__('os').remove('/data/seen.txt')):\n"
                           "    try:\n        act()\n    except OSError as e:\n        print(e.errno)")
        self.assertEqual((answer["stdout"], answer["stderr"]), ("from the host\n30\n30\n30\n", ""))

    def test_what_is_written_to_the_vault_is_seen_at_once(self):
        self.post("/api/vault/file", {"path": "", "name": "live.txt", "content": "live"})
        self.assertEqual(self.run_code("print(open('/data/live.txt').read())")["stdout"], "live\n")

    def test_many_at_once(self):
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda n: self.daemon.request(
                "POST", TEST, json.dumps({"code": f"print({n})"}).encode()).json["stdout"], range(16)))
        self.assertEqual(answers, [f"{n}\n" for n in range(16)])

    def test_a_client_that_leaves_takes_its_run_along(self):
        before = len(self.daemon.request("GET", "/v1/runs").json["runs"])
        connection = self.daemon.connection()
        connection.request("POST", TEST, json.dumps({"code": "while True: pass", "timeout": 60}))

        def newest():
            runs = self.daemon.request("GET", "/v1/runs").json["runs"]
            return runs[0] if len(runs) > before else None

        run = wait_for(newest, what="the run")
        connection.close()
        result = wait_for(lambda: (lambda r: r if r["verdict"] else None)(
            self.daemon.request("GET", f"/v1/runs/{run['id']}").json), what="its end")
        self.assertEqual(result["verdict"]["kind"], "cancelled")

    # ---- custom tools and transforms ----

    def test_a_custom_tool_answers_the_json_that_it_printed(self):
        self.assertEqual(self.post(CUSTOM, {"code": "print(json.dumps({'sum': sum(_args['n'])}))",
                                            "args": {"n": [1, 2]}}), {"sum": 3})
        self.assertEqual(self.post(CUSTOM, {"code": "print('[1, null, \"\\u00e4\"]\\n')"}), [1, None, "\u00e4"])
        self.assertEqual(self.post(CUSTOM, {"code": "print(json.dumps(['x' * 9] * 9000))"}), ["x" * 9] * 9000)

    def test_a_custom_tool_that_prints_no_json(self):
        self.assertEqual(self.post(CUSTOM, {"code": "print('a', 1)"}), {"output": "a 1\n"})
        self.assertEqual(self.post(CUSTOM, {"code": "print(float('nan'))"}), {"output": "nan\n"})
        self.assertEqual(self.post(CUSTOM, {"code": "pass"}), {"output": ""})

    def test_a_custom_tool_that_fails(self):
        answer = self.post(CUSTOM, {"code": "print('so far')\nraise ValueError('no')"})
        self.assertEqual((set(answer), answer["error"], answer["stdout"]),
                         ({"error", "stderr", "stdout"}, "Python tool exited with code 1", "so far\n"))
        self.assertTrue(answer["stderr"].endswith("ValueError: no\n"))

    def test_a_transform_takes_state_and_gives_result(self):
        self.assertEqual(self.post(TRANSFORM, {"code": "print('noise')\nresult = {'n': len(state['x'])}",
                                               "state": {"x": [1, 2]}}), {"n": 2})
        self.assertEqual(self.post(TRANSFORM, {"code": "result = [float('nan'), {1, 1}]"}), [None, [1]])
        self.assertEqual(self.post(TRANSFORM, {"code": "result = 0"}), 0)
        self.assertEqual(self.post(TRANSFORM, {"code": "if True:\n    result = 'in\\n'\n# the end"}), "in\n")

    def test_a_result_that_json_has_no_form_for_is_its_text(self):
        for code, value in (("b'x'", "b'x'"), ("1j", "1j"), ("range(3)", [0, 1, 2]), ("10 ** 30", "1" + "0" * 30)):
            self.assertEqual(self.post(TRANSFORM, {"code": f"result = {code}"}), value)
        self.assertTrue(self.post(TRANSFORM, {"code": "result = object()"}).startswith("<object object at"))

    def test_what_is_too_large_to_come_whole_is_no_answer(self):
        for code, why in (("result = 'x' * 5_000_000", "result is larger than can be kept"),
                          ("print('x' * 2_000_000)", "more was printed than can be kept")):
            self.assertEqual(self.post(TRANSFORM, {"code": code}, 500), {"detail": f"Transform failed (exit 0): {why}"})
        answer = self.post(CUSTOM, {"code": "print(json.dumps('x' * 2_000_000))"})
        self.assertEqual((set(answer), answer["error"], len(answer["stdout"])),
                         ({"error", "stderr", "stdout"}, "Python tool printed more than can be kept", 20000))
        self.assertEqual(len(self.post(CUSTOM, {"code": "print('x' * 500_000)"})["output"]), 500_001)

    def test_a_transform_without_a_result(self):
        self.assertIsNone(self.post(TRANSFORM, {"code": "x = 1"}))
        self.assertEqual(self.post(TRANSFORM, {"code": "print('text')"}), "text\n")
        self.assertEqual(self.post(TRANSFORM, {"code": "print('{\"a\": 1}')"}), {"a": 1})

    def test_a_transform_that_fails(self):
        answer = self.post(TRANSFORM, {"code": "1/0"}, 500)
        self.assertTrue(answer["detail"].startswith("Transform failed (exit 1): Traceback"), answer)
        answer = self.post(TRANSFORM, {"code": "import sys\nsys.stderr.write('e' * 900)\nsys.exit(2)"}, 500)
        self.assertEqual(answer["detail"], "Transform failed (exit 2): " + "e" * 500)
        answer = self.post(TRANSFORM, {"code": "while True: pass", "timeout": 1}, 500)
        self.assertEqual(answer["detail"], "Transform failed (exit -1): Execution timed out after 1s")

    # ---- what is refused ----

    def test_blank_code_is_refused(self):
        for path in (TEST, CUSTOM, TRANSFORM):
            for code in ("", " \n\t "):
                self.assertEqual(self.post(path, {"code": code}, 400), {"detail": "No code provided"})

    def test_wrong_types_are_422_with_the_place(self):
        cases = [({}, "code"), ({"code": 1}, "code"), ({"code": None}, "code"), ({"code": ["x"]}, "code"),
                 ({"code": "1", "args": [1]}, "args"), ({"code": "1", "args": "x"}, "args"),
                 ({"code": "1", "timeout": "soon"}, "timeout"), ({"code": "1", "timeout": 1.5}, "timeout"),
                 ({"code": "1", "timeout": []}, "timeout")]
        for body, field in cases:
            answer = self.post(TEST, body, 422)
            self.assertEqual(answer["detail"][0]["loc"], ["body", field], body)
            self.assertTrue({"type", "msg"} <= set(answer["detail"][0]))
        self.assertEqual(self.post(TEST, {"code": 1}, 422)["detail"][0]["type"], "string_type")

    def test_what_is_no_json_is_422(self):
        for body in (b"{", b"{\"code\": }", b"\xff\xfe", b"{\"code\": \"1\"} more", b"[" * 5000):
            answer = self.post(TEST, body, 422)
            self.assertEqual(answer["detail"][0]["type"], "json_invalid", body[:20])
        for body in (b"", b"[]", b"1", b"null"):
            self.assertEqual(self.post(TEST, body, 422)["detail"][0]["loc"], ["body", "code"], body)

    def test_code_of_strange_characters_is_only_code(self):
        self.assertEqual(self.run_code("print('\u2028\U0001f600')")["stdout"], "\u2028\U0001f600\n")
        self.assertEqual(self.run_code("print(1)\x00")["exit_code"], 1)
        answer = self.daemon.request("POST", TEST, b'{"code": "print(\'\\ud800\')"}')
        self.assertIn(answer.status, (200, 422))
        self.assertIn("exit_code" if answer.status == 200 else "detail", answer.json)

    def test_a_method_that_is_not_there(self):
        self.assertEqual(self.daemon.request("GET", TEST).status, 405)
        self.assertEqual(self.daemon.request("GET", TEST).json, {"detail": "Method Not Allowed"})
        self.assertEqual(self.daemon.request("GET", "/synapse/api/nothing").json, {"detail": "Not Found"})

    def test_large_args_arrive_whole(self):
        answer = self.run_code("print(len(_args['rows']), _args['rows'][-1])", args={"rows": [[n, "x" * 50]
                                                                                          for n in range(50000)]})
        self.assertEqual(answer["stdout"], f"50000 {[49999, 'x' * 50]}\n")


class Tokens(unittest.TestCase):
    def test_a_token_is_taken_from_either_header(self):
        secret = "s" * 40
        digest = hashlib.sha256(secret.encode()).hexdigest()
        with with_vault(f"tokens: [{{name: bob, sha256: {digest}}}]\n") as daemon:
            for headers, status in (({}, 403), ({"X-Synapse-Internal": "wrong"}, 403),
                                    ({"X-Synapse-Internal": secret}, 200),
                                    ({"Authorization": f"Bearer {secret}"}, 200)):
                answer = daemon.request("GET", "/api/tools/docker/status", headers=headers)
                self.assertEqual(answer.status, status, headers)
                if status == 403:
                    self.assertEqual(set(answer.json), {"detail"})
            answer = daemon.request("POST", TEST, b"{", headers={"X-Synapse-Internal": "wrong"})
            self.assertEqual(answer.status, 403)  # before the body is looked at


class Start(unittest.TestCase):
    def test_a_vault_that_cannot_be_written_stops_the_start(self):
        daemon = Daemon(start=False)
        try:
            os.mkdir(daemon.path("vault"), 0o555)
            if os.geteuid() == 0:
                os.chmod(daemon.path("vault"), 0o755)  # root's, and the daemon serves as another user
            daemon.write_config(f"dialects: {{synapse: {{enabled: true, vault: {daemon.path('vault')}}}}}\n")
            process = daemon.spawn()
            self.assertNotEqual(process.wait(60), 0)
            self.assertIn("must be able to read and write there", daemon.log())
            self.assertIn("install -d -o ", daemon.log())
        finally:
            daemon.sweep()

    def test_a_vault_that_is_the_whole_machine_stops_the_start(self):
        daemon = Daemon(start=False)
        try:
            daemon.write_config("dialects: {synapse: {enabled: true, vault: /}}\n")
            process = daemon.spawn()
            self.assertNotEqual(process.wait(60), 0)
            self.assertIn("would show too much of the host", daemon.log())
        finally:
            daemon.sweep()

    def test_without_a_vault_the_rest_works(self):
        with Daemon("dialects: {synapse: {enabled: true}}\n") as daemon:
            answer = daemon.request("POST", TEST, b'{"code": "print(1)"}')
            self.assertEqual(answer.json, {"exit_code": 0, "stdout": "1\n", "stderr": ""})
            answer = daemon.request("GET", "/api/vault/tree")
            self.assertEqual(answer.status, 501)
            self.assertIn("dialects.synapse.vault", answer.json["detail"])

    def test_alone_its_own_token_counts(self):
        with Daemon("", flags=["--dialect", "synapse"], env={"SYNAPSE_INTERNAL_TOKEN": "s3cret"}) as daemon:
            status = "/api/tools/docker/status"
            for headers in ({}, {"X-Synapse-Internal": "wrong"}):
                self.assertEqual(daemon.request("GET", status, headers=headers).status, 403)
            headers = {"X-Synapse-Internal": "s3cret", "Host": "synapse.example:7878"}
            self.assertEqual(daemon.request("GET", status, headers=headers).status, 200)

    def test_it_is_closed_unless_it_is_opened(self):
        with Daemon() as daemon:
            self.assertEqual(daemon.request("GET", "/api/tools/docker/status").status, 404)


if __name__ == "__main__":
    unittest.main()
