# SPDX-License-Identifier: Apache-2.0
"""Atlas's sidecar, as its clients see it: /health, /exec, /exec-python; limits, order, messages."""

import base64
import json
import os
import struct

from atlas_case import MIB, WAIT_FOREVER, AtlasCase, Daemon, wait_for

NO_CODE = "Missing or invalid 'code' field"
NO_COMMAND = "Missing or invalid 'command' field"
NO_JSON = "Invalid JSON body"
FIGURES = """
import matplotlib.pyplot as plt
for n, width in ((10, 3), (2, 2), (0, 1)):
    plt.figure(figsize=(width, 1), dpi=100)
    plt.plot([1, 2])
    plt.savefig(chart_path(n))
"""

CUT = "\n[output truncated: exceeded 1 MB limit]"


def width_of(chart):
    assert set(chart) == {"base64", "mimeType"} and chart["mimeType"] == "image/png", chart
    data = base64.b64decode(chart["base64"], validate=True)
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    return struct.unpack(">I", data[16:20])[0]


class Health(AtlasCase):
    def test_says_what_is_there(self):
        answer = self.daemon.request("GET", "/health")
        self.assertEqual((answer.status, answer.json), (200, {
            "status": "ok", "semanticDir": self.semantic, "fileCount": 3, "bashAvailable": True,
            "bashPath": "/bin/bash", "pythonAvailable": True}))

    def test_a_query_is_not_looked_at(self):
        self.assertEqual(self.daemon.request("GET", "/health?x=1&y").status, 200)

    def test_a_folder_that_cannot_be_read_is_an_error(self):
        gone = self.semantic + ".gone"
        os.rename(self.semantic, gone)
        try:
            answer = self.daemon.request("GET", "/health")
        finally:
            os.rename(gone, self.semantic)
        self.assertEqual((answer.status, answer.json["status"]), (503, "error"))
        self.assertTrue(answer.json["error"].startswith("SEMANTIC_DIR not readable: "), answer)

    def test_other_paths_and_methods_are_not_found(self):
        for method, path in (("POST", "/health"), ("GET", "/exec"), ("GET", "/exec-python"),
                             ("DELETE", "/exec-python-stream"), ("OPTIONS", "/exec")):
            with self.subTest(method=method, path=path):
                self.refused(self.daemon.request(method, path), 404, "Not found")

    def test_the_native_api_stays_beside_it(self):
        self.assertEqual(self.daemon.value("6 * 7"), 42)
        self.assertEqual(self.daemon.request("GET", "/nowhere").error["kind"], "not_found")


class Exec(AtlasCase):
    def run_command(self, command, **more):
        answer = self.post("/exec", {"command": command, **more})
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual(set(answer.json), {"stdout", "stderr", "exitCode"})
        return answer.json

    def test_a_command_runs_over_the_folder(self):
        self.assertEqual(self.run_command("ls; cat entities/orders.yml; pwd"),
                         {"stdout": "catalog.yml\nentities\nmetrics\ntable: orders\n/semantic\n",
                          "stderr": "", "exitCode": 0})

    def test_a_failure_is_a_result(self):
        result = self.run_command("echo out; echo oops >&2; exit 7")
        self.assertEqual(result, {"stdout": "out\n", "stderr": "oops\n", "exitCode": 7})

    def test_cwd_is_a_folder_below(self):
        for cwd in ("entities", "/semantic/entities", "metrics/../entities", f"{self.semantic}/entities"):
            with self.subTest(cwd=cwd):
                self.assertEqual(self.run_command("ls; pwd", cwd=cwd)["stdout"], "orders.yml\n/semantic/entities\n")
        self.assertIn("/semantic/none: ", self.run_command("ls", cwd="none")["stderr"])
        for cwd in ("", None, "/semantic", "/semantic/", "."):
            with self.subTest(cwd=cwd):
                self.assertIn("catalog.yml", self.run_command("ls", cwd=cwd)["stdout"])

    def test_cwd_never_leads_out(self):
        for cwd in ("..", "../..", "/etc", "entities/../..", "/semantic/../etc", 5, ["x"], "a\0b",
                    self.semantic + "x", "/semanticX"):
            with self.subTest(cwd=cwd):
                self.refused(self.post("/exec", {"command": "id", "cwd": cwd}), 400,
                             "cwd must be under SEMANTIC_DIR")

    def test_nothing_can_be_changed(self):
        self.assertNotEqual(self.run_command("echo x > catalog.yml")["exitCode"], 0)
        self.assertNotEqual(self.run_command("rm -r entities")["exitCode"], 0)
        with open(os.path.join(self.semantic, "catalog.yml"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "name: shop\n")

    def test_its_environment_is_small_and_its_own(self):
        lines = dict(line.split("=", 1) for line in self.run_command("env")["stdout"].splitlines())
        self.assertLessEqual(set(lines), {"PATH", "HOME", "TMPDIR", "LANG", "PWD", "SHLVL", "_"})
        self.assertEqual(lines["PATH"], "/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin")
        self.assertEqual(lines["LANG"], "C.UTF-8")
        self.assertEqual(self.run_command("echo x > $TMPDIR/a && cat $HOME/a")["stdout"], "x\n")
        self.assertNotEqual(self.run_command("cat $TMPDIR/a")["exitCode"], 0)

    def test_a_timeout_is_clamped_and_ends_in_137(self):
        for timeout in (1, 0, -5, 1000):
            with self.subTest(timeout=timeout):
                self.assertEqual(self.run_command("sleep 30", timeout=timeout)["exitCode"], 137)
        self.assertEqual(self.run_command("echo before; sleep 30", timeout=4000),
                         {"stdout": "before\n", "stderr": "", "exitCode": 137})
        self.assertEqual(self.run_command("echo x", timeout=10 ** 30)["stdout"], "x\n")
        self.assertEqual(self.run_command("echo x", timeout="soon")["stdout"], "x\n")

    def test_output_is_cut_at_a_mebibyte(self):
        result = self.run_command("head -c 1048576 /dev/zero | tr '\\0' a")
        self.assertEqual(len(result["stdout"]), MIB)
        result = self.run_command("head -c 1048577 /dev/zero | tr '\\0' a; exit 3")
        self.assertEqual((len(result["stdout"]), result["exitCode"]), (MIB, 3))
        self.assertEqual(result["stderr"], CUT)
        result = self.run_command("head -c 2000000 /dev/zero | tr '\\0' b >&2")
        self.assertEqual(result["stderr"], "b" * MIB + CUT)

    def test_bytes_that_are_no_text_do_not_break_the_answer(self):
        self.assertEqual(self.run_command("printf 'a\\xff\\x00b'")["stdout"], "a\ufffd\x00b")

    def test_what_is_no_command_is_refused(self):
        for body in ({}, {"command": ""}, {"command": None}, {"command": 5}, {"command": ["ls"]},
                     {"command": True}, {"command": {"a": 1}}, {"command": "a\0b"}, {"code": "1"},
                     [], 7, '"text"', None):
            with self.subTest(body=body):
                self.refused(self.post("/exec", body), 400, NO_COMMAND)

    def test_there_is_no_network_and_no_python_of_ours(self):
        result = self.run_command("cat < /dev/tcp/127.0.0.1/" + str(self.daemon.port))
        self.assertNotEqual(result["exitCode"], 0)


class Python(AtlasCase):
    def test_output_is_stripped_or_left_out(self):
        self.assertEqual(self.python("print('  a \\n\\n b\\t')"), {"success": True, "output": "a \n\n b"})
        self.assertEqual(self.python("x = 1"), {"success": True})
        self.assertEqual(self.python("print('\\u00a0 \\u2003')"), {"success": True})
        self.assertEqual(self.python("print('\\u00e9 \\U0001f600 \\\\n')")["output"], "\u00e9 \U0001f600 \\n")

    def test_stderr_is_dropped_on_success(self):
        self.assertEqual(self.python("import warnings\nwarnings.warn('w')\nprint(1)"),
                         {"success": True, "output": "1"})

    def test_an_exception_keeps_what_came_before(self):
        result = self.python("print('before')\n_atlas_table = {'columns': ['a'], 'rows': [[1]]}\n"
                             "_atlas_chart = {'type': 'bar'}\nraise ValueError('no: \"good\"')")
        self.assertEqual(result, {
            "success": False, "output": "before", "error": 'ValueError: no: "good"',
            "table": {"columns": ["a"], "rows": [[1]]}, "rechartsCharts": [{"type": "bar"}]})

    def test_names_that_code_is_given(self):
        result = self.python("print(__name__, data, df, chart_path(), chart_path(3) == chart_path().replace("
                             "'chart_0', 'chart_3'))")
        name, data, frame, path, same = result["output"].split()
        self.assertEqual((name, data, frame, same), ("builtins", "None", "None", "True"))
        self.assertTrue(path.endswith("/chart_0.png"), path)

    def test_data_is_the_frame(self):
        table = {"columns": ["a", "b"], "rows": [[1, "x"], [2, None]]}
        result = self.python("print(data is df, list(df.columns), df.shape, df['a'].sum())", data=table)
        self.assertEqual(result["output"], "True ['a', 'b'] (2, 2) 3")
        result = self.python("print(df.shape, list(df))", data={"columns": ["a"], "rows": []})
        self.assertEqual(result["output"], "(0, 1) ['a']")
        self.assertEqual(self.python("print(df)", data=None)["output"], "None")

    def test_ragged_data_ends_before_the_code(self):
        result = self.python("print('never')", data={"columns": ["a", "b"], "rows": [[1, 2], [3]]})
        self.assertEqual((result["success"], "output" in result), (False, False))
        self.assertTrue(result["error"].startswith("ValueError: "), result)

    def test_much_data_passes(self):
        rows = [[i, f"name {i} " + "x" * 60] for i in range(200000)]
        body = json.dumps({"code": "print(len(df), df['a'].sum())",
                           "data": {"columns": ["a", "b"], "rows": rows}})
        self.assertGreater(len(body), 15 << 20)
        answer = self.post("/exec-python", body)
        self.assertEqual(answer.json, {"success": True, "output": f"200000 {sum(range(200000))}"})

    def test_stdin_is_at_its_end(self):
        self.assertTrue(self.python("input()")["error"].startswith("EOFError: "))

    def test_tables_and_charts_hold_what_json_cannot(self):
        result = self.python("""
import numpy as np, pandas as pd
_atlas_table = {'columns': ['a'], 'rows': [[np.int64(3)], [float('nan')], [float('inf')], [np.float32(0.5)],
                [pd.Timestamp('2026-01-02')], [{2}], [pd.NaT], [np.array([1, 2])], [np.bool_(True)]]}
_atlas_chart = [{'type': 'line', 'data': [{'m': pd.Timestamp('2026-01-02'), 'v': np.float64('nan')}],
                 'categoryKey': 'm', 'valueKeys': ['v']}, {'type': 'pie', 'data': [], 'categoryKey': 'a',
                 'valueKeys': []}]
""")
        self.assertEqual(result["table"]["rows"], [[3], [None], [None], [0.5], ["2026-01-02T00:00:00"], [[2]],
                                                   [None], [[1, 2]], [True]])
        self.assertEqual([chart["type"] for chart in result["rechartsCharts"]], ["line", "pie"])
        self.assertEqual(result["rechartsCharts"][0]["data"], [{"m": "2026-01-02T00:00:00", "v": None}])

    def test_what_is_a_chart(self):
        self.assertEqual(self.python("_atlas_chart = []")["rechartsCharts"], [])
        for value in ("5", "'text'", "None", "(1, 2)"):
            with self.subTest(value=value):
                self.assertNotIn("rechartsCharts", self.python(f"_atlas_chart = {value}"))
        self.assertEqual(self.python("_chart = {'type': 'bar'}\n_table = {'columns': [], 'rows': []}"),
                         {"success": True})

    def test_pictures_come_by_their_numbers(self):
        result = self.python(FIGURES)
        self.assertEqual([width_of(chart) for chart in result["charts"]], [100, 200, 300])

    def test_the_last_picture_of_a_name_counts(self):
        result = self.python(FIGURES + "plt.figure(figsize=(5, 1), dpi=100); plt.savefig(chart_path(2))")
        self.assertEqual([width_of(chart) for chart in result["charts"]], [100, 500, 300])

    def test_figures_that_are_shown_or_saved_elsewhere_are_none(self):
        result = self.python("import matplotlib.pyplot as plt\nplt.plot([1])\nplt.savefig('mine.png')\n"
                             "plt.show()\nplt.plot([2])")
        self.assertEqual(result, {"success": True})

    def test_pictures_outlive_an_exception(self):
        result = self.python(FIGURES + "1 / 0")
        self.assertEqual(len(result["charts"]), 3)
        self.assertEqual(result["error"], "ZeroDivisionError: division by zero")

    def test_plotly_figures_come_as_their_json(self):
        result = self.python("import plotly.graph_objects as go\n"
                             "fig = go.Figure(data=[go.Bar(x=['a', 'b'], y=[1, float('nan')])])\nprint('ok')")
        self.assertEqual(result["output"], "ok")
        self.assertEqual(len(result["plotlyCharts"]), 1)
        trace = result["plotlyCharts"][0]["data"][0]
        self.assertEqual((trace["type"], trace["x"], trace["y"]), ("bar", ["a", "b"], [1, None]))

    def test_a_timeout_keeps_what_was_said(self):
        result = self.python("import time\nprint('part', flush=True)\ntime.sleep(60)", timeout=4000)
        self.assertEqual(result, {"success": False, "output": "part",
                                  "error": "Python execution timed out after 4000ms"})
        self.assertEqual(self.python("import time\ntime.sleep(60)", timeout=50)["error"],
                         "Python execution timed out after 1000ms")
        self.assertTrue(self.python("print(1)", timeout=10 ** 12)["success"])
        self.assertTrue(self.python("print(1)", timeout="5")["success"])

    def test_ends_that_are_no_exception(self):
        self.assertEqual(self.python("print('x')\nraise SystemExit(3)"),
                         {"success": False, "output": "x", "error": "Python execution failed (exit code 3)"})
        self.assertEqual(self.python("raise SystemExit('because')")["error"], "because")
        self.assertEqual(self.python("exit(0)"), {"success": True})
        self.assertEqual(self.python("raise KeyboardInterrupt")["success"], False)
        result = self.python("import posix\nposix.kill(posix.getpid(), 11)")
        self.assertTrue(result["error"].startswith("Python process terminated by SIGSEGV"), result)
        result = self.python("x = bytearray(1 << 30)\nfor i in range(0, 1 << 30, 4096): x[i] = 1", timeout=60000)
        self.assertIn(result["error"], ("Python execution killed (likely exceeded time or memory limit)",
                                        "MemoryError: "))

    def test_output_is_cut_at_a_mebibyte_and_says_so(self):
        self.assertEqual(self.python("print('a' * 1048575)"), {"success": True, "output": "a" * (MIB - 1)})
        self.assertEqual(self.python("print('a' * 3000000)"), {"success": True, "output": "a" * MIB + CUT})
        self.assertEqual(self.python("print('a' * 3000000)\n1/0")["output"], "a" * MIB + CUT)
        result = self.python("while True: print('a' * 100000)", timeout=60000)
        self.assertEqual(result["error"], "Python output exceeded 1 MB limit")

    def test_what_is_no_code_is_refused(self):
        for body in ({}, {"code": ""}, {"code": None}, {"code": 5}, {"code": ["print(1)"]}, {"code": False},
                     {"command": "ls"}, [], [1], 7, None, {"code": {"code": "print(1)"}}):
            with self.subTest(body=body):
                self.refused(self.post("/exec-python", body), 400, NO_CODE)
                self.refused(self.post("/exec-python-stream", body), 400, NO_CODE)

    def test_what_is_no_json_is_refused(self):
        for body in ("", "{", "{'code': 'print(1)'}", '{"code": "print(1)"', '{"code": "a\nb"}', b"\xff\xfe",
                     '{"code":"1"} x', '{"code": NaN}', "[" * 100000, '{"a":' * 50000):
            with self.subTest(body=body[:30]):
                self.refused(self.post("/exec-python", body), 400, NO_JSON)
                self.refused(self.post("/exec", body), 400, NO_JSON)

    def test_more_members_are_read_over(self):
        self.assertEqual(self.python("print(1)", explanation="x", more={"deep": [1, {"code": 5}]})["output"], "1")
        answer = self.post("/exec-python", '{"code":"print(1)","code":"print(2)"}')
        self.assertEqual(answer.json, {"success": True, "output": "2"})

    def test_no_content_type_is_asked_for(self):
        answer = self.post("/exec-python", {"code": "print(1)"}, headers={"Content-Type": "text/plain"})
        self.assertEqual(answer.json["output"], "1")
        self.assertEqual(answer.headers["Content-Type"], "application/json")
        self.assertIsNone(answer.headers["Access-Control-Allow-Origin"])

    def test_each_run_is_a_new_one(self):
        self.assertTrue(self.python("import numpy as np\nleaked = 1\nnp.save('left', [1])\nnp.load('left.npy')")
                        ["success"])
        self.assertEqual(self.python("leaked")["error"], "NameError: name 'leaked' is not defined")
        self.assertTrue(self.python("import numpy as np\nnp.load('left.npy')")["error"]
                        .startswith("FileNotFoundError: "))


class Guard(AtlasCase):
    def test_the_lists(self):
        modules = ("subprocess os socket shutil sys ctypes importlib code signal multiprocessing threading pty "
                   "fcntl termios resource posixpath http urllib requests httpx aiohttp webbrowser pickle "
                   "tempfile pathlib").split()
        calls = ("compile exec eval __import__ open breakpoint getattr globals locals vars dir delattr "
                 "setattr").split()
        for module in modules[::6]:
            self.assertEqual(self.python(f"print(1)\nimport {module}"),
                             {"success": False, "error": f'Blocked import: "{module}" is not allowed'})
        for call in calls[::4]:
            self.assertEqual(self.python(f"{call}('x')"),
                             {"success": False, "error": f'Blocked builtin: "{call}()" is not allowed'})

    def test_only_builtins_are_refused_and_what_is_called_like_one_is_not(self):
        data = {"columns": ["a"], "rows": [[1], [2]]}
        code = ("import io, re\nfrom PIL import Image\npicture = io.BytesIO()\nImage.new('L', (3, 2)).save(picture, 'png')\n"
                "print(re.compile('x+').pattern, int(df.eval('a * 2').sum()), Image.open(picture).size)")
        self.assertEqual(self.python(code, data=data), {"success": True, "output": "x+ 6 (3, 2)"})
        for code, name in (("open('x')", "open"), ("import builtins\nbuiltins.eval('1')", "eval"),
                           ("__builtins__.open('x')", "open")):
            self.assertEqual(self.python(code)["error"], f'Blocked builtin: "{name}()" is not allowed')


class StrictGuard(AtlasCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon("dialects: {atlas: {enabled: true, prefix: /}}\n"
                            "policies: {analysis: {base: analysis, guard: {strict: true}}}\n")
        cls.addClassCleanup(cls.daemon.sweep)

    def test_its_rule_is_theirs_to_the_letter(self):
        for code, error in (
                ("from os import path", 'Blocked import: "os" is not allowed'),
                ("import os.path as p", 'Blocked import: "os" is not allowed'),
                ("if False:\n    import sys", 'Blocked import: "sys" is not allowed'),
                ("from urllib.parse import quote", 'Blocked import: "urllib" is not allowed'),
                ("import re\nre.compile('x')", 'Blocked builtin: "compile()" is not allowed'),
                ("df.eval('a')", 'Blocked builtin: "eval()" is not allowed'),
                ("x = (", "SyntaxError: '(' was never closed (line 1)")):
            with self.subTest(code=code):
                self.assertEqual(self.python(code), {"success": False, "error": error})
                self.assertEqual(self.stream(code), [{"type": "error", "data": {"error": error}}])


class Order(AtlasCase):
    """The order of checks: the token, then the ten places, then the body."""

    def test_ten_at_a_time_on_all_three_routes(self):
        streams = [self.open_stream(WAIT_FOREVER, timeout=100000) for _ in range(10)]
        for lines in streams:
            self.assertEqual(next(iter(lines)), {"type": "stdout", "data": "here\n"})
        for path, body in (("/exec", {"command": "ls"}), ("/exec-python", {"code": "1"}),
                           ("/exec-python-stream", {"code": "1"}), ("/exec-python", "no json"), ("/exec", {})):
            with self.subTest(path=path):
                self.refused(self.post(path, body), 429, "Too many concurrent executions")
        self.assertEqual(self.daemon.request("GET", "/health").status, 200)
        streams[0].close()
        wait_for(lambda: self.post("/exec-python", {"code": "print(1)"}).status == 200,
                 what="a place that is free again")

    def test_a_connection_lives_on_after_a_refusal(self):
        connection = self.daemon.connection()
        for body, status in (("{", 400), ('{"code": 5}', 400), ('{"code": "print(1)"}', 200)):
            connection.request("POST", "/exec-python", body)
            response = connection.getresponse()
            response.read()
            self.assertEqual(response.status, status)
        connection.close()


class DataLimit(AtlasCase):
    MORE = ", data_max: 4KiB"

    def test_more_data_than_the_config_allows_is_refused(self):
        rows = [[i] for i in range(2000)]
        answer = self.post("/exec-python", {"code": "1", "data": {"columns": ["a"], "rows": rows}})
        self.refused(answer, 413, "'data' is too large")


class Prefix(AtlasCase):
    """Where the config puts it."""

    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon("dialects: {atlas: {enabled: true}}\n")
        cls.addClassCleanup(cls.daemon.sweep)

    def test_by_default_it_is_below_its_name_and_where_nothing_else_is(self):
        for path in ("/atlas/exec-python", "/exec-python"):
            self.assertEqual(self.post(path, {"code": "print(1)"}).json, {"success": True, "output": "1"})
        self.assertIn("last_run_ms", self.daemon.request("GET", "/health").json)
        self.assertIn("pythonAvailable", self.daemon.request("GET", "/atlas/health").json)
        self.refused(self.daemon.request("GET", "/atlas/other"), 404, "Not found")
        self.refused(self.daemon.request("GET", "/atlas"), 404, "Not found")

    def test_a_host_that_is_not_ours_is_refused_in_its_shape(self):
        answer = self.daemon.request("GET", "/atlas/health", headers={"Host": "evil.example"})
        self.assertEqual(answer.status, 403)
        self.assertEqual(list(answer.json), ["error"])
        answer = self.post("/exec-python", {"code": "1"}, headers={"Origin": "http://evil.example"})
        self.assertEqual(answer.status, 403)
