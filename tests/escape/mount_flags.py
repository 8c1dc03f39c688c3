# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: files
# walls: mount
# unwalled: safe
"""Every mount: nosuid, nodev where written, read-only except three."""
writable = {"/workspace", "/tmp", "/dev/shm"}
with open("/proc/self/mountinfo") as file:
    for line in file:
        left, right = line.split(" - ")
        fields = left.split()
        where, options = fields[4], fields[5].split(",")
        if where not in writable and "ro" not in options and not where.startswith("/dev/"):
            breach(f"{where} is mounted {options}")
        if "nosuid" not in options and not where.startswith("/dev/"):
            breach(f"{where} lacks nosuid")
        if where in writable and "nodev" not in options:
            breach(f"{where} lacks nodev")
        if any(word.startswith(("shared:", "master:")) for word in fields[6:]):
            breach(f"{where} propagates: {fields[6:]}")
        if right.split()[0] in ("sysfs", "cgroup", "cgroup2", "debugfs", "tracefs", "securityfs",
                                "bpf", "devpts", "mqueue", "configfs", "fusectl",
                                "binfmt_misc"):
            breach(f"{where} is a {right.split()[0]}")
