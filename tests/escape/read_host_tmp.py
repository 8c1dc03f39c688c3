# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: files
# walls: mount
# unwalled: safe
"""Reads what other programs keep in /tmp and /dev/shm."""
steal(_args["tmp_secret"])
steal(_args["shm_secret"])
for folder in ("/tmp", "/dev/shm"):
    for name in os.listdir(folder):
        if _args["mark"] in name or name.startswith("viv-escape-"):
            breach(f"{folder}/{name} of the host is in sight")
