# SPDX-License-Identifier: Apache-2.0
"""Starts what main.py was asked for: a zygote, or one cold interpreter."""

import gc

from . import serve


def _collect_again():
    """Makes everything that exists now old, but keeps it where reseed.find can see it."""
    gc.freeze()
    gc.unfreeze()
    gc.enable()


def main(arguments):
    serve.get_ready()
    _collect_again()
    if arguments[:1] == ["zygote"]:
        from . import zygote

        fd = int(arguments[1])
        lacks = zygote.preload(fd, arguments[2:])
        zygote.settle(serve.interpreter)
        zygote.fork_here(fd, lacks)
        zygote.wake(serve.interpreter)
    elif arguments[:1] == ["cold"] and len(arguments) in (1, 4):
        import _vivarium

        # The channel came through an exec; programs that the code starts must not inherit it.
        _vivarium.channel(*map(int, arguments[1:]))
    else:
        raise SystemExit("usage: main.py zygote FD MODULE... | cold [WALLS ABI SHOWN]")
    serve.serve()

