# SPDX-License-Identifier: Apache-2.0
# expect: killed | ok
# class: forge
# walls: user mount pid net ipc uts cgroup fds rlimit caps landlock seccomp
# unwalled: never
# within: 15s
"""Introduces itself again, with other walls: the first report stands."""
os.write(3, struct.pack("<IHHQII", 16, 1, 0, 0, 2, 0) + struct.pack("<IIII", 1, 0, 0, 1))
print("hello again")
