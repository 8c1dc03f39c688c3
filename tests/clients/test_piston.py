# SPDX-License-Identifier: Apache-2.0
"""piston-client from npm against our Piston door."""

from case import ClientCase


class Piston(ClientCase):
    CONFIG = "dialects:\n  piston: {enabled: true}\n"

    def test_the_client_runs_python(self):
        self.assert_checks(self.node("piston.mjs", self.url))
