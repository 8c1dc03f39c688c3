# SPDX-License-Identifier: Apache-2.0
# expect: ok
# status: 125
# class: dos
# limits: timeout=60s
# unwalled: never
# check: out_is_plain
# max-files: 1000
# truncated: files
"""Ten thousand files: a thousand are told of, and that there were more."""
for number in range(10_000):
    with open(f"/workspace/file-{number:05}.txt", "w") as file:
        file.write(str(number))
