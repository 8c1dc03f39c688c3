# SPDX-License-Identifier: Apache-2.0
"""Output of code in a sandbox on the terminal of the person who runs it: nothing in it controls the terminal."""

import os
import unittest

from daemon_cli import PROMPT, DaemonCase

EVIL = b"\x1b]52;c;aGk=\x07\x1b]0;title\x07\x1b[6n\xc2\x9b2J"  # the clipboard, the title, a question, a C1
SHOWN = rb"\x1b]52;c;aGk=\x07\x1b]0;title\x07\x1b[6n\xc2\x9b2J"
COLOUR = b"\x1b[31mred\x1b[0m"
WRITE = f"import os\nfor part in [bytes([b]) for b in {EVIL!r}] + [{COLOUR!r}]: os.write(%d, part)\n"
VALUE = f"class V:\n    def __repr__(self): return {(EVIL + COLOUR).decode()!r}\nV()"
RAISE = f"raise ValueError({(EVIL + COLOUR).decode()!r})"


class TerminalTest(DaemonCase):
    def seen(self, *words):
        screen = self.terminal(*words)
        screen.close()
        return screen.seen

    def assert_harmless(self, seen, has_colour=True):
        for bad in (b"\x1b]", b"\x07", b"\x1b[6n", b"\xc2\x9b"):
            self.assertNotIn(bad, seen)
        self.assertIn(SHOWN, seen)
        if has_colour:
            self.assertIn(COLOUR, seen)

    def test_a_run_can_colour_and_nothing_else(self):
        for flags in ((), ("--no-daemon",)):
            for code in (WRITE % 1, WRITE % 2, VALUE, RAISE):
                with self.subTest(flags=flags, code=code):
                    self.assert_harmless(self.seen("run", *flags, "-c", code))

    def test_in_a_session_too(self):
        name = self.session()
        for code in (WRITE % 1, VALUE, RAISE):
            self.assert_harmless(self.seen("session", "run", name, "-c", code))

    def test_in_the_repl_too(self):
        screen = self.terminal("session", "repl", self.session())
        screen.expect(PROMPT)
        begin = len(screen.seen)
        screen.enter(f"import os; _ = os.write(1, {EVIL + COLOUR!r})".encode(), b"red")
        shown = screen.seen[begin:]
        for bad in (b"\x1b]52", b"\x1b]0", b"\xc2\x9b"):
            self.assertNotIn(bad, shown)
        self.assertIn(SHOWN, shown)
        screen.send(b"\x04")
        self.assertEqual(screen.close(), 0)

    def test_in_explore_and_logs_too(self):
        folder = self.path("looked-at")
        os.mkdir(folder)
        with open(os.path.join(folder, "evil"), "wb") as file:
            file.write(EVIL + COLOUR)
        self.assert_harmless(self.seen("explore", folder, "--", "cat evil"))
        self.viv("run", "-c", f"import os; _ = os.write(1, {EVIL + COLOUR!r})")  # in one piece: one event
        self.assert_harmless(self.seen("logs", self.runs()[0]["id"]), has_colour=False)

    def test_a_colour_that_is_left_on_ends_with_the_run(self):
        seen = self.seen("run", "-c", "print('\\x1b[31mred', end='')")
        self.assertIn(b"\x1b[31mred\x1b[0m", seen)

    def test_half_a_sequence_is_shown_at_the_end(self):
        self.assertIn(rb"\x1b[31", self.seen("run", "-c", "print('\\x1b[31', end='')"))

    def test_where_nobody_looks_bytes_pass_as_they_are(self):
        for flags in ((), ("--no-daemon",)):
            done = self.viv("run", *flags, "-c", (WRITE % 1) + (WRITE % 2))
            self.assertEqual((done.out, done.err), (EVIL + COLOUR, EVIL + COLOUR))


if __name__ == "__main__":
    unittest.main()
