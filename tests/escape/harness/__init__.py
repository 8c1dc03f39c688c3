# SPDX-License-Identifier: Apache-2.0
"""The judge of tests/escape: programs, planted secrets, oracles, verdicts."""
