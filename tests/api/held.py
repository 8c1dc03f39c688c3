# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of held runs: a daemon whose policies ask a person, and that person."""

import hashlib

from daemon import wait_for

POLICIES = """policies:
  asked: {base: default, approve: true}
  hasty: {base: default, approve: true, approve_ms: 300}
  checked: {base: default, approve: true, guard: {enabled: true}}
"""
PROOF = "print('it ran')"


def tokens(**names):
    """`tokens:` of a config; a secret is the name. Values are more members of the row."""
    return "tokens:\n" + "".join(
        f"  - {{name: {name}, sha256: {hashlib.sha256(name.encode()).hexdigest()}{more}}}\n"
        for name, more in names.items())


def key_of(daemon):
    with open(daemon.path("state", "approve.key"), encoding="utf-8") as file:
        return file.read().strip()


def with_key(daemon):
    return {"Vivarium-Approve": key_of(daemon)}


def held(client, **kw):
    return client.ask("GET", "/v1/approvals", **kw)["held"]


def wait_held(client, count=1, **kw):
    """The rows of held runs, once there are so many."""
    return wait_for(lambda: len(held(client, **kw)) >= count and held(client, **kw), what="a held run")


def decide(client, run, what="allow", body=None, status=200, **kw):
    answer = client.request("POST", f"/v1/runs/{run}/{what}", body or {}, **kw)
    assert answer.status == status, answer
    return answer.json if status == 200 else answer.error
