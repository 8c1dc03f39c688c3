# SPDX-License-Identifier: Apache-2.0
"""Files of a session from outside: byte for byte, both ways, and only below /workspace."""

import hashlib
import os
import socket
import unittest
from urllib.parse import quote

from daemon import Daemon

MIB = 1 << 20


def memory_of(pid):
    """Bytes of memory that belong to a process alone or in part, its memfds not counted."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        for line in file:
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) * 1024
    raise AssertionError("no RssAnon")


class Files(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon("policies:\n  wide: {base: default, memory: 1GiB, disk: 512MiB}\n"
                            "  narrow: {base: default, disk: 4MiB}\n")
        cls.addClassCleanup(cls.daemon.stop)

    def setUp(self):
        self.id = self.daemon.session()
        self.addCleanup(self.daemon.request, "DELETE", f"/v1/sessions/{self.id}")

    def path(self, name):
        return f"/v1/sessions/{self.id}/files/{name}"

    def put(self, name, data, status=201):
        return self.daemon.ask("PUT", self.path(name), data, status=status)

    def get(self, name, method="GET"):
        return self.daemon.request(method, self.path(name))

    def listed(self, query=""):
        return self.daemon.ask("GET", f"/v1/sessions/{self.id}/files{query}")

    def names(self, query=""):
        return [fact["path"] for fact in self.listed(query)["files"]]

    def value(self, code):
        return self.daemon.value(code, self.id)

    # ---- bytes ----

    def test_bytes_come_back_as_they_went(self):
        data = bytes(range(256)) * 700 + b"\r\n\0\xff"
        fact = self.put("in/x.bin", data)
        self.assertEqual((fact["path"], fact["size"], fact["mime"]),
                         ("/workspace/in/x.bin", len(data), "application/octet-stream"))
        self.assertEqual(self.value("import hashlib\nhashlib.sha256(open('in/x.bin','rb').read())"
                                    ".hexdigest()"), hashlib.sha256(data).hexdigest())
        answer = self.get("in/x.bin")
        self.assertEqual((answer.status, answer.body), (200, data))
        self.assertEqual(answer.headers["Content-Length"], str(len(data)))

    def test_a_type_for_what_has_one_and_no_browser_runs_it(self):
        for name, mime in (("a.csv", "text/csv"), ("a.png", "image/png"), ("a.html", "text/html"),
                           ("a.json", "application/json"), ("a", "application/octet-stream")):
            self.put(name, b"x")
            answer = self.get(name)
            self.assertEqual(answer.headers["Content-Type"], mime)
            self.assertIn("sandbox", answer.headers["Content-Security-Policy"])
            self.assertEqual(answer.headers["X-Content-Type-Options"], "nosniff")

    def test_head_tells_the_size_and_sends_nothing(self):
        self.put("x.csv", b"a,b\n" * 1000)
        answer = self.get("x.csv", "HEAD")
        self.assertEqual((answer.status, answer.body), (200, b""))
        self.assertEqual((answer.headers["Content-Length"], answer.headers["Content-Type"]),
                         ("4000", "text/csv"))
        self.assertEqual(self.get("none", "HEAD").status, 404)

    def test_new_replaced_removed(self):
        self.put("x", b"one", status=201)
        self.put("x", b"", status=200)
        self.assertEqual(self.get("x").body, b"")
        self.assertEqual(self.get("x", "DELETE").status, 204)
        self.assertEqual(self.get("x", "DELETE").status, 404)
        self.assertEqual(self.get("x").status, 404)

    def test_a_hundred_megabytes_both_ways(self):
        self.id = self.daemon.session(policy="wide")
        data = os.urandom(MIB) * 100
        self.put("big", data)
        answer = self.get("big")
        self.assertEqual(hashlib.sha256(answer.body).digest(), hashlib.sha256(data).digest())
        self.assertEqual(len(answer.body), len(data))

    def test_a_chunked_body(self):
        connection = self.daemon.connection()
        connection.request("PUT", self.path("x"), iter([b"one ", b"two ", b"three"]),
                           encode_chunked=True)
        self.assertEqual(connection.getresponse().status, 201)
        connection.close()
        self.assertEqual(self.get("x").body, b"one two three")

    def test_slow_readers_cost_no_memory(self):
        self.id = self.daemon.session(policy="wide")
        self.daemon.run(f"open('big', 'wb').truncate({200 * MIB})", self.id)
        self.get("big", "HEAD")
        before = memory_of(self.daemon.serve_pid)
        sockets = [self.begin_slow_read("big") for _ in range(6)]
        # Each has its head and some of the file: the rest is held back in the sandbox.
        self.assertLess(memory_of(self.daemon.serve_pid) - before, 40 * MIB)
        self.assertEqual(self.value("1 + 1"), 2)
        self.assertEqual(len(self.finish_read(sockets[0])), 200 * MIB)
        for reader in sockets[1:]:
            reader.close()  # a client that goes away in the middle
        self.assertEqual(self.names(), ["/workspace/big"])

    def begin_slow_read(self, name):
        reader = socket.create_connection((self.daemon.host, self.daemon.port), 20)
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        reader.sendall(f"GET {self.path(name)} HTTP/1.1\r\nHost: localhost\r\n"
                       "Connection: close\r\n\r\n".encode())
        self.assertIn(b"200 OK", reader.recv(200))
        return reader

    def finish_read(self, reader):
        pieces = []
        while piece := reader.recv(MIB):
            pieces.append(piece)
        reader.close()
        return b"".join(pieces).partition(b"\r\n\r\n")[2]

    # ---- lists ----

    def test_a_folder_and_a_tree(self):
        for name in ("b.txt", "a/one.csv", "a/b/two"):
            self.put(name, b"xyz")
        self.assertEqual(self.names(), ["/workspace/a", "/workspace/b.txt"])
        self.assertEqual(self.names("?path=a"), ["/workspace/a/b", "/workspace/a/one.csv"])
        self.assertEqual(self.names("?recursive=true"),
                         ["/workspace/a/b/two", "/workspace/a/one.csv", "/workspace/b.txt"])
        fact = self.listed("?path=/workspace/a/one.csv")["files"][0]
        self.assertEqual((fact["size"], fact["mime"]), (3, "text/csv"))
        self.assertEqual(self.daemon.request("GET", f"/v1/sessions/{self.id}/files?path=none").status,
                         404)

    def test_ten_thousand_files_in_pages(self):
        self.daemon.run("import os\nos.mkdir('many')\n"
                        "for i in range(10000): open(f'many/{i:05}', 'w').close()", self.id)
        found, after = [], ""
        while True:
            page = self.listed(f"?recursive=true&limit=3000{after}")
            found += [fact["path"] for fact in page["files"]]
            if "next" not in page:
                break
            after = "&after=" + quote(page["next"])
        self.assertEqual(found, [f"/workspace/many/{i:05}" for i in range(10000)])
        self.assertEqual(len(self.listed("?path=many&limit=10000")["files"]), 10000)

    # ---- in step with runs ----

    def test_a_file_that_was_put_outlives_a_rollback(self):
        self.daemon.run("x = 1", self.id)
        self.put("kept", b"by the client")
        result = self.daemon.run("import os\nos.remove('kept')\nopen('new', 'w').close()\nos._exit(3)",
                                 self.id, kind="exit")
        self.assertEqual(result["state"], "rolled_back")
        self.assertEqual(self.get("kept").body, b"by the client")
        self.assertEqual(self.names(), ["/workspace/kept"])

    def test_a_put_waits_for_the_run_that_is_on(self):
        run = self.daemon.start_run("print('on', flush=True)\ninput()\nimport os\nos._exit(1)",
                                    self.id, stdin="live")
        with self.daemon.events(run) as events:
            events.until_text("on")
            connection = self.daemon.connection()
            connection.request("PUT", self.path("late"), b"bytes")
            self.daemon.ask("POST", f"/v1/runs/{run}/stdin", {"text": "go\n"})
            self.assertEqual(events.until("verdict")["state"], "rolled_back")
            response = connection.getresponse()
            self.assertEqual((response.status, b"late" in response.read()), (201, True))
            connection.close()
        self.assertEqual(self.get("late").body, b"bytes")

    def test_reads_while_a_run_is_on_are_of_now_and_claim_no_checkpoint(self):
        self.put("x", b"bytes")
        run = self.daemon.start_run("open('x', 'w').write('by the run')\nprint('on', flush=True)\n"
                                    "while True: pass", self.id)
        with self.daemon.events(run) as events:
            events.until_text("on")
            answer = self.get("x")
            self.assertEqual((answer.status, answer.body), (200, b"by the run"))
            self.assertNotIn("Vivarium-As-Of", answer.headers)
            self.assertNotIn("as_of", self.listed())
        self.daemon.request("DELETE", f"/v1/runs/{run}")

    def test_writes_count_as_no_run(self):
        self.daemon.run("x = 1", self.id)
        self.put("a", b"1")
        self.put("b", b"2")
        self.assertEqual(self.daemon.state(self.id)["runs"], 1)

    # ---- hostile names, trees and sizes ----

    def test_paths_that_lead_out_are_refused(self):
        for name in ("..", "../x", "a/../../x", "%2e%2e/x", "/etc/passwd", "%2fetc%2fpasswd"):
            for method in ("GET", "PUT", "DELETE"):
                answer = self.daemon.request(method, self.path(name), b"x")
                self.assertIn(answer.status, (400, 404), (method, name))
                self.assertNotIn(b"root:", answer.body)
        for name in ("%00", "a%00b", "%ff", "%"):
            self.assertEqual(self.get(name).status, 400, name)

    def test_odd_names_are_only_names(self):
        for name in ("new\nline", "tab\t", "quote\"'", "back\\slash", "\u00e9\u4e2d", " ", "a b", "-rf",
                     "%41", "?", "#", "a" * 255, "/".join(["d"] * 30)):
            self.put(quote(name), name.encode())
            self.assertEqual(self.get(quote(name)).body, name.encode(), name)
        found = self.names("?recursive=true")
        self.assertIn("/workspace/new\nline", found)
        self.assertIn("/workspace/%41", found)

    def test_a_name_that_is_too_long(self):
        for name in ("a" * 5000, "a" * 256, "/".join(["d" * 200] * 25)):
            for method in ("GET", "PUT", "DELETE"):
                self.assertEqual(self.daemon.request(method, self.path(name), b"x").status, 400,
                                 (method, len(name)))
        self.assertEqual(self.daemon.value("2", self.id), 2)

    def test_links_are_not_there(self):
        self.put("target", b"bytes")
        self.daemon.run("import os\nos.symlink('/etc/passwd', 'out')\nos.symlink('target', 'in')\n"
                        "os.symlink('/', 'root')\nos.mkdir('d')\nos.symlink('..', 'd/up')\n"
                        "os.mkfifo('pipe')", self.id)
        for name in ("out", "in", "root/etc/passwd", "d/up/target", "pipe", "d"):
            answer = self.get(name)
            self.assertIn(answer.status, (404, 409), (name, answer))
        self.assertEqual(self.names("?recursive=true"), ["/workspace/target"])
        self.assertEqual(self.daemon.request("PUT", self.path("root/tmp/x"), b"x").status, 409)
        self.put("in", b"new", status=200)  # the link is replaced, not what it names
        self.assertEqual((self.get("in").body, self.get("target").body), (b"new", b"bytes"))
        self.assertEqual(self.get("out", "DELETE").status, 204)

    def test_a_folder_is_no_file(self):
        self.put("d/x", b"1")
        self.assertEqual(self.daemon.request("PUT", self.path("d"), b"x").status, 409)
        self.assertEqual(self.daemon.request("PUT", self.path("d/x/y"), b"x").status, 409)
        self.assertEqual(self.daemon.request("PUT", self.path("e/"), b"x").status, 400)
        self.assertEqual(self.get("d", "DELETE").status, 409)
        self.assertEqual(self.get("d/x", "DELETE").status, 204)
        self.assertEqual(self.get("d", "DELETE").status, 204)

    def test_what_does_not_fit_is_refused_and_leaves_nothing(self):
        self.id = self.daemon.session(policy="narrow")
        self.put("old", b"x" * MIB)
        answer = self.daemon.request("PUT", self.path("old"), b"y" * (8 * MIB))
        self.assertEqual((answer.status, answer.error["kind"]), (413, "too_large"))
        self.assertEqual(self.get("old").body, b"x" * MIB)
        self.assertEqual(self.names(), ["/workspace/old"])

    def test_a_file_that_changes_while_it_is_read(self):
        self.id = self.daemon.session(policy="wide")
        self.daemon.run(f"open('big', 'wb').truncate({50 * MIB})", self.id)
        reader = self.begin_slow_read("big")
        self.daemon.run("open('big', 'wb').truncate(10)", self.id)
        # The promised bytes do not come: the connection breaks off, it does not end well.
        self.assertLess(len(self.finish_read(reader)), 50 * MIB)
        self.assertEqual(self.get("big").headers["Content-Length"], "10")

    def test_code_that_breaks_the_runner_harms_itself(self):
        self.put("x", b"bytes")
        self.daemon.run("import os\nos.open = os.read = None", self.id)
        self.assertEqual(self.get("x").status, 409)
        self.assertEqual(self.daemon.request("PUT", self.path("y"), b"1").status, 409)
        self.assertEqual(self.value("1 + 1"), 2)

    def test_a_session_that_is_deleted_breaks_its_readers_off(self):
        self.id = self.daemon.session(policy="wide")
        self.daemon.run(f"open('big', 'wb').truncate({50 * MIB})", self.id)
        reader = self.begin_slow_read("big")
        self.assertEqual(self.daemon.request("DELETE", f"/v1/sessions/{self.id}").status, 204)
        self.assertLess(len(self.finish_read(reader)), 50 * MIB)


if __name__ == "__main__":
    unittest.main()
