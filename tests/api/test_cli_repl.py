# SPDX-License-Identifier: Apache-2.0
"""`viv session repl`: on a terminal, and with a script on stdin."""

import json
import os
import signal
import stat

from daemon_cli import OUT, PROMPT, DaemonCase

UP, DOWN, LEFT, RIGHT = b"\x1b[A", b"\x1b[B", b"\x1b[D", b"\x1b[C"
HOME, WORD_LEFT = b"\x01", b"\x1bb"


class ReplTest(DaemonCase):
    def repl(self, *flags, term="xterm", session=None):
        screen = self.terminal("session", "repl", session or self.session(), *flags, term=term)
        screen.expect(PROMPT)
        return screen

    def leave(self, screen):
        screen.send(b"\x04")
        self.assertEqual(screen.close(), 0)

    def test_values_output_and_errors_are_shown(self):
        screen = self.repl()
        screen.enter(b"x = 6")
        screen.enter(b"x * 7", OUT + b"42\r\n")
        screen.enter(b"print('out', x)", OUT + b"out 6\r\n")
        screen.enter(b"1/0", b"ZeroDivisionError: division by zero\r\n")
        screen.enter("'caf\u00e9 \u4e2d'".encode(), OUT + "'caf\u00e9 \u4e2d'\r\n".encode())
        screen.enter(b"")
        self.leave(screen)

    def test_the_session_stays_when_one_leaves(self):
        name = self.session()
        screen = self.repl(session=name)
        screen.enter(b"kept = 'yes'")
        self.leave(screen)
        self.assertEqual(self.text("session", "run", name, "-c", "kept"), "'yes'\n")

    def test_what_leaves_python_leaves(self):
        name = self.session()
        for word in (b"exit", b"quit", b"exit()", b"quit()  "):
            screen = self.repl(session=name)
            screen.enter(b"kept = exit")
            screen.send(word + b"\r")
            self.assertEqual(screen.close(), 0)
        self.assertEqual(self.text("session", "run", name, "-c", "'kept' in globals()"), "True\n")

    def test_a_block_goes_on_until_an_empty_line(self):
        screen = self.repl()
        screen.send(b"for i in range(2):\r")
        screen.send(b"print('i', i)\r")
        screen.enter(b"", OUT + b"i 0\r\n", b"i 1\r\n")
        screen.enter(b"y = (1 +\r2)")
        screen.enter(b"y", OUT + b"3\r\n")
        screen.enter(b"s = '''a\rb'''")
        screen.enter(b"s", rb"'a\nb'")
        self.leave(screen)

    def test_every_line_of_an_entry_can_be_changed(self):
        screen = self.repl()
        screen.send(b"if True:\rprint('on')" + UP)  # to the column of the line's end, as far as that goes
        screen.send(b"\x7f\x7f\x7f\x7f\x7f" + b"1:" + HOME + b"i" + b"\x1b[3~")
        screen.send(DOWN + b"\x05\r")
        screen.enter(b"", OUT + b"on\r\n")
        screen.send(b"a = (1,\r" + b"\xc3\xa9 := 2,\r3)" + UP + UP + b"\x01" + RIGHT * 5 + b"7" + b"\x1b[3~")
        screen.enter(DOWN + DOWN)
        screen.enter(b"a", OUT + b"(7, 2, 3)\r\n")
        self.leave(screen)

    def test_an_indent_goes_by_steps(self):
        screen = self.repl()
        screen.send(b"if 0:\rprint('no')\r")
        screen.send(b"\x7f" + b"else:\r" + b"\tif 1:\r" + b"print('yes')\r")  # Backspace takes four, Tab gives four
        screen.enter(b"", OUT + b"yes\r\n")
        self.leave(screen)

    def test_alt_enter_makes_another_line_in_any_case(self):
        screen = self.repl()
        screen.enter(b"x = 1\x1b\rx + 1", OUT + b"2\r\n")
        self.leave(screen)

    def test_a_terminal_of_any_name_is_edited_on(self):
        name = self.session()
        for term in ("none-such", "dumb", ""):
            screen = self.repl(term=term, session=name)
            screen.enter(b"if 1:\rprint('abc')" + LEFT * 3 + b"\x7f" + b"X\x05\r", OUT + b"aXc\r\n")
            self.leave(screen)

    def test_a_paste_is_taken_as_it_is(self):
        screen = self.repl()
        paste = b"def f(n):\r    if n:\r        return n\r\r    return 'none'\r"
        screen.enter(b"\x1b[200~" + paste + b"\x1b[201~")
        screen.enter(b"f(0), f(3)", b"('none', 3)")
        self.leave(screen)

    def test_lines_are_edited(self):
        screen = self.repl()
        screen.enter(b"8" + HOME + b"1" + b"\x05" + b"0", OUT + b"180\r\n")
        screen.enter(b"'abc'" + LEFT * 2 + b"\x7f" + b"X", OUT + b"'aXc'\r\n")
        screen.enter(b"'two words'" + LEFT + b"\x17" + b"sum'" + b"\x0b", OUT + b"'two sum'\r\n")
        screen.enter(b"1 + nonsense" + WORD_LEFT + b"\x0b" + b"4", OUT + b"5\r\n")
        screen.enter(b"gone\x15" + b"'stays'", OUT + b"'stays'\r\n")
        screen.enter("'\u00e9\u4e2d'".encode() + LEFT * 2 + b"\x7f" + b"e", OUT + "'e\u4e2d'\r\n".encode())
        screen.enter(b"half a line\x03")
        screen.enter(b"'after ctrl-c'", OUT + b"'after ctrl-c'\r\n")
        self.leave(screen)

    def test_history_goes_up_and_down_and_lasts(self):
        name = self.session()
        screen = self.repl(session=name)
        screen.enter(b"'first'", OUT + b"'first'\r\n")
        screen.enter(b"'second'", OUT + b"'second'\r\n")
        screen.enter(UP + UP, OUT + b"'first'\r\n")
        screen.enter(b"'draft'" + UP + DOWN, OUT + b"'draft'\r\n")
        self.leave(screen)
        path = self.path("state/vivarium/history")
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        screen = self.repl(session=name)
        screen.enter(UP, OUT + b"'draft'\r\n")
        self.leave(screen)

    def test_a_history_that_has_grown_too_large_keeps_its_newest_entries(self):
        path = self.path("state/vivarium/history")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="ascii") as file:
            for i in range(60):
                file.write(json.dumps(f"'{i}' # {'x' * 100_000}") + "\n")
            file.write(json.dumps("'newest'") + "\n")
        screen = self.repl()
        screen.enter(UP, OUT + b"'newest'\r\n")
        self.leave(screen)
        self.assertLess(os.path.getsize(path), 5 << 20)
        with open(path, encoding="ascii") as file:
            self.assertEqual(json.loads(file.readlines()[-1]), "'newest'")

    def test_history_is_searched_backwards(self):
        screen = self.repl()
        screen.enter(b"'needle one'", OUT + b"'needle one'\r\n")
        screen.enter(b"'hay'", OUT + b"'hay'\r\n")
        screen.enter(b"'needle two'", OUT + b"'needle two'\r\n")
        screen.send(b"\x12needle")
        screen.expect(b"bck:")
        screen.enter(b"", OUT + b"'needle two'\r\n")
        screen.enter(b"\x12needle o", OUT + b"'needle one'\r\n")
        self.leave(screen)

    def test_a_whole_block_comes_back_from_history(self):
        screen = self.repl()
        screen.send(b"if True:\rprint('block')\r")
        screen.enter(b"", OUT + b"block\r\n")
        screen.enter(UP + b"\r", OUT + b"block\r\n")
        self.leave(screen)

    def test_tab_completes_from_the_live_session(self):
        screen = self.repl()
        screen.enter(b"a_rather_long_name = 11")
        screen.enter(b"a_rat\t + 1", OUT + b"12\r\n")
        screen.enter(b"both_one = both_two = 0")
        screen.send(b"both\t")
        screen.expect(b"both", b"_")
        screen.send(b"\t")
        screen.expect(b"both_one", b"both_two")
        screen.enter(b"two", OUT + b"0\r\n")
        screen.enter("'\u00e9'; a_rat\t".encode(), OUT + b"11\r\n")
        self.leave(screen)

    def test_ctrl_c_interrupts_a_run_and_keeps_the_state(self):
        screen = self.repl()
        screen.enter(b"x = 1")
        screen.send(b"x = 2; print('on', flush=True); [0 for _ in iter(int, 1)]\r")
        screen.expect(OUT + b"on\r\n")
        screen.send(b"\x03")
        screen.expect(b"KeyboardInterrupt", PROMPT)
        screen.enter(b"x", OUT + b"2\r\n")
        self.leave(screen)

    def test_a_crash_is_told_and_rolled_back(self):
        screen = self.repl()
        screen.enter(b"x = 1")
        screen.enter(b"x = 2; import os; os._exit(3)", b"-- rolled back:")
        screen.enter(b"x", OUT + b"1\r\n")
        self.leave(screen)

    def test_input_reads_what_is_typed(self):
        screen = self.repl()
        screen.send(b"name = input('who? ')\r")
        screen.expect(OUT + b"who? ")
        screen.send(b"me\n")
        screen.expect(PROMPT)
        screen.enter(b"name", OUT + b"'me'\r\n")
        screen.send(b"import sys; print('reads', flush=True); len(sys.stdin.read()), None\r")
        screen.expect(OUT + b"reads\r\n")
        screen.send(b"abc\n\x04")
        screen.expect(b"(4, None)", PROMPT)
        self.leave(screen)

    def test_charts_are_saved(self):
        screen = self.repl("--out", "charts")
        code = b"import matplotlib.pyplot as p; p.plot([1]); None"
        screen.enter(code, b"chart: charts/chart-1.png\r\n")
        screen.enter(UP, b"chart: charts/chart-2.png\r\n")
        self.leave(screen)
        for number in (1, 2):
            with open(self.path(f"charts/chart-{number}.png"), "rb") as file:
                self.assertEqual(file.read(8), b"\x89PNG\r\n\x1a\n")

    def test_charts_are_shown_where_the_terminal_can(self):
        screen = self.repl("--out", "shown", term="xterm-kitty")
        screen.enter(b"import matplotlib.pyplot as p; p.plot([1]); None",
                     b"\x1b_Ga=T,f=100,m=", b"\x1b\\", b"chart: shown/chart-1.png")
        self.leave(screen)

    def test_a_terminal_is_as_it_was(self):
        screen = self.repl()
        screen.enter(b"1", OUT + b"1\r\n")
        os.kill(screen.pid, signal.SIGTERM)
        self.assertEqual(screen.close(), 0)
        self.assertTrue(screen.seen.endswith(b"\x1b[?2004l"), screen.seen[-100:])

    def test_long_lines_wrap(self):
        screen = self.repl()
        text = b"x" * 300
        shown = screen.enter(b"'" + text + b"'", OUT + b"'" + text + b"'\r\n")
        self.assertIn(text[:70], shown)
        self.leave(screen)


class ScriptTest(DaemonCase):
    def test_statements_of_a_script_run_one_by_one(self):
        name = self.session("--name", "script")
        script = (b"x = 1\nx\nx + 4\n\nprint('two')\n\n\ndef f():\n    a = 1\n\n    return a\nf() + 1\n\n"
                  b"if x:\n    'no'\n\nelse:\n    pass\n\nx")
        self.assertEqual(self.text("session", "repl", name, stdin=script), "1\n5\ntwo\n2\n1\n")
        self.assertEqual(self.good("session", "list", "--json")["sessions"][0]["runs"], 8)

    def test_a_script_ends_with_the_first_failure(self):
        name = self.session()
        done = self.viv("session", "repl", name, stdin=b"print(1)\n1/0\n\nprint(2)\n")
        self.assertEqual((done.code, done.out), (1, b"1\n"))
        self.assertIn(b"ZeroDivisionError", done.err)
        self.assertIn(b"viv session: stopped; the code from line 4 on was not run\n", done.err)
        done = self.viv("session", "repl", name, stdin=b"1/0\n\n")
        self.assertNotIn(b"not run", done.err)

    def test_an_empty_script_is_fine(self):
        name = self.session()
        self.assertEqual(self.text("session", "repl", name, stdin=b"\n  \n"), "")
