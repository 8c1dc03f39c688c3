# SPDX-License-Identifier: Apache-2.0
# expect: exit
# class: forge
# unwalled: never
# exit: 124
"""Ends with the code of a timeout: still an exit."""
os._exit(124)
