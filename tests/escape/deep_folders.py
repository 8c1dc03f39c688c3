# SPDX-License-Identifier: Apache-2.0
# expect: ok
# status: 125
# class: dos
# limits: timeout=60s
# unwalled: never
# check: out_is_plain
"""A tree so deep that no path names its end."""
depth = 0
try:
    while depth < 5000:
        os.mkdir("d" * 100)
        os.chdir("d" * 100)
        depth += 1
except OSError as error:
    print(f"{depth} deep, {name_of(error.errno)}")
with open("bottom.txt", "w") as file:
    file.write("deep")
os.chdir("/workspace")
with open("/workspace/top.txt", "w") as file:
    file.write("top")
print(depth)
