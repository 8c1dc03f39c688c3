# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: files
# walls: mount landlock
# unwalled: safe
"""Changes, truncates, renames and removes a file of the host that anybody may write."""
target = _args["target"]
attempt("append", open, target, "ab")
attempt("truncate", os.truncate, target, 3)
attempt("chmod", os.chmod, target, 0o600)
attempt("utime", os.utime, target, (1, 1))
attempt("setxattr", os.setxattr, target, "user.note", b"x",
        by=(EPERM, EACCES, ENOENT, errno.ENOTSUP))
attempt("link", os.link, target, target + ".link")
attempt("rename", os.rename, target, target + ".new")
attempt("unlink", os.unlink, target + ".new")
