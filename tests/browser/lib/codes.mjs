// SPDX-License-Identifier: Apache-2.0
// Code that tests run more than once.

/** A chart object of each kind that the page draws. */
export const CHARTS = {
  line: "_chart = {'type': 'line', 'title': 'Moss', 'categoryKey': 'month', 'valueKeys': ['wet', 'dry'],\n" +
    "          'data': [{'month': f'm{i}', 'wet': i * 3 % 7, 'dry': i} for i in range(12)]}",
  bar: "_chart = {'type': 'bar', 'title': 'Ferns', 'categoryKey': 'place', 'valueKeys': ['count'],\n" +
    "          'data': [{'place': p, 'count': n} for p, n in (('north', 3), ('south', 8), ('west', 5))]}",
  pie: "_chart = {'type': 'pie', 'title': 'Shares', 'categoryKey': 'kind', 'valueKeys': ['share'],\n" +
    "          'data': [{'kind': 'ants', 'share': 60}, {'kind': 'bees', 'share': 40}]}",
  area: "_chart = {'type': 'area', 'title': 'Water', 'categoryKey': 'day', 'valueKeys': ['litres'],\n" +
    "          'data': [{'day': d, 'litres': d * d} for d in range(9)]}",
  "stacked bar": "_chart = {'type': 'stacked-bar', 'title': 'Stacked', 'categoryKey': 'year', 'valueKeys': ['a', 'b'],\n" +
    "          'data': [{'year': str(2020 + i), 'a': i, 'b': 5 - i} for i in range(5)]}",
  scatter: "_chart = {'type': 'scatter', 'title': 'Points', 'categoryKey': 'x', 'valueKeys': ['y'],\n" +
    "          'data': [{'x': i % 40, 'y': i // 40} for i in range(800)]}",
};

export const FIGURE = "import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\nax.bar(['ants', 'bees'], [3, 9])\n" +
  "ax.set_title('Who is here')\nplt.show()";

export const ENDLESS = "import time\nprint('begun', flush=True)\nwhile True:\n    time.sleep(0.01)";

/** Lines at a pace that leaves time for what a test does meanwhile. */
export const counting = (lines, pause) =>
  `import time\nfor i in range(${lines}):\n    print('line', i, flush=True)\n    time.sleep(${pause})\nprint('the end')`;
