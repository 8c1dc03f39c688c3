# SPDX-License-Identifier: Apache-2.0
"""Brings the clients that are tested here, in exactly the versions of the lock files, and keeps them.

They go to a folder beside the build, one for each content of its lock file, so that the next run needs
no network. What cannot be fetched because no registry answers raises Missing, which is a skip that
says so; every other failure is a failure.
"""

import fcntl
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = "/usr/bin/python3"
INSTALL_SECONDS = 600
ARCH = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), "")

# Messages of npm and pip when no registry answers, as opposed to a registry that refuses.
NO_REGISTRY = re.compile(
    r"ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ERR_SOCKET_TIMEOUT|FETCH_ERROR|"
    r"E50[0-9]\b|NewConnectionError|ConnectTimeoutError|ReadTimeoutError|ProxyError|Temporary failure in name resolution")


# Packages that could not be installed, by name: a second attempt fails at once.
missing = {}


class Missing(Exception):
    """Why a client cannot be had here."""


def cache_folder():
    viv = os.environ.get("VIV", os.path.join(HERE, "..", "..", "build", "viv"))
    return os.environ.get("VIV_CLIENTS", os.path.join(os.path.dirname(os.path.abspath(viv)), "clients"))


def run_installer(what, argv, cwd):
    try:
        done = subprocess.run(argv, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", check=False,
                              timeout=INSTALL_SECONDS)
    except FileNotFoundError:
        raise Missing(f"{argv[0]} is not installed") from None
    except subprocess.TimeoutExpired:
        raise Missing(f"the registry of {what} gave nothing for {INSTALL_SECONDS} s") from None
    if done.returncode == 0:
        return
    found = NO_REGISTRY.search(done.stdout)
    if found:
        raise Missing(f"the registry of {what} cannot be reached ({found.group()})")
    raise AssertionError(f"{what} cannot be installed:\n{done.stdout[-4000:]}")


def kept(name, locks, install, home=HERE):
    """The folder that `install` filled for these lock files of `home`, now or in an earlier run."""
    if name in missing:
        raise Missing(missing[name])
    digest = hashlib.sha256()
    for lock in locks:
        with open(os.path.join(home, lock), "rb") as file:
            digest.update(file.read())
    top = cache_folder()
    os.makedirs(top, exist_ok=True)
    folder = os.path.join(top, f"{name}-{digest.hexdigest()[:12]}")
    with open(os.path.join(top, name + ".lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.isdir(folder):
            try:
                fill(folder, [os.path.join(home, lock) for lock in locks], install)
            except Missing as why:
                missing[name] = str(why)
                raise
    return folder


def fill(folder, locks, install):
    """Only a whole one gets the name that is looked for."""
    half = tempfile.mkdtemp(prefix="half-", dir=os.path.dirname(folder))
    try:
        os.chmod(half, 0o755)
        for lock in locks:
            shutil.copy(lock, half)
        print(f"installing {os.path.basename(folder)}", file=sys.stderr, flush=True)
        install(half)
        os.rename(half, folder)
    finally:
        shutil.rmtree(half, ignore_errors=True)


def node_modules(name="npm", home=HERE):
    """The folder of node_modules, node itself included: some clients want a newer one than Debian's."""
    if not ARCH:
        raise Missing(f"npm has no node for {platform.machine()}")

    def install(folder):
        # None of these packages needs its install script.
        run_installer("npm", ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error",
                              "--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-timeout=60000"], folder)

    return os.path.join(kept(name, ["package.json", "package-lock.json"], install, home), "node_modules")


def node_bin(name="npm", home=HERE):
    return os.path.join(node_modules(name, home), f"node-linux-{ARCH}", "bin")


def python_with(name):
    """The python of a virtual environment with exactly what NAME.txt lists."""
    lock = f"{name}.txt"

    def install(folder):
        run_installer("python3-venv", [PYTHON, "-m", "venv", os.path.join(folder, "venv")], folder)
        run_installer("pip", [os.path.join(folder, "venv", "bin", "python"), "-m", "pip", "install", "-q", "--no-input",
                              "--disable-pip-version-check", "--no-deps", "--retries=1", "--timeout=60",
                              "-r", os.path.join(folder, lock)], folder)

    return os.path.join(kept(f"python-{name}", [lock], install), "venv", "bin", "python")


def python_mcp(generation):
    """The same with that generation of the SDK."""
    return python_with(f"mcp-{generation}")
