# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: kernel
# walls: seccomp
# unwalled: safe
"""The new way to mount: trees as descriptors."""
refused("open_tree", -100, b"/nowhere/at/all", 0)
refused("open_tree", -100, b"/", 1)
refused("fsopen", b"tmpfs", 99)
refused("fsconfig", -1, 0, None, None, 0)
refused("fsmount", -1, 0, 0)
refused("fspick", -100, b"/nowhere/at/all", 0)
refused("move_mount", -1, b"", -100, b"/nowhere/at/all", 4)
refused("mount_setattr", -100, b"/nowhere/at/all", 0, None, 0)
refused("statmount", None, None, 0, 0)
refused("listmount", None, None, 0, 0)
