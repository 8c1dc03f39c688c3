# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: files
# walls: mount pid landlock
# unwalled: safe
"""Leaves the root through magic links and dot-dots: /proc/PID/root, cwd, climbing."""
secret = _args["tmp_secret"]
pids = [name for name in os.listdir("/proc") if name.isdigit()]
for pid in ["self", "thread-self", *pids]:
    for link in ("root", "cwd"):
        for climb in ("", "/..", "/../../../../../../.."):
            try:
                with open(f"/proc/{pid}/{link}{climb}{secret}", "rb") as file:
                    breach(f"/proc/{pid}/{link}{climb}: {file.read()!r}")
            except OSError:
                pass
os.chdir("/")
os.chdir("../../../..")
steal("." + secret)
steal("/workspace/../../../../.." + secret)
held("no way up")
