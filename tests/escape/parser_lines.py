# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: dos
# limits: memory=512M timeout=60s
# unwalled: never
# source: "x = 1\n" * 100000
"""Many lines; nothing wrong with them."""
