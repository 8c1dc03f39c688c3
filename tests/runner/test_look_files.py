# SPDX-License-Identifier: Apache-2.0
"""Files of a session, for its client: byte for byte, below the workspace, never through a link."""

import os
import unittest

from heads import Session


class Files(unittest.TestCase):
    def setUp(self):
        self.session = Session()
        self.head = self.session.__enter__()

    def tearDown(self):
        self.session.__exit__()

    def look(self, payload=b"", **look):
        return self.head.look(payload, **look)[0]

    def make(self, name, data=b"x"):
        path = self.head.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)

    def names(self, **look):
        return [fact["path"][len(self.head.workspace) + 1:]
                for fact in self.look(kind="files", **look)["files"]]

    def test_a_list_of_a_folder(self):
        self.make("b.csv", b"1,2")
        self.make("a/inner.txt")
        os.symlink("b.csv", self.head.path("link"))
        os.mkfifo(self.head.path("fifo"))
        answer = self.look(kind="files")["files"]
        self.assertEqual([(fact["path"], fact["size"], fact["mime"]) for fact in answer],
                         [(self.head.path("a"), 0, "inode/directory"),
                          (self.head.path("b.csv"), 3, "text/csv")])
        self.assertEqual(answer[1]["mtime_ms"],
                         os.stat(self.head.path("b.csv")).st_mtime_ns // 1_000_000)

    def test_a_list_of_everything(self):
        for name in ("z", "a/b/c", "a/d", "m"):
            self.make(name)
        os.symlink("/etc", self.head.path("etc"))
        self.assertEqual(self.names(recursive=True), ["a/b/c", "a/d", "m", "z"])
        self.assertEqual(self.names(path="a", recursive=True), ["a/b/c", "a/d"])
        self.assertEqual(self.names(path="a/d"), ["a/d"])

    def test_a_list_in_pages(self):
        for number in range(7):
            self.make(f"f{number}")
        found, after = [], None
        while True:
            answer = self.look(kind="files", limit=3, after=after)
            found += [fact["path"][-2:] for fact in answer["files"]]
            after = answer.get("next")
            if after is None:
                break
        self.assertEqual(found, [f"f{number}" for number in range(7)])

    def test_bytes_come_as_they_are(self):
        data = os.urandom(3 << 20) + b"\0\xff"
        self.make("a/big.bin", data)
        for path in ("a/big.bin", "./a//big.bin", self.head.path("a/big.bin")):
            answer, outcome = self.head.look(kind="read", path=path)
            self.assertEqual(answer["file"]["size"], len(data))
            self.assertEqual(outcome.files, {self.head.path("a/big.bin"): data})
            self.assertEqual(outcome.complete, set(outcome.files))

    def test_an_empty_file_has_a_last_piece(self):
        self.make("empty", b"")
        _, outcome = self.head.look(kind="read", path="empty")
        self.assertEqual(outcome.files, {self.head.path("empty"): b""})
        self.assertEqual(outcome.complete, set(outcome.files))

    def test_what_is_no_file_is_not_found(self):
        self.make("a/file")
        os.symlink("a/file", self.head.path("link"))
        os.symlink("a", self.head.path("folder"))
        os.mkfifo(self.head.path("fifo"))
        for path in ("nowhere", "link", "folder/file", "fifo", "a/file/more"):
            self.assertEqual(self.look(kind="read", path=path)["kind"], "not_found", path)
        self.assertEqual(self.look(kind="read", path="a")["kind"], "conflict")
        self.assertEqual(self.look(kind="files", path="folder")["kind"], "not_found")
        self.assertEqual(self.look(kind="files", path="link")["kind"], "not_found")
        for kind in ("read", "files"):
            self.assertEqual(self.look(kind=kind, path="link")["error"],
                             "'link' is a link, and links are not followed; name the file that it leads to")

    def test_paths_that_lead_out_are_refused(self):
        for kind in ("read", "write", "remove", "files"):
            for path in ("../x", "a/../../x", "/etc/passwd", "a\0b", 5):
                self.assertEqual(self.look(b"x", kind=kind, path=path)["kind"], "bad_request",
                                 (kind, path))

    def test_a_write_makes_folders_and_replaces(self):
        answer = self.look(b"one", kind="write", path="new/deep/a.txt")
        self.assertEqual((answer["file"]["path"], answer["file"]["size"]),
                         (self.head.path("new/deep/a.txt"), 3))
        self.look(b"", kind="write", path="new/deep/a.txt")
        self.assertEqual(self.names(recursive=True), ["new/deep/a.txt"])
        self.assertEqual(os.path.getsize(self.head.path("new/deep/a.txt")), 0)

    def test_a_write_never_follows_a_link(self):
        outside = os.path.join(self.head.root, "outside")
        with open(outside, "w", encoding="ascii") as file:
            file.write("mine")
        os.symlink(outside, self.head.path("link"))
        os.symlink(self.head.root, self.head.path("up"))
        self.assertIn("file", self.look(b"theirs", kind="write", path="link"))
        self.assertFalse(os.path.islink(self.head.path("link")))
        self.assertEqual(self.look(b"theirs", kind="write", path="up/outside")["kind"], "conflict")
        with open(outside, encoding="ascii") as file:
            self.assertEqual(file.read(), "mine")

    def test_a_write_onto_a_folder_is_refused_and_leaves_nothing(self):
        os.mkdir(self.head.path("folder"))
        for path in ("folder", "folder/", "", "."):
            self.assertIn("error", self.look(b"x", kind="write", path=path), path)
        self.assertEqual(os.listdir(self.head.workspace), ["folder"])

    def test_a_write_that_does_not_fit_leaves_the_old_file(self):
        self.make("a", b"old")
        self.head.run("import resource, signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
                      "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))")
        self.assertIn("error", self.look(b"x" * 5000, kind="write", path="a"))
        with open(self.head.path("a"), "rb") as file:
            self.assertEqual(file.read(), b"old")
        self.assertEqual(os.listdir(self.head.workspace), ["a"])

    def test_removal(self):
        self.make("a/file")
        os.symlink("a", self.head.path("link"))
        self.assertEqual(self.look(kind="remove", path="a")["kind"], "conflict")
        self.assertEqual(self.look(kind="remove", path="link/file")["kind"], "not_found")
        for path in ("link", "a/file", "a"):
            self.assertEqual(self.look(kind="remove", path=path),
                             {"removed": self.head.path(path)})
        self.assertEqual(self.look(kind="remove", path="a")["kind"], "not_found")
        self.assertEqual(self.look(kind="remove", path="")["kind"], "bad_request")
        self.assertEqual(self.look(kind="remove", path=".")["kind"], "conflict")
        self.assertEqual(os.listdir(self.head.workspace), [])

    def test_a_written_file_counts_as_changed_in_the_next_run(self):
        self.head.run("1")
        self.look(b"x", kind="write", path="a")
        self.assertTrue(self.head.run("1").done["files_dirty"])


if __name__ == "__main__":
    unittest.main()
