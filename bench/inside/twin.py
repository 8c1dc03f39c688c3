# SPDX-License-Identifier: Apache-2.0
"""The twin: a zygote's interpreter, ready to fork, without walls.

argv: the runner's folder, the code of the groupby, then the modules to import. It makes itself ready
with the runner's own code, so that it holds what a zygote holds, and then does, on request, what is
compared with a sandbox. A request is a line "TASK COUNT" (enum twin_task), its answer nanoseconds.
"""

import io
import os
import resource
import signal
import sys
import time

runner, text, *modules = sys.argv[1:]
sys.path.insert(0, runner)
from vivarium import serve, zygote
del sys.path[0]

serve.get_ready()
zygote.preload(-1, modules)
code = compile(text, 'groupby', 'exec')
held = []
gate, keep_shut = os.pipe()
os.dup2(gate, 3)  # where a channel would be: nobody asks
ready, tell = os.pipe()
zygote.settle(serve.interpreter)


def fork(is_prepared, stays=False):
    pid = os.fork()
    if pid == 0:
        if is_prepared:
            zygote.wake(serve.interpreter)
        if stays:
            os.write(tell, b'.')
            os.close(keep_shut)
            os.read(gate, 1)
        os._exit(0)
    return pid


def burst(n, is_prepared):
    live = 0
    for _ in range(n):
        fork(is_prepared)
        live += 1
        if live == 8:
            os.wait()
            live -= 1
    while live:
        os.wait()
        live -= 1


def hold(n):
    while len(held) > n:
        os.kill(held[-1], signal.SIGKILL)
        os.waitpid(held.pop(), 0)
    coming = 0
    while len(held) < n or coming:
        if len(held) < n and coming < 2:
            held.append(fork(True, True))
            coming += 1
        else:
            coming -= len(os.read(ready, coming))


def groupby():
    old, sys.stdout = sys.stdout, io.StringIO()
    try:
        exec(code, {'__name__': '__main__'})
    finally:
        sys.stdout = old


def cpu():
    return sum(int((r.ru_utime + r.ru_stime) * 1e9) for r in (
        resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)))

os.write(1, b'0\n')
for line in sys.stdin:
    task, count = line.split()
    start = time.perf_counter_ns()
    if task == '0':
        os.waitpid(fork(False), 0)
    elif task == '1':
        burst(int(count), False)
    elif task == '2':
        burst(int(count), True)
    elif task == '3':
        groupby()
    elif task == '5':
        hold(int(count))
    took = cpu() if task == '4' else time.perf_counter_ns() - start
    os.write(1, b'%d\n' % took)
