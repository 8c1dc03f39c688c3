# SPDX-License-Identifier: Apache-2.0
"""A daemon that speaks Synapse, with a vault of its own."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "api"))

from daemon import Daemon, wait_for  # noqa: E402,F401


def with_vault(config=""):
    """A daemon whose vault is a folder of its own, which it may write."""
    daemon = Daemon(start=False)
    try:
        vault = daemon.path("vault")
        os.mkdir(vault)
        os.chmod(vault, 0o777)
        daemon.vault = vault
        daemon.write_config(f"dialects: {{synapse: {{enabled: true, vault: {vault}}}}}\n" + config)
        daemon.start()
    except BaseException:
        daemon.sweep()
        raise
    return daemon
