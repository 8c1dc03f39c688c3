# SPDX-License-Identifier: Apache-2.0
"""Piston's API, as its own clients speak it."""

import base64
import json
import socket

from small_case import MIB, NO_OBJECTS, SmallCase, wait_for

KEYS = ["stdout", "stderr", "output", "code", "signal", "message", "status", "cpu_time", "wall_time", "memory"]


class Piston(SmallCase):
    DOOR = "piston"

    def execute(self, content="", status=200, **more):
        body = {"language": "python", "version": "*", "files": [{"content": content}], **more}
        answer = self.post("/api/v2/execute", body)
        self.assertEqual(answer.status, status, answer)
        return answer.json

    def refused(self, body, word=""):
        """A request that is refused as Piston refuses: 400, {"message"}, and nothing runs."""
        before = self.run_count()
        answer = self.post("/api/v2/execute", body)
        self.assertEqual((answer.status, list(answer.json)), (400, ["message"]), answer)
        self.assertIn(word, answer.json["message"])
        self.assertEqual(self.run_count(), before)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.runtimes = cls.daemon.ask("GET", "/api/v2/runtimes")

    def test_there_is_one_runtime(self):
        (python,) = self.runtimes
        self.assertEqual(sorted(python), ["aliases", "language", "version"])
        self.assertEqual(python["language"], "python")
        self.assertEqual(self.execute("import sys\nprint('%d.%d.%d' % sys.version_info[:3])")["run"]["stdout"].strip(),
                         python["version"])

    def test_it_is_served_below_its_own_name_too(self):
        self.assertEqual(self.daemon.ask("GET", "/piston/api/v2/runtimes"), self.runtimes)

    def test_a_run_has_exactly_these_members(self):
        answer = self.execute("print('out')")
        self.assertEqual(list(answer), ["language", "version", "run"])
        run = answer["run"]
        self.assertEqual(list(run), KEYS)
        self.assertEqual([run[key] for key in KEYS[:7]], ["out\n", "", "out\n", 0, None, None, None])
        self.assertTrue(all(isinstance(run[key], int) for key in KEYS[7:]), run)

    def test_both_streams_are_also_told_in_the_order_they_were_written(self):
        code = "import sys\nfor i in range(3):\n    print('o', i, flush=True)\n    print('e', i, file=sys.stderr, flush=True)"
        run = self.execute(code)["run"]
        self.assertEqual(run["stdout"], "o 0\no 1\no 2\n")
        self.assertEqual(run["stderr"], "e 0\ne 1\ne 2\n")
        self.assertEqual(sorted(run["output"].splitlines()), sorted((run["stdout"] + run["stderr"]).splitlines()))

    def test_every_character_comes_back(self):
        text = "ä€😀\x00\x1b\"\\\u2028"
        self.assertEqual(self.execute(f"print({text!r}, end='')")["run"]["stdout"], text)

    def test_arguments_and_stdin_arrive(self):
        run = self.execute("import sys\nprint(sys.argv[1:], input(), input())", args=["a b", "'\"$x"], stdin="1\n2")["run"]
        self.assertEqual(run["stdout"], "['a b', '\\'\"$x'] 1 2\n")
        run = self.execute("import sys\nprint(sys.stdin.read())", stdin="live")["run"]  # a text, as any other
        self.assertEqual(run["stdout"], "live\n")

    def test_the_first_text_is_the_program_and_all_files_are_there(self):
        files = [{"name": "a.bin", "content": base64.b64encode(bytes(range(256))).decode(), "encoding": "base64"},
                 {"name": "b.bin", "content": "00ff", "encoding": "hex"},
                 {"name": "lib/main.py", "content": "import sys\nsys.path.append('.')\nimport other\nprint(other.x, __file__,"
                                                    "len(open('a.bin', 'rb').read()), open('b.bin', 'rb').read())"},
                 {"name": "other.py", "content": "x = 7"}]
        run = self.execute(files=files)["run"]
        self.assertEqual(run["stdout"], "7 /workspace/lib/main.py 256 b'\\x00\\xff'\n", run["stderr"])

    def test_a_trailing_value_is_not_printed(self):
        self.assertEqual(self.execute("5")["run"]["output"], "")

    def test_ways_to_end(self):
        run = self.execute("print(1)\nraise ValueError('no')", files=[{"name": "x.py", "content": "print(1)\nraise ValueError('no')"}])["run"]
        self.assertEqual((run["code"], run["signal"], run["status"], run["stdout"]), (1, None, "RE", "1\n"))
        self.assertTrue(run["stderr"].endswith("ValueError: no\n"), run)
        self.assertIn('File "/workspace/x.py", line 2', run["stderr"])
        run = self.execute("import sys\nsys.exit(3)")["run"]
        self.assertEqual((run["code"], run["signal"], run["status"]), (3, None, "RE"))
        run = self.execute("import os\nos.kill(os.getpid(), 11)")["run"]
        self.assertEqual((run["code"], run["signal"], run["status"]), (None, "SIGSEGV", "SG"))
        run = self.execute("print('on', flush=True)\nwhile True: pass", run_timeout=300)["run"]
        self.assertEqual((run["code"], run["signal"], run["status"], run["stdout"]), (None, "SIGKILL", "TO", "on\n"))
        self.assertIn("300", run["message"])
        self.assertRegex(run["message"], r"; do less in one run, or give it more time if the request can \(the policy allows up to .*\)$")
        run = self.execute("import no_such")["run"]
        self.assertIn("nothing can be installed from here", run["message"])
        run = self.execute("x = bytearray(1 << 30)", run_memory_limit=64 * MIB)["run"]
        self.assertTrue(run["signal"] == "SIGKILL" or "MemoryError" in run["stderr"], run)

    def test_an_output_that_was_cut_says_so(self):
        run = self.execute("print('x' * 2_000_000)")["run"]
        self.assertEqual((run["code"], run["signal"], run["status"], len(run["stdout"])), (0, None, "OL", MIB))
        self.assertIn("was cut", run["message"])
        run = self.execute("print('x' * 2_000_000)\n1/0")["run"]
        self.assertEqual((run["code"], run["status"]), (1, "OL"))

    def test_versions_are_ranges(self):
        version = self.runtimes[0]["version"]
        for given in (version, "3", "3.x", "^3.6", ">=3.6 <4"):
            self.assertEqual(self.execute("print(1)", version=given)["version"], version)

    def test_names_of_the_language(self):
        for given in ("python", "py", "python3"):
            self.assertEqual(self.execute("print(1)", language=given)["language"], "python")

    def test_what_piston_client_sends_is_taken(self):
        body = ('{"language":"python","version":"*","files":[{"content":"print(1)"}],"stdin":"","args":["1"],"compile_timeout":10000,'
                '"run_timeout":3000,"compile_memory_limit":-1,"run_memory_limit":-1,"run_cpu_time":3000,"something":{"new":1}}')
        answer = self.post("/api/v2/execute", body, headers={"Content-Type": "text/plain;charset=UTF-8"})
        self.assertEqual((answer.status, answer.json["run"]["stdout"]), (200, "1\n"))

    def test_wrong_members_are_named(self):
        good = {"language": "python", "version": "*", "files": [{"content": "print(1)"}]}
        for change, word in (
                ({"language": None}, "language"), ({"language": 7}, "language"), ({"language": ""}, "language"),
                ({"version": None}, "version"), ({"version": 3}, "version"),
                ({"language": "cobol"}, "cobol-*"), ({"version": "2.7"}, "python-2.7"), ({"version": "x" * 5000}, "python-x"),
                ({"files": None}, "files"), ({"files": {}}, "files"), ({"files": []}, "files"), ({"files": [7]}, "files[0].content"),
                ({"files": [{"content": 7}]}, "files[0].content"), ({"files": [{"content": "x"}] * 1001}, "files"),
                ({"files": [{"content": "", "encoding": "hex"}]}, "files"),
                ({"files": [{"content": "x", "encoding": "hex"}]}, "files[0].content"),
                ({"files": [{"content": "????", "encoding": "base64"}]}, "files[0].content"),
                ({"files": [{"content": "x", "encoding": "utf7"}]}, "files[0].encoding"),
                ({"files": [{"content": "x", "name": "../x"}]}, "files[0].name"),
                ({"files": [{"content": "x", "name": "/etc/x"}]}, "files[0].name"),
                ({"files": [{"content": "x", "name": "a/../../x"}]}, "files[0].name"),
                ({"files": [{"content": "x", "name": "x" * 2000}]}, "files[0].name"),
                ({"args": "x"}, "args"), ({"args": [1]}, "args[0]"), ({"args": [""] * 1001}, "args"),
                ({"stdin": 7}, "stdin"), ({"run_timeout": "3"}, "run_timeout"), ({"run_timeout": -5}, "run_timeout"),
                ({"run_timeout": 10 ** 9}, "run_timeout"), ({"run_timeout": 1e300}, "run_timeout"),
                ({"run_memory_limit": 1 << 50}, "run_memory_limit"), ({"run_memory_limit": []}, "run_memory_limit"),
                ({"compile_timeout": {}}, "compile_timeout"), ({"run_cpu_time": "x"}, "run_cpu_time")):
            with self.subTest(change=str(change)[:80]):
                self.refused({**good, **change}, word)

    def test_a_host_of_somebody_else_is_refused(self):
        self.assert_other_host_refused("/api/v2/execute", ["message"])

    def test_what_is_no_object_is_refused(self):
        for body in NO_OBJECTS:
            with self.subTest(body=body[:30]):
                self.refused(body)

    def test_a_body_that_is_too_large_is_refused(self):
        before = self.run_count()
        answer = self.post("/api/v2/execute", {"language": "python", "version": "*", "files": [{"content": "#" * (2 * MIB)}]})
        self.assertEqual((answer.status, list(answer.json)), (413, ["message"]), answer.status)
        self.assertEqual(self.run_count(), before)

    def test_other_paths_and_methods_are_not_found_in_its_own_words(self):
        for method, path in (("GET", "/api/v2/execute"), ("POST", "/api/v2/runtimes"), ("GET", "/piston/api/v2/packages")):
            answer = self.daemon.request(method, path)
            self.assertEqual((answer.status, list(answer.json)), (404, ["message"]), path)

    def test_a_run_ends_with_its_client(self):
        self.leave_while_it_runs("/api/v2/execute", {"language": "python", "version": "*", "run_timeout": 60000,
                                                     "files": [{"content": "while True: pass"}]})


class PistonWithToken(SmallCase):
    DOOR = "piston"
    MORE = "tokens: [{name: alice, sha256: " \
           "f5e1f7a4d1cd3a7d7e1b7b5c4b3fd4b3b8d2d5a5c64d7b3a1a0f6f0e4d0e7b3c}]\n"

    def test_without_a_token_nothing_is_told(self):
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "wrong"}):
            for method, path in (("GET", "/api/v2/runtimes"), ("POST", "/api/v2/execute")):
                answer = self.daemon.request(method, path, "{", headers=headers)
                self.assertEqual((answer.status, list(answer.json)), (401, ["message"]), answer)


class PistonTrees(SmallCase):
    """A body of {} is a tree of many times its size, for as long as its run lasts."""

    DOOR = "elitea: {enabled: true}, piston"
    MORE = f"limits: {{body: {2 * MIB}}}\n"  # trees and answers may take four times that

    def test_many_values_are_refused_before_they_are_built(self):
        many = [{}] * 60000
        piston = {"language": "python", "version": "*", "files": [{"content": "1"}], "more": many}
        self.assertEqual(self.post("/api/v2/execute", piston).status, 413)
        self.assertEqual(self.post("/elitea/execute", {"code": "1", "session_metadata": {"more": many}}).status, 413)

    def test_large_trees_wait_for_each_other(self):
        def piston(code):
            return {"language": "python", "version": "*", "files": [{"content": code}], "more": more}

        more = [{}] * 10000 + ["x" * 200000]
        elitea = {"code": "1", "session_metadata": {"more": more}}
        self.assertEqual(self.post("/api/v2/execute", piston("print(1)")).json["run"]["stdout"], "1\n")
        self.assertEqual(self.post("/elitea/execute", elitea).status, 200)
        body = json.dumps(piston("while True: pass")).encode()
        with socket.create_connection(("127.0.0.1", self.daemon.port)) as client:
            client.sendall(b"POST /api/v2/execute HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s"
                           % (len(body), body))
            wait_for(self.living, what="the run")
            before = self.run_count()
            self.assertEqual(self.post("/api/v2/execute", piston("print(2)")).status, 503)
            self.assertEqual(self.post("/elitea/execute", elitea).status, 503)
            self.assertEqual(self.run_count(), before)
            self.assertEqual(self.post("/elitea/execute", {"code": "1"}).status, 200)
        wait_for(lambda: not self.living(), what="the end of the run")
        wait_for(lambda: self.post("/api/v2/execute", piston("print(3)")).status == 200, what="room for the tree")
