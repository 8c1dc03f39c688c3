# SPDX-License-Identifier: Apache-2.0
"""One run, from its frame to its testimony.

Owns:    the order: inputs, code, then what the code left behind. Other modules handle each of these.
May not: end without a testimony, whatever user code did to the interpreter.
"""

import builtins
import os
import sys
from _signal import SIGINT, default_int_handler, signal

from . import WORKSPACE, current, ending, files, inputs, wire
from .cell import Notebook
from .streams import Streams

RECURSION_MIN = 1000
CELL = ("code", "lead", "tail")  # pieces of a request: the cell, and what a door runs before and after it
READ_BACK = ("_table", "_atlas_table", "_chart", "_atlas_chart")  # variables whose names make them outputs

_modules = sys.modules
_own_builtins = vars(builtins)
_first_builtins = dict(_own_builtins)


class Interpreter:
    """State that lives on from run to run: the namespace, the streams."""

    def __init__(self):
        self.streams = Streams()
        self.notebook = Notebook()
        self.notebook.given.update(display=_display, chart_path=_chart_path)
        self.notebook.names.update(self.notebook.given)
        self.tree = None  # the workspace as the last run left it; None: unknown

    def run(self, request):
        """Runs what the request asks for; returns the testimony."""
        run = current.begin(request.meta, self.streams.flush)
        self.streams.restore()
        if run.is_explicit:
            self.streams.keep_lines_whole()
        left, self.tree = self.tree, None
        try:
            before = self._prepare(request)
        except (inputs.InputError, OSError) as error:
            from .errors import tell_input

            done = tell_input(error)
            done.files_dirty = _brings_files(request.meta)
            return done
        try:
            done = self._work(request, run)
            self.streams.mend()  # later output still belongs to this run, not to the next
            self.streams.flush()
            if not wire.is_ours():
                # User code forked, and the child reached the end of the cell. It ends like a script: only its parent
                # may go on to send on the channel.
                os._exit(done.exit_code)
            self._tell_rest(request.meta, run, before)
            if before["told"] or "save_state" in request.meta:
                _safely(self._save, request.meta, done, before["told"])
            done.missing = files.missing(request.meta.get("expect", ()))
            done.left_out = files.left_out(before["files"], self.tree)
        except KeyboardInterrupt:
            done = wire.Done("interrupted", 130, "the run was interrupted")
        finally:
            self.streams.flush()
            inputs.unset_env(before["env"])
            if not run.is_once:
                self.streams.take_back()
        done.cut = run.cut
        done.files_dirty = _brings_files(request.meta) or self._is_dirty(left, before["files"])
        run.saved.clear()
        run.pictures.clear()
        if "transactional" in request.meta:
            from .fork import hindrance

            done.blocked = hindrance((), self)
        return done

    def rehearse(self, stdin="null"):
        """Runs a small cell only to touch the memory that a run needs, in a namespace of its own and with the original
        builtins: user code, if there is any, does not notice."""
        code = b"import sys\nprint(end='')\nx = [1, 2.5, 'a']\nx"
        meta = f'{{"code":[0,{len(code)}],"stdin":{stdin},"transactional":true}}'.encode()
        notebook, tree, run = self.notebook, self.tree, current.now
        main, shown = _modules.get("__main__"), _own_builtins.get("_", self)
        self.notebook = Notebook()
        self.notebook.names["__builtins__"] = _first_builtins
        self.notebook.remember = lambda _name, _source: None
        try:
            return self.run(inputs.Request(meta, code))
        finally:
            self.notebook, self.tree, current.now = notebook, tree, run
            _modules["__main__"] = main
            if shown is self:
                _own_builtins.pop("_", None)
            else:
                _own_builtins["_"] = shown

    def _is_dirty(self, left, before):
        """Whether the workspace has changed since the last run left it: `before` is how this run found it, and
        something may have changed it in between."""
        after = self.tree
        return after is None or not after.is_like(before) \
            or (left is not None and not left.is_like(before))

    def _prepare(self, request):
        """Puts the inputs in place; returns the state just before the code."""
        meta = request.meta
        names = self.notebook.names
        told = {}  # what is sent along with the saved state
        if "by_table" in meta:
            from .stand_ins import stand_in

            stand_in()  # before the state is read, which may refer to micropip
        if "saved_state" in meta:
            from .saved import take

            told["lost"] = take(self, request)
        for file in meta.get("files", ()):
            inputs.write_file(file["path"], request.piece(file["at"]))
        if "files_json" in meta:
            inputs.write_files_json(request)
        if "cwd" in meta:
            inputs.enter(meta["cwd"])
        inputs.give_stdin(request, self.streams)
        if "args" in meta:
            names["_args"] = self.notebook.given["_args"] = inputs.read_args(request)
        inputs.give_data(request, names)
        self.notebook.script = self.notebook.be_script(meta["argv"]) if "argv" in meta else ""
        env = inputs.set_env(meta["env"]) if "env" in meta else {}
        if "by_table" in meta:
            from .stand_ins import packages

            told["packages"] = packages(request.piece(meta["code"]))
        ending.mark()
        left = [names.get(name) for name in READ_BACK]
        return {"env": env, "files": files.snapshot(), "left": left, "told": told}

    def _work(self, request, run):
        """Runs code or command; returns the testimony of how it ended."""
        meta = request.meta
        filename = ""
        # Copies, not views: the payload may be large, and is freed before user code needs the memory.
        if "command" in meta:
            from . import command

            text = bytes(request.piece(meta["command"]))
            work = lambda: command.run(text)
        elif "tool" in meta:
            from . import tool

            pieces = [bytes(request.piece(meta[name])) for name in ("tool", "code")]
            filename = tool.NAME
            work = lambda: self._value(tool.run(*pieces, self.notebook.given["_args"]), run)
        else:
            text, lead, tail = (bytes(request.piece(meta.get(name, (0, 0)))) for name in CELL)
            filename = self.notebook.enter(run.is_explicit)
            work = lambda: self._cell(text, run, lead, tail)
        request.release()
        wire.begin_code()
        done = _guarded(work, filename)
        if run.is_once and filename and done.kind != "interrupted" and wire.is_ours():
            done = _guarded(ending.wait_for_threads, filename) or done
        return done

    def _cell(self, code, run, lead, tail):
        if lead:
            self.notebook.run(lead, "<before>")
        value = self.notebook.run(code)
        return self._value(self.notebook.run(tail, "<after>") if tail else value, run)

    @staticmethod
    def _value(value, run):
        if value is not None and wire.is_ours():
            from .rich import send_result

            builtins._ = value
            send_result(value, run)
        return wire.Done()

    def _save(self, meta, done, told):
        """Sends the variables, for another run; after a failure the client continues with the earlier ones."""
        from .saved import tell

        tell(self, meta.get("save_state", 0) if done.kind == "ok" else 0, told)

    def _tell_rest(self, meta, run, before):
        """Sends what the code left behind: tables, charts, files. If one fails, the others are still sent."""
        names = self.notebook.names
        if "command" not in meta:
            for name, left in zip(READ_BACK, before["left"]):
                value = names.get(name)
                if value is not None and value is not left:
                    _safely(_tell_variable, name, value, run)
            charts = _modules.get("vivarium.charts")
            if charts is not None:
                _safely(charts.capture_open)
                _safely(charts.collect_files)
            if "plotly.basedatatypes" in _modules:
                _safely(lambda: _modules["vivarium.plotly_figures"].collect(names))
            if run.is_once:
                _safely(ending.run_exit_handlers)
                self.streams.flush()
        self.tree = files.snapshot()
        _safely(files.collect, before["files"], self.tree, run)


def _brings_files(meta):
    """Whether the run's own inputs change the workspace."""
    return "files" in meta or "files_json" in meta or meta.get("cwd", WORKSPACE) != WORKSPACE


def _guarded(work, filename):
    """Calls `work`, which is user code; an exception becomes the testimony. `filename` is the cell's, for its lines."""
    signal(SIGINT, default_int_handler)
    try:
        if current.now.is_interrupted:  # interrupted while inputs were read, or between two steps
            raise KeyboardInterrupt
        return work()
    except BaseException:
        calm()
        from .errors import tell

        return tell(sys.exc_info(), filename)
    finally:
        calm()


def _safely(function, *args):
    try:
        function(*args)
    except BaseException as error:
        text = f"vivarium: a part of the result is missing: {type(error).__name__}\n"
        os.write(2, text.encode("ascii", "replace"))


def _tell_variable(name, value, run):
    from .named import tell

    tell(name, value, run)


def calm():
    """Between runs, no interrupt, trace function or tiny recursion limit may hit the runner itself."""
    signal(SIGINT, _note_interrupt)
    sys.settrace(None)
    sys.setprofile(None)
    if sys.getrecursionlimit() < RECURSION_MIN:
        sys.setrecursionlimit(RECURSION_MIN)


def _note_interrupt(_number, _frame):
    """Notes an interrupt that comes while the runner itself works, or between runs."""
    current.now.is_interrupted = True


def _display(*values, **options):
    """Shows values at once, in the richest forms they have."""
    from .rich import display

    display(*values, **options)


def _chart_path(n=0):
    """Where to save chart number `n`; it is shown the moment `savefig` returns."""
    from .charts import chart_path

    return chart_path(n)
