# SPDX-License-Identifier: Apache-2.0
# Attacks on the wall "caps" (capabilities and new privileges).

# probe: sets
# tries: hold a capability in any set
# control: any
rows = dict(l.split(':\t', 1) for l in slurp('/proc/self/status').decode().splitlines())
for n in ('CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'):
    if int(rows[n], 16):
        breach(n + ' ' + rows[n])
if rows['NoNewPrivs'] != '1':
    breach('NoNewPrivs ' + rows['NoNewPrivs'])

# probe: take_back
# tries: take capabilities back
# control: root
head = (ctypes.c_uint32 * 2)(0x20080522, 0)
want = (ctypes.c_uint32 * 6)(0x200000, 0x200000, 0x200000, 0, 0, 0)
tries('capset', lambda: check(libc.capset(head, want)))
tries('ambient', lambda: check(libc.prctl(47, 2, 21, 0, 0)))

# probe: set_uid_programs
# tries: gain by running set-uid programs
# control: any
for d in ('/', '/usr', '/workspace', '/tmp'):
    if os.path.isdir(d) and not os.statvfs(d).f_flag & os.ST_NOSUID:
        breach('set-uid counts in ' + d)

# probe: owner_of_files
# tries: give files away, or change root
# control: root
open('mine', 'w').close()
tries('chown', os.chown, 'mine', 0, 0)
tries('chroot', os.chroot, '.')
tries('nice', os.setpriority, os.PRIO_PROCESS, 0, -5)
