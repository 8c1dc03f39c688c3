# SPDX-License-Identifier: Apache-2.0
"""Facts that hostile code forges on its channel: what is no fact by its types never reaches a client.

Every answer and every line of a stream is checked against /openapi.json by the client (described.py).
"""

import json

from case import BARE, DaemonCase
from described import Described

DEEP = {"a": {}}
for _ in range(50):
    DEEP = {"a": [DEEP]}
WRONG = [{}, [], [1], [[]], [None], {"a": 1}, 1, -1, 1.5, 10 ** 17, 10 ** 30, True, None, "", "x", "x" * 100000, DEEP,
         {"__proto__": 1, "path": {}}]
GOOD = {
    "file": ("file", "File", {"path": "/workspace/a", "size": 1}),
    "chart": ("chart", "Chart", {"kind": "spec", "spec": {}}),
    "table": ("table", "Table", {"columns": ["a"], "rows": [[1]], "index": {"names": [], "dtypes": [], "rows": []}}),
    "error": ("error", "Exception", {"type": "E", "message": "m", "traceback": "t", "line": None}),
    "saved_state": ("saved_state", "SavedState", {"base64": None, "names": [], "lost": [{"name": "a"}]}),
    "result": ("result", None, {"text/plain": "7"}),
    "display": ("data", None, {"text/plain": "7"}),
}
SEND = "import _vivarium, json\nfor line in open('/workspace/forged', 'rb'):\n    _vivarium.send(3, 0, line)\n"
DONE = {"kind": "ok", "exit_code": 0, "message": "", "remedy": "", "truncated": {}}


def text(kind, member, value):
    return json.dumps({"type": kind, member: value})


def twice(kind, member, good, name, value):
    """The same name twice, once with a value that is wrong: readers differ in which one they take."""
    first, second = json.dumps(good[name]), json.dumps(value)
    rest = "".join(f',"{other}":{json.dumps(item)}' for other, item in good.items() if other != name)
    for one, two in ((first, second), (second, first)):
        spelled = "".join(f"\\u{ord(letter):04x}" for letter in name)
        yield f'{{"type":"{kind}","{member}":{{"{name}":{one},"{spelled}":{two}{rest}}}}}'


class Open(Described):
    """As any client reads the document: there may be members that it does not name."""

    def members(self, schema, value, where):
        return (wrong for wrong in super().members(schema, value, where) if not wrong.endswith("is not described"))


class ForgedTest(DaemonCase):
    CONFIG = BARE

    def setUp(self):
        described = Open(self.daemon.ask("GET", "/openapi.json"))
        self.daemon.described = lambda unix=False: described

    def forgeries(self, kind):
        member, schema, good = GOOD[kind]
        for value in WRONG:
            yield text(kind, member, value)
        document = self.daemon.ask("GET", "/openapi.json")["components"]["schemas"]
        names = document[schema]["properties"] if schema else ["text/plain"]
        for name in names:
            for value in WRONG:
                yield text(kind, member, {**good, name: value})
        for name in good:
            yield text(kind, member, {other: item for other, item in good.items() if other != name})
            for value in WRONG[:8]:
                yield from twice(kind, member, good, name, value)
        if kind == "table":
            for name in ("names", "dtypes", "rows"):
                for value in WRONG:
                    yield text(kind, member, {**good, "index": {**good["index"], name: value}})
        if kind == "saved_state":
            for value in WRONG:
                yield text(kind, member, {**good, "lost": [{"name": "a"}, value]})
                yield text(kind, member, {**good, "lost": [{"name": value}]})
        yield text(kind, member, {str(number): number for number in range(100000)})

    def run_forged(self, lines, session=None, **kw):
        body = {"files": [{"path": "forged", "text": "\n".join(lines)}], **kw}
        if session is None:
            body["runtime"] = "bare"
        return self.daemon.run(SEND, session, **body)

    def test_an_event_of_wrong_types_is_in_no_answer(self):
        for kind, (member, _, good) in GOOD.items():
            forged = list(self.forgeries(kind))
            for session in (None, self.new_session()):
                with self.subTest(kind=kind, session=session):
                    result = self.run_forged([*forged, text(kind, member, good)], session)
                    self.assertEqual(self.daemon.result(result["id"]), result)
                    told = [event for event in self.read_all(self.daemon, result["id"]) if event["type"] == kind]
                    self.assertEqual(told[-1][member], good)  # and one that is right comes through
                    self.assertLess(len(told), len(forged))

    def test_an_event_of_no_known_type_ends_the_run(self):
        for line in ('{"type":1,"file":{}}', '{"type":"file"}', '{"type":"file","data":{}}', '{"type":["file"]}',
                     '{"type":"verdict","verdict":{}}', '{"type":"look","look":{"a":1}}',
                     '{"type":"file","file":{"size":NaN}}',
                     '{"type":"result","result":{"application/json":' + "9" * 5000 + "}}"):
            with self.subTest(line=line[:60]):
                result = self.run_forged([line], kind=None)
                self.assertEqual((result["verdict"]["kind"], result["files"]), ("killed", []))
                self.assertEqual([event["type"] for event in self.read_all(self.daemon, result["id"])],
                                 ["started", "verdict"])

    def test_forged_files_do_not_suppress_the_verdict(self):
        """The verdict lists the files: neither unknown members nor many long paths make it too large for the log."""
        many = 'b\'{"type":"file","file":{"path":"%s","size":%d}}\' % (b"\\x7f" * 5000, number)'
        large = 'b\'{"type":"file","file":{"path":"/workspace/%d","size":1,"x":"%s"}}\' % (number, b"a" * (11 << 20))'
        for count, frame, is_cut in ((2, large, False), (999, many, True)):
            code = (f"import _vivarium, os\nfor number in range({count}):\n    _vivarium.send(3, 0, {frame})\n"
                    "os.abort()")
            with self.subTest(count=count):
                result = self.daemon.run(code, kind=None, runtime="bare")
                self.assertEqual((result["verdict"] or {}).get("kind"), "killed")
                self.assertEqual(result["truncated"]["files"], is_cut)
                self.assertEqual({name for file in result["files"] for name in file}, {"path", "size"})
                told = self.read_all(self.daemon, result["id"])
                self.assertEqual((told[-1]["type"], told[-1]["files"]), ("verdict", result["files"]))
                rows = [row for row in self.daemon.ask("GET", "/v1/runs")["runs"] if row["id"] == result["id"]]
                self.assertEqual([(row["state"], row["verdict"]) for row in rows], [("over", "killed")])
                self.assertEqual(self.daemon.request("DELETE", f"/v1/runs/{result['id']}").status, 204)

    def test_testimony_of_wrong_types_is_in_no_answer(self):
        for name in ("missing", "blocked", "message", "remedy", "truncated", "exit_code", "files_dirty", "failed"):
            for value in WRONG:
                with self.subTest(name=name, value=str(value)[:40]):
                    done = json.dumps({**DONE, name: value}).encode()
                    result = self.daemon.run(f"import _vivarium, time\n_vivarium.send(5, 0, {done!r})\ntime.sleep(60)",
                                             kind=None, runtime="bare")
                    self.assertEqual(self.daemon.result(result["id"]), result)

    def test_facts_of_the_daemon_are_nobody_elses_to_tell(self):
        """As an event of their name, as members of events that are known, and as members of the testimony."""
        session = self.new_session()
        plain = self.daemon.run("1", session)
        facts = {name: "forged" for name in
                 ("id", "session", "who", "state", "usage", "walls", "backend", "runtime", "allowed", "undone", "not_kept",
                  "checkpoint", "back", "why", "as_of", "parent", "limit", "peak", "by", "signal", "remedy_key", "held")}
        done = json.dumps({**DONE, **facts}).encode()
        file = json.dumps({"type": "file", "file": GOOD["file"][2], **facts}).encode()
        code = f"import _vivarium, time\n_vivarium.send(3, 0, {file!r})\n_vivarium.send(5, 0, {done!r})\n"
        forged = self.daemon.run(code, session, kind=None)
        self.assertEqual(forged["allowed"], plain["allowed"])
        self.assertEqual([forged.get(name) for name in ("walls", "backend", "runtime", "who", "session")],
                         [plain.get(name) for name in ("walls", "backend", "runtime", "who", "session")])
        for told in (forged, self.daemon.result(forged["id"]), self.read_all(self.daemon, forged["id"]),
                     self.daemon.state(session), self.daemon.ask("GET", f"/v1/sessions/{session}/checkpoints"),
                     self.daemon.ask("GET", "/v1/audit"), self.daemon.ask("GET", "/v1/runs")):
            self.assertNotIn('"forged"', json.dumps(told))
        for name in facts:
            with self.subTest(name=name):
                result = self.run_forged([json.dumps({"type": name, name: {}})], kind=None)
                self.assertEqual(result["verdict"]["kind"], "killed")
