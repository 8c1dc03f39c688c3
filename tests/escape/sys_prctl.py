# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: kernel
# walls: seccomp caps
# unwalled: safe
"""Switches of its own process that would weaken a wall or hide it."""
refused("prctl", 35, 1, 0, 0, 0, by=(EPERM, errno.EINVAL)) if WALLED else None     # PR_SET_MM
for what, words in (("SET_SECUREBITS", (28, 0, 0, 0, 0)), ("CAP_AMBIENT_RAISE", (47, 2, 21, 0, 0)),
                    ("SET_PTRACER", (0x59616D61, -1, 0, 0, 0)), ("MCE_KILL", (33, 1, 1, 0, 0)),
                    ("SET_SPECULATION_CTRL", (53, 0, 1 << 4, 0, 0)),
                    ("SCHED_CORE", (62, 1, 0, 0, 0)),
                    ("SET_IO_FLUSHER", (57, 1, 0, 0, 0)), ("TSC off", (26, 2, 0, 0, 0)),
                    ("SET_SECCOMP strict", (22, 1, 0, 0, 0)), ("unknown", (9999, 0, 0, 0, 0))):
    if not WALLED and what in ("SET_SECCOMP strict", "TSC off"):
        continue
    refused("prctl", *words)
result, number = call("prctl", 39, 0, 0, 0, 0)
if result != 1:
    breach("no_new_privs is off")
