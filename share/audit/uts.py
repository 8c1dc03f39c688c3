# SPDX-License-Identifier: Apache-2.0
# Attacks on the wall "uts" (uts namespace: the name of the host).

# probe: own_uts_namespace
# tries: share the uts namespace of the host
# control: any
mine = os.readlink('/proc/self/ns/uts')
if mine == _args['ns']['uts']:
    breach('the host\'s own ' + mine)

# probe: host_name
# tries: learn the host's name
# control: any
if os.uname().nodename == _args['host'] and _args['host'] not in _args['dull']:
    breach(os.uname().nodename)

# probe: set_host_name
# tries: rename the host
tries('sethostname', lambda: check(libc.sethostname(b'breached', 8)))
tries('setdomainname', lambda: check(libc.setdomainname(b'breached', 8)))
