# SPDX-License-Identifier: Apache-2.0
"""The Inspector's command line: what it says of our schemas, single calls, and its load test."""

import base64
import hashlib
import json
import os

from case import VIV, ClientCase, npm

LOAD = 200
AT_A_TIME = 4


class InspectorCase(ClientCase):
    def inspect(self, *args):
        """One call. Where its output is JSON it is one object, `result` or `error`."""
        program = os.path.join(npm(), "@modelcontextprotocol", "inspector", "clients", "launcher", "build", "index.js")
        return self.node(program, "--cli", *args)

    def result(self, *args):
        status, out, err = self.inspect(*args, "--format", "json")
        self.assertEqual(status, 0, out + err)
        return json.loads(out)["result"]

    def call(self, *args, code="print(6*7)"):
        return self.result(*args, "--method", "tools/call", "--tool-name", "run_python", "--tool-arg", "code=" + code)

    @property
    def mcp(self):
        return self.url + "/mcp"

    def assert_strict(self, *target, tools=("run_python",)):
        status, out, err = self.inspect(*target, "--method", "tools/list", "--strict")
        self.assertEqual(status, 0, err)
        for name in tools:
            self.assertIn(f'"{name}"', out)
        self.assertEqual(err.strip(), "", "the Inspector has found something")


class Inspector(InspectorCase):
    def test_strict_finds_nothing_over_http(self):
        self.assert_strict(self.mcp)

    def test_strict_finds_nothing_over_http_in_the_modern_era(self):
        self.assert_strict(self.mcp, "--protocol-era", "modern")

    def test_strict_finds_nothing_over_stdio(self):
        self.assert_strict(VIV, "mcp")

    def test_a_call_in_each_era(self):
        for era in ("legacy", "modern", "auto"):
            with self.subTest(era=era):
                result = self.call(self.mcp, "--protocol-era", era)
                self.assertEqual(result["structuredContent"]["stdout"], "42\n")

    def test_a_call_over_stdio(self):
        for era in ("legacy", "modern"):
            with self.subTest(era=era):
                result = self.call(VIV, "mcp", "--protocol-era", era)
                self.assertEqual(result["structuredContent"]["stdout"], "42\n")

    def test_a_figure_is_an_image(self):
        code = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()"
        result = self.result(self.mcp, "--method", "tools/call", "--tool-name", "run_python", "--tool-args-json",
                             json.dumps({"code": code}))
        (image,) = (item for item in result["content"] if item["type"] == "image")
        self.assertTrue(base64.b64decode(image["data"]).startswith(bytes.fromhex("89504e470d0a1a0a")))

    # As a task: the Inspector declares that it knows them, and a call that takes long becomes one.
    def test_a_long_run_comes_back(self):
        result = self.result(self.mcp, "--protocol-era", "modern", "--method", "tools/call", "--tool-name", "run_python",
                             "--tool-args-json", json.dumps({"code": "import time\ntime.sleep(6)\nprint(42)"}))
        self.assertEqual(result["structuredContent"]["stdout"], "42\n")

    def test_its_load_test_has_no_error(self):
        for era in ("legacy", "modern"):
            with self.subTest(era=era):
                told = self.call(self.mcp, "--protocol-era", era, "--load", "--load-requests", str(LOAD),
                                 "--load-concurrency", str(AT_A_TIME), code="1")
                self.assertEqual((told["requests"], told["ok"], told["toolErrors"], told["errors"]), (LOAD, LOAD, 0, 0), told)


class WithDialects(InspectorCase):
    CONFIG = "dialects: {agentrail: {enabled: true}, elitea: {enabled: true}, synapse: {enabled: true}}\n"

    def test_strict_finds_nothing_in_their_tools(self):
        for era in ("legacy", "modern"):
            with self.subTest(era=era):
                self.assert_strict(self.mcp, "--protocol-era", era,
                                   tools=("run_python", "Python", "Bash", "stateful_pyodide_sandbox", "sandbox_execute"))


class WithToken(InspectorCase):
    CONFIG = f"tokens: [{{name: alice, sha256: {hashlib.sha256(b'secret').hexdigest()}}}]\n"

    def test_only_the_token_opens_the_door(self):
        for era in ("legacy", "modern"):
            with self.subTest(era=era):
                result = self.call(self.mcp, "--protocol-era", era, "--header", "Authorization: Bearer secret")
                self.assertEqual(result["structuredContent"]["stdout"], "42\n")
                for header in ("Authorization: Bearer wrong", "X-Other: secret"):
                    status, out, err = self.inspect(self.mcp, "--protocol-era", era, "--header", header, "--method", "tools/list",
                                                    "--stored-auth-only", "--format", "json")
                    self.assertNotEqual(status, 0, out)
                    self.assertNotIn("run_python", out + err)
