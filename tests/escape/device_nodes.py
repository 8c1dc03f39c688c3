# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: files
# walls: mount landlock
# unwalled: safe
"""Looks for devices that lead to memory, disks, terminals or networks."""
allowed = {"null", "zero", "full", "random", "urandom", "shm", "fd", "stdin", "stdout", "stderr"}
for name in os.listdir("/dev"):
    if name not in allowed:
        breach(f"/dev/{name} is there")
for name in ("mem", "kmem", "port", "kmsg", "vda", "sda", "loop0", "loop-control", "fuse", "kvm",
             "tty", "tty0", "console", "ptmx", "pts/ptmx", "net/tun", "vsock", "userfaultfd",
             "cpu_dma_latency", "rtc0", "watchdog", "vhost-net", "dri/card0", "hwrng",
             "mqueue"):
    try:
        os.close(os.open(f"/dev/{name}", os.O_RDWR | os.O_NONBLOCK | os.O_NOCTTY))
        breach(f"/dev/{name} opens")
    except OSError as error:
        held(f"/dev/{name}: {name_of(error.errno)}")
