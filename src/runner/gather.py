# SPDX-License-Identifier: Apache-2.0
"""Gathers the runner in one folder, laid out as the sandbox sees it at /viv.

The bytecode is compiled for the interpreter that runs this script and carries unchecked hashes: a
sandbox starts from a read-only folder whose file times mean nothing, so Python must not check them.
Other interpreters compile the same sources when they load them.

The package is there twice more, in one file each: its bytecode in a bundle, its sources in a zip. A sandbox
gets only the files at the top; the folder is for programs that import the package outside a sandbox.
"""

import argparse
import importlib.util
import io
import marshal
import os
import py_compile
import shutil
import zipfile

SEEN_AS = "/viv"  # the folder's path in a sandbox, for tracebacks


def make_folder(path):
    """Makes a folder that all can read, whatever the umask: the sandbox's user is neither owner nor group."""
    os.makedirs(path, exist_ok=True)
    os.chmod(path, 0o755)


def copy(source, target, mode=0o644):
    """Copies without writing to an existing file: a run may have it mapped."""
    fresh = target + ".new"
    shutil.copyfile(source, fresh)
    os.chmod(fresh, mode)
    os.replace(fresh, target)


def compile_module(source, seen_as):
    target = importlib.util.cache_from_source(source)
    make_folder(os.path.dirname(target))
    py_compile.compile(source, cfile=target, dfile=seen_as, doraise=True, optimize=0,
                       invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    os.chmod(target, 0o644)


def replace(target, data):
    with open(target + ".new", "wb") as stream:
        stream.write(data)
    os.chmod(target + ".new", 0o644)
    os.replace(target + ".new", target)


def write_bundle(package, modules, into):
    """Writes all modules' bytecode to one file, named after the bytecode's magic number; boot/bundle.py reads it."""
    code_of = {}
    for file in modules:
        name = "vivarium" if file == "__init__.py" else "vivarium." + file[:-len(".py")]
        with open(os.path.join(package, file), "rb") as stream:
            code = compile(stream.read(), f"{SEEN_AS}/vivarium/{file}", "exec", optimize=0,
                           dont_inherit=True)
        code_of[name] = marshal.dumps(code)
    left = sum(map(len, code_of.values())) + 1  # one byte more: an end offset of 0 would mean the beginning
    parts = {}
    for name, code in code_of.items():
        parts[name] = -left, len(code) - left
        left -= len(code)
    name = importlib.util.MAGIC_NUMBER.hex() + ".bundle"
    replace(os.path.join(into, name), b"".join([marshal.dumps(parts), *code_of.values(), b"\n"]))
    return name


def write_zip(package, modules, into):
    """Writes all sources to one file, for other interpreters. Without times, so that builds are reproducible."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in modules:
            with open(os.path.join(package, file), "rb") as stream:
                archive.writestr(zipfile.ZipInfo(f"vivarium/{file}"), stream.read(),
                                 zipfile.ZIP_DEFLATED)
    replace(os.path.join(into, "vivarium.zip"), data.getvalue())
    return "vivarium.zip"


def remove_strangers(folder, wanted):
    """Removes everything else: a renamed module must not live on in the build tree."""
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        if name in wanted:
            continue
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        else:
            os.unlink(path)


def gather_program(program, into):
    """The runner of sandboxes without Python has a folder of its own, since they get nothing else."""
    folder = os.path.join(into, "bin")
    make_folder(folder)
    copy(program, os.path.join(folder, os.path.basename(program)), 0o755)
    remove_strangers(folder, [os.path.basename(program)])
    return "bin"


def gather(boot, extension, program, into):
    package = os.path.join(into, "vivarium")
    make_folder(into)
    make_folder(package)
    modules = sorted(name for name in os.listdir(boot) if name.endswith(".py"))
    inside = [name for name in modules if name != "main.py"]

    remove_strangers(package, inside)
    for name in inside:
        target = os.path.join(package, name)
        copy(os.path.join(boot, name), target)
        compile_module(target, f"{SEEN_AS}/vivarium/{name}")
    top = ["vivarium", write_bundle(package, inside, into), write_zip(package, inside, into)]
    if "main.py" in modules:
        copy(os.path.join(boot, "main.py"), os.path.join(into, "main.py"))
        top.append("main.py")
    if extension:
        copy(extension, os.path.join(into, os.path.basename(extension)))
        top.append(os.path.basename(extension))
    if program:
        top.append(gather_program(program, into))
    remove_strangers(into, top)
    return [os.path.join(boot, name) for name in modules]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--boot", required=True, help="folder of the Python sources")
    parser.add_argument("--extension", help="the compiled C extension")
    parser.add_argument("--program", help="the compiled runner of sandboxes without Python")
    parser.add_argument("--into", required=True, help="folder to make; below DESTDIR if that is set")
    parser.add_argument("--stamp", help="file to touch when done")
    parser.add_argument("--depfile", help="file that tells ninja what was read")
    args = parser.parse_args()

    into = args.into
    if not args.stamp and os.environ.get("DESTDIR"):
        into = os.path.join(os.environ["DESTDIR"], into.lstrip("/"))
    sources = gather(args.boot, args.extension, args.program, into)

    if args.depfile:
        # Includes the folder itself: a new module changes only that, and no known file.
        needs = [args.boot, *sources, *filter(None, (args.extension, args.program))]
        with open(args.depfile, "w", encoding="utf-8") as out:
            out.write(f"{args.stamp}: {' '.join(needs)}\n")
    if args.stamp:
        with open(args.stamp, "w", encoding="utf-8"):
            pass


main()
