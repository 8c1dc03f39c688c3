# SPDX-License-Identifier: Apache-2.0
"""Outputs of a run besides text: files, charts, figures, tables."""

import base64
import hashlib
import os
import stat
import unittest

from vivcli import VivCase, strict_json

PNG = b"\x89PNG\r\n\x1a\n"


class Files(VivCase):
    def test_files_are_listed_with_size_type_and_hash(self):
        result = self.result("open('out.csv', 'w').write('a,b\\n1,2\\n')\nNone")
        self.assertEqual(result["files"], [{"path": "/workspace/out.csv", "size": 8,
                                            "mtime_ms": result["files"][0]["mtime_ms"], "mime": "text/csv",
                                            "sha256": hashlib.sha256(b"a,b\n1,2\n").hexdigest()}])

    def test_out_writes_them(self):
        out = self.path("out")
        code = ("import os\nos.makedirs('a/b')\nopen('a/b/c.bin', 'wb').write(bytes(range(256)))\n"
                "open('d.txt', 'w').write('d')\nNone")
        done = self.run_viv(code, "--out", out)
        self.assertEqual(done.code, 0)
        with open(os.path.join(out, "a/b/c.bin"), "rb") as file:
            self.assertEqual(file.read(), bytes(range(256)))
        with open(os.path.join(out, "d.txt"), "rb") as file:
            self.assertEqual(file.read(), b"d")

    def test_without_out_they_are_named_on_stderr(self):
        done = self.run_viv("open('report.txt', 'w').write('x')\nNone")
        self.assertEqual(done.out, b"")
        self.assertIn(b"report.txt", done.err)
        self.assertEqual(sorted(os.listdir(self.folder)), ["home"])

    def test_only_regular_files_are_taken(self):
        code = ("import os, socket\n"
                "open('plain.txt', 'w').write('x')\nos.symlink('/etc/passwd', 'link')\n"
                "os.symlink('/usr', 'tree')\n"
                "os.mkfifo('fifo')\ns = socket.socket(socket.AF_UNIX); s.bind('socket')\n"
                "open('one', 'w').write('1'); os.link('one', 'two')\nos.mkdir('empty')\nNone")
        out = self.path("out")
        result = self.result(code, "--out", out)
        self.assertEqual([file["path"] for file in result["files"]],
                         ["/workspace/one", "/workspace/plain.txt", "/workspace/two"])
        self.assertEqual(sorted(os.listdir(out)), ["one", "plain.txt", "two"])
        self.assertEqual(result["left_out"], ["/workspace/fifo (a pipe)", "/workspace/link (a symbolic link)",
                                              "/workspace/socket (a socket)", "/workspace/tree (a symbolic link)"])
        for name in ("one", "two"):  # each has bytes of its own here
            info = os.stat(os.path.join(out, name))
            self.assertEqual((info.st_nlink, info.st_size), (1, 1))

    def test_hostile_names_stay_inside(self):
        code = ("names = [b'new\\nline', b'\\xff\\xfe', b'..x', b'-rf', b' ', b'\\x1b[2J', "
                "b'a' * 255, b'...', b'back\\\\slash']\n"
                "for n in names: open(b'/workspace/' + n, 'wb').write(b'x')\nNone")
        out = self.path("out")
        done = self.viv("run", "--no-daemon", "--json", "--out", out, "-c", code)
        self.assertEqual(len(self.check_result(done, "ok")["files"]), 9)
        for name in (b"..x", b"..."):
            self.assertIn(b"not written: /workspace/" + name + b": ", done.err)
        taken = []
        for base, folders, files in os.walk(os.fsencode(out)):
            for name in files:
                path = os.path.join(base, name)
                self.assertTrue(stat.S_ISREG(os.lstat(path).st_mode))
                taken.append(path)
        self.assertEqual(len(taken), 7)
        self.assertEqual(done.err.count(b"not written: "), 2)
        self.assertEqual(sorted(os.listdir(self.folder)), ["home", "out"])

    def test_out_does_not_follow_links_that_are_there_already(self):
        out, victim = self.path("out"), self.write("victim.txt", "untouched")
        os.mkdir(out)
        os.symlink(victim, os.path.join(out, "x.txt"))
        self.run_viv("open('x.txt', 'w').write('overwritten')\nNone", "--out", out)
        with open(victim, encoding="ascii") as file:
            self.assertEqual(file.read(), "untouched")
        self.assertTrue(os.path.islink(os.path.join(out, "x.txt")))

    def test_expected_files_that_are_missing_are_told(self):
        result = self.result("open('a.txt', 'w').write('x')\nNone", "--expect", "/workspace/a.txt",
                             "--expect", "/workspace/b.txt")
        self.assertEqual(result["missing"], ["/workspace/b.txt"])

    def test_ten_thousand_files_are_capped_and_told(self):
        code = "for i in range(10000): open(f'f{i:05}', 'w').write(str(i))\nNone"
        out = self.path("out")
        done = self.viv("run", "--no-daemon", "--json", "--out", out, "--timeout", "60s", "-c", code)
        self.assertEqual(done.code, 125, "files that were left out do not pass for success")
        self.assertIn(b"not written: some files: 1000 were taken", done.err)
        result = strict_json(done.out)
        self.assertEqual((result["verdict"]["kind"], result["verdict"]["exit_code"]), ("ok", 0))
        self.assertTrue(result["truncated"]["files"])
        self.assertEqual(len(result["files"]), 1000)
        self.assertEqual(len(os.listdir(out)), 1000)


class Charts(VivCase):
    def charts(self, code, *flags):
        return self.result("import matplotlib.pyplot as plt\n" + code, *flags)["charts"]

    def one(self, code):
        charts = self.charts(code)
        self.assertEqual(len(charts), 1)
        chart = charts[0]
        self.assertEqual((chart["kind"], chart["mime"]), ("image", "image/png"))
        self.assertTrue(base64.b64decode(chart["base64"], validate=True).startswith(PNG))
        return chart

    def test_open_figures_are_captured_at_the_end(self):
        self.assertEqual(len(self.charts("plt.plot([1, 2])\nplt.figure()\nplt.plot([3, 4])\nNone")),
                         2)

    def test_a_saved_figure_that_is_still_open_is_one_chart(self):
        self.one("plt.plot([1, 2])\nplt.savefig(chart_path(0))")

    def test_chart_path_numbers_them(self):
        charts = self.charts("for n in (0, 3):\n"
                             "    plt.figure(); plt.plot([n, 1]); plt.savefig(chart_path(n)); "
                             "plt.close()")
        self.assertEqual([chart["index"] for chart in charts], [0, 3])

    def test_show_shows(self):
        self.one("plt.plot([1, 2])\nplt.show()")

    def test_out_writes_pngs(self):
        out = self.path("out")
        self.charts("plt.plot([1, 2])\nplt.savefig(chart_path(0))", "--out", out)
        names = [name for name in os.listdir(out) if name.endswith(".png")]
        self.assertEqual(len(names), 1)
        with open(os.path.join(out, names[0]), "rb") as file:
            self.assertEqual(file.read(8), PNG)

    def test_lines_are_told_as_points(self):
        data = self.one("plt.plot([1, 2, 3], [4, 5, 6], label='up')\n"
                        "plt.plot([1, 3], [9, 7], label='down')\n"
                        "plt.title('Title'); plt.xlabel('x (s)'); plt.ylabel('y'); plt.legend()\n"
                        "None")["data"]
        self.assertEqual((data["type"], data["title"], data["y_label"]), ("line", "Title", "y"))
        self.assertEqual([(line["label"], line["points"]) for line in data["elements"]],
                         [("up", [[1, 4], [2, 5], [3, 6]]), ("down", [[1, 9], [3, 7]])])

    def test_scatter(self):
        data = self.one("plt.scatter([1, 2], [3, 4], label='dots')\nNone")["data"]
        self.assertEqual((data["type"], data["elements"][0]["points"]),
                         ("scatter", [[1, 3], [2, 4]]))

    def test_bars(self):
        data = self.one("plt.bar(['a', 'b'], [3, 5])\nNone")["data"]
        self.assertEqual(data["type"], "bar")
        self.assertEqual([(bar["label"], bar["value"]) for bar in data["elements"]],
                         [("a", 3), ("b", 5)])

    def test_horizontal_bars(self):
        data = self.one("plt.barh(['a', 'b'], [3, 5])\nNone")["data"]
        self.assertEqual([(bar["label"], bar["value"]) for bar in data["elements"]],
                         [("a", 3), ("b", 5)])

    def test_pie(self):
        data = self.one("plt.pie([1, 3], labels=['small', 'large'])\nNone")["data"]
        self.assertEqual(data["type"], "pie")
        self.assertEqual([part["label"] for part in data["elements"]], ["small", "large"])
        self.assertAlmostEqual(data["elements"][1]["angle"], 270, delta=0.5)

    def test_boxes(self):
        data = self.one("plt.boxplot([[1, 2, 3, 4, 100]], labels=['box'])\nNone")["data"]
        self.assertEqual(data["type"], "box_and_whisker")
        box = data["elements"][0]
        self.assertEqual((box["median"], box["outliers"]), (3, [100]))

    def test_several_axes_are_a_superchart(self):
        data = self.one("f, (a, b) = plt.subplots(1, 2)\na.plot([1, 2])\nb.bar(['x'], [1])\n"
                        "None")["data"]
        self.assertEqual((data["type"], [part["type"] for part in data["elements"]]),
                         ("superchart", ["line", "bar"]))

    def test_dates_and_nan_do_not_break_json(self):
        data = self.one("import datetime as dt\n"
                        "plt.plot([dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 2)], [1, "
                        "float('nan')])\nNone")["data"]
        points = data["elements"][0]["points"]
        self.assertTrue(str(points[0][0]).startswith("2024-01-01"))
        self.assertIsNone(points[1][1])

    def test_charts_before_an_error_are_kept(self):
        result = self.result("import matplotlib.pyplot as plt\n"
                             "plt.plot([1]); plt.savefig(chart_path(0))\n1 / 0", kind="exception")
        self.assertEqual(len(result["charts"]), 1)


class Specs(VivCase):
    def test_a_chart_variable_is_a_spec(self):
        spec = {"type": "line", "data": [{"month": "Jan", "revenue": 1.5}], "categoryKey": "month",
                "valueKeys": ["revenue"]}
        for name in ("_chart", "_atlas_chart"):
            with self.subTest(name):
                self.assertEqual(self.result(f"{name} = {spec!r}")["charts"],
                                 [{"kind": "spec", "spec": spec}])

    def test_a_list_is_several(self):
        charts = self.result("_chart = [{'type': 'bar'}, {'type': 'pie'}]")["charts"]
        self.assertEqual([chart["spec"]["type"] for chart in charts], ["bar", "pie"])

    def test_values_in_specs_are_made_safe(self):
        code = ("import numpy as np, pandas as pd\n"
                "_chart = {'type': 'bar', 'data': [{'v': np.int64(2), 'w': float('nan'), "
                "'t': pd.Timestamp('2024-01-01')}]}")
        row = self.result(code)["charts"][0]["spec"]["data"][0]
        self.assertEqual((row["v"], row["w"]), (2, None))
        self.assertTrue(row["t"].startswith("2024-01-01"))

    def test_tables(self):
        for code in ("_table = {'columns': ['a', 'b'], 'rows': [[1, None]]}",
                     "_atlas_table = {'columns': ['a', 'b'], 'rows': [[1, None]]}"):
            with self.subTest(code):
                self.assertEqual(self.result(code)["table"],
                                 {"columns": ["a", "b"], "rows": [[1, None]]})

    def test_a_table_that_is_a_frame_has_its_index(self):
        table = self.result("import pandas as pd\n"
                            "_table = pd.DataFrame({'a': [1], 'b': [None]}, index=['k'])")["table"]
        self.assertEqual((table["columns"], table["rows"], table["index"]["rows"], table["total"]),
                         (["a", "b"], [[1, None]], [["k"]], 1))
        self.assertNotIn("handle", table)  # nothing is left that could be asked

    def test_plotly_figures_are_json(self):
        code = "import plotly.graph_objects as go\nfig = go.Figure(go.Bar(x=['a'], y=[1]))\n"
        for end in ("fig", "fig.show()", "None", "display(fig)"):
            with self.subTest(end):
                charts = self.result(code + end)["charts"]
                self.assertEqual([chart["kind"] for chart in charts], ["plotly"])
                self.assertEqual(charts[0]["figure"]["data"][0]["type"], "bar")


if __name__ == "__main__":
    unittest.main()
