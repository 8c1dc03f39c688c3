# SPDX-License-Identifier: Apache-2.0
"""The runner's Python half: what happens inside a sandbox, from a RUN frame to its DONE.

Owns:    how code is run as a notebook cell, and what is reported about it.
May not: be trusted: user code shares this interpreter, so whatever is reported from here is testimony;
         or import more than the standard library before user code, or its data, needs it.
"""

WORKSPACE = "/workspace"
CHART_DIR = "/tmp/charts"
