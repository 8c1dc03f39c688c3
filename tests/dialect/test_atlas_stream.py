# SPDX-License-Identifier: Apache-2.0
"""Atlas's /exec-python-stream: what is told when, and that it always ends with one last event."""

import json

from atlas_case import MIB, AtlasCase, wait_for

DONE = {"type": "done", "data": {"success": True, "exitCode": 0}}


def stdout(text):
    return {"type": "stdout", "data": text}


def error(text):
    return {"type": "error", "data": {"error": text}}


class Stream(AtlasCase):
    def test_its_headers(self):
        lines = self.open_stream("print(1)")
        self.assertEqual(lines.headers["Content-Type"], "application/x-ndjson")
        self.assertEqual(lines.headers["Cache-Control"], "no-cache")
        self.assertEqual(lines.headers["X-Accel-Buffering"], "no")
        self.assertEqual(list(lines), [stdout("1\n"), DONE])

    def test_one_event_for_each_line(self):
        self.assertEqual(self.stream("print('a\\nb')\nprint()\nprint('\u00e9 \U0001f600')\nprint('end', end='')"),
                         [stdout("a\n"), stdout("b\n"), stdout("\n"), stdout("\u00e9 \U0001f600\n"), stdout("end"),
                          DONE])

    def test_a_long_line_is_one_event(self):
        events = self.stream("print('x' * 300000)\nprint('y')")
        self.assertEqual([len(event["data"]) for event in events[:-1]], [300001, 2])

    def test_many_lines_are_as_many_events(self):
        events = self.stream("for i in range(20000): print(i)")
        self.assertEqual([event["data"] for event in events[:-1]], [f"{i}\n" for i in range(20000)])

    def test_it_is_live(self):
        lines = iter(self.open_stream("import time\nprint('a', end='', flush=True)\ntime.sleep(100)", timeout=90000))
        self.assertEqual(next(lines), stdout("a"))

    def test_pictures_come_when_they_are_saved(self):
        events = self.stream("""
import matplotlib.pyplot as plt
print('one')
plt.plot([1])
plt.savefig(chart_path(0))
print('two')
plt.savefig(chart_path(0))
plt.savefig('elsewhere.png')
print('three')
""")
        self.assertEqual([event["type"] for event in events],
                         ["stdout", "chart", "stdout", "chart", "stdout", "done"])
        self.assertEqual(set(events[1]["data"]), {"base64", "mimeType"})
        self.assertEqual(events[1]["data"]["mimeType"], "image/png")

    def test_tables_then_charts_then_figures_then_done(self):
        events = self.stream("""
import plotly.graph_objects as go
go.Figure(data=[go.Bar(x=['a'], y=[1])]).show()
_atlas_chart = [{'type': 'bar', 'data': [], 'categoryKey': 'a', 'valueKeys': []}, {'type': 'pie'}]
_atlas_table = {'columns': ['a'], 'rows': [[float('nan')]]}
print('last')
""")
        self.assertEqual([event["type"] for event in events],
                         ["stdout", "table", "recharts", "recharts", "plotly", "done"])
        self.assertEqual(events[1]["data"], {"columns": ["a"], "rows": [[None]]})
        self.assertEqual(events[3]["data"], {"type": "pie"})
        self.assertEqual(events[-1]["data"], {"success": True, "exitCode": 0, "hasTable": True})

    def test_an_exception_has_no_table(self):
        self.assertEqual(self.stream("print(1)\n_atlas_table = {'columns': [], 'rows': []}\n"
                                     "_atlas_chart = {'type': 'bar'}\n{}['k']"),
                         [stdout("1\n"), error("KeyError: 'k'")])

    def test_every_end_is_told_once(self):
        for code, text in (
                ("print(1)\nraise SystemExit(4)", "Python execution failed (exit code 4)"),
                ("print(1)\nraise SystemExit('why')", "why"),
                ("print(1)\nimport time\ntime.sleep(60)", "Python execution timed out after 4000ms"),
                ("print(1)\nimport posix\nposix._exit(9)", "Python execution failed (exit code 9)")):
            with self.subTest(code=code):
                self.assertEqual(self.stream(code, timeout=4000), [stdout("1\n"), error(text)])
        self.assertEqual(self.stream("print(1)\nexit()"), [stdout("1\n"), DONE])
        self.assertEqual(self.stream("raise KeyboardInterrupt")[-1]["type"], "error")
        events = self.stream("print(1)\nimport posix\nposix.kill(posix.getpid(), 9)")
        self.assertEqual(events[-1], error("Python execution killed (likely exceeded time or memory limit)"))

    def test_stderr_is_told_only_as_the_reason(self):
        self.assertEqual(self.stream("import warnings\nwarnings.warn('w')\nprint(1)"), [stdout("1\n"), DONE])
        events = self.stream("raise SystemExit('e' * 2000)")
        self.assertEqual(events, [error("e" * 500)])

    def test_more_than_a_mebibyte_ends_it(self):
        limit = error(f"Output exceeded {MIB} byte limit")
        events = self.stream("print('a' * (1 << 20), end='')")
        self.assertEqual((len(events[0]["data"]), events[-1]), (MIB, DONE))
        self.assertEqual(self.stream("print('a' * (1 << 20))")[-1], limit)
        self.assertEqual(self.stream("while True: print('a' * 1000)", timeout=60000)[-1], limit)
        events = self.stream("""
import matplotlib.pyplot as plt, numpy as np
plt.imshow(np.random.rand(900, 900, 3))
for n in range(50):
    plt.savefig(chart_path(n), dpi=300)
""", timeout=110000)
        self.assertEqual(events[-1], limit)
        self.assertLessEqual(len(events), 50)

    def test_a_refusal_comes_with_its_status(self):
        for body, status, text in (("{", 400, "Invalid JSON body"), ({}, 400, "Missing or invalid 'code' field")):
            self.refused(self.post("/exec-python-stream", body), status, text)

    def test_a_client_that_leaves_ends_its_run(self):
        lines = self.open_stream("import time\nprint('here')\ntime.sleep(110)", timeout=120000)
        self.assertEqual(next(iter(lines)), stdout("here\n"))
        lines.close()

        def is_cancelled():
            with open(self.daemon.path("state", "audit.jsonl"), encoding="utf-8") as file:
                return [line for line in map(json.loads, file) if line["verdict"] == "cancelled"]
        wait_for(is_cancelled, what="the end of the run in the audit log")

    def test_a_client_that_does_not_read_gets_all_of_it_later(self):
        lines = self.open_stream("for i in range(10): print(str(i) * 100000)\nprint('over')")
        wait_for(lambda: "run" in self.daemon.request("GET", "/v1/runs").body.decode(), what="the run")
        events = list(lines)
        self.assertEqual([len(event["data"]) for event in events[:-1]], [100001] * 10 + [5])
