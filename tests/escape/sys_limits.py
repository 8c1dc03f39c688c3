# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: kernel
# walls: rlimit seccomp
# unwalled: safe
"""Raises its own limits, sets those of others, and its place in every queue."""
import resource

most = dict(NOFILE=4096, CORE=1, MEMLOCK=64 << 10, MSGQUEUE=0, RTPRIO=0, NICE=0, SIGPENDING=256)
for what, ceiling in most.items():
    number = getattr(resource, "RLIMIT_" + what, {"SIGPENDING": 11}.get(what))
    soft, hard = resource.getrlimit(number)
    if hard == resource.RLIM_INFINITY or hard > ceiling:
        breach(f"{what} is {hard}, above {ceiling}")
        continue
    try:
        resource.setrlimit(number, (hard + 1, hard + 1))
        breach(f"{what} raised above {hard}")
    except (ValueError, OSError) as error:
        held(f"{what} {hard}: {error}")
attempt("nice -20", os.setpriority, os.PRIO_PROCESS, 0, -20) if WALLED else None
for policy in (os.SCHED_FIFO, os.SCHED_RR):
    if WALLED:
        attempt(f"policy {policy}", os.sched_setscheduler, 0, policy, os.sched_param(1))
if WALLED:
    refused("ioprio_set", 1, 0, 1 << 13)
