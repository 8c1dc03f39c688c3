# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: proc
# walls: seccomp pid
# unwalled: root
"""Joins the namespaces of another process."""
pids = ["1", str(os.getppid()), "self"] if WALLED else ["self"]
for pid in pids:
    for kind in ("user", "mnt", "pid", "net", "ipc", "uts", "cgroup", "time"):
        try:
            fd = os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY)
        except OSError as error:
            held(f"{pid} {kind}: {name_of(error.errno)}")
            continue
        refused("setns", fd, 0)
refused("setns", -1, 0)
