# SPDX-License-Identifier: Apache-2.0
"""viv man, viv completion, viv bench: printed from the same rows as --help."""

import os
import re
import subprocess
import unittest

from vivcli import VivCase, strict_json

PAGES = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "meson.build")


class Manual(VivCase):
    def commands(self):
        listed = self.viv("--help").out.decode().split("commands:")[1].split("\n\n")[0]
        names = re.findall(r"^  ([a-z]+)", listed, re.M)
        self.assertGreater(len(names), 12)
        return names

    def flags_of(self, command):
        text = self.viv(command, "--help").out.decode()
        return set(re.findall(r"^ +(?:-\w, )?--([a-z-]+)", text, re.M))

    def formatted(self, page):
        done = self.viv("man", page)
        self.assertEqual(done.code, 0, done.err)
        shown = subprocess.run(["groff", "-man", "-Tascii", "-ww", "-P-cbou"], input=done.out,
                               capture_output=True, check=True)
        self.assertEqual(shown.stderr, b"")
        return shown.stdout.decode()

    def test_every_flag_is_in_the_manual(self):
        for command in self.commands():
            text = self.formatted(command)
            flags = self.flags_of(command)
            self.assertGreaterEqual(len(flags), 2)
            for flag in flags:
                self.assertIn(f"--{flag}", text, command)

    def test_the_first_page_names_every_command(self):
        text = self.formatted("viv")
        for command in self.commands():
            self.assertIn(f"viv-{command}(1)", text)

    def test_every_command_has_a_page_that_is_installed(self):
        with open(PAGES, encoding="utf-8") as file:
            installed = set(re.findall(r"'([a-z.-]+\.[15])'", file.read()))
        self.assertEqual(installed, {"viv.1", "vivarium.yaml.5"} |
                         {f"viv-{command}.1" for command in self.commands()})

    def test_the_config_page_has_ranges_and_defaults(self):
        text = re.sub(r"\s+", " ", self.formatted("vivarium.yaml"))
        self.assertRegex(text, r"memory \(default: 512MiB\)")
        self.assertRegex(text, r"limits \(default: measured\).*?Allowed: cgroup or measured")

    def test_help_is_a_word_too(self):
        self.assertEqual(self.viv("help").out, self.viv("--help").out)
        for command in self.commands():
            self.assertEqual(self.viv("help", command).out, self.viv(command, "--help").out)
        self.assertEqual(self.viv("help", "nonsense").code, 2)

    def test_serve_takes_no_operand_and_names_its_dialects(self):
        done = self.viv("serve", "nonsense")
        self.assertEqual((done.code, done.err), (2, b"viv serve: takes no operand: nonsense\n"))
        done = self.viv("serve", "--dialect", "nonsense")
        self.assertEqual(done.code, 1)
        for name in (b"atlas", b"elitea", b"synapse", b"piston"):
            self.assertIn(name, done.err)

    def test_no_page_is_bad_usage(self):
        self.assertEqual(self.viv("man", "nonsense").code, 2)

    def test_bash_completes_commands_flags_and_words(self):
        self.write("c.bash", self.viv("completion", "bash").out)
        script = ('source ./c.bash; COMP_WORDS=("$@"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); '
                  '_viv; printf "%s\\n" "${COMPREPLY[@]}"')

        def complete(*words):
            shown = subprocess.run(["bash", "-c", script, "bash", *words], cwd=self.folder,
                                   capture_output=True, text=True, check=True)
            self.assertEqual(shown.stderr, "")
            return shown.stdout.split()

        self.assertLessEqual(set(self.commands()), set(complete("viv", "")))
        self.assertEqual(complete("viv", "do"), ["doctor"])
        self.assertEqual(complete("viv", "run", "--mem"), ["--memory"])
        self.assertEqual(complete("viv", "runtime", ""), ["list", "add", "rm"])
        self.assertEqual(complete("viv", "run", "c.b"), ["c.bash"])

    def test_the_other_shells_name_every_flag(self):
        for shell, form in (("zsh", "--{}"), ("fish", "-l {}")):
            text = self.viv("completion", shell).out.decode()
            for command in self.commands():
                for flag in self.flags_of(command) - {"help"}:
                    self.assertIn(form.format(flag), text)
        self.assertEqual(self.viv("completion", "tcsh").code, 2)


class Bench(VivCase):
    def test_a_quick_bench_has_every_figure_and_finds_no_leak(self):
        done = self.viv("bench", "--quick", "--json", "--runs", "100", seconds=900)  # it measures: a busy host is slow
        self.assertEqual(done.code, 0, done.err)
        report = strict_json(done.out)
        judged = {row["name"] for row in report["figures"] if "target" in row}
        self.assertLessEqual({"pooled print(1), p50", "pooled groupby of 10k rows, p50",
                              "processor time that isolation adds",
                              "fresh sandboxes with a run each, sustained"}, judged)
        self.assertEqual([row["live"] for row in report["live"]], [1, 10, 100])
        leaks = report["leaks"]
        self.assertFalse(leaks["grown"], leaks["held"])
        self.assertIn(leaks["runs"], (100, 200, 400, 800))  # more on a busy host: what grows once is no leak

    def test_bad_usage(self):
        self.assertEqual(self.viv("bench", "now").code, 2)
        self.assertEqual(self.viv("bench", "--runtime", "nothing").code, 2)


if __name__ == "__main__":
    unittest.main()
