# SPDX-License-Identifier: Apache-2.0
"""The command line of ELITEA's Deno program: `viv compat elitea`."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "api"))
from daemon import VIV  # noqa: E402


class Compat(unittest.TestCase):
    def viv(self, *flags, text=None, **env):
        done = subprocess.run([VIV, "compat", "elitea", *flags], input=text, capture_output=True,
                              timeout=120, check=False, env={**os.environ, **env},
                              stdin=None if text is not None else subprocess.DEVNULL)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def answer(self, *flags, status=0, **more):
        code, out, err = self.viv(*flags, **more)
        self.assertEqual((code, err), (status, ""), out)
        self.assertEqual(out.count("\n"), 1)
        return json.loads(out)

    def test_one_object_with_four_members(self):
        self.assertEqual(self.answer("-c", "print(1)\nprint('a\\nb')\n[1, (2,)]"),
                         {"stdout": "1\na\nb\n", "stderr": None, "result": [1, [2]], "success": True})

    def test_code_from_a_file_and_from_stdin(self):
        with tempfile.NamedTemporaryFile(suffix=".py") as file:
            file.write("'é' * 2".encode())
            file.flush()
            self.assertEqual(self.answer("--file", file.name)["result"], "éé")
        long = b"x = '" + b"a" * 300_000 + b"'\nlen(x)"
        self.assertEqual(self.answer("--stdin", text=long)["result"], 300_000)

    def test_a_failure_is_one_and_has_the_traceback(self):
        body = self.answer("-c", "print('p')\n1/0", status=1)
        self.assertEqual((body["success"], body["stdout"], body["result"]), (False, "p\n", None))
        self.assertIn("Traceback (most recent call last):", body["stderr"])
        self.assertIn("ZeroDivisionError", body["stderr"])
        body = self.answer("-c", "while True: pass", status=1, SANDBOX_TIMEOUT_SECONDS="1")
        self.assertEqual(body["stderr"], "Execution timed out after 1 seconds")

    def test_a_session_goes_from_call_to_call_and_survives_a_failure(self):
        def go(code, before=None, status=0):
            given = () if before is None else ("-b", json.dumps(before["sessionBytes"]),
                                               "-m", json.dumps(before["sessionMetadata"]))
            return self.answer("-s", "-c", code, *given, status=status)

        first = go("x = 5\ndef f(): return x + 1")
        self.assertTrue(all(0 <= number <= 255 for number in first["sessionBytes"]))
        self.assertEqual(set(first["sessionMetadata"]), {"created", "lastModified", "packages"})
        failed = go("x = 7\n1/0", first, status=1)
        self.assertEqual((failed["sessionBytes"], failed["sessionMetadata"]),
                         (first["sessionBytes"], first["sessionMetadata"]))
        second = go("f()", failed)
        self.assertEqual(second["result"], 6)
        self.assertEqual(second["sessionMetadata"]["created"], first["sessionMetadata"]["created"])

    def test_bytes_without_metadata(self):
        body = self.answer("-s", "-c", "print('ran')", "-b", "[1, 2]", status=1)
        self.assertEqual((body["stdout"], body["stderr"], body["success"]),
                         (None, "sessionMetadata is required when providing sessionBytes", False))

    def test_hostile_bytes_run_nothing(self):
        for text in ("[]", "[1,2,3]", "[255]"):
            body = self.answer("-s", "-c", "print('ran')", "-b", text, "-m", "{}", status=1)
            self.assertEqual((body["stdout"], body["success"]), (None, False), text)
            self.assertIn("session_bytes: ", body["stderr"])

    def test_bad_usage_prints_no_object(self):
        for flags, status in (((), 1), (("-s",), 1), (("-c", "1", "-b", "[256]"), 2),
                              (("-c", "1", "-b", "[1,]"), 2), (("-c", "1", "-b", "[1"), 2),
                              (("-c", "1", "-b", "x"), 2), (("-c", "1", "-b", "[1] 2"), 2),
                              (("-c", "1", "-m", "[1]"), 2), (("-c", "1", "-m", "{"), 2),
                              (("-f", "/no/such/file"), 125), (("--what",), 2)):
            code, out, err = self.viv(*flags)
            self.assertEqual((code, out), (status, ""), flags)
            self.assertIn("viv compat", err)
        self.assertEqual(subprocess.run([VIV, "compat", "other"], capture_output=True,
                                        check=False).returncode, 2)

    def test_the_stand_in_for_deno_takes_what_langchain_sandbox_says(self):
        shim = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples",
                            "elitea", "deno")
        env = {**os.environ, "PATH": os.path.dirname(VIV) + ":" + os.environ["PATH"]}

        def deno(*words):
            return subprocess.run([shim, *words], capture_output=True, env=env, timeout=120, check=False)

        self.assertEqual(deno("--version").returncode, 0)
        done = deno("run", "--allow-env", "--allow-read=node_modules", "--node-modules-dir=auto",
                    "--v8-flags=--max-old-space-size=64", "jsr:@langchain/pyodide-sandbox@0.0.4",
                    "-c", "'a b\\n'", "-s")
        body = json.loads(done.stdout)
        self.assertEqual((done.returncode, body["result"]), (0, "a b\n"))
        self.assertIn("sessionBytes", body)
        self.assertEqual(json.loads(deno("run", "-A", "main.ts", "-c", "6*7").stdout)["result"], 42)

    def test_help_and_version(self):
        code, out, _ = self.viv("-h")
        self.assertEqual(code, 0)
        for flag in ("--code", "--file", "--stdin", "--stateful", "--session-bytes",
                     "--session-metadata", "--version"):
            self.assertIn(flag, out)
        self.assertEqual(self.viv("-V")[0], 0)


if __name__ == "__main__":
    unittest.main()
