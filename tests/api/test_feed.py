# SPDX-License-Identifier: Apache-2.0
"""Live events of the daemon: GET /v1/events."""

import hashlib
import json
import time
import unittest

from daemon import Daemon, wait_for
from feed import Feed

READERS = 256  # in all
TOKEN_READERS = 32
TOKENS = "tokens:\n" + "".join(f"  - {{name: {name}, sha256: {hashlib.sha256(name.encode()).hexdigest()}}}\n"
                               for name in ("alice", "bob"))


def feed_now(client, after):
    """The lines behind a line, without waiting for more."""
    answer = client.request("GET", f"/v1/events?follow=false&after={after}")
    assert answer.status == 200, answer
    return [json.loads(line) for line in answer.body.splitlines()]


class Lines(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.stop)

    def test_a_run_is_told_when_it_begins_and_when_it_is_over(self):
        with Feed(self.daemon) as feed:
            self.assertEqual(feed.headers["Content-Type"], "application/x-ndjson")
            run = self.daemon.run("\n  # look\nprint(1)")["id"]
            begun = feed.until_run(run, "running")
            self.assertEqual((begun["line"], begun["verdict"]), ("print(1)", None))
            over = feed.until_run(run, "over")
            self.assertEqual(over["verdict"], "ok")
            self.assertEqual(over, self.daemon.ask("GET", "/v1/runs?limit=1")["runs"][0])

    def test_a_session_from_its_beginning_to_its_end(self):
        with Feed(self.daemon) as feed:
            session = self.daemon.session(name="mine")
            self.assertEqual(feed.until_session(session, "idle")["name"], "mine")
            run = self.daemon.run("x = 1", session)["id"]
            self.assertEqual(feed.until_session(session, "running")["run"], run)
            self.assertGreaterEqual(feed.until_session(session, "idle")["runs"], 1)
            self.assertEqual(feed.until_run(run, "over")["session"], session)
            self.daemon.ask("PATCH", f"/v1/sessions/{session}", {"name": "yours"})
            feed.until(lambda event: event["type"] == "session" and event["session"]["name"] == "yours")
            self.daemon.ask("DELETE", f"/v1/sessions/{session}")
            gone = feed.until(lambda event: event["type"] == "session_gone")
            self.assertEqual(gone["id"], session)

    def test_the_state_that_a_run_leaves_is_told_when_it_is_kept(self):
        """After the end of the run: nobody need guess when to look for it."""
        session = self.daemon.session(runtime="bare")
        with Feed(self.daemon) as feed:
            kept = self.daemon.run("x = 1", session)["checkpoint"]["id"]
            feed.until(lambda event: event["type"] == "session" and event["session"]["head"] == kept)
            self.assertIn(kept, [one["id"] for one in self.daemon.ask(
                "GET", f"/v1/sessions/{session}/checkpoints")["checkpoints"]])

    def test_a_checkpoint_that_is_dropped_is_told(self):
        session = self.daemon.session(runtime="bare")
        first = self.daemon.ask("POST", f"/v1/sessions/{session}/checkpoints", {"name": "first"}, status=201)["id"]
        last = self.daemon.run("x = 1", session)["checkpoint"]["id"]
        wait_for(lambda: self.daemon.state(session)["head"] == last, what="the state after the run")
        with Feed(self.daemon) as feed:
            self.daemon.ask("DELETE", f"/v1/sessions/{session}/checkpoints/{first}", status=204)
            self.daemon.ask("PATCH", f"/v1/sessions/{session}", {"name": "later"})
            told = feed.until(lambda event: event["type"] == "session" and event["session"]["id"] == session)
            self.assertNotEqual(told["session"]["name"], "later")

    def test_runs_that_wait_in_a_session_are_told_as_waiting(self):
        session = self.daemon.session()
        with Feed(self.daemon) as feed:
            first = self.daemon.start_run("while True: pass", session)
            feed.until_run(first, "running")
            second = self.daemon.start_run("2", session)
            self.assertEqual(feed.until_run(second, "waiting")["verdict"], None)
            self.daemon.ask("DELETE", f"/v1/runs/{first}")
            feed.until_run(second, "running")
            feed.until_run(second, "over")

    def test_a_reader_goes_on_where_it_was(self):
        with Feed(self.daemon) as feed:
            first = self.daemon.run("1")["id"]
            feed.until_run(first, "over")
        second = self.daemon.run("2")["id"]
        with Feed(self.daemon, f"?after={feed.seq}") as again:
            self.assertEqual((again.hello["seq"], again.hello["boot"]), (feed.seq, feed.hello["boot"]))
            told = again.next()
            self.assertEqual((told["type"], told["run"]["id"]), ("run", second))

    def test_a_number_that_was_never_given_is_a_reset(self):
        with Feed(self.daemon) as feed:
            last = feed.seq
        for after in (1, last - 10**12, last + 1000, 2**53):
            lines = feed_now(self.daemon, after)
            self.assertEqual([line["type"] for line in lines], ["hello", "reset"], after)
            self.assertGreaterEqual(lines[0]["seq"], last)
        for query in ("?after=-1", "?after=x", "?after=99999999999999999999", "?what=1"):
            self.assertEqual(self.daemon.request("GET", f"/v1/events{query}").status, 400, query)

    def test_readers_are_bounded_and_the_rest_is_served(self):
        open_ones = []
        self.addCleanup(lambda: [feed.close() for feed in open_ones])
        for _ in range(READERS):
            open_ones.append(Feed(self.daemon))
        for _ in range(20):
            answer = self.daemon.request("GET", "/v1/events")
            self.assertEqual((answer.status, answer.error["kind"]), (503, "busy"))
        run = self.daemon.run("1")["id"]
        for feed in (open_ones[0], open_ones[-1]):
            feed.until_run(run, "over")
        for feed in open_ones:
            feed.close()
        wait_for(lambda: self.daemon.request("GET", "/v1/events?follow=false").status == 200,
                 what="room for one more")


class Tokens(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon(TOKENS)
        cls.addClassCleanup(cls.daemon.stop)
        cls.alice, cls.bob = cls.daemon.as_token("alice"), cls.daemon.as_token("bob")

    def test_each_token_sees_its_own(self):
        self.assertEqual(self.daemon.request("GET", "/v1/events").status, 401)
        with Feed(self.alice) as alice, Feed(self.bob) as bob:
            secret = self.alice.session(name="alice's own")
            self.alice.run("x = 1", secret)
            self.alice.ask("DELETE", f"/v1/sessions/{secret}")
            mine = self.bob.run("2")["id"]
            bob.until_run(mine, "over")
            self.assertNotIn(secret, json.dumps(bob.lines))
            alice.until(lambda event: event["type"] == "session_gone" and event["id"] == secret)
            self.assertNotIn(mine, json.dumps(alice.lines))

    def test_one_token_cannot_take_every_place(self):
        open_ones = [Feed(self.alice) for _ in range(TOKEN_READERS)]
        self.addCleanup(lambda: [feed.close() for feed in open_ones])
        answer = self.alice.request("GET", "/v1/events")
        self.assertEqual(answer.status, 429, answer)
        Feed(self.bob).close()

    def test_a_stop_ends_every_reader_at_once(self):
        daemon = Daemon()
        self.addCleanup(daemon.sweep)
        with Feed(daemon) as feed:
            begun = time.monotonic()
            self.assertEqual(daemon.terminate(), 0)
            self.assertIsNone(feed.next())
            self.assertLess(time.monotonic() - begun, 8)

    def test_after_a_restart_an_old_number_is_a_reset(self):
        daemon = Daemon()
        self.addCleanup(daemon.stop)
        with Feed(daemon) as feed:
            daemon.run("1")
            old = feed.next()
        daemon.restart()
        hello, reset = feed_now(daemon, old["seq"])[:2]
        self.assertEqual(reset["type"], "reset")
        self.assertNotEqual(hello["boot"], feed.hello["boot"])


if __name__ == "__main__":
    unittest.main()
