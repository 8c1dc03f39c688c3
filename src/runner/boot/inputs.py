# SPDX-License-Identifier: Apache-2.0
"""The inputs of a run: files, environment, folder, stdin, `_args`, `data` and `df`.

Everything is checked and in place before the first line of user code runs; a bad input ends the run
with a message that names it.
"""

import os

from . import WORKSPACE
from .hooks import load
from .jsontext import loads

ENOSPC, EDQUOT = 28, 122

_environ = os.environ  # user code may replace the one in `os`


class InputError(ValueError):
    """An input that cannot be given to the code; the text is for the caller."""


class Request:
    """A RUN frame: its meta, the pieces of its payload, and the pipe that came for stdin."""

    def __init__(self, meta, payload, stdin=-1):
        self.stdin = stdin  # owned; -1: none
        self.meta = loads(str(meta, "utf-8"))
        # The same view that came with the frame: another one would keep its memory after `release`.
        self.payload = payload if isinstance(payload, memoryview) else memoryview(payload)

    def piece(self, at):
        """The part `[offset, size]` of the payload; a view, not a copy."""
        offset, size = at
        return self.payload[offset:offset + size]

    def release(self):
        """Frees the payload's memory before user code needs it."""
        try:
            self.payload.release()
        except BufferError:
            pass  # a piece is still in use; its last user frees it
        self.payload = memoryview(b"")


def resolve(path):
    """The absolute form of a path that is relative or below the workspace; else InputError."""
    if not isinstance(path, str) or not path or "\0" in path:
        raise InputError(f"bad path {path!r}: a path is text without NUL")
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if path.startswith("/"):
        root = [part for part in WORKSPACE.split("/") if part]
        if parts[:len(root)] != root:
            raise InputError(f"bad path {path!r}: it must be relative or below {WORKSPACE}")
        parts = parts[len(root):]
    if ".." in parts:
        raise InputError(f"bad path {path!r}: it must not contain '..'")
    return "/".join([WORKSPACE, *parts])


def _no_room(what, error):
    if isinstance(error, OSError) and error.errno in (ENOSPC, EDQUOT):
        return error
    return InputError(f"{what}: {getattr(error, 'strerror', None) or error}")


def write_file(path, data):
    """Writes `data` to `path` below the workspace; missing folders are made."""
    full = resolve(path)
    if full == WORKSPACE or path.endswith("/"):
        raise InputError(f"bad path {path!r}: it names a folder")
    try:
        os.makedirs(os.path.dirname(full), exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NONBLOCK
        fd = os.open(full, flags, 0o666)
        try:
            while data:
                data = data[os.write(fd, data):]
        finally:
            os.close(fd)
    except (OSError, ValueError) as error:
        raise _no_room(f"file {path!r}", error) from None


def write_files_json(request):
    """Writes the files of an HTTP body: a JSON list of {"path","text"} or {"path","base64"}."""
    files = _json(request, "files_json", "files")
    if not isinstance(files, list):
        raise InputError("files: must be a list")
    for i, file in enumerate(files):
        if not isinstance(file, dict) or set(file) not in ({"path", "text"}, {"path", "base64"}):
            raise InputError(f'files[{i}]: must be {{"path","text"}} or {{"path","base64"}}')
        data = _content(file, f"files[{i}]")
        try:
            write_file(file["path"], data)
        except InputError as error:
            raise InputError(f"files[{i}].path: {error}") from None


def _content(file, where):
    member = "text" if "text" in file else "base64"
    if not isinstance(file[member], str):
        raise InputError(f"{where}.{member}: must be a string")
    if member == "text":
        return file["text"].encode("utf-8", "surrogatepass")
    try:
        return load("base64").b64decode(file["base64"], validate=True)
    except ValueError as error:
        raise InputError(f"{where}.base64: {error}") from None


def _json(request, member, shown):
    try:
        return loads(str(request.piece(request.meta[member]), "utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{shown}: not valid JSON: {error}") from None


def enter(path):
    """Makes `path` the current folder; below the workspace it is created if missing."""
    try:
        if path == WORKSPACE or path.startswith(f"{WORKSPACE}/"):
            os.makedirs(resolve(path), exist_ok=True)
        os.chdir(path)
    except (OSError, ValueError) as error:
        raise _no_room(f"cwd: {path}", error) from None


def set_env(env):
    """Sets the run's environment variables; returns what `unset_env` needs to restore the old ones."""
    for name, value in env.items():
        if not name or "=" in name or "\0" in name or "\0" in str(value):
            raise InputError(f"bad environment variable {name!r}")
    before = {name: _environ.get(name) for name in env}
    _environ.update((name, str(value)) for name, value in env.items())
    if "TZ" in env:
        _tell_libc()
    return before


def unset_env(before):
    for name, value in before.items():
        if value is None:
            _environ.pop(name, None)
        else:
            _environ[name] = value
    if "TZ" in before:
        _tell_libc()


def _tell_libc():
    """The C library reads TZ only once; without this time.localtime would stay in the old zone."""
    from time import tzset

    tzset()


def give_stdin(request, streams):
    source = request.meta.get("stdin")
    if "stdin_json" in request.meta:
        text = _json(request, "stdin_json", "stdin")
        if not isinstance(text, str):
            raise InputError("stdin: must be a string")
        _give_bytes(streams, text.encode("utf-8", "surrogatepass"))
    elif source is None:
        streams.give_none()
    elif source == "live" and request.stdin >= 0:
        fd, request.stdin = request.stdin, -1
        streams.give_pipe(fd)
    elif source == "live":
        streams.give_live()
    else:
        _give_bytes(streams, request.piece(source))


def _give_bytes(streams, data):
    try:
        streams.give_bytes(data)
    except OSError as error:
        raise _no_room("stdin", error) from None


def read_args(request):
    """The value of `_args`, or InputError."""
    return _json(request, "args", "args")


def give_data(request, names):
    """Binds `data` and `df` if data came. Without data they stay unbound: None would only fail later, with a worse
    message. If outputs are explicit, they are None."""
    if "data" in request.meta:
        from .tables import read_data

        names["data"], names["df"] = read_data(request)
    elif "explicit" in request.meta:
        names["data"] = names["df"] = None
