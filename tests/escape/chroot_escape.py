# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: files
# walls: seccomp caps
# unwalled: root
"""The classic way out of a root: a second chroot, then dot-dots."""
refused("chroot", b"/nowhere/at/all")
refused("pivot_root", b"/nowhere/at/all", b"/nowhere/at/all")
if WALLED:
    os.mkdir("/workspace/jail")
    attempt("chroot to a new folder", os.chroot, "/workspace/jail", by=(EPERM,))
    refused("pivot_root", b".", b".")
