# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: kernel
# walls: seccomp
# unwalled: safe
"""Moves pages about, its own and those of others."""
refused("mbind", 0, 0, 99, None, 0, 0)
refused("set_mempolicy", 99, None, 0)
refused("migrate_pages", 0, 0, None, None)
refused("move_pages", 0, 0, None, None, None, 0)
refused("set_mempolicy_home_node", 0, 0, 0, 0)
