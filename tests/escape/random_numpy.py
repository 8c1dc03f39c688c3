# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: leftovers
# runtime: base full
# unwalled: never
# repeat: 3
# check: draws_differ
"""The same for numpy, whose global state a fork copies."""
import random

import numpy

print("DRAW: random", random.random())
print("DRAW: legacy", numpy.random.rand(), numpy.random.randint(2**62))
print("DRAW: default_rng", numpy.random.default_rng().integers(2**62))
print("DRAW: seedsequence", numpy.random.SeedSequence().entropy)
try:
    import pandas

    print("DRAW: sample", pandas.Series(range(10**6)).sample(3).tolist())
except ImportError:
    pass
