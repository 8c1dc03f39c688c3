# SPDX-License-Identifier: Apache-2.0
# expect: exit | backend
# class: forge
# unwalled: never
# limits: timeout=20s
# within: 15s
"""Cuts the line to the outside and goes on: the end is told by facts."""
os.close(3)
print("still here", flush=True)
os._exit(4)
