# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: kernel
# walls: seccomp
# unwalled: safe
"""Stops the kernel in the middle of a copy: the helper of half of all exploits."""
refused("userfaultfd", 0)
refused("userfaultfd", 1)
refused("userfaultfd", os.O_CLOEXEC | os.O_NONBLOCK | 1)
