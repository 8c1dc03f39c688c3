# SPDX-License-Identifier: Apache-2.0
"""The files of a kept session stay: a sleep or a restart brings back those that were there, whichever state it is at."""

import os
import signal

from case import wait_for
from test_kept import KEPT, KeptCase, asleep, kept, states

LIST = "import os\nsorted(os.listdir('/workspace'))"


def state_of(daemon, session, name):
    return next((one for one in states(daemon, session) if one["id"] == name), None)


class FilesCase(KeptCase):
    def files(self, daemon, session):
        return sorted(os.path.basename(one["path"]) for one in daemon.ask("GET", f"/v1/sessions/{session}/files")["files"])

    def roll_back(self, daemon, session, state):
        told = daemon.ask("POST", f"/v1/sessions/{session}/rollback", {"checkpoint": state})
        self.assertEqual(told["head"], state)
        return told

    def write(self, daemon, session, name, more=""):
        """Runs code that writes a file. The state after it, once it is on disk."""
        made = daemon.run(f"open('{name}', 'w').write('{name}'){more}", session)["checkpoint"]["id"]
        kept(daemon, session)
        return made

    def overtaken(self, daemon, session):
        """Two runs, one directly behind the other. The state after the first one."""
        first = daemon.start_run("import time\ntime.sleep(1)\nopen('x', 'w').write('x')", session)
        second = daemon.start_run("open('y', 'w').write('y')", session)
        daemon.result(second)
        kept(daemon, session)
        return daemon.result(first)["checkpoint"]["id"]

    def stop(self, daemon, session):
        self.assertEqual(daemon.terminate(), 0)
        daemon.start()
        self.assertEqual(daemon.state(session)["state"], "asleep")

    def lose_launch(self, daemon, session):
        os.kill(daemon.launch_pid, signal.SIGKILL)
        asleep(daemon, session)
        wait_for(lambda: daemon.request("POST", f"/v1/sessions/{session}/wake").status == 200, what="its waking")
        daemon.find_processes()

    def restart(self, daemon, session):
        daemon.ask("POST", f"/v1/sessions/{session}/restart")

    def expect_files(self, daemon, session, names):
        """The files that the next run finds, and what its result says."""
        result = daemon.run(LIST, session)
        self.assertEqual(result["result"]["application/json"], names)
        told = result["checkpoint"]
        self.assertEqual((told["woken"]["files"], told["woken"]["missing"], told["woken"]["undone"]), (True, [], []))
        self.assertNotIn("not in it", told["note"])


class BackTest(FilesCase):
    def is_half_written(self, daemon, session):
        try:
            return os.path.getsize(daemon.path("state", "states", session, "new")) > 1 << 20
        except FileNotFoundError:
            return not daemon.state(session)["kept"]["pending"]

    def test_files_are_there_after_going_back_to_a_state_that_was_overtaken(self):
        for end in (self.stop, self.lose_launch, self.restart):
            with self.subTest(end=end.__name__):
                daemon = self.serve(KEPT)
                session = daemon.session(runtime="bare", keep=True)
                daemon.ask("PUT", f"/v1/sessions/{session}/files/sales.csv", b"a,b\n")
                self.roll_back(daemon, session, self.overtaken(daemon, session))
                self.assertEqual(self.files(daemon, session), ["sales.csv", "x"])
                kept(daemon, session)
                end(daemon, session)
                self.expect_files(daemon, session, ["sales.csv", "x"])
                daemon.stop()

    def test_a_state_that_was_overtaken_gets_its_files_on_disk_with_the_way_back(self):
        daemon = self.serve(KEPT)
        session = daemon.session(runtime="bare", keep=True)
        state = self.overtaken(daemon, session)
        self.roll_back(daemon, session, state)
        kept(daemon, session)
        self.write(daemon, session, "z")
        self.stop(daemon, session)
        self.assertNotIn("files", state_of(daemon, session, state))
        self.roll_back(daemon, session, state)
        self.assertEqual(daemon.value(LIST, session), ["x"])
        daemon.stop()

    def test_a_state_on_disk_without_files_leaves_those_of_the_session(self):
        daemon = self.serve(KEPT)
        session = daemon.session(runtime="bare", keep=True)
        state = self.overtaken(daemon, session)
        self.stop(daemon, session)
        self.assertEqual(state_of(daemon, session, state).get("files"), "skipped")
        self.assertEqual(self.roll_back(daemon, session, state).get("files"), "skipped")
        self.assertEqual(self.files(daemon, session), ["x", "y"])
        kept(daemon, session)
        self.stop(daemon, session)
        self.expect_files(daemon, session, ["x", "y"])
        # The state itself still has no files: the ones that were left are of a state of their own.
        self.assertEqual(state_of(daemon, session, state).get("files"), "skipped")
        daemon.stop()

    def test_a_checkpoint_from_before_it_was_kept_brings_its_files(self):
        daemon = self.serve(KEPT)
        session = daemon.session(runtime="bare")
        daemon.run("open('f', 'w').write('f')", session)
        named = daemon.ask("POST", f"/v1/sessions/{session}/checkpoints", {"name": "clean"})["id"]
        daemon.run("open('g', 'w').write('g')", session)
        daemon.ask("PATCH", f"/v1/sessions/{session}", {"keep": True})
        kept(daemon, session)
        self.roll_back(daemon, session, named)
        kept(daemon, session)
        self.stop(daemon, session)
        self.expect_files(daemon, session, ["f"])
        daemon.stop()

    def test_a_session_that_the_next_daemon_took_over_wakes_at_its_own_state(self):
        daemon = self.serve(KEPT)
        session = daemon.session(runtime="bare", keep=True)
        state = self.write(daemon, session, "f")
        daemon.restart()  # the next daemon does not know whether the files on disk are the present ones
        kept(daemon, session)
        self.stop(daemon, session)
        told = daemon.ask("POST", f"/v1/sessions/{session}/wake")
        self.assertEqual((told["head"], told.get("files")), (state, None))
        wait_for(lambda: state_of(daemon, session, state)["kind"] == "live", what="the state, live")
        self.expect_files(daemon, session, ["f"])
        daemon.stop()

    def test_a_way_back_that_nothing_follows_is_not_undone_by_the_state_that_was_being_written(self):
        daemon = self.serve(KEPT)
        session = daemon.session(runtime="bare", keep=True)
        first = self.write(daemon, session, "f", "\nx = 1")
        daemon.run("open('g', 'w').write('g')\nx = 2\nlarge = b'x' * (100 << 20)", session)
        wait_for(lambda: self.is_half_written(daemon, session), what="half of the state")
        self.roll_back(daemon, session, first)
        kept(daemon, session)
        self.stop(daemon, session)
        self.assertEqual(daemon.value("import os\n[x, sorted(os.listdir('/workspace'))]", session), [1, ["f"]])
        daemon.stop()


class LeftTest(FilesCase):
    """Files that a rollback left as they are stay after a sleep."""

    def fork(self, daemon, session):
        return daemon.ask("POST", f"/v1/sessions/{session}/fork", {}, status=201)["sessions"][0]["id"]

    def test_with_a_branch_that_ends_or_stays(self):
        for is_deleted in (True, False):
            with self.subTest(is_deleted=is_deleted):
                daemon = self.serve(KEPT)
                session = daemon.session(runtime="bare", keep=True)
                first = self.write(daemon, session, "f")
                branch = self.fork(daemon, session)
                self.write(daemon, session, "g")
                self.assertEqual(self.roll_back(daemon, session, first).get("files"), "shared")
                self.assertEqual(self.files(daemon, session), ["f", "g"])
                if is_deleted:
                    daemon.ask("DELETE", f"/v1/sessions/{branch}")
                    wait_for(lambda: daemon.state(session)["head"] != first, what="the state of its files")
                kept(daemon, session)
                self.stop(daemon, session)
                self.expect_files(daemon, session, ["f", "g"])
                if not is_deleted:
                    self.assertEqual(daemon.value(LIST, branch), ["f", "g"])
                daemon.stop()

    def test_what_a_branch_wrote_is_the_originals_too(self):
        for end in (self.stop, self.lose_launch, self.restart):
            for way in ("a run", "a failed run", "a client"):
                with self.subTest(end=end.__name__, way=way):
                    daemon = self.serve(KEPT)
                    session = daemon.session(runtime="bare", keep=True)
                    self.write(daemon, session, "f")
                    branch = self.fork(daemon, session)
                    if way == "a run":
                        daemon.run("open('g', 'w').write('g')", branch)
                    elif way == "a failed run":
                        daemon.run("open('g', 'w').write('g')\nimport os\nos._exit(1)", branch, kind="exit")
                    else:
                        daemon.ask("PUT", f"/v1/sessions/{branch}/files/g", b"g")
                    kept(daemon, session)
                    end(daemon, session)
                    self.assertEqual(daemon.value(LIST, session), ["f", "g"])
                    daemon.stop()

    def test_after_a_failed_run_with_a_branch(self):
        daemon = self.serve(KEPT)
        session = daemon.session(runtime="bare", keep=True)
        self.write(daemon, session, "f")
        self.fork(daemon, session)
        result = daemon.run("open('g', 'w').write('g')\nimport os\nos._exit(1)", session, kind="exit")
        self.assertIn("Files stay as they are", result["checkpoint"]["note"])
        self.assertEqual(self.files(daemon, session), ["f", "g"])
        kept(daemon, session)
        self.stop(daemon, session)
        self.expect_files(daemon, session, ["f", "g"])
        daemon.stop()

    def test_in_a_folder_that_is_too_large_for_a_copy(self):
        daemon = self.serve(KEPT + "policies:\n  small: {base: default, disk: 16MiB}\n")
        session = daemon.session(runtime="bare", keep=True, policy="small")
        large = self.write(daemon, session, "g", "\nopen('big', 'wb').write(b'x' * (10 << 20))")
        self.write(daemon, session, "h")
        self.assertEqual(self.roll_back(daemon, session, large).get("files"), "skipped")
        self.assertEqual(self.files(daemon, session), ["big", "g", "h"])
        kept(daemon, session)
        self.stop(daemon, session)
        self.expect_files(daemon, session, ["big", "g", "h"])
        # On disk the state has the files of its own moment.
        self.roll_back(daemon, session, large)
        self.assertEqual(daemon.value(LIST, session), ["big", "g"])
        daemon.stop()

    def test_a_state_does_not_claim_files_that_a_branch_may_have_changed(self):
        daemon = self.serve(KEPT)
        session = daemon.session(runtime="bare", keep=True)
        daemon.run("large = b'x' * (60 << 20)", session)
        branch = self.fork(daemon, session)
        state = daemon.run("open('f', 'w').write('A2')", session)["checkpoint"]["id"]
        wait_for(lambda: state_of(daemon, session, state), what="the state")  # it is made after the answer
        daemon.run("open('f', 'w').write('B-later')", branch)
        daemon.ask("DELETE", f"/v1/sessions/{branch}")
        kept(daemon, session)
        self.stop(daemon, session)  # only what is on disk is left
        self.assertEqual(state_of(daemon, session, state).get("files"), "skipped")
        self.assertEqual(self.roll_back(daemon, session, state).get("files"), "skipped")
        self.assertEqual(daemon.value("open('f').read()", session), "B-later")
        daemon.stop()


class NamedTest(FilesCase):
    def test_every_checkpoint_with_a_name_is_on_disk_before_the_next_run(self):
        """Also with an empty folder, and one that another name has overtaken."""
        daemon = self.serve(KEPT)
        session = daemon.session(runtime="bare", keep=True)
        daemon.run("large = b'x' * (60 << 20)", session)
        named = [daemon.ask("POST", f"/v1/sessions/{session}/checkpoints", {"name": name})["id"] for name in ("a", "b")]
        daemon.run("x = 1", session)
        for one in named:
            self.assertIn("bytes", state_of(daemon, session, one))
        daemon.stop()
