# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: proc
# walls: seccomp caps
# unwalled: safe
"""Every thread, and every program it starts, stands behind the same walls."""
import subprocess
import threading

wanted = {"Seccomp": "2", "NoNewPrivs": "1", "CapInh": "0" * 16, "CapPrm": "0" * 16,
          "CapEff": "0" * 16,
          "CapBnd": "0" * 16, "CapAmb": "0" * 16}
go = threading.Event()
threads = [threading.Thread(target=go.wait, daemon=True) for _ in range(3)]
for thread in threads:
    thread.start()
for task in os.listdir("/proc/self/task"):
    status = status_of(f"self/task/{task}")
    for key, value in wanted.items():
        if status[key] != value:
            breach(f"task {task}: {key} is {status[key]}")
go.set()
text = subprocess.run(["/bin/cat", "/proc/self/status"], capture_output=True, text=True).stdout
for key, value in wanted.items():
    if f"{key}:\t{value}\n" not in text:
        breach(f"after exec {key} is not {value}")
if WALLED and os.getpid() == 1:
    breach("this is pid 1")
held("same walls")
