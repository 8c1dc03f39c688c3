# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: privilege
# walls: user
# unwalled: safe
"""One id is mapped and no more; the map cannot be written again."""
for name in ("uid_map", "gid_map"):
    with open(f"/proc/self/{name}") as file:
        rows = [line.split() for line in file]
    if len(rows) != 1 or rows[0][2] != "1":
        breach(f"{name} is {rows}")
    try:
        with open(f"/proc/self/{name}", "w") as file:
            file.write("0 0 1\n")
        breach(f"{name} written")
    except OSError as error:
        held(f"{name}: {name_of(error.errno)}")
with open("/proc/self/setgroups") as file:
    if file.read().strip() != "deny":
        breach("setgroups is allowed")
if len(os.getgroups()) > 1:
    breach(f"groups: {os.getgroups()}")
