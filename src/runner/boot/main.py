# SPDX-License-Identifier: Apache-2.0
"""Entry of the runner: `python3 -I main.py zygote FD MODULE...` or `python3 -I main.py cold`."""

import sys


def main(arguments):
    sys.path.insert(0, __file__.rpartition("/")[0])
    from vivarium import serve

    serve.get_ready()
    if arguments[:1] == ["zygote"]:
        import _vivarium
        from vivarium import zygote

        zygote.preload(arguments[2:])
        del sys.path[0]
        zygote.settle()
        _vivarium.zygote(int(arguments[1]))
        zygote.wake()
    elif arguments == ["cold"]:
        del sys.path[0]
    else:
        raise SystemExit(f"usage: {__file__} zygote FD MODULE... | cold")
    serve.serve()


main(sys.argv[1:])
