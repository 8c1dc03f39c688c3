# SPDX-License-Identifier: Apache-2.0
"""A daemon of tests/api for a program that is not Python: one JSON object per line in, one per line out.

The first line has `config` and `flags`; later ones have `do`: kill9, start, stop. An answer has where the daemon is,
or `error`. The end of the input is the end of the daemon, so that nothing outlives a test that crashed.
"""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "api"))

from daemon import Daemon  # pylint: disable=wrong-import-position


def say(daemon, **more):
    print(json.dumps({"port": daemon.port, "pid": daemon.serve_pid, "folder": daemon.folder, "unix": daemon.unix, **more}),
          flush=True)


def key_of(daemon):
    """The key that may allow held runs, from the line that `viv serve` prints."""
    try:
        with open(daemon.path("state", "approve.key"), encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return None


def main():
    order = json.loads(sys.stdin.readline())
    config = order.get("config", "")
    daemon = Daemon(config, order.get("flags", ()))
    try:
        # The next one listens where this one did: the page knows no other address.
        daemon.write_config(f'listen: ["127.0.0.1:{daemon.port}"]\n{config}')
        say(daemon, key=key_of(daemon))
        for line in sys.stdin:
            deed = json.loads(line)["do"]
            if deed == "stop":
                daemon.stop()
                print(json.dumps({"over": True}), flush=True)
                return
            {"kill9": daemon.kill9, "start": daemon.start}[deed]()
            say(daemon, key=key_of(daemon))
    except Exception as error:  # pylint: disable=broad-exception-caught
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}), flush=True)
    finally:
        daemon.sweep()


main()
