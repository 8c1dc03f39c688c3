# SPDX-License-Identifier: Apache-2.0
"""Conversations: what is kept of them, whose they are, and what survives what."""

import hashlib
import json
import os
import pwd
import threading
import unittest

from daemon import Daemon, wait_for
from feed import Feed

MIB = 1 << 20
EMPTY = {"cells": []}
SECRETS = {"alice": "a" * 43, "bob": "b" * 43}
ROW_KEYS = {"id", "name", "session", "sandbox", "cells", "version", "created_ms", "changed_ms"}
# In a mount namespace of its own, where conversations are on a tmpfs of this size.
SMALL_DISK = """set -e
mkdir -p {folder}/state/conversations
mount -t tmpfs -o size={size},mode=0700{owner} tmpfs {folder}/state/conversations
exec "$0" "$@"
"""


def tokens(*names):
    return "tokens:\n" + "".join(
        f"  - name: {name}\n    sha256: {hashlib.sha256(SECRETS[name].encode()).hexdigest()}\n" for name in names)


def document(count, text="x"):
    return {"cells": [{"id": f"c{i}", "kind": "code", "source": text, "run": None} for i in range(count)]}


class Helpers:
    """The calls of these tests."""

    def make(self, client=None, **body):
        return (client or self.daemon).ask("POST", "/v1/conversations", body, status=201)

    def get(self, conversation, client=None):
        return (client or self.daemon).ask("GET", f"/v1/conversations/{conversation}")

    def put(self, conversation, status=200, client=None, **body):
        return (client or self.daemon).ask("PUT", f"/v1/conversations/{conversation}", body, status=status)

    def rows(self, client=None):
        return (client or self.daemon).ask("GET", "/v1/conversations")["conversations"]

    def refused(self, method, path, body, status, *words):
        answer = self.daemon.request(method, path, body)
        self.assertEqual(answer.status, status, answer)
        for word in words:
            self.assertIn(word, answer.error["message"])
        return answer

    def folder(self, *names):
        return self.daemon.path("state", "conversations", *names)


class Case(unittest.TestCase, Helpers):
    CONFIG = ""

    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon(cls.CONFIG)
        cls.addClassCleanup(cls.daemon.stop)


class Life(Case):
    def test_a_new_one_is_empty_and_can_run(self):
        made = self.make()
        self.assertEqual(set(made), ROW_KEYS | {"document"})
        self.assertRegex(made["id"], r"^cnv_[0-9a-z]{26}$")
        self.assertEqual((made["name"], made["session"], made["sandbox"], made["cells"], made["version"]),
                         ("", None, True, 0, 1))
        self.assertEqual(made["document"], EMPTY)
        self.assertEqual(self.get(made["id"]), made)

    def test_it_takes_what_it_is_given(self):
        session = self.daemon.session(runtime="bare")
        made = self.make(name="Über α 🐍", session=session, sandbox=False, document=document(2))
        self.assertEqual((made["name"], made["session"], made["sandbox"], made["cells"]),
                         ("Über α 🐍", session, False, 2))
        self.assertEqual(made["document"], document(2))

    def test_each_change_is_a_version(self):
        made = self.make(name="one")
        row = self.put(made["id"], version=1, document=document(3))
        self.assertEqual(set(row), ROW_KEYS)
        self.assertEqual((row["version"], row["cells"], row["name"]), (2, 3, "one"))
        row = self.put(made["id"], version=2, name="two")
        self.assertEqual((row["version"], row["cells"], row["name"]), (3, 3, "two"))
        row = self.put(made["id"], version=3, sandbox=False)
        self.assertEqual((row["version"], row["sandbox"]), (4, False))
        whole = self.get(made["id"])
        self.assertEqual((whole["document"], whole["version"], whole["name"]), (document(3), 4, "two"))

    def test_the_second_of_two_tabs_gets_a_conflict(self):
        made = self.make()
        self.put(made["id"], version=1, document=document(1, "first"))
        answer = self.refused("PUT", f"/v1/conversations/{made['id']}",
                              {"version": 1, "document": document(1, "second")}, 409, "version")
        self.assertEqual(answer.error["kind"], "conflict")
        self.refused("PUT", f"/v1/conversations/{made['id']}", {"version": 3, "name": "later"}, 409)
        self.assertEqual(self.get(made["id"])["document"], document(1, "first"))

    def test_null_takes_the_session_away_and_nothing_leaves_it(self):
        session = "ses_" + "0" * 26
        made = self.make(session=session)
        self.assertEqual(self.put(made["id"], version=1, name="x")["session"], session)
        self.assertIsNone(self.put(made["id"], version=2, session=None)["session"])
        self.assertEqual(self.put(made["id"], version=3, session=session)["session"], session)

    def test_the_list_has_the_last_change_first(self):
        made = [self.make(name=f"n{i}")["id"] for i in range(3)]
        self.put(made[1], version=1, name="changed")
        ids = [row["id"] for row in self.rows() if row["id"] in made]
        self.assertEqual(ids, [made[1], made[2], made[0]])
        self.assertEqual(set(self.rows()[0]), ROW_KEYS)

    def test_a_document_comes_back_byte_for_byte(self):
        made = self.make()
        raw = '{ "cells" :[ {"a":1.0e+2,"b":"\\u00e9\\ud800" }, "],[\\"" , [1,2]\n],"more":{"z":[],"a":null} }'
        body = f'{{"version": 1, "document": {raw}}}'
        answer = self.daemon.request("PUT", f"/v1/conversations/{made['id']}", body)
        self.assertEqual((answer.status, answer.json["cells"]), (200, 3))
        self.assertIn(raw.encode(), self.daemon.request("GET", f"/v1/conversations/{made['id']}").body)

    def test_cells_are_counted(self):
        for raw, count in (('{}', 0), ('{"cells":[ ]}', 0), ('{"cells":[[]]}', 1), ('{"cells":7}', 0),
                           ('{"cells":["a,b","\\\\\\"",{}]}', 3), ('{"x":{"cells":[1]},"cells":[1,2]}', 2)):
            made = self.daemon.request("POST", "/v1/conversations", '{"document":' + raw + "}")
            self.assertEqual((made.status, made.json["cells"]), (201, count), raw)

    def test_a_large_one_is_sent_in_pieces(self):
        made = self.make()
        text = "π" * (2 * MIB - 60)
        raw = json.dumps({"cells": [], "text": text}, ensure_ascii=False)
        body = f'{{"version":1,"document":{raw}}}'.encode()
        self.assertGreater(len(raw.encode()), 4 * MIB - 200)
        self.assertEqual(self.daemon.request("PUT", f"/v1/conversations/{made['id']}", body).status, 200)
        self.assertEqual(self.get(made["id"])["document"]["text"], text)

    def test_it_outlives_its_session(self):
        session = self.daemon.session(runtime="bare")
        made = self.make(session=session, document=document(1))
        self.daemon.ask("DELETE", f"/v1/sessions/{session}")
        self.assertEqual(self.get(made["id"])["document"], document(1))

    def test_a_deleted_one_is_gone_and_its_session_is_not(self):
        session = self.daemon.session(runtime="bare")
        made = self.make(session=session)
        self.daemon.request("PUT", f"/v1/conversations/{made['id']}/outputs/c1", b"{}")
        self.daemon.ask("DELETE", f"/v1/conversations/{made['id']}", status=204)
        for method, path in (("GET", ""), ("PUT", ""), ("DELETE", ""), ("GET", "/outputs/c1")):
            self.refused(method, f"/v1/conversations/{made['id']}{path}",
                         {"version": 1} if method == "PUT" else None, 404)
        self.assertNotIn(made["id"], [row["id"] for row in self.rows()])
        self.assertEqual(self.daemon.state(session)["id"], session)
        wait_for(lambda: not any(made["id"][4:] in name for name in os.listdir(self.folder())),
                 what="the sweep of its folder")

    def test_its_answers_are_nothing_a_browser_runs(self):
        made = self.make()
        self.daemon.request("PUT", f"/v1/conversations/{made['id']}/outputs/c1", b'"<script>alert(1)</script>"')
        for path in ("", "/outputs/c1"):
            headers = self.daemon.request("GET", f"/v1/conversations/{made['id']}{path}").headers
            self.assertEqual(headers["Content-Type"], "application/json")
            self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
            self.assertIn("sandbox", headers["Content-Security-Policy"])


class Hostile(Case):
    def test_bodies_that_are_no_conversation(self):
        made = self.make()
        path = f"/v1/conversations/{made['id']}"
        for body, status, word in (
                ("", 400, "version"), ("{", 400, "JSON"), ("[]", 400, "object"), ("{}", 400, "version"),
                ('{"version":"1"}', 400, "version"), ('{"version":-1}', 400, "version"),
                ('{"version":1.5}', 400, "version"), ('{"version":1,"x":1}', 400, "x"),
                ('{"version":1,"document":[]}', 400, "document"), ('{"version":1,"document":"x"}', 400, "document"),
                ('{"version":1,"document":{"a":}}', 400, "JSON"), ('{"version":1,"document":{"a":1}', 400, "JSON"),
                ('{"version":1,"document":' + '{"a":' * 70 + "1" + "}" * 71, 400, "deep"),
                ('{"version":1,"name":7}', 400, "name"), ('{"version":1,"name":"a\\u0000b"}', 400, "NUL"),
                ('{"version":1,"name":"' + "x" * 201 + '"}', 400, "name"),
                ('{"version":1,"session":"../../etc"}', 400, "session"),
                ('{"version":1,"session":"ses_' + "/" * 26 + '"}', 400, "session"),
                ('{"version":1,"sandbox":"yes"}', 400, "sandbox"),
                (b'{"version":1,"document":{"a":"\xff"}}', 400, "JSON"),
                ('{"version":1,"document":{"a":"' + "x" * (4 * MIB) + '"}}', 413, "document")):
            self.refused("PUT", path, body, status, word)
        self.assertEqual(self.get(made["id"])["version"], 1)
        self.assertEqual(sorted(os.listdir(self.folder(made["id"]))), ["document-1", "meta"])

    def test_a_body_that_is_too_large_is_refused_before_it_is_sent(self):
        made = self.make()
        for path in ("", "/outputs/c1"):
            connection = self.daemon.connection()
            self.addCleanup(connection.close)
            connection.putrequest("PUT", f"/v1/conversations/{made['id']}{path}")
            connection.putheader("Content-Length", str(64 * MIB))
            connection.endheaders()
            self.assertEqual(connection.getresponse().status, 413)

    def test_names_that_are_no_ids(self):
        for name in ("..", ".", "%2e%2e", "..%2f..%2fetc", "cnv_", "cnv_" + "0" * 26, "cnv_" + "u" * 26,
                     "x" * 5000, "cnv_..", "meta"):
            answer = self.daemon.request("GET", f"/v1/conversations/{name}")
            self.assertIn(answer.status, (400, 404), name)
        self.assertEqual(self.daemon.request("GET", "/v1/conversations/%00").status, 400)

    def test_cells_that_are_no_cells(self):
        made = self.make()
        before = sorted(os.listdir(self.folder(made["id"])))
        for name in ("..", "%2e%2e", "a%2fb", "..%2f..%2fmeta", "a.b", "%20", "x" * 65, "%C3%A9", "%00"):
            path = f"/v1/conversations/{made['id']}/outputs/{name}"
            for method in ("GET", "PUT", "DELETE"):
                answer = self.daemon.request(method, path, b"{}" if method == "PUT" else None)
                self.assertIn(answer.status, (400, 404), (method, name, answer))
        self.assertEqual(sorted(os.listdir(self.folder(made["id"]))), before)

    def test_outputs_that_are_no_json(self):
        made = self.make()
        path = f"/v1/conversations/{made['id']}/outputs/c1"
        for body, status in ((b"", 400), (b"{", 400), (b"{}{}", 400), (b"nan", 400), (b'"\xff"', 400),
                             (b"[" * 100000, 400), (b'"' + b"x" * (4 * MIB) + b'"', 413)):
            self.refused("PUT", path, body, status)
        self.assertEqual(self.daemon.request("GET", path).status, 204)


class Outputs(Case):
    def test_they_are_kept_and_forgotten(self):
        path = f"/v1/conversations/{self.make()['id']}/outputs/"
        name = "A-z_0" + "x" * 59
        raw = b' {"lines": [1, 2 ] } '
        answer = self.daemon.request("GET", path + name)
        self.assertEqual((answer.status, answer.body), (204, b""))  # nothing was kept: an answer, no failure
        self.assertEqual(self.daemon.request("PUT", path + name, raw).status, 204)
        answer = self.daemon.request("GET", path + name)
        self.assertEqual((answer.status, answer.body), (200, raw))
        self.assertIn("attachment", answer.headers["Content-Disposition"])
        self.assertEqual(self.daemon.request("PUT", path + name, b"[]").status, 204)
        self.assertEqual(self.daemon.request("GET", path + name).body, b"[]")
        self.assertEqual(self.daemon.request("HEAD", path + name).headers["Content-Length"], "2")
        self.assertEqual(self.daemon.request("DELETE", path + name).status, 204)
        self.refused("DELETE", path + name, None, 404)

    def test_one_conversation_has_64_mib_of_them(self):
        made = self.make()
        path = f"/v1/conversations/{made['id']}/outputs/c"
        body = b'"' + b"x" * (4 * MIB - 2) + b'"'
        for i in range(16):
            self.assertEqual(self.daemon.request("PUT", f"{path}{i}", body).status, 204)
        answer = self.refused("PUT", path + "more", b"1", 507, "64 MiB", "delete")
        self.assertEqual(answer.error["kind"], "busy")
        self.assertIn("delete", answer.error["remedy"])
        self.assertNotIn("Retry-After", answer.headers)
        self.assertEqual(self.daemon.request("PUT", path + "0", b"1").status, 204)
        self.assertEqual(self.daemon.request("PUT", path + "more", b"1").status, 204)
        self.daemon.ask("DELETE", f"/v1/conversations/{made['id']}")


class Tokens(Case):
    CONFIG = tokens("alice", "bob")

    def test_nobody_sees_what_another_made(self):
        alice, bob = (self.daemon.as_token(SECRETS[name]) for name in ("alice", "bob"))
        mine = self.make(alice, name="secret")["id"]
        self.assertEqual(alice.request("PUT", f"/v1/conversations/{mine}/outputs/c1", b"1").status, 204)
        self.assertNotIn(mine, [row["id"] for row in self.rows(bob)])
        for method, path, body in (("GET", "", None), ("PUT", "", {"version": 1, "name": "x"}), ("DELETE", "", None),
                                   ("GET", "/outputs/c1", None), ("PUT", "/outputs/c1", "2"),
                                   ("DELETE", "/outputs/c1", None)):
            answer = bob.request(method, f"/v1/conversations/{mine}{path}", body)
            self.assertEqual(answer.status, 404, (method, path))
            self.assertEqual(self.daemon.request(method, f"/v1/conversations/{mine}{path}", body).status, 401)
        self.assertEqual(self.get(mine, alice)["name"], "secret")
        self.assertEqual(alice.request("GET", f"/v1/conversations/{mine}/outputs/c1").body, b"1")


    def test_changes_are_told_to_its_owner_alone(self):
        alice, bob = (self.daemon.as_token(SECRETS[name]) for name in ("alice", "bob"))
        with Feed(alice) as hers, Feed(bob) as his:
            mine = self.make(alice)["id"]
            self.put(mine, client=alice, version=1, name="two")
            alice.ask("DELETE", f"/v1/conversations/{mine}")
            yours = self.make(bob)["id"]
            told = [{key: event.get(key) for key in ("type", "id", "version")} for event in (hers.next() for _ in range(3))]
            self.assertEqual(told, [{"type": "conversation", "id": mine, "version": 1},
                                    {"type": "conversation", "id": mine, "version": 2},
                                    {"type": "conversation_gone", "id": mine, "version": None}])
            self.assertEqual(his.next()["id"], yours)


class Restarts(unittest.TestCase, Helpers):
    def setUp(self):
        self.daemon = Daemon()
        self.addCleanup(self.daemon.stop)

    def test_all_is_there_after_a_crash(self):
        made = [self.make(name=f"n{i}", document=document(i)) for i in range(5)]
        self.put(made[2]["id"], version=1, session="ses_" + "1" * 26, sandbox=False)
        self.daemon.request("PUT", f"/v1/conversations/{made[1]['id']}/outputs/c1", b'{"a": 1}')
        before = self.rows()
        self.daemon.restart()
        self.assertEqual(self.rows(), before)
        for i, one in enumerate(made):
            self.assertEqual(self.get(one["id"])["document"], document(i))
        self.assertEqual(self.daemon.request("GET", f"/v1/conversations/{made[1]['id']}/outputs/c1").body, b'{"a": 1}')
        self.assertEqual(self.put(made[2]["id"], version=2, name="on")["version"], 3)

    def test_a_kill_while_it_saves_leaves_one_version_or_the_other(self):
        made = self.make()["id"]
        sent = [0]

        def save():
            try:
                while True:
                    version = sent[0] + 1
                    self.put(made, version=version, document=document(version % 7, str(version + 1) * 20000))
                    sent[0] = version
            except (OSError, AssertionError):
                pass

        for _ in range(4):
            begun = sent[0]
            saver = threading.Thread(target=save)
            saver.start()
            wait_for(lambda: sent[0] >= begun + 3, what="three saves")
            self.daemon.kill9()
            saver.join()
            self.daemon.start()
            whole = self.get(made)
            self.assertIn(whole["version"], (sent[0] + 1, sent[0] + 2))  # the last may have got no answer
            self.assertEqual(whole["document"]["cells"], document(whole["cells"], str(whole["version"]) * 20000)["cells"])
            self.assertEqual(sorted(os.listdir(self.folder(made))), [f"document-{whole['version']}", "meta"])
            sent[0] = whole["version"] - 1

    def test_what_a_killed_process_left_is_swept(self):
        made = self.make(document=document(2))["id"]
        half, gone = "cnv_" + "2" * 26, "gone_" + "3" * 26
        owner = os.stat(self.folder(made))
        self.daemon.kill9()
        for path in (half, gone):
            os.mkdir(self.folder(path), 0o700)
        left = [self.folder(made, "new"), self.folder(made, "document-2"), self.folder(half, "document-1"),
                self.folder(gone, "meta"), self.folder(gone, "output-c1")]
        for path in left:
            with open(path, "w", encoding="utf-8") as file:
                file.write("half")
        for path in left + [self.folder(half), self.folder(gone)]:
            os.chown(path, owner.st_uid, owner.st_gid)
        self.daemon.start()
        self.assertEqual([row["id"] for row in self.rows()], [made])
        self.assertEqual(self.get(made)["document"], document(2))
        wait_for(lambda: os.listdir(self.folder()) == [made], what="the sweep")
        self.assertEqual(sorted(os.listdir(self.folder(made))), ["document-1", "meta"])

    def test_damage_costs_only_what_is_damaged(self):
        good, bad, cut, linked = (self.make(name=name)["id"] for name in ("good", "bad", "cut", "linked"))
        secret = self.daemon.path("secret")
        with open(secret, "w", encoding="utf-8") as file:
            file.write('{"secret": 1}')
        os.chmod(secret, 0o644)
        self.daemon.kill9()
        with open(self.folder(bad, "meta"), "w", encoding="utf-8") as file:
            file.write('{"id": "')
        with open(self.folder(cut, "document-1"), "w", encoding="utf-8"):
            pass
        os.unlink(self.folder(linked, "document-1"))
        os.symlink(secret, self.folder(linked, "document-1"))
        os.symlink(secret, self.folder(linked, "output-c1"))
        os.symlink(self.folder(good), self.folder("cnv_" + "4" * 26))
        self.daemon.start()
        self.assertEqual({row["name"] for row in self.rows()}, {"good", "cut", "linked"})
        self.assertEqual(self.get(good)["document"], EMPTY)
        for one in (cut, linked):
            self.refused("GET", f"/v1/conversations/{one}", None, 500, "cannot be read")
            self.put(one, version=1, document=document(1))
            self.assertEqual(self.get(one)["document"], document(1))
        self.refused("GET", f"/v1/conversations/{linked}/outputs/c1", None, 500)
        with open(secret, encoding="utf-8") as file:
            self.assertEqual(file.read(), '{"secret": 1}')
        self.assertTrue(os.path.exists(self.folder(bad, "document-1")), "what is damaged is kept for a person")

    def test_one_token_has_a_gibibyte(self):
        made, other = self.make()["id"], self.make()["id"]
        owner = os.stat(self.folder(made))
        self.daemon.kill9()
        with open(self.folder(made, "output-big"), "wb") as file:
            file.truncate(1024 * MIB - 6 * 4096)  # without a block: only its size counts
        os.chown(self.folder(made, "output-big"), owner.st_uid, owner.st_gid)
        self.daemon.start()
        self.assertEqual(self.put(other, version=1, document=document(1))["version"], 2)
        path = f"/v1/conversations/{other}"
        self.refused("PUT", path, {"version": 2, "document": document(1, "x" * 20000)}, 507, "1024 MiB", "delete")
        self.refused("PUT", path + "/outputs/c1", b'"' + b"x" * 20000 + b'"', 507, "1024 MiB")
        self.daemon.ask("DELETE", f"/v1/conversations/{made}/outputs/big")
        self.assertEqual(self.put(other, version=2, document=document(1, "x" * 20000))["version"], 3)

    def test_a_folder_that_is_a_link_is_refused(self):
        self.daemon.terminate()
        os.rename(self.folder(), self.daemon.path("elsewhere"))
        os.symlink(self.daemon.path("elsewhere"), self.folder())
        process = self.daemon.spawn()
        self.assertNotEqual(process.wait(60), 0)
        self.assertIn("conversations", self.daemon.log())
        os.unlink(self.folder())
        os.rename(self.daemon.path("elsewhere"), self.folder())
        self.daemon.start()

    def test_a_token_that_is_gone_takes_nothing_with_it(self):
        for names, seen in ((("alice", "bob"), ["kept"]), (("bob",), None), (("alice",), ["kept"])):
            self.daemon.kill9()
            self.daemon.write_config(tokens(*names))
            self.daemon.start()
            alice = self.daemon.as_token(SECRETS["alice"])
            if names == ("alice", "bob"):
                self.make(alice, name="kept", document=document(4))
            if seen is None:
                self.assertEqual(alice.request("GET", "/v1/conversations").status, 401)
                self.assertEqual(self.rows(self.daemon.as_token(SECRETS["bob"])), [])
            else:
                self.assertEqual([row["name"] for row in self.rows(alice)], seen)
        self.daemon.write_config("")


class FullDisk(unittest.TestCase, Helpers):
    def test_the_version_before_stays(self):
        self.daemon = daemon = Daemon(start=False)
        self.addCleanup(daemon.sweep)
        unshare = ["unshare", "--mount", "--propagation", "private"]
        owner = ""
        if os.geteuid() == 0:
            owner = f",uid={pwd.getpwnam('vivarium').pw_uid}"
        else:
            unshare[1:1] = ["--user", "--map-current-user", "--keep-caps"]
        daemon.wrap = [*unshare, "sh", "-c", SMALL_DISK.format(folder=daemon.folder, size="2m", owner=owner)]
        daemon.start()
        made = self.make(document=document(1, "small"))["id"]
        path = f"/v1/conversations/{made}"
        answer = self.refused("PUT", path, {"version": 1, "document": document(1, "x" * 3 * MIB)}, 507, "full")
        self.assertEqual(answer.error["kind"], "busy")
        self.refused("PUT", path + "/outputs/c1", b'"' + b"x" * 3 * MIB + b'"', 507, "full")
        self.assertEqual(daemon.request("GET", path + "/outputs/c1").status, 204)
        whole = self.get(made)
        self.assertEqual((whole["version"], whole["document"]), (1, document(1, "small")))
        for i in range(2000):  # every block is taken: not even a name can be changed
            if daemon.request("PUT", f"{path}/outputs/c{i}", b"1").status != 204:
                break
        self.refused("PUT", path, {"version": 1, "name": "other"}, 507, "full")
        self.refused("POST", "/v1/conversations", {}, 507, "full")
        self.assertEqual(self.get(made), whole)
        self.assertEqual([row["id"] for row in self.rows()], [made])
        self.assertEqual(daemon.request("DELETE", f"{path}/outputs/c0").status, 204)
        self.assertEqual(daemon.request("DELETE", f"{path}/outputs/c1").status, 204)
        self.assertEqual(self.put(made, version=1, name="other")["version"], 2)
        daemon.stop()


class Many(Case):
    def test_ten_thousand_and_not_one_more(self):
        folder = self.folder()
        made = self.make(name="0" * 40, document=document(3))
        owner = os.stat(self.folder(made["id"]))
        self.daemon.terminate()
        with open(self.folder(made["id"], "meta"), encoding="utf-8") as file:
            meta = file.read()
        for i in range(1, 10000):  # as if they had been made: that would only take longer
            name = f"cnv_{i:026d}"
            os.mkdir(os.path.join(folder, name), 0o700)
            os.chown(os.path.join(folder, name), owner.st_uid, owner.st_gid)
            text = meta.replace(made["id"], name).replace("0" * 40, f"{i:040d}")
            for path, data in (("meta", text), ("document-1", json.dumps(document(3)))):
                with open(os.path.join(folder, name, path), "w", encoding="utf-8") as file:
                    file.write(data)
                os.chown(os.path.join(folder, name, path), owner.st_uid, owner.st_gid)
        self.daemon.start()
        self.assertEqual(len(self.rows()), 10000)
        self.refused("POST", "/v1/conversations", {}, 507, "10000")
        self.daemon.ask("DELETE", f"/v1/conversations/cnv_{77:026d}")
        self.assertEqual(self.make(name="again")["version"], 1)
        self.assertEqual(self.rows()[0]["name"], "again")


if __name__ == "__main__":
    unittest.main()
