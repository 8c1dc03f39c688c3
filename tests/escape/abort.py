# SPDX-License-Identifier: Apache-2.0
# expect: killed
# class: dos
# unwalled: never
# exit: 134
# signal: 6
# by: supervisor
# message: SIGABRT
"""Gives up in C."""
os.abort()
