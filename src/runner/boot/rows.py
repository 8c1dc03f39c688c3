# SPDX-License-Identifier: Apache-2.0
"""Large JSON tables, read row by row.

As Python objects, a row takes ten times the memory of its text. 100 MB of rows at once would not fit
in the memory of an ordinary sandbox; in batches, only the finished columns stay.
"""

from codecs import getincrementaldecoder

from .integers import join, mend
from .jsontext import scan
from .tables import check_columns, check_records, check_rows

STREAM_MIN = 8 << 20
WINDOW = 1 << 20
BATCH = 50000
BLANK = " \t\r\n"


class _Text:
    """The text of the payload, decoded as far as needed."""

    def __init__(self, piece):
        self.piece = piece
        self.next = 0
        self.decode = getincrementaldecoder("utf-8")().decode
        self.text = ""
        self.at = 0

    def more(self):
        """Reads more; False at the end."""
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
        """Skips `character`; False if something else comes next."""
        if self.peek() != character:
            return False
        self.at += 1
        return True

    def value(self):
        """The next JSON value; ValueError if it is broken. A list or a string ends with a character of its own, so a
        value is never read only in part."""
        self.peek()
        while True:
            try:
                value, self.at = scan(self.text, self.at)
                return value
            except (StopIteration, ValueError, SystemError):  # as in jsontext.loads
                if not self.more():
                    raise ValueError("not valid JSON") from None


def read_frame(piece, pandas):
    """A DataFrame from `{"columns": [...], "rows": [[...], ...]}` or `[{...}, ...]`; None if the text is not in that
    order, so that the caller reads it whole."""
    text = _Text(piece)
    if text.skip("["):
        return _read_records(text, pandas)
    if not text.skip("{") or text.peek() != '"' or text.value() != "columns" \
            or not text.skip(":") or text.peek() != "[":
        return None
    columns = text.value()
    check_columns(columns)
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
            _keep(mend(pandas.DataFrame(rows), lambda i: [row[i] for row in rows], pandas), batches)
            first += len(rows)
            rows = []
    if not text.skip("]") or not text.skip("}") or text.peek():
        raise ValueError("not valid JSON after the rows")
    return _join(batches, columns, first, pandas)


def _read_records(text, pandas):
    """The frame of a list of objects, after its opening bracket. Any object may add a column."""
    columns = {}  # name -> its batches, each indexed by row number
    rows, first = [], 0
    is_open = text.peek() != "]"
    while is_open:
        if text.peek() != "{":
            check_records([None], first + len(rows))
        rows.append(text.value())
        is_open = text.skip(",")
        if len(rows) == BATCH or not is_open:
            frame = pandas.DataFrame(rows, index=pandas.RangeIndex(first, first + len(rows)))
            frame = mend(frame, lambda i: [row.get(frame.columns[i]) for row in rows], pandas)
            for name in frame:
                columns.setdefault(name, []).append(frame[name].copy())
            first += len(rows)
            rows = []
    if not text.skip("]") or text.peek():
        raise ValueError("not valid JSON after the rows")
    whole = pandas.RangeIndex(first)
    for name, batches in columns.items():
        column = join(batches, first, pandas)
        columns[name] = column if len(column) == first else column.reindex(whole)
    return pandas.DataFrame(columns, index=whole, copy=False)


def _keep(frame, batches):
    for i, batch in enumerate(batches):
        batch.append(frame.iloc[:, i].copy())


def _join(batches, columns, count, pandas):
    """The frame, joined column by column, so that no more than one column is in memory twice."""
    whole = {}
    for i, batch in enumerate(batches):
        whole[i] = join(batch, count, pandas, ignore_index=True) if batch else []
        batches[i] = None
    frame = pandas.DataFrame(whole, copy=False)
    frame.columns = columns
    return frame
