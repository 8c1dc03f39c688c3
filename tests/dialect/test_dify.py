# SPDX-License-Identifier: Apache-2.0
"""The sandbox of Dify's code node, as Dify's API server speaks to it."""

import hashlib
import json

from small_case import MIB, NO_OBJECTS, SmallCase

SECRET = "dify-sandbox"

# How Dify calls a function of the user: its result is found between two marks in stdout.
WRAPPED = """def main(arg):
    return {"answer": arg["x"] * 2}

import json
from base64 import b64decode
inputs = json.loads(b64decode('eyJhcmciOiB7IngiOiAyMX19').decode('utf-8'))
output = main(**inputs)
print(f'''<<RESULT>>{json.dumps(output, indent=4)}<<RESULT>>''')
"""


class Dify(SmallCase):
    DOOR = "dify"
    MORE = f"tokens: [{{name: dify, sha256: {hashlib.sha256(SECRET.encode()).hexdigest()}}}]\n"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.daemon.token = SECRET  # for what tests ask of /v1

    def send(self, body, path="/v1/sandbox/run", key=SECRET, method="POST"):
        headers = {"X-Api-Key": key} if key else {}
        anonymous = self.daemon.as_token(None)
        return anonymous.request(method, path, body, headers=headers)

    def run_code(self, code, **more):
        answer = self.send({"language": "python3", "code": code, **more})
        self.assertEqual(answer.status, 200, answer)
        told = answer.json
        self.assertEqual((list(told), told["code"], told["message"]), (["code", "message", "data"], 0, "success"), told)
        self.assertEqual(list(told["data"]), ["stdout", "stderr", "error", "exit_code"])
        return told["data"]

    def refused(self, body, word="", code=-400):
        before = self.run_count()
        answer = self.send(body)
        self.assertEqual(answer.status, 200, answer)
        told = answer.json
        self.assertEqual((list(told), told["code"], told["data"]), (["code", "message", "data"], code, None), told)
        self.assertIn(word, told["message"])
        self.assertEqual(self.run_count(), before)

    def test_the_result_of_a_wrapped_function_is_found(self):
        data = self.run_code(WRAPPED)
        self.assertEqual((data["error"], data["exit_code"]), ("", 0), data)
        self.assertEqual(json.loads(data["stdout"].split("<<RESULT>>")[1]), {"answer": 42})

    def test_stdout_is_exact(self):
        text = "ä€😀\t\x00\r\n \"\\"
        self.assertEqual(self.run_code(f"import sys\nsys.stdout.write({text!r})\n5")["stdout"], text)

    def test_a_warning_is_no_error(self):
        data = self.run_code("import warnings\nwarnings.warn('careful')\nprint(1)")
        self.assertEqual((data["error"], data["stdout"]), ("", "1\n"))
        self.assertIn("careful", data["stderr"])

    def test_a_failure_is_an_error_and_keeps_what_was_printed(self):
        data = self.run_code("print(1)\nraise KeyError('k')")
        self.assertEqual((data["stdout"], data["exit_code"]), ("1\n", 1))
        self.assertIn("KeyError: 'k'", data["error"])
        data = self.run_code("import sys\nsys.exit(4)")
        self.assertEqual(data["exit_code"], 4)
        self.assertTrue(data["error"])
        data = self.run_code("x = [0] * (1 << 30)")
        self.assertTrue(data["error"])

    def test_half_of_an_output_is_an_error(self):
        data = self.run_code("print('x' * 2_000_000)")
        self.assertEqual((len(data["stdout"]), data["exit_code"]), (1 << 20, 0))
        self.assertIn("was cut", data["error"])
        data = self.run_code("import sys\nsys.stderr.write('x' * 2_000_000)\nprint(1)")
        self.assertEqual((data["stdout"], data["error"]), ("1\n", ""))

    def test_preloaded_code_runs_first(self):
        self.assertEqual(self.run_code("print(x)", preload="x = 7")["stdout"], "7\n")
        self.assertEqual(self.run_code("print(1)", preload="", enable_network=True)["stdout"], "1\n")

    def test_code_of_any_length_runs(self):
        self.assertEqual(self.run_code("# " + "x" * (3 * MIB) + "\nprint(2)")["stdout"], "2\n")

    def test_packages_are_listed(self):
        for path in ("/v1/sandbox/dependencies", "/v1/sandbox/dependencies?language=python3", "/v1/sandbox/dependencies/refresh"):
            told = self.send(None, path, method="GET").json
            self.assertEqual((told["code"], told["message"]), (0, "success"))
            names = [item["name"].lower() for item in told["data"]["dependencies"]]
            self.assertIn("numpy", names)
        self.assertEqual(self.send({}, "/v1/sandbox/dependencies/update").json, {"code": 0, "message": "success", "data": {}})

    def test_it_says_that_it_is_well(self):
        self.assertEqual(self.daemon.as_token(None).request("GET", "/dify/health").json, "ok")

    def test_a_wrong_key_gets_an_empty_401(self):
        before = self.run_count()
        for key in (None, "wrong", SECRET + "x", ""):
            answer = self.send({"language": "python3", "code": "print(1)"}, key=key)
            self.assertEqual((answer.status, answer.body), (401, b""))
        self.assertEqual(self.run_count(), before)

    def test_wrong_members_are_named(self):
        good = {"language": "python3", "code": "print(1)"}
        for change, word in (({"language": "nodejs"}, "language"), ({"language": None}, "language"), ({"language": 3}, "language"),
                             ({"language": ["python3"]}, "language"), ({"code": None}, "code"), ({"code": 7}, "code"),
                             ({"code": ""}, "code"), ({"code": ["print(1)"]}, "code"),
                             ({"preload": 1}, "preload"), ({"preload": ["import os"]}, "preload")):
            with self.subTest(change=change):
                self.refused({**good, **change}, word)

    def test_a_host_of_somebody_else_is_refused(self):
        self.assert_other_host_refused("/v1/sandbox/run", ["code", "message", "data"])

    def test_what_is_no_object_is_refused(self):
        for body in NO_OBJECTS:
            with self.subTest(body=body[:30]):
                self.refused(body)

    def test_a_run_ends_with_its_client(self):
        self.daemon.token = SECRET
        self.leave_while_it_runs("/v1/sandbox/run", {"language": "python3", "code": "while True: pass"}, f"X-Api-Key: {SECRET}\r\n")
