# SPDX-License-Identifier: Apache-2.0
"""Is the description of the API valid OpenAPI 3.1, and does it describe what the contract lists?

    check_openapi.py PRINT_OPENAPI     prints what is wrong; status 1 if anything is
"""

import json
import re
import subprocess
import sys

import jsonschema

METHODS = {"get", "put", "post", "delete", "options", "head", "patch", "trace"}
SCHEMAS = {"RunRequest", "Result", "Verdict", "Event", "Session", "Checkpoint", "Var", "File", "Error"}


def only(where, value, allowed, required=()):
    """The members of an object of the specification: no unknown one, none missing."""
    for name in value:
        if name not in allowed and not name.startswith("x-"):
            yield f"{where}: {name} does not belong there"
    for name in required:
        if name not in value:
            yield f"{where}: {name} is missing"


def references(value, where="#"):
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield where, value["$ref"]
        for name, item in value.items():
            yield from references(item, f"{where}/{name}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from references(item, f"{where}/{index}")


def check_references(document):
    for where, target in references(document):
        at = document
        for step in target[2:].split("/"):
            at = at.get(step) if isinstance(at, dict) else None
        if not target.startswith("#/") or at is None:
            yield f"{where}: {target} leads nowhere"


def check_schema(where, schema):
    try:
        jsonschema.Draft202012Validator.check_schema(schema)
    except jsonschema.SchemaError as error:
        yield f"{where}: {error.message}"


def check_content(where, content):
    for kind, media in content.items():
        if not re.fullmatch(r"\*/\*|[\w.+-]+/[\w.+-]+(; *[\w-]+=[\w.-]+)*", kind):
            yield f"{where}: {kind} is no media type"
        yield from only(f"{where} {kind}", media, {"schema", "example", "examples", "encoding"})
        yield from check_schema(f"{where} {kind}", media.get("schema", True))


def check_parameter(where, parameter):
    if "$ref" in parameter:
        return
    yield from only(where, parameter,
                    {"name", "in", "description", "required", "schema", "deprecated"}, {"name", "in", "schema"})
    if parameter["in"] not in {"path", "query", "header", "cookie"}:
        yield f"{where}: in {parameter['in']}"
    if parameter["in"] == "path" and parameter.get("required") is not True:
        yield f"{where}: a parameter of the path is required"
    yield from check_schema(where, parameter["schema"])


def check_operation(where, path, operation):
    yield from only(where, operation,
                    {"operationId", "summary", "description", "tags", "security", "parameters", "requestBody",
                     "responses", "deprecated"}, {"responses", "operationId"})
    parameters = operation.get("parameters", [])
    for parameter in parameters:
        yield from check_parameter(f"{where} {parameter.get('name')}", parameter)
    in_path = {item["name"] for item in parameters if item.get("in") == "path"}
    if in_path != set(re.findall(r"{(\w+)}", path)):
        yield f"{where}: its path has other variables than {sorted(in_path)}"
    names = [(item.get("in"), item.get("name")) for item in parameters if "name" in item]
    if len(names) != len(set(names)):
        yield f"{where}: a parameter twice"
    body = operation.get("requestBody", {"content": {}})
    yield from only(f"{where} body", body, {"content", "required", "description"}, {"content"})
    yield from check_content(f"{where} body", body["content"])
    for status, response in operation.get("responses", {}).items():
        if not re.fullmatch(r"[1-5]([0-9]{2}|XX)|default", status):
            yield f"{where}: {status} is no status"
        if "$ref" not in response:
            yield from only(f"{where} {status}", response, {"description", "headers", "content", "links"},
                            {"description"})
            yield from check_content(f"{where} {status}", response.get("content", {}))


def check_paths(document):
    seen = set()
    for path, item in document["paths"].items():
        if not path.startswith("/"):
            yield f"{path}: does not start with a slash"
        yield from only(path, item, METHODS)
        for method, operation in item.items():
            yield from check_operation(f"{method} {path}", path, operation)
            if operation.get("operationId") in seen:
                yield f"{method} {path}: {operation['operationId']} is another's operationId"
            seen.add(operation.get("operationId"))


def check(document):
    yield from only("document", document,
                    {"openapi", "info", "servers", "paths", "components", "security", "tags"},
                    {"openapi", "info", "paths"})
    if not re.fullmatch(r"3\.1\.\d+", document["openapi"]):
        yield f"openapi: {document['openapi']}"
    yield from only("info", document["info"],
                    {"title", "summary", "description", "version", "license"}, {"title", "version"})
    components = document["components"]
    yield from only("components", components, {"schemas", "responses", "parameters", "securitySchemes"})
    for name, schema in components["schemas"].items():
        if not re.fullmatch(r"[a-zA-Z0-9._-]+", name):
            yield f"schemas: {name} is no name"
        yield from check_schema(f"schema {name}", schema)
    for name in SCHEMAS - set(components["schemas"]):
        yield f"schemas: {name} is missing"
    for name, parameter in components["parameters"].items():
        yield from check_parameter(f"parameter {name}", parameter)
    for requirement in document["security"]:
        for name in requirement:
            if name not in components["securitySchemes"]:
                yield f"security: {name} is no scheme"
    yield from check_references(document)
    yield from check_paths(document)


def main():
    text = subprocess.run([sys.argv[1]], check=True, capture_output=True, text=True).stdout
    document = json.loads(text)
    found = list(check(document))
    for line in found:
        print(line)
    # The checks must be able to fail.
    broken = json.loads(text.replace("#/components/schemas/Error", "#/components/schemas/Nothing"))
    broken["paths"]["nowhere"] = {"got": {"responses": {"2000": {}}, "parameters": []}}
    broken["components"]["schemas"]["Error"] = {"type": "objekt"}
    missed = [word for word in ("leads nowhere", "slash", "got does not belong", "no status", "objekt")
              if not any(word in line for line in check(broken))]
    if missed:
        print("the check does not find:", ", ".join(missed))
    return 1 if found or missed else 0


if __name__ == "__main__":
    sys.exit(main())
