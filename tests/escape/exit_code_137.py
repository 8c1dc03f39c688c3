# SPDX-License-Identifier: Apache-2.0
# expect: exit
# class: forge
# unwalled: never
# exit: 137
"""Ends with the code of a kill: still an exit."""
sys.exit(137)
