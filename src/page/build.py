# SPDX-License-Identifier: Apache-2.0
"""Builds web/ and packs it: npm ci from the lock file, vite build, pack.py.

    build.py --web DIR --work DIR --output FILE.c --depfile FILE.d

All of it happens in a copy in the build dir: the sources may be read-only. npm is asked only when the
lock file has changed, so that a second build needs no network.
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True  # the sources may be read-only
import pack  # noqa: E402  pylint: disable=wrong-import-position

NOT_OURS = {"node_modules", "dist", "test", "coverage"}
STAMP = "installed"
INSTALL = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline", "--loglevel=error"]


def sources_of(web):
    """Every folder and file that counts, relative to web/; folders because files come and go in them."""
    folders, files = [], []
    for path, names, found in os.walk(web):
        names[:] = sorted(name for name in names if name not in NOT_OURS and not name.startswith("."))
        folder = os.path.relpath(path, web)
        folders.append(folder)
        files += [os.path.normpath(os.path.join(folder, name)) for name in found if not name.startswith(".")]
    return folders, sorted(files)


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def copy(web, work, folders, files):
    """Makes the copy like the sources, and leaves alone what is like them already."""
    for folder in folders:
        os.makedirs(os.path.join(work, folder), exist_ok=True)
    for name in files:
        data = read(os.path.join(web, name))
        path = os.path.join(work, name)
        if data != read(path):
            with open(path, "wb") as file:
                file.write(data)
    there = sources_of(work)
    for name in set(there[1]) - set(files) - {STAMP}:
        os.unlink(os.path.join(work, name))
    for folder in set(there[0]) - set(folders):
        shutil.rmtree(os.path.join(work, folder), ignore_errors=True)


def environment(work):
    """npm's cache is the user's own; one without a home gets one here."""
    env = {**os.environ, "NO_UPDATE_NOTIFIER": "1"}
    home = env.get("HOME", "")
    if not (home and os.path.isdir(home) and os.access(home, os.W_OK)):
        env["HOME"] = os.path.join(work, ".home")
        os.makedirs(env["HOME"], exist_ok=True)
    return env


def run(argv, work):
    done = subprocess.run(argv, cwd=work, env=environment(work), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                          check=False)
    if done.returncode != 0:
        print(done.stdout[-8000:], file=sys.stderr)
    return done.returncode == 0


def install(work):
    digest = hashlib.sha256()
    for name in ("package.json", "package-lock.json"):
        digest.update(read(os.path.join(work, name)) or b"")
    wanted = digest.hexdigest().encode()
    stamp = os.path.join(work, STAMP)
    if read(stamp) == wanted and os.path.isdir(os.path.join(work, "node_modules")):
        return
    if os.path.exists(stamp):
        os.unlink(stamp)
    if not run(INSTALL, work):
        raise pack.Wrong("npm could not install what web/package-lock.json lists; where no registry can be "
                         "reached, `meson configure -Dpage=false` builds without the page")
    with open(stamp, "wb") as file:
        file.write(wanted)


def build(work):
    vite = os.path.join("node_modules", "vite", "bin", "vite.js")
    if not run(["node", vite, "build", "--outDir", "dist", "--emptyOutDir", "--logLevel", "warn"], work):
        raise pack.Wrong("vite could not build web/")
    return os.path.join(work, "dist")


def write_depfile(path, output, web, folders, files):
    names = [os.path.normpath(os.path.join(web, name)) for name in folders + files]
    escaped = [name.replace(" ", "\\ ") for name in names]
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{output}: " + " \\\n  ".join(escaped) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("web", "work", "output", "depfile"):
        parser.add_argument("--" + name, required=True)
    args = parser.parse_args()
    folders, files = sources_of(args.web)
    work = os.path.abspath(args.work)
    try:
        copy(args.web, work, folders, files)
        install(work)
        pack.write(build(work), args.output)
    except pack.Wrong as why:
        print(f"page: {why}", file=sys.stderr)
        return 1
    write_depfile(args.depfile, args.output, os.path.abspath(args.web), folders, files)
    return 0


if __name__ == "__main__":
    sys.exit(main())
