# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: proc
# walls: mount
# unwalled: safe
"""Reads and turns the kernel's switches."""
for name in ("kernel/hostname", "kernel/core_pattern", "kernel/random/boot_id",
             "kernel/ngroups_max", "vm/overcommit_memory", "net/ipv4/ip_forward", "fs/file-max",
             "user/max_user_namespaces", "kernel/ns_last_pid", "fs/binfmt_misc/register",
             "kernel/modprobe"):
    path = "/proc/sys/" + name
    for flags, word in ((os.O_RDONLY, "read"), (os.O_WRONLY, "write")):
        try:
            os.close(os.open(path, flags))
            breach(f"{word} {path}")
        except OSError as error:
            held(f"{word} {path}: {name_of(error.errno)}")
