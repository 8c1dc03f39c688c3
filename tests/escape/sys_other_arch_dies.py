# SPDX-License-Identifier: Apache-2.0
# expect: killed
# class: kernel
# walls: seccomp
# unwalled: never
# exit: 159
# signal: 31
# by: supervisor
"""The same in the interpreter itself: a verdict that names the signal."""
call(0x40000000 | NR["getpid"])
breach("survived")
