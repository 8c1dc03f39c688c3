# SPDX-License-Identifier: Apache-2.0
# expect: timeout
# class: dos
# limits: timeout=2s
# unwalled: never
# by: supervisor
# within: 9s
"""A pattern that never gives up."""
import re

re.match(r"(a|aa)+$", "a" * 200 + "b")
