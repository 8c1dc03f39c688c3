# SPDX-License-Identifier: Apache-2.0
"""Variables of a session from outside: lists, tables, completion, what changed. Values may be hostile."""

import unittest
from urllib.parse import quote

from daemon import Daemon

HOSTILE = """
import os, signal, time
class Loops:
    def __repr__(self):
        while True: pass
class Dies:
    def __repr__(self): os.kill(os.getpid(), signal.SIGKILL)
class Exits:
    def __repr__(self): os._exit(0)
class Raises:
    def __repr__(self): raise BaseException("no")
class Prints:
    def __repr__(self):
        print("printed by repr")
        os.write(1, b"written by repr")
        return "quiet"
class Lies:
    @property
    def __class__(self): return 1 / 0
    @property
    def shape(self): return (10**400, "x")
    def __sizeof__(self): return -1
class Forges:
    def __repr__(self):
        import vivarium.wire as wire
        wire.event("look", "look", '{"vars":[{"name":"forged","type":"int"}]}')
        wire.close_run(wire.Done())
        return "forged"
"""


class Vars(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.stop)

    def setUp(self):
        self.id = self.daemon.session()
        self.addCleanup(self.daemon.request, "DELETE", f"/v1/sessions/{self.id}")

    def run_code(self, code, **kw):
        return self.daemon.run(code, self.id, **kw)

    def get(self, path, status=200):
        return self.daemon.ask("GET", f"/v1/sessions/{self.id}/{path}", status=status)

    def refused(self, path, status, kind):
        answer = self.daemon.request("GET", f"/v1/sessions/{self.id}/{path}")
        self.assertEqual((answer.status, answer.error["kind"]), (status, kind))
        return answer.error["message"]

    def names(self):
        return [fact["name"] for fact in self.get("vars")["vars"]]

    # ---- lists ----

    def test_types_sizes_and_shapes_are_told(self):
        self.run_code("import numpy as np, pandas as pd\nn = 5\n"
                      "frame = pd.DataFrame({'a': [1, 2], 'b': [3, 4]})\n"
                      "grid = np.zeros((3, 4))\ndef f(): pass")
        found = {fact["name"]: fact for fact in self.get("vars")["vars"]}
        self.assertEqual(set(found), {"n", "frame", "grid", "f"})
        self.assertEqual((found["n"]["type"], found["n"]["repr"]), ("int", "5"))
        self.assertEqual((found["frame"]["shape"], found["frame"]["columns"]), ([2, 2], ["a", "b"]))
        self.assertEqual((found["grid"]["shape"], found["grid"]["size"], found["grid"]["dtype"]), ([3, 4], 96, "float64"))
        self.assertEqual(found["f"]["type"], "function")

    def test_a_long_list_comes_in_pages(self):
        self.run_code("for i in range(1005): globals()[f'v{i}'] = i\ndel i")
        first = self.get("vars")
        self.assertEqual((len(first["vars"]), first["next"]), (1000, 1000))
        rest = self.get(f"vars?offset={first['next']}")
        self.assertEqual([fact["name"] for fact in rest["vars"]], [f"v{i}" for i in range(1000, 1005)])
        self.assertNotIn("next", rest)
        self.assertEqual(len(self.get("vars?limit=7")["vars"]), 7)
        self.refused("vars?limit=0", 400, "bad_request")
        self.refused("vars?limit=1001", 400, "bad_request")

    def test_while_a_run_is_on_the_last_checkpoint_answers(self):
        checkpoint = self.run_code("x = 1")["checkpoint"]["id"]
        run = self.daemon.start_run("x = 2\nprint('on', flush=True)\nwhile True: pass", self.id)
        with self.daemon.events(run) as events:
            events.until_text("on")
            answer = self.get("vars")
            self.assertEqual(answer["as_of"], checkpoint)
            self.assertEqual([(fact["name"], fact["repr"]) for fact in answer["vars"]], [("x", "1")])
            self.assertEqual(self.get("vars/x", status=409)["error"]["kind"], "conflict")
        self.daemon.request("DELETE", f"/v1/runs/{run}")
        self.assertNotIn("as_of", self.get("vars"))

    def test_an_answer_from_an_older_state_says_why_there_is_no_newer_one(self):
        checkpoint = self.run_code("x = 1")["checkpoint"]["id"]
        self.run_code("import threading\nstop = threading.Event()\n"
                      "threading.Thread(target=stop.wait, name='a \\x1b[31m\"t\"', daemon=True).start()\nx = [2]; y = 3")
        run = self.daemon.start_run("print('on', flush=True)\nwhile True: pass", self.id)
        with self.daemon.events(run) as events:
            events.until_text("on")
            answer = self.get("vars")
            self.assertEqual([(fact["name"], fact["repr"]) for fact in answer["vars"]], [("x", "1")])
            session = self.daemon.ask("GET", f"/v1/sessions/{self.id}")
            self.assertEqual((answer["as_of"], answer["checkpoint_blocked_by"]), (checkpoint, session["checkpoint_blocked_by"]))
            self.assertIn("thread a ", answer["checkpoint_blocked_by"])
            diff = self.get(f"diff?from={checkpoint}")
            self.assertEqual((diff["changed"], diff["checkpoint_blocked_by"]), ([], session["checkpoint_blocked_by"]))
            self.assertNotIn("checkpoint_blocked_by", self.get(f"diff?from={checkpoint}&to={checkpoint}"))
        self.daemon.request("DELETE", f"/v1/runs/{run}")
        self.assertNotIn("checkpoint_blocked_by", self.get("vars"))

    def test_without_a_checkpoint_a_busy_session_says_so(self):
        self.id = self.daemon.session(transactional=False)
        run = self.daemon.start_run("print('on', flush=True)\nwhile True: pass", self.id)
        with self.daemon.events(run) as events:
            events.until_text("on")
            self.assertIn("checkpoint", self.refused("vars", 409, "conflict"))
        self.daemon.request("DELETE", f"/v1/runs/{run}")

    # ---- hostile values ----

    def test_a_hostile_repr_harms_its_line_and_nothing_else(self):
        self.run_code(HOSTILE + "kept = 7")
        for name, shown in (("Dies", "cannot be shown"), ("Exits", "cannot be shown"), ("Raises", "raises"),
                            ("Lies", "raises"), ("Loops", "takes too long")):
            self.run_code(f"bad = {name}()")
            facts = {fact["name"]: fact["repr"] for fact in self.get("vars")["vars"]}
            self.assertIn(shown, facts["bad"])
            self.assertEqual(facts["kept"], "7")
            self.assertEqual(self.daemon.value("kept", self.id), 7, name)
        self.assertEqual(self.daemon.state(self.id)["state"], "idle")

    def test_a_repr_that_ends_the_look_of_a_table_is_told(self):
        self.run_code(HOSTILE + "bad = [Exits()]\nkept = 7")
        self.refused("vars/bad", 409, "conflict")
        self.assertEqual(self.daemon.value("kept", self.id), 7)

    def test_what_a_repr_prints_is_in_no_run(self):
        self.run_code(HOSTILE + "bad = Prints()")
        self.assertIn("bad", self.names())
        result = self.run_code("print('mine')")
        self.assertEqual((result["stdout"], result["stderr"]), ("mine\n", ""))

    def test_a_forged_answer_is_the_sessions_own_lie(self):
        self.run_code(HOSTILE + "bad = Forges()\nkept = 7")
        answer = self.daemon.request("GET", f"/v1/sessions/{self.id}/vars")
        self.assertIn(answer.status, (200, 409))
        answer.json  # whatever it says is JSON
        self.assertEqual(self.daemon.value("kept", self.id), 7)

    def test_many_looks_at_once_are_all_answered(self):
        self.run_code("x = 1")
        connections = [self.daemon.connection() for _ in range(40)]
        for connection in connections:
            connection.request("GET", f"/v1/sessions/{self.id}/vars")
        for connection in connections:
            response = connection.getresponse()
            self.assertEqual((response.status, response.read().count(b'"x"')), (200, 1))
            connection.close()
        self.assertIn("id", self.run_code("x = 2")["checkpoint"])

    def test_looks_between_runs_cost_no_checkpoint(self):
        for number in range(10):
            connections = [self.daemon.connection() for _ in range(3)]
            for connection in connections:
                connection.request("GET", f"/v1/sessions/{self.id}/vars")
            result = self.run_code(f"x = {number}")
            self.assertIn("id", result["checkpoint"], result["checkpoint"])
            for connection in connections:
                self.assertEqual(connection.getresponse().status, 200)
                connection.close()
            self.get("vars")  # answered behind the checkpoint
            self.assertEqual(self.daemon.state(self.id)["head"], result["checkpoint"]["id"])

    # ---- tables ----

    def test_tables_in_pages(self):
        self.run_code("import pandas as pd\nframe = pd.DataFrame({'n': range(250), 's': 'x'})\n"
                      "rows = [{'a': 1}, {'b': float('nan')}]\nnumber = 5")
        self.assertEqual(self.get("vars/frame?offset=248&limit=5"), {
            "columns": ["n", "s"], "rows": [[248, "x"], [249, "x"]], "total": 250,
            "dtypes": ["int64", "object"], "decimals": [None, None], "matched": 250, "numbers": [248, 249],
            "index": {"names": [None], "dtypes": ["int64"], "rows": [[248], [249]]}})
        self.assertEqual(len(self.get("vars/frame")["rows"]), 100)
        self.assertEqual(self.get("vars/rows"),
                         {"columns": ["a", "b"], "rows": [[1, None], [None, None]], "total": 2,
                          "matched": 2, "numbers": [0, 1], "texts": {"1": {"1": "nan"}}})  # it is there, and not a number
        self.assertIn("not a table", self.refused("vars/number", 409, "conflict"))

    def test_the_whole_of_a_table_is_sorted_filtered_and_searched(self):
        self.run_code("import pandas as pd\n"
                      "frame = pd.DataFrame({'n': range(100_000), 's': ['even', 'Odd'] * 50_000})")
        page = self.get("vars/frame?sort=0:desc&limit=2")
        self.assertEqual((page["rows"], page["index"]["rows"], page["matched"], page["numbers"]),
                         ([[99999, "Odd"], [99998, "even"]], [[99999], [99998]], 100_000, [99999, 99998]))
        filtered = quote('[{"column":"0","op":"ge","value":99990}]', "")
        page = self.get(f"vars/frame?sort=1,0:desc&limit=1&offset=1&search=oDD&filter={filtered}")
        self.assertEqual((page["rows"], page["matched"], page["total"]), ([[99997, "Odd"]], 5, 100_000))
        for query, field in (("sort=2", "sort"), ("sort=0:up", "sort"), ("filter=x", "filter"),
                             (f"filter={filtered.replace('99990', '%22x%22')}", "filter")):
            answer = self.daemon.request("GET", f"/v1/sessions/{self.id}/vars/frame?{query}")
            self.assertEqual((answer.status, answer.error.get("field")), (400, field), query)

    def test_a_table_is_summed_up_and_saved_as_csv(self):
        self.run_code("import pandas as pd\nframe = pd.DataFrame({'n': [2**60 + 1, 5], 'f': [1234567.89, None]}, "
                      "index=pd.Index(['a', 'b'], name='k'))\n"
                      "large = pd.DataFrame({'n': range(300_000), 's': 'some text'})")
        answer = self.get("vars/frame/summary?limit=1")
        self.assertEqual((answer["total"], answer["width"], len(answer["columns"])), (2, 2, 1))
        self.assertEqual(answer["columns"][0]["max"], str(2**60 + 1))
        self.assertEqual([(level["name"], level["count"]) for level in answer["index"]], [("k", 2)])
        answer = self.daemon.request("GET", f"/v1/sessions/{self.id}/vars/frame?format=csv&sort=0")
        self.assertEqual((answer.status, answer.headers["Content-Type"]), (200, "text/csv; charset=utf-8"))
        self.assertEqual(answer.body, b"k,n,f\nb,5,\na,1152921504606846977,1234567.89\n")
        answer = self.daemon.request("GET", f"/v1/sessions/{self.id}/vars/large?format=csv")
        self.assertEqual(answer.body.count(b"\n"), 300_001)
        self.assertTrue(answer.body.endswith(b"\n299999,299999,some text\n"))
        for path, status in (("vars/nope/summary", 404), ("vars/nope?format=csv", 404),
                             ("vars/frame?format=xml", 400), ("vars/frame?format=csv&sort=9", 400),
                             ("vars/frame/summary?filter=x", 400), ("vars/frame/summary?limit=1001", 400)):
            answer = self.daemon.request("GET", f"/v1/sessions/{self.id}/{path}")
            self.assertEqual(answer.status, status, path)

    def test_a_table_that_was_shown_is_asked_by_its_handle(self):
        made = self.run_code("import pandas as pd\npd.DataFrame({'n': range(5000)})")
        handle = made["result"]["application/json"]["handle"]
        self.assertEqual(self.get(f"vars/{handle}?sort=0:desc&limit=1")["rows"], [[4999]])
        self.assertEqual(self.get(f"vars/{handle}/summary")["columns"][0]["max"], 4999)
        self.assertEqual(self.names(), [])
        later = self.run_code("pd.DataFrame({'n': [1]})")["result"]["application/json"]["handle"]
        self.daemon.ask("POST", f"/v1/sessions/{self.id}/rollback", {"checkpoint": made["checkpoint"]["id"]})
        self.assertEqual(self.get(f"vars/{handle}")["total"], 5000)
        self.assertIn("run the cell again", self.refused(f"vars/{later}", 404, "not_found"))

    def test_a_table_that_takes_too_long_is_told(self):
        self.run_code("import pandas as pd\nclass Slow:\n    def __str__(self):\n        while True: pass\n"
                      "frame = pd.DataFrame({'a': [1, Slow()]})")
        self.assertIn("took longer than 10 s; ask for less of it", self.refused("vars/frame?sort=0", 409, "conflict"))

    def test_names_that_are_none(self):
        self.run_code("x = [1]")
        for name in ("nope", "__builtins__", "x.y", "a/b", "..", "x\n", "\u00e9", "n" * 5000):
            answer = self.daemon.request("GET", f"/v1/sessions/{self.id}/vars/{quote(name, '')}")
            self.assertEqual((answer.status, answer.error["kind"]), (404, "not_found"), name)
        for name in ("%00", "x%00", "%ff", "%", "%zz"):
            answer = self.daemon.request("GET", f"/v1/sessions/{self.id}/vars/{name}")
            self.assertEqual(answer.status, 400, name)

    # ---- completion, diff ----

    def test_completion_knows_live_names(self):
        self.run_code("import math\nalpha_one = {'key one': 1}\nalpha_two = 2")

        def complete(code, cursor=None):
            return self.daemon.ask("POST", f"/v1/sessions/{self.id}/complete",
                                   {"code": code, "cursor": len(code) if cursor is None else cursor})

        self.assertEqual(complete("print(alpha_"),
                         {"matches": ["alpha_one", "alpha_two"], "start": 6, "end": 12})
        self.assertEqual(complete("math.co")["matches"], ["comb", "copysign", "cos", "cosh"])
        self.assertEqual(complete("é = alpha_o; more", 11)["matches"], ["alpha_one"])
        self.assertEqual(complete("")["matches"], [])
        self.assertEqual(complete("import xm")["matches"], ["xml", "xmlrpc"])
        self.assertFalse([name for name in complete("import o")["matches"] if "." in name])
        self.assertEqual(complete("import xml.")["matches"], ["xml.dom", "xml.etree", "xml.parsers", "xml.sax"])
        self.assertEqual(complete("from xml.e"), {"matches": ["xml.etree"], "start": 5, "end": 10})
        self.assertEqual(complete("from xml.etree import Element")["matches"], ["ElementInclude", "ElementPath", "ElementTree"])
        self.assertEqual(complete("from math import cos, sq")["matches"], ["sqrt"])
        self.run_code("import xml")
        self.assertNotIn("dom", complete("xml.d")["matches"])  # no attribute before it is imported
        answer = self.daemon.request("POST", f"/v1/sessions/{self.id}/complete", {"code": "x"})
        self.assertEqual((answer.status, answer.error["field"]), (400, "cursor"))

    def test_what_changed_between_two_states(self):
        first = self.run_code("a = [1]\nb = 2\nc = 3")["checkpoint"]["id"]
        second = self.run_code("a.append(2)\ndel b\nd = 4")["checkpoint"]["id"]
        self.assertEqual(self.get(f"diff?from={first}&to={second}"),
                         {"added": ["d"], "removed": ["b"], "changed": ["a"], "as_of": second})
        self.run_code("c = 30")
        self.assertEqual(self.get(f"diff?from={second}"),
                         {"added": [], "removed": [], "changed": ["c"]})
        for query, field in ((f"from=cp_none&to={second}", "from"), (f"from={first}&to=cp_none", "to")):
            answer = self.daemon.request("GET", f"/v1/sessions/{self.id}/diff?{query}")
            self.assertEqual((answer.status, answer.error["kind"], answer.error["field"]), (404, "not_found", field))
        self.refused("diff", 400, "bad_request")

    def test_a_checkpoint_can_be_asked_for_as_soon_as_it_is_told(self):
        for number in range(10):
            told = self.run_code(f"x = {number}")["checkpoint"]["id"]
            self.assertEqual(self.get(f"diff?from={told}")["changed"], [])
            told = self.run_code("x = -1")["checkpoint"]["id"]
            self.daemon.ask("POST", f"/v1/sessions/{self.id}/rollback", {"checkpoint": told}, status=200)

    # ---- whose ----

    def test_a_session_that_is_not_there(self):
        for path in ("vars", "vars/x", "files", "files/x", "diff?from=cp_x", "export", "export.ipynb"):
            answer = self.daemon.request("GET", f"/v1/sessions/ses_none/{path}")
            self.assertEqual((answer.status, answer.error["kind"]), (404, "not_found"), path)


if __name__ == "__main__":
    unittest.main()
