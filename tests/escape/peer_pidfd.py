# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: proc
# walls: seccomp
# unwalled: safe
"""Asks its channel who is at the other end: a handle on that process, labels, the host's counters."""
import socket

PEERSEC, COOKIE, PEERGROUPS, NETNS_COOKIE, PEERPIDFD = 31, 57, 59, 71, 77

end = socket.socket(fileno=os.dup(3)) if WALLED else socket.socketpair()[0]
for name, option, size in (("SO_PEERPIDFD", PEERPIDFD, 4), ("SO_PEERSEC", PEERSEC, 256),
                           ("SO_PEERGROUPS", PEERGROUPS, 256), ("SO_COOKIE", COOKIE, 8),
                           ("SO_NETNS_COOKIE", NETNS_COOKIE, 8)):
    try:
        answer = end.getsockopt(socket.SOL_SOCKET, option, size)
    except OSError as error:
        held(f"{name}: {name_of(error.errno)}")
        continue
    what = ""
    if option == PEERPIDFD:
        fd = struct.unpack("i", answer)[0]
        what = f", {os.readlink(f'/proc/self/fd/{fd}')} of inode {os.fstat(fd).st_ino}"
    breach(f"{name} of the channel: {answer!r}{what}")
