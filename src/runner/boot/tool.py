# SPDX-License-Identifier: Apache-2.0
"""A tool of a door, run in place of the code: it decides what to do with that."""

from .cell import Notebook

NAME = "<tool>"


def run(tool, code, args):
    """Runs the tool in a namespace of its own, with the code as the bytes `_code`. Returns the value
    of its last line."""
    notebook = Notebook()
    notebook.names.update(__name__=NAME, _args=args, _code=code)
    return notebook.run(tool, NAME)
