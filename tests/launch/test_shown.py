# SPDX-License-Identifier: Apache-2.0
"""Folders of the host in a sandbox: through an overlay, and where that cannot be had, with fewer calls."""

import os
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from launcher import SPAWNED, ZYGOTE_UP, Launcher  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
NOTHING, APART, DIRECT = range(3)
# Prints the outcome of its calls, as one line.
CALLS = """
import fcntl, os, socket, sqlite3
def name(call, *args):
    try:
        call(*args)
        return "ok"
    except (OSError, sqlite3.Error) as error:
        return getattr(error, "errno", None) or "error"
def database(path):
    with sqlite3.connect(path) as base:
        base.execute("create table t(x)")
own = open("/workspace/own", "w")
print(name(socket.socket, socket.AF_UNIX), name(socket.socketpair), name(fcntl.flock, own, fcntl.LOCK_EX),
      name(fcntl.lockf, own, fcntl.LOCK_EX), name(database, "/workspace/base"))
"""
# In mounts of its own: below the folder lies a mount, which an overlay would not show.
MOUNTED = """
import subprocess, sys
sys.path.insert(0, {here!r})
import test_shown
folder = {folder!r}
subprocess.run(["mount", "-t", "tmpfs", "tmpfs", folder + "/below"], check=True)
with open(folder + "/below/file", "w") as file:
    file.write("seen")
case = test_shown.ShownTest()
case.setUp()
shown, output = case.look([(folder, "/data")], test_shown.CALLS + "print(open('/data/below/file').read())")
case.doCleanups()
print(shown, output.split())
"""


class ShownTest(unittest.TestCase):
    def setUp(self):
        self.launcher = Launcher()
        self.addCleanup(self.launcher.close)

    def start(self, binds, zygote=-1):
        self.assertEqual(self.launcher.root(binds=binds).error, "")
        if zygote >= 0:
            self.assertEqual(self.launcher.zygote().type, ZYGOTE_UP)
        sandbox = self.launcher.spawn(0, zygote=zygote)
        self.addCleanup(sandbox.close)
        event = self.launcher.event()
        self.assertEqual((event.type, event.error), (SPAWNED, ""))
        return sandbox, sandbox.hello()[4]

    def look(self, binds, code, zygote=-1):
        """The filter as HELLO reports it, and the output of the code."""
        sandbox, shown = self.start(binds, zygote)
        sandbox.run(code)
        done = sandbox.done()
        self.assertEqual(done["kind"], "ok", done)
        return shown, sandbox.output()

    def folder(self):
        folder = tempfile.mkdtemp(prefix="viv-shown-")
        self.addCleanup(subprocess.run, ["rm", "-rf", folder], check=True)
        os.chmod(folder, 0o755)
        return folder

    def test_without_a_folder_all_calls_are_there(self):
        self.assertEqual(self.look([], CALLS), (NOTHING, "ok ok ok ok ok\n"))

    def test_with_a_folder_there_are_pairs_but_no_sockets(self):
        for zygote in (-1, 0):
            with self.subTest(zygote=zygote):
                self.assertEqual(self.look([(self.folder(), "/data")], CALLS, zygote), (APART, "97 ok ok ok ok\n"))
                self.launcher.close()
                self.launcher = Launcher()

    def test_a_folder_with_a_mount_below_is_shown_whole_and_nothing_is_locked(self):
        folder = self.folder()
        os.mkdir(os.path.join(folder, "below"))
        os.chmod(os.path.join(folder, "below"), 0o755)
        words = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-Urm"]
        done = subprocess.run(words + [sys.executable, "-c", MOUNTED.format(here=HERE, folder=folder)],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.stdout, f"{DIRECT} ['97', 'ok', '37', '1', 'error', 'seen']\n", done.stderr)

    def test_what_changes_on_the_host_is_seen_by_the_next_run(self):
        folder = self.folder()
        path = os.path.join(folder, "file")
        sandbox, _ = self.start([(folder, "/data")])
        look = "import os; print(os.listdir('/data'), os.path.exists('/data/file') and open('/data/file').read())"
        seen = []
        for text in (None, "first", "second", None):
            if text is None and os.path.exists(path):
                os.unlink(path)
            elif text is not None:
                with open(path + ".new", "w", encoding="ascii") as file:
                    file.write(text)
                os.chmod(path + ".new", 0o644)
                os.replace(path + ".new", path)
            seen.append(self.look_until(sandbox, look, f"['file'] {text}\n" if text else "[] False\n"))
        self.assertEqual(seen, ["[] False\n", "['file'] first\n", "['file'] second\n", "[] False\n"])

    def look_until(self, sandbox, look, wanted):
        """The names that are seen, once they are the expected ones: names are forgotten at the start of a run, which the
        code may be a little ahead of, and again at its end."""
        end = time.monotonic() + 10
        while True:
            sandbox.run(look)
            self.assertEqual(sandbox.done()["kind"], "ok")
            sandbox.end()
            self.launcher.count()  # the half that lets names be forgotten has answered: it has done so
            seen = sandbox.output()
            if seen == wanted or time.monotonic() > end:
                return seen

    def test_a_folder_inside_of_another_is_shown_in_it(self):
        outer = self.folder()
        inner = self.folder()
        os.mkdir(os.path.join(outer, "in"))
        for folder, name in ((outer, "a"), (inner, "b")):
            with open(os.path.join(folder, name), "w", encoding="ascii") as file:
                file.write(name)
            os.chmod(os.path.join(folder, name), 0o644)
        code = "import os; print(open('/data/a').read(), open('/data/in/b').read(), os.listdir('/data/in'))"
        self.assertEqual(self.look([(outer, "/data"), (inner, "/data/in")], code), (APART, "a b ['b']\n"))

    def test_the_list_of_mounts_does_not_tell_where_a_folder_is(self):
        folder = self.folder()
        _, output = self.look([(folder, "/data")], "print(open('/proc/self/mountinfo').read())")
        self.assertIn(" /data ", output)
        self.assertNotIn(os.path.basename(folder), output)


if __name__ == "__main__":
    unittest.main()
