# SPDX-License-Identifier: Apache-2.0
"""`make install` brings everything, and what it brings works from where it lies."""

import os
import shutil
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.dirname(os.environ.get("VIV", os.path.join(ROOT, "build", "viv")))


def output(*argv, **more):
    return subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=True, **more).stdout


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dest = tempfile.mkdtemp(prefix="viv-install-")
        cls.addClassCleanup(shutil.rmtree, cls.dest)
        os.chmod(cls.dest, 0o755)
        output("meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", cls.dest)
        options = output("meson", "configure", BUILD)
        prefix = next(line.split()[1] for line in options.splitlines() if line.split()[:1] == ["prefix"])
        cls.prefix = os.path.join(cls.dest, prefix.lstrip("/"))

    def path(self, *parts):
        return os.path.join(self.prefix, *parts)

    def test_programs_and_runner_are_there(self):
        for name in ("bin/viv", "libexec/vivarium/viv-launch", "libexec/vivarium/viv-bench"):
            self.assertTrue(os.access(self.path(name), os.X_OK), name)
        for name in ("main.py", "_vivarium.abi3.so", "vivarium/cell.py"):
            self.assertTrue(os.path.isfile(self.path("lib/vivarium/runner", name)), name)

    def test_nothing_else_is_written(self):
        self.assertEqual(sorted(os.listdir(self.prefix)), ["bin", "lib", "libexec", "share"])

    def test_manual_pages_are_roff_and_name_their_command(self):
        for page in ("viv.1", "viv-run.1", "viv-doctor.1", "viv-audit.1", "viv-bench.1",
                     "viv-runtime.1", "vivarium.yaml.5"):
            with open(self.path("share/man", "man" + page[-1], page), encoding="utf-8") as file:
                text = file.read()
            self.assertRegex(text, r"(?m)^\.TH ")
            self.assertIn(".SH NAME", text)
            self.assertIn(page.rsplit(".", 1)[0].replace("-", "\\-"), text)

    def test_completions_know_the_commands(self):
        bash = self.path("share/bash-completion/completions/viv")
        output("bash", "-n", bash)
        for path in (bash, self.path("share/zsh/site-functions/_viv"),
                     self.path("share/fish/vendor_completions.d/viv.fish")):
            with open(path, encoding="utf-8") as file:
                text = file.read()
            for command in ("run", "doctor", "audit", "bench", "runtime", "timeout"):
                self.assertIn(command, text)

    def test_bash_completes_a_flag(self):
        script = f"""source {self.path('share/bash-completion/completions/viv')}
COMP_WORDS=(viv run --time) COMP_CWORD=2
_viv && printf '%s\\n' "${{COMPREPLY[@]}}" """
        self.assertIn("--timeout", output("bash", "-c", script).split())

    def test_the_installed_viv_runs_code(self):
        self.assertEqual(output(self.path("bin/viv"), "run", "-c", "print(6 * 7)"), "42\n")


if __name__ == "__main__":
    unittest.main()
