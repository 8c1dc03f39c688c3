# SPDX-License-Identifier: Apache-2.0
"""Large JSON tables, read row by row.

A row as Python objects takes ten times its text. 100 MB of rows in one piece would not fit in the
memory of an ordinary sandbox; in batches only the finished columns stay.
"""

from codecs import getincrementaldecoder

from .jsontext import scan
from .tables import check_records, check_rows

STREAM_MIN = 8 << 20
WINDOW = 1 << 20
BATCH = 50000
BLANK = " \t\r\n"


class _Text:
    """Text of the payload, decoded as far as it is needed."""

    def __init__(self, piece):
        self.piece = piece
        self.next = 0
        self.decode = getincrementaldecoder("utf-8")().decode
        self.text = ""
        self.at = 0

    def more(self):
        """Reads on; False at the end."""
        if self.next >= len(self.piece):
            return False
        # At least doubled, so that one huge or broken value is not scanned again for each window.
        end = self.next + max(WINDOW, len(self.text) - self.at)
        self.text = self.text[self.at:] + self.decode(self.piece[self.next:end],
                                                      end >= len(self.piece))
        self.at = 0
        self.next = end
        return True

    def peek(self):
        """The next character that is not blank, or "" at the end."""
        while True:
            while self.at < len(self.text) and self.text[self.at] in BLANK:
                self.at += 1
            if self.at < len(self.text):
                return self.text[self.at]
            if not self.more():
                return ""

    def skip(self, character):
        """Steps over `character`; False when something else stands there."""
        if self.peek() != character:
            return False
        self.at += 1
        return True

    def value(self):
        """The JSON value here; ValueError when it is broken. A list or text ends with its own last
        character, so that what was read is never half of it."""
        self.peek()
        while True:
            try:
                value, self.at = scan(self.text, self.at)
                return value
            except (StopIteration, ValueError, SystemError):  # as in jsontext.loads
                if not self.more():
                    raise ValueError("not valid JSON") from None


def read_frame(piece, pandas):
    """A DataFrame of `{"columns": [...], "rows": [[...], ...]}` or `[{...}, ...]`; None when the text is
    not in that order, so that the caller reads it whole."""
    text = _Text(piece)
    if text.skip("["):
        return _read_records(text, pandas)
    if not text.skip("{") or text.peek() != '"' or text.value() != "columns" \
            or not text.skip(":") or text.peek() != "[":
        return None
    columns = text.value()
    if not text.skip(",") or text.peek() != '"' or text.value() != "rows" \
            or not text.skip(":") or not text.skip("["):
        return None

    batches = [[] for _ in columns]
    rows = []
    first = 0
    is_open = text.peek() != "]"
    while is_open:
        if text.peek() != "[":
            check_rows(columns, [None], first + len(rows))
        rows.append(text.value())
        is_open = text.skip(",")
        if len(rows) == BATCH or not is_open:
            check_rows(columns, rows, first)
            _keep(pandas.DataFrame(rows), batches)
            first += len(rows)
            rows = []
    if not text.skip("]") or not text.skip("}") or text.peek():
        raise ValueError("not valid JSON after the rows")
    return _join(batches, columns, pandas)


def _read_records(text, pandas):
    """The frame of a list of objects, behind its bracket. A name may come in any of them."""
    columns = {}  # name -> its batches, each with the numbers of its rows
    rows, first = [], 0
    is_open = text.peek() != "]"
    while is_open:
        if text.peek() != "{":
            check_records([None], first + len(rows))
        rows.append(text.value())
        is_open = text.skip(",")
        if len(rows) == BATCH or not is_open:
            frame = pandas.DataFrame(rows, index=pandas.RangeIndex(first, first + len(rows)))
            for name in frame:
                columns.setdefault(name, []).append(frame[name].copy())
            first += len(rows)
            rows = []
    if not text.skip("]") or text.peek():
        raise ValueError("not valid JSON after the rows")
    whole = pandas.RangeIndex(first)
    for name, batches in columns.items():
        column = pandas.concat(batches).infer_objects()
        columns[name] = column if len(column) == first else column.reindex(whole)
    return pandas.DataFrame(columns, index=whole, copy=False)


def _keep(frame, batches):
    for i, batch in enumerate(batches):
        batch.append(frame.iloc[:, i].copy())


def _join(batches, columns, pandas):
    """The frame; column by column, so that no more than one is there twice."""
    whole = {}
    for i, batch in enumerate(batches):
        # A batch of nothing but nulls has no type of its own; the whole column decides.
        whole[i] = pandas.concat(batch, ignore_index=True).infer_objects() if batch else []
        batches[i] = None
    frame = pandas.DataFrame(whole, copy=False)
    frame.columns = columns
    return frame
