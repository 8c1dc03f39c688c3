# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: files
# walls: mount landlock
# unwalled: safe
# limits: timeout=60s
"""Tries every folder it can see: only three trees may take a file."""
allowed = ("/workspace", "/tmp", "/dev/shm")
roots = ["/"] if WALLED else [_args["target_dir"], "/var/tmp"]
seen = set()
for root in roots:
    for base, folders, files in os.walk(root):
        if base.startswith("/proc"):
            folders[:] = []
            continue
        if any(base == place or base.startswith(place + "/") for place in allowed) and WALLED:
            continue
        try:
            os.close(os.open(f"{base}/{_args['mark']}", os.O_CREAT | os.O_EXCL | os.O_WRONLY,
                             0o600))
            os.unlink(f"{base}/{_args['mark']}")
            breach(f"{base} is writable")
        except OSError as error:
            seen.add(error.errno)
held("elsewhere: " + " ".join(sorted(name_of(number) for number in seen)))
if WALLED:
    for place in allowed:
        with open(f"{place}/{_args['mark']}", "w") as file:
            file.write("x")
