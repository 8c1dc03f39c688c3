# SPDX-License-Identifier: Apache-2.0
"""The list of runs, and files that come with a result."""

import base64
import hashlib
import unittest

from daemon import Daemon

MIB = 1 << 20
TOKENS = "".join(f"  - {{name: {name}, sha256: {hashlib.sha256(name.encode()).hexdigest()}}}\n"
                 for name in ("alice", "bob"))


class Runs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.stop)

    def runs(self, query=""):
        return self.daemon.ask("GET", f"/v1/runs{query}")["runs"]

    def files(self, code, **body):
        result = self.daemon.run(code, return_files=True, **body)
        return result, {fact.get("path", "")[len("/workspace/"):]: fact for fact in result["files"]}

    # ---- the list ----

    def test_the_latest_runs_come_first(self):
        first = self.daemon.run("1")["id"]
        second = self.daemon.run("1/0", kind="exception")["id"]
        found = self.runs("?limit=2")
        self.assertEqual([(line["id"], line["verdict"]) for line in found],
                         [(second, "exception"), (first, "ok")])
        self.assertEqual((found[0]["session"], found[0]["policy"]), (None, "default"))
        self.assertGreaterEqual(found[0]["begun_ms"], found[1]["begun_ms"])
        self.assertGreater(found[0]["wall_ms"], 0)
        for query in ("?limit=0", "?limit=1001", "?limit=x", "?what=1"):
            self.assertEqual(self.daemon.request("GET", f"/v1/runs{query}").status, 400)

    def test_the_runs_of_a_session_and_one_that_is_on(self):
        session = self.daemon.session()
        self.daemon.run("x = 1", session)
        run = self.daemon.start_run("print('on', flush=True)\nwhile True: pass", session)
        with self.daemon.events(run) as events:
            events.until_text("on")
            found = self.runs(f"?session={session}")
            self.assertEqual([line["verdict"] for line in found], [None, "ok"])
            self.assertEqual({line["session"] for line in found}, {session})
        self.daemon.request("DELETE", f"/v1/runs/{run}")
        self.assertEqual(self.runs(f"?session={session}")[0]["verdict"], "cancelled")
        self.assertEqual(self.runs("?session=ses_none"), [])  # it may have ended: its runs are told
        answer = self.daemon.request("GET", "/v1/runs?session=my-name")
        self.assertEqual((answer.status, answer.error.get("field")), (400, "session"), answer)

    # ---- files that are sent ----

    def test_a_mistake_in_a_file_is_named(self):
        good = {"path": "good", "text": "x"}
        for file, field in (({"path": "a", "txet": "x"}, "files[1].txet"), ({"path": "a"}, "files[1].text"),
                            ({"path": "a", "text": "x", "base64": "eA=="}, "files[1].base64"), ({"text": "x"}, "files[1].path"),
                            ({"path": "a", "text": None}, "files[1].text"), ({"path": 5, "text": "x"}, "files[1].path"),
                            ("a", "files[1]"), ({"path": "a", "text": "x", "mode": 420}, "files[1].mode"),
                            ({"path": "/workspace/./good", "base64": "eA=="}, "files[1].path")):
            answer = self.daemon.request("POST", "/v1/run", {"code": "1", "files": [good, file]})
            self.assertEqual((answer.status, answer.error.get("field")), (400, field), answer)
        self.assertEqual(self.daemon.run("open('good').read()", files=[good])["verdict"]["kind"], "ok")

    def test_a_file_below_another_file_is_refused_before_the_run(self):
        before = len(self.runs())
        for paths, why in ((("a", "a/b"), "'a' is a file, not a folder"),
                           (("a/b/c", "a/b"), "is a folder, because an earlier file is below it")):
            files = [{"path": path, "text": ""} for path in paths]
            answer = self.daemon.request("POST", "/v1/run", {"code": "1", "files": files})
            self.assertEqual((answer.status, answer.error.get("field")), (400, "files[1].path"), paths)
            self.assertIn(why, answer.error["message"])
        self.assertEqual(len(self.runs()), before)

    def test_a_path_that_no_file_can_have_is_named(self):
        for path in ("", "/etc/x", "/workspace", "x/", "a\0b", "../x", "x" * 5000):
            answer = self.daemon.request("POST", "/v1/run", {"code": "1", "files": [{"path": path, "text": ""}]})
            self.assertEqual((answer.status, answer.error.get("field")), (400, "files[0].path"), path)
        for path in ("a", "/workspace/a", "./b//c", "/./workspace/./d"):
            self.assertEqual(self.daemon.run("1", files=[{"path": path, "text": ""}])["verdict"]["kind"], "ok", path)

    def test_a_mistake_in_a_table_is_named_and_changes_nothing(self):
        session = self.daemon.session()
        self.daemon.run("df = 'kept'", session)
        for data, field in ((5, "data"), ("a", "data"), (True, "data"), ({"columns": ["a"]}, "data.rows"),
                            ({"columns": ["a"], "rows": [[1], [1, 2]]}, "data.rows[1]"),
                            ({"rows": [[1], [2]], "columns": []}, "data.columns"),
                            ({"columns": ["a"], "row": [[1]]}, "data.row"),
                            ({"columns": ["a"], "index": [5], "rows": [[1]]}, "data.index"),
                            ({"columns": [1], "rows": [[1]]}, "data.columns[0]"),
                            ([{"a": 1}, 5], "data[1]")):
            for path in ("/v1/run", f"/v1/sessions/{session}/run"):
                answer = self.daemon.request("POST", path, {"code": "1", "data": data})
                self.assertEqual((answer.status, answer.error.get("field")), (400, field), data)
        self.assertEqual(len(self.runs(f"?session={session}")), 1)
        self.assertEqual(self.daemon.run("df", session)["result"]["application/json"], "kept")
        for data in ([{"a": 1}, {"b": 2}], {"columns": ["a"], "rows": [[1], [2]]}, {"rows": [], "columns": ["a"]}):
            self.assertEqual(self.daemon.run("list(df.columns)[0]", data=data)["result"]["application/json"], "a")

    def test_a_name_given_twice_inside_data_or_args_is_refused(self):
        for member, text, field in (("data", '[{"a":1},{"a":1,"a":2}]', "data[1]"), ("args", '{"a":1,"a":2}', "args"),
                                    ("args", '{"b":[{"a":1,"a":2}]}', "args")):
            body = f'{{"code":"1","{member}":{text}}}'.encode()
            answer = self.daemon.request("POST", "/v1/run", body)
            self.assertEqual((answer.status, answer.error.get("field")), (400, field), text)
            self.assertIn("'a' is given twice", answer.error["message"])

    def test_a_backend_that_does_not_exist_gets_the_names_of_those_that_do(self):
        answer = self.daemon.request("POST", "/v1/run", {"code": "1", "backend": "zz"})
        self.assertEqual((answer.status, answer.error), (404, {
            "kind": "not_found", "field": "backend",
            "message": "backend: there is no 'zz'; use auto, microvm, gvisor, namespace, remote or process"}))

    def test_a_folder_to_start_in_is_checked_as_far_as_the_daemon_can_know(self):
        for cwd in ("x", "/workspace/../etc", ""):
            answer = self.daemon.request("POST", "/v1/run", {"code": "1", "cwd": cwd})
            self.assertEqual((answer.status, answer.error.get("field")), (400, "cwd"), cwd)
        for cwd, why in (("/nope", "No such file or directory"), ("/workspacex", "No such file or directory"),
                         ("/etc/passwd", "Not a directory")):
            result = self.daemon.run("print(1)", cwd=cwd, kind="exception")
            self.assertEqual(result["verdict"]["message"], f"cwd: {cwd}: {why}")
            self.assertEqual((result["stdout"], result["error"]["line"]), ("", None))
            self.assertNotIn("File", result["error"]["traceback"])
        self.assertEqual(self.daemon.run("import os; os.getcwd()", cwd="/workspace/new")["result"]["application/json"], "/workspace/new")

    def test_json_that_is_nested_too_deep_is_json_all_the_same(self):
        answer = self.daemon.request("POST", "/v1/run", '{"args": ' + "[" * 64 + "]" * 64 + "}")
        self.assertEqual((answer.status, answer.error["message"]),
                         (400, "the body has lists and objects nested more than 64 deep, at byte 72"))

    def test_other_nested_mistakes_are_named(self):
        for body, field in (({"limits": {"memroy": "1GiB"}}, "limits.memroy"), ({"limits": {"memory": {}}}, "limits.memory"),
                            ({"limits": []}, "limits"), ({"env": {"A": 1}}, "env"), ({"env": ["A=1"]}, "env"),
                            ({"guard": {"enabled": False}}, "guard"),
                            ({"args_": {}}, "args_")):
            answer = self.daemon.request("POST", "/v1/run", {"code": "1", **body})
            self.assertEqual((answer.status, answer.error.get("field")), (400, field), answer)

    def test_broken_json_is_told_before_what_is_wrong_in_it(self):
        for body, at, why in (('{"code": 1', 10, "it ends too early"), ('{"cdoe": "1", "x"', 17, "it ends too early"),
                              ('{"files": {}, "code": }', 22, "a value is expected")):
            answer = self.daemon.request("POST", "/v1/run", body)
            self.assertEqual((answer.status, answer.error["message"], answer.error.get("field")),
                             (400, f"the body is not JSON, at byte {at}; {why}", None))
        answer = self.daemon.request("POST", "/v1/run", '{"code": 1, "cdoe": 2}')
        self.assertEqual((answer.status, answer.error["message"]), (400, "code: must be a string"))

    def test_many_small_values_are_refused_before_they_are_built(self):
        answer = self.daemon.request("POST", "/v1/run", {"code": "1", "env": [""] * 340000})
        self.assertEqual((answer.status, answer.error["kind"], answer.error.get("field")), (413, "too_large", "env"), answer)

    # ---- files that come along ----

    def test_files_are_listed_without_their_bytes(self):
        result = self.daemon.run("open('a', 'w').write('x')")
        self.assertEqual([(fact["path"], "base64" in fact) for fact in result["files"]],
                         [("/workspace/a", False)])

    def test_files_come_with_their_bytes(self):
        data = bytes(range(256)) * 5000
        result, found = self.files(
            "open('a.bin', 'wb').write(bytes(range(256)) * 5000)\nopen('empty', 'w').close()\n"
            "for i in range(1, 4): open(f'n{i}', 'wb').write(b'x' * i)")
        self.assertEqual(base64.b64decode(found["a.bin"]["base64"], validate=True), data)
        self.assertEqual(found["a.bin"]["sha256"], hashlib.sha256(data).hexdigest())
        self.assertEqual([found[name]["base64"] for name in ("empty", "n1", "n2", "n3")],
                         ["", "eA==", "eHg=", "eHh4"])
        again = self.daemon.ask("GET", f"/v1/runs/{result['id']}")
        self.assertEqual(again["files"], result["files"])
        self.assertFalse(result["truncated"]["files"])

    def test_a_session_returns_what_this_run_changed(self):
        session = self.daemon.session()
        self.files("open('a', 'w').write('1')", session=session)
        _, found = self.files("open('b', 'w').write('2')", session=session)
        self.assertEqual({name: fact["base64"] for name, fact in found.items()}, {"b": "Mg=="})

    def test_what_is_too_large_is_named_without_bytes(self):
        result, found = self.files(
            f"open('big', 'wb').truncate({8 * MIB + 1})\nopen('fits', 'wb').truncate({8 * MIB})\n"
            "open('z', 'w').write('x')")
        self.assertEqual((found["big"]["base64"], found["big"]["size"]), (None, 8 * MIB + 1))
        self.assertEqual(found["big"]["sha256"], hashlib.sha256(bytes(8 * MIB + 1)).hexdigest())
        self.assertEqual(base64.b64decode(found["fits"]["base64"]), bytes(8 * MIB))
        self.assertEqual(found["z"]["base64"], "eA==")
        self.assertTrue(result["truncated"]["files"])

    def test_all_together_are_limited(self):
        result, found = self.files(f"for i in range(9): open(f'f{{i}}', 'wb').truncate({4 * MIB})")
        sizes = [fact["base64"] and len(base64.b64decode(fact["base64"]))
                 for _, fact in sorted(found.items())]
        self.assertEqual(sizes, [4 * MIB] * 8 + [None])
        self.assertTrue(result["truncated"]["files"])

    def test_events_carry_them_too(self):
        with self.daemon.stream("POST", "/v1/run", {"code": "open('a', 'w').write('x')",
                                                    "return_files": True}) as events:
            self.assertEqual(events.until("file")["file"]["base64"], "eA==")
            self.assertEqual([fact["path"] for fact in events.until("verdict")["files"]],
                             ["/workspace/a"])

    def test_forged_pieces_are_the_runs_own(self):
        result, found = self.files(
            "import vivarium.wire as wire\nwire.file_piece(b'/workspace/a', b'forged', True)\n"
            "wire.event('file', 'file', '{}')\nwire.event('file', 'file', '{\"path\":\"/workspace/b\"}')\n"
            "wire.file_piece(b'../../etc/x', b'1', True)\nopen('c', 'w').write('x')",
            kind=None)
        self.assertIn(result["verdict"]["kind"], ("ok", "exception"))
        self.assertEqual(found["c"]["base64"] if "c" in found else "eA==", "eA==")


class Tokens(unittest.TestCase):
    def test_runs_and_sessions_belong_to_the_token_that_started_them(self):
        with Daemon("tokens:\n" + TOKENS) as daemon:
            alice, bob = daemon.as_token("alice"), daemon.as_token("bob")
            run = alice.run("1")["id"]
            self.assertEqual([line["id"] for line in alice.ask("GET", "/v1/runs")["runs"]], [run])
            self.assertEqual(bob.ask("GET", "/v1/runs")["runs"], [])
            self.assertEqual(daemon.request("GET", "/v1/runs").status, 401)
            session = alice.session()
            for path in ("vars", "files", "files/x", "export", "export.ipynb", "diff?from=cp_x"):
                self.assertEqual(bob.request("GET", f"/v1/sessions/{session}/{path}").status, 404)
            self.assertEqual(bob.request("PUT", f"/v1/sessions/{session}/files/x", b"1").status, 404)

    def test_what_a_branch_inherits_is_seen_by_its_owner_only(self):
        with Daemon("tokens:\n" + TOKENS) as daemon:
            alice, bob = daemon.as_token("alice"), daemon.as_token("bob")
            session = alice.session()
            first = alice.run("x = 1", session)["id"]
            (branch,) = alice.ask("POST", f"/v1/sessions/{session}/fork", {"n": 1})["sessions"]
            second = alice.run("x = 2", branch["id"])["id"]
            rows = alice.ask("GET", f"/v1/runs?session={branch['id']}")["runs"]
            self.assertEqual([(row["id"], row.get("inherited", False)) for row in rows], [(second, False), (first, True)])
            book = alice.ask("GET", f"/v1/sessions/{branch['id']}/export.ipynb")
            self.assertEqual([cell["source"] for cell in book["cells"]], ["x = 1", "x = 2"])
            self.assertEqual(bob.ask("GET", f"/v1/runs?session={branch['id']}")["runs"], [])
            for path in (f"runs/{first}", f"runs/{first}/code", f"sessions/{branch['id']}/export.ipynb"):
                self.assertEqual(bob.request("GET", f"/v1/{path}").status, 404, path)


if __name__ == "__main__":
    unittest.main()
