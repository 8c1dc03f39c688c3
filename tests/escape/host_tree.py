# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: files
# walls: mount
# unwalled: safe
"""The root holds what a run needs and nothing of the host."""
allowed = {"bin", "sbin", "lib", "lib32", "lib64", "libx32", "usr", "etc", "dev", "proc", "tmp",
           "workspace", "viv", "data",
           "opt", "mnt"}
for name in sorted(set(os.listdir("/")) - allowed):
    breach(f"/{name} is there")
for folder in ("/home", "/root", "/var", "/run", "/sys", "/boot", "/srv", "/mnt", "/media", "/opt"):
    held = os.listdir(folder) if os.path.isdir(folder) else []
    if folder == "/mnt" and os.path.realpath("/mnt/data") == "/workspace":
        held.remove("data")  # some code knows its folder by this name
    if held:
        breach(f"{folder} holds {held[:5]}")
for name in ("shadow", "gshadow", "machine-id", "ssh", "ssl/private", "sudoers",
             "fstab", "crontab", "resolv.conf",
             "krb5.keytab"):
    path = "/etc/" + name
    if os.path.exists(path) and (os.path.isdir(path) or os.path.getsize(path)):
        breach(f"{path} is there")
with open("/etc/passwd") as file:
    users = [line.split(":")[0] for line in file]
if len(users) > 3:
    breach(f"/etc/passwd tells of {users}")
