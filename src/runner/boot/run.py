# SPDX-License-Identifier: Apache-2.0
"""One run, from its frame to its testimony.

Owns:    the order: inputs, code, then what the code left behind. What happens to each is elsewhere.
May not: end without a testimony, whatever user code did to the interpreter.
"""

import os
import sys
from _signal import SIGINT, default_int_handler, signal

from . import WORKSPACE, current, files, inputs, wire
from .cell import Notebook
from .streams import Streams

RECURSION_MIN = 1000


class Interpreter:
    """What lives from run to run: the namespace, the streams."""

    def __init__(self):
        self.notebook = Notebook()
        self.streams = Streams()
        self.notebook.names["display"] = _display
        self.notebook.names["chart_path"] = _chart_path

    def run(self, request):
        """Runs what the request asks for; returns the testimony."""
        run = current.begin(request.meta, self.streams.flush)
        before_env = {}
        try:
            self.streams.restore()
            before_env, before_files, left = self._prepare(request)
        except (inputs.InputError, OSError) as error:
            from .errors import tell_input

            return tell_input(error)
        try:
            done = self._work(request, run)
            if not wire.is_ours():
                self._end_fork(done)
            self._tell_rest(run, left)
            files.collect(before_files, run)
            done.missing = files.missing(request.meta.get("expect", ()))
        except KeyboardInterrupt:
            done = wire.Done("interrupted", 130, "the run was interrupted")
        finally:
            self.streams.flush()
            inputs.unset_env(before_env)
        done.cut = run.cut
        run.saved.clear()
        return done

    def _prepare(self, request):
        """Puts the inputs in place; returns what to compare with afterwards."""
        meta = request.meta
        names = self.notebook.names
        for file in meta.get("files", ()):
            inputs.write_file(file["path"], request.piece(file["at"]))
        if "cwd" in meta:
            inputs.enter(meta["cwd"])
        inputs.give_stdin(request, self.streams)
        if "args" in meta:
            names["_args"] = inputs.read_args(request)
        if "data" in meta:
            from .tables import read_data

            names["data"], names["df"] = read_data(request)
        before_env = inputs.set_env(meta["env"]) if "env" in meta else {}
        left = {name: names.get(name) for name in _READ_BACK}
        return before_env, files.snapshot()[0], left

    def _work(self, request, run):
        """Runs code or command; returns the testimony of how it ended."""
        meta = request.meta
        if "command" in meta:
            command = bytes(request.piece(meta["command"]))
            request.release()
            from . import command as shell

            return self._guarded(lambda: shell.run(command), None)

        code = bytes(request.piece(meta["code"]))
        request.release()
        self.notebook.enter(run.is_atlas)
        return self._guarded(lambda: self._cell(code, run), self.notebook)

    def _guarded(self, work, notebook):
        """Calls `work`; whatever it raises becomes the testimony."""
        signal(SIGINT, default_int_handler)
        try:
            return work()
        except BaseException:
            _calm()
            from .errors import tell

            return tell(sys.exc_info(), notebook.filename() if notebook else "")
        finally:
            _calm()

    def _cell(self, code, run):
        value, is_large = self.notebook.run(code)
        if is_large:
            run.cut.add("result")
        if value is not None and wire.is_ours():
            from .rich import send_result

            sys.modules["builtins"]._ = value
            send_result(value, run)
        return wire.Done()

    def _end_fork(self, done):
        """User code forked and the child came to the end of the cell. It ends here as a script's
        would; only its parent may go on to speak on the channel."""
        self.streams.flush()
        os._exit(done.exit_code)

    def _tell_rest(self, run, left):
        """What the code left behind besides files: tables, charts."""
        names = self.notebook.names
        for name in _READ_BACK:
            value = names.get(name)
            if value is not None and value is not left[name]:
                _tell_variable(name, value, run)
        if "matplotlib.figure" in sys.modules:
            from .charts import capture_open

            capture_open()
        if "vivarium.charts" in sys.modules:
            sys.modules["vivarium.charts"].collect_files()
        if "plotly.basedatatypes" in sys.modules:
            from .plotly_figures import collect

            collect(names)


_READ_BACK = ("_table", "_atlas_table", "_chart", "_atlas_chart")


def _tell_variable(name, value, run):
    """Sends a variable that is an output by its name."""
    from .jsonsafe import TooLarge, json_safe
    from .jsontext import dumps
    from .tables import table_text

    if name.endswith("table"):
        text, is_cut = table_text(value, run.result_max)
        if is_cut:
            run.cut.add("result")
        wire.event("table", "table", text)
        return
    for spec in value if isinstance(value, (list, tuple)) else [value]:
        try:
            body = '{"kind":"spec","spec":' + dumps(json_safe(spec, run.result_max)) + "}"
            wire.event("chart", "chart", body)
        except TooLarge:
            run.cut.add("charts")


def _calm():
    """After user code: no interrupt, trace or tiny stack may hit the runner itself."""
    signal(SIGINT, _ignore)
    sys.settrace(None)
    sys.setprofile(None)
    if sys.getrecursionlimit() < RECURSION_MIN:
        sys.setrecursionlimit(RECURSION_MIN)


def _ignore(_number, _frame):
    """An interrupt for a run that is over."""


def _display(*values, **options):
    """Shows values at once, in the richest forms they have."""
    from .rich import display

    display(*values, **options)


def _chart_path(n=0):
    """Where to save chart number `n`; it is shown the moment `savefig` returns."""
    from .charts import chart_path

    return chart_path(n)


def first_folder():
    """Code starts in the workspace."""
    try:
        os.chdir(WORKSPACE)
    except OSError:
        pass
    if "" not in sys.path:
        sys.path.insert(0, "")
