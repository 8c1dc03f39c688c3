# SPDX-License-Identifier: Apache-2.0
"""Which machine a figure is from: what explains it, and no name by which it could be found."""

import os
import re
import subprocess

PYTHON = "/usr/bin/python3"


def first_match(path, pattern, default):
    try:
        with open(path, encoding="utf-8") as file:
            match = re.search(pattern, file.read(), re.M)
    except OSError:
        match = None
    return match.group(1).strip() if match else default


def is_virtual():
    """The cpu flag every hypervisor sets for its guests."""
    return "hypervisor" in first_match("/proc/cpuinfo", r"^flags\s*:(.*)$", "").split()


def describe():
    python = subprocess.run([PYTHON, "-c", "import platform; print(platform.python_version())"],
                            stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    memory_kib = int(first_match("/proc/meminfo", r"^MemTotal:\s*(\d+)", "0"))
    return {
        "cpu": re.sub(r"\s+", " ", first_match("/proc/cpuinfo", r"^model name\s*:(.*)$", "unknown")),
        "cores": len(os.sched_getaffinity(0)),
        "virtual": is_virtual(),
        "memory_gib": round(memory_kib / 1024**2, 1),
        "kernel": re.match(r"[\d.]+", os.uname().release).group(0).rstrip("."),
        "distribution": first_match("/etc/os-release", r'^PRETTY_NAME="?([^"\n]*)', "unknown"),
        "python": python,
        "root": os.geteuid() == 0,
    }


def memory_available():
    """Bytes that new processes could have."""
    return int(first_match("/proc/meminfo", r"^MemAvailable:\s*(\d+)", "0")) * 1024


def kind(machine):
    """A short word for file names: vendor, virtual or not, cores."""
    cpu = machine["cpu"].lower()
    vendor = next((word for word in ("xeon", "epyc", "ryzen", "core", "neoverse") if word in cpu), "cpu")
    return f"{vendor}-{'vm' if machine['virtual'] else 'metal'}-{machine['cores']}c"
