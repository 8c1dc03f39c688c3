# SPDX-License-Identifier: Apache-2.0
# expect: timeout
# class: dos
# limits: timeout=1s
# unwalled: never
# by: supervisor
# within: 8s
"""Costs nothing and does not end."""
import time

time.sleep(10**6)
