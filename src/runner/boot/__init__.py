# SPDX-License-Identifier: Apache-2.0
"""The runner's Python half: what happens inside a sandbox, from a RUN frame to its DONE.

Owns:    how code is run as a notebook cell, and what is told of it.
May not: be trusted. User code shares this interpreter; whatever is said from here is testimony.
         Nor import more than the standard library before user code, or its data, asks for it.
"""

WORKSPACE = "/workspace"
CHART_DIR = "/tmp/charts"
