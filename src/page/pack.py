# SPDX-License-Identifier: Apache-2.0
"""Packs the page that vite built into one C file: every file gzipped, with its path, type and ETag.

    pack.py DIST OUTPUT.c      DIST "": a table without files, for a build without the page
"""

import gzip
import hashlib
import os
import re
import sys
from base64 import b64encode

FIRST_LOAD_MAX = 400_000  # bytes, gzipped, of all that index.html makes a browser load at once
NONCE = "__NONCE__"
TYPES = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "json": "application/json",
    "png": "image/png",
    "svg": "image/svg+xml",
    "txt": "text/plain; charset=utf-8",
    "wasm": "application/wasm",
    "woff2": "font/woff2",
}
ASSET = re.compile(r"^[A-Za-z0-9_.]([A-Za-z0-9_.-]*)-[A-Za-z0-9_-]{8}\.([a-z0-9]+)$")
REFERENCE = re.compile(r'(?:src|href)="([^"]*)"')
SCRIPT = re.compile(r"<script\b([^>]*)>(.*?)</script\s*>", re.S | re.I)
HANDED = "plotly-"
STATIC_IMPORT = re.compile(r"""(?:^|[;}\s])(?:import|export)\s*(?:[\w$*{][^"';()]*?from\s*)?["']\./([\w.-]+)["']""")
STYLE_URL = re.compile(r"url\(\s*[\"']?(?:/assets/|\./)([\w.-]+)")


class Wrong(Exception):
    """The page that vite built cannot be served."""


def read(*path):
    with open(os.path.join(*path), "rb") as file:
        return file.read()


def pack(data):
    return gzip.compress(data, 9, mtime=0)


def check_page(text):
    """Nothing in the page but what its Content-Security-Policy lets through."""
    if NONCE not in text:
        raise Wrong(f"index.html has no {NONCE}")
    for attributes, body in SCRIPT.findall(text):
        if body.strip() or "src=" not in attributes:
            raise Wrong("index.html has an inline script")
    if re.search(r"<style\b|<[^>]*\s(style|on\w+)=", text, re.I):
        raise Wrong("index.html has an inline style or handler")
    for reference in REFERENCE.findall(text):
        if not reference.startswith("/assets/"):
            raise Wrong(f"index.html refers to {reference}")


def make_frame(dist, text):
    """The frame has no origin, so it cannot load a module of ours: its one script goes into it, and is
    allowed by its sum. Returns document, source and the name of the file that is no longer needed."""
    scripts = SCRIPT.findall(text)
    found = REFERENCE.search(scripts[0][0]) if len(scripts) == 1 else None
    if not found or not found.group(1).startswith("/assets/") or scripts[0][1].strip():
        raise Wrong("frame.html must have exactly one script, from a file")
    name = os.path.basename(found.group(1))
    code = read(dist, "assets", name).decode().strip()
    if re.search(r"</script|<!--", code, re.I) or re.search(r"(?<!@)\b(?:import|export)\b", code):
        raise Wrong("the script of frame.html imports something, or cannot stand in a document")
    bare = SCRIPT.sub("", text)
    if REFERENCE.search(bare) or "</body>" not in bare:
        raise Wrong("frame.html refers to something beside its script")
    code = f"(()=>{{{code}\n}})();"
    return bare.replace("</body>", f"<script>{code}</script></body>"), source_of(code.encode()), name


def source_of(code):
    """A script as a policy names it."""
    return f"'sha256-{b64encode(hashlib.sha256(code).digest()).decode()}'"


def handed_sources(contents):
    """Scripts that the page hands to the frame as text: the frame itself can fetch nothing."""
    return [source_of(data) for name, data in contents.items() if name.startswith(HANDED)]


def eager_names(page, contents):
    """Everything that is loaded before a person does anything: by the page, or by what it loads."""
    more = {os.path.basename(reference) for reference in REFERENCE.findall(page)}
    names = set()
    while more:
        name = more.pop()
        if name not in contents:
            raise Wrong(f"{name} is referred to, and is not there")
        names.add(name)
        text = contents[name].decode("utf-8", "replace")
        if name.endswith(".js"):
            more |= set(STATIC_IMPORT.findall(text)) - names
        elif name.endswith(".css"):
            more |= set(STYLE_URL.findall(text)) - names
    return names


def check_first_load(page, contents, packed):
    sizes = {name: len(packed[name]) for name in eager_names(page, contents)}
    total = sum(sizes.values()) + len(pack(page.encode()))
    print(f"page: {total / 1000:.1f} KB gzipped for the first load, of {FIRST_LOAD_MAX / 1000:.0f}")
    if total > FIRST_LOAD_MAX:
        lines = [f"  {size:8} {name}" for name, size in sorted(sizes.items(), key=lambda item: -item[1])]
        raise Wrong(f"the first load takes {total} bytes gzipped, more than {FIRST_LOAD_MAX}:\n"
                    + "\n".join(lines))


def read_assets(dist, inlined):
    names = set(os.listdir(os.path.join(dist, "assets"))) - {inlined}
    for name in names:
        found = ASSET.match(name)
        if not found or found.group(2) not in TYPES:
            raise Wrong(f"assets/{name} has no hash in its name, or a type that is not known")
    others = set(os.listdir(dist)) - {"index.html", "frame.html", "assets"}
    if others:
        raise Wrong(f"beside the two documents and their assets there is {sorted(others)}")
    return {name: read(dist, "assets", name) for name in sorted(names)}


def put_bytes(out, name, data):
    out.append(f"static const uint8_t {name}[] = {{")
    for at in range(0, len(data), 24):
        out.append("".join(f"{byte}," for byte in data[at:at + 24]))
    out.append("0};")


def put_text(out, name, text):
    put_bytes(out, name + "_bytes", text.encode())
    out.append(f"const struct page_text {name} = {{(const char *){name}_bytes, sizeof({name}_bytes) - 1}};")


def make(dist):
    """The lines of the C file."""
    out = ["/* Made from web/. */", '#include "page/files.h"']
    page, frame, sources, packed = "", "", [], {}
    if dist:
        page = read(dist, "index.html").decode()
        check_page(page)
        frame, source, inlined = make_frame(dist, read(dist, "frame.html").decode())
        contents = read_assets(dist, inlined)
        sources = [source, *handed_sources(contents)]
        packed = {name: pack(data) for name, data in contents.items()}
        check_first_load(page, contents, packed)
    put_text(out, "page_index", page)
    put_text(out, "page_frame", frame)
    out.append(f'const char page_frame_sums[] = "{" ".join(sources)}";')
    for number, data in enumerate(packed.values()):
        put_bytes(out, f"bytes_{number}", data)
    out.append("const struct page_file page_files[] = {")
    for number, (name, data) in enumerate(packed.items()):
        tag = hashlib.sha256(data).hexdigest()[:32]
        kind = TYPES[name.rsplit(".", 1)[1]]
        out.append(f'{{"{name}", "{kind}", "\\"{tag}\\"", bytes_{number}, sizeof(bytes_{number}) - 1}},')
    out.append("{0}};")
    return out


def write(dist, output):
    """Leaves a file that is right as it is: then nothing is compiled or linked again."""
    data = ("\n".join(make(dist)) + "\n").encode("ascii")
    if not os.path.exists(output) or read(output) != data:
        with open(output, "wb") as file:
            file.write(data)


def main():
    try:
        write(*sys.argv[1:])
    except Wrong as why:
        print(f"page: {why}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
