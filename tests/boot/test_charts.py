# SPDX-License-Identifier: Apache-2.0
"""matplotlib and plotly figures as charts."""

import base64
import hashlib
import os
import unittest

from harness import Runner

PNG = b"\x89PNG\r\n\x1a\n"


def is_png(chart):
    return base64.b64decode(chart["base64"]).startswith(PNG)


class Pictures(unittest.TestCase):
    """One interpreter: importing matplotlib is the slow part. It is imported by user code here; the
    tests of the zygote have it preloaded."""

    @classmethod
    def setUpClass(cls):
        cls.runner = Runner()
        cls.runner.run("import matplotlib.pyplot as plt, pandas as pd, numpy as np")

    @classmethod
    def tearDownClass(cls):
        cls.runner.close()

    def charts(self, code, **meta):
        outcome = self.runner.run(code, **meta)
        self.assertEqual(outcome.done["kind"], "ok", outcome.error)
        self.assertEqual(outcome.stderr, b"")
        for chart in outcome.charts:
            self.assertTrue(is_png(chart))
        return outcome.charts

    def data(self, code):
        charts = self.charts(code)
        self.assertEqual(len(charts), 1)
        return charts[0]["data"]

    def test_a_saved_chart_is_told_the_moment_savefig_returns(self):
        outcome = self.runner.run("print('before')\nfig, ax = plt.subplots()\nax.plot([1, 2])\n"
                                  "fig.savefig(chart_path(3))\nprint('after')")
        self.assertEqual([chart["index"] for chart in outcome.charts], [3])
        self.assertTrue(outcome.charts[0]["path"].endswith("/charts/chart_3.png"))
        self.assertEqual(outcome.stdout_at, [7])
        self.assertEqual(outcome.of("file"), [])

    def test_a_saved_figure_that_is_still_open_is_one_chart(self):
        self.assertEqual(len(self.charts("plt.plot([1, 2])\nplt.savefig('one.png')")), 1)
        self.assertTrue(os.path.exists(self.runner.path("one.png")))

    def test_a_figure_that_was_saved_to_memory_is_not_drawn_again_unless_it_changed(self):
        save = "import io, hashlib\nbuf = io.BytesIO(b'head')\nbuf.seek(4)\nplt.plot([1, 2])\nplt.savefig(buf%s)\n"
        tell = "print(hashlib.sha256(buf.getvalue()[4:]).hexdigest())"
        for options, after, is_same in (("", "", True), (", format='png'", "", True), ("", "plt.title('later')\n", False),
                                        ("", "plt.gca().lines[0].set_color('red')\n", False),
                                        (", dpi=20", "", False), (", format='svg'", "", False)):
            outcome = self.runner.run(save % options + after + tell)
            chart, = outcome.charts
            shown = hashlib.sha256(base64.b64decode(chart["base64"])).hexdigest()
            self.assertEqual(shown == outcome.stdout.decode().strip(), is_same, (options, after))
            self.assertEqual(chart.get("scale"), None if is_same else 2)

    def test_saving_twice_is_the_same_chart_twice(self):
        charts = self.charts("plt.plot([1])\nplt.savefig('s.png')\nplt.savefig('s.png')")
        self.assertEqual([chart["index"] for chart in charts], [0, 0])

    def test_every_way_to_name_a_file_is_understood(self):
        charts = self.charts("from pathlib import Path\nplt.plot([1])\nplt.savefig(Path('p.png'))\n"
                             "plt.savefig('bare')\nplt.savefig('b.pdf')\nimport io\n"
                             "plt.savefig(io.BytesIO())\nplt.savefig('/tmp/elsewhere.png')\n"
                             "import os\nos.unlink('/tmp/elsewhere.png')")
        self.assertEqual([os.path.basename(chart["path"]) for chart in charts],
                         ["p.png", "bare.png"])

    def test_open_figures_are_captured_and_closed(self):
        charts = self.charts("plt.plot([1, 2])\nplt.figure()\nplt.bar(['a'], [1])")
        self.assertEqual([chart["index"] for chart in charts], [0, 1])
        self.assertEqual(self.charts("plt.get_fignums()"), [])

    def test_an_empty_figure_is_no_chart(self):
        self.assertEqual(self.charts("plt.figure()"), [])

    def test_figures_before_an_exception_are_captured(self):
        outcome = self.runner.run("plt.plot([1, 2])\n1/0")
        self.assertEqual(len(outcome.charts), 1)

    def test_show_shows_at_once_unless_outputs_are_explicit(self):
        outcome = self.runner.run("plt.plot([1])\nplt.show()\nprint('later')\n"
                                  "fig = plt.figure()\nfig.add_subplot().plot([1])\nfig.show()")
        self.assertEqual(len(outcome.charts), 2)
        self.assertEqual(outcome.stdout_at, [0, 6])
        outcome = self.runner.run("plt.plot([1])\nplt.show()\nlen(plt.get_fignums())", explicit=True)
        self.assertEqual(outcome.result["application/json"], 1)
        self.assertEqual(self.charts("len(plt.get_fignums())"), [])  # and the next run does not see it

    def test_a_figure_as_value_is_one_chart(self):
        outcome = self.runner.run("fig, ax = plt.subplots()\nax.plot([1])\nfig")
        self.assertEqual(len(outcome.charts), 1)
        self.assertEqual(list(outcome.result), ["text/plain"])
        self.assertEqual(len(self.charts("display(fig)\ndisplay(fig)")), 1)

    def test_a_figure_that_cannot_be_drawn_is_told_on_stderr(self):
        outcome = self.runner.run("plt.title('$\\\\nonsense{$')")
        self.assertEqual((outcome.done["kind"], outcome.charts), ("ok", []))
        self.assertIn(b"a chart could not be shown", outcome.stderr)

    def test_pictures_written_by_others_to_the_chart_folder_are_told_once(self):
        code = "from PIL import Image\nImage.new('RGB', (2, 2)).save(chart_path(7))"
        self.assertEqual([chart["index"] for chart in self.charts(code)], [7])
        self.assertEqual(self.charts("1"), [])

    def test_a_forked_worker_draws_without_a_word(self):
        code = ("import multiprocessing\ndef draw(n):\n    plt.plot([1])\n"
                "    plt.savefig(f'w{n}.png')\n    plt.close('all')\n    return n\n"
                "with multiprocessing.get_context('fork').Pool(2) as pool:\n"
                "    print(pool.map(draw, [1, 2]))")
        outcome = self.runner.run(code)
        self.assertEqual((outcome.text, outcome.charts), ("[1, 2]\n", []))
        self.assertEqual(len(outcome.of("file")), 2)

    def test_a_line_has_its_points(self):
        data = self.data("plt.plot([1, 2], [3, 4.5], label='a')\nplt.plot([1, 2], [5, np.nan])\n"
                         "plt.title('T')\nplt.xlabel('time (s)')\nplt.ylabel('speed [m/s]')")
        self.assertEqual((data["type"], data["title"]), ("line", "T"))
        self.assertEqual(data["elements"], [
            {"label": "a", "points": [[1.0, 3.0], [2.0, 4.5]]},
            {"label": "line 2", "points": [[1.0, 5.0], [2.0, None]]}])
        self.assertEqual((data["x_label"], data["x_unit"], data["y_unit"]),
                         ("time (s)", "s", "m/s"))
        self.assertEqual((data["x_scale"], len(data["x_ticks"])),
                         ("linear", len(data["x_tick_labels"])))

    def test_dates_are_iso_text(self):
        data = self.data("plt.plot(pd.to_datetime(['2020-01-01', '2020-01-02 12:00']), [1, 2])")
        self.assertEqual(data["elements"][0]["points"],
                         [["2020-01-01", 1.0], ["2020-01-02T12:00:00", 2.0]])
        self.assertEqual(data["x_scale"], "datetime")
        data = self.data("pd.Series([1, 2], index=pd.date_range('2020-01-31', periods=2, "
                         "freq='M')).plot()")
        self.assertEqual(data["elements"][0]["points"], [["2020-01", 1.0], ["2020-02", 2.0]])

    def test_times_are_those_of_the_labels_of_the_picture(self):
        plot = ("import matplotlib.dates as md\nat = pd.date_range('2024-10-26 22:00', periods=8, freq='h', "
                "tz='UTC').tz_convert('America/New_York')\nplt.plot(at, range(8))\n")
        for more, first in (("", "2024-10-26T18:00:00"), ("plt.xlim(at[0], at[-1])", "2024-10-26T18:00:00"),
                            ("plt.gca().xaxis.set_major_formatter(md.ConciseDateFormatter(md.AutoDateLocator(), "
                             "tz=at.tz))", "2024-10-26T18:00:00"),
                            ("plt.gca().xaxis.set_major_formatter(md.DateFormatter('%H', tz='Asia/Tokyo'))",
                             "2024-10-27T07:00:00"),
                            ("plt.gca().xaxis.set_major_formatter(md.DateFormatter('%H'))", "2024-10-26T22:00:00")):
            data = self.data(plot + more)
            self.assertEqual(data["elements"][0]["points"][0], [first, 0.0], more)
            self.assertEqual(data.get("x_limits", [first])[0], first)
            self.assertTrue(data["complete"])
        data = self.data("with plt.rc_context({'timezone': 'Europe/Berlin'}):\n"
                         "    plt.plot(pd.to_datetime(['2024-01-01 10:00', '2024-01-01 12:00']), [1, 2])\n"
                         "    plt.savefig('berlin.png')\n    plt.close()")
        self.assertEqual(data["elements"][0]["points"][0], ["2024-01-01T11:00:00", 1.0])

    def test_an_hour_that_the_clocks_have_twice_is_named(self):
        plot = "plt.plot(pd.date_range('2024-11-0{}', periods=8, freq='h', tz='America/New_York'), range(8))"
        self.assertIn("the clock change along x", self.data(plot.format(3))["lacks"])
        self.assertEqual(self.data(plot.format(5))["lacks"], [])

    def test_a_legend_can_be_read_over_what_it_lies_on(self):
        outcome = self.runner.run("fig, ax = plt.subplots()\nax.bar(['a', 'b'], [1, 1], label='x')\n"
                                  "frame = ax.legend().get_frame()\nplt.close()\n"
                                  "[frame.get_visible() and frame.get_alpha(), frame.get_facecolor()[:3] == (1, 1, 1)]")
        self.assertEqual(outcome.result["application/json"], [0.8, True])
        outcome = self.runner.run("with plt.style.context('dark_background'):\n    ax = plt.subplots()[1]\n"
                                  "    ax.bar(['a'], [1], label='x')\n    frame = ax.legend().get_frame()\n"
                                  "plt.close()\nlist(frame.get_facecolor())")
        self.assertEqual(outcome.result["application/json"], [0.0, 0.0, 0.0, 0.8])

    def test_categories_and_log_scales_are_told(self):
        data = self.data("plt.plot(['x', 'y'], [1, 10])\nplt.yscale('log')")
        self.assertEqual(data["elements"][0]["points"], [["x", 1.0], ["y", 10.0]])
        self.assertEqual((data["x_scale"], data["y_scale"]), ("categorical", "log"))

    def test_a_scatter_has_its_points(self):
        data = self.data("plt.scatter([1, 2], [3, 4], label='s')")
        self.assertEqual((data["type"], data["elements"]),
                         ("scatter", [{"label": "s", "points": [[1.0, 3.0], [2.0, 4.0]]}]))

    def test_bars_have_label_value_and_group(self):
        data = self.data("plt.bar(['a', 'b'], [1, 2])")
        self.assertEqual((data["type"], data["elements"]), ("bar", [
            {"label": "a", "value": 1, "group": ""}, {"label": "b", "value": 2, "group": ""}]))
        data = self.data("plt.bar([2019, 2020], [1, 2])")
        self.assertEqual([bar["label"] for bar in data["elements"]], ["2019", "2020"])

    def test_grouped_and_flat_bars_are_told(self):
        data = self.data("pd.DataFrame({'u': [1, 2], 'v': [3, 4]}, index=['p', 'q']).plot.bar()")
        self.assertEqual(data["elements"], [
            {"label": "p", "value": 1, "group": "u"}, {"label": "q", "value": 2, "group": "u"},
            {"label": "p", "value": 3, "group": "v"}, {"label": "q", "value": 4, "group": "v"}])
        data = self.data("plt.barh(['a', 'b'], [5, 6])")
        self.assertEqual(data["elements"], [{"label": "a", "value": 5, "group": ""},
                                            {"label": "b", "value": 6, "group": ""}])

    def test_a_histogram_is_bars(self):
        data = self.data("plt.hist([1, 1, 2, 4], bins=[0.5, 1.5, 2.5, 4.5])")
        self.assertEqual([(bar["label"], bar["value"]) for bar in data["elements"]],
                         [("1", 2.0), ("2", 1.0), ("3.5", 1.0)])
        self.assertEqual(data["spans"], [[0.5, 1.5, 0], [1.5, 2.5, 0], [2.5, 4.5, 0]])
        self.assertTrue(data["complete"])

    def test_bars_without_names_have_places(self):
        data = self.data("plt.hist([[1, 2], [2, 3]], bins=2, density=True, label=['p', 'q'])")
        self.assertEqual([bar["group"] for bar in data["elements"]], ["p", "p", "q", "q"])
        self.assertEqual([round(end, 6) for span in data["spans"] for end in span[:2]],
                         [1.1, 1.5, 2.1, 2.5, 1.5, 1.9, 2.5, 2.9])
        data = self.data("plt.hist([[1, 2], [2, 2]], bins=1, stacked=True, orientation='horizontal')")
        self.assertEqual(([span[2] for span in data["spans"]], data["horizontal"]), ([0, 2.0], True))
        data = self.data("plt.bar([2019, 2024], [1, 2], width=0.5, bottom=[1, 0])")
        self.assertEqual((data["spans"], data["lacks"]), ([[2018.75, 2019.25, 1], [2023.75, 2024.25, 0]], []))
        data = self.data("plt.bar(pd.to_datetime(['2024-01-02']), [1], width=1)")
        self.assertEqual(data["spans"], [["2024-01-01T12:00:00", "2024-01-02T12:00:00", 0]])
        for code in ("plt.bar(['a'], [1])", "pd.Series([1, 2], index=['p', 'q']).plot.bar()",
                     "plt.bar([0, 1], [1, 2])\nplt.xticks([0, 1], ['x', 'y'])"):
            self.assertNotIn("spans", self.data(code))

    def test_the_frames_own_histograms_are_told(self):
        frame = "f = pd.DataFrame({'a': [1., 2, 2], 'b': [2., 3, 9]})\n"
        data = self.data(frame + "f.plot.hist(bins=4, alpha=0.5)")
        self.assertEqual(({bar["group"] for bar in data["elements"]}, len(data["spans"]), data["complete"]),
                         ({"a", "b"}, 8, True))
        data = self.data(frame + "f.hist(bins=4)")
        self.assertEqual([(part["title"], len(part["spans"]), part["x_grid"]) for part in data["elements"]],
                         [("a", 4, True), ("b", 4, True)])

    def test_bars_that_stand_in_front_of_each_other_are_told(self):
        data = self.data("plt.bar(['a'], [3])\nplt.bar(['a'], [2])")
        self.assertEqual((data["overlaid"], data["complete"]), (True, True))
        self.assertNotIn("overlaid", self.data("plt.bar(['a', 'b'], [3, 1])"))

    def test_lines_over_bars_and_points_are_told_beside_them(self):
        for code in ("plt.hist([1, 2])", "plt.scatter([1, 2], [3, 4])"):
            data = self.data(f"{code}\nplt.plot([1, 2], [5, 6], 'r--', label='fit')")
            self.assertEqual(data["lines"], [{"label": "fit", "points": [[1.0, 5.0], [2.0, 6.0]]}])
            self.assertEqual((data["line_styles"][0]["color"], data["complete"]), ("#ff0000", True))
            self.assertEqual(len(data["styles"]), len(data["elements"]))

    def test_grid_lines_are_told_as_they_are_drawn(self):
        data = self.data("plt.plot([1, 2])\nplt.grid(axis='x')")
        self.assertEqual((data["x_grid"], data["y_grid"]), (True, False))
        self.assertNotIn("x_minor_grid", data)
        data = self.data("plt.loglog([1, 2])\nplt.grid(True, which='both')")
        self.assertTrue(data["x_minor_grid"] and data["y_grid"])

    def test_boxes_that_lie_and_pies_that_turn_are_told(self):
        data = self.data("plt.boxplot([[1, 2, 3]], vert=False)")
        self.assertEqual((data["horizontal"], data["styles"][0]["fill"]), (True, False))
        self.assertNotIn("horizontal", self.data("plt.boxplot([[1, 2, 3]])"))
        data = self.data("plt.pie([1, 3], startangle=90, counterclock=False, wedgeprops={'width': 0.25})")
        self.assertEqual((data["start"], data["clockwise"], data["hole"]), (90, True, 0.75))

    def test_points_have_colours_sizes_and_shapes_of_their_own(self):
        style, = self.data("plt.scatter([1, 2], [1, 2], c=['#ff0000', '#00ff00'], s=[9, 100], marker='^')")["styles"]
        self.assertEqual(style, {"marker": "^", "colors": ["#ff0000", "#00ff00"], "sizes": [3.0, 10.0]})
        style, = self.data("plt.scatter([1, 2], [1, 2], c='#ff0000', s=9, edgecolors='k')")["styles"]
        self.assertEqual(style, {"marker": "o", "color": "#ff0000", "size": 3.0, "edge": "#000000"})

    def test_a_pie_has_angles(self):
        data = self.data("plt.pie([1, 3], labels=['a', 'b'], radius=2)")
        self.assertEqual(data["type"], "pie")
        self.assertEqual([(e["label"], round(e["angle"]), e["radius"]) for e in data["elements"]],
                         [("a", 90, 2), ("b", 270, 2)])

        self.assertTrue(data["complete"])
        data = self.data("plt.pie([.1, .2, .3], normalize=False)")
        self.assertEqual([round(e["angle"]) for e in data["elements"]], [36, 72, 108])
        self.assertEqual((data["complete"], data["lacks"]), (False, ["the part of the circle that is left open"]))

    def test_lines_in_space_are_a_picture_alone(self):
        data = self.data("plt.figure().add_subplot(projection='3d').plot([1, 2], [1, 2], [3, 4])")
        self.assertEqual((data["type"], data["elements"], data["complete"]), ("unknown", [], False))
        self.assertIn("its 3d axes", data["lacks"])

    def test_bars_on_a_logarithmic_axis_begin_where_the_picture_does(self):
        data = self.data("plt.bar([1, 2, 4], [1, 2, 3])\nplt.yscale('log')\nends = plt.ylim()")
        self.assertEqual(data["y_limits"], self.runner.run("list(ends)").result["application/json"])
        self.assertLess(data["y_limits"][0], 1)
        self.assertNotIn("x_limits", data)

    def test_boxes_have_their_statistics(self):
        data = self.data("plt.boxplot([[1, 2, 3, 4, 100], [5, 6, 7]], labels=['a', 'b'])")
        self.assertEqual(data["type"], "box_and_whisker")
        self.assertEqual(data["elements"][0], {
            "label": "a", "min": 1, "first_quartile": 2.0, "median": 3.0, "third_quartile": 4.0,
            "max": 4, "outliers": [100]})
        self.assertEqual([(style["color"], style["median"]) for style in data["styles"]],
                         [("#000000", "#c8611a")] * 2)
        data = self.data("plt.boxplot([[1, 2, 3]], medianprops={'color': '#ff0000'})")
        self.assertEqual(data["styles"][0]["median"], "#ff0000")

    def test_boxes_have_the_names_that_stand_at_them(self):
        frame = "df = pd.DataFrame({'g': ['a', 'a', 'b'], 'v': [1, 2, 3], 'w': [4, 5, 6]})\n"
        for code, names in (("df.boxplot('v', by='g')", "ab"), ("df.boxplot()", "vw"), ("df.plot.box(vert=False)", "vw"),
                            ("plt.boxplot([[1], [2]], positions=[3, 1], labels=['late', 'early'])", ["early", "late"]),
                            ("plt.boxplot([[1], [2]], positions=[2020, 2021], manage_ticks=False)", ["2020", "2021"]),
                            ("plt.boxplot([[1], [2]], labels=['p', 'q'])\nplt.xticks([])", "pq"),
                            ("plt.boxplot([[1], []], vert=False, labels=['p', 'q'])", "pq")):
            data = self.data(frame + code)
            self.assertEqual([element["label"] for element in data["elements"]], list(names), code)
            self.assertEqual(data["lacks"], [], code)
        data = self.data("plt.boxplot([[1], [2], [3]], positions=[1, 2, 5])")
        self.assertEqual(data["lacks"], ["the positions of boxes"])

    def test_both_titles_of_a_figure_are_told(self):
        self.assertEqual(self.data("plt.plot([1, 2])\nplt.title('below')\nplt.suptitle('above')")["title"], "above\nbelow")
        self.assertEqual(self.data("plt.plot([1, 2])\nplt.suptitle('above')")["title"], "above")

    def test_panels_that_share_an_axis_have_its_names(self):
        data = self.data("pd.DataFrame({'g': [1, 2], 'v': [3, 4]}, index=['k', 'l']).plot.bar(subplots=True)")
        for panel in data["elements"]:
            self.assertEqual([bar["label"] for bar in panel["elements"]], ["k", "l"])

    def test_panels_that_share_an_axis_have_its_ends(self):
        data = self.data("fig, (a, b) = plt.subplots(1, 2, sharey=True)\na.plot([0, 1], [0, 10])\nb.plot([0, 5], [0, 100])")
        self.assertEqual([panel["y_limits"] for panel in data["elements"]], [[-5.0, 105.0]] * 2)
        self.assertFalse([panel for panel in data["elements"] if "x_limits" in panel])
        data = self.data("pd.DataFrame({'a': [1, 2], 'b': [3, 4]}, index=pd.to_datetime(['2024-01-01', '2024-02-01']))"
                         ".plot(subplots=True, sharex=True)")
        self.assertEqual(len({str(panel["x_limits"]) for panel in data["elements"]}), 1)

    def test_a_warning_names_no_line_of_ours(self):
        glyph = "plt.plot([1, 2])\nplt.title('\\u65e5')"
        for code in (glyph, f"{glyph}\nplt.savefig('glyph.png')"):
            stderr = self.runner.run(code).stderr.decode()
            self.assertIn("UserWarning: Glyph", stderr)
            self.assertNotIn(".py", stderr)
        code = "import warnings\nwarnings.warn('mine')"
        self.assertRegex(self.runner.run(code).stderr.decode(), r"^<cell \d+>:2: UserWarning: mine\n")

    def test_several_axes_are_a_superchart(self):
        data = self.data("fig, (a, b) = plt.subplots(1, 2)\na.plot([1, 2])\nb.pie([1])\n"
                         "fig.suptitle('both')")
        self.assertEqual((data["type"], data["title"]), ("superchart", "both"))
        self.assertEqual([chart["type"] for chart in data["elements"]], ["line", "pie"])

    def test_other_pictures_are_unknown(self):
        data = self.data("plt.imshow([[1, 2]])\nplt.colorbar()")
        self.assertEqual((data["type"], data["elements"]), ("unknown", []))

    def test_long_series_are_cut_and_say_so(self):
        element = self.data("plt.plot(range(30000))")["elements"][0]
        self.assertEqual((len(element["points"]), element["truncated"]), (10000, True))

    def test_seaborn_figures_are_understood(self):
        self.runner.run("import seaborn as sns")
        frame = "f = pd.DataFrame({'k': ['a', 'b', 'a', 'b'], 'v': [1., 2., 3., 4.]})\n"
        self.assertEqual(self.data(frame + "sns.barplot(data=f, x='k', y='v', errorbar=None)")
                         ["elements"][0], {"label": "a", "value": 2.0, "group": ""})
        for code, lacks in (("sns.boxplot(data=f, x='k', y='v')", []), ("sns.boxplot(data=f, x='v', y='k')", []),
                            ("sns.boxplot(data=f, x='k', y='v', hue=[1, 1, 2, 2])", ["the positions of boxes"])):
            data = self.data(frame + code)
            self.assertEqual((data["type"], data["lacks"][-1:]), ("box_and_whisker", lacks), code)
            self.assertEqual(sorted({element["label"] for element in data["elements"]}), ["a", "b"], code)
        self.assertEqual(self.data(frame + "sns.scatterplot(data=f, x='v', y='v')")["type"],
                         "scatter")
        self.assertEqual(self.data(frame + "sns.lineplot(data=f, x='v', y='v')")["type"], "line")

    def test_a_picture_beside_a_line_is_said_to_be_lacking(self):
        data = self.data("fig, (a, b) = plt.subplots(1, 2)\na.plot([1, 2])\nb.imshow([[1, 2]])\n"
                         "b.set_title('heat')")
        self.assertEqual((data["complete"], data["lacks"]),
                         (False, ["the whole of heat: a picture (imshow)"]))
        self.assertTrue(data["elements"][0]["complete"])

    def test_every_artist_is_told_or_said_to_be_lacking(self):
        for code, lacks in (
                ("plt.plot([1, 2])", []),
                ("plt.bar([1, 2], [3, 4])\nplt.plot([1, 2], [3, 4])", []),
                ("plt.bar(['a', 'b'], [3, 4])\nplt.plot([0, 1], [3, 4])", []),
                ("plt.barh(['a', 'b'], [3, 4])\nplt.plot([3, 4], [0, 1])", ["a line"]),
                ("plt.bar(['a', 'b'], [3, 4], yerr=1, capsize=3)", ["error bars"]),
                ("plt.plot([1, 2])\nplt.axhline(1.5)\nplt.axhline(1.7)", ["2 × a line"]),
                ("plt.plot([1, 2])\nplt.contourf([[1, 2], [3, 4]])", ["filled contours"]),
                ("plt.plot([1, 2])\nplt.gca().secondary_xaxis('top')", ["a secondary axis"]),
                ("plt.semilogy([1, 10, 0, 5])", ["what is at or below 0 along y"]),
                ("plt.plot([1, 10, 0, 5])\nplt.yscale('log', nonpositive='mask')", []),
                ("plt.semilogx([1, 10], [0, -1])", []),
                ("plt.plot([1, 2])\nplt.fill_between([0, 1], [1, 2])", ["a filled area"]),
                ("plt.plot([1, 2])\nplt.text(0, 1, 'here')\nplt.axvspan(0, 1)",
                 ["a text", "a shape"]),
                ("plt.scatter([1, 2], [1, 2], c=[1, 2], s=[9, 99])", []),
                ("plt.scatter([1, 2], [1, 2], c=[1, 2])\nplt.colorbar()", ["a colour bar"]),
                ("plt.scatter([1, 2], [1, 2], marker='$a$')", ["the shapes of points"]),
                ("plt.plot([1, 2])\nplt.yscale('symlog')", ["the symlog scale of y"]),
                ("plt.subplot(projection='polar').plot([1, 2])", ["its polar axes"]),
                ("plt.bar([1, 2], [3, 4], bottom=[1, 1])", []),
                ("plt.bar(['a', 'b'], [3, 4], bottom=[1, 1])", []),
                ("plt.bar(['a'], [3], hatch='/')", ["the hatching of bars"]),
                ("plt.bar(['a'], [3])\nplt.gca().yaxis.set_major_formatter('{x} m')", ["the tick labels along y"]),
                ("plt.pie([1, 2], explode=[0.1, 0])", ["the offset of exploded slices"]),
                ("plt.pie([1, 2])\nplt.pie([1, 2], radius=0.5)", ["the inner rings"]),
                ("plt.boxplot([[1, 2, 3]], showmeans=True)", ["the means of boxes"]),
                ("plt.plot([1, 2], label='a')\nplt.legend(title='which')", ["the title of the legend"]),
                ("plt.pie([1, 2], labels=['a', 'b'], autopct='%d')", []),
                ("plt.boxplot([[1, 2, 3], [4, 5, 99]])", []),
                ("plt.plot([1, 2])\nplt.gca().twinx().plot([5, 6])",
                 ["two axes in one place, which are drawn as charts of their own"]),
                ("plt.plot([1, 2])\nplt.xticks([0, 1], ['low', 'high'])", ["the tick labels along x"]),
                ("plt.plot(['a', 'b'], [1, 2])\nplt.xticks([0, 1], ['low', 'high'])", ["the tick labels along x"]),
                ("plt.plot(pd.to_datetime(['2024-01-01', '2024-01-02']), [1, 2])\n"
                 "plt.xticks(pd.to_datetime(['2024-01-01']), ['start'])", ["the tick labels along x"]),
                ("plt.plot([1, 2])\nplt.scatter([0], [1], transform=plt.gca().transAxes)", ["points"]),
                ("plt.pie([1, 2])\nplt.text(0, 0, 'sum: 3')", ["a text"]),
                ("plt.pie([1, 2])\nplt.pie([1, 2], center=(3, 0))", ["4 × a wedge", "several pies in one place"]),
                ("plt.plot([1, 2], 'o', markevery=2)", ["which points have a marker"]),
                ("import matplotlib.ticker as mt\nclass Shout(mt.Formatter):\n    def __call__(self, x, pos=None):\n"
                 "        return f'{x}!'\nplt.plot([1, 2])\nplt.gca().yaxis.set_major_formatter(Shout())", ["the tick labels along y"]),
                ("pd.Series([1, 2], index=pd.to_timedelta(['1s', '2s'])).plot()", ["the tick labels along x"]),
                ("plt.pie([10, 20], autopct=lambda part: f'{part * .3:.0f} EUR')", ["2 × a text"]),
                ("plt.boxplot([[1, 2, 3]], notch=True)", ["the notches of boxes"]),
                ("plt.boxplot([[1], [2], [3]], positions=[1, 2, 5])", ["the positions of boxes"]),
                ("plt.scatter([1, 2], [1, 2], c=[1, 2])\nplt.legend(handles=[plt.Rectangle((0, 0), 1, 1, "
                 "color='r', label='hot')])", ["the legend"]),
                ("plt.plot([1, 2])\nplt.gcf().supxlabel('below')", ["a text"]),
                ("plt.bar(['a'], [1])\nplt.barh(['a'], [1])", ["2 × a rectangle", "both vertical and horizontal bars"]),
                ("plt.barh(['a'], [3], left=pd.to_datetime(['2024-01-01']))",
                 ["a rectangle", "bars whose length is not a number"])):
            with self.subTest(code):
                data = self.data(code)
                self.assertEqual((data["lacks"], data["complete"]), (lacks, not lacks))

    def test_categories_stand_on_either_axis_in_their_order(self):
        data = self.data("plt.plot(['b', 'a', 'c'], [1, 2, 3])\nplt.scatter(['c', 'b'], [3, 1])")
        self.assertEqual((data["x_categories"], data["lines"][0]["points"][0]), (["b", "a", "c"], ["b", 1.0]))
        data = self.data("plt.plot([1, 2, 3], ['10', '9', '30'])")
        self.assertEqual((data["y_scale"], data["y_categories"], data["elements"][0]["points"]),
                         ("categorical", ["10", "9", "30"], [[1.0, "10"], [2.0, "9"], [3.0, "30"]]))
        data = self.data("plt.plot([1, 2], pd.date_range('2024-01-01', periods=2))")
        self.assertEqual((data["y_scale"], data["elements"][0]["points"][1]), ("datetime", [2.0, "2024-01-02"]))
        data = self.data("plt.plot(['a', 'b'], [1, 2])\nplt.scatter([0.25], [1])")
        self.assertEqual(data["elements"][0]["points"], [[0.25, 1.0]])

    def test_years_and_quarters_without_a_value_have_a_place(self):
        data = self.data("pd.Series([1, 2], index=pd.PeriodIndex(['2019', '2022'], freq='A')).plot()")
        self.assertEqual((data["x_categories"], data["elements"][0]["points"]),
                         (["2019", "2020", "2021", "2022"], [["2019", 1.0], ["2022", 2.0]]))

    def test_bars_at_names_stand_as_they_were_drawn(self):
        bar = "plt.bar(['a', 'b'], {}, {})\n".format
        for code, form in (
                (bar("[1, 2]", "label='p'"), {"places": [0, 1]}),
                ("plt.bar([2, 0], [1, 2], tick_label=['c', 'a'])", {"places": [1, 0]}),
                ("pd.DataFrame({'u': [1, 2], 'v': [3, 4]}, index=['a', 'a']).plot.bar()", {"places": [0, 1, 0, 1]}),
                ("pd.DataFrame({'u': [1, 2], 'v': [-3, -4]}).plot.bar(stacked=True)",
                 {"places": [0, 1, 0, 1], "stacked": True}),
                (bar("[5, 6]", "width=.5, align='edge'") + bar("[7, 8]", "width=-.5, align='edge'"),
                 {"spans": [[0.0, 0.5, 0], [1.0, 1.5, 0], [-0.5, 0.0, 0], [0.5, 1.0, 0]]}),
                (bar("[5, 6]", "width=[.5, 1]"), {"spans": [[-0.25, 0.25, 0], [0.5, 1.5, 0]]}),
                (bar("[5, 6]", "width=1, bottom=[1, 0]"), {"spans": [[-0.5, 0.5, 1], [0.5, 1.5, 0]]}),
                ("plt.bar([10, 20], [1, 2], tick_label=['x', 'y'], width=10)\nplt.plot([10, 15], [1, 1])",
                 {"spans": [[-0.5, 0.5, 0], [0.5, 1.5, 0]]})):
            with self.subTest(code):
                data = self.data(code)
                told = {name: data[name] for name in ("places", "spans", "stacked", "overlaid") if name in data}
                self.assertEqual((told, data["lacks"]), (form, []))
        self.assertEqual((data["x_categories"], data["lines"][0]["points"]), (["x", "y"], [["x", 1.0], [0.5, 1.0]]))

    def test_series_have_the_names_of_the_legend(self):
        def labels(code):
            data = self.data(code)
            return sorted({element.get("group", element["label"]) for element in data["elements"]})

        self.assertEqual(labels("plt.plot([1, 2])\nplt.plot([2, 1])\nplt.legend(['p', 'q'])"), ["p", "q"])
        data = self.data("plt.plot([1, 2], label='p')\nplt.plot([2, 1])\nplt.legend()")
        self.assertEqual((data["legend_names"], data["lacks"]), (["p"], []))
        self.assertEqual(labels("plt.legend(plt.pie([1, 2])[0], ['p', 'q'])"), ["p", "q"])
        self.assertEqual(labels("pd.DataFrame({'p': [1, 2], 'q': [2, 1]}).plot()\nplt.legend(['r', 's'])"), ["r", "s"])
        self.assertEqual(labels("pd.DataFrame({'p': [1, 2], 'q': [2, 1]}).plot.area()"), ["p (edge)", "q (edge)"])
        data = self.data("plt.bar(['a'], [1], label='p')\nplt.plot([0, 1], [1, 2], color=plt.gca().patches[0].get_facecolor())"
                         "\nplt.legend()")
        self.assertEqual((data["lines"][0]["label"], data["lacks"]), ("line 1", []))
        self.runner.run("import seaborn as sns")
        self.assertEqual(labels("sns.lineplot(x=[1, 2, 1, 2], y=[1, 2, 2, 1], hue=['p', 'p', 'q', 'q'])"), ["p", "q"])
        self.assertEqual(labels("sns.histplot(data=pd.DataFrame({'v': [1, 2, 3], 'k': ['p', 'q', 'p']}), x='v', hue='k')"),
                         ["p", "q"])

    def test_boxes_are_those_of_the_picture(self):
        data = self.data("plt.boxplot([[1, 2, 99]], showfliers=False, whis=0)")
        self.assertEqual(data["elements"][0]["outliers"], [])
        self.assertEqual(self.data("a = plt.gca()\na.boxplot([[1, 2]])\na.clear()\na.plot([1, 2])")["type"], "line")
        data = self.data("plt.boxplot([[1], [2]])\nplt.boxplot([[1], [2]], vert=False)")
        self.assertEqual((data["type"], "both vertical and horizontal boxes" in data["lacks"]), ("unknown", True))

    def test_titles_and_names_are_those_of_the_picture(self):
        data = self.data(r"plt.plot([1, 2])" "\n" r"plt.title('cost in \\$ of $\\alpha_1$ per m$^{2}$')"
                         "\nplt.suptitle('all')\nplt.title('left', loc='left')")
        self.assertEqual((data["title"], data["lacks"]), ("all\nleft · cost in $ of α₁ per m²", []))
        data = self.data("plt.plot([1, 2], label=r'$\\frac{1}{2}$')")
        self.assertEqual((data["elements"][0]["label"], data["lacks"]), (r"$\frac{1}{2}$", ["the formulas in its texts"]))

    def test_error_bars_and_reference_lines_are_no_series(self):
        data = self.data("plt.errorbar([1, 2], [3, 4], yerr=1, capsize=3, label='e')\n"
                         "plt.axvline(1)")
        self.assertEqual(data["elements"], [{"label": "e", "points": [[1.0, 3.0], [2.0, 4.0]]}])
        self.assertEqual(data["lacks"], ["a line", "error bars"])

    def test_a_series_without_a_label_is_counted(self):
        self.assertEqual(self.data("plt.errorbar([1, 2], [3, 4], yerr=.1)")["elements"][0]["label"], "line 1")
        self.assertEqual(self.data("plt.errorbar([1, 2], [3, 4], yerr=.1, label='e')")["elements"][0]["label"], "e")

    def test_colours_dashes_markers_and_widths_are_told(self):
        data = self.data("plt.plot([1, 2], color='#ff0000', ls='--', lw=2)\n"
                         "plt.plot([1, 2], 'ks', alpha=0.5, ms=4)\nplt.step([1, 2], [3, 4])")
        dashed, points, steps = data["styles"]
        self.assertEqual((dashed["color"], dashed["width"], dashed["dash"]),
                         ("#ff0000", 2.0, [7.4, 3.2]))
        self.assertEqual((points["color"], points["dash"], points["marker"], points["size"]),
                         ("#00000080", False, "s", 4.0))
        self.assertEqual(steps["step"], "pre")
        self.assertEqual([style["color"] for style in self.data(
            "plt.bar(['a', 'b'], [1, 2], color=['#111111', 'red'])")["styles"]],
            ["#111111", "#ff0000"])

    def test_limits_directions_and_stacks_are_told(self):
        data = self.data("plt.plot([1, 2])\nplt.ylim(5, 0)\nplt.xscale('log')")
        self.assertEqual((data["y_limits"], data["y_inverted"], data["x_scale"]),
                         ([0.0, 5.0], True, "log"))
        self.assertNotIn("x_limits", data)
        data = self.data("plt.bar(['a', 'b'], [1, 2])\nplt.bar(['a', 'b'], [3, 4], bottom=[1, 2])\n"
                         "plt.yscale('log')")
        self.assertEqual((data["stacked"], data["complete"], data["y_scale"]), (True, True, "log"))
        self.assertTrue(self.data("plt.barh(['a', 'b'], [5, 6])")["horizontal"])

    def test_what_nobody_chose_has_the_house_style(self):
        styles = self.data("plt.plot([1, 2])\nplt.plot([2, 1])")["styles"]
        self.assertEqual([style["color"] for style in styles], ["#1f7a58", "#c8611a"])
        chosen = self.data("with plt.style.context('default'):\n    plt.plot([1, 2])\n    plt.show()")
        self.assertEqual(chosen["styles"][0]["color"], "#1f77b4")
        chosen = self.data("with plt.rc_context({'lines.linewidth': 7}):\n    plt.plot([1, 2])\n"
                           "    plt.show()")
        self.assertEqual(chosen["styles"][0]["width"], 7.0)

    def test_a_picture_of_ours_is_sharp_and_a_saved_one_is_the_files_own(self):
        code = "plt.figure(figsize=(4, 3), dpi=100)\nplt.plot([1, 2])\n"
        drawn, = self.charts(code)
        saved, = self.charts(code + "plt.savefig('own.png')")
        with open(self.runner.path("own.png"), "rb") as file:
            self.assertEqual(base64.b64decode(saved["base64"]), file.read())
        self.assertEqual((drawn["scale"], saved.get("scale")), (2, None))
        width = int.from_bytes(base64.b64decode(drawn["base64"])[16:20], "big")
        self.assertTrue(600 < width < 820, width)

    def test_a_matplotlibrc_of_the_user_wins(self):
        runner = Runner()
        try:
            with open(runner.path("matplotlibrc"), "w", encoding="utf-8") as file:
                file.write("lines.linewidth: 5\n")
            outcome = runner.run("import matplotlib\n[matplotlib.rcParams['lines.linewidth'], "
                                 "matplotlib.rcParams['axes.spines.top']]")
            self.assertEqual(outcome.result["application/json"], [5.0, False])
        finally:
            runner.close()

    def test_the_object_interface_without_pyplot_works(self):
        self.assertEqual(len(self.charts(
            "from matplotlib.figure import Figure\nlone = Figure()\nlone.add_subplot().plot([1])\n"
            "lone.savefig('lone.png')")), 1)


class Plotly(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.runner = Runner()
        cls.runner.run("import plotly.graph_objects as go, numpy as np")

    @classmethod
    def tearDownClass(cls):
        cls.runner.close()

    def figures(self, code):
        outcome = self.runner.run(code)
        self.assertEqual((outcome.done["kind"], outcome.stderr), ("ok", b""), outcome.error)
        for chart in outcome.charts:
            self.assertEqual(chart["kind"], "plotly")
        return [chart["figure"] for chart in outcome.charts]

    def test_a_figure_left_in_the_namespace_is_told_once(self):
        found = self.figures("a = go.Figure(go.Bar(x=['\u00e9'], y=np.array([1.5, np.nan])))\n"
                             "b = a")
        self.assertEqual(len(found), 1)
        self.assertEqual(found[0]["data"][0]["y"], [1.5, None])
        self.assertEqual(self.figures("b is a"), [])

    def test_every_way_to_show_is_one_chart(self):
        self.assertEqual(len(self.figures("c = go.Figure()\nc.show()")), 1)
        self.assertEqual(len(self.figures("c = go.Figure()\nc")), 1)
        self.assertEqual(len(self.figures("c = go.Figure()\ndisplay(c)")), 1)
        self.assertEqual(len(self.figures("import plotly.io as pio\nc = go.Figure()\n"
                                          "pio.show(c)")), 1)
        self.assertEqual(len(self.figures("pio.show({'data': []})")), 1)

    def test_express_figures_are_told(self):
        self.assertEqual(len(self.figures("import plotly.express as px\n"
                                          "p = px.line(x=[1, 2], y=[3, 4])")), 1)


if __name__ == "__main__":
    unittest.main()
