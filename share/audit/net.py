# SPDX-License-Identifier: Apache-2.0
# Attacks on the wall "net" (net namespace: whom it can talk to).

# probe: own_net_namespace
# tries: share the net namespace of the host
# control: any
mine = os.readlink('/proc/self/ns/net')
if mine == _args['ns']['net']:
    breach('the host\'s own ' + mine)

# probe: tcp
# tries: connect to a listener on the host's loopback
# control: any
tries('tcp', socket.create_connection, ('127.0.0.1', _args['tcp']), 2)
tries('tcp6', socket.create_connection, ('::ffff:127.0.0.1', _args['tcp']), 2)

# probe: udp
# tries: send a datagram to the host's loopback
# control: any
def send():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.sendto(b'x', ('127.0.0.1', _args['udp']))
tries('udp', send)

# probe: abstract_socket
# tries: connect to an abstract unix socket of the host
# control: any
s = socket.socket(socket.AF_UNIX)
s.settimeout(2)
tries('abstract', s.connect, '\0' + _args['abstract'])

# probe: unix_socket
# tries: connect to a unix socket of the host by its path
# control: any
s = socket.socket(socket.AF_UNIX)
s.settimeout(2)
tries('unix', s.connect, _args['unix'])

# probe: families
# tries: open raw, packet, netlink, vsock, alg and other sockets
# control: any
for family, kind in ((2, 3), (10, 3), (17, 3), (16, 3), (40, 1), (38, 5), (31, 3),
                     (29, 3), (30, 1), (44, 3), (33, 2), (15, 3), (2, 1), (10, 1)):
    tries('socket(%d, %d)' % (family, kind), socket.socket, family, kind)

# probe: interfaces
# tries: see the host's network interfaces
try:
    lines = slurp('/proc/self/net/dev').decode().splitlines()[2:]
    names = {line.split(':')[0].strip() for line in lines}
except OSError:
    names = set()
if names - {'lo'}:
    breach(' '.join(sorted(names)))
