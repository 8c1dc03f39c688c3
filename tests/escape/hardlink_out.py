# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: files
# walls: mount landlock
# unwalled: safe
"""Takes hold of files of other trees by hard links, so that they can be kept or changed."""
base = "/workspace" if WALLED else _args["work"]
by = (EPERM, EACCES, ENOENT, errno.EXDEV)
attempt("link the target", os.link, _args["target"], f"{base}/target", by=by)
if WALLED:
    for source in ("/usr/bin/python3.11", "/etc/passwd", "/dev/null", "/proc/self/exe",
                   "/viv/main.py"):
        attempt(f"link {source}", os.link, source, f"{base}/x", by=by)
        attempt(f"follow {source}", os.link, source, f"{base}/y", follow_symlinks=True, by=by)
    fd = os.open("/usr/bin/env", os.O_RDONLY)
    attempt("link a descriptor", os.link, f"/proc/self/fd/{fd}", f"{base}/z", follow_symlinks=True,
            by=by)
    attempt("rename into /workspace", os.rename, "/etc/passwd", f"{base}/p", by=(*by, errno.EROFS))
