# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: privilege
# walls: seccomp user
# unwalled: safe
"""Becomes root in a namespace of its own, by system call and by the tools for it."""
import subprocess

if in_child(lambda: call("unshare", 0x10000000)[0] == 0):
    breach("unshare of the user namespace")
for words in (["unshare", "-r", "id", "-u"], ["unshare", "-Ur", "true"],
              ["nsenter", "-t", "1", "-a", "true"],
              ["setpriv", "--reuid=0", "true"], ["bwrap", "--ro-bind", "/", "/", "true"]):
    try:
        done = subprocess.run(words, capture_output=True, timeout=10)
    except OSError as error:
        held(f"{words[0]}: {name_of(error.errno)}")
        continue
    if done.returncode == 0:
        breach(f"{' '.join(words)}: {done.stdout!r}")
    else:
        held(f"{' '.join(words)}: {done.returncode} {done.stderr[:80]!r}")
