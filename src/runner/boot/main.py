# SPDX-License-Identifier: Apache-2.0
"""Entry of the runner: `python3 -I main.py zygote FD MODULE...` or `python3 -I main.py cold`."""

import sys


def main(arguments):
    sys.path.insert(0, __file__.rpartition("/")[0])
    from vivarium import serve

    del sys.path[0]
    serve.get_ready()
    if arguments[:1] == ["zygote"]:
        from vivarium import zygote

        zygote.preload(arguments[2:])
        zygote.settle()
        zygote.fork_here(int(arguments[1]))
        zygote.wake(serve.interpreter)
    elif arguments == ["cold"]:
        import _vivarium

        _vivarium.channel()  # it came through an exec; what the code starts must not get it
    else:
        raise SystemExit("usage: main.py zygote FD MODULE... | cold")
    serve.serve()


main(sys.argv[1:])
