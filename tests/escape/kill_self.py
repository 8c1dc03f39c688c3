# SPDX-License-Identifier: Apache-2.0
# expect: killed
# class: dos
# unwalled: never
# exit: 137
# signal: 9
# by: supervisor
# message: SIGKILL
"""Ends itself the way the supervisor would: told as killed, not as out of memory."""
os.kill(os.getpid(), signal.SIGKILL)
