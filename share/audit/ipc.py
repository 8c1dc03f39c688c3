# SPDX-License-Identifier: Apache-2.0
# Attacks on the wall "ipc" (ipc namespace: shared memory and queues).

# probe: own_ipc_namespace
# tries: share the ipc namespace of the host
# control: any
mine = os.readlink('/proc/self/ns/ipc')
if mine == _args['ns']['ipc']:
    breach('the host\'s own ' + mine)

# probe: shared_memory
# tries: attach a System V segment of the host
# control: any
tries('shmget', lambda: check(libc.shmget(ctypes.c_int(_args['shm']), 0, 0)))

# probe: message_queue
# tries: open a POSIX message queue of the host
# control: any
tries('mq_open', lambda: check(libc.mq_open(_args['queue'].encode(), 0)))
if os.path.exists('/dev/mqueue'):
    breach('/dev/mqueue')

# probe: dev_shm
# tries: read what the host has in /dev/shm
# control: any
for n in os.listdir('/dev/shm'):
    breach('/dev/shm/' + n)
