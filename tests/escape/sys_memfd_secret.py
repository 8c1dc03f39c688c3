# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: kernel
# walls: seccomp
# unwalled: safe
"""Memory that the kernel itself cannot see, nor count; and marks on the whole file system."""
result, number = call("memfd_secret", 0)
if number not in (EPERM, ENOSYS) or (not WALLED and number == ENOSYS):
    breach(f"memfd_secret reached the kernel: {name_of(number)}")
refused("fanotify_init", 0x200, 0)
refused("fanotify_mark", -1, 1, 0, -100, b"/")
