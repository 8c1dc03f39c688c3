# SPDX-License-Identifier: Apache-2.0
"""The code interpreter of LibreChat, as its agents and its server speak to it."""

import re
import socket

from small_case import MIB, NO_OBJECTS, SmallCase, wait_for

ID = re.compile(r"[A-Za-z0-9_-]{21}")  # what LibreChat's server lets through
NOBODY = "x" * 21


def form(files, boundary="form-7"):
    """A body of multipart/form-data and its type."""
    parts = [b'Content-Disposition: form-data; name="entity_id"\r\n\r\nagent']
    parts += [b'Content-Disposition: form-data; name="file"; filename="%s"\r\nContent-Type: text/plain\r\n\r\n%s' % (name, data)
              for name, data in files]
    mark = b"--" + boundary.encode()
    body = b"".join(mark + b"\r\n" + part + b"\r\n" for part in parts) + mark + b"--\r\n"
    return body, {"Content-Type": "multipart/form-data; boundary=" + boundary}


class Librechat(SmallCase):
    DOOR = "librechat"

    def exec(self, code, lang="py", status=200, **more):
        answer = self.post("/exec", {"lang": lang, "code": code, **more})
        self.assertEqual(answer.status, status, answer)
        told = answer.json
        self.assertEqual(list(told), ["session_id", "stdout", "stderr", "files"])
        self.assertRegex(told["session_id"], ID)
        return told

    def download(self, file, status=200):
        answer = self.daemon.request("GET", f"/download/{file['storage_session_id']}/{file['id']}")
        self.assertEqual(answer.status, status, answer)
        return answer.body

    def refused(self, body, word="", status=400, path="/exec", **kw):
        runs, sessions = self.run_count(), self.sessions()
        answer = self.post(path, body, **kw)
        self.assertEqual((answer.status, list(answer.json)), (status, ["error"]), answer)
        self.assertIn(word, answer.json["error"])
        self.assertEqual((self.run_count(), self.sessions()), (runs, sessions))

    def sessions(self):
        return len(self.daemon.ask("GET", "/v1/sessions")["sessions"])

    def upload(self, *files):
        body, headers = form(files)
        answer = self.post("/upload", body, headers=headers)
        self.assertEqual(answer.status, 200, answer)
        told = answer.json
        self.assertEqual((list(told), told["message"]), (["message", "session_id", "files"], "success"))
        return [{"id": file["fileId"], "name": file["filename"], "session_id": told["session_id"]} for file in told["files"]]

    def test_what_code_prints_comes_back(self):
        told = self.exec("import sys\nprint('ä€😀')\nprint('e', file=sys.stderr)\n5", user_id="u1")
        self.assertEqual((told["stdout"], told["stderr"], told["files"]), ("ä€😀\n", "e\n", []))

    def test_it_is_served_where_clients_look_for_it(self):
        for path in ("/v1/exec", "/librechat/exec", "/librechat/v1/exec"):
            self.assertEqual(self.post(path, {"lang": "py", "code": "print(1)"}).json["stdout"], "1\n", path)

    def test_a_failure_is_on_stderr_and_keeps_what_was_printed(self):
        told = self.exec("print(1)\nraise KeyError('k')")
        self.assertEqual(told["stdout"], "1\n")
        self.assertIn("KeyError: 'k'", told["stderr"])
        self.assertIn('main.py", line 2', told["stderr"])

    def test_arguments_arrive_and_bash_runs(self):
        self.assertEqual(self.exec("import sys\nprint(sys.argv[1:])", args=["a b"])["stdout"], "['a b']\n")
        self.assertEqual(self.exec("echo $((6 * 7)) && pwd", lang="bash")["stdout"], "42\n/workspace\n")

    def test_nothing_stays_of_a_run_without_files(self):
        before = self.sessions()
        told = self.exec("x = 1")
        self.assertEqual(self.sessions(), before)
        again = self.exec("print('x' in globals())", session_id=told["session_id"])
        self.assertEqual(again["stdout"], "False\n")

    def test_a_file_is_told_downloaded_and_given_to_the_next_run(self):
        told = self.exec("open('/mnt/data/a.bin', 'wb').write(bytes(range(256)))\nimport os\nos.mkdir('sub')\n"
                         "open('sub/ü.txt', 'w').write('ü')")
        files = {file["name"]: file for file in told["files"]}
        self.assertEqual(sorted(files), ["a.bin", "sub/ü.txt"])
        for file in files.values():
            self.assertEqual(file["session_id"], told["session_id"])
            self.assertRegex(file["id"], ID)
        self.assertEqual(self.download(files["a.bin"]), bytes(range(256)))
        self.assertEqual(self.download(files["sub/ü.txt"]), "ü".encode())
        code = "print(len(open('/mnt/data/a.bin', 'rb').read()), open('sub/ü.txt').read())\nopen('a.bin', 'ab').write(b'more')"
        more = self.exec(code, files=told["files"])
        self.assertEqual(more["stdout"], "256 ü\n", more["stderr"])
        self.assertEqual([file["name"] for file in more["files"]], ["a.bin"])
        self.assertEqual(len(self.download(more["files"][0])), 260)
        self.assertEqual(len(self.download(files["a.bin"])), 256)

    def test_files_of_a_session_are_listed(self):
        told = self.exec("open('a.csv', 'w').write('1,2')")
        for path in ("/files/", "/v1/files/"):
            (file,) = self.daemon.ask("GET", path + told["session_id"] + "?detail=full")
            self.assertEqual(file["name"], f"{told['session_id']}/{told['files'][0]['id']}")
            self.assertEqual((file["metadata"], file["size"]), ({"original-filename": "a.csv"}, 3))
            self.assertRegex(file["lastModified"], r"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$")

    def test_uploaded_files_are_there(self):
        first = self.upload((b"in.csv", b"a,b\r\n1,2\r\n"))
        rest = self.upload((b"two.bin", bytes(range(256))), ("drei ü.txt".encode(), b""))
        self.assertEqual(len(self.download({**rest[0], "storage_session_id": rest[0]["session_id"]})), 256)
        told = self.exec("import os\nprint(sorted((name, os.path.getsize(name)) for name in os.listdir('/mnt/data')))",
                         files=first + rest)
        self.assertEqual(told["stdout"], "[('drei ü.txt', 0), ('in.csv', 10), ('two.bin', 256)]\n", told["stderr"])

    def test_a_file_that_is_gone_is_named(self):
        told = self.exec("open('a.txt', 'w').write('1')")
        session = self.daemon.ask("GET", "/v1/sessions")["sessions"]
        (full,) = [one["id"] for one in session if one["id"][4:25] == told["session_id"]]
        self.daemon.ask("DELETE", f"/v1/sessions/{full}")
        self.download(told["files"][0], 404)
        again = self.exec("print(1)", files=told["files"])
        self.assertEqual(again["stdout"], "1\n")
        self.assertEqual(again["stderr"], "no longer there: a.txt")
        for text in ("e", "e\n", "\\n", "\\\n", "n", "\n"):
            again = self.exec(f"import sys\nsys.stderr.write({text!r})", files=told["files"])
            begin = text if text.endswith("\n") else text + "\n"
            self.assertEqual(again["stderr"], begin + "no longer there: a.txt")

    def test_what_a_limit_ended_says_so(self):
        told = self.exec("print('on', flush=True)\nx = bytearray(1 << 34)")
        self.assertEqual(told["stdout"], "on\n")
        self.assertTrue(told["stderr"])
        told = self.exec("print('x' * 2_000_000)")
        self.assertEqual(len(told["stdout"]), 1 << 20)
        self.assertIn("was cut", told["stderr"])

    def test_the_message_of_a_failure_has_a_line_of_its_own(self):
        told = self.exec("import os, sys\nsys.stderr.write('half a line')\nsys.stderr.flush()\nos.kill(os.getpid(), 9)")
        first, second = told["stderr"].split("\n", 1)
        self.assertEqual(first, "half a line")
        self.assertTrue(second)

    def test_wrong_members_are_named_and_nothing_runs(self):
        good = {"lang": "py", "code": "print(1)"}
        ref = {"id": NOBODY, "name": "a.txt", "session_id": NOBODY}
        for change, word in (({"lang": None}, "lang"), ({"lang": 7}, "lang"), ({"lang": "cobol"}, "lang"), ({"code": None}, "code"),
                             ({"code": ""}, "code"), ({"code": ["x"]}, "code"), ({"args": "a"}, "args"), ({"args": [1]}, "args"),
                             ({"args": [""] * 1001}, "args"), ({"files": {}}, "files"), ({"files": [7]}, "files"),
                             ({"files": [{**ref, "id": None}]}, "files"), ({"files": [{**ref, "session_id": 7}]}, "files"),
                             ({"files": [{**ref, "name": "../a"}]}, "files"), ({"files": [{**ref, "name": "/etc/passwd"}]}, "files"),
                             ({"files": [{**ref, "name": ""}]}, "files"), ({"files": [ref] * 101}, "files")):
            with self.subTest(change=str(change)[:60]):
                self.refused({**good, **change}, word)

    def test_ids_of_nobody_find_nothing(self):
        for session, file in ((NOBODY, NOBODY), ("..", ".."), ("ses_", "x"), ('"id":"ses_', NOBODY), ("%22", NOBODY), ("x" * 3000, "y")):
            answer = self.daemon.request("GET", f"/download/{session}/{file}")
            self.assertEqual((answer.status, list(answer.json)), (404, ["error"]), answer)
            answer = self.daemon.request("GET", f"/files/{session}")
            self.assertEqual((answer.status, list(answer.json)), (404, ["error"]), answer)

    def test_a_host_of_somebody_else_is_refused(self):
        self.assert_other_host_refused("/exec", ["error"])

    def test_what_is_no_object_is_refused(self):
        for body in NO_OBJECTS:
            with self.subTest(body=body[:30]):
                self.refused(body)

    def test_what_is_no_form_is_refused(self):
        body, headers = form([(b"a.txt", b"1")])
        self.refused(body, path="/upload")
        self.refused(b"", path="/upload", headers=headers)
        for cut in range(1, len(body) - 4, 7):
            self.refused(body[:cut], path="/upload", headers=headers)
        for name in (b"../a", b"/etc/x", b"", b"a\x00b", b"\xff", b"x" * 5000):
            bad, headers = form([(name, b"1")])
            self.refused(bad, path="/upload", headers=headers)
        many, headers = form([(b"a%d" % i, b"") for i in range(101)])
        self.refused(many, path="/upload", headers=headers)

    def test_code_of_any_length_runs(self):
        self.assertEqual(self.exec("# " + "x" * (3 * MIB) + "\nprint(2)")["stdout"], "2\n")

    def test_a_run_and_its_session_end_with_the_client(self):
        before = self.sessions()
        self.leave_while_it_runs("/exec", {"lang": "py", "code": "open('a', 'w').write('1')\nwhile True: pass"})
        wait_for(lambda: self.sessions() == before, what="the end of the session")


class LibrechatUnread(SmallCase):
    DOOR = "librechat"
    MORE = f"limits: {{body: {8 * MIB}}}\n"  # answers may take four times that

    def test_answers_that_nobody_reads_do_not_pile_up(self):
        told = self.post("/exec", {"lang": "py", "code": f"open('a', 'wb').write(bytes({12 * MIB}))"}).json
        path = "/download/{session_id}/{id}".format(**told["files"][0])
        unread = [socket.create_connection(("127.0.0.1", self.daemon.port), timeout=30) for _ in range(2)]
        try:
            for client in unread:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                client.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
                self.assertTrue(client.recv(12).endswith(b" 200"))
            answer = self.daemon.request("GET", path)
            self.assertEqual((answer.status, list(answer.json)), (503, ["error"]), answer)
            self.assertEqual(self.post("/exec", {"lang": "py", "code": "print(1)"}).json["stdout"], "1\n")
        finally:
            for client in unread:
                client.close()
        wait_for(lambda: self.daemon.request("GET", path).status == 200, what="room for the answer")


class LibrechatWithToken(SmallCase):
    DOOR = "librechat"
    MORE = "tokens: [{name: chat, sha256: 5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8}]\n"

    def test_only_the_key_opens_it(self):
        body = {"lang": "py", "code": "print(1)"}
        for headers in ({}, {"X-Api-Key": "wrong"}, {"Authorization": "Bearer wrong"}):
            answer = self.post("/exec", body, headers=headers)
            self.assertEqual((answer.status, list(answer.json)), (401, ["error"]), answer)
        self.assertEqual(self.post("/exec", body, headers={"X-Api-Key": "password"}).json["stdout"], "1\n")
