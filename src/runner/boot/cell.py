# SPDX-License-Identifier: Apache-2.0
"""Code as a notebook cell: one namespace across runs, a trailing expression is the result, `await`
works at the top.

Owns:    the namespace, compiling, the event loop.
May not: catch what the code raises: errors.py reports that.
"""

import builtins
import os
import sys

from _vivarium import compile as _compile_plain

from .hooks import load, remember

ONLY_AST, TOP_LEVEL_AWAIT, COROUTINE = 0x400, 0x2000, 0x80
PLAIN_MAX = 16 << 10  # longest cell that is tried without a syntax tree
STATEMENTS = frozenset(("assert", "class", "def", "del", "for", "from", "if", "import", "pass",
                        "raise", "try", "while", "with"))

_compile, _exec, _eval = compile, exec, eval


class Notebook:
    """The interpreter's state that user code sees, across runs."""

    def __init__(self):
        self.module = type(sys)("__main__")
        self.names = self.module.__dict__
        self.names["__builtins__"] = builtins
        self.given = {"_args": {}}  # names that the runner provides
        self.names.update(self.given)
        self.number = 0  # of the last cell
        self.script = ""  # the path of its file, where it has one
        self.loop = None
        self.remember = remember

    def enter(self, is_builtins):
        """Starts a cell in this namespace, as the interpreter's main module; returns its name in
        tracebacks. If outputs are explicit, `__name__` is not set: it is found in builtins."""
        self.number += 1
        sys.modules["__main__"] = self.module
        if is_builtins:
            self.names.pop("__name__", None)
        else:
            self.names.setdefault("__name__", "__main__")
        return self.filename()

    def run(self, code, beside=""):
        """Runs one cell. Returns the value of its trailing expression, or None; raises whatever the code raises.
        `beside`: the code is not the cell but code that a door runs beside it, and this is its name."""
        body, last = self._compile(code, beside or self.filename())
        if body is not None and body.co_flags & COROUTINE \
                or last is not None and last.co_flags & COROUTINE:
            return self._await(self._steps(body, last))
        if body is not None:
            _exec(body, self.names)
        return None if last is None else _eval(last, self.names)

    def be_script(self, argv):
        """Makes the code the file argv[0], as with `python3 argv...`. Returns its path."""
        path = argv[0] if argv[0].startswith("/") else f"{os.getcwd()}/{argv[0]}"
        self.names["__file__"] = self.given["__file__"] = path
        sys.argv = argv
        return path

    def filename(self):
        """The cell's name in tracebacks; each cell has its own, so that old functions keep their lines."""
        return self.script or f"<cell {self.number}>"

    def _compile(self, code, filename):
        source = decode(code, filename)
        self.remember(filename, source)
        parts = _without_tree(source, filename)
        if parts is not None:
            return parts
        tree = _compile(source, filename, "exec", ONLY_AST | TOP_LEVEL_AWAIT, True)
        last = None
        if tree.body and type(tree.body[-1]).__name__ == "Expr":
            if not _is_silenced(source, tree.body[-1]):
                last = self._expression(tree.body.pop(), filename)
        body = None
        if tree.body:
            body = _compile(tree, filename, "exec", TOP_LEVEL_AWAIT, True)
        return body, last

    @staticmethod
    def _expression(statement, filename):
        from _ast import Expression

        return _compile(Expression(statement.value), filename, "eval", TOP_LEVEL_AWAIT, True)

    async def _steps(self, *parts):
        """A cell with an `await` somewhere runs in the loop from its first line on."""
        value = None
        for part in parts:
            value = None
            if part is not None:
                value = _eval(part, self.names)
                if part.co_flags & COROUTINE:
                    value = await value
        return value

    def own_loop(self):
        """The loop in which cells await. Before any cell awaits, it is the loop that user code has made the current one
        (asyncio.get_event_loop). None: there is none yet."""
        if self.loop is None or self.loop.is_closed():
            self.loop = _current_loop()
        return self.loop

    def remake_loop(self):
        """After a fork: the loop keeps everything that user code has put into it, but its selector and wake-up sockets
        are shared with the parent, so they are replaced. If it is not asyncio's own kind, it is dropped."""
        loop = self.own_loop()
        if loop is None:
            return
        try:
            selector, sockets = loop._selector, (loop._ssock, loop._csock)
            loop._selector = type(selector)()
            for part in (selector, *sockets):
                part.close()
            loop._internal_fds -= 1
            loop._make_self_pipe()
        except Exception:
            self.loop = None

    def _await(self, coroutine):
        asyncio = load("asyncio")
        if self.own_loop() is None:
            self.loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self.loop)
        task = self.loop.create_task(coroutine)
        try:
            return self.loop.run_until_complete(task)
        except BaseException:
            if not task.done():
                # An interrupt that came up through the loop: end the task as an await would.
                task.cancel()
                self.loop.run_until_complete(asyncio.wait([task]))
            if not task.cancelled():
                task.exception()  # retrieved, or asyncio complains on stderr that nobody did
            raise


def _current_loop():
    """The current loop, if it is one of asyncio's own kinds: anything else is user code."""
    unix = sys.modules.get("asyncio.unix_events")
    policy = getattr(sys.modules.get("asyncio.events"), "_event_loop_policy", None)
    if type(policy) is not getattr(unix, "_UnixDefaultEventLoopPolicy", ()):
        return None
    loop = getattr(policy._local, "_loop", None)
    is_ours = type(loop) is getattr(unix, "_UnixSelectorEventLoop", ())
    return loop if is_ours and not loop.is_closed() else None


def _without_tree(source, filename):
    """Compiles like `Notebook._compile`, but without a syntax tree, since the first tree costs 1 ms; None if that is
    not possible.

    The last line that starts at the margin begins the last statement if it and everything above it compile, each by
    itself: then no string, bracket or block is open between them. Special cases (`await`, `;`, an encoding, a future
    import) fail here or are not tried.
    """
    if len(source) > PLAIN_MAX or "coding" in source or "__future__" in source:
        return None
    start = len(source)
    while start > 0:
        start = source.rfind("\n", 0, start - 1) + 1
        if source[start] not in "# \t\f\n":
            break
    above, last = source[:start], source[start:]
    if ";" in last or above.endswith("\\\n"):
        return None
    try:
        code = _compile_plain("\n" * above.count("\n") + last, filename, not _is_statement(last))
        return _compile_plain(above, filename, False) if above else None, code
    except Exception:
        return None  # the way with a tree reports what is wrong


def _is_statement(text):
    """Whether the text, if it is one statement, is surely not an expression."""
    word = text.split(None, 1)[0].rstrip(":")
    name, _equals, value = text.partition("=")
    return word in STATEMENTS or name.strip().isidentifier() and value[:1] not in ("", "=")


def decode(code, filename):
    """The text of a cell given as bytes; a SyntaxError when it cannot be Python."""
    data = bytes(code)
    start = 3 if data.startswith(b"\xef\xbb\xbf") else 0
    encoding = "utf-8" if start else _cookie(data, filename)
    try:
        source = data[start:].decode(encoding)
        if not source.isascii():
            source.encode("utf-8")  # an encoding such as utf-7 can make lone surrogates
    except UnicodeError as error:
        line = data.count(b"\n", 0, start + getattr(error, "start", 0)) + 1
        raise SyntaxError(f"the code is not valid {encoding}: {error}",
                          (filename, line, None, None)) from None
    if "\0" in source:
        line = source.count("\n", 0, source.index("\0")) + 1
        raise SyntaxError("the code contains a NUL byte", (filename, line, None, None))
    if "\r" in source:
        source = source.replace("\r\n", "\n").replace("\r", "\n")
    return source


def _cookie(data, filename):
    """The encoding that a comment in the first two lines asks for (PEP 263)."""
    if b"coding" not in data:
        return "utf-8"
    head = data.split(b"\n", 2)[:2]
    if not any(b"coding" in line and line.lstrip().startswith(b"#") for line in head):
        return "utf-8"
    lines = iter([line + b"\n" for line in head])
    try:
        return load("tokenize").detect_encoding(lambda: next(lines, b""))[0]
    except SyntaxError as error:
        raise SyntaxError(str(error), (filename, 1, None, None)) from None


def _is_silenced(source, statement):
    """Whether a semicolon follows the statement: as in Jupyter, its value is then not shown."""
    below = source.count("\n") + 1 - statement.end_lineno
    head, *lines = source.rsplit("\n", below)
    # The tree's offsets count bytes of UTF-8.
    after = head.rpartition("\n")[2].encode("utf-8")[statement.end_col_offset:].decode("utf-8")
    return any(";" in line.partition("#")[0] for line in [after, *lines])
