# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: proc
# walls: pid landlock
# unwalled: safe
"""Signals a process of the same user on the host, and asks for its particulars."""
victim = _args["victim"]
attempt("kill", os.kill, victim, 0, by=(EPERM, errno.ESRCH))
attempt("getpgid", os.getpgid, victim, by=(EPERM, errno.ESRCH))
attempt("getsid", os.getsid, victim, by=(EPERM, errno.ESRCH))
attempt("getpriority", os.getpriority, os.PRIO_PROCESS, victim, by=(EPERM, errno.ESRCH))
attempt("affinity", os.sched_getaffinity, victim, by=(EPERM, errno.ESRCH))
attempt("pidfd", os.pidfd_open, victim, by=(EPERM, errno.ESRCH))
attempt("killpg", os.killpg, victim, 0, by=(EPERM, errno.ESRCH))
if WALLED:
    os.setpriority(os.PRIO_PROCESS, 0, 5)
    attempt("stop", os.kill, victim, signal.SIGSTOP, by=(EPERM, errno.ESRCH))
