# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: files
# walls: mount landlock
# unwalled: safe
# check: out_is_plain
"""Points links out of the workspace: for itself, and for whoever collects the files afterwards."""
base = "/workspace" if WALLED else _args["work"]
secret, target = _args["home_secret"], _args["target"]
os.symlink(secret, f"{base}/report.csv")
os.symlink(target, f"{base}/target.csv")
os.symlink("/", f"{base}/root")
os.symlink("/proc/self/root", f"{base}/self")
os.symlink(f"{base}/loop", f"{base}/loop")
os.symlink("../" * 20 + secret.lstrip("/"), f"{base}/dots.txt")
for path in (f"{base}/report.csv", f"{base}/root{secret}", f"{base}/self{secret}",
             f"{base}/dots.txt"):
    steal(path)
attempt("write through a link", open, f"{base}/target.csv", "r+b")
os.mkdir(f"{base}/swap")
with open(f"{base}/swap/a.txt", "w") as file:
    file.write("plain")
os.rename(f"{base}/swap", f"{base}/old")
os.symlink(os.path.dirname(secret), f"{base}/swap")
