# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: files
# walls: mount
# shown: yes
# unwalled: safe
"""A named pipe in a folder that is shown: what is in it was meant for another reader."""
path = os.path.join(_args["shown"], "pipe")
try:
    text = os.read(os.open(path, os.O_RDONLY | os.O_NONBLOCK), 200)
    if text:
        breach(f"{path}: {text!r}")
    held(f"{path}: nothing in it")
except OSError as error:
    held(f"{path}: {name_of(error.errno)}")
for flags in (os.O_WRONLY, os.O_RDWR):
    try:
        os.write(os.open(path, flags | os.O_NONBLOCK), b"from inside")
        breach(f"{path}: written")
    except OSError as error:
        held(f"{path}: {name_of(error.errno)}")
