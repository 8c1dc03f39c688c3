# SPDX-License-Identifier: Apache-2.0
# expect: exception
# class: dos
# limits: memory=512M timeout=20s
# unwalled: never
# error: ValueError
"""An error whose message is longer than any screen."""
raise ValueError("x" * 50_000_000)
