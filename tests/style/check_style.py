# SPDX-License-Identifier: Apache-2.0
"""Rules that no formatter or linter checks: lengths, header comments, licence lines, words.

    check_style.py [ROOT]     prints what is wrong as file:line: message; status 1 if anything is
"""

import ast
import os
import re
import sys

BOOT_LINES = 300  # what is compiled and loaded in every sandbox
FUNCTION_LINES = 60
CODE = (".c", ".h", ".py")
SPDX = "SPDX-License-Identifier: Apache-2.0"

# Unfinished work belongs in an issue, and nothing here speaks of how or where it was written.
WORDS = re.compile(r"\b(TODO|FIXME|XXX|HACK|WIP)\b")
STRING = re.compile(r'"(\\.|[^"\\])*"')
EVENT = re.compile(r'log_event\(\s*\w+,\s*"(?![a-z_]+(\.[a-z_]+)+")')


def check_head(path, lines):
    """The licence is in the first line, or in the second below a #! line."""
    at = 1 if lines and lines[0].startswith("#!") else 0
    if len(lines) <= at or SPDX not in lines[at]:
        yield at + 1, f"line {at + 1} must say {SPDX}"
    if not path.endswith(".h"):
        return
    head = "\n".join(lines[1:40]).split("*/")[0]
    if not re.match(r"/\*\n \* \w.* - \S", head):
        yield 2, "a header begins with a comment `Name - what it is`"
    if "\n * Owns: " not in head:
        yield 2, "the header comment does not say what the file owns"
    if not any(line == "#pragma once" for line in lines):
        yield 1, "a header has #pragma once"


def check_size(path, lines):
    if "/runner/boot/" in path and len(lines) > BOOT_LINES:
        yield BOOT_LINES + 1, f"{len(lines)} lines; at {BOOT_LINES} split by subject"


def check_c_functions(lines):
    """In formatted code a function's braces stand alone at the left edge."""
    begin = None
    for number, line in enumerate(lines, 1):
        if line == "{":
            begin = number
        elif line == "}" and begin:
            if number - begin - 1 > FUNCTION_LINES:
                yield begin, f"function of {number - begin - 1} lines; {FUNCTION_LINES} fit a screen"
            begin = None


def check_python_functions(lines):
    for node in ast.walk(ast.parse("\n".join(lines))):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            length = node.end_lineno - node.lineno + 1
            if length > FUNCTION_LINES:
                yield node.lineno, f"function of {length} lines; {FUNCTION_LINES} fit a screen"


def check_words(lines):
    for number, line in enumerate(lines, 1):
        match = WORDS.search(line)
        if match:
            yield number, f"must not appear: {match.group(0)}"


def check_c_lines(lines):
    for number, line in enumerate(lines, 1):
        if "//" in STRING.sub('""', line) and not re.search(r"// (SPDX|NOLINT|clang-format|cppcheck)", line):
            yield number, "// is for SPDX and tool switches; comments are /* */"
        if EVENT.search(line):
            yield number, "a log event has a fixed dotted name"
        if "NOLINT" in line and not re.search(r"NOLINT\w*(\([\w.,* -]+\))?:? *\S", line):
            yield number, "a suppression carries its reason on the line"


def check_file(path):
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    if lines and lines[-1] == "":
        lines.pop()
    found = list(check_head(path, lines)) + list(check_size(path, lines)) + list(check_words(lines))
    if path.endswith((".c", ".h")):
        found += list(check_c_functions(lines)) + list(check_c_lines(lines))
    elif path.endswith(".py"):
        found += list(check_python_functions(lines))
    return [(path, line, message) for line, message in found]


def is_ours(path, name):
    """Sources and scripts. Attacks are programs of an enemy, and these checks name the words."""
    if any(path.endswith(end) for end in ("/tests/escape/", "/tests/style/", "/corpus/")):
        return name == "run.py"
    if name.endswith(CODE):
        return True
    with open(os.path.join(path, name), "rb") as file:
        return file.read(2) == b"#!"


def check(root):
    """All that is wrong below `root`, as (path, line, message); and how many files were read."""
    found, count = [], 0
    for top in ("src", "tests", "scripts", "bench", ".ci"):
        for folder, folders, names in sorted(os.walk(os.path.join(root, top))):
            folders[:] = [name for name in folders if name != "__pycache__"]
            for name in sorted(names):
                if is_ours(folder + "/", name):
                    found += check_file(os.path.join(folder, name))
                    count += 1
    return found, count


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "..", "..")
    found, _ = check(os.path.normpath(root))
    for path, line, message in found:
        print(f"{path}:{line}: {message}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
