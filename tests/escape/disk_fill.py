# SPDX-License-Identifier: Apache-2.0
# expect: disk
# class: dos
# limits: memory=512M timeout=30s
# unwalled: never
# stdout: filling
"""Fills the workspace until the exception ends the run."""
print("filling", flush=True)
with open("/workspace/fill", "wb", buffering=0) as file:
    while True:
        file.write(bytes(1 << 20))
