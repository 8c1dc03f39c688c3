# SPDX-License-Identifier: Apache-2.0
"""`viv explore`: its folder, its command, its exit status."""

import os
import signal
import subprocess
import unittest

from vivcli import VERDICT_KEYS, VIV, WAIT_SECONDS, VivCase, strict_json

ODD = "odd 'name'\n\"$(id)\" é \\ *"


class ExploreTest(VivCase):
    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o755)
        self.data = self.path("data")
        os.mkdir(self.data)
        os.mkdir(os.path.join(self.data, "sub"))
        self.write("data/a.txt", "alpha\n")
        self.write("data/sub/b.txt", "beta\n")

    def explore(self, *words, code=0):
        done = self.viv("explore", *words)
        self.assertEqual(done.code, code, done.err)
        return done.out.decode()

    def test_a_folder_and_a_command(self):
        self.assertEqual(self.explore(self.data, "--", "ls"), "a.txt\nsub\n")
        self.assertEqual(self.explore("data", "--", "cat a.txt | tr a-z A-Z"), "ALPHA\n")
        self.assertEqual(self.explore("--folder", "data", "cat a.txt"), "alpha\n")
        self.assertEqual(self.explore("--folder", "data", "--cwd", "sub", "--", "cat", "b.txt"), "beta\n")

    def test_several_words_are_what_they_are(self):
        self.write("data/odd * name", "x")
        self.assertEqual(self.explore("data", "--", "cat", "odd * name"), "x")
        self.assertEqual(self.explore("data", "--", "printf", "%s|", "a b", "$HOME", "it's", "*", "", "\n", "-n"),
                         "a b|$HOME|it's|*||\n|-n|")

    def test_one_word_is_for_the_shell(self):
        self.assertEqual(self.explore("data", "--", "echo $HOME; echo s*"), "/tmp\nsub\n")

    def test_a_folder_with_any_name(self):
        os.mkdir(self.path(ODD))
        self.write(ODD + "/f", "found")
        os.symlink(self.path(ODD), self.path("link"))
        self.assertEqual(self.explore(self.path(ODD), "--", "cat", "f"), "found")
        self.assertEqual(self.explore("link", "--", "pwd; cat f"), "/data\nfound")
        self.assertEqual(self.explore(os.fsdecode(os.fsencode(ODD)), "--", "ls"), "f\n")

    def test_bytes_pass_as_they_are(self):
        done = self.viv("explore", "data", "--", "printf '\\xff\\0\\x1b[1m'; printf '\\xfe' >&2")
        self.assertEqual((done.out, done.err), (b"\xff\0\x1b[1m", b"\xfe"))

    def test_the_exit_status_is_the_commands(self):
        self.explore("data", "--", "exit 3", code=3)
        self.explore("data", "--", "kill -SEGV $$", code=139)
        self.explore("data", "--", "grep", "nothing", "a.txt", code=1)
        done = self.viv("explore", "data", "--timeout", "300ms", "--", "sleep 60")
        self.assertEqual(done.code, 124)
        self.assertIn(b"viv explore: timeout: stopped after 300ms", done.err)

    def test_json_is_one_object(self):
        out = self.explore("data", "--json", "--", "cat a.txt; echo err >&2; exit 5", code=5)
        answer = strict_json(out)
        self.assertEqual(set(answer), {"stdout", "stderr", "exit_code", "truncated", "verdict"})
        self.assertEqual((answer["stdout"], answer["stderr"], answer["exit_code"]), ("alpha\n", "err\n", 5))
        self.assertLessEqual(VERDICT_KEYS, set(answer["verdict"]))
        self.assertEqual(strict_json(self.explore("nowhere", "--json", "--", "ls", code=2))["error"]["kind"],
                         "not_found")

    def test_the_configs_folder(self):
        self.write("vivarium.yaml", f"explore: {{root: {self.data}, folders: [\"s={self.data}/sub\"]}}\n")
        self.assertEqual(self.explore("cat a.txt"), "alpha\n")

    def test_bad_usage(self):
        for words, why in (((), b"no command"), (("--folder", "data"), b"no command"),
                           (("data",), b"no command"),
                           (("ls",), b"explore.root"), (("nowhere", "--", "ls"), b"No such file"),
                           (("data/a.txt", "--", "ls"), b"is not a folder"), (("/", "--", "ls"), b"too much"),
                           (("/proc/self", "--", "ls"), b"too much"), (("data", "--cwd", "..", "--", "ls"), b"below"),
                           (("data", "--timeout", "2h", "--", "ls"), b"timeout"), (("data", "--", ""), b"command"),
                           (("data", "--policy", "none", "--", "ls"), b"policy"), (("data", "--what"), b"--what")):
            done = self.viv("explore", *words)
            self.assertEqual((done.code, done.out), (2, b""), (words, done.err))
            self.assertIn(why, done.err, words)

    def test_an_interrupt_ends_it(self):
        process = self.popen("explore", "data", "--", "echo on; sleep 60")
        self.assertEqual(process.stdout.readline(), b"on\n")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)

    def test_a_reader_that_goes_away_ends_it(self):
        process = self.popen("explore", "data", "--timeout", "30s", "--", "yes")
        self.assertEqual(process.stdout.readline(), b"y\n")
        process.stdout.close()
        self.assertIn(process.wait(20), (1, 141))
        process.stderr.close()

    def test_what_is_mounted_in_the_folder_is_read_only_too(self):
        namespaces = ["--mount"] if os.getuid() == 0 else ["--mount", "--user", "--map-current-user", "--keep-caps"]
        script = ("mount -t tmpfs -o size=1m none data/sub && echo seen > data/sub/inside && "
                  "exec \"$0\" explore data -- 'cat sub/inside; touch sub/new || echo no'")
        done = subprocess.run(["unshare", *namespaces, "sh", "-c", script, VIV], cwd=self.folder, timeout=WAIT_SECONDS,
                              env=self.environment(), capture_output=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, b"seen\nno\n"), done.stderr)
        self.assertIn(b"Read-only file system", done.stderr)

    def test_files_that_are_not_for_everybody(self):
        """Started by root, a command is nobody; by a user with one id, it is that user; with more, either."""
        os.chmod(self.write("data/own", "mine"), 0o600)
        done = self.viv("explore", "data", "--", "cat", "own")
        if os.getuid() == 0:
            self.assertEqual((done.code, done.out), (1, b""))
            self.assertIn(b"Permission denied", done.err)
        else:
            self.assertIn((done.code, done.out), ((0, b"mine"), (1, b"")), done.err)


if __name__ == "__main__":
    unittest.main()
