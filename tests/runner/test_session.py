# SPDX-License-Identifier: Apache-2.0
"""Runs of a session: stdin that is theirs alone, files that came with an HTTP body, dirty files."""

import json
import os
import unittest

from heads import MEMFD, RUN, STDIN, Session


def value(outcome):
    return outcome.result["application/json"]


class Stdin(unittest.TestCase):
    def run_live(self, head, code, typed, keep_open=False):
        """A run whose stdin is a pipe of its own; our end, and the outcome."""
        ours, theirs = os.pipe()
        os.write(theirs, typed)
        text = json.dumps({"code": [0, len(code)], "stdin": "live"}).encode()
        head.nonce += 1
        head.send_frame(RUN, len(text).to_bytes(4, "little") + text + code.encode(), STDIN, [ours])
        os.close(ours)
        if not keep_open:
            os.close(theirs)
        outcome = head._collect(None)
        return theirs, outcome

    def test_a_pipe_of_its_own(self):
        with Session() as head:
            _, outcome = self.run_live(head, "[input('name? '), input()]", b"ada\nlovelace\n")
            self.assertEqual(value(outcome), ["ada", "lovelace"])
            self.assertEqual(outcome.text, "name? ")

    def test_what_one_run_left_the_next_does_not_get(self):
        with Session() as head:
            self.run_live(head, "input()", b"one\ntwo\n")
            outcome = head.run("input()")
            self.assertEqual(outcome.error["type"], "EOFError")
            _, outcome = self.run_live(head, "input()", b"three\n")
            self.assertEqual(value(outcome), "three")
            outcome = head.run("import os\n[os.read(0, 10).decode(), os.readlink('/proc/self/fd/0')]")
            self.assertEqual(value(outcome), ["", "/dev/null"])

    def test_the_pipe_is_let_go_of_with_the_run(self):
        with Session() as head:
            theirs, outcome = self.run_live(head, "input()", b"x\n", keep_open=True)
            self.assertEqual(value(outcome), "x")
            with self.assertRaises(BrokenPipeError):
                os.write(theirs, b"y")
            os.close(theirs)

    def test_a_pipe_for_a_run_that_never_begins_is_closed(self):
        with Session() as head:
            ours, theirs = os.pipe()
            head.nonce += 1
            head.send_frame(RUN, b"\x02\0\0\0{]", STDIN, [ours])
            os.close(ours)
            self.assertEqual(head._collect(None).done["kind"], "exception")
            with self.assertRaises(BrokenPipeError):
                os.write(theirs, b"y")
            os.close(theirs)

    def test_text_of_an_http_body(self):
        with Session() as head:
            head.send(RUN, {"code": "import sys\nsys.stdin.read()", "stdin_json": '"a\\u00e9\\n"'}, {})
            self.assertEqual(value(head._collect(None)), "aé\n")
            head.send(RUN, {"code": "1", "stdin_json": "5"}, {})
            self.assertIn("stdin: must be a string", head._collect(None).done["message"])

    def test_a_fork_in_between_keeps_it_so(self):
        with Session() as head:
            self.run_live(head, "input()", b"one\ntwo\n")
            child = head.fork()
            self.assertEqual(child.run("input()").error["type"], "EOFError")
            _, outcome = self.run_live(child, "input()", b"three\n")
            self.assertEqual(value(outcome), "three")


class NoDescriptor(unittest.TestCase):
    def test_inputs_that_cannot_arrive_are_told(self):
        with Session() as head:
            head.run("import os, resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (16, 16))\n"
                     "held = []\ntry:\n    while True: held.append(os.open('/dev/null', 0))\n"
                     "except OSError: pass\nx = 1")
            for flags in (MEMFD, STDIN):
                head.nonce += 1
                head.send_frame(RUN, b"\x02\0\0\0{}", flags, [0])
                done = head._collect(None).done
                self.assertEqual((done["kind"], done["remedy"]),
                                 ("exception", "descriptors"))
            head.run("for fd in held: os.close(fd)")
            self.assertEqual(value(head.run("x")), 1)


class FilesOfABody(unittest.TestCase):
    def give(self, head, files):
        text = files if isinstance(files, str) else json.dumps(files)
        head.send(RUN, {"code": "1", "files_json": text}, {})
        return head._collect(None)

    def test_text_and_bytes(self):
        with Session() as head:
            outcome = self.give(head, [{"path": "a/é.txt", "text": "ü\n"},
                                       {"path": "/workspace/b.bin".replace("/workspace",
                                                                           head.workspace),
                                        "base64": "AP8="}])
            self.assertEqual(outcome.done["kind"], "ok")
            with open(head.path("a/é.txt"), encoding="utf-8") as file:
                self.assertEqual(file.read(), "ü\n")
            with open(head.path("b.bin"), "rb") as file:
                self.assertEqual(file.read(), b"\0\xff")
            self.assertTrue(outcome.done["files_dirty"])

    def test_what_is_wrong_is_named(self):
        cases = ((([{"path": "ok", "text": ""}, {"path": "../x", "text": ""}]), r"files\[1\].path: "),
                 ([{"path": 5, "text": ""}], r"files\[0\].path: "),
                 ([{"path": "a", "base64": "!"}], r"files\[0\].base64: "),
                 ([{"path": "a", "text": None}], r"files\[0\].text: "),
                 ([{"path": "a"}], r"files\[0\]: must be"),
                 ([{"path": "a", "text": "", "base64": ""}], r"files\[0\]: must be"),
                 ([{"path": "a", "text": "", "mode": 1}], r"files\[0\]: must be"),
                 (["a"], r"files\[0\]: must be"), ({}, "files: must be a list"),
                 ("[", "files: not valid JSON"))
        with Session() as head:
            for files, expected in cases:
                done = self.give(head, files).done
                self.assertEqual(done["kind"], "exception")
                self.assertRegex(done["message"], expected)


class Dirty(unittest.TestCase):
    def dirty(self, head, code):
        outcome = head.run(code)
        self.assertEqual(outcome.done["kind"], "ok", outcome.error)
        return outcome.done.get("files_dirty", False)

    def test_every_kind_of_change_counts(self):
        changes = ("open('a', 'w').write('1')", "open('a', 'w').write('2')", "os.chmod('a', 0o600)",
                   "os.mkdir('d')", "os.chmod('d', 0o700)", "os.symlink('a', 'l')",
                   "os.rename('a', 'b')", "os.link('b', 'c')", "open('c', 'a').write('3')",
                   "os.mkfifo('f')", "os.unlink('f')", "os.unlink('l')", "os.rmdir('d')",
                   "os.utime('b', (1, 1))", "os.unlink('b')", "os.unlink('c')")
        with Session() as head:
            self.assertFalse(self.dirty(head, "import os"))
            for change in changes:
                self.assertTrue(self.dirty(head, change), change)
                self.assertFalse(self.dirty(head, "os.listdir()"), change)

    def test_reading_and_other_places_do_not_count(self):
        with Session() as head:
            self.dirty(head, "open('a', 'w').write('1')")
            self.assertFalse(self.dirty(head, "open('a').read()\nimport tempfile\n"
                                              "tempfile.TemporaryFile().write(b'1')"))

    def test_a_change_between_two_runs_counts_for_the_second(self):
        with Session() as head:
            self.dirty(head, "x = 1")
            with open(head.path("late"), "w", encoding="ascii"):
                pass
            self.assertTrue(self.dirty(head, "x"))
            self.assertFalse(self.dirty(head, "x"))

    def test_a_failed_run_counts_too(self):
        with Session() as head:
            outcome = head.run("open('a', 'w').close()\n1/0")
            self.assertEqual((outcome.done["kind"], outcome.done["files_dirty"]),
                             ("exception", True))

    def test_a_command_counts_too(self):
        with Session() as head:
            self.assertTrue(head.run(command="mkdir d").done["files_dirty"])

    def test_a_new_head_knows_what_it_left(self):
        with Session() as head:
            self.dirty(head, "open('a', 'w').close()")
            child = head.fork()
            self.assertFalse(self.dirty(child, "1"))


if __name__ == "__main__":
    unittest.main()
