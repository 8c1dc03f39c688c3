# SPDX-License-Identifier: Apache-2.0
"""A rollback reports truly what became of files; files that others than the run made stay."""

import json

from case import DaemonCase

MIB = 1 << 20
DIES = "\nimport os\nos._exit(1)"


class FilesCase(DaemonCase):
    CONFIG = "policies:\n  small: {base: default, disk: 16MiB}\n"

    def checkpoint(self, session, name):
        return self.daemon.ask("POST", f"/v1/sessions/{session}/checkpoints", {"name": name}, status=201)

    def checkpoints(self, session):
        return self.daemon.ask("GET", f"/v1/sessions/{session}/checkpoints")["checkpoints"]

    def roll_back(self, session, checkpoint):
        return self.daemon.ask("POST", f"/v1/sessions/{session}/rollback", {"checkpoint": checkpoint}, status=200)

    def fork(self, session):
        told = self.daemon.ask("POST", f"/v1/sessions/{session}/fork", {}, status=201)
        branch = told["sessions"][0]["id"]
        self.addCleanup(self.daemon.request, "DELETE", f"/v1/sessions/{branch}")
        return branch

    def close(self, session):
        self.assertEqual(self.daemon.request("DELETE", f"/v1/sessions/{session}").status, 204)

    def fails(self, session, code):
        """The state in its result, and the session's event about it."""
        result = self.daemon.run(code + DIES, session, kind="exit")
        self.assertEqual(result["state"], "rolled_back")
        answer = self.daemon.request("GET", f"/v1/sessions/{session}/events?follow=false")
        told = [event for event in map(json.loads, answer.body.splitlines()) if event["type"] == "rolled_back"]
        self.assertEqual(told[-1].get("files"), result["checkpoint"].get("files"))
        return result["checkpoint"]

    def read(self, session, name="a"):
        return self.daemon.request("GET", f"/v1/sessions/{session}/files/{name}").body.decode()

    def says_left(self, told, word):
        self.assertEqual(told["files"], word)
        self.assertIn("variables are what they were", told["note"])
        self.assertIn("Files stay as they are", told["note"])

    def says_back(self, told):
        self.assertNotIn("files", told)
        self.assertIn("variables and the files of /workspace are what they were before this run", told["note"])


class TimesTest(FilesCase):
    """By size and time of change a client knows which run's file it is."""

    def listed(self, session):
        return [(file["size"], file["mtime_ms"]) for file in self.daemon.ask("GET", f"/v1/sessions/{session}/files")["files"]]

    def test_a_file_that_comes_back_has_the_time_that_its_run_told(self):
        session = self.new_session()
        first, second = (self.daemon.run(f"import os\nopen('a', 'w').write('v{i}')\nos.utime('a', ns=({i}, {i}234567890))", session)
                         for i in (1, 2))
        self.assertEqual([file["mtime_ms"] for file in first["files"] + second["files"]], [1234, 2234])
        self.assertEqual((self.listed(session), self.read(session)), ([(2, 2234)], "v2"))
        self.roll_back(session, first["checkpoint"]["id"])
        self.assertEqual((self.listed(session), self.read(session)), ([(2, 1234)], "v1"))


class SharedTest(FilesCase):
    """Branches share /workspace: it is not rolled back while there is more than one of them."""

    def test_a_failed_run_does_not_claim_files_that_are_shared(self):
        session = self.new_session()
        self.daemon.run("x = 1\nopen('a', 'w').write('old')", session)
        branch = self.fork(session)
        for one, text in ((session, "first"), (branch, "second"), (session, "third")):
            self.says_left(self.fails(one, f"open('a', 'w').write('{text}')"), "shared")
            self.assertEqual(self.read(one), text)

    def test_a_branch_that_is_left_alone_has_its_files_still(self):
        session = self.new_session()
        self.daemon.run("open('a', 'w').write('old')", session)
        branch = self.fork(session)
        self.daemon.run("open('b', 'w').write('of the branch')", branch)
        self.close(session)
        self.says_back(self.fails(branch, "open('a', 'w').write('spoiled'); os = __import__('os'); os.unlink('b')"))
        self.assertEqual((self.read(branch), self.read(branch, "b")), ("old", "of the branch"))

    def test_what_a_branch_made_stays_after_its_end(self):
        session = self.new_session()
        self.daemon.run("open('a', 'w').write('old')", session)
        branch = self.fork(session)
        self.daemon.run("open('a', 'w').write('new')\nopen('b', 'w').write('b')", branch)
        self.close(branch)
        self.says_back(self.fails(session, "open('a', 'w').write('spoiled')"))
        self.assertEqual((self.read(session), self.read(session, "b")), ("new", "b"))

    def test_a_branch_that_ends_during_a_run_loses_nothing_by_its_failure(self):
        session = self.new_session()
        self.daemon.run("open('a', 'w').write('old')", session)
        branch = self.fork(session)
        self.daemon.run("open('b', 'w').write('b')", branch)
        run = self.daemon.start_run("print('on', flush=True)\ninput()" + DIES, session, stdin="live")
        with self.daemon.events(run) as events:
            events.until_text("on")
            self.close(branch)
            self.daemon.ask("POST", f"/v1/runs/{run}/stdin", {"text": "\n"})
            events.until("verdict")
        self.assertIn("Files stay as they are", self.daemon.result(run)["checkpoint"]["note"])
        self.assertEqual(self.read(session, "b"), "b")

    def test_states_say_that_files_are_shared_and_so_does_the_way_back(self):
        session = self.new_session()
        self.daemon.run("open('a', 'w').write('old')", session)
        clean = self.checkpoint(session, "clean")
        self.assertNotIn("files", clean)
        branch = self.fork(session)
        self.assertEqual(self.daemon.run("open('a', 'w').write('new')", branch)["checkpoint"]["files"], "shared")
        self.assertEqual({row.get("files") for row in self.checkpoints(session)}, {"shared"})
        self.assertEqual(self.roll_back(session, clean["id"])["files"], "shared")
        self.assertEqual(self.read(session), "new")
        self.close(branch)
        self.assertNotIn("files", self.roll_back(session, clean["id"]))
        self.assertEqual(self.read(session), "old")

    def test_a_checkpoint_without_files_does_not_empty_the_folder_later(self):
        """There was nothing of its own in /workspace when the session was kept: the branch had put it there."""
        session = self.new_session()
        branch = self.fork(session)
        self.daemon.run("open('a', 'w').write('of the branch')", branch)
        clean = self.checkpoint(session, "clean")
        self.assertEqual(clean["files"], "shared")
        self.close(branch)
        self.assertEqual(self.roll_back(session, clean["id"])["files"], "skipped")
        self.assertEqual(self.read(session), "of the branch")


class LargeTest(FilesCase):
    """Above half of the policy's disk no copies are kept."""

    def prepare(self):
        session = self.new_session(policy="small")
        self.daemon.run(f"open('big', 'wb').write(bytes({9 * MIB}))\nopen('a', 'w').write('old')", session)
        return session

    def test_it_is_told_when_it_is_made_and_when_it_is_gone_back_to(self):
        session = self.prepare()
        clean = self.checkpoint(session, "clean")
        self.assertEqual((clean["files"], self.checkpoints(session)[-1]["files"]), ("skipped", "skipped"))
        self.daemon.run("open('a', 'w').write('new')\nx = 1", session)
        self.assertEqual(self.roll_back(session, clean["id"])["files"], "skipped")
        self.assertEqual(self.read(session), "new")

    def test_files_that_are_too_large_are_there_after_a_failed_run(self):
        """Also where the run before has not touched them."""
        session = self.prepare()
        self.assertEqual(self.daemon.run("x = 1", session)["checkpoint"]["files"], "skipped")
        self.assertEqual(self.checkpoint(session, "still")["files"], "skipped")
        self.says_left(self.fails(session, "x = 2"), "skipped")
        self.assertEqual(self.read(session), "old")

    def test_a_copy_that_is_being_made_is_said_to_come(self):
        session = self.daemon.session()
        words = set()
        for run in range(20):
            result = self.daemon.run(f"for n in range(50): open(f'{run}_{{n}}', 'w').close()", session)
            while True:
                last = self.checkpoints(session)[-1]
                if last["id"] == result["checkpoint"]["id"]:
                    words.add(last.get("files"))
                    words.add(self.daemon.ask("GET", f"/v1/sessions/{session}").get("files"))
                    if "files" not in last:
                        break
                    self.assertEqual(last["files"], "coming")
        self.assertLessEqual(words, {None, "coming"})

    def test_they_are_saved_again_once_they_are_smaller(self):
        session = self.prepare()
        self.daemon.run("import os\nos.unlink('big')", session)
        self.assertNotIn("files", self.checkpoint(session, "clean"))
        self.says_back(self.fails(session, "open('a', 'w').write('spoiled')"))
        self.assertEqual(self.read(session), "old")


class PutTest(FilesCase):
    def test_a_file_that_was_put_while_a_thread_ran_stays(self):
        session = self.new_session()
        self.daemon.run("open('a', 'w').write('old')", session)
        self.daemon.run("import threading\ngate = threading.Event()\n"
                        "threading.Thread(target=gate.wait, name='worker-1').start()", session)
        self.assertIn(self.daemon.request("PUT", f"/v1/sessions/{session}/files/put", b"mine").status, (200, 201))
        self.says_left(self.fails(session, "x = 1"), "skipped")
        self.assertEqual((self.read(session), self.read(session, "put")), ("old", "mine"))
        # The thread is gone with the head: from here on failures undo what they did.
        self.says_back(self.fails(session, "open('put', 'w').write('spoiled')"))
        self.assertEqual(self.read(session, "put"), "mine")


class RefusedForkTest(FilesCase):
    """A fork that is refused makes no branch, so the files stay the session's own."""

    def test_a_failed_run_is_undone_with_its_files(self):
        session = self.new_session()
        self.daemon.run("open('a', 'w').write('old')", session)
        self.daemon.run("import threading\ngate = threading.Event()\n"
                        "threading.Thread(target=gate.wait, name='worker-1').start()", session)
        self.expect_error(self.daemon.request("POST", f"/v1/sessions/{session}/fork", {}), 409, "conflict")
        told = self.fails(session, "open('a', 'w').write('spoiled')")
        self.assertNotIn("files", told)
        self.assertIn("variables and the files of /workspace are what they were after", told["note"])
        self.assertEqual(self.read(session), "old")
