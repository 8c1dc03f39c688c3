# SPDX-License-Identifier: Apache-2.0
"""Is an answer what /openapi.json says of it?

The test clients ask this of every answer and of every line of a stream, so an answer that the
document does not describe fails whichever test sees it. The document lets clients expect more
members than it names; here a member without a description is a mistake, too.
"""

import json
import re

NDJSON = "application/x-ndjson"
JSON = ("application/json", NDJSON)
TYPES = {"string": str, "object": dict, "array": list, "boolean": bool, "null": type(None),
         "number": (int, float), "integer": int}


def is_of(name, value):
    """1 is an integer and a number, True is neither."""
    return isinstance(value, TYPES[name]) and (name == "boolean" or not isinstance(value, bool))


class Described:
    """One OpenAPI document, and its claims about answers."""

    def __init__(self, document):
        self.schemas = document["components"]["schemas"]
        self.parameters = document["components"].get("parameters", {})
        self.error = self.schemas["Error"]
        self.ways = []
        # {path} may have slashes; a path with fewer variables describes better.
        for path, item in sorted(document["paths"].items(), key=lambda pair: pair[0].count("{")):
            pattern = re.sub(r"\\{path\\}", ".+", re.escape(path))
            self.ways.append((re.compile(re.sub(r"\\{\w+\\}", "[^/]+", pattern)), item))

    def find(self, item):
        """The item, or what it refers to."""
        if "$ref" not in item:
            return item
        _, _, kind, name = item["$ref"].split("/")
        return {"schemas": self.schemas, "parameters": self.parameters}[kind][name]

    def complaints(self, schema, value, where=""):
        """Every way in which the value is not what the schema says."""
        schema = self.find(schema)
        if "anyOf" in schema:
            tries = [list(self.complaints(one, value, where)) for one in schema["anyOf"]]
            # The first is the one that is meant where it is not null.
            yield from [] if [] in tries else tries[0]
            return
        types = schema.get("type", list(TYPES))
        if not any(is_of(name, value) for name in ([types] if isinstance(types, str) else types)):
            yield f"{where} is {json.dumps(value)[:80]}, not {types}"
        elif "enum" in schema and value not in schema["enum"]:
            yield f"{where} is {value!r}, which is none of {schema['enum']}"
        elif isinstance(value, dict) and "properties" in schema:
            yield from self.members(schema, value, where)
        elif isinstance(value, list):
            for item in value if "items" in schema else ():
                yield from self.complaints(schema["items"], item, f"{where}[]")

    def members(self, schema, value, where):
        yield from (f"{where}.{name} is missing" for name in schema.get("required", ()) if name not in value)
        for name, item in value.items():
            if name in schema["properties"]:
                yield from self.complaints(schema["properties"][name], item, f"{where}.{name}")
            else:
                yield f"{where}.{name} is not described"

    def operation_of(self, method, path):
        """The document's entry for such requests; None: there is none."""
        for pattern, item in self.ways:
            if method != "OPTIONS" and pattern.fullmatch(path.split("?")[0]):
                return item.get("get" if method == "HEAD" else method.lower(), {"responses": {}})
        return None

    def schema_of(self, method, path, status, kind):
        """The schema of an answer; None: it is not described here, or no JSON."""
        operation = self.operation_of(method, path)
        if operation is not None:
            said = operation["responses"].get(str(status))
            if said is None:
                assert status >= 400, f"{method} {path}: a {status} is not described"
                return self.error
            content = {name.split(";")[0]: media for name, media in said.get("content", {}).items()}
            kind = kind.split(";")[0]
            assert kind in content or "*/*" in content or not (kind or content), \
                f"{method} {path} with {status}: {kind or 'nothing'} is none of {sorted(content)}"
            return content[kind]["schema"] if kind in JSON and kind in content else None
        return None

    def fields_of(self, operation):
        """The names of all that such a request may have, "limits" and "limits.memory" among them."""
        for given in operation.get("parameters", ()):
            yield self.find(given)["name"]
        for media in operation.get("requestBody", {"content": {}})["content"].values():
            for name, schema in self.find(media.get("schema", {})).get("properties", {}).items():
                yield name
                yield from (f"{name}.{below}" for below in self.find(schema).get("properties", ()))

    def check_field(self, method, path, error):
        """An error that is about a field of the request says so twice: `field`, and how its message begins."""
        front, found, _ = error["message"].partition(": ")
        is_about = found and error["kind"] not in ("busy", "internal") and front in self.fields_of(
            self.operation_of(method, path))
        field = error.get("field")
        is_told = field is None or error["message"].startswith(f"{field}: ")
        assert is_told and (field == front or not is_about), f"{method} {path}: field is not of {error}"

    def check(self, method, path, answer):
        """One whole answer."""
        schema = self.schema_of(method, path, answer.status, answer.kind)
        if schema is not None and answer.body and answer.kind != NDJSON:
            self.check_value(schema, answer.json, f"{method} {path}")
            if schema is self.error:
                self.check_field(method, path, answer.error)

    def check_value(self, schema, value, what):
        wrong = sorted(set(self.complaints(schema, value)))
        assert not wrong, f"{what} is not what /openapi.json says: {'; '.join(wrong)[:2000]}"

    def check_line(self, path, line):
        """One line of the stream that came from there."""
        method = "POST" if path.split("?")[0].endswith("/run") else "GET"
        self.check_value(self.schema_of(method, path, 200, NDJSON), line, f"{path}: a line")
