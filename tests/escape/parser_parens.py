# SPDX-License-Identifier: Apache-2.0
# expect: exception
# class: dos
# unwalled: never
# source: "(" * 100000 + ")" * 100000
# error: SyntaxError
"""Nesting that no parser likes."""
