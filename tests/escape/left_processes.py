# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: leftovers
# walls: pid
# unwalled: never
# repeat: 2
"""A daemon of the first run is not there in the second."""
for name in os.listdir("/proc"):
    if name.isdigit() and int(name) not in (1, os.getpid(), os.getppid()):
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                breach(f"process {name}: {file.read()[:80]!r}")
        except OSError:
            pass
if os.fork() == 0:
    os.setsid()
    os.execv("/bin/sleep", ["sleep", "1000"])
