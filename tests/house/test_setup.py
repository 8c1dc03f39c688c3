# SPDX-License-Identifier: Apache-2.0
"""scripts/setup beside stand-ins for dpkg-query, apt-get and sudo: nothing is installed here."""

import os
import shutil
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NOBODY = 65534

# Stand-ins keep the set of installed packages in a file beside them.
DPKG = """#!/bin/bash
for name in "${@:4}"; do
	grep -qx "$name" "$STATE/installed" && printf '%s:installed ' "$name"
done
exit 1
"""
APT = """#!/bin/bash
echo "apt-get $*" >>"$STATE/calls"
if [[ " $* " == *" update "* ]]; then touch "$STATE/updated"; exit 0; fi
[[ -e $STATE/stale && ! -e $STATE/updated ]] && exit 100
for name in "$@"; do echo "$name" >>"$STATE/installed"; done
"""
GETENT = """#!/bin/bash
[[ -e $STATE/has-user ]]
"""
SUDO = """#!/bin/bash
echo "sudo $*" >>"$STATE/calls"
[[ $1 == -n ]] && shift
exec "$@"
"""


class Setup(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="viv-setup-")
        self.addCleanup(shutil.rmtree, self.folder)
        os.chmod(self.folder, 0o777)
        shutil.copy(os.path.join(ROOT, "scripts", "setup"), self.folder)
        os.mkdir(os.path.join(self.folder, "bin"))
        self.stand_in("dpkg-query", DPKG)
        self.stand_in("apt-get", APT)
        self.stand_in("getent", GETENT)
        self.stand_in("useradd", '#!/bin/bash\necho "useradd $*" >>"$STATE/calls"\n')
        for tool in ("bash", "env", "grep", "touch", "true", "setpriv"):
            os.symlink(shutil.which(tool, path="/usr/bin:/bin"), self.path("bin", tool))
        self.write("installed", "")
        self.write("calls", "")
        self.write("has-user", "")

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(self.path(name), 0o666)

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def stand_in(self, name, text):
        self.write(os.path.join("bin", name), text)
        os.chmod(self.path("bin", name), 0o755)

    def run_setup(self, *args, as_user=False):
        argv = [self.path("setup"), *args]
        if as_user and os.geteuid() == 0:
            argv = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *argv]
        env = {"PATH": self.path("bin"), "STATE": self.folder}
        return subprocess.run(argv, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, check=False)

    def install_all_but(self, *names):
        wanted = self.run_setup("--list", "check").stdout.split()
        self.write("installed", "".join(name + "\n" for name in wanted if name not in names))

    def test_as_root_it_makes_the_user_of_the_daemon_once(self):
        self.install_all_but()
        self.assertEqual(self.run_setup("run").returncode, 0)
        self.assertNotIn("useradd", self.read("calls"))
        os.unlink(self.path("has-user"))
        self.assertEqual(self.run_setup("run").returncode, 0)
        self.assertEqual("useradd --system" in self.read("calls"), os.geteuid() == 0)

    def test_lists_packages_and_groups_grow(self):
        run, test, check = (self.run_setup("--list", group).stdout.split()
                            for group in ("run", "test", "check"))
        self.assertIn("libseccomp-dev", run)
        self.assertTrue(set(run) < set(test) < set(check))

    def test_says_nothing_when_nothing_is_missing(self):
        self.install_all_but()
        done = self.run_setup("check", as_user=True)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assertEqual(self.read("calls"), "")

    def test_a_group_does_not_ask_for_what_only_others_need(self):
        self.install_all_but("clang", "bubblewrap")
        self.assertEqual(self.run_setup("run", as_user=True).returncode, 0)
        self.assertEqual(self.run_setup("test", as_user=True).returncode, 1)

    def test_without_sudo_prints_the_exact_command_and_stops(self):
        self.install_all_but("meson", "libuv1-dev")
        done = self.run_setup("run", as_user=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("sudo apt-get install --no-install-recommends meson libuv1-dev\n", done.stderr)
        self.assertEqual(self.read("calls"), "")

    def test_asks_sudo_as_an_ordinary_user(self):
        self.stand_in("sudo", SUDO)
        self.install_all_but("meson")
        self.assertEqual(self.run_setup("run", as_user=True).returncode, 0)
        self.assertIn("sudo env DEBIAN_FRONTEND=noninteractive apt-get", self.read("calls"))

    def test_updates_lists_only_when_the_install_fails(self):
        self.stand_in("sudo", SUDO)
        self.install_all_but("meson")
        self.assertEqual(self.run_setup("run").returncode, 0)
        self.assertNotIn("update", self.read("calls"))

        self.install_all_but("meson")
        self.write("stale", "")
        self.assertEqual(self.run_setup("run").returncode, 0)
        self.assertIn("update", self.read("calls"))

    def test_fails_when_the_package_does_not_come(self):
        self.stand_in("sudo", SUDO)
        self.stand_in("apt-get", "#!/bin/bash\nexit 0\n")
        self.install_all_but("meson")
        done = self.run_setup("run")
        self.assertEqual(done.returncode, 1)
        self.assertIn("still missing after the installation: meson", done.stderr)

    def test_refuses_a_word_it_does_not_know(self):
        self.assertEqual(self.run_setup("everything").returncode, 2)


if __name__ == "__main__":
    unittest.main()
