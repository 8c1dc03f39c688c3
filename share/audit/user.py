# SPDX-License-Identifier: Apache-2.0
# Attacks on the wall "user" (user namespace: whose ids a sandbox has).

# probe: own_user_namespace
# tries: share the user namespace of the host
# control: any
mine = os.readlink('/proc/self/ns/user')
if mine == _args['ns']['user']:
    breach('the host\'s own ' + mine)

# probe: id_map
# tries: hold more than one id, or id 0
# control: any
for kind in ('uid_map', 'gid_map'):
    rows = slurp('/proc/self/' + kind).decode().split()
    if len(rows) != 3 or rows[2] != '1' or rows[0] == '0':
        breach(kind + ' ' + ' '.join(rows))
if 0 in os.getresuid() + os.getresgid() or 0 in os.getgroups():
    breach('id 0')

# probe: become_root
# tries: setuid, setgid, setgroups to 0
# control: root
tries('setgroups', os.setgroups, [0])
tries('setresgid', os.setresgid, 0, 0, 0)
tries('setgid', os.setgid, 0)
tries('setresuid', os.setresuid, 0, 0, 0)
tries('setuid', os.setuid, 0)

# probe: nested_namespaces
# tries: make a user namespace of its own to be root in
# control: any
tries('unshare user', lambda: check(libc.unshare(0x10000000)))
tries('unshare user+mount', lambda: check(libc.unshare(0x10020000)))
