# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: files
# walls: mount landlock
# unwalled: safe
"""Reads what the user keeps in the home folder, and lists homes."""
steal(_args["home_secret"])
for folder in ("/home", "/root", os.path.dirname(_args["home_secret"])):
    try:
        breach(f"list {folder}: {os.listdir(folder)}")
    except OSError as error:
        held(f"list {folder}: {name_of(error.errno)}")
