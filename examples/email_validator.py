# SPDX-License-Identifier: Apache-2.0
"""Checks e-mail addresses against a practical subset of RFC 5322, and says which rule each one breaks."""
import re

LOCAL = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*")
LABEL = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?")


def what_is_wrong(address):
    """The first broken rule, or an empty string."""
    if address.count("@") != 1:
        return "needs exactly one @"
    local, domain = address.split("@")
    if not local:
        return "nothing before the @"
    if len(local) > 64:
        return "more than 64 characters before the @"
    if not LOCAL.fullmatch(local):
        return "a dot or character that may not stand there"
    labels = domain.split(".")
    if len(labels) < 2:
        return "the domain has no dot"
    if not all(LABEL.fullmatch(label) for label in labels):
        return "a part of the domain is empty or malformed"
    if not labels[-1].isalpha() or len(labels[-1]) < 2:
        return "the top-level domain is not a word"
    return ""


CASES = [
    ("user@example.com", True),
    ("first.last+tag@sub.example.co.uk", True),
    ("o'brien_99@example.io", True),
    ("plainaddress", False),
    ("@no-local-part.com", False),
    ("two@@example.com", False),
    ("dots..twice@example.com", False),
    ("user@localhost", False),
    ("user@-bad-.com", False),
]

right = 0
for address, should_pass in CASES:
    reason = what_is_wrong(address)
    is_as_expected = (not reason) == should_pass
    right += is_as_expected
    mark = "✓" if not reason else "✗"
    print(f"{mark} {address:<34} {reason or 'valid'}")

print(f"\n{right} of {len(CASES)} cases as expected {'✅' if right == len(CASES) else '❌'}")
