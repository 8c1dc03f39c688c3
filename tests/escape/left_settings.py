# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: leftovers
# unwalled: never
# repeat: 2
"""Settings of one run are not found by the next: environment, mask, handlers, priority, limits."""
import resource

found = {"umask": os.umask(0o777), "nice": os.getpriority(os.PRIO_PROCESS, 0),
         "affinity": len(os.sched_getaffinity(0)),
         "left": os.environ.get("LEFT_BY_A_RUN"),
         "handler": signal.getsignal(signal.SIGUSR1) is signal.SIG_DFL,
         "blocked": len(signal.pthread_sigmask(signal.SIG_BLOCK, ())), "cwd": os.getcwd(),
         "stack": resource.getrlimit(resource.RLIMIT_STACK)[0] > 1 << 20,
         "path": "left" in sys.path,
         "recursion": sys.getrecursionlimit()}
for name, wanted in {"umask": 0o077, "nice": 0, "left": None, "handler": True, "blocked": 0,
                     "cwd": "/workspace", "stack": True,
                     "path": False, "recursion": 1000}.items():
    if found[name] != wanted:
        breach(f"{name} is {found[name]!r}, not {wanted!r}")
os.environ["LEFT_BY_A_RUN"] = "1"
os.setpriority(os.PRIO_PROCESS, 0, 19)
signal.signal(signal.SIGUSR1, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
resource.setrlimit(resource.RLIMIT_STACK, (1 << 19, 1 << 19))
sys.path.append("left")
sys.setrecursionlimit(500)
