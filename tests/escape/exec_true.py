# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: forge
# unwalled: never
# by: supervisor
"""Becomes a program that succeeds."""
os.execv("/bin/true", ["true"])
