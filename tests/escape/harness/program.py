# SPDX-License-Identifier: Apache-2.0
"""A hostile program: its header lines, its source, what must come of it."""

import ast
import os
import re
import shlex

KINDS = ("ok", "exception", "exit", "timeout", "memory", "killed", "output", "disk", "guard",
         "denied", "interrupted", "cancelled",
         "backend")
CLASSES = ("files", "proc", "net", "kernel", "privilege", "dos", "forge", "leftovers")
CHECKS = ("neighbour", "outside_view", "draws_differ", "out_is_plain")
# The keys that a header may have; a typo in a header is an error, not a check that silently is not made.
KEYS = {"expect", "expect-measured", "class", "walls", "limits", "runtime", "check", "unwalled",
        "exit", "status", "signal", "stdout", "stderr", "error", "truncated", "within", "repeat", "source",
        "flags", "by", "message", "max-files",
        "events", "shown"}
HEADER = re.compile(r"# ([a-z-]+): (.*)$")
FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
KIT = os.path.join(FOLDER, "harness", "kit.py")
# native.md section 3: the exit code that goes with a kind unless the program says another.
EXIT_OF_KIND = {"ok": 0, "exception": 1, "timeout": 124, "memory": 137, "output": 1, "disk": 1,
                "guard": 126, "denied": 126, "interrupted": 130, "cancelled": 143, "backend": 125}


class Program:
    def __init__(self, name):
        self.name = name
        self.path = os.path.join(FOLDER, name + ".py")
        with open(self.path, encoding="utf-8") as file:
            self.text = file.read()
        self.head = {}
        for line in self.text.splitlines():
            found = HEADER.match(line)
            if found and not line.startswith("# SPDX"):
                self.head.setdefault(found[1], []).append(found[2].strip())
            elif not line.startswith("#"):
                break
        self.check_header()

    def check_header(self):
        unknown = set(self.head) - KEYS
        if unknown:
            raise ValueError(f"{self.name}: unknown header {sorted(unknown)}")
        for key in ("expect", "class", "unwalled"):
            if key not in self.head:
                raise ValueError(f"{self.name}: no '# {key}:'")
        if self.one("class") not in CLASSES:
            raise ValueError(f"{self.name}: class {self.one('class')}")
        if self.one("unwalled") not in ("safe", "root", "never"):
            raise ValueError(f"{self.name}: unwalled {self.one('unwalled')}")
        for kind in self.kinds(False) + self.kinds(True):
            if kind not in KINDS:
                raise ValueError(f"{self.name}: kind {kind}")
        for check in self.checks:
            if check not in CHECKS:
                raise ValueError(f"{self.name}: check {check}")

    def one(self, key, default=None):
        return self.head[key][0] if key in self.head else default

    def all(self, key):
        return self.head.get(key, [])

    def kinds(self, is_measured):
        """The verdict kinds that are right; more than one only where the kernel decides a race."""
        text = self.one("expect")
        if is_measured:
            text = self.one("expect-measured", text)
        return [kind.strip() for kind in text.split("|")]

    @property
    def checks(self):
        return self.one("check", "").split()

    @property
    def walls(self):
        return self.one("walls", "").split()

    @property
    def limits(self):
        """memory=128M timeout=5s, as flags of viv run."""
        flags = []
        for part in self.one("limits", "").split():
            name, value = part.split("=", 1)
            flags += ["--" + name, value]
        if "--timeout" not in flags:
            flags += ["--timeout", "20s"]
        return flags

    @property
    def flags(self):
        return shlex.split(self.one("flags", ""))

    @property
    def timeout_seconds(self):
        value = self.limits[self.limits.index("--timeout") + 1]
        return float(value[:-2]) / 1000 if value.endswith("ms") else float(value.rstrip("s"))

    def runs_on(self, runtime):
        wanted = self.one("runtime", "all")
        return wanted == "all" or runtime in wanted.split() or (runtime == "auto")

    def source(self):
        """The code that is sent in: the kit and the attack, or a generated source where that is the attack."""
        if "source" in self.head:
            return generate(self.one("source"))
        with open(KIT, encoding="utf-8") as file:
            return file.read() + "\n" + self.text


def generate(text):
    """A source too large or too odd to be kept as a file: products and sums of string literals."""
    def value(node):
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return value(node.left) + value(node.right)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            return value(node.left) * value(node.right)
        raise ValueError(f"source: {text}")
    return value(ast.parse(text, mode="eval").body)


def all_names():
    return sorted(name[:-3] for name in os.listdir(FOLDER) if name.endswith(".py")
                  and name != "run.py")
