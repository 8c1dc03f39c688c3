# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: leftovers
# unwalled: never
# repeat: 3
# check: draws_differ
"""Draws from every generator of the standard library: two sandboxes never draw the same."""
import random
import secrets
import ssl
import tempfile
import uuid

print("DRAW: random", random.random(), random.getrandbits(64))
print("DRAW: secrets", secrets.token_hex(16))
print("DRAW: uuid4", uuid.uuid4())
print("DRAW: uuid1", uuid.uuid1())
print("DRAW: urandom", os.urandom(16).hex())
print("DRAW: ssl", ssl.RAND_bytes(16).hex())
print("DRAW: tempfile", os.path.basename(tempfile.mktemp()), next(tempfile._get_candidate_names()))
import multiprocessing
import sqlite3

print("DRAW: authkey", bytes(multiprocessing.current_process().authkey).hex())
print("DRAW: sqlite", sqlite3.connect(":memory:").execute("select hex(randomblob(16)), random()").fetchone())
