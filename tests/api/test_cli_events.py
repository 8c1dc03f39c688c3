# SPDX-License-Identifier: Apache-2.0
"""viv run --events: one JSON object per line, numbered, ASCII, a verdict last."""

import json
import signal
import unittest

from vivcli import VivCase


class Events(VivCase):
    def test_the_first_event_names_the_run(self):
        events = self.events("print(1)")
        started = events[0]
        self.assertTrue(started["run"].startswith("run_"))
        self.assertEqual(started["backend"], "namespace")
        self.assertIn("runtime", started)

    def test_the_last_event_is_the_whole_verdict(self):
        last = self.events("open('/workspace/a.txt', 'w').write('x')\nNone")[-1]
        for key in ("verdict", "state", "usage", "walls", "truncated", "files"):
            self.assertIn(key, last)
        self.assertEqual([file["path"] for file in last["files"]], ["/workspace/a.txt"])

    def test_text_is_complete_and_in_order(self):
        events = self.events("import sys\nfor i in range(200): print(i)\n"
                             "print('err', file=sys.stderr)")
        text = "".join(event["text"] for event in events if event["type"] == "stdout")
        self.assertEqual(text, "".join(f"{number}\n" for number in range(200)))
        self.assertEqual("".join(event["text"] for event in events if event["type"] == "stderr"),
                         "err\n")

    def test_everything_is_ascii_also_beyond_the_first_plane(self):
        events = self.events("print('\u20ac \U0001f40d')\n'\U0001f40d'")
        text = "".join(event["text"] for event in events if event["type"] == "stdout")
        self.assertEqual(text, "\u20ac \U0001f40d\n")

    def test_a_character_is_never_split(self):
        code = "import os\nfor byte in '\u20ac'.encode() * 50: os.write(1, bytes([byte]))\nNone"
        events = self.events(code)
        pieces = [event["text"] for event in events if event["type"] == "stdout"]
        self.assertEqual("".join(pieces), "\u20ac" * 50)

    def test_program_order_is_kept(self):
        code = ("print('one')\ndisplay('two')\nprint('three')\n"
                "import subprocess\nsubprocess.run(['echo', 'four'])\ndisplay('five')\n'six'")
        order = []
        for event in self.events(code):
            if event["type"] == "stdout":
                order += event["text"].split()
            elif event["type"] == "display":
                order.append(event["data"]["application/json"])
            elif event["type"] == "result":
                order.append(event["result"]["application/json"])
        self.assertEqual(order, ["one", "two", "three", "four", "five", "six"])

    def test_a_chart_comes_the_moment_it_is_saved(self):
        code = ("import matplotlib.pyplot as plt\n"
                "print('before')\n"
                "plt.plot([1, 2]); plt.savefig(chart_path(0)); plt.close()\n"
                "print('after')")
        kinds = [event["type"] for event in self.events(code)]
        self.assertEqual([kind for kind in kinds if kind in ("stdout", "chart")],
                         ["stdout", "chart", "stdout"])

    def test_an_error_is_an_event(self):
        events = self.events("1 / 0", kind="exception")
        errors = [event["error"] for event in events if event["type"] == "error"]
        self.assertEqual([error["type"] for error in errors], ["ZeroDivisionError"])

    def test_a_table_is_an_event(self):
        events = self.events("_table = {'columns': ['a'], 'rows': [[1]]}")
        self.assertEqual([event["table"] for event in events if event["type"] == "table"],
                         [{"columns": ["a"], "rows": [[1]]}])

    def test_events_come_live(self):
        process = self.popen("run", "--no-daemon", "--events", "--timeout", "60s", "-c",
                             "import time\nprint('live')\ntime.sleep(1000)")
        try:
            self.assertEqual(json.loads(process.stdout.readline())["type"], "started")
            event = json.loads(process.stdout.readline())
            self.assertEqual((event["type"], event["text"]), ("stdout", "live\n"))
        finally:
            process.send_signal(signal.SIGTERM)
            out, _ = process.communicate(timeout=60)
        self.assertEqual(json.loads(out.splitlines()[-1])["verdict"]["kind"], "cancelled")

    def test_every_bad_end_has_one_verdict(self):
        for code, flags, kind in (("import os; os._exit(3)", (), "exit"),
                                  ("import os; os.abort()", (), "killed"),
                                  ("while True: pass", ("--timeout", "500ms"), "timeout"),
                                  ("while True: print('x' * 99999)", (), "output"),
                                  ("import sys; sys.exit(2)", (), "exit")):
            with self.subTest(code):
                self.events(code, *flags, kind=kind)


if __name__ == "__main__":
    unittest.main()
