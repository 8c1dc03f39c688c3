# SPDX-License-Identifier: Apache-2.0
"""The current run: what `display`, `savefig` and the like need to know about it.

User code calls them at any depth and from any thread, so this cannot be passed as an argument.
"""

RESULT_MAX = 1 << 20
FILE_MAX = 64 << 20
FILES_MAX = 1000


class Run:
    """One run's settings, and what it has sent so far."""

    __slots__ = ("result_max", "file_max", "files_max", "want_files", "is_explicit", "is_by_table", "is_once",
                 "is_interrupted", "cut", "charts", "saved", "pictures", "flush")

    def __init__(self, meta, flush):
        self.result_max = meta.get("result_max", RESULT_MAX)
        self.file_max = meta.get("file_max", FILE_MAX)
        self.files_max = meta.get("files_max", FILES_MAX)
        self.want_files = meta.get("want_files", False)
        self.is_explicit = meta.get("explicit", False)
        self.is_by_table = meta.get("by_table", False)
        self.is_once = meta.get("once", False)  # the sandbox ends with this run
        self.is_interrupted = False
        self.cut = set()  # names for the testimony's "truncated"
        self.charts = {}  # path of a saved chart, or an object -> the chart's index
        self.saved = []  # figures that are already charts of this run
        self.pictures = []  # (figure, PNG) of figures that the code saved to memory
        self.flush = flush  # flushes stdout and stderr, before an event that must come after them


now = Run({}, lambda: None)


def begin(meta, flush):
    global now
    now = Run(meta, flush)
    return now
