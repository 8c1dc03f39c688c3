# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: kernel
# walls: seccomp
# unwalled: safe
"""Numbers that this filter was not written for: newer kernels must not open doors."""
for number in (*range(463, 512), 600, 1000, 0x3FFFFFFF):
    result, code = call(number, -1, 0, 0, 0, 0, 0)
    if result != -1 or code not in (ENOSYS, EPERM):
        breach(f"number {number}: {name_of(code)}")
held("unknown numbers")
