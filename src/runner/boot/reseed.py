# SPDX-License-Identifier: Apache-2.0
"""No two sandboxes draw the same numbers, though they are forks of one interpreter.

Owns:    the list of generators that a zygote holds, and giving each fork's its own state.
May not: search in the fork: looking at every object unshares every page. The zygote looks once.

What cannot be renewed: the seed of str hashes, and the SeedSequence inside a numpy Generator that
the preload made (its `spawn()` gives the same children in each fork).
"""

import sys
from os import urandom

import _vivarium

_modules = sys.modules
_renewals = []  # what to call in each fork, found by `find`


def _find_numpy(objects):
    """Every bit generator: both kinds of numpy generator draw from one."""
    numpy = _modules.get("numpy.random")
    base = getattr(numpy, "BitGenerator", None)
    if base is None:
        return
    for item in objects:
        if isinstance(item, base):
            _renewals.append(_direct(item) or _generic(item))
        elif isinstance(item, numpy.RandomState):
            # Half of the last pair of normals is kept beside the bit generator.
            state = item.get_state(legacy=False)
            state["has_gauss"] = 0
            item.set_state(state)


def _direct(generator):
    """For MT19937: its words written in place, ten times cheaper than through `state`. Only where
    memory looks exactly as numpy says it does; else None."""
    if type(generator).__name__ != "MT19937" or "ctypes" not in _modules:
        return None
    ctypes = _modules["ctypes"]
    place = generator.ctypes.state_address
    state = generator.state["state"]
    words = state["key"].tobytes()
    position = ctypes.c_int32.from_address(place + len(words))
    if ctypes.string_at(place, len(words)) != words or position.value != state["pos"]:
        return None
    memmove, size, count = ctypes.memmove, len(words), len(state["key"])

    def renew():
        memmove(place, urandom(size), size)
        position.value = count  # all words are used up: the next draw mixes them

    return renew


def _generic(generator):
    def renew():
        generator.state = type(generator)().state

    return renew


def _find_random(objects):
    random = _modules.get("random")
    if random is None:
        return
    for item in objects:
        if isinstance(item, random.Random) and not isinstance(item, random.SystemRandom):
            _renewals.append(item.seed)


def find():
    """In the zygote, when all imports are done: which generators there are."""
    import gc

    _renewals.clear()
    objects = gc.get_objects()
    _find_numpy(objects)
    _find_random(objects)
    _stir_ssl()  # OpenSSL sets itself up at the first call: 900 pages that no fork should pay for


def _stir_ssl():
    if "ssl" in _modules:
        _modules["ssl"].RAND_add(urandom(48), 48.0)


def reseed():
    """In a fork that is a sandbox or a branch of its own, before user code."""
    if not _renewals:
        find()  # a branch of a cold interpreter: nobody has looked yet
    for renew in _renewals:
        renew()
    _vivarium.forget()
    refresh()
    if "multiprocessing.process" in _modules:
        process = _modules["multiprocessing.process"]
        process.current_process().authkey = urandom(32)


def refresh():
    """In the next head of the same session. What its code draws goes on where it was, or a seed that
    one cell has set would be lost for the next (`random`'s own fork handler, which would, is not run);
    only names that must be new are."""
    if "tempfile" in _modules:
        _modules["tempfile"]._name_sequence = None
    if "uuid" in _modules:
        _modules["uuid"]._last_timestamp = None
        _modules["uuid"]._node = None
    _stir_ssl()
