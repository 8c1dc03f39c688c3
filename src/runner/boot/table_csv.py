# SPDX-License-Identifier: Apache-2.0
"""A table as CSV, streamed: exact values, with the index.

Owns:    the text: UTF-8, a line of names, one line for each row; missing values are empty.
"""

from . import wire
from .frames import index_names
from .hooks import load

FILE = b"table.csv"
ROWS = 5000  # made at once
PIECE = 1 << 20


class _Lines:
    """The file that csv writes to; sends it in pieces."""

    def __init__(self):
        self.held, self.size = [], 0

    def write(self, line):
        self.held.append(line)
        self.size += len(line)
        if self.size >= PIECE:
            self.send(False)

    def send(self, is_last):
        data = wire.clean("".join(self.held)).encode("utf-8")
        for at in range(0, max(1, len(data)), PIECE):
            part = data[at:at + PIECE]
            wire.file_piece(FILE, part, is_last and at + PIECE >= len(data))
        self.held, self.size = [], 0


def send(columns, frame, make, chosen):
    """Sends the rows at the positions `chosen`; `frame` is None for tables without an index."""
    lines = _Lines()
    writer = load("csv").writer(lines, lineterminator="\n")
    levels = index_names(frame) if frame is not None else []
    writer.writerow([*("" if name is None else name for name in levels), *columns])
    for at in range(0, len(chosen), ROWS):
        part = make(chosen[at:at + ROWS])
        rows = part["rows"]
        if frame is not None:
            rows = [[*level, *row] for level, row in zip(part["index"]["rows"], rows)]
        writer.writerows(rows)
    lines.send(True)
    return {"rows": len(chosen)}
