# SPDX-License-Identifier: Apache-2.0
# expect: memory | exception
# class: dos
# limits: memory=256M timeout=30s
# unwalled: never
# source: "x = '" + "a" * 1000 + "' * 10000 * 100000"
"""A constant that is folded while compiling, or fails when run."""
