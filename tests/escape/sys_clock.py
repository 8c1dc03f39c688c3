# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: kernel
# walls: seccomp caps
# unwalled: root
"""Sets the clock of everybody."""
refused("clock_settime", 99, None)
refused("settimeofday", None, None)
refused("adjtimex", None)
refused("clock_adjtime", 99, None)
