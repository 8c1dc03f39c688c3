# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: privilege
# walls: caps mount user
# unwalled: root
"""Gives a program of its own capabilities, or setuid bits that count."""
base = "/workspace" if WALLED else _args["work"]
path = f"{base}/tool"
with open("/bin/cat", "rb") as source, open(path, "wb") as copy:
    copy.write(source.read())
os.chmod(path, 0o755)
for magic in (struct.pack("<IIIII", 0x02000001, 0xFFFFFFFF, 0, 0x1FF, 0),
              struct.pack("<IIIIII", 0x03000001, 0xFFFFFFFF, 0, 0x1FF, 0, 0)):
    attempt("file capability", os.setxattr, path, "security.capability", magic,
            by=(EPERM, EACCES, errno.ENOTSUP))
for name in ("trusted.x", "security.selinux", "security.ima", "system.posix_acl_access"):
    attempt(f"xattr {name}", os.setxattr, path, name, b"x",
            by=(EPERM, EACCES, errno.ENOTSUP, errno.EINVAL))
try:
    os.chmod(path, 0o6755)
except OSError as error:
    held(f"chmod u+s: {name_of(error.errno)}")
try:
    os.chown(path, 0, 0)
    breach("chown to root")
except OSError as error:
    held(f"chown: {name_of(error.errno)}")
