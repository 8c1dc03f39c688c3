# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: dos
# limits: memory=512M timeout=60s
# unwalled: never
# stdout: ENOSPC
# max-files: 1000
# truncated: files
"""Empty files cost inodes: they are counted too, and the collector does not drown."""
count = 0
try:
    for number in range(2_000_000):
        os.close(os.open(f"/workspace/{number}", os.O_CREAT | os.O_WRONLY))
        count += 1
    breach(f"{count} files")
except OSError as error:
    print(f"{count} files, {name_of(error.errno)}")
