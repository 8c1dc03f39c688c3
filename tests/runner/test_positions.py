# SPDX-License-Identifier: Apache-2.0
"""Read positions: what one state reads of an open file is still to be read in all others."""

import os
import unittest

from heads import Blocked, Session

LINES = "".join(f"{i}\n" for i in range(20000))
OPEN = f"open('a', 'w').write({LINES!r})\nf = open('a')\nf.readline()"
REST = "rest = [int(line) for line in f]\n(rest[0], len(rest), rest == list(range(rest[0], 20000)))"
WHOLE = [1, 19999, True]  # what `REST` finds if nothing but the first line was read


class Positions(unittest.TestCase):
    def value(self, head, code):
        outcome = head.run(code)
        self.assertEqual(outcome.done["kind"], "ok", outcome.error)
        return outcome.result["application/json"] if outcome.result else None

    def branch(self, head):
        pipes = [os.pipe() for _ in range(2)]
        ends, ours = [write for _, write in pipes], [open(read, "rb") for read, _ in pipes]
        for file in ours:
            self.addCleanup(file.close)
        try:
            return head.fork(pipes=(ends, ours))
        finally:
            for end in ends:
                os.close(end)

    def test_each_head_of_a_checkpoint_reads_the_same(self):
        with Session() as first:
            self.value(first, OPEN)
            for _ in range(3):
                self.assertEqual(self.value(first.fork(), REST), WHOLE)

    def test_each_state_of_a_chain_has_its_own(self):
        with Session() as head:
            self.value(head, OPEN)
            states = [head]
            for _ in range(4):
                states.append(states[-1].fork())
                self.value(states[-1], "f.readline()\nNone")
            for i, state in enumerate(states[:-1]):
                self.assertEqual(self.value(state.fork(), REST), [1 + i, 19999 - i, True])

    def test_branches_and_their_origin_read_the_same(self):
        with Session() as head:
            self.value(head, OPEN)
            branches = [self.branch(head), self.branch(head)]
            for reader in (branches[0], head, branches[1]):
                self.assertEqual(self.value(reader, REST), WHOLE)

    def test_a_branch_of_a_checkpoint_reads_the_same(self):
        with Session() as first:
            self.value(first, OPEN)
            head, branch = first.fork(), self.branch(first)
            for reader in (head, branch, first.fork()):
                self.assertEqual(self.value(reader, REST), WHOLE)

    def test_a_look_reads_nothing_away(self):
        reading = OPEN + "\nclass R:\n    def __repr__(self): return str(len(f.readlines()))\nr = R()"
        with Session() as head:
            self.value(head, reading)
            shown = {row["name"]: row for row in head.look(kind="vars")[0]["vars"]}
            self.assertIn("19999", str(shown["r"]))
            later = head.fork()
            head.look(kind="vars")
            self.assertEqual(self.value(later, REST), WHOLE)
            self.assertEqual(self.value(head.fork(), REST), WHOLE)

    def test_a_look_ends_no_lock(self):
        locked = "import fcntl, subprocess, sys\nfcntl.lockf(f, fcntl.LOCK_SH)"
        other = ("subprocess.run([sys.executable, '-c', 'import fcntl; fcntl.lockf(open(\"a\", \"a\"), "
                 "fcntl.LOCK_EX | fcntl.LOCK_NB)'], stderr=subprocess.DEVNULL).returncode")
        with Session() as head:
            self.value(head, OPEN)
            self.value(head, locked)  # the run that makes the file reads it at its end, which ends such a lock
            head.look(kind="vars")
            self.assertEqual(self.value(head, other), 1)
            with self.assertRaisesRegex(Blocked, "^locked file .*/workspace/a$"):
                head.fork()
            self.value(head, "fcntl.lockf(f, fcntl.LOCK_UN)")
            self.assertEqual(self.value(head.fork(), REST), WHOLE)

    def test_files_of_all_places_count(self):
        code = (f"import tempfile\nwith tempfile.NamedTemporaryFile('w', delete=False) as g: g.write({LINES!r})\n"
                "f = open(g.name)\nf.readline()\nimport os\nos.unlink(g.name)\n"
                "u = open(os.__file__)\nt = u.read()\nu.seek(0)\nNone")
        with Session() as first:
            self.value(first, code)
            for _ in range(2):
                head = first.fork()
                self.assertEqual(self.value(head, REST), WHOLE)
                self.assertTrue(self.value(head, "u.read() == t"))

    def test_a_folder_that_is_being_listed(self):
        code = ("import os\nfor i in range(3000): open(f'{i:0100}', 'w').close()\n"
                "names = os.scandir()\nseen = {next(names).name}\nNone")
        with Session() as first:
            self.value(first, code)
            for _ in range(2):
                self.assertEqual(self.value(first.fork(), "seen.update(e.name for e in names)\nlen(seen)"), 3000)

    def test_duplicates_go_on_sharing_and_others_do_not(self):
        code = (OPEN + "\nimport os\none = os.open('a', os.O_RDONLY)\ntwo = os.dup(one)\n"
                "three = os.open('a', os.O_RDONLY)\nos.set_inheritable(two, True)\nos.read(one, 4)\nNone")
        read = "[os.read(fd, 4).decode() for fd in (one, two, three)] + [os.get_inheritable(fd) for fd in (one, two)]"
        with Session() as first:
            self.value(first, code)
            branch = self.branch(first)
            for head in (first.fork(), branch, first.fork()):
                self.assertEqual(self.value(head, read), ["2\n3\n", "4\n5\n", "0\n1\n", False, True])
                self.assertEqual(self.value(head.fork(), read)[:3], ["6\n7\n", "8\n9\n", "2\n3\n"])

    def test_a_file_in_the_place_of_stdin(self):
        with Session() as first:
            self.value(first, OPEN + "\nimport os\nos.dup2(f.fileno(), 0)\nos.lseek(0, 2, 0)\nf.close()")
            for _ in range(2):
                self.assertEqual(self.value(first.fork(), "os.read(0, 4).decode()"), "1\n2\n")

    def test_no_descriptor_is_left(self):
        count = "import os\nlen(os.listdir('/proc/self/fd'))"
        with Session() as head:
            self.value(head, OPEN)
            self.value(head, count)
            before = self.value(head, count)
            for _ in range(3):
                head.look(kind="vars")
                self.branch(head)
                self.assertEqual(self.value(head, count), before)
                head = head.fork()
                self.assertEqual(self.value(head, count), before)

    def test_a_file_that_cannot_be_opened_again_blocks(self):
        code = ("import os, resource\nkeep = [open('a') for _ in range(9)]\n"
                "resource.setrlimit(resource.RLIMIT_NOFILE, (keep[-1].fileno() + 4, 1024))\nNone")
        with Session() as head:
            self.value(head, OPEN + "\n" + code)
            with self.assertRaisesRegex(Blocked, r"^open file .*/workspace/a \(Too many open files\)$"):
                head.fork()
            head.look(kind="vars")
            self.value(head, "del keep")
            self.assertEqual(self.value(head.fork(), REST), WHOLE)

    def test_a_checkpoint_goes_back_even_if_a_file_cannot_be_opened_again(self):
        """The daemon must not lose a session because of it. Here, no file can be opened at all."""
        code = ("import os\nimport vivarium.positions as positions\nclass Place(positions.Place):\n"
                "    def open(self):\n        if os.path.exists('shut'): raise PermissionError(13, 'denied')\n"
                "        super().open()\npositions.Place = Place\nNone")
        with Session() as first:
            self.value(first, OPEN + "\n" + code)
            second = first.fork()
            self.value(second, "f.read()\nopen('shut', 'w').close()")
            for _ in range(2):
                self.assertEqual(self.value(first.fork(), REST), WHOLE)
            with self.assertRaisesRegex(Blocked, r"^open file .*/workspace/a \(denied\)$"):
                self.branch(first)

    def test_a_checkpoint_that_runs_again_is_a_head(self):
        """As one whose new head did not come up."""
        with Session() as head:
            self.value(head, OPEN)
            head.fork()
            self.value(head, "f.readline()\nkeep = open('b', 'w')\nNone")
            with self.assertRaisesRegex(Blocked, "^open file .*/workspace/b$"):
                head.fork()
            self.value(head, "keep.close()")
            self.assertEqual(self.value(head.fork(), REST), [2, 19998, True])


if __name__ == "__main__":
    unittest.main()
