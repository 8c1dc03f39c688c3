# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: proc
# walls: mount
# unwalled: safe
"""Reads the host's paths off the list of mounts."""
words = [_args["viv_folder"], _args["folder"], "/home/", "/root", "overlay2", "/var/lib"]
for name in ("mountinfo", "mounts", "mountstats", "maps", "cgroup", "smaps"):
    try:
        with open(f"/proc/self/{name}") as file:
            text = file.read()
    except OSError as error:
        held(f"{name}: {name_of(error.errno)}")
        continue
    for word in words:
        if word in text:
            line = next(line for line in text.splitlines() if word in line)
            breach(f"/proc/self/{name} tells {word}: {line[:200]}")
    if not WALLED and name == "mounts":
        breach("the list of mounts is the host's: " + text[:80])
