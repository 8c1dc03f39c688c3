# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: kernel
# walls: seccomp caps
# unwalled: root
"""Modules, reboot, kexec, swap, accounting, kernel log."""
refused("reboot", 1, 2, 3, None)
refused("kexec_load", 0, 99999, None, 0)
refused("kexec_file_load", -1, -1, 0, None, 999)
refused("init_module", None, 0, b"")
refused("finit_module", -1, b"", 999)
refused("delete_module", b"no_such_module_at_all", os.O_NONBLOCK)
refused("swapon", b"/nowhere/at/all", 0)
refused("swapoff", b"/nowhere/at/all")
refused("acct", b"/nowhere/at/all")
refused("quotactl", 0, b"/nowhere/at/all", 0, None)
refused("quotactl_fd", -1, 0, 0, None)
refused("syslog", 99, None, 0)
refused("lookup_dcookie", 0, None, 0)
if WALLED:
    refused("vhangup")
    refused("sethostname", b"x", 1)
