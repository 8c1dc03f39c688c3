# SPDX-License-Identifier: Apache-2.0
"""Variables that a run takes over from an earlier one and leaves to the next, in a sandbox that lives no
longer than the run.

Owns:    the text that goes to the client and comes back from it: base64 of the format of state.py.
         It may come from anybody; it is decoded and unpickled here, inside the walls.
"""

import sys
from binascii import b2a_base64, crc32

from . import wire
from .hooks import load
from .inputs import InputError
from .jsontext import dumps
from .look import LookError
from .sealed import SIZE, seal
from .state import Stream, write
from .state_plan import NoRoom, Plan
from .state_read import bring_in

FACTS_MAX = 1000  # names that are listed; a namespace can have many more


class _Kept(Stream):
    """A stream that is kept in memory; a record that cannot be finished is removed again."""

    def __init__(self, room):
        super().__init__()
        self.room = room

    def raw(self, data):
        if self.size + len(data) + SIZE > self.room:
            raise NoRoom(f"no room: a saved state may take at most {self.room} bytes")
        self.held.append(bytes(data))
        self.size += len(data)

    def void(self, start):
        while self.size > start:
            self.size -= len(self.held.pop())


def take(interpreter, request):
    """Puts the variables of a saved state in place; returns what could not be restored, [{"name","why"}]."""
    name = "session_bytes" if "by_table" in request.meta else "saved_state"
    sys.modules["__main__"] = interpreter.notebook.module  # pickles refer to its members by name
    try:
        data = load("base64").b64decode(request.piece(request.meta["saved_state"]), validate=True)
    except ValueError as error:
        raise InputError(f"{name}: not valid base64: {error}") from None
    try:
        return bring_in(interpreter, data, is_saved=True)["lost"]
    except LookError as error:
        raise InputError(f"{name}: {error}; leave it out to start without variables") from None


def _save(interpreter, room):
    """(names, lost, base64 or None)"""
    plan = Plan(interpreter)
    stream = _Kept(room)
    try:
        names = write(plan, stream)
    except NoRoom as error:
        return [], [{"name": "*", "why": str(error)}], None
    data = b"".join(stream.held)
    return names, plan.lost, b2a_base64(data + seal(len(data), crc32(data)), newline=False).decode("ascii")


def tell(interpreter, room, told):
    """Sends the event. `room` is the size that the state may have, 0 for no state; `told` is added to the event, and
    its `lost` is what could not be restored from the last state."""
    names, lost, data = _save(interpreter, room) if room else ([], [], None)
    body = {**told, "base64": data, "names": [wire.clean(name) for name in names[:FACTS_MAX]],
            "lost": (told.get("lost", []) + lost)[:FACTS_MAX]}
    wire.event("saved_state", "saved_state", dumps(body))
