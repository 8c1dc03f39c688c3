# SPDX-License-Identifier: Apache-2.0
"""Ways around the person who allows runs: code that reads otherwise than it runs, code that runs before it is asked for,
names that hide others, and places that nobody else can have."""

import threading
import unittest

from daemon import Daemon
from held import POLICIES, PROOF, decide, held, tokens, wait_held, with_key

# Modules that the runner and its libraries could be made to import from the session's own folder.
SHADOWS = ("reprlib", "pickle", "re", "hashlib", "json", "keyword", "linecache", "copyreg", "tokenize", "locale",
           "textwrap", "traceback", "warnings", "datetime", "struct", "typing", "mimetypes", "pkgutil", "rlcompleter",
           "sitecustomize", "usercustomize", "encodings", "pandas", "numpy", "unicodedata", "_strptime")


class Case(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon(POLICIES)
        cls.addClassCleanup(cls.daemon.stop)
        cls.key = with_key(cls.daemon)

    def row(self, run):
        return next(row for row in held(self.daemon) if row["id"] == run)


class Reading(Case):
    """A person reads the same code as Python."""

    def test_a_saved_state_that_nobody_can_read_is_refused(self):
        saved = self.daemon.ask("POST", "/v1/run", {"code": "x = 1", "save_state": True})["saved_state"]["base64"]
        body = {"code": "print(x)", "policy": "asked", "saved_state": saved}
        answer = self.daemon.request("POST", "/v1/run", body)
        self.assertEqual((answer.status, answer.error["kind"]), (403, "forbidden"))
        self.assertIn("saved_state", answer.error["message"])
        self.assertEqual(held(self.daemon), [])
        self.assertEqual(self.daemon.ask("POST", "/v1/run", {**body, "policy": "default"})["stdout"], "1\n")

    def test_a_comment_that_another_encoding_makes_code_of(self):
        for code in ("# coding: utf-7\n# +AAo-print('hidden')", "# vim: set fileencoding=utf-7 :\n#+AAo-1",
                     "#!/usr/bin/python3\n# -*- coding: UTF-7 -*-\n#+AAo-1", "\n#coding=utf_7\n#+AAo-1",
                     "  \t# coding: utf-8 coding: utf-7\n#+AAo-1", "# coding:: coding=utf-7\n#+AAo-1",
                     "# coding: utf-16\n1", "# coding: latin-1\n1", "# coding: utf-8-sig\n1", "# coding:\n1",
                     "# x\r# coding: utf-7\r#+AAo-1\n1", "#" + "x" * 70000 + "coding: utf-7\n#+AAo-1"):
            answer = self.daemon.request("POST", "/v1/run", {"code": code, "policy": "asked", "detach": True})
            self.assertEqual((answer.status, answer.error["field"]), (400, "code"), code[:80])
        self.assertEqual(held(self.daemon), [])

    def test_one_that_says_what_it_is_is_held_as_any(self):
        for code in ("# -*- coding: utf-8 -*-\nprint(1)", "# coding=UTF8\nprint(1)", "# encoding matters\nprint(1)",
                     "open(0, encoding='latin-1')\nprint(1)", "\n\n# coding: utf-7\nprint(1)", "print(1) # coding: utf-7"):
            run = self.daemon.start_run(code, policy="asked")
            decide(self.daemon, run, headers=self.key)
            self.assertEqual(self.daemon.result(run)["stdout"], "1\n", code)

    def test_a_name_that_ends_early_hides_no_file(self):
        """A member that is none, or an element that is none, is refused: nothing is held, and nothing runs."""
        for sent in (r'{"path":"evil.py","path\u0000":"shown","text":"x"}', r'"{\"",{"path":"evil.py","text":"x"}',
                     r'[{"path":"evil.py","text":"x"}]', r'{"path":"evil.py","text":"x","pathology":"shown"}'):
            body = '{"code":"print(1)","policy":"asked","detach":true,"files":[' + sent + "]}"
            answer = self.daemon.request("POST", "/v1/run", body)
            self.assertEqual((answer.status, answer.error["field"].split("[")[0]), (400, "files"), sent)
            self.assertEqual(held(self.daemon), [], sent)


class Before(Case):
    """Nothing of the session's folder runs until somebody allowed it."""

    def test_questions_import_nothing_from_the_sessions_folder(self):
        session = self.daemon.session(policy="asked")
        base = f"/v1/sessions/{session}"
        code = b"open('/workspace/it_ran', 'a').write(__name__)\n"
        for name in SHADOWS:
            self.assertLess(self.daemon.request("PUT", f"{base}/files/{name}.py", code).status, 300)
        self.daemon.ask("POST", f"{base}/checkpoints", {"name": "here"})
        points = self.daemon.ask("GET", f"{base}/checkpoints")["checkpoints"]
        for path in ("vars", "vars/x", "files", "export", "export.ipynb", f"diff?from={points[0]['id']}"):
            self.daemon.request("GET", f"{base}/{path}")
        for text in ("imp", "import os.", "from nu", "help.", "display.", "x['", "__builtins__.", "license._Printer__setup."):
            self.daemon.ask("POST", f"{base}/complete", {"code": text, "cursor": len(text)})
        self.daemon.ask("POST", f"{base}/rollback", {"checkpoint": points[0]["id"]})
        self.daemon.request("GET", f"{base}/vars")
        files = [file["path"] for file in self.daemon.ask("GET", f"{base}/files")["files"]]
        self.assertNotIn("/workspace/it_ran", files)
        self.assertFalse([path for path in files if "__pycache__" in path])

    def test_a_branch_asks_as_its_parent_does(self):
        session = self.daemon.session(policy="asked")
        for branch in self.daemon.ask("POST", f"/v1/sessions/{session}/fork", {"n": 2})["sessions"]:
            self.assertEqual(branch["policy"], "asked")
            run = self.daemon.start_run(PROOF, branch["id"])
            self.assertEqual(self.row(run)["state"], "held")
            decide(self.daemon, run, "deny", headers=self.key)

    def test_what_is_asked_of_the_session_meanwhile_waits_for_the_decision(self):
        """A file that is put, a branch, a way back: none of them changes what is run, and none starts it."""
        session = self.daemon.session(policy="asked")
        base = f"/v1/sessions/{session}"
        self.daemon.request("PUT", f"{base}/files/lib.py", b"x = 'seen'")
        point = self.daemon.ask("GET", f"{base}/checkpoints")["checkpoints"][-1]["id"]
        run = self.daemon.start_run("import lib; print(lib.x)", session)
        answers = []
        threads = [threading.Thread(target=lambda ask=ask: answers.append(self.daemon.request(*ask).status)) for ask in (
            ("PUT", f"{base}/files/lib.py", b"x = 'slipped in'"), ("POST", f"{base}/fork", {}),
            ("POST", f"{base}/rollback", {"checkpoint": point}))]
        for thread in threads:
            thread.start()
        self.daemon.run("1")  # those before it have been read by now, or at least what is behind them
        self.assertEqual((self.row(run)["state"], answers), ("held", []))
        decide(self.daemon, run, headers=self.key)
        for thread in threads:
            thread.join(60)
        self.assertEqual(self.daemon.result(run)["stdout"], "seen\n")
        # Fork, way back, file: made anew where the way back, to before the file, came first.
        self.assertIn(sorted(answers), ([200, 200, 201], [200, 201, 201]))

    def test_allowed_and_ended_at_once_it_is_decided_once(self):
        """Allow, deny, cancel and the end of the session, all together: one wins, and the daemon lives."""
        for _ in range(15):
            session = self.daemon.session(policy="asked")
            run = self.daemon.start_run(PROOF, session)
            asks = [("POST", f"/v1/runs/{run}/allow", {}), ("POST", f"/v1/runs/{run}/deny", {}),
                    ("DELETE", f"/v1/runs/{run}", None), ("POST", f"/v1/sessions/{session}/interrupt", {}),
                    ("DELETE", f"/v1/sessions/{session}", None), ("POST", f"/v1/runs/{run}/allow", {})]
            answers = []
            threads = [threading.Thread(target=lambda ask=ask: answers.append(
                (ask[1].rpartition("/")[2], self.daemon.request(*ask, self.key).status))) for ask in asks]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(60)
            result = self.daemon.result(run)
            won = [what for what, status in answers if what in ("allow", "deny") and status == 200]
            self.assertLessEqual(len(won), 1, answers)
            if "allow" not in won:
                self.assertEqual(result["stdout"], "", answers)
        self.assertEqual(held(self.daemon), [])


class Room(unittest.TestCase):
    def test_one_token_leaves_places_to_others(self):
        daemon = Daemon(POLICIES + "limits: {held: 4}\n" + tokens(alice="", bob="", boss=", oversee: true"))
        self.addCleanup(daemon.stop)
        alice, bob, boss = map(daemon.as_token, ("alice", "bob", "boss"))
        runs = [alice.start_run(PROOF, policy="asked") for _ in range(2)]
        answer = alice.request("POST", "/v1/run", {"code": PROOF, "policy": "asked"})
        self.assertEqual((answer.status, answer.error["kind"]), (429, "busy"))
        runs.append(bob.start_run(PROOF, policy="asked"))
        wait_held(boss, 3)
        for run in runs:
            decide(boss, run, "deny")
        runs = [alice.start_run(PROOF, policy="asked") for _ in range(2)]
        for run in runs:
            decide(boss, run)
            self.assertEqual(alice.result(run)["stdout"], "it ran\n")


if __name__ == "__main__":
    unittest.main()
