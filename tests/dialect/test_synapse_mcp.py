# SPDX-License-Identifier: Apache-2.0
"""Synapse's tools over MCP: one text block with JSON in it, whatever happens."""

import hashlib
import json
import os
import re
import unittest

from mcp_talk import Modern
from vaults import with_vault

RUN = ("execute_python", "tool_code", "sandbox_execute")
VAULT = ("vault_create", "vault_read", "vault_write", "vault_patch", "vault_list", "vault_delete")
MIB = 1 << 20


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = with_vault()
        cls.addClassCleanup(cls.daemon.stop)

    def setUp(self):
        self.mcp = Modern(self.daemon)
        self.root = self.daemon.vault

    def call(self, tool, **arguments):
        result = self.mcp.call(tool, **arguments)
        self.assertFalse(result.get("isError", False), result)
        self.assertEqual([item["type"] for item in result["content"]], ["text"])
        self.assertNotIn("structuredContent", result)
        return json.loads(result["content"][0]["text"])

    def error(self, tool, **arguments):
        answer = self.call(tool, **arguments)
        self.assertEqual(list(answer), ["error"])
        return answer["error"]


class Run(Case):
    def test_all_three_names_do_the_same(self):
        for name in RUN:
            self.assertEqual(self.call(name, code="import sys\nprint('\u00e4')\nsys.stderr.write('e')\nsys.exit(2)"),
                             {"exit_code": 2, "stdout": "\u00e4\n", "stderr": "e"})

    def test_the_schema(self):
        tools = {tool["name"]: tool["inputSchema"] for tool in self.mcp.tools()}
        self.assertLessEqual({*RUN, *VAULT}, set(tools))
        for name in RUN:
            self.assertEqual(set(tools[name]["properties"]), {"code", "packages", "timeout", "allow_network"})
            self.assertEqual(tools[name]["required"], ["code"])
            self.assertEqual(tools[name]["properties"]["timeout"]["default"], 30)

    def test_blank_code_and_timeouts_are_errors_in_the_text(self):
        self.assertEqual(self.error("execute_python", code=" \n"), "No code provided")
        self.assertEqual(self.error("tool_code", code="print(1, flush=True)\nwhile True: pass", timeout=1),
                         "Execution timed out after 1s")

    def test_a_timeout_is_clamped(self):
        for seconds in (0, 120, 10 ** 9):
            self.assertEqual(self.call("execute_python", code="print(1)", timeout=seconds)["exit_code"], 0)

    def test_output_is_cut_at_fifty_thousand_characters(self):
        answer = self.call("execute_python", code="import sys\nprint('\u00e4' * 60000)\nsys.stderr.write('e' * 60000)")
        self.assertEqual((answer["stdout"], answer["stderr"]), ("\u00e4" * 50000, "e" * 50000))

    def test_an_exception(self):
        answer = self.call("execute_python", code="1/0")
        self.assertEqual(answer["exit_code"], 1)
        self.assertIn("line 1", answer["stderr"])
        self.assertTrue(answer["stderr"].endswith("ZeroDivisionError: division by zero\n"))

    def test_packages_must_be_there(self):
        for name in ("pandas", "Pandas>=1.0", "python-dateutil", "python_dateutil==2", "pandas[all]"):
            self.assertEqual(self.call("execute_python", code="print(1)", packages=[name])["exit_code"], 0, name)
        self.assertTrue(self.error("execute_python", code="open('/data/x', 'w')", packages=["pandas", "no-such-thing"])
                        .startswith("Package not installed: no-such-thing."))
        self.assertIn("not installed", self.error("execute_python", code="1", packages=["$(id)"]))

    def test_there_is_no_network_and_that_is_said(self):
        code = f"import socket\nsocket.create_connection(('127.0.0.1', {self.daemon.port}), 2)"
        answer = self.call("execute_python", code=code, allow_network=True)
        self.assertEqual(answer["exit_code"], 1)
        self.assertTrue(answer["stderr"].startswith("vivarium: allow_network was asked for"))
        self.assertEqual(self.call("execute_python", code="print(1)")["stderr"], "")

    def test_the_vault_is_at_data(self):
        self.call("vault_write", path="in/x.csv", content="a,b\n")
        self.assertEqual(self.call("execute_python", code="print(open('/data/in/x.csv').read())")["stdout"], "a,b\n\n")
        self.assertEqual(self.call("execute_python", code="open('/data/in/x.csv', 'w')")["exit_code"], 1)


class Vault(Case):
    def test_create(self):
        answer = self.call("vault_create", content='{"a":1}', filename="r/q.json")
        self.assertEqual(answer, {"path": f"{self.root}/r/q.json", "size": 12, "created": True})
        self.assertEqual(self.error("vault_create", content="x", filename="r/q.json"),
                         f"File already exists: {self.root}/r/q.json. Use vault_write to overwrite.")
        self.assertEqual(self.call("vault_read", path="r/q.json"),
                         {"path": f"{self.root}/r/q.json", "content": '{\n  "a": 1\n}', "size": 12})

    def test_a_new_name(self):
        for kind, extension in (("json", ".json"), ("text", ".txt"), ("csv", ".csv"), ("python", ".py"), ("markdown", ".md")):
            path = self.call("vault_create", content="x", format=kind)["path"]
            self.assertRegex(os.path.basename(path), rf"^\d{{8}}_\d{{6}}_[0-9a-f]{{6}}{re.escape(extension)}$")
        self.assertTrue(self.call("vault_create", content="{}")["path"].endswith(".json"))

    def test_write_makes_folders_and_overwrites(self):
        self.assertEqual(self.call("vault_write", path="w/x/y.txt", content="\u00e4b"),
                         {"path": f"{self.root}/w/x/y.txt", "size": 2, "written": True})
        self.assertEqual(self.call("vault_write", path=f"{self.root}/w/x/y.txt", content="new")["size"], 3)
        self.assertEqual(self.call("vault_read", path="w/x/y.txt")["content"], "new")
        self.call("vault_write", path="w/bad.json", content="{not json")
        self.assertEqual(self.call("vault_read", path="w/bad.json")["content"], "{not json")

    def test_what_cannot_be_read(self):
        self.assertEqual(self.error("vault_read", path="no/such"), f"File not found: {self.root}/no/such")
        self.call("vault_write", path="dir/x", content="")
        self.assertEqual(self.error("vault_read", path="dir"), "Path is a directory. Use vault_list instead.")
        with open(os.path.join(self.root, "big"), "wb") as file:
            file.truncate(10 * MIB + 1)
        self.assertEqual(self.error("vault_read", path="big"), f"File too large ({10 * MIB + 1} bytes). Max is {10 * MIB}.")

    def test_merge(self):
        self.call("vault_write", path="m.json", content='{"a": {"x": 1, "y": [1]}, "n": 0.1, "big": 12345678901}')
        answer = self.call("vault_patch", path="m.json", merge='{"a": {"y": [2], "z": null}, "new": "\u00e4"}')
        self.assertEqual((answer["path"], answer["patched"]), (f"{self.root}/m.json", True))
        self.assertEqual(json.loads(answer["content"]),
                         {"a": {"x": 1, "y": [2], "z": None}, "n": 0.1, "big": 12345678901, "new": "\u00e4"})
        self.assertIn('"n": 0.1,', answer["content"])
        self.assertEqual(self.call("vault_read", path="m.json")["content"], answer["content"])
        self.call("vault_write", path="l.json", content="[1]")
        self.assertEqual(json.loads(self.call("vault_patch", path="l.json", merge="[2, 3]")["content"]), [1, 2, 3])

    def test_what_cannot_be_merged_changes_nothing(self):
        self.call("vault_write", path="k.json", content="{}")
        self.assertIn("both must be", self.error("vault_patch", path="k.json", merge="[]"))
        self.assertIn("not valid JSON", self.error("vault_patch", path="k.json", merge="{"))
        self.call("vault_write", path="k.txt", content="text")
        self.assertIn("not valid JSON", self.error("vault_patch", path="k.txt", merge="{}"))
        self.assertIn("Provide either", self.error("vault_patch", path="k.txt"))
        self.assertIn("File not found", self.error("vault_patch", path="none", merge="{}"))
        self.assertEqual(self.call("vault_read", path="k.json")["content"], "{}")

    def test_find_and_replace(self):
        self.call("vault_write", path="t.txt", content="one two two")
        self.assertEqual(self.call("vault_patch", path="t.txt", find="two", replace="2")["content"], "one 2 two")
        self.assertEqual(self.call("vault_patch", path="t.txt", find=" two")["content"], "one 2")
        self.assertEqual(self.error("vault_patch", path="t.txt", find="none", replace="x"), "Text 'none' not found in file")

    def test_list(self):
        for path in ("ls/b.json", "ls/a.csv", "ls/sub/c.json"):
            self.call("vault_write", path=path, content="{}")
        answer = self.call("vault_list", directory="ls")
        self.assertEqual((answer["directory"], answer["count"]), (f"{self.root}/ls", 3))
        self.assertEqual(answer["files"][0], {"name": "a.csv", "path": f"{self.root}/ls/a.csv", "relative": "ls/a.csv", "size": 2})
        self.assertEqual([file["relative"] for file in answer["files"]], ["ls/a.csv", "ls/b.json", "ls/sub/c.json"])
        self.assertEqual(self.call("vault_list", directory="ls", extension=".json")["count"], 2)
        self.assertEqual(self.call("vault_list", directory="none"), {"directory": f"{self.root}/none", "count": 0, "files": []})
        self.assertGreaterEqual(self.call("vault_list")["count"], 3)

    def test_delete(self):
        self.call("vault_write", path="d/x.txt", content="")
        self.assertEqual(self.error("vault_delete", path="d"), "Cannot delete directories. Delete files individually.")
        self.assertEqual(self.call("vault_delete", path="d/x.txt"), {"path": f"{self.root}/d/x.txt", "deleted": True})
        self.assertEqual(self.error("vault_delete", path="d/x.txt"), f"File not found: {self.root}/d/x.txt")

    def test_no_path_leads_out(self):
        evil = self.root + "_evil"
        os.makedirs(evil, exist_ok=True)
        os.chmod(evil, 0o777)
        with open(os.path.join(evil, "secret"), "w", encoding="utf-8") as file:
            file.write("secret")
        os.symlink(evil, os.path.join(self.root, "way-out"))
        for path in ("../vault_evil/secret", f"{evil}/secret", "way-out/secret", "/etc/passwd", "a/../../vault_evil/secret"):
            self.assertIn("escapes the vault", self.error("vault_read", path=path), path)
            self.assertIn("escapes the vault", self.error("vault_write", path=path, content="x"), path)
            self.assertIn("escapes the vault", self.error("vault_patch", path=path, find="s", replace="x"), path)
            self.assertIn("escapes the vault", self.error("vault_delete", path=path), path)
            self.assertIn("escapes the vault", self.error("vault_create", content="x", filename=path + "2"), path)
        self.assertIn("escapes the vault", self.error("vault_list", directory="../vault_evil"))
        self.assertIn("escapes the vault", self.error("vault_list", directory="way-out"))
        self.assertEqual(os.listdir(evil), ["secret"])
        self.assertEqual([f for f in self.call("vault_list")["files"] if "way-out" in f["path"]], [])

    def test_wrong_arguments(self):
        for tool, arguments in (("vault_read", {}), ("vault_read", {"path": 1}), ("vault_write", {"path": "x"}),
                                ("vault_create", {"content": "x", "format": "exe"}), ("execute_python", {"code": 1}),
                                ("execute_python", {"code": "1", "timeout": -1})):
            self.assertTrue(self.mcp.call(tool, **arguments)["isError"], (tool, arguments))


class Tokens(unittest.TestCase):
    def test_the_vault_is_for_those_who_may_use_its_policy(self):
        secrets = {"ann": "a" * 30, "bob": "b" * 30}
        lines = [f"{{name: {name}, sha256: {hashlib.sha256(secret.encode()).hexdigest()}, policies: [{policy}]}}"
                 for (name, secret), policy in zip(secrets.items(), ("ephemeral", "default"))]
        with with_vault(f"tokens: [{', '.join(lines)}]\n") as daemon:
            ann, bob = (daemon.as_token(secret) for secret in secrets.values())
            text = Modern(ann).call("vault_write", path="x.txt", content="1")["content"][0]["text"]
            self.assertTrue(json.loads(text)["written"])
            text = Modern(bob).call("vault_read", path="x.txt")["content"][0]["text"]
            self.assertIn("may not use ephemeral", json.loads(text)["error"])
            self.assertEqual(bob.request("GET", "/api/vault/file?path=x.txt").status, 403)
            self.assertEqual(ann.request("GET", "/api/vault/file?path=x.txt").json["content"], "1")
            answer = bob.request("POST", "/api/tools/python/test", b'{"code": "print(1)"}')
            self.assertEqual((answer.status, set(answer.json)), (403, {"detail"}))


if __name__ == "__main__":
    unittest.main()
