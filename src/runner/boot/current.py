# SPDX-License-Identifier: Apache-2.0
"""The run that is on: what `display`, `savefig` and the like need to know of it.

They are called from user code, at any depth and from any thread, so this cannot be an argument.
"""

RESULT_MAX = 1 << 20
FILE_MAX = 64 << 20
FILES_MAX = 1000


class Run:
    """One run's settings, and what was sent of it so far."""

    __slots__ = ("result_max", "file_max", "files_max", "want_files", "is_atlas", "is_elitea", "is_once",
                 "is_interrupted", "cut", "charts", "saved", "flush")

    def __init__(self, meta, flush):
        self.result_max = meta.get("result_max", RESULT_MAX)
        self.file_max = meta.get("file_max", FILE_MAX)
        self.files_max = meta.get("files_max", FILES_MAX)
        self.want_files = meta.get("want_files", False)
        self.is_atlas = meta.get("atlas", False)
        self.is_elitea = meta.get("elitea", False)
        self.is_once = meta.get("once", False)  # the sandbox ends with this run
        self.is_interrupted = False
        self.cut = set()  # names for the testimony's "truncated"
        self.charts = {}  # path of a saved chart, or a number -> its index
        self.saved = []  # figures that are charts of this run already
        self.flush = flush  # pushes out stdout and stderr, before an event that comes after them


now = Run({}, lambda: None)


def begin(meta, flush):
    global now
    now = Run(meta, flush)
    return now
