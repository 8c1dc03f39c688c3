# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: kernel
# walls: seccomp mount
# unwalled: safe
"""Types into the terminal of whoever started it, or gets a terminal of its own."""
import fcntl
import pty

TIOCSTI, TIOCLINUX, TIOCSCTTY, TIOCCONS = 0x5412, 0x541C, 0x540E, 0x541D
try:
    os.close(os.open("/dev/tty", os.O_RDWR))
    breach("there is a controlling terminal")
except OSError as error:
    held(f"/dev/tty: {name_of(error.errno)}")
attempt("openpty", pty.openpty, by=(ENOENT, EACCES, EPERM, None))
for fd in (0, 1, 2):
    if os.isatty(fd):
        breach(f"descriptor {fd} is a terminal")
    for number in (TIOCSTI, TIOCSTI | 1 << 32, TIOCLINUX, TIOCSCTTY, TIOCCONS):
        buffer = ctypes.create_string_buffer(b"x")
        result, code = call(16, fd, number, buffer)
        if result == 0 or code not in (errno.ENOTTY, EPERM, errno.EINVAL):
            breach(f"ioctl {number:#x} on {fd}: {name_of(code)}")
