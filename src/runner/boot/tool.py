# SPDX-License-Identifier: Apache-2.0
"""A door's tool, which runs in place of the code and decides what to do with it."""

from .cell import Notebook

NAME = "<tool>"


def run(tool, code, args):
    """Runs the tool in a namespace of its own, with the code as the bytes `_code`. Returns the value
    of its last line."""
    notebook = Notebook()
    notebook.names.update(__name__=NAME, _args=args, _code=code)
    return notebook.run(tool, NAME)
