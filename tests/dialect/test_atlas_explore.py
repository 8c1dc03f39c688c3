# SPDX-License-Identifier: Apache-2.0
"""POST /api/v1/explore of Atlas's own API: one text for all that comes of a command."""

import concurrent.futures
import hashlib
import json
import os

from atlas_case import MIB, AtlasCase, wait_for

PATH = "/api/v1/explore"
CUT = "\n[output truncated: exceeded 1 MB limit]"
SECRET = "open sesame"


class Explore(AtlasCase):
    def output(self, command, **more):
        answer = self.post(PATH, {"command": command, **more})
        self.assertEqual((answer.status, set(answer.json)), (200, {"output"}), answer)
        return answer.json["output"]

    def test_output_is_one_text(self):
        self.assertEqual(self.output("cat catalog.yml"), "name: shop\n")
        self.assertEqual(self.output("ls entities metrics; echo oops >&2"),
                         "entities:\norders.yml\n\nmetrics:\nsales.yml\n")
        self.assertEqual(self.output("true"), "(no output)")
        self.assertEqual(self.output("echo unseen >&2"), "(no output)")
        self.assertEqual(self.output("pwd"), "/semantic\n")
        self.assertEqual(self.output("printf 'h\\xc3\\xa9\\n\"\\\\'"), "hé\n\"\\")

    def test_a_failure_is_a_text_too(self):
        self.assertEqual(self.output("echo before; echo wrong >&2; exit 3"), "Error (exit 3):\nwrong\n")
        self.assertEqual(self.output("grep nothing catalog.yml"), "Error (exit 1):\n")
        self.assertIn("Read-only file system", self.output("touch new"))
        self.assertTrue(self.output("python3 -c 1").startswith("Error (exit 126):\n"))
        self.assertTrue(self.output("kill -KILL $PPID; sleep 9").startswith("Error (exit 137):\n"))

    def test_ten_seconds_at_most(self):
        self.assertEqual(self.output("echo on; sleep 60"), "Error (exit 124):\nCommand timed out after 10000ms")

    def test_a_mebibyte_at_most(self):
        self.assertEqual(self.output(f"head -c {MIB} /dev/zero | tr '\\0' a"), "a" * MIB)
        self.assertEqual(self.output(f"head -c {MIB + 1} /dev/zero | tr '\\0' a"), "a" * MIB + CUT)
        for text in (self.output("yes"), self.output("yes é")):
            self.assertTrue(text.endswith(CUT))
            # Half a character at the cut is shown as one that is not known.
            self.assertLessEqual(len(text.encode()), MIB + len(CUT) + 2)

    def test_commands_are_trimmed_and_counted(self):
        self.assertEqual(self.output(" \n\techo x \r\n"), "x\n")
        self.assertEqual(len(self.output("echo " + "x" * 3995)), 3996)
        self.assertEqual(self.output("#" + "é" * 3999), "(no output)")
        for command in ("echo " + "x" * 3996, "#" + "\U0001f600" * 2000, "", "   \n", "a\0b", None, 1, ["ls"], {}, True):
            answer = self.post(PATH, {"command": command})
            self.assertEqual((answer.status, answer.json["error"]), (422, "validation_error"), answer)
            self.assertEqual(answer.json["details"][0]["path"], ["command"])
        for body in ("{}", "[]", "null", '"ls"'):
            self.assertEqual(self.post(PATH, body).status, 422, body)

    def test_other_members_are_not_looked_at(self):
        self.assertEqual(self.output("echo x", org="o", workspace={"a": [1]}, cwd="/etc", timeout=1, root="z"), "x\n")

    def test_what_is_no_json(self):
        for body in ("", "{", '{"command":"ls"', "\xff", '{"command":"ls"} x'):
            answer = self.post(PATH, body.encode("latin-1"))
            self.assertEqual((answer.status, answer.json),
                             (400, {"error": "invalid_request", "message": "Invalid JSON body."}), body)

    def test_a_folder_that_is_gone(self):
        gone = self.semantic + ".gone"
        os.rename(self.semantic, gone)
        try:
            text = self.output("ls")
        finally:
            os.rename(gone, self.semantic)
        self.assertTrue(text.startswith("Error: Explore tool is unavailable — "), text)
        self.assertNotIn(self.semantic, text)
        self.assertEqual(self.output("cat catalog.yml"), "name: shop\n")

    def test_ten_at_once(self):
        with concurrent.futures.ThreadPoolExecutor(10) as threads:
            wait = [threads.submit(self.output, "sleep 100") for _ in range(10)]
            wait_for(lambda: list(self.daemon.processes().values()).count("sleep") == 10)
            answer = self.post(PATH, {"command": "ls"})
            self.assertEqual((answer.status, answer.json["error"]), (429, "rate_limited"))
            self.assertEqual(self.post("/exec", {"command": "ls"}).json, {"error": "Too many concurrent executions"})
            self.assertEqual({one.result(60)[:16] for one in wait}, {"Error (exit 124)"})
        self.assertEqual(self.output("echo x"), "x\n")

    def test_only_post(self):
        for method in ("GET", "PUT", "DELETE"):
            self.assertEqual(self.daemon.request(method, PATH).status, 404)


class Keys(AtlasCase):
    @classmethod
    def setUpClass(cls):
        cls.MORE = "}, piston: {enabled: false"
        super().setUpClass()
        cls.daemon.terminate()
        with open(cls.daemon.path("vivarium.yaml"), "a", encoding="utf-8") as file:
            file.write(f"tokens: [{{name: a, sha256: {hashlib.sha256(SECRET.encode()).hexdigest()}}}]\n")
        cls.daemon.start()

    def test_a_key_by_either_header(self):
        body = json.dumps({"command": "echo x"})
        for headers in ({"X-API-Key": SECRET}, {"Authorization": f"Bearer {SECRET}"}):
            answer = self.daemon.request("POST", PATH, body, headers=headers)
            self.assertEqual((answer.status, answer.json), (200, {"output": "x\n"}))
        for headers in ({}, {"X-API-Key": "wrong"}, {"Authorization": "Bearer wrong"}, {"Authorization": SECRET}):
            answer = self.daemon.request("POST", PATH, body, headers=headers)
            self.assertEqual((answer.status, answer.json["error"]), (401, "unauthorized"), headers)
        self.assertEqual(self.daemon.request("POST", PATH, "{").status, 401)
