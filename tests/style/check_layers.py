# SPDX-License-Identifier: Apache-2.0
"""Do dependencies point one way? Reads every #include "..." below src/.

    check_layers.py [SRC]     prints what is wrong as file:line: message; status 1 if anything is
"""

import os
import re
import sys

# The unprivileged side stands on the whole of policy; the privileged side knows a plan and no more.
PLAN = "policy/plan.h"

# A folder may include from itself and from what is listed: folders whole, or single headers.
ALLOWED = {
    "base": [],
    "policy": ["base"],
    "proto": ["base", PLAN],
    "walls": ["base", "proto", PLAN],
    "launch": ["base", "proto", "walls", PLAN],
    "runner": ["base", "proto", "walls", PLAN],
    "obs": ["base"],
    "http": ["base"],
    "backend": ["base", "policy", "proto"],
    "session": ["base", "policy", "proto", "backend", "obs"],
    "op": ["base", "policy", "proto", "backend", "session", "obs"],
    "api": ["base", "policy", "proto", "backend", "session", "op", "obs", "http"],
    "page": ["base", "op", "api"],
    "mcp": ["base", "policy", "proto", "backend", "session", "op", "obs", "api"],
    "door": ["base", "policy", "proto", "backend", "session", "op", "obs", "api", "mcp/mcp.h"],
    "daemon": ["base", "policy", "proto", "backend", "session", "op", "obs", "http", "api", "page",
               "door"],
    # A door's own command line (`viv compat`) gives its answers in its dialect.
    "cli": ["base", "policy", "proto", "backend", "session", "op", "door"],
}
# What speaks launch's protocol is inside one backend. Nobody above it knows how sandboxes are built;
# whoever starts programs of ours may ask where they are.
INSIDE = {
    "backend/namespace/": ["backend", "daemon", "cli"],
    "proto/launch_msg.h": ["backend", "launch", "runner", "proto"],
}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')


def check_include(src, path, folder, target):
    """What is wrong with including `target` in a file of `folder`, at `path`; None when nothing is."""
    if "/" not in target or target.startswith("."):
        return f'include "{target}" from src/, so that its folder shows'
    if not os.path.isfile(os.path.join(src, target)):
        return f'there is no src/{target}'
    for inside, allowed in INSIDE.items():
        if target.startswith(inside) and folder not in allowed:
            return f"{folder} may not include {target}: it is the inside of a backend"
    to_folder = target.split("/")[0]
    door = f"{folder}/{os.path.basename(os.path.dirname(path))}/"
    if folder == to_folder == "door" and target.count("/") == 2 and not target.startswith(door):
        return f"{path} may not include {target}: a door knows no other door"
    if to_folder == folder or to_folder in ALLOWED[folder] or target in ALLOWED[folder]:
        return None
    return f"{folder} may not include {target}: dependencies point the other way"


def check_file(src, path):
    folder = os.path.relpath(path, src).split(os.sep)[0]
    if folder not in ALLOWED:
        return [(path, 1, f"src/{folder} is not in the table of layers")]
    found = []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            match = INCLUDE.match(line)
            wrong = check_include(src, path, folder, match.group(1)) if match else None
            if wrong:
                found.append((path, number, wrong))
    return found


def check(src):
    """All that is wrong below `src`, as (path, line, message); and how many files were read."""
    found, count = [], 0
    for folder, _, names in sorted(os.walk(src)):
        for name in sorted(names):
            if name.endswith((".c", ".h")):
                found += check_file(src, os.path.join(folder, name))
                count += 1
    return found, count


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    src = sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "..", "..", "src")
    found, _ = check(os.path.normpath(src))
    for path, line, message in found:
        print(f"{path}:{line}: {message}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
