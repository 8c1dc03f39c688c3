# SPDX-License-Identifier: Apache-2.0
# expect: exception | killed
# class: dos
# unwalled: never
# source: "x = " + "-" * 1000000 + "1"
"""Operators in a row: recursion in the compiler."""
