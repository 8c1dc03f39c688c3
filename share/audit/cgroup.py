# SPDX-License-Identifier: Apache-2.0
# Attacks on the wall "cgroup" (cgroup: memory, processes and processor time).

# probe: own_cgroup_namespace
# tries: share the cgroup namespace of the host
# control: any
mine = os.readlink('/proc/self/ns/cgroup')
if mine == _args['ns']['cgroup']:
    breach('the host\'s own ' + mine)

# probe: group_names
# tries: learn the names of the host's groups, or reach their files
# control: any
for line in slurp('/proc/self/cgroup').decode().splitlines():
    if line.split(':', 2)[2] != '/':
        breach(line)
if os.path.exists('/sys/fs/cgroup'):
    breach('/sys/fs/cgroup')

# probe: memory
# tries: use twice the memory of the policy
# ends: memory exception
keep = []
for i in range(_args['memory'] // 1048576 * 2):
    keep.append(b'x' * 1048576)
breach('held %d MiB' % len(keep))

# probe: memory_of_many
# tries: use twice the memory of the policy, spread over processes
# ends: memory exception killed exit
import mmap, time
part = _args['memory'] // 4
readable, writable = os.pipe()
for i in range(8):
    if os.fork() == 0:
        try:
            room = mmap.mmap(-1, part)
            for at in range(0, part, 4096):
                room[at] = 1
        except BaseException:
            os._exit(1)
        os.write(writable, b'x')
        time.sleep(60)
        os._exit(0)
os.close(writable)
count, end = 0, time.monotonic() + 5
os.set_blocking(readable, False)
while count < 8 and time.monotonic() < end:
    try:
        got = os.read(readable, 8)
        if not got:
            break
        count += len(got)
    except BlockingIOError:
        time.sleep(0.02)
if count == 8:
    time.sleep(1)  # measured limits look every 50 ms
    breach('8 processes held %d MiB' % (8 * part // 1048576))

# probe: memory_in_files
# tries: use twice the memory of the policy in memfds
# ends: ok memory exception
import time
fds, wrote = [], 0
try:
    while wrote < _args['memory'] * 2:
        if wrote % (8 << 20) == 0:
            fds.append(os.memfd_create('x'))
        wrote += os.write(fds[-1], bytes(1 << 20))
    time.sleep(1)  # measured limits look every 50 ms
    breach('held %d MiB' % (wrote >> 20))
except OSError:
    pass

# probe: processes
# tries: start more processes than the policy allows
import time
count = 0
try:
    while count < _args['pids'] * 2 + 8:
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        count += 1
    breach('%d processes' % count)
except OSError:
    pass

# probe: threads
# tries: start more threads than the policy allows
import threading, time
count = 0
try:
    while count < _args['pids'] * 2 + 8:
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
        count += 1
    breach('%d threads' % count)
except (RuntimeError, OSError):
    pass

# probe: cpu
# tries: burn more processor time than the policy allows
# needs: cgroup
import time
for i in range(2):
    if os.fork() == 0:
        end = time.monotonic() + 0.6
        while time.monotonic() < end:
            pass
        os._exit(0)
start = time.monotonic()
os.wait(), os.wait()
took, used = time.monotonic() - start, os.times()
share = (used.children_user + used.children_system) / took
if share > _args['cpus'] * 1.6:
    breach('%.2f cpus' % share)

# probe: time
# tries: run on past the timeout, deaf to every signal
# ends: timeout
import signal
for s in range(1, 65):
    try:
        signal.signal(s, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
while True:
    try:
        while True:
            pass
    except BaseException:
        pass
