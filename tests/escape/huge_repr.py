# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: dos
# limits: memory=512M timeout=20s
# unwalled: never
# truncated: result
"""A last value whose text is 50 million characters."""
"x" * 50_000_000
