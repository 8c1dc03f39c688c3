# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: leftovers
# walls: mount
# unwalled: safe
# repeat: 2
"""Leaves files wherever it can, and looks for those of the run before."""
places = ["/tmp", "/dev/shm", "/workspace", "/var/tmp", os.path.expanduser("~"), os.getcwd()]
for folder in dict.fromkeys(places):
    path = os.path.join(folder, _args["mark"] + ".left")
    if os.path.exists(path):
        breach(f"{path} of an earlier run is there")
    try:
        with open(path, "w") as file:
            file.write("left")
        held(f"left {path}")
    except OSError as error:
        held(f"{folder}: {name_of(error.errno)}")
if WALLED:
    for folder in ("/tmp", "/dev/shm", "/workspace"):
        names = [name for name in os.listdir(folder) if not name.startswith(_args["mark"])]
        if names:
            breach(f"{folder} was not empty: {names[:5]}")
