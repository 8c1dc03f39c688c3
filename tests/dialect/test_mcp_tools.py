# SPDX-License-Identifier: Apache-2.0
"""MCP's tools: what they take, what they answer, and what a model sees of it."""

import base64
import json
import unittest

from mcp_case import LEGACY, McpCase, McpSession, SLEEP

TOOLS = ["run_python", "create_session", "list_sessions", "close_session", "checkpoint",
         "list_checkpoints", "rollback", "fork_session", "write_file", "read_file", "list_files", "list_variables", "explore"]
PNG = b"\x89PNG\r\n\x1a\n"
CHART = "import matplotlib.pyplot as plt\nplt.plot([1, 2, 3])"


def conforms(value, schema):
    """The fault of a value by a JSON Schema of our own kind; None: it is valid."""
    if "anyOf" in schema:
        return None if any(conforms(value, one) is None for one in schema["anyOf"]) else f"{value!r}: anyOf"
    if "enum" in schema:
        return None if value in schema["enum"] else f"{value!r} is none of {schema['enum']}"
    kinds = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float),
             "boolean": bool, "null": type(None)}
    kind = schema["type"]
    if not isinstance(value, kinds[kind]) or (kind in ("integer", "number") and isinstance(value, bool)):
        return f"{value!r} is no {kind}"
    if kind == "array":
        return next((why for item in value if (why := conforms(item, schema["items"]))), None)
    for name in schema.get("required", ()) if kind == "object" else ():
        if name not in value:
            return f"{name} is missing"
    for name, one in schema.get("properties", {}).items() if kind == "object" else ():
        if name in value and conforms(value[name], one) is not None:
            return f"{name}: {conforms(value[name], one)}"
    return None


def texts(result):
    return [item["text"] for item in result["content"] if item["type"] == "text"]


class Case(McpCase):
    CONFIG = "explore: {root: /usr/share/common-licenses}\n"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        listed = cls.mcp.modern("tools/list").answer()["result"]["tools"]
        cls.rows = {row["name"]: row for row in listed}

    def call(self, name, /, **arguments):
        """A call that goes well; its structuredContent, which its schema describes."""
        result = self.mcp.tool(name, arguments)
        self.assertNotIn("isError", result, result["content"])
        found = result["structuredContent"]
        self.assertIsNone(conforms(found, self.rows[name]["outputSchema"]), found)
        return found

    def fails(self, name, text, /, **arguments):
        result = self.mcp.tool(name, arguments)
        self.assertTrue(result.get("isError"), result)
        self.assertIn(text, "\n".join(texts(result)))
        return result

    def session(self, **arguments):
        return self.call("create_session", **arguments)["session_id"]


FRAME = ("import pandas as pd\npd.DataFrame({'a': [1.5, 2.5], 'b': [3, 4]}, "
         "index=pd.Index(['north', 'south'], name='region'))")


class Listed(Case):
    def test_every_tool_is_there_and_described(self):
        self.assertEqual(list(self.rows), TOOLS)
        for row in self.rows.values():
            self.assertGreater(len(row["description"]), 20, row)
            self.assertEqual(row["inputSchema"]["type"], "object")
            self.assertIs(row["inputSchema"]["additionalProperties"], False)
            self.assertEqual(row["outputSchema"]["type"], "object")
            self.assertLessEqual({"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"},
                                 set(row["annotations"]))
        self.assertTrue(self.rows["read_file"]["annotations"]["readOnlyHint"])
        self.assertTrue(self.rows["close_session"]["annotations"]["destructiveHint"])

    def test_schemas_say_what_the_ops_rows_say(self):
        run = self.rows["run_python"]["inputSchema"]
        self.assertEqual(run["required"], ["code"])
        self.assertEqual(run["properties"]["timeout_ms"]["minimum"], 10)
        self.assertEqual(run["properties"]["session_id"]["x-mcp-header"], "Session-Id")
        self.assertEqual(run["properties"]["files"]["items"]["required"], ["path"])
        self.assertNotIn("detach", run["properties"])
        for name in ("checkpoint", "list_checkpoints", "rollback", "fork_session", "list_files", "list_variables"):
            self.assertIn("session_id", self.rows[name]["inputSchema"]["required"], name)

    def test_no_schema_has_a_reference_or_says_nothing(self):
        def look(schema, path):
            if isinstance(schema, list):
                for one in schema:
                    look(one, path)
                return
            self.assertNotIn("$ref", schema, path)
            self.assertIsInstance(schema.get("type", ""), str, path)
            self.assertTrue({"type", "anyOf", "enum"} & set(schema), (path, schema))
            for name, one in schema.get("properties", {}).items():
                look(one, f"{path}.{name}")
            look(schema.get("anyOf", []), path)
            if "items" in schema:
                look(schema["items"], path + "[]")
        for row in self.rows.values():
            look(row["inputSchema"], row["name"])
            look(row["outputSchema"], row["name"])

    def test_both_eras_list_the_same(self):
        legacy = McpSession(self.mcp, LEGACY).request("tools/list").answer()["result"]
        self.assertEqual(legacy["tools"], list(self.rows.values()))
        self.assertNotIn("resultType", legacy)


class Run(Case):
    def test_what_it_prints_and_its_value(self):
        result = self.mcp.tool("run_python", {"code": "print('ä€😀')\n6 * 7"})
        self.assertEqual(texts(result)[0], "ä€😀\n42\n")
        found = result["structuredContent"]
        self.assertEqual(json.loads(texts(result)[1]), found)
        self.assertIsNone(conforms(found, self.rows["run_python"]["outputSchema"]))
        self.assertEqual((found["stdout"], found["result"]["application/json"], found["verdict"]["kind"]),
                         ("ä€😀\n", 42, "ok"))
        self.assertNotIn("session_id", found)

    def test_a_frame_has_its_index(self):
        result = self.mcp.tool("run_python", {"code": FRAME})
        self.assertEqual(texts(result)[0], "          a  b\nregion        \nnorth   1.5  3\nsouth   2.5  4\n")
        frame = result["structuredContent"]["result"]["application/json"]
        self.assertEqual((frame["index"]["names"], frame["index"]["rows"], frame["rows"]),
                         (["region"], [["north"], ["south"]], [[1.5, 3], [2.5, 4]]))

    def test_what_was_cut_is_told_to_the_model(self):
        told = texts(self.mcp.tool("run_python", {"code": "print('x' * 3000000)"}))[0]
        self.assertEqual(told[1 << 20:], "\ncut: stdout was cut at 1MiB, the output limit; the run wrote 3000001 bytes "
                                         "in all: print less, or write to a file below /workspace\n")
        told = texts(self.mcp.tool("run_python", {"code": "'y' * 9000000"}))[0]
        self.assertIn("\ncut: a value was too large, and a form of it (text, JSON, HTML or picture) was cut or left out: ", told[-200:])

    def test_a_failure_is_told_to_the_model(self):
        result = self.fails("run_python", "ZeroDivisionError", code="print('so far')\n1 / 0")
        self.assertTrue(texts(result)[0].startswith("so far\nTraceback"), texts(result)[0])
        self.assertIn("verdict: exception", texts(result)[0])
        self.assertIsNone(conforms(result["structuredContent"], self.rows["run_python"]["outputSchema"]))
        result = self.fails("run_python", "verdict: timeout", code=SLEEP, timeout_ms=500)
        self.assertIn("remedy: raise timeout_ms (the policy allows up to ", texts(result)[0])
        self.assertEqual(result["structuredContent"]["stdout"], "here\n")
        told = texts(self.fails("run_python", "No module named", code="import no_such_module_here"))[0]
        self.assertIn("remedy: no_such_module_here is not in this runtime, and nothing can be installed", told)
        self.assertNotIn("--", told)
        told = texts(self.fails("run_python", "gaierror", code="import socket\nsocket.create_connection(('example.com', 80))"))[0]
        self.assertIn("remedy: this sandbox has no network; give what the code needs in the arguments files or data", told)

    def test_wrong_arguments_are_told_and_nothing_runs(self):
        before = self.daemon.ask("GET", "/v1/runs")["runs"]
        for arguments, text in (
                ({}, "code: is required"), ({"code": True}, "code: must be a string"),
                ({"code": "1", "tiemout_ms": 5}, "did you mean timeout_ms"),
                ({"code": "1", "timeout_ms": 10**9}, "timeout_ms"),
                ({"code": "1", "command": "ls"}, "command"), ({"code": "1", "stdin": "live"}, "stdin"),
                ({"code": "1", "limits": {"memory": "1TiB"}}, "limits.memory"),
                ({"code": "1", "policy": "nope"}, "policy")):
            self.fails("run_python", text, **arguments)
        self.assertEqual(self.daemon.ask("GET", "/v1/runs")["runs"], before)

    def test_lines_are_progress_for_who_asked(self):
        call = {"name": "run_python", "arguments": {"code": "print('a')\nprint('b', end='')"}}
        messages = self.mcp.modern("tools/call", call, more={"progressToken": "tok"}).all()
        told = [message["params"] for message in messages[:-1]]
        self.assertEqual([(one["progressToken"], one["message"]) for one in told],
                         [("tok", "a"), ("tok", "b")])
        self.assertEqual([one["progress"] for one in told], [1, 2])
        self.assertEqual(len(self.mcp.modern("tools/call", call).all()), 1)

    def test_unfinished_lines_of_both_streams_are_not_mixed(self):
        code = "import sys\nprint('out', end='')\nprint('err', end='', file=sys.stderr)"
        messages = self.mcp.modern("tools/call", {"name": "run_python", "arguments": {"code": code}},
                                   more={"progressToken": 1}).all()
        self.assertEqual([message["params"]["message"] for message in messages[:-1]], ["out", "err"])

    def test_charts_are_images(self):
        result = self.mcp.tool("run_python", {"code": CHART})
        image = [item for item in result["content"] if item["type"] == "image"]
        self.assertEqual([item["mimeType"] for item in image], ["image/png"])
        self.assertTrue(base64.b64decode(image[0]["data"]).startswith(PNG))
        chart = result["structuredContent"]["charts"][0]
        self.assertNotIn("base64", chart)
        self.assertEqual(chart["data"]["type"], "line")

    def test_files_are_links_that_can_be_read(self):
        code = "open('a b.csv', 'w').write('1,2')\nopen('x.bin', 'wb').write(bytes(range(256)))"
        for session in (None, self.session()):
            arguments = {"code": code} if session is None else {"code": code, "session_id": session}
            result = self.mcp.tool("run_python", arguments)
            links = {item["name"]: item for item in result["content"] if item["type"] == "resource_link"}
            self.assertEqual((links["a b.csv"]["size"], links["x.bin"]["size"]), (3, 256))
            self.assertIn("/a%20b.csv", links["a b.csv"]["uri"])
            read = {name: self.read(link["uri"]) for name, link in links.items()}
            self.assertEqual(read["a b.csv"]["text"], "1,2")
            self.assertEqual(base64.b64decode(read["x.bin"]["blob"]), bytes(range(256)))

    def read(self, uri):
        result = self.mcp.modern("resources/read", {"uri": uri}).answer()["result"]
        self.assertEqual((result["ttlMs"], len(result["contents"])), (0, 1))
        self.assertEqual(result["contents"][0]["uri"], uri)
        return result["contents"][0]

    def test_inputs_of_all_kinds(self):
        found = self.call("run_python", code="print(_args, df.shape, open('in.txt').read(), input())",
                          args={"a": [1]}, data={"columns": ["x"], "rows": [[1], [2]]}, stdin="typed",
                          files=[{"path": "in.txt", "text": "file"}])
        self.assertEqual(found["stdout"], "{'a': [1]} (2, 1) file typed\n")

    def test_digits_are_a_text_where_one_is_wanted(self):
        # As clients on a command line send them: --tool-arg code=1
        for code, want in ((1, 1), (-2.5, -2.5), (10**30, 10**30)):
            self.assertEqual(self.call("run_python", code=code)["result"]["text/plain"], str(want))
        self.fails("run_python", "there is no session 5", code="1", session_id=5)

    def test_code_larger_than_any_tree(self):
        code = "x = '" + "y" * (3 << 20) + "'\nlen(x)"
        self.assertEqual(self.call("run_python", code=code)["result"]["application/json"], 3 << 20)


class Sessions(Case):
    def test_state_stays_and_goes(self):
        session = self.session(name="work")
        self.assertEqual(self.call("run_python", code="x = 1", session_id=session)["session_id"], session)
        point = self.call("checkpoint", session_id=session, name="one")["id"]
        self.call("run_python", code="x = 2", session_id=session)
        fork = self.call("fork_session", session_id=session)["sessions"][0]["id"]
        self.assertEqual(self.value("x", fork), 2)
        self.assertEqual(self.call("rollback", session_id=session, checkpoint=point)["session_id"], session)
        self.assertEqual(self.value("x", session), 1)
        listed = {one["name"]: one["id"] for one in self.call("list_checkpoints", session_id=session)["checkpoints"]}
        self.assertEqual(listed["one"], point)
        self.call("run_python", code="x = 3", session_id=session)
        self.assertEqual(self.call("rollback", session_id=session, checkpoint="one")["head"], point)
        self.assertEqual(self.value("x", session), 1)
        names = [var["name"] for var in self.call("list_variables", session_id=session)["vars"]]
        self.assertEqual(names, ["x"])
        listed = [one["id"] for one in self.call("list_sessions")["sessions"]]
        self.assertLessEqual({session, fork}, set(listed))
        self.assertEqual(self.call("close_session", session_id=session),
                         {"session_id": session, "closed": True})
        self.fails("run_python", "create_session", code="x", session_id=session)
        self.fails("run_python", "belongs to the session", code="x", session_id=fork, policy="default")

    def value(self, code, session):
        return self.call("run_python", code=code, session_id=session)["result"]["application/json"]

    def test_a_missing_checkpoint_is_not_taken_for_a_missing_session(self):
        result = self.fails("rollback", "no state has the id", session_id=self.session(), checkpoint="cp_none")
        self.assertNotIn("create_session", "\n".join(texts(result)))
        self.fails("rollback", "create_session", session_id="ses_none", checkpoint="cp_none")

    def test_a_timeout_rolls_back(self):
        session = self.session()
        self.call("run_python", code="x = 1", session_id=session)
        self.fails("run_python", "state of the session: rolled_back", code="x = 2\nwhile True: pass",
                   session_id=session, timeout_ms=500)
        self.assertEqual(self.value("x", session), 1)

    def test_a_run_that_leaves_no_checkpoint_says_so(self):
        result = self.mcp.tool("run_python", {"session_id": self.session(), "code": "keep = open('f', 'w')"})
        self.assertEqual(texts(result)[0], "note: no checkpoint after this run: "
                                           f"{result['structuredContent']['checkpoint']['skipped']}. A run that fails goes back "
                                           "to the last one\n")

    def test_a_rollback_says_which_state_came_back(self):
        session = self.session()
        kept = self.call("run_python", code="x = 1", session_id=session)["id"]
        result = self.fails("run_python", "rolled back: variables and the files of /workspace are what they were before this run",
                            code="x = 2\nwhile True: pass", session_id=session, timeout_ms=500)
        self.assertEqual(result["structuredContent"]["state"], "rolled_back")
        self.call("run_python", code="import threading\nx = 3\nstop = threading.Event()\n"
                  "threading.Thread(target=stop.wait, daemon=True).start()", session_id=session)
        result = self.fails("run_python", f"are what they were after {kept}; 2 runs are undone, this one and 1 before it. "
                            "No newer state was kept: ", code="while True: pass", session_id=session, timeout_ms=500)
        self.assertIn("thread", texts(result)[0].split("No newer state was kept: ")[1])
        self.assertEqual(self.value("x", session), 1)

    def test_files(self):
        session = self.session()
        found = self.call("write_file", session_id=session, path="d/a.txt", text="hällo")
        self.assertEqual((found["path"], found["size"]), ("/workspace/d/a.txt", 6))
        self.call("write_file", session_id=session, path="b.png", base64=base64.b64encode(PNG).decode())
        self.assertEqual(self.call("read_file", session_id=session, path="/workspace/d/a.txt")["text"], "hällo")
        result = self.mcp.tool("read_file", {"session_id": session, "path": "b.png"})
        self.assertEqual(base64.b64decode(result["content"][0]["data"]), PNG)
        self.assertEqual(base64.b64decode(result["structuredContent"]["base64"]), PNG)
        files = self.call("list_files", session_id=session, recursive=True)["files"]
        self.assertEqual([one["path"] for one in files], ["/workspace/b.png", "/workspace/d/a.txt"])
        listed = self.mcp.modern("resources/list").answer()["result"]["resources"]
        self.assertIn(f"sandbox://{session}/", [one["uri"] for one in listed])
        for arguments, text in (({"path": "nope"}, "nope"), ({"path": "../../etc/passwd"}, "path"),
                                ({"path": "d"}, "d")):
            self.fails("read_file", text, session_id=session, **arguments)
        for empty in ({"text": ""}, {"base64": ""}):
            self.assertEqual(self.call("write_file", session_id=session, path="empty", **empty)["size"], 0)
            self.assertEqual(self.call("read_file", session_id=session, path="empty")["text"], "")
        self.fails("write_file", "exactly one", session_id=session, path="x")
        self.fails("write_file", "base64", session_id=session, path="x", base64="!")

    def test_explore(self):
        found = self.call("explore", command="ls | head -1; grep -c zzz GPL-3")
        self.assertEqual((found["verdict"]["kind"], found["exit_code"]), ("exit", 1))  # and no error
        self.fails("explore", "command", command="")


if __name__ == "__main__":
    unittest.main()
