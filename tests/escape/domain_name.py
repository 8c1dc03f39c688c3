# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: proc
# walls: uts
# unwalled: safe
"""The other name of a machine: uname tells its NIS domain, which a new namespace inherits."""
FIELD = 65  # of struct utsname; the domain is the last of six

names = ctypes.create_string_buffer(6 * FIELD)
if _libc.uname(names) != 0:
    raise OSError(ctypes.get_errno(), "uname")
domain = names.raw[5 * FIELD:].split(b"\0")[0].decode()
if domain == "vivarium":
    held("the domain is the sandbox's own")
else:
    breach(f"the domain name is the host's: {domain!r}")
