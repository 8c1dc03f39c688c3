# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: proc
# walls: pid mount
# unwalled: safe
"""Looks for processes that are not its own."""
own = {os.getpid(), os.getppid()}
for name in sorted(int(name) for name in os.listdir("/proc") if name.isdigit()):
    try:
        with open(f"/proc/{name}/cmdline", "rb") as file:
            text = file.read()
    except OSError as error:
        text = name_of(error.errno).encode()
    if _args["mark"].encode() in text or b"viv-launch" in text or name > 50:
        breach(f"process {name} is in sight: {text[:120]!r}")
if WALLED:
    for pid in range(3, 2000):
        try:
            os.kill(pid, 0)
            if pid not in own:
                breach(f"process {pid} exists")
        except ProcessLookupError:
            pass
        except PermissionError:
            breach(f"process {pid} of somebody else exists")
