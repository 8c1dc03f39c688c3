# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: privilege
# walls: mount caps
# unwalled: safe
# limits: timeout=60s
"""Counts the setuid programs it can see, on mounts that honour them."""
import stat

found = 0
for folder in ("/usr/bin", "/usr/sbin", "/bin", "/sbin", "/usr/lib", "/usr/libexec",
               "/usr/local/bin", "/opt"):
    for base, folders, files in os.walk(folder):
        flags = os.statvfs(base).f_flag
        for name in files:
            try:
                mode = os.lstat(os.path.join(base, name)).st_mode
            except OSError:
                continue
            if stat.S_ISREG(mode) and mode & 0o6000 and not flags & os.ST_NOSUID:
                breach(f"{base}/{name} would run as somebody else")
                found += 1
held(f"{found} that count")
