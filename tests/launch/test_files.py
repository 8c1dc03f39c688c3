# SPDX-License-Identifier: Apache-2.0
"""Saved copies of /workspace: what comes back, what it costs, and what hostile trees do."""

import glob
import os
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from launcher import (ERR_NOT_FOUND, ERR_TOO_LARGE, EXIT, GONE, MIB, RESTORE, SAVE, SPAWNED, Launcher,
                      plan)
from test_launch import groups_of

# Prints a line for everything in /workspace: what it is, its mode, its time, its bytes. Where that is
# more than fits into a pipe, the count of them and a hash.
LIST = """
import hashlib, os, stat
def show(lines, folder='/workspace'):
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        status = os.lstat(path)
        kind = stat.S_IFMT(status.st_mode)
        what = '-'
        if kind == stat.S_IFREG:
            what = hashlib.sha256(open(path, 'rb').read()).hexdigest()[:16]
        elif kind == stat.S_IFLNK:
            what = os.readlink(path)
        size = status.st_size if kind == stat.S_IFREG else 0
        lines.append(f'{status.st_mode:o} {size} {status.st_mtime_ns} {path} {what}')
        if kind == stat.S_IFDIR:
            show(lines, path)
    return lines
lines = show([])
print('\\n'.join(lines) if len(lines) < 200
      else f'{len(lines)} {hashlib.sha256(repr(lines).encode()).hexdigest()}')
"""


class FilesTest(unittest.TestCase):
    def setUp(self):
        self.launcher = Launcher()
        self.addCleanup(self.launcher.close)
        self.assertEqual(self.launcher.root().error, "")

    def start(self, number=0, **options):
        sandbox = self.launcher.spawn(number, **options)
        self.addCleanup(sandbox.close)
        self.launcher.expect(SPAWNED)
        sandbox.hello()
        return sandbox

    def save(self, head=0, sandbox=0):
        event = self.launcher.ask(SAVE, sandbox, head)
        self.assertEqual((event.error, event.head), ("", head))
        return event

    def restore(self, head=0, sandbox=0):
        event = self.launcher.ask(RESTORE, sandbox, head)
        self.assertEqual((event.error, event.head), ("", head))

    def cell(self, sandbox, code):
        """Runs code that must work; returns what it printed."""
        self.assertEqual(sandbox.cell(code + "\nprint('===', flush=True)"), "ok", code)
        text = ""
        while not text.endswith("===\n"):
            text += sandbox.output()
        return text[:-4]

    def cell_of(self, head, sandbox, code):
        self.assertEqual(head.cell(code + "\nprint('===', flush=True)"), "ok", code)
        while not sandbox.output().endswith("===\n"):
            pass

    def listing(self, sandbox):
        return self.cell(sandbox, LIST)

    def check(self, before, after):
        """The files that `before` made are back once `after` has been undone."""
        sandbox = self.start()
        self.cell(sandbox, "import os\nos.chdir('/workspace')\n" + before)
        expected = self.listing(sandbox)
        self.save()
        self.cell(sandbox, after)
        changed = self.listing(sandbox)
        self.assertNotEqual(changed, expected)
        self.restore()
        self.assertEqual(self.listing(sandbox), expected)
        return sandbox

    def test_changed_new_and_deleted_files(self):
        self.check("open('a', 'w').write('one')\nopen('b', 'w').write('two')\nopen('c', 'w').write('three')",
                   "open('a', 'w').write('ONE')\nopen('b', 'a').write('more')\nos.unlink('c')\n"
                   "open('d', 'w').write('new')")

    def test_a_change_of_the_same_size_at_once(self):
        """No time passes that a clock of ticks could see."""
        sandbox = self.start()
        self.cell(sandbox, "open('/workspace/a', 'w').write('one')")
        for number in range(20):
            self.save()
            self.cell(sandbox, "open('/workspace/a', 'r+').write('two')")
            self.restore()
            self.assertEqual(self.cell(sandbox, "print(open('/workspace/a').read())"), "one\n", number)

    def test_renames_and_folders(self):
        self.check("os.makedirs('x/y/z')\nopen('x/y/z/f', 'w').write('deep')\nos.mkdir('e')\n"
                   "open('x/g', 'w').write('g')",
                   "os.rename('x/y', 'e/y')\nos.rename('x/g', 'x/h')\nos.mkdir('x/g')\n"
                   "open('x/g/in', 'w').write('i')\nos.mkdir('n')\nos.mkdir('n/m')\nopen('n/m/o', 'w')")

    def test_deleted_folders_come_back(self):
        self.check("import shutil\nos.makedirs('x/y')\n[open(f'x/y/{n}', 'w').write(str(n)) for n in range(9)]",
                   "shutil.rmtree('x')")

    def test_links_are_links(self):
        sandbox = self.check(
            "os.symlink('/etc/passwd', 'p')\nos.symlink('nowhere', 'q')\nos.symlink('/etc', 'dir')\n"
            "os.mkdir('real')\nopen('real/f', 'w').write('mine')",
            "os.unlink('p'); os.symlink('/etc/group', 'p')\nos.unlink('q')\nos.unlink('real/f')\n"
            "os.rmdir('real')\nos.symlink('/etc', 'real')")
        self.assertEqual(self.cell(sandbox, "print(open('/workspace/real/f').read())"), "mine\n")

    def test_modes_and_times(self):
        self.check("open('a', 'w').write('a')\nos.chmod('a', 0o640)\nos.utime('a', (1, 2))\nos.mkdir('d')\n"
                   "open('d/f', 'w').write('f')\nos.chmod('d', 0o500)\nos.utime('d', (5, 6))",
                   "os.chmod('a', 0o777)\nos.chmod('d', 0o755)\nos.unlink('d/f')")

    def test_what_nobody_may_read_is_saved(self):
        sandbox = self.start()
        self.cell(sandbox, "import os\nos.chdir('/workspace')\nos.mkdir('d')\nopen('d/f', 'w').write('f')\n"
                           "os.chmod('d/f', 0)\nos.chmod('d', 0)")
        self.save()
        self.cell(sandbox, "os.chmod('d', 0o700)\nos.unlink('d/f')\nos.rmdir('d')")
        self.restore()
        self.assertEqual(self.cell(sandbox, "print(oct(os.stat('d').st_mode))\nos.chmod('d', 0o700)\n"
                                            "print(oct(os.stat('d/f').st_mode))"), "0o40000\n0o100000\n")

    def test_kinds_that_change(self):
        self.check("open('f', 'w').write('f')\nos.mkdir('d')\nopen('d/x', 'w').write('x')\nos.symlink('f', 'l')",
                   "os.unlink('f'); os.mkdir('f'); open('f/y', 'w')\n"
                   "os.unlink('d/x'); os.rmdir('d'); open('d', 'w').write('d')\n"
                   "os.unlink('l'); open('l', 'w').write('l')")

    def test_sockets_and_fifos_are_left_out(self):
        sandbox = self.start()
        self.cell(sandbox, "import os, socket\nos.chdir('/workspace')\nos.mkfifo('p')\nopen('f', 'w').write('f')\n"
                           "s = socket.socket(socket.AF_UNIX); s.bind('s')")
        self.save()
        self.cell(sandbox, "os.unlink('f')")
        self.restore()
        self.assertEqual(self.cell(sandbox, "print(os.listdir('.'))"), "['f']\n")

    def test_holes_stay_holes(self):
        sandbox = self.start()
        self.cell(sandbox, "import os\nos.chdir('/workspace')\nf = open('big', 'wb')\nf.truncate(60 << 20)\n"
                           "f.seek(30 << 20); f.write(b'middle'); f.close()")
        self.assertLess(self.save().bytes, MIB)
        self.cell(sandbox, "os.unlink('big')")
        self.restore()
        self.assertEqual(self.cell(sandbox, "f = open('big', 'rb'); f.seek(30 << 20); print(f.read(6), "
                                            "os.stat('big').st_size == 60 << 20, os.stat('big').st_blocks < 64)"),
                         "b'middle' True True\n")

    def test_an_open_file_reads_what_it_read(self):
        sandbox = self.start()
        self.cell(sandbox, "open('/workspace/a', 'w').write('before')\nf = open('/workspace/a')")
        self.save()
        self.cell(sandbox, "open('/workspace/a', 'w').write('after')")
        self.restore()
        self.assertEqual(self.cell(sandbox, "print(f.read())"), "before\n")

    def test_what_did_not_change_is_not_copied_again(self):
        sandbox = self.start(packed_plan=plan(disk=256 * MIB, memory=1024 * MIB))
        self.cell(sandbox, "import os, time\nos.chdir('/workspace')\nopen('big', 'wb').write(os.urandom(20 << 20))")
        self.assertGreaterEqual(self.save(0).bytes, 20 * MIB)
        begin = time.monotonic()
        while self.save(0).bytes:  # with a clock of ticks, what is young counts as changed
            self.assertLess(time.monotonic() - begin, 60)
        head = sandbox.fork(1)
        self.addCleanup(head.close)
        self.assertEqual(self.save(1).bytes, 0)
        self.assertEqual(head.cell("open('small', 'w').write('s')"), "ok")
        self.assertLess(self.save(1).bytes, MIB)
        for number in (0, 1, 0):
            self.restore(number)
        self.assertEqual(self.cell(sandbox, "print(sorted(os.listdir('.')))"), "['big']\n")

    def test_five_thousand_files_and_each_head_has_its_own(self):
        sandbox = self.start(packed_plan=plan(disk=256 * MIB, memory=1024 * MIB))
        self.cell(sandbox, "import os\nos.chdir('/workspace')\n"
                           "for n in range(5000):\n"
                           "    n % 50 or os.mkdir(f'd{n // 50}')\n"
                           "    open(f'd{n // 50}/{n}', 'w').write(str(n))")
        first = self.listing(sandbox)
        self.save(0)
        head = sandbox.fork(1)
        self.addCleanup(head.close)
        self.cell_of(head, sandbox, "[os.unlink(f'd{n // 50}/{n}') for n in range(0, 5000, 3)]\n"
                                    "[open(f'd{n // 50}/{n}', 'a').write('!') for n in range(1, 5000, 3)]")
        second = self.listing(sandbox)
        self.save(1)
        self.restore(0)
        self.assertEqual(self.listing(sandbox), first)
        self.restore(1)
        self.assertEqual(self.listing(sandbox), second)
        self.restore(1)  # nothing is to be done
        self.assertEqual(self.listing(sandbox), second)

    def test_too_large_is_told_and_nothing_is_kept_of_it(self):
        sandbox = self.start(packed_plan=plan(disk=16 * MIB))
        self.cell(sandbox, "import os\nos.chdir('/workspace')\nopen('a', 'w').write('small')")
        self.save()
        self.cell(sandbox, "open('big', 'wb').write(bytes(9 << 20))")
        event = self.launcher.ask(SAVE, 0, 0)
        self.assertEqual(event.kind, ERR_TOO_LARGE)
        self.assertIn("8 MiB", event.error)
        self.restore()  # to the one before
        self.assertEqual(self.cell(sandbox, "print(os.listdir('.'))"), "['a']\n")
        self.save()

    def test_a_full_workspace_is_restored(self):
        sandbox = self.start(packed_plan=plan(disk=16 * MIB))
        self.cell(sandbox, "import os\nos.chdir('/workspace')\nos.mkdir('a'); os.mkdir('b')\n"
                           "open('a/one', 'wb').write(b'1' * (6 << 20))")
        expected = self.listing(sandbox)
        self.save()
        self.cell(sandbox, "os.unlink('a/one')\n"
                           "try: open('b/fill', 'wb').write(bytes(20 << 20))\nexcept OSError: pass")
        self.restore()
        self.assertEqual(self.listing(sandbox), expected)

    def test_deep_and_wide_trees_are_refused(self):
        sandbox = self.start(packed_plan=plan(disk=256 * MIB))
        self.cell(sandbox, "import os\nos.chdir('/workspace')\nopen('f', 'w').write('f')")
        self.save()
        self.cell(sandbox, "for _ in range(3000):\n    os.mkdir('0'); os.chdir('0')")
        self.assertEqual(self.launcher.ask(SAVE, 0, 0).kind, ERR_TOO_LARGE)
        self.restore()
        self.assertEqual(self.cell(sandbox, "os.chdir('/workspace'); print(os.listdir('.'))"), "['f']\n")
        self.cell(sandbox, "for n in range(20001): open(str(n), 'w').close()")
        self.assertEqual(self.launcher.ask(SAVE, 0, 0).kind, ERR_TOO_LARGE)
        self.restore()
        self.assertEqual(self.cell(sandbox, "print(os.listdir('.'))"), "['f']\n")

    def test_a_tree_that_changes_under_the_walk(self):
        """Folders and links are swapped all the time: nothing of /etc is ever read or written."""
        sandbox = self.start()
        self.cell(sandbox, "import os, threading\nos.chdir('/workspace')\nos.mkdir('d'); open('d/passwd', 'w')"
                           ".write('mine')\nos.symlink('/etc', 'l')\n"
                           "def swap():\n"
                           "    while True:\n"
                           "        os.rename('d', 't'); os.rename('l', 'd'); os.rename('d', 'l'); os.rename('t', 'd')\n"
                           "threading.Thread(target=swap, daemon=True).start()")
        for _ in range(30):
            for kind in (SAVE, RESTORE):
                self.launcher.ask(kind, 0, 0)  # may fail; must not hang or end anything
        self.assertEqual(self.cell(sandbox, "print('alive')"), "alive\n")

    def test_a_helper_that_does_not_come_to_an_end_is_ended(self):
        sandbox = self.start()
        self.cell(sandbox, "open('/workspace/a', 'w').write('one')")
        self.save()
        if self.launcher.can_freeze:  # elsewhere nothing can hold a helper up
            self.stop_group("1")
            begin = time.monotonic()
            event = self.launcher.ask(SAVE, 0, 0)
            self.assertIn("longer than 5 s", event.error)
            self.assertTrue(4.5 < time.monotonic() - begin < 8)
            self.stop_group("0")
        self.cell(sandbox, "open('/workspace/a', 'w').write('two')")
        self.restore()
        self.assertEqual(self.cell(sandbox, "print(open('/workspace/a').read())"), "one\n")
        self.save()

    def stop_group(self, value):
        """Behind the launcher's back: every process of the sandbox stands still, or goes on."""
        path = groups_of(self.launcher).replace("**", "unified") + "/g*/cgroup.freeze"
        files = glob.glob(path) or glob.glob(path.replace("/unified", ""))
        for name in files:
            with open(name, "w", encoding="ascii") as file:
                file.write(value)
        self.assertTrue(files)

    def test_heads_that_are_not_there(self):
        sandbox = self.start()
        for kind in (SAVE, RESTORE):
            for number, head in ((0, 3), (0, 32), (0, 2**32 - 1), (5, 0), (2**32 - 1, 0)):
                self.assertEqual(self.launcher.ask(kind, number, head).kind, ERR_NOT_FOUND)
        self.assertEqual(sandbox.cell("1"), "ok")

    def test_a_head_that_was_never_saved_had_no_files(self):
        sandbox = self.start()
        self.cell(sandbox, "import os\nos.mkdir('/workspace/d')\nopen('/workspace/d/f', 'w').write('f')")
        self.restore()
        self.assertEqual(self.cell(sandbox, "print(os.listdir('/workspace'))"), "[]\n")

    def test_copies_go_with_their_head(self):
        sandbox = self.start(packed_plan=plan(disk=32 * MIB))
        self.cell(sandbox, "import os\nos.chdir('/workspace')\nopen('f', 'wb').write(os.urandom(5 << 20))")
        for number in range(12):  # each would be more than all together may take
            head = sandbox.fork(1)
            self.assertEqual(head.cell(f"open('f', 'wb').write(os.urandom(5 << 20) + b'{number}')"), "ok")
            self.save(1)
            head.drop()
            self.assertEqual(self.launcher.expect(EXIT).head, 1)
            head.close()

    def test_nothing_is_left_after_many_rounds(self):
        sandbox = self.start()
        self.cell(sandbox, "import os\nos.chdir('/workspace')\nn = 0")

        def one(number):
            self.cell(sandbox, "n += 1\nopen(f'{n % 7}', 'w').write(str(n))")
            self.save()
            other = self.start(1)
            self.cell(other, "open('/workspace/x', 'w').write('x')")
            self.save(0, 1)
            if number % 2:
                self.restore(0, 1)
            else:
                self.launcher.request(SAVE, b"\1\0\0\0\0\0\0\0")  # and the end comes meanwhile
            self.launcher.kill(1)
            while self.launcher.event().type != GONE:
                pass

        for number in range(6):
            one(number)
        before = self.launcher.count()
        for number in range(200):
            one(number)
        self.assertEqual(self.launcher.count(), before)

    def test_what_is_saved_counts_as_the_sandbox_s_memory(self):
        sandbox = self.start(packed_plan=plan(disk=128 * MIB, memory=256 * MIB))
        self.cell(sandbox, "open('/workspace/f', 'wb').write(bytes(40 << 20))")
        sandbox.run("import time; time.sleep(0.2)")  # without a cgroup a sample is taken every 50 ms
        sandbox.done()
        before = sandbox.end().memory
        self.save()
        sandbox.run("import time; time.sleep(0.2)")
        sandbox.done()
        self.assertGreater(sandbox.end().memory, before + 30 * MIB)


if __name__ == "__main__":
    unittest.main()
