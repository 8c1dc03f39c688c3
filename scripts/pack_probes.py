# SPDX-License-Identifier: Apache-2.0
"""Audit's probes as a C table: pack_probes.py PRELUDE CODA WALL.py ... > FILE.c

A file holds the attacks on the wall it is named after, in order. Each begins with `# probe: NAME` and `# tries: WHAT`, and
may say `# ends: VERDICTS` (how a held wall ends it, unless ok), `# control: any|root` (who sees it succeed outside of a
sandbox) and `# needs: cgroup`.
"""

import os
import re
import sys

FIELD = re.compile(r"# (probe|tries|ends|control|needs): (.+)")
CONTROLS = {"any": "CONTROL_ANY", "root": "CONTROL_ROOT", "none": "CONTROL_NONE"}


def code_of(path):
    """The lines below the comment that begins a file."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    while lines and (lines[0].startswith("# ") and not FIELD.match(lines[0]) or not lines[0]):
        del lines[0]
    return lines


def literal(lines):
    """A C string, one line of it per line of code."""
    def quote(line):
        return line.replace("\\", "\\\\").replace('"', '\\"')
    return "\n".join(f'\t"{quote(line)}\\n"' for line in lines)


def probes_of(path):
    """The probes of one file: their fields and their code."""
    found = []
    for line in code_of(path):
        match = FIELD.fullmatch(line)
        if match and match.group(1) == "probe":
            found.append(({"wall": os.path.basename(path)[:-3]}, []))
        if not found:
            sys.exit(f"{path}: code stands before the first probe")
        fields, code = found[-1]
        if match and not code:
            fields[match.group(1)] = match.group(2)
        else:
            code.append(line)
    for _, code in found:
        while code and not code[-1]:
            del code[-1]
    return found


def row(fields, code):
    ends = f'"{fields["ends"]}"' if "ends" in fields else "NULL"
    needs = int(fields.get("needs") == "cgroup")
    return (f'{{.wall = WALL_{fields["wall"].upper()}, .name = "{fields["probe"]}", .tries = "{fields["tries"]}",\n'
            f' .ends = {ends}, .control = {CONTROLS[fields.get("control", "none")]}, .needs_cgroup = {needs},\n'
            f' .code =\n{literal(code)}}},')


def main():
    prelude, coda, *walls = sys.argv[1:]
    print('#include "base/c.h"\n#include "cli/audit.h"\n')
    print(f"const char audit_prelude[] =\n{literal(code_of(prelude))};\n")
    print(f"const char audit_coda[] =\n{literal([''] + code_of(coda))};\n")
    print("const struct audit_probe audit_probes[] = {")
    for path in walls:
        for fields, code in probes_of(path):
            print(row(fields, code))
    print("};\nconst size_t audit_probe_count = ARRAY_LEN(audit_probes);")


if __name__ == "__main__":
    main()
