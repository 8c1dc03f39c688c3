# SPDX-License-Identifier: Apache-2.0
# expect: exit
# class: forge
# unwalled: never
# exit: 7
# by: supervisor
# stdout: another program
"""Becomes another program: its exit code counts."""
print("before", flush=True)
os.execv("/bin/sh", ["sh", "-c", "echo another program; exit 7"])
