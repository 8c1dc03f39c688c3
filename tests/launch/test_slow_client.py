# SPDX-License-Identifier: Apache-2.0
"""A client that asks and does not read what it is told costs launch no memory."""

import os
import select
import struct
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from launcher import COUNT, COUNTED, FREEZE, FROZEN, Launcher

MANY = 100000


class SlowClientTest(unittest.TestCase):
    def setUp(self):
        self.launcher = Launcher()
        self.addCleanup(self.launcher.close)

    def ask_until_nobody_listens(self, kind, body):
        """How many requests were taken before launch stopped reading."""
        sent = 0
        self.launcher.socket.setblocking(False)
        while sent < MANY:
            try:
                self.launcher.request(kind, body)
                sent += 1
            except BlockingIOError:
                if not select.select([], [self.launcher.socket], [], 1)[1]:
                    break
        return sent

    def test_answers_do_not_pile_up_and_none_is_lost(self):
        for kind, body, answer in ((FREEZE, struct.pack("<II", 4000, 1), FROZEN), (COUNT, b"", COUNTED)):
            with self.subTest(kind=kind):
                sent = self.ask_until_nobody_listens(kind, body)
                self.assertLess(sent, MANY)
                self.assertEqual([self.launcher.event().type for _ in range(sent)], [answer] * sent)
