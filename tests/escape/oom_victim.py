# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: dos
# unwalled: safe
"""Some kernel memory is nobody's (file locks): if the host runs out, who is killed first?"""
import fcntl

MOST = "1000"

with open("/proc/self/oom_score_adj") as file:
    own = file.read().strip()
if own == MOST:
    held("the sandbox goes before anything else of the host")
else:
    breach(f"oom_score_adj is {own}: the host's other processes may be killed instead")
attempt("leave the front of the queue", open, "/proc/self/oom_score_adj", "w",
        by=(EPERM, EACCES, errno.EROFS))

# 6,000 locks are no harm; that they all go, and fast, with the run is judged from outside. More than 8,192 end the run:
# memory_locks.
for number in range(100):
    fd = os.open(f"/tmp/lock{number}" if WALLED else f"{_args['work']}/lock{number}",
                 os.O_RDWR | os.O_CREAT)
    for at in range(60):
        fcntl.lockf(fd, fcntl.LOCK_EX, 1, 2 * at)
