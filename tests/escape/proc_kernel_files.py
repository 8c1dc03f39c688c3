# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: proc
# walls: mount
# unwalled: safe
"""Opens the files of /proc and /sys that speak for the whole machine."""
for name in ("sysrq-trigger", "kcore", "kallsyms", "keys", "key-users", "timer_list", "interrupts",
             "modules", "config.gz", "meminfo", "cpuinfo", "stat", "vmstat", "slabinfo", "iomem",
             "ioports", "schedstat", "sched_debug", "kmsg", "vmallocinfo", "pagetypeinfo", "acpi",
             "scsi", "bus", "fs", "irq", "tty", "driver", "partitions", "diskstats", "loadavg",
             "uptime", "version", "cmdline", "devices", "mtrr", "swaps", "locks",
             "latency_stats"):
    path = "/proc/" + name
    for flags in (os.O_RDONLY, os.O_WRONLY):
        try:
            os.close(os.open(path, flags))
            breach(f"{path} opens")
        except OSError as error:
            held(f"{path}: {name_of(error.errno)}")
for path in ("/sys/kernel", "/sys/fs/cgroup", "/sys/class/net", "/sys/kernel/debug",
             "/sys/kernel/security", "/sys/firmware",
             "/sys/devices/virtual/dmi/id/product_uuid"):
    if os.path.exists(path):
        breach(f"{path} is there")
