# SPDX-License-Identifier: Apache-2.0
"""The tree of states: named checkpoints, rollback, diff, and branches that run side by side."""

from concurrent.futures import ThreadPoolExecutor

from case import DaemonCase, wait_for

CHECKPOINT_KEYS = {"id", "name", "parent", "run", "created_ms", "memory"}


class TreeTest(DaemonCase):
    CONFIG = "sessions: {checkpoints: 4}\n"

    def checkpoint(self, session, name=None):
        body = {"name": name} if name else {}
        return self.daemon.ask("POST", f"/v1/sessions/{session}/checkpoints", body, status=201)

    def checkpoints(self, session):
        return self.daemon.ask("GET", f"/v1/sessions/{session}/checkpoints")["checkpoints"]

    def roll_back(self, session, checkpoint):
        return self.daemon.ask("POST", f"/v1/sessions/{session}/rollback", {"checkpoint": checkpoint},
                               status=200)

    def test_a_named_checkpoint_brings_back_variables_and_files(self):
        session = self.new_session()
        self.daemon.run("x = 'then'\nopen('f', 'w').write('then')", session)
        made = self.checkpoint(session, "before the mess")
        self.assertEqual(CHECKPOINT_KEYS - set(made), set())
        self.assertEqual(made["name"], "before the mess")
        for i in range(3):
            self.daemon.run(f"x = {i}\nopen('f', 'w').write('{i}')\nopen('g{i}', 'w')", session)
        told = self.roll_back(session, made["id"])
        self.assertEqual((told["id"], told["head"]), (session, made["id"]))
        self.assertEqual(self.daemon.value("import os\n[x, open('f').read(), os.listdir()]", session),
                         ["then", "then", ["f"]])

    def test_a_name_is_as_good_as_an_id(self):
        session = self.new_session()
        self.daemon.run("x = 1", session)
        made = self.checkpoint(session, "first")["id"]
        self.daemon.run("x = 2", session)
        self.assertEqual(self.daemon.ask("GET", f"/v1/sessions/{session}/diff?from=first")["changed"], ["x"])
        self.assertEqual(self.roll_back(session, "first")["head"], made)
        self.daemon.run("x = 3", session)
        told = self.daemon.ask("POST", f"/v1/sessions/{session}/fork", {"checkpoint": "first"}, status=201)
        branch = told["sessions"][0]["id"]
        self.addCleanup(self.daemon.request, "DELETE", f"/v1/sessions/{branch}")
        self.assertEqual(self.daemon.value("x", branch), 1)
        self.daemon.value("x", session)  # by now the first one is not the last
        self.assertEqual(self.daemon.request("DELETE", f"/v1/sessions/{session}/checkpoints/first").status, 204)
        answer = self.daemon.request("POST", f"/v1/sessions/{session}/rollback", {"checkpoint": "first"})
        error = self.expect_error(answer, 404, "not_found")
        self.assertIn("no state has the id or the name first", error["message"])

    def test_a_name_that_is_given_again_moves_and_that_is_said(self):
        session = self.new_session()
        self.daemon.run("x = 1", session)
        first = self.checkpoint(session, "clean")
        self.assertNotIn("name_was", first)
        self.assertNotIn("name_was", self.checkpoint(session, "clean"))  # it is the same state
        self.daemon.run("x = 2", session)
        second = self.checkpoint(session, "clean")
        self.assertEqual(second["name_was"], first["id"])
        names = {row["id"]: row["name"] for row in self.checkpoints(session)}
        self.assertEqual((names[first["id"]], names[second["id"]]), (None, "clean"))
        self.assertEqual(self.roll_back(session, "clean")["head"], second["id"])

    def test_a_state_that_has_a_name_keeps_it(self):
        session = self.new_session()
        self.daemon.run("x = 1", session)
        first = self.checkpoint(session, "one")["id"]
        self.assertEqual(self.checkpoint(session)["name"], "one")
        other = self.checkpoint(session, "two")
        self.assertNotEqual(other["id"], first)
        self.assertLessEqual({(first, "one"), (other["id"], "two")},
                             {(row["id"], row["name"]) for row in self.checkpoints(session)})

    def test_goes_back_to_a_checkpoint_that_is_just_being_looked_at(self):
        session = self.new_session()
        checkpoint = self.daemon.run("x = 1", session)["checkpoint"]["id"]
        look = f"/v1/sessions/{session}/diff?from={checkpoint}&to={checkpoint}"
        with ThreadPoolExecutor(4) as pool:
            looks = [pool.submit(self.daemon.request, "GET", look) for _ in range(60)]
            for i in range(30):
                self.assertEqual(self.roll_back(session, checkpoint)["head"], checkpoint)
            self.assertEqual({one.result().status for one in looks}, {200})
        self.assertEqual(self.daemon.value("x", session), 1)

    def test_a_look_at_the_state_that_is_just_left_tells_of_the_next_one(self):
        session = self.new_session()
        self.daemon.run("x = 1", session)
        states = [self.checkpoint(session, "one")["id"]]
        self.daemon.run("y = 2", session)
        states.append(self.checkpoint(session, "two")["id"])
        looks = []
        with ThreadPoolExecutor(2) as pool:
            for i in range(60):
                looks.append(pool.submit(self.daemon.request, "GET", f"/v1/sessions/{session}/vars"))
                self.roll_back(session, states[i % 2])
        self.assertEqual({one.result().body for one in looks if one.result().status != 200}, set())

    def test_can_go_back_to_the_same_one_twice(self):
        session = self.new_session()
        self.daemon.run("x = 1", session)
        made = self.checkpoint(session, "one")["id"]
        for i in range(2):
            self.daemon.run(f"x = 'other {i}'", session)
            self.roll_back(session, made)
            self.assertEqual(self.daemon.value("x", session), 1)

    def test_rollback_refuses_what_is_not_there(self):
        session = self.new_session()
        path = f"/v1/sessions/{session}/rollback"
        answer = self.daemon.request("POST", path, {"checkpoint": "cp_nothing"})
        self.expect_error(answer, 404, "not_found")
        self.expect_error(self.daemon.request("POST", path, {}), 400, "bad_request", "checkpoint")

    def test_the_oldest_without_a_name_go_first(self):
        session = self.new_session()
        self.daemon.run("x = 0", session)
        named = self.checkpoint(session, "named")["id"]
        made = [self.daemon.run(f"x = {i}", session)["checkpoint"]["id"] for i in range(1, 9)]
        self.daemon.value("x", session)  # by now the last of those has been made
        ids = [one["id"] for one in self.checkpoints(session)]
        self.assertIn(named, ids)
        self.assertNotIn(made[0], ids)
        self.assertIn(made[-1], ids)
        self.assertLessEqual(len(ids), 5)
        self.roll_back(session, named)
        self.assertEqual(self.daemon.value("x", session), 0)

    def test_what_checkpoints_share_is_counted_once(self):
        """Where no cgroup counts it is measured, while a run is on; each of them seems to have all of it."""
        session = self.new_session()
        self.daemon.run("import time\nx = b'1' * (90 << 20)", session)
        busy = "end = time.monotonic() + 0.5\nwhile time.monotonic() < end: pass"
        made = [self.daemon.run(busy, session)["checkpoint"]["id"] for _ in range(3)]
        self.daemon.value("len(x)", session)  # by now the last of those has been made
        self.assertLessEqual(set(made), {one["id"] for one in self.checkpoints(session)})

    def test_each_has_its_parent_and_its_run(self):
        session = self.new_session()
        first = self.daemon.run("x = 1", session)
        second = self.daemon.run("x = 2", session)
        self.daemon.value("x", session)
        rows = {row["id"]: row for row in self.checkpoints(session)}
        self.assertEqual(rows[second["checkpoint"]["id"]]["parent"], first["checkpoint"]["id"])
        self.assertEqual(rows[second["checkpoint"]["id"]]["run"], second["id"])

    def test_drop_gives_one_up(self):
        session = self.new_session()
        self.daemon.run("x = 1", session)
        made = self.checkpoint(session, "gone soon")["id"]
        self.daemon.run("x = 2", session)
        self.daemon.value("x", session)
        path = f"/v1/sessions/{session}/checkpoints/{made}"
        self.assertEqual(self.daemon.request("DELETE", path).status, 204)
        self.expect_error(self.daemon.request("DELETE", path), 404, "not_found")
        answer = self.daemon.request("POST", f"/v1/sessions/{session}/rollback", {"checkpoint": made})
        self.expect_error(answer, 404, "not_found")
        self.assertEqual(self.daemon.value("x", session), 2)

    def test_diff_tells_which_names_changed(self):
        session = self.new_session()
        self.daemon.run("same = 1\nold = 2\nchanged = [1]", session)
        before = self.checkpoint(session, "before")["id"]
        self.daemon.run("del old\nnew = 3\nchanged.append(2)", session)
        after = self.checkpoint(session, "after")["id"]
        told = self.daemon.ask("GET", f"/v1/sessions/{session}/diff?from={before}&to={after}")
        self.assertEqual((told["added"], told["removed"], told["changed"]), (["new"], ["old"], ["changed"]))


class BranchTest(DaemonCase):
    """fork: sessions that go on from the same state, each with variables and output of its own."""

    def fork(self, session, n):
        told = self.daemon.ask("POST", f"/v1/sessions/{session}/fork", {"n": n}, status=201)
        self.assertEqual(len(told["sessions"]), n)
        branches = [one["id"] for one in told["sessions"]]
        for branch in branches:
            self.addCleanup(self.daemon.request, "DELETE", f"/v1/sessions/{branch}")
        return branches

    def test_branches_run_in_parallel_with_their_own_state_and_output(self):
        session = self.new_session()
        self.daemon.run("x = 10", session)
        branches = self.fork(session, 3)
        runs = [self.daemon.start_run(f"print('branch {i}', flush=True)\ninput()\nx += {i}\nprint(x)", branch,
                                      stdin="live") for i, branch in enumerate(branches)]
        streams = [self.daemon.events(run) for run in runs]
        for i, stream in enumerate(streams):
            stream.until_text(f"branch {i}\n")  # all three are in their runs now
        for run in reversed(runs):
            self.daemon.ask("POST", f"/v1/runs/{run}/stdin", {"text": "\n"})
        for i, (run, stream) in enumerate(zip(runs, streams)):
            stream.until("verdict")
            stream.close()
            self.assertEqual(self.daemon.result(run)["stdout"], f"branch {i}\n{10 + i}\n")
        self.assertEqual(self.daemon.value("x", session), 10)
        for i, branch in enumerate(branches):
            self.assertEqual(self.daemon.value("x", branch), 10 + i)

    def test_branches_draw_their_own_random_numbers(self):
        session = self.new_session()
        self.daemon.run("import random, os, uuid, sqlite3\nbase = sqlite3.connect(':memory:')\n"
                        "blob = lambda: base.execute('select hex(randomblob(16))').fetchone()[0]\nblob()", session)
        branches = self.fork(session, 4)
        code = "[random.random(), os.urandom(8).hex(), str(uuid.uuid4()), blob()]"
        drawn = [tuple(self.daemon.value(code, one)) for one in [session, *branches]]
        for column in zip(*drawn):
            self.assertEqual(len(set(column)), 5)

    def test_the_end_of_one_does_not_touch_the_others(self):
        session = self.new_session()
        self.daemon.run("x = 1", session)
        first, second = self.fork(session, 2)
        result = self.daemon.run("x = 2\nimport os\nos._exit(1)", first, kind="exit")
        self.assertEqual(result["state"], "rolled_back")
        self.assertEqual(self.daemon.value("x", first), 1)
        self.assertEqual(self.daemon.request("DELETE", f"/v1/sessions/{first}").status, 204)
        self.assertEqual(self.daemon.value("x", second), 1)
        self.assertEqual(self.daemon.request("DELETE", f"/v1/sessions/{session}").status, 204)
        self.assertEqual(self.daemon.value("x + 1", second), 2)
        branch = self.fork(second, 1)[0]
        self.assertEqual(self.daemon.value("x", branch), 1)

    def test_files_are_shared_and_that_is_said(self):
        session = self.new_session()
        self.daemon.run("open('f', 'w').write('of all')", session)
        told = self.daemon.ask("POST", f"/v1/sessions/{session}/fork", {}, status=201)
        self.assertEqual(told["files"], "shared")
        branch = told["sessions"][0]["id"]
        self.addCleanup(self.daemon.request, "DELETE", f"/v1/sessions/{branch}")
        self.assertEqual(self.daemon.value("open('f').read()", branch), "of all")

    def test_a_state_after_going_back_has_no_run_that_was_undone(self):
        """Alone in its sandbox, a branch makes a state of the files that it had shared."""
        session = self.new_session()
        self.daemon.run("m = 1", session)
        branch = self.fork(session, 1)[0]
        start = wait_for(lambda: self.daemon.state(branch)["head"], what="its first state")
        undone = self.daemon.run("m = 500\nopen('f', 'w').write('f')", branch)["id"]
        self.daemon.ask("POST", f"/v1/sessions/{branch}/rollback", {"checkpoint": start})
        self.assertEqual(self.daemon.request("DELETE", f"/v1/sessions/{session}").status, 204)
        head = wait_for(lambda: (lambda at: at != start and at)(self.daemon.state(branch)["head"]), what="the state of its files")
        states = self.daemon.ask("GET", f"/v1/sessions/{branch}/checkpoints")["checkpoints"]
        runs = {one["id"]: one["run"] for one in states}
        self.assertNotEqual(runs[head], undone)
        self.assertEqual(runs[head], runs[start])
        self.assertEqual(self.daemon.value("m", branch), 1)

    def test_a_branch_can_go_on_from_an_older_checkpoint(self):
        session = self.new_session()
        old = self.daemon.run("x = 'old'", session)["checkpoint"]["id"]
        # A blocker in the session as it is now does not block an earlier state.
        self.daemon.run("x = 'new'\nimport socket\nkeep = socket.socketpair()", session)
        told = self.daemon.ask("POST", f"/v1/sessions/{session}/fork", {"checkpoint": old, "n": 2}, status=201)
        for branch in (one["id"] for one in told["sessions"]):
            self.addCleanup(self.daemon.request, "DELETE", f"/v1/sessions/{branch}")
            self.assertEqual(self.daemon.value("x", branch), "old")
        self.assertEqual(self.daemon.value("x", session), "new")

    def test_a_checkpoint_that_does_not_fork_costs_the_branch_only(self):
        session = self.new_session()
        checkpoint = self.daemon.run("x = 1", session)["checkpoint"]["id"]
        # The head is newer than every checkpoint: whoever loses it loses x.
        self.daemon.run("import os, signal, socket\nx = 2\nkeep = socket.socketpair()\n"
                        "os.kill(os.getppid(), signal.SIGSTOP)", session)
        answer = self.daemon.request("POST", f"/v1/sessions/{session}/fork", {"checkpoint": checkpoint})
        self.assertIn("did not fork", self.expect_error(answer, 409, "conflict")["message"])
        result = self.daemon.run("x", session)
        self.assertEqual((result["result"]["application/json"], result["state"]), (2, "preserved"))

    def test_a_branch_of_a_checkpoint_that_is_not_there_is_refused(self):
        session = self.new_session()
        answer = self.daemon.request("POST", f"/v1/sessions/{session}/fork", {"checkpoint": "cp_none"})
        self.expect_error(answer, 404, "not_found")
        self.assertEqual(self.daemon.value("1", session), 1)

    def test_too_many_are_refused(self):
        session = self.new_session()
        for n in (0, 17):
            answer = self.daemon.request("POST", f"/v1/sessions/{session}/fork", {"n": n})
            self.expect_error(answer, 400, "bad_request", "n")
        self.assertEqual(self.daemon.value("1", session), 1)

    def test_a_fork_with_a_blocker_is_refused_and_says_why(self):
        session = self.new_session()
        self.daemon.run("import socket\nkeep = socket.socketpair()", session)
        answer = self.daemon.request("POST", f"/v1/sessions/{session}/fork", {"n": 1})
        self.assertIn("socket", self.expect_error(answer, 409, "conflict")["message"])


class FullTest(DaemonCase):
    """A sandbox that has room for no more states: nothing is lost, and what does not fit is said."""

    def checkpoints(self, session):
        return self.daemon.ask("GET", f"/v1/sessions/{session}/checkpoints")["checkpoints"]

    def fork(self, session, n):
        branches = [one["id"] for one in
                    self.daemon.ask("POST", f"/v1/sessions/{session}/fork", {"n": n}, status=201)["sessions"]]
        for branch in branches:
            self.addCleanup(self.daemon.request, "DELETE", f"/v1/sessions/{branch}")
        return branches

    def name(self, session, name):
        return self.daemon.request("POST", f"/v1/sessions/{session}/checkpoints", {"name": name})

    def fill(self, session):
        """Names states until there is no room. Returns the names, and the last run, which has no state."""
        names = []
        while True:
            run = self.daemon.run(f"x = {len(names)}", session)
            if "skipped" in run["checkpoint"]:
                self.assertIn("drop a checkpoint", run["checkpoint"]["skipped"])
                return names, run
            names.append(f"n{len(names)}")
            self.assertEqual(self.name(session, names[-1]).status, 201)
            self.assertLess(len(names), 32)

    def expect_looks(self, session):
        for path in ("vars", "files", "export"):
            answer = self.daemon.request("GET", f"/v1/sessions/{session}/{path}")
            self.assertEqual(answer.status, 200, answer)
        answer = self.daemon.request("POST", f"/v1/sessions/{session}/complete", {"code": "x.", "cursor": 2})
        self.assertEqual(answer.status, 200)

    def test_branches_with_many_runs_go_on_after_a_failure(self):
        session = self.new_session()
        self.daemon.run("x = 0", session)
        everyone = [session, *self.fork(session, 3)]
        for i in range(1, 10):
            for one in everyone:
                self.assertNotIn("skipped", self.daemon.run(f"x = {i}", one)["checkpoint"])
        for one in everyone:
            made = self.daemon.run("x += 1", one)["checkpoint"]["id"]
            result = self.daemon.run("x = 'bad'\nwhile True: pass", one, kind="timeout", timeout_ms=300)
            self.assertEqual((result["state"], result["checkpoint"]["id"]), ("rolled_back", made))
            self.assertIn(made, [row["id"] for row in self.checkpoints(one)])
        for one in everyone:
            self.assertEqual(self.daemon.value("x", one), 10)
            self.expect_looks(one)
        self.fork(session, 1)

    def test_all_branches_that_fit_can_fail(self):
        session = self.new_session()
        self.daemon.run("x = 1", session)
        before = self.daemon.ask("GET", "/v1/sessions")["sessions"]
        error = self.expect_error(self.daemon.request("POST", f"/v1/sessions/{session}/fork", {"n": 16}), 409,
                                  "conflict")
        self.assertIn("delete a branch", error["message"])
        self.assertEqual(len(self.daemon.ask("GET", "/v1/sessions")["sessions"]), len(before))
        everyone = [session, *self.fork(session, 13)]
        with ThreadPoolExecutor(4) as pool:
            for code, kind in (("x += 1", "ok"), ("import os\nx = 'bad'\nos._exit(1)", "exit"), ("x += 1", "ok")):
                runs = list(pool.map(lambda one: self.daemon.run(code, one, kind=kind), everyone))
                self.assertEqual({run["state"] for run in runs}, {"preserved" if kind == "ok" else "rolled_back"})
        for one in everyone:
            self.assertEqual(self.daemon.value("x", one), 3)
            self.expect_looks(one)

    def test_named_states_that_fill_it_stay_and_a_failure_goes_back(self):
        session = self.new_session()
        names, last = self.fill(session)
        error = self.expect_error(self.name(session, "more"), 409, "conflict")
        self.assertIn("drop a checkpoint or delete a branch", error["message"])
        self.expect_error(self.daemon.request("POST", f"/v1/sessions/{session}/fork", {}), 409, "conflict")
        self.assertLessEqual(set(names), {row["name"] for row in self.checkpoints(session)})
        self.expect_looks(session)
        result = self.daemon.run("x = 'bad'\nwhile True: pass", session, kind="timeout", timeout_ms=300)
        self.assertEqual((result["state"], result["checkpoint"]["undone"]), ("rolled_back", [last["id"], result["id"]]))
        self.assertIn("drop a checkpoint", result["checkpoint"]["why"])
        self.assertEqual(self.daemon.value("x", session), len(names) - 1)
        for name in names * 2:
            self.daemon.ask("POST", f"/v1/sessions/{session}/rollback", {"checkpoint": name}, status=200)
        self.assertEqual(self.daemon.value("x", session), len(names) - 1)
        self.expect_looks(session)

    def test_a_state_gets_its_checkpoint_once_there_is_room(self):
        session = self.new_session()
        names, _ = self.fill(session)
        self.assertIn("checkpoint_blocked_by", self.daemon.ask("GET", f"/v1/sessions/{session}"))
        dropped = self.daemon.request("DELETE", f"/v1/sessions/{session}/checkpoints/{names[0]}")
        self.assertEqual(dropped.status, 204)
        self.assertEqual(self.name(session, "more").status, 201)
        self.assertNotIn("checkpoint_blocked_by", self.daemon.ask("GET", f"/v1/sessions/{session}"))
        self.daemon.run("import os\nos._exit(1)", session, kind="exit")
        self.assertEqual(self.daemon.value("x", session), len(names))

    def test_a_kept_session_keeps_its_named_states(self):
        session = self.new_session(keep=True)
        names, _ = self.fill(session)
        result = self.daemon.run("while True: pass", session, kind="timeout", timeout_ms=300)
        self.assertEqual(result["state"], "rolled_back")
        self.assertIn("note", result["checkpoint"])
        self.assertEqual(self.daemon.value("x", session), len(names) - 1)
        self.assertLessEqual(set(names), {row["name"] for row in self.checkpoints(session)})
