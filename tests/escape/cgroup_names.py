# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: proc
# walls: cgroup
# unwalled: safe
"""Reads how the host names and arranges its control groups."""
with open("/proc/self/cgroup") as file:
    for line in file:
        where = line.rstrip("\n").split(":", 2)[2]
        if where != "/":
            breach(f"cgroup path is {where}")
for pid in (1, os.getpid()):
    try:
        with open(f"/proc/{pid}/cgroup") as file:
            held(f"{pid}: " + " ".join(line.strip() for line in file))
    except OSError as error:
        held(f"{pid}: {name_of(error.errno)}")
for kind in ("cgroup", "cgroup2"):
    result, number = call("mount", b"none", b"/tmp" if WALLED else b"/nowhere", kind.encode(), 0,
                          None)
    if result == 0 or number not in (EPERM, EACCES, ENOSYS):
        breach(f"mount {kind}: {name_of(number)}")
