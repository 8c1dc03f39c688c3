# SPDX-License-Identifier: Apache-2.0
# expect: timeout
# class: proc
# walls: user mount pid net ipc uts cgroup caps seccomp
# limits: timeout=3s
# unwalled: never
# check: outside_view
"""Stands still, so that it can be looked at from outside: filter, capabilities, ids, namespaces."""
signal.pause()
