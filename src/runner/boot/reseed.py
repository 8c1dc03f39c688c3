# SPDX-License-Identifier: Apache-2.0
"""No two sandboxes draw the same random numbers, though they are forks of one interpreter.

Owns:    the list of random generators that a zygote holds, and giving each fork's generators new states.
May not: search in the fork: looking at every object unshares every page. The zygote searches once.

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
            # RandomState keeps half of the last pair of normals outside the bit generator.
            state = item.get_state(legacy=False)
            state["has_gauss"] = 0
            item.set_state(state)


def _direct(generator):
    """For MT19937: writes its words in place, which is ten times cheaper than through `state`. None unless memory looks
    exactly as numpy says it does."""
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
        position.value = count  # all words are used up: the next draw generates new ones

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
    """In the zygote, when all imports are done: finds the generators."""
    import gc

    _renewals.clear()
    objects = gc.get_objects()
    _find_numpy(objects)
    _find_random(objects)
    _stir_ssl()  # the first call initialises OpenSSL: 900 pages that no fork should pay for


def _stir_ssl():
    if "ssl" in _modules:
        _modules["ssl"].RAND_add(urandom(48), 48.0)


def reseed():
    """In a fork that becomes a sandbox or a branch of its own, before user code."""
    if not _renewals:
        find()  # a branch of a cold interpreter: nobody has searched yet
    for renew in _renewals:
        renew()
    _vivarium.forget()
    refresh()
    if "multiprocessing.process" in _modules:
        process = _modules["multiprocessing.process"]
        process.current_process().authkey = urandom(32)


def refresh():
    """In the next head of the same session. Generators go on where they were, so that a seed that one cell sets holds
    for the next (`random`'s own fork handler, which would reseed, is not run); only names that must be unique are
    renewed."""
    if "tempfile" in _modules:
        _modules["tempfile"]._name_sequence = None
    if "uuid" in _modules:
        _modules["uuid"]._last_timestamp = None
        _modules["uuid"]._node = None
    _stir_ssl()
