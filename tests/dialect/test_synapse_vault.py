# SPDX-License-Identifier: Apache-2.0
"""Synapse's vault over HTTP: shapes, hostile paths, and ends at the worst moment."""

import json
import os
import threading
import unittest
from urllib.parse import quote

from vaults import with_vault

MIB = 1 << 20


class Vault(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = with_vault()
        cls.addClassCleanup(cls.daemon.stop)

    def setUp(self):
        self.root = self.daemon.vault
        self.addCleanup(self.empty)

    def empty(self):
        for item in self.ask("GET", "/tree")["tree"]:
            self.ask("DELETE", "/item", {"path": item["path"]})
        for name in os.listdir(self.root):
            os.unlink(os.path.join(self.root, name))

    def ask(self, method, path, body=None, status=200):
        answer = self.daemon.request(method, "/api/vault" + path, json.dumps(body).encode() if body is not None else None)
        self.assertEqual(answer.status, status, (method, path, body, answer))
        return answer.json

    def create(self, path, name, status=200, **more):
        return self.ask("POST", "/file", {"path": path, "name": name, **more}, status)

    def put(self, path, content, status=200):
        return self.ask("PUT", "/file", {"path": path, "content": content}, status)

    def get(self, path, status=200):
        return self.ask("GET", f"/file?path={quote(path)}", status=status)

    def host(self, *names):
        return os.path.join(self.root, *names)

    # ---- shapes ----

    def test_a_file_is_made_and_read(self):
        self.assertEqual(self.create("", "a.json", content='{"x":1}'),
                         {"path": "a.json", "name": "a.json", "ext": ".json", "content": '{"x":1}'})
        self.assertEqual(self.get("a.json"), {"path": "a.json", "name": "a.json", "ext": ".json", "content": '{"x":1}'})
        with open(self.host("a.json"), encoding="utf-8") as file:
            self.assertEqual(file.read(), '{"x":1}')

    def test_a_file_without_content_has_a_default(self):
        self.assertEqual(self.create("", "a.json")["content"], "{}\n")
        self.assertEqual(self.create("", "My Notes.md", content="")["content"], "# My Notes\n\n")
        self.assertEqual(self.create("", "a.txt", content=None)["content"], "")

    def test_only_three_kinds_are_made(self):
        for name in ("a.py", "a", ".json", "a.json.exe", "a."):
            self.assertIn("files are allowed", self.create("", name, 400)["detail"])
        self.create("", "LOUD.JSON")

    def test_what_is_there_is_not_made_again(self):
        self.create("", "a.txt", content="first")
        self.assertEqual(self.create("", "a.txt", 409, content="second"), {"detail": "File already exists"})
        self.assertEqual(self.get("a.txt")["content"], "first")
        self.ask("POST", "/folder", {"path": "", "name": "d"})
        self.assertEqual(self.ask("POST", "/folder", {"path": "", "name": "d"}, 409), {"detail": "Folder already exists"})

    def test_a_folder_must_be_there(self):
        self.assertEqual(self.create("none", "a.txt", 400), {"detail": "Parent path is not a directory"})
        self.create("", "a.txt")
        self.assertEqual(self.create("a.txt", "b.txt", 400), {"detail": "Parent path is not a directory"})
        self.assertEqual(self.ask("POST", "/folder", {"path": "", "name": "d"}),
                         {"path": "d", "name": "d", "type": "folder"})
        self.assertEqual(self.create("d", "a.txt")["path"], "d/a.txt")
        self.assertEqual(self.create("/d/", "b.txt")["path"], "d/b.txt")

    def test_an_update_needs_a_file_of_its_kinds(self):
        self.create("", "a.txt", content="old")
        self.assertEqual(self.put("a.txt", "new \u00e4"), {"status": "ok", "path": "a.txt"})
        self.assertEqual(self.get("a.txt")["content"], "new \u00e4")
        self.assertEqual(self.put("none.txt", "x", 404), {"detail": "File not found"})
        with open(self.host("a.bin"), "w", encoding="utf-8") as file:
            file.write("x")
        self.assertEqual(self.put("a.bin", "x", 400), {"detail": "Cannot edit this file type"})
        self.assertEqual(self.put("none.bin", "x", 404), {"detail": "File not found"})
        self.ask("POST", "/folder", {"path": "", "name": "d.txt"})
        self.assertEqual(self.put("d.txt", "x", 404), {"detail": "File not found"})
        self.assertEqual(self.get("d.txt", 404), {"detail": "File not found"})

    def test_the_tree_has_folders_first_and_nothing_hidden(self):
        for path in ("b.txt", "A.md", "z/in.json", "z/deep/er.txt", ".hidden/x.txt", "z/.x"):
            os.makedirs(self.host(os.path.dirname(path)), exist_ok=True)
            os.chmod(self.host(os.path.dirname(path)), 0o777)
            with open(self.host(path), "w", encoding="utf-8"):
                pass
        self.assertEqual(self.ask("GET", "/tree"), {"source": "local", "tree": [
            {"name": "z", "path": "z", "type": "folder", "children": [
                {"name": "deep", "path": "z/deep", "type": "folder", "children": [
                    {"name": "er.txt", "path": "z/deep/er.txt", "type": "file", "ext": ".txt"}]},
                {"name": "in.json", "path": "z/in.json", "type": "file", "ext": ".json"}]},
            {"name": "A.md", "path": "A.md", "type": "file", "ext": ".md"},
            {"name": "b.txt", "path": "b.txt", "type": "file", "ext": ".txt"}]})
        self.assertEqual(self.ask("GET", "/search?q=%20IN%20"),
                         {"files": [{"name": "in.json", "path": "z/in.json", "ext": ".json"}]})
        self.assertEqual(len(self.ask("GET", "/search")["files"]), 4)
        self.assertEqual(self.ask("GET", "/search?q=nothing"), {"files": []})
        os.unlink(self.host(".hidden", "x.txt"))
        os.rmdir(self.host(".hidden"))

    def test_a_search_ends_at_twenty(self):
        for n in range(25):
            with open(self.host(f"f{n}.txt"), "w", encoding="utf-8"):
                pass
        self.assertEqual(len(self.ask("GET", "/search?q=f")["files"]), 20)

    def test_a_folder_goes_with_all_that_is_in_it(self):
        self.ask("POST", "/folder", {"path": "", "name": "d"})
        self.create("d", "a.txt")
        self.assertEqual(self.ask("DELETE", "/item", {"path": "d"}), {"status": "ok", "path": "d"})
        self.assertEqual(os.listdir(self.root), [])
        self.assertEqual(self.ask("DELETE", "/item", {"path": "d"}, 404), {"detail": "Path not found"})

    # ---- hostile ----

    def test_no_path_leads_out(self):
        outside = self.daemon.path("vault_evil")
        os.makedirs(outside, exist_ok=True)
        os.chmod(outside, 0o777)
        with open(os.path.join(outside, "secret.txt"), "w", encoding="utf-8") as file:
            file.write("secret")
        for path in ("../vault_evil/secret.txt", "..", "a/../../vault_evil/secret.txt", "../../../etc/passwd"):
            self.assertEqual(self.get(path, 403), {"detail": "Path traversal denied"})
            self.assertEqual(self.put(path, "x", 403), {"detail": "Path traversal denied"})
            self.assertEqual(self.ask("DELETE", "/item", {"path": path}, 403), {"detail": "Path traversal denied"})
            self.create(path, "a.txt", 403)
            self.ask("POST", "/folder", {"path": path, "name": "d"}, 403)
        for name in ("../a.txt", "x/../../a.txt", "/etc/a.txt", "../vault_evil/a.txt"):
            self.create("", name, 403)
        self.assertEqual(self.get("/etc/passwd", 404), {"detail": "File not found"})
        self.assertEqual(os.listdir(outside), ["secret.txt"])

    def test_links_lead_nowhere(self):
        os.symlink("/etc", self.host("etc"))
        os.symlink("/etc/passwd", self.host("p.txt"))
        for path in ("etc/passwd", "p.txt"):
            self.get(path, 403)
            self.put(path, "x", 403) if path == "p.txt" else None
        self.create("etc", "a.txt", 403)
        self.ask("DELETE", "/item", {"path": "etc/passwd"}, 403)
        self.assertEqual(self.ask("GET", "/tree")["tree"], [])
        self.assertEqual(self.ask("GET", "/search?q=p")["files"], [])

    def test_a_vault_is_not_removed(self):
        for path in ("", "/", ".", "a/.."):
            self.ask("DELETE", "/item", {"path": path}, 403)
        self.assertTrue(os.path.isdir(self.root))

    def test_names_that_are_none(self):
        for name in ("a\nb.txt", "\u001b[2J.txt", "x" * 300 + ".txt"):
            self.create("", name, 400)
        self.get("/".join(["a"] * 60), 400)
        self.assertEqual(os.listdir(self.root), [])

    def test_wrong_bodies_are_422(self):
        for body, field in (({}, "path"), ({"path": 1, "name": "a.txt"}, "path"), ({"path": "", "name": None}, "name")):
            answer = self.ask("POST", "/file", body, 422)
            self.assertEqual(answer["detail"][0]["loc"], ["body", field])
        self.ask("POST", "/file", {"path": "", "name": "a.txt\u0000.exe"}, 422)
        self.ask("DELETE", "/item", {"path": "a\u0000b"}, 422)
        self.ask("PUT", "/file", {"path": "a.txt"}, 422)
        for method, body in (("POST", {"path": "", "name": "a.json"}), ("PUT", {"path": "a.json"})):
            answer = self.ask(method, "/file", {**body, "content": {"a": 1}}, 422)
            self.assertEqual(answer["detail"][0]["loc"], ["body", "content"])
        self.assertEqual(os.listdir(self.root), [])
        self.ask("DELETE", "/item", {}, 422)
        self.ask("GET", "/file", None, 422)
        self.assertEqual(self.daemon.request("POST", "/api/vault/file", b"{\"path\"").status, 422)

    def test_what_is_too_large_is_refused_and_nothing_is_left(self):
        self.create("", "a.txt", content="small")
        self.put("a.txt", "x" * (10 * MIB + 1), 413)
        self.assertEqual(self.get("a.txt")["content"], "small")
        self.put("a.txt", "y" * 10 * MIB)
        self.assertEqual(len(self.get("a.txt")["content"]), 10 * MIB)
        with open(self.host("big.txt"), "wb") as file:
            file.truncate(10 * MIB + 1)
        self.get("big.txt", 413)
        self.assertEqual(sorted(os.listdir(self.root)), ["a.txt", "big.txt"])

    def test_bytes_that_are_no_text_do_not_break_the_answer(self):
        with open(self.host("b.txt"), "wb") as file:
            file.write(b"a\xff\x00b")
        self.assertEqual(self.get("b.txt")["content"], "a\ufffd\u0000b")


class Crash(unittest.TestCase):
    def test_a_kill_in_the_middle_of_writing_loses_nothing(self):
        with with_vault() as daemon:
            path = os.path.join(daemon.vault, "a.json")
            daemon.request("POST", "/api/vault/file", b'{"path":"","name":"a.json","content":"first"}')
            ended = threading.Event()

            def write():
                for n in range(10 ** 6):
                    body = json.dumps({"path": "a.json", "content": f"{n}:" + chr(97 + n % 26) * MIB})
                    try:
                        daemon.request("PUT", "/api/vault/file", body.encode(), timeout=10)
                    except OSError:
                        break
                ended.set()

            writer = threading.Thread(target=write)
            for _ in range(3):
                before = os.stat(path).st_ino
                writer = threading.Thread(target=write)
                ended.clear()
                writer.start()
                while os.stat(path).st_ino == before:
                    pass
                daemon.kill9()
                ended.wait(30)
                writer.join()
                with open(path, encoding="utf-8") as file:
                    text = file.read()
                number, _, rest = text.partition(":")
                self.assertEqual(rest, chr(97 + int(number) % 26) * MIB)
                daemon.start()
            self.assertEqual(daemon.request("GET", "/api/vault/file?path=a.json").json["content"], text)
            left = [name for name in os.listdir(daemon.vault) if name != "a.json"]
            self.assertTrue(all(name.startswith(".viv-") for name in left), left)
            self.assertEqual(daemon.request("GET", "/api/vault/tree").json["tree"][0]["name"], "a.json")


if __name__ == "__main__":
    unittest.main()
