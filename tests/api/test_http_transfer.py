# SPDX-License-Identifier: Apache-2.0
"""A session as bytes: export, import into another daemon, the notebook; and bytes that are hostile."""

import os
import pickle
import struct
import unittest

from daemon import Daemon
from http_client import strict_json

MAGIC = b"vivarium state 1\n"
HEAD = b'{"python":"3.11","names":[],"lost":[]}\n'


def record(kind, name, *chunks):
    """As src/runner/boot/state.py writes it."""
    text = struct.pack("<I", len(name)) + name
    return kind + text + b"".join(struct.pack("<I", len(chunk)) + chunk for chunk in chunks) + bytes(4)


class Bomb:
    """Its pickle calls something."""

    def __init__(self, *call):
        self.call = call

    def __reduce__(self):
        return self.call[0], tuple(self.call[1:])


class Transfer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.stop)

    def session(self, *cells):
        session = self.daemon.session()
        self.addCleanup(self.daemon.request, "DELETE", f"/v1/sessions/{session}")
        for cell in cells:
            self.daemon.run(cell, session)
        return session

    def export(self, session):
        answer = self.daemon.request("GET", f"/v1/sessions/{session}/export")
        self.assertEqual(answer.status, 200, answer)
        return answer

    def bring_in(self, data, query=""):
        made = self.daemon.ask("POST", f"/v1/sessions/import{query}", data, status=201)
        self.addCleanup(self.daemon.request, "DELETE", f"/v1/sessions/{made['id']}")
        return made

    def sessions(self):
        return len(self.daemon.ask("GET", "/v1/sessions")["sessions"])

    # ---- there and back ----

    def test_variables_and_files_move(self):
        session = self.session(
            "import pandas as pd, threading, os\nn = 5\nframe = pd.DataFrame({'a': [1, 2]})",
            "def area(r): return n * r\nclass P:\n    def __init__(self): self.x = 3\np = P()",
            "os.makedirs('d/empty')\nopen('d/a.bin', 'wb').write(bytes(range(256)) * 9000)\n"
            "os.symlink('d', 'link')\nlock = threading.Lock()")
        answer = self.export(session)
        self.assertEqual(answer.headers["Content-Type"], "application/vnd.vivarium.session")
        self.assertIn(f'filename="{session}.vivarium"', answer.headers["Content-Disposition"])
        self.assertTrue(answer.body.startswith(b"vivarium state 4\n"))
        self.assertIn(b'"name":"lock"', answer.body.split(b"\n")[1])  # who asks can read it there
        made = self.bring_in(answer.body, "?name=moved&policy=default")
        self.assertEqual((made["name"], made["state"]), ("moved", "idle"))
        with open(self.daemon.path("state", "audit.jsonl"), encoding="utf-8") as file:
            line = strict_json(file.readlines()[-1])
        self.assertEqual((line["op"], line["session"], line["verdict"]),
                         ("session.import", made["id"], "ok"))
        self.assertEqual(set(made["names"]), {"pd", "threading", "os", "n", "frame", "area", "P", "p"})
        self.assertEqual({fact["name"] for fact in made["lost"]}, {"lock", "/workspace/link"})
        self.assertEqual(
            self.daemon.value("[area(2), int(frame.a.sum()), p.x, sorted(os.listdir('d')), "
                              "len(open('d/a.bin', 'rb').read())]", made["id"]),
            [10, 3, 3, ["a.bin", "empty"], 2304000])

    def test_an_import_is_a_state_to_go_back_to(self):
        made = self.bring_in(self.export(self.session("x = 1\nopen('f', 'w').write('text')")).body)
        result = self.daemon.run("import os\nx = 2\nos.remove('f')\nos._exit(1)", made["id"],
                                 kind="exit")
        self.assertEqual(result["state"], "rolled_back")
        self.assertEqual(self.daemon.value("[x, open('f').read()]", made["id"]), [1, "text"])

    def test_an_export_during_a_run_is_of_the_last_checkpoint(self):
        session = self.session("x = 1")
        run = self.daemon.start_run("x = 2\nprint('on', flush=True)\nwhile True: pass", session)
        with self.daemon.events(run) as events:
            events.until_text("on")
            answer = self.export(session)
        self.assertTrue(answer.headers["Vivarium-As-Of"].startswith("cp_"))
        self.daemon.request("DELETE", f"/v1/runs/{run}")
        self.assertEqual(self.daemon.value("x", self.bring_in(answer.body)["id"]), 1)

    def test_a_large_session(self):
        session = self.session("import numpy as np\nbig = np.arange(8_000_000)\n"
                               "open('f', 'wb').write(bytes(40 << 20))")
        made = self.bring_in(self.export(session).body)
        self.assertEqual(self.daemon.value("import os\n[int(big.sum()), os.path.getsize('f')]",
                                           made["id"]), [31999996000000, 40 << 20])

    # ---- hostile bytes, hostile sessions ----

    def test_what_is_no_export_makes_no_session(self):
        before = self.sessions()
        for data in (b"", b"x", MAGIC, MAGIC + b"{}\n", MAGIC + b"[" * 100000, b"\0" * 100000,
                     os.urandom(100000)):
            answer = self.daemon.request("POST", "/v1/sessions/import", data)
            self.assertEqual((answer.status, answer.error["kind"]), (400, "bad_request"), data[:40])
        self.assertEqual(self.sessions(), before)

    def test_a_pickle_runs_inside_the_sandbox_only(self):
        data = MAGIC + HEAD + record(b"a", b'["x"]', pickle.dumps(Bomb(eval, "{'x': open('/etc/passwd').read()}")))
        made = self.bring_in(data)
        self.assertEqual(self.daemon.value("x.count(':')", made["id"]) > 0, True)
        self.assertEqual(self.daemon.value("'vivarium' in x or 'daemon' in x", made["id"]), False)

    def test_a_pickle_that_kills_makes_no_session(self):
        before = self.sessions()
        for call in ((os._exit, 0), (eval, "__import__('os').kill(__import__('os').getpid(), 9)"),
                     (eval, "bytearray(1 << 40)")):
            data = MAGIC + HEAD + record(b"p", b"x", pickle.dumps(Bomb(*call)))
            answer = self.daemon.request("POST", "/v1/sessions/import", data)
            if answer.status == 201:  # an exception costs the value, not the session
                self.assertEqual([fact["name"] for fact in answer.json["lost"]], ["x"])
                self.daemon.request("DELETE", f"/v1/sessions/{answer.json['id']}")
            else:
                self.assertEqual((answer.status, answer.error["kind"]), (409, "conflict"))
        self.assertEqual(self.sessions(), before)

    def test_files_of_a_stream_stay_below_the_workspace(self):
        names = (b"../../tmp/out", b"/etc/passwd", b"a/../../x", b"", b"a\0b", b"x" * 5000, b"\xff", b".")
        data = MAGIC + HEAD + b"".join(record(b"f", name, b"bytes") for name in names[:-2])
        data += record(b"d", b"../out") + record(b"f", b"good", b"by", b"tes")
        made = self.bring_in(data)
        self.assertEqual(len(made["lost"]), len(names) - 1)
        listed = self.daemon.ask("GET", f"/v1/sessions/{made['id']}/files?recursive=true")["files"]
        self.assertEqual([(fact["path"], fact["size"]) for fact in listed], [("/workspace/good", 5)])

    def test_an_export_that_is_not_whole_is_refused_and_makes_no_session(self):
        whole = self.export(self.session("x = [1]\nopen('f', 'wb').write(b'bytes' * 1000)")).body
        before = {one["id"] for one in self.daemon.ask("GET", "/v1/sessions")["sessions"]}
        start = whole.index(b"\n", len(MAGIC)) + 1
        damaged = [whole[:end] for end in (len(MAGIC), start, start + 3, start + 4000, len(whole) - 30, len(whole) - 1)]
        damaged += [whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1:]
                    for at in (len(MAGIC) + 2, start, start + 2000, len(whole) - 40, len(whole) - 1)]
        damaged += [whole + b"x", whole[:start + 10] + whole[start + 20:]]
        for data in damaged:
            answer = self.daemon.request("POST", "/v1/sessions/import", data)
            self.assertEqual((answer.status, answer.error["kind"]), (400, "bad_request"), len(data))
            self.assertIn("bytes are missing or changed", answer.error["message"])
        self.assertLessEqual({one["id"] for one in self.daemon.ask("GET", "/v1/sessions")["sessions"]}, before)
        self.assertEqual(self.daemon.value("x", self.bring_in(whole)["id"]), [1])

    def test_a_stream_of_the_first_format_that_is_cut_short_loses_only_its_end(self):
        whole = self.export(self.session("x = [1]\nopen('f', 'wb').write(b'bytes' * 1000)")).body
        start = whole.index(b"\n", len(MAGIC)) + 1
        whole = MAGIC + whole[len(MAGIC):-25]
        for end in (start, start + 3, start + 30, start + 4000, len(whole) - 1, len(whole)):
            made = self.bring_in(whole[:end])
            self.assertEqual(self.daemon.value("1 + 1", made["id"]), 2)
            listed = self.daemon.ask("GET", f"/v1/sessions/{made['id']}/files")["files"]
            self.assertIn([fact["size"] for fact in listed], ([], [5000]), end)

    def test_a_hostile_pickle_of_a_session_harms_the_look(self):
        session = self.session("import os\nclass K:\n    def __reduce__(self): os._exit(0)\n"
                               "k = K()\nkept = 7")
        answer = self.daemon.request("GET", f"/v1/sessions/{session}/export")
        self.assertEqual(answer.status, 409)
        self.assertEqual(self.daemon.value("kept", session), 7)

    def test_the_wishes_of_an_import_are_checked(self):
        data = self.export(self.session("x = 1")).body
        for query, status in (("?policy=none", 404), ("?idle_ms=1", 400), ("?what=1", 400)):
            self.assertEqual(self.daemon.request("POST", f"/v1/sessions/import{query}", data).status,
                             status, query)
        made = self.bring_in(data, "?transactional=false&idle_ms=60000")
        self.assertEqual((made["transactional"], made["idle_ms"]), (False, 60000))

    # ---- notebook ----

    def test_the_notebook_of_a_session(self):
        session = self.session("print('hello')\n1 + 1")
        self.daemon.run("1/0", session, kind="exception")
        answer = self.daemon.request("GET", f"/v1/sessions/{session}/export.ipynb")
        self.assertIn(f'filename="{session}.ipynb"', answer.headers["Content-Disposition"])
        self.assertEqual(answer.headers["Content-Type"], "application/x-ipynb+json")
        notebook = answer.json
        self.assertEqual((notebook["nbformat"], len(notebook["cells"])), (4, 2))
        self.assertEqual([output["output_type"] for output in notebook["cells"][0]["outputs"]],
                         ["stream", "execute_result"])
        self.assertEqual(notebook["cells"][1]["outputs"][0]["ename"], "ZeroDivisionError")

    def test_the_notebook_of_a_branch_begins_with_what_it_goes_on_from(self):
        def sources(session):
            book = self.daemon.ask("GET", f"/v1/sessions/{session}/export.ipynb")
            self.assertEqual([cell["execution_count"] for cell in book["cells"]], list(range(1, len(book["cells"]) + 1)))
            return [cell["source"] for cell in book["cells"]]

        def fork(session):
            (branch,) = self.daemon.ask("POST", f"/v1/sessions/{session}/fork", {"n": 1})["sessions"]
            self.addCleanup(self.daemon.request, "DELETE", f"/v1/sessions/{branch['id']}")
            return branch["id"]

        session = self.session("x = 1")
        self.daemon.run("x = 2", session)
        branch = fork(session)
        self.daemon.run("x = 3", session)
        self.daemon.run("x = 4", branch)
        inner = fork(branch)
        self.daemon.run("x = 5", branch)
        self.daemon.run("x = 6", inner)
        self.assertEqual(sources(session), ["x = 1", "x = 2", "x = 3"])
        self.assertEqual(sources(branch), ["x = 1", "x = 2", "x = 4", "x = 5"])
        self.assertEqual(sources(inner), ["x = 1", "x = 2", "x = 4", "x = 6"])

    def test_a_frame_in_a_notebook_has_its_index(self):
        session = self.daemon.session()
        self.daemon.run("import pandas as pd\npd.DataFrame({'a': [1.5]}, index=pd.MultiIndex.from_tuples([('north', 2)], "
                        "names=['region', 'year']))", session)
        (output,) = self.daemon.ask("GET", f"/v1/sessions/{session}/export.ipynb")["cells"][0]["outputs"]
        data = {kind: "".join(text) if isinstance(text, list) else text for kind, text in output["data"].items()}
        self.assertEqual(data["text/plain"], "               a\nregion year     \nnorth  2     1.5")
        for name in ("<th>region</th>", "<th>year</th>", "<th>north</th>", "<th>2</th>"):
            self.assertIn(name, data["text/html"])
        index = data["application/json"]["index"]
        self.assertEqual((index["names"], index["rows"]), (["region", "year"], [["north", 2]]))


class Machines(unittest.TestCase):
    def test_another_daemon_takes_what_a_first_one_gave(self):
        with Daemon() as first:
            session = first.session()
            first.run("x = {'deep': [1, 2]}\nopen('f', 'w').write('text')", session)
            data = first.request("GET", f"/v1/sessions/{session}/export").body
        with Daemon() as second:
            made = second.ask("POST", "/v1/sessions/import", data, status=201)
            self.assertEqual(second.value("[x, open('f').read()]", made["id"]),
                             [{"deep": [1, 2]}, "text"])


if __name__ == "__main__":
    unittest.main()
