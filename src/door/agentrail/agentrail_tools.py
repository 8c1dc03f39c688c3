# SPDX-License-Identifier: Apache-2.0
"""Agentrail's tools, inside the session's sandbox: the daemon sends this file as the tool of a run.

`_args` names the tool and its arguments. A script or a command is the run's own code, `_code`, and becomes a process
whose output goes to the run's own descriptors. The daemon makes the answer from the value of the last line.
"""

import os
import re
import signal
import stat
import subprocess
import sys

HOME = "/workspace/.deep-research"
ARTIFACTS = HOME + "/artifacts"
OUTPUT_MAX = 1 << 20
GRACE_S = 1
LINES = 100
LINE_MAX = 1000
MATCHES_MAX = 10000
TYPES = {"py": (".py", ".pyi"), "js": (".js", ".jsx", ".mjs", ".cjs"), "ts": (".ts", ".tsx"), "md": (".md",),
         "json": (".json",), "csv": (".csv",), "txt": (".txt",), "html": (".html", ".htm"), "css": (".css",),
         "yaml": (".yaml", ".yml"), "c": (".c", ".h"), "cpp": (".cpp", ".cc", ".hpp"), "rust": (".rs",),
         "go": (".go",), "java": (".java",), "sh": (".sh", ".bash"), "toml": (".toml",), "sql": (".sql",)}


class Refused(Exception):
    """The tool refuses; the text is for the model."""


# ---- processes ----

def end_group(process):
    """Ends the process and its group: SIGTERM, a second to clean up, then SIGKILL."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            pass
        try:
            process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            continue
    try:
        os.killpg(process.pid, signal.SIGKILL)  # members that outlived the group's leader
    except ProcessLookupError:
        pass


def start(command, folder, **more):
    try:
        return subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, start_new_session=True, **more)
    except OSError as error:
        raise Refused(f"working_directory {folder}: {error.strerror}") from None


def code_of(process):
    """The exit code as a shell reports it: 143 for SIGTERM."""
    return process.returncode if process.returncode >= 0 else 128 - process.returncode


def artifacts():
    """{path: mtime} of regular files; links are neither followed nor listed."""
    found = {}
    for folder, folders, names in os.walk(ARTIFACTS):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(folder, name)
            try:
                status = os.lstat(path)
            except OSError:
                continue
            if stat.S_ISREG(status.st_mode):
                found[path] = status.st_mtime_ns
    return found


def python(ask):
    os.makedirs(HOME + "/tmp", exist_ok=True)
    os.makedirs(ARTIFACTS, exist_ok=True)
    script = ask["script"]
    before = artifacts()
    with open(script, "wb") as file:
        file.write(_code)  # noqa: F821
    begun = os.stat(script).st_mtime_ns  # the same clock also stamps the artifacts
    timed_out = False
    process = None
    try:
        process = start([sys.executable or "python3", script], ask["folder"],
                        env={**os.environ, "PYTHONUNBUFFERED": "1"})
        process.wait(ask["timeout"] / 1000)
    except subprocess.TimeoutExpired:
        timed_out = True
    finally:
        if process is not None and process.returncode is None:
            end_group(process)
        try:
            os.unlink(script)
        except OSError:
            pass
    files = [path for path, mtime in artifacts().items() if mtime > before.get(path, -1) and mtime >= begun]
    return {"exitCode": code_of(process), "timedOut": timed_out, "outputFiles": files}


def show(path, to):
    """Copies the output so far, up to the limit, to one of the run's own descriptors."""
    with open(path, "rb") as file:
        data = file.read(OUTPUT_MAX + 1)
    if len(data) > OUTPUT_MAX:
        data = data[:OUTPUT_MAX] + b"\n[output truncated]"
    while data:
        data = data[os.write(to, data):]


def bash(ask):
    os.makedirs("/tmp/.agentrail", exist_ok=True)
    paths = [f"/tmp/.agentrail/{ask['id']}.{name}" for name in ("out", "err")]
    shell = "/bin/bash" if os.path.exists("/bin/bash") else "/bin/sh"
    with open(paths[0], "wb") as out, open(paths[1], "wb") as err:
        process = start([shell, "-c", _code], ask["folder"], stdout=out, stderr=err)
    try:
        if ask["timeout"] > 0:
            process.wait(ask["timeout"] / 1000)
    except subprocess.TimeoutExpired:
        pass
    except BaseException:
        end_group(process)
        raise
    show(paths[0], 1)
    show(paths[1], 2)
    if process.returncode is None:
        return {"mode": "background"}
    for path in paths:
        os.unlink(path)
    return {"mode": "foreground", "exit_code": code_of(process)}


# ---- files ----

def inside(path, more=("/tmp",)):
    clean = os.path.normpath(path)
    for top in ("/workspace", "/skills", *more):
        if path.startswith("/") and (clean == top or clean.startswith(top + "/")):
            return clean
    raise Refused(f"Path '{path}' is outside the sandbox. All paths must start with /workspace/ or /skills/.")


def said(text, **details):
    return {"text": text, "details": details}


def text_of(path):
    try:
        with open(inside(path), encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError as error:
        raise Refused(f"Error reading file: {path}: {error.strerror}") from None


def put(path, text):
    try:
        clean = inside(path)
        os.makedirs(os.path.dirname(clean), exist_ok=True)
        with open(clean, "w", encoding="utf-8", errors="surrogatepass") as file:
            file.write(text)
    except OSError as error:
        raise Refused(f"Error writing file: {path}: {error.strerror}") from None


def read(ask):
    text = text_of(ask["file_path"])
    if not text:
        return said("<system-reminder>File exists but has empty contents.</system-reminder>", totalLines=0, lines=[])
    lines = text.split("\n")
    first = max(0, (ask.get("offset") or 1) - 1)
    chosen = lines[first:first + (ask.get("limit") or LINES)]
    shown = [f"{first + n + 1:6}|{line[:LINE_MAX] + ' [truncated]' if len(line) > LINE_MAX else line}"
             for n, line in enumerate(chosen)]
    return said("\n".join(shown), totalLines=len(lines), startLine=first + 1, endLine=first + len(chosen),
                lines=chosen)


def write(ask):
    put(ask["file_path"], ask["content"])
    size = len(ask["content"].encode("utf-8", "surrogatepass"))
    return said(f"Successfully wrote {size} bytes to {ask['file_path']}", bytes=size)


def edit(ask):
    text, old = text_of(ask["file_path"]), ask["old_string"]
    count = text.count(old) if old else 0
    if count == 0:
        raise Refused("Error: old_string not found in file. It must match exactly, whitespace included.")
    if count > 1 and not ask.get("replace_all"):
        raise Refused(f"Error: old_string is not unique (found {count} occurrences). Give more of the text "
                      "around it, or set replace_all to true.")
    put(ask["file_path"], text.replace(old, ask["new_string"]))
    return said(f"Successfully replaced {count} occurrence(s) in {ask['file_path']}", replacedCount=count)


def below(top):
    """Files in sorted order; hidden files and links are left out."""
    if os.path.isfile(top):
        yield top
    for folder, folders, names in os.walk(top):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = os.path.join(folder, name)
            if not name.startswith(".") and not os.path.islink(path):
                yield path


def pattern_of(glob):
    """A glob as a regular expression: ** crosses folders, {a,b} matches either."""
    out, depth, at = "", 0, 0
    while at < len(glob):
        char = glob[at]
        if glob.startswith("**/", at):
            out, at = out + "(?:.*/)?", at + 2
        elif glob.startswith("**", at):
            out, at = out + ".*", at + 1
        elif char == "*":
            out += "[^/]*"
        elif char == "?":
            out += "[^/]"
        elif char == "{":
            out, depth = out + "(?:", depth + 1
        elif char == "}" and depth:
            out, depth = out + ")", depth - 1
        elif char == "," and depth:
            out += "|"
        else:
            out += re.escape(char)
        at += 1
    return re.compile(out + ")" * depth)


def fits(path, top, glob):
    return bool(glob.fullmatch(os.path.relpath(path, top)) or glob.fullmatch(os.path.basename(path)))


def glob_tool(ask):
    top = inside(ask.get("path") or "/workspace")
    glob = pattern_of(ask["pattern"])
    found = [path for path in below(top) if fits(path, top, glob)][:MATCHES_MAX]
    return said("\n".join(found) or "(no matches)", matches=found)


def hits_of(path, wanted, whole, mode):
    """The lines that grep prints for one file."""
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read()
    if "\0" in text[:4096]:
        return []
    lines = text.split("\n")
    if whole:
        found = [text.count("\n", 0, match.start()) for match in wanted.finditer(text)]
    else:
        found = [n for n, line in enumerate(lines) if wanted.search(line)]
    if not found or mode == "files_with_matches":
        return [path] if found else []
    if mode == "count":
        return [f"{path}:{len(found)}"]
    return [f"{path}:{n + 1}:{lines[n][:LINE_MAX]}" for n in dict.fromkeys(found)]


def grep(ask):
    flags = (re.IGNORECASE if ask.get("case_insensitive") else 0) | (re.DOTALL if ask.get("multiline") else 0)
    try:
        wanted = re.compile(ask["pattern"], flags)
    except re.error as error:
        raise Refused(f"Error: the pattern is not a regular expression: {error}") from None
    top = inside(ask.get("path") or "/workspace")
    glob = pattern_of(ask["glob"]) if ask.get("glob") else None
    ends = TYPES.get(ask["type"], ("." + ask["type"],)) if ask.get("type") else ("",)
    found = []
    for path in below(top):
        if (glob is None or fits(path, top, glob)) and path.endswith(ends) and len(found) < MATCHES_MAX:
            try:
                found += hits_of(path, wanted, ask.get("multiline"), ask.get("output_mode") or "files_with_matches")
            except OSError:
                pass
    return said("\n".join(found) or "(no matches)", matches=found[:MATCHES_MAX])


TOOLS = {"Python": python, "Bash": bash, "Read": read, "Write": write, "Edit": edit, "Grep": grep, "Glob": glob_tool}


def work(ask):
    try:
        return TOOLS[ask["tool"]](ask)
    except Refused as refusal:
        return {"refused": str(refusal)}


work(_args)  # noqa: F821
