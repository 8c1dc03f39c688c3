# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: files
# walls: seccomp caps mount
# unwalled: root
"""Makes the read-only root writable, and takes covers off."""
MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE, MS_MOVE, MNT_DETACH = 32, 4096, 16384, 1 << 18, 8192, 2
refused("mount", b"none", b"/nowhere/at/all", b"tmpfs", 0, None)
refused("umount2", b"/nowhere/at/all", MNT_DETACH)
if WALLED:
    for where in (b"/", b"/usr", b"/proc", b"/etc", b"/viv"):
        refused("mount", None, where, None, MS_REMOUNT | MS_BIND, None)
        refused("umount2", where, MNT_DETACH)
    refused("mount", b"/workspace", b"/usr", None, MS_BIND, None)
    refused("mount", b"proc", b"/proc", b"proc", 0, None)
    refused("mount", b"/usr", b"/workspace", None, MS_MOVE, None)
