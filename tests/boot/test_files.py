# SPDX-License-Identifier: Apache-2.0
"""Artifacts of a run."""

import hashlib
import os
import unittest

from harness import FILE, Runner


class Files(unittest.TestCase):
    def setUp(self):
        self.runner = Runner()

    def tearDown(self):
        self.runner.close()

    def files(self, code, **meta):
        outcome = self.runner.run(code, **meta)
        self.assertEqual(outcome.done["kind"], "ok", outcome.error)
        return {event["file"]["path"][len(self.runner.workspace) + 1:]: event["file"]
                for event in outcome.of("file")}

    def test_a_new_file_is_told_with_size_type_and_hash(self):
        found = self.files("import os\nos.makedirs('a/b')\nopen('a/b/t.csv', 'w').write('x,y')")
        self.assertEqual(found, {"a/b/t.csv": {
            "path": self.runner.path("a/b/t.csv"), "size": 3,
            "mtime_ms": os.stat(self.runner.path("a/b/t.csv")).st_mtime_ns // 1000000, "mime": "text/csv",
            "sha256": hashlib.sha256(b"x,y").hexdigest()}})

    def test_inputs_are_artifacts_only_when_changed(self):
        files = [("same.txt", "a"), ("other.txt", "b")]
        self.assertEqual(list(self.files("open('other.txt', 'a').write('!')", files=files)),
                         ["other.txt"])

    def test_a_file_of_an_earlier_run_is_not_told_again(self):
        self.assertEqual(list(self.files("open('one', 'w').close()")), ["one"])
        self.assertEqual(list(self.files("open('two', 'w').close()")), ["two"])
        self.assertEqual(list(self.files("open('one', 'w').write('new')")), ["one"])

    def test_symbolic_links_and_pipes_are_never_told(self):
        self.assertEqual(self.files(
            "import os, socket\nos.symlink('/etc/passwd', 'link')\nos.symlink('/etc', 'folder')\n"
            "os.mkfifo('pipe')\ns = socket.socket(socket.AF_UNIX)\ns.bind('sock')", want_files=True), {})

    def test_what_is_left_out_is_named_with_its_kind(self):
        code = "import os\nos.mkdir('d')\nos.symlink('/etc/passwd', 'link')\nos.mkfifo('d/pipe')\nopen('f', 'w')"
        here = self.runner.workspace
        self.assertEqual(self.runner.run(code).done["left_out"],
                         [f"{here}/d/pipe (a pipe)", f"{here}/link (a symbolic link)"])
        self.assertNotIn("left_out", self.runner.run("open('g', 'w').close()").done)
        many = self.runner.run("for n in range(30): os.symlink('f', f'l{n:02}')").done["left_out"]
        self.assertEqual((len(many), many[-1]), (21, "10 more"))

    def test_a_file_with_two_names_is_told_under_both(self):
        outcome = self.runner.run("import os\nopen('one', 'w').write('hi')\nos.link('one', 'two')", want_files=True)
        self.assertEqual(outcome.files, {self.runner.path("one"): b"hi", self.runner.path("two"): b"hi"})

    def test_odd_names_are_told(self):
        outcome = self.runner.run("open(b'\\xff\\n\\xc3\\xa9.txt', 'w').close()", want_files=True)
        self.assertEqual([os.path.basename(event["file"]["path"])
                          for event in outcome.of("file")], ["\\xff\n\u00e9.txt"])

    def test_bytes_come_in_pieces_with_a_last_one(self):
        outcome = self.runner.run("open('big.bin', 'wb').write(bytes(range(250)) * 10000)\n"
                                  "open('empty', 'w').close()", want_files=True)
        big, empty = self.runner.path("big.bin"), self.runner.path("empty")
        self.assertEqual(outcome.files[big], bytes(range(250)) * 10000)
        self.assertEqual(outcome.files[empty], b"")
        self.assertEqual(outcome.complete, {big, empty})
        self.assertEqual(outcome.sent.count(FILE), 4)
        self.assertEqual(outcome.of("file")[0]["file"]["sha256"],
                         hashlib.sha256(outcome.files[big]).hexdigest())

    def test_without_want_files_no_bytes_come(self):
        self.assertNotIn(FILE, self.runner.run("open('x', 'w').write('x')").sent)

    def test_bytes_of_small_files_only(self):
        outcome = self.runner.run("open('a', 'w').write('12345')\nopen('b', 'w').write('123456')\n"
                                  "open('c', 'w').close()", want_files=5)
        self.assertEqual(outcome.files, {self.runner.path("a"): b"12345", self.runner.path("c"): b""})
        self.assertEqual([event["file"]["size"] for event in outcome.of("file")], [5, 6, 0])
        self.assertNotIn(None, [event["file"]["sha256"] for event in outcome.of("file")])

    def test_more_files_than_allowed_are_flagged(self):
        outcome = self.runner.run("for n in range(20): open(f'{n:02}', 'w').close()", files_max=5)
        self.assertEqual(len(outcome.of("file")), 5)
        self.assertTrue(outcome.done["truncated"]["files"])

    def test_a_file_that_is_too_large_is_told_without_its_bytes(self):
        outcome = self.runner.run("import os\nopen('sparse', 'w').truncate(10**12)",
                                  want_files=True, file_max=1000)
        self.assertEqual((outcome.of("file")[0]["file"]["size"], outcome.files), (10**12, {}))
        self.assertIsNone(outcome.of("file")[0]["file"]["sha256"])
        self.assertTrue(outcome.done["truncated"]["files"])

    def test_a_very_deep_tree_ends(self):
        outcome = self.runner.run("import os\nfor n in range(600):\n    os.mkdir('deep')\n"
                                  "    os.chdir('deep')\nopen('bottom', 'w').close()\n"
                                  "open(WS + '/top', 'w').close()".replace(
                                      "WS", repr(self.runner.workspace)))
        self.assertEqual([os.path.basename(e["file"]["path"]) for e in outcome.of("file")],
                         ["top"])
        self.assertTrue(outcome.done["truncated"]["files"])

    def test_ten_thousand_files_are_told(self):
        outcome = self.runner.run("for n in range(10000): open(f'f{n}', 'w').close()",
                                  files_max=20000)
        self.assertEqual(len(outcome.of("file")), 10000)
        self.assertFalse(outcome.done["truncated"]["files"])

    def test_missing_expected_files_are_named(self):
        done = self.runner.run("open('here', 'w').close()", expect=[
            "here", self.runner.path("here"), self.runner.path("gone"), "../x", "a\0"]).done
        self.assertEqual(done["missing"], [self.runner.path("gone"), "../x", "a\0"])

    def test_files_before_an_exception_are_told(self):
        self.assertEqual(len(self.runner.run("open('x', 'w').close()\n1/0").of("file")), 1)


if __name__ == "__main__":
    unittest.main()
