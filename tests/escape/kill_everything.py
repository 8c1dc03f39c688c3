# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: forge
# walls: seccomp pid
# unwalled: never
# stdout: still here
"""Kills all that it may: the filter refuses the broadcast."""
attempt("kill(-1)", os.kill, -1, signal.SIGKILL, by=(EPERM,))
attempt("kill(-1) of 32 bits", lambda: None if call("kill", 0xFFFFFFFF, 9)[0] == 0
        else os.kill(-1, 9), by=(EPERM,))
print("still here")
