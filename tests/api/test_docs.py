# SPDX-License-Identifier: Apache-2.0
"""The examples of README and docs are true: they are run, and their answers compared.

An example is a line that begins with `$ `, and what stands below it. Where it says `...` anything may stand; ids, times and sizes
are others each time. A command with a part that only its reader knows (`...`, `…`, $SECRET, a second machine) is not run."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest

from daemon import DOORS, Daemon
from vivcli import EXAMPLES, ROOT, VIV

UNKNOWN = re.compile(r"\.\.\.|…|<secret>|\$SECRET|\$KEY|viv serve|viv audit|claude|npx|npm|make |localhost:8080|viv (allow|deny)|viv doctor"
                     r'|/v1/(status|events|approvals)$|"keep":true|"live"|"detach":true|"careful"|\$S/(checkpoints|wake)$')
ID = re.compile(r"\b((?:run|ses|cp|cnv)_[0-9a-z]{26}|[0-9a-z]{21})\b")  # the short ones are LibreChat's
# Numbers and names that differ each time, or on another host.
VARIES = [
    (r'("(?:\w*_ms|seq|memory|peak_memory|bytes|cpu_time|wall_time)":)-?[\d.]+', r"-?[\d.]+"),
    (r"\b(run_|ses_|cp_|cnv_)[0-9a-z]{4}\.\.\.", "[0-9a-z]{26}"),
    (r'"limits":"cgroup v1"', '"limits":"[a-z0-9 ]+"'),
    (r'"cgroup",', '(?:"cgroup",)?'),  # an ordinary user's limits are measured where no group is his
    (r"heavy +8GiB +4 ", r"heavy +\S+ +\S+ "),  # never more than the host has
    (r"the peak was 512\.0 MiB", r"the peak was [\d.]+ MiB"),
    (r"tmp/run-\d+-\w+", r"tmp/run-\d+-\w+"),
    (r"/bin/bash: line \d+", r"/bin/bash: line \d+"),
    (r"<urlopen error [^>]+>", "<urlopen error [^>]+>"),
]


def examples_of(path):
    """(line, command, what is shown below it) of each."""
    found, is_open, is_code = [], False, False
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        for number, line in enumerate(file.read().split("\n"), 1):
            if line.startswith("```"):
                is_open = not is_open
                is_code = is_open and line == "```"
                found.append(None)
            elif is_code and line.startswith("$ "):
                found.append([number, line[2:], []])
            elif is_code and found[-1]:
                one = found[-1]
                if one[1].count("'") % 2 or one[1].endswith("\\"):  # the command goes on
                    one[1] += "\n" + line
                else:
                    one[2].append(line)
    return [one for one in found if one]


def pattern_of(shown, known):
    """A regular expression; the ids in `shown` become groups, those of `known` the ids themselves."""
    text = "\n".join(shown).strip()
    if text.startswith(("{", "[")):
        text = re.sub(r"\n +", "", text)
        text = text.replace(" ... ", "...").replace("{... ", "{...").replace(" ...}", "...}")
    marks = []

    def mark(regex):
        marks.append(regex)
        return f"\0{len(marks) - 1}\0"

    for old, new in VARIES:
        text = re.sub(old, lambda match, new=new: (match[1] if match.groups() else "") + mark(new), text)
    names = []

    def mark_id(match):
        if match[1] in known:
            return known[match[1]]
        names.append(match[1])
        return mark("(" + re.sub(r"[0-9a-z]{21,}$", lambda rest: f"[0-9a-z]{{{len(rest[0])}}}", match[1]) + ")")

    text = ID.sub(mark_id, text)
    text = re.sub(r"\n? *,?\.\.\.,? ?", lambda match: mark("(?:.|\n)*?"), text)
    regex = re.escape(text)
    regex = re.sub(r"\\?\0(\d+)\\?\0", lambda match: marks[int(match[1])], regex)
    regex = regex.replace(r"\ ", " ")
    return re.compile(regex + r"\s*\Z"), names


class Docs(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="viv-docs-")
        self.addCleanup(shutil.rmtree, self.folder, True)
        os.chmod(self.folder, 0o755)
        shutil.copytree(EXAMPLES, os.path.join(self.folder, "examples"))

    def follow(self, path, config="", least=1):
        """Runs them all in one folder, against one daemon."""
        known, names, ran = {}, {}, 0
        with Daemon(config) as daemon:
            address = f"127.0.0.1:{daemon.port}"
            environment = {"PATH": os.path.dirname(VIV) + ":/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": daemon.path("home"),
                           "VIVARIUM_URL": f"http://{address}", "TMPDIR": daemon.path("tmp")}
            for number, command, shown in examples_of(path):
                if UNKNOWN.search(command):
                    continue
                command = ID.sub(lambda match: known.get(match[1], match[1]), command).replace("localhost:7878", address)
                if set(ID.findall(command)) - set(known.values()):
                    continue  # of a command that was not run
                if re.fullmatch(r"[A-Z]=\S+", command):
                    names[command[0]] = command[2:]
                    continue
                done = subprocess.run(["bash", "-c", command], cwd=self.folder, env={**environment, **names}, timeout=120,
                                      stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
                said = re.sub(r"[ \t]+$", "", done.stdout.decode(), flags=re.M).strip()
                with self.subTest(f"{path}:{number}"):
                    pattern, ids = pattern_of(shown, known)
                    match = pattern.match(said) if shown and any(shown) else True
                    self.assertTrue(match, f"{path}:{number}: {command}\n--- said\n{said}\n--- shown\n" + "\n".join(shown))
                    if match is not True:
                        known.update(zip(ids, match.groups()))
                ran += 1
        self.assertGreaterEqual(ran, least)

    def test_the_readme(self):
        self.follow("README.md", least=16)
        with open(os.path.join(ROOT, ".gitignore"), encoding="utf-8") as file:
            ignored = file.read().split()
        for name in set(os.listdir(self.folder)) - {"examples"}:
            self.assertIn(f"/{name}/", ignored, "the tour leaves a clone dirty")

    def test_http(self):
        self.follow("docs/http.md", least=25)

    def test_doors(self):
        vault, year = os.path.join(self.folder, "vault"), os.path.join(self.folder, "docs", "2024")
        os.mkdir(vault)
        os.chmod(vault, 0o777)
        os.makedirs(year)
        with open(os.path.join(year, "plan.md"), "w", encoding="utf-8") as file:
            file.write("revenue\n")
        doors = "".join(f"  {name}: {{enabled: true}}\n" for name in DOORS if name != "synapse")
        self.follow("docs/doors.md", f"dialects:\n{doors}  synapse: {{enabled: true, vault: {vault}}}\n"
                    f"explore: {{folders: ['docs={os.path.dirname(year)}']}}\n", least=12)

    def test_configs_load(self):
        """Every block of YAML is a vivarium.yaml, once its reader has filled in the sums."""
        tried = 0
        for name in ("daemon", "coming-from", "doors", "backends", "page", "http", "mcp"):
            with open(os.path.join(ROOT, "docs", f"{name}.md"), encoding="utf-8") as file:
                blocks = re.findall(r"^```(?:yaml)?\n((?:listen|hosts|dialects|policies|tokens|explore|backends):(?:.|\n)*?)^```$", file.read(), re.M)
            for block in blocks:
                path = os.path.join(self.folder, f"{name}-{tried}.yaml")
                with open(path, "w", encoding="utf-8") as file:
                    file.write(block.replace("sha256: ...", "sha256: " + "0" * 64).replace("…", "x"))
                done = subprocess.run([VIV, "policy", "list", "--config", path], capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 0, f"docs/{name}.md: {block}\n{done.stderr}")
                tried += 1
        self.assertGreater(tried, 10)


if __name__ == "__main__":
    unittest.main()
