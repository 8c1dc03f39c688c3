# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: dos
# walls: rlimit
# unwalled: never
# stdout: EMFILE
"""Opens until nothing opens; the verdict still gets out."""
fds = []
try:
    while len(fds) < 100_000:
        fds.append(os.open("/dev/null", os.O_RDONLY))
    breach("100000 descriptors")
except OSError as error:
    print(f"{len(fds)} descriptors, {name_of(error.errno)}")
