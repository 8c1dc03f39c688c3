# SPDX-License-Identifier: Apache-2.0
"""A text file as a C constant: embed.py NAME FILE > FILE.c"""

import sys


def main():
    name, path = sys.argv[1:]
    with open(path, "rb") as file:
        data = file.read()
    print(f"/* Made from {path.rsplit('/', maxsplit=1)[-1]}. */\n#include <stddef.h>\n")
    print(f"extern const char {name}[];\nextern const size_t {name}_size;\n")
    print(f"const char {name}[] = {{")
    for at in range(0, len(data), 16):
        print("\t" + " ".join(f"{byte}," for byte in data[at:at + 16]))
    print(f"\t0}};\nconst size_t {name}_size = {len(data)};")


if __name__ == "__main__":
    main()
