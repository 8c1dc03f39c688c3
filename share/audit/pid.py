# SPDX-License-Identifier: Apache-2.0
# Attacks on the wall "pid" (pid namespace: which processes it sees).

# probe: own_pid_namespace
# tries: share the pid namespace of the host
# control: any
mine = os.readlink('/proc/self/ns/pid')
if mine == _args['ns']['pid']:
    breach('the host\'s own ' + mine)

# probe: see_processes
# tries: see or signal a process of the host
# control: any
pid = _args['pid']
if pid > 64:
    tries('signal', os.kill, pid, 0)
    tries('priority', os.getpriority, os.PRIO_PROCESS, pid)
    tries('affinity', os.sched_getaffinity, pid)
    tries('pidfd', os.pidfd_open, pid)
pids = [n for n in os.listdir('/proc') if n.isdigit()]
if len(pids) > 8:
    breach('%d processes in /proc' % len(pids))

# probe: read_init
# tries: read memory, environment or descriptors of pid 1
# control: root
for n in ('mem', 'environ', 'maps'):
    tries('/proc/1/' + n, slurp if n != 'mem' else open, '/proc/1/' + n)
tries('/proc/1/fd', os.listdir, '/proc/1/fd')
tries('/proc/1/exe', os.readlink, '/proc/1/exe')

# probe: kill_everything
# tries: kill(-1) and kill pid 1
tries('kill(-1)', os.kill, -1, 0)
try:
    os.kill(1, 9)
except OSError:
    pass

# probe: stay_behind
# tries: leave a daemon running after the run
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        libc.prctl(15, _args['marker'].encode(), 0, 0, 0)
        import signal, time
        for s in range(1, 32):
            try:
                signal.signal(s, signal.SIG_IGN)
            except OSError:
                pass
        while True:
            time.sleep(1000)
    os._exit(0)
os.wait()
