#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The page's types of results, made from the OpenAPI document, whose schemas come from the tables of the daemon.

    page_types.py PRINT_OPENAPI [--check FILE]

Prints web/src/api/described.ts, or with --check fails when the file is not what would be printed. PRINT_OPENAPI is the
program build/tests/unit/print_openapi.
"""

import argparse
import json
import subprocess
import sys

# All other schemas become `unknown`: the page checks charts, tables and bundles where it shows them.
NAMES = ("Verdict", "Usage", "Allowed", "Truncated", "Exception", "File", "CheckpointMade", "Result", "Who", "Policy")

HEAD = """// SPDX-License-Identifier: Apache-2.0
// Made by scripts/page_types.py from the daemon's own description of its answers. Change the tables there, not this.
"""

WORDS = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}


def type_of(schema):
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        return name if name in NAMES else "unknown"
    if "enum" in schema:
        return " | ".join("null" if word is None else f'"{word}"' for word in schema["enum"])
    if "anyOf" in schema:
        types = [type_of(each) for each in schema["anyOf"]]
        return "unknown" if "unknown" in types else " | ".join(types)
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if not kinds or len(kinds) > 2:
        return "unknown"
    return " | ".join(plain_type(kind, schema) for kind in kinds)


def plain_type(kind, schema):
    if kind == "array":
        item = type_of(schema.get("items", {}))
        return f"({item})[]" if " | " in item else f"{item}[]"
    if kind == "object":
        return "Record<string, unknown>"
    return WORDS[kind]


def print_type(name, schema):
    required = schema.get("required", [])
    lines = [f"  {member}{'' if member in required else '?'}: {type_of(value)};"
             for member, value in schema["properties"].items()]
    return "\n".join([f"\nexport interface {name} {{", *lines, "}\n"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("print_openapi")
    parser.add_argument("--check", metavar="FILE")
    args = parser.parse_args()
    document = json.loads(subprocess.run([args.print_openapi], check=True, stdout=subprocess.PIPE).stdout)
    schemas = document["components"]["schemas"]
    text = HEAD + "".join(print_type(name, schemas[name]) for name in NAMES)
    if args.check is None:
        print(text, end="")
        return 0
    with open(args.check, encoding="utf-8") as file:
        is_same = file.read() == text
    if not is_same:
        print(f"{args.check}: not what the tables say; scripts/page_types.py {args.print_openapi} prints it")
    return 0 if is_same else 1


if __name__ == "__main__":
    sys.exit(main())
