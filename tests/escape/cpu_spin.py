# SPDX-License-Identifier: Apache-2.0
# expect: timeout
# class: dos
# limits: timeout=1500ms
# unwalled: never
# by: supervisor
# stdout: before
# within: 8s
"""Never ends; what was printed before is kept."""
print("before", flush=True)
while True:
    pass
