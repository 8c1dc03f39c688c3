# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: dos
# walls: seccomp
# unwalled: safe
"""Makes the host's disk work: /usr is on it, and an open file of it is enough.

fsync of an unchanged file still makes the disk empty its cache, some ten thousand times a second. A
filter that answers by itself says 0 for a pipe, too; the kernel does not.
"""
PYTHON = os.path.realpath("/usr/bin/python3")

reader, writer = os.pipe()
for name, function in (("fsync", os.fsync), ("fdatasync", os.fdatasync)):
    try:
        function(writer)
        held(f"{name} does nothing: all that can be written is memory")
    except OSError as error:
        breach(f"{name} reaches the kernel: {name_of(error.errno)}")
attempt("read past the page cache", os.open, PYTHON, os.O_RDONLY | os.O_DIRECT,
        by=(EPERM, errno.EINVAL))
