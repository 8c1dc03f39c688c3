# SPDX-License-Identifier: Apache-2.0
# expect: exception | killed
# class: dos
# unwalled: never
# source: "x = 1" + ".a" * 1000000
"""A chain of names."""
