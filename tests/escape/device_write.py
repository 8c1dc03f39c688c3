# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: files
# walls: mount landlock
# unwalled: never
"""Replaces or changes the few devices that there are."""
by = (EPERM, EACCES, errno.EROFS, errno.EBUSY)
for name in ("null", "zero", "full", "random", "urandom"):
    attempt(f"unlink /dev/{name}", os.unlink, f"/dev/{name}", by=by)
    attempt(f"chmod /dev/{name}", os.chmod, f"/dev/{name}", 0o600, by=by)
    attempt(f"rename /dev/{name}", os.rename, f"/dev/{name}", f"/dev/{name}.old", by=by)
attempt("symlink in /dev", os.symlink, "/workspace", "/dev/link", by=by)
for number in (0x5202, 0x5203, 0x5206,
               0x5207):  # RNDADDTOENTCNT, RNDADDENTROPY, RNDCLEARPOOL, RNDRESEEDCRNG
    import fcntl
    with open("/dev/urandom", "rb") as file:
        attempt(f"ioctl {number:#x} on urandom", fcntl.ioctl, file, number, 0,
                by=(EPERM, EACCES, errno.ENOTTY))
