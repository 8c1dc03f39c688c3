# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: privilege
# walls: caps mount
# unwalled: safe
"""Runs the programs that make others root."""
import subprocess

for path in ("/usr/bin/su", "/bin/su", "/usr/bin/sudo", "/usr/bin/mount", "/usr/bin/umount",
             "/usr/bin/passwd", "/usr/bin/newuidmap", "/usr/bin/newgrp", "/usr/bin/chsh",
             "/usr/bin/pkexec",
             "/usr/bin/fusermount3"):
    if not os.path.exists(path) or not os.stat(path).st_mode & 0o4000:
        continue
    words = [path, "root", "-c", "id"] if path.endswith("su") else [path]
    try:
        process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT)
    except OSError as error:
        held(f"{path}: {name_of(error.errno)}")
        continue
    seen = set()
    while process.poll() is None and "0" not in seen:
        try:
            status = status_of(process.pid)
        except OSError:
            break
        seen.add(status["Uid"].split()[1])
        # In the middle of an exec, the process still has the old ids and does not sleep.
        if status["State"].startswith("S") and status["Name"] == os.path.basename(path)[:15]:
            break
    process.stdin.close()
    text = process.stdout.read()
    process.wait()
    if "0" in seen or b"uid=0" in text:
        breach(f"{path} ran as root: {text[:80]!r}")
    else:
        held(f"{path}: {sorted(seen)} {text[:60]!r}")
