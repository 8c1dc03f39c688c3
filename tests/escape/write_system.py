# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: files
# walls: mount landlock
# unwalled: safe
"""Makes files where the system lives, and one in the host's own folder."""
EROFS = errno.EROFS
places = [_args["target_dir"]]
if WALLED:
    places += ["/", "/usr", "/usr/bin", "/usr/lib/python3", "/usr/local/bin", "/etc", "/viv",
               "/bin", "/lib", "/lib64", "/opt", "/var", "/run", "/home", "/root", "/mnt", "/srv",
               "/proc", "/proc/self", "/sys", "/dev", "/dev/pts",
               "/boot"]
for place in places:
    path = os.path.join(place, _args["mark"])
    attempt(f"create in {place}", os.open, path, os.O_CREAT | os.O_WRONLY, 0o644,
            by=(EACCES, EPERM, EROFS, ENOENT, errno.ENOTDIR))
    attempt(f"mkdir in {place}", os.mkdir, path + ".d",
            by=(EACCES, EPERM, EROFS, ENOENT, errno.ENOTDIR))
