# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: proc
# walls: uts mount
# unwalled: safe
"""Finds out on which machine it runs, and renames it."""
import socket

for what, name in (("uname", os.uname().nodename), ("gethostname", socket.gethostname())):
    if name == _args["host_name"]:
        breach(f"{what} tells {name}")
    else:
        held(f"{what}: {name}")
for path in ("/etc/hostname", "/etc/machine-id", "/var/lib/dbus/machine-id",
             "/proc/sys/kernel/random/boot_id", "/sys/class/dmi/id/product_uuid",
             "/proc/sys/kernel/hostname"):
    try:
        with open(path) as file:
            text = file.read(40)
        if path != "/etc/hostname" or text.strip() == _args["host_name"]:
            breach(f"{path}: {text!r}")
    except OSError as error:
        held(f"{path}: {name_of(error.errno)}")
if WALLED:
    refused("sethostname", b"mine", 4)
    refused("setdomainname", b"mine", 4)
