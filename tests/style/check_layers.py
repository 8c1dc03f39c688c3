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
    "relay": ["base", "proto"],
    "obs": ["base"],
    "http": ["base"],
    "document": ["base"],
    "backend": ["base", "policy", "proto"],
    "session": ["base", "policy", "proto", "backend", "obs"],
    "op": ["base", "policy", "proto", "backend", "session", "document", "obs"],
    "api": ["base", "policy", "proto", "backend", "session", "op", "obs", "http"],
    "page": ["base", "op", "api"],
    "mcp": ["base", "policy", "proto", "backend", "session", "op", "obs", "api"],
    # A door may have a command of `viv` as well (`viv compat`).
    "door": ["base", "policy", "proto", "backend", "session", "document", "op", "obs", "api",
             "mcp/mcp.h", "cli/cmd.h", "cli/trial.h"],
    "daemon": ["base", "policy", "proto", "backend", "session", "document", "op", "obs", "http", "api",
               "page", "door"],
    "cli": ["base", "policy", "proto", "backend", "session", "op", "door/config_table.h"],
}
# Launch's protocol is spoken inside one backend. Nothing above it knows how sandboxes are built;
# the daemon's minder starts launch, so that it outlives a daemon.
INSIDE = {
    "backend/namespace/": ["backend", "daemon"],
    "proto/launch_msg.h": ["backend", "launch", "runner", "proto"],
}
# These speak of a backend or a box, never of the program behind one.
ABOVE_BACKENDS = ["http", "document", "session", "op", "api", "page", "mcp", "door"]
LAUNCH = re.compile("launch", re.IGNORECASE)
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')


def check_include(src, path, folder, target):
    """The complaint about including `target` in a file of `folder`, at `path`; None: it is allowed."""
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


def dialects(src):
    """Matches the name of any dialect: each has a folder of that name."""
    door = os.path.join(src, "door")
    names = [name for name in sorted(os.listdir(door)) if os.path.isdir(os.path.join(door, name))] \
        if os.path.isdir(door) else []
    return re.compile(f"(?<![a-z])({'|'.join(names)})", re.IGNORECASE) if names else None


def check_file(src, path, foreign):
    folder = os.path.relpath(path, src).split(os.sep)[0]
    if folder not in ALLOWED:
        return [(path, 1, f"src/{folder} is not in the table of layers")]
    found = []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if foreign and folder != "door" and foreign.search(line):
                found.append((path, number, f"{foreign.search(line).group()}: a dialect is known in src/door only"))
            if folder in ABOVE_BACKENDS and LAUNCH.search(line):
                found.append((path, number, "launch is known below the box only: say backend or box"))
            match = INCLUDE.match(line)
            wrong = check_include(src, path, folder, match.group(1)) if match else None
            if wrong:
                found.append((path, number, wrong))
    return found


def check(src):
    """All that is wrong below `src`, as (path, line, message); and how many files were read."""
    found, count = [], 0
    foreign = dialects(src)
    for folder, _, names in sorted(os.walk(src)):
        for name in sorted(names):
            if name.endswith((".c", ".h")):
                found += check_file(src, os.path.join(folder, name), foreign)
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
