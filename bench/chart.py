# SPDX-License-Identifier: Apache-2.0
"""The chart of a bench report, as an SVG written by hand: a panel per job, a bar per contender.

    bench/chart.py REPORT.json > chart.svg
"""

import json
import sys
from xml.sax.saxutils import escape

WIDTH = 760
LEFT = 170          # where bars begin
RIGHT = 190         # room for the figures behind the longest bar
BAR = 22
GAP = 8
HEAD = 64
PANEL_HEAD = 34
PANEL_GAP = 18
COLOURS = {"python3": "#9aa5b1", "bubblewrap": "#e0a458", "viv": "#2f6f4f", "pooled": "#7fb069"}
NAMES = {"python3": "python3, no walls", "bubblewrap": "bubblewrap + python3", "viv": "viv run, cold",
         "pooled": "viv, from the pool"}


def text(x, y, words, size=13, weight="normal", anchor="start", colour="#1f2933"):
    return (f'<text x="{x}" y="{y}" font-size="{size}" font-weight="{weight}" text-anchor="{anchor}"'
            f' fill="{colour}">{escape(words)}</text>')


def milliseconds(value):
    return f"{value:.2f} ms" if value < 10 else f"{value:.0f} ms"


def panel(top, title, rows):
    """One job: rows are (contender, p50 in ms). Bars share a scale within the panel only."""
    parts = [text(16, top + 16, title, 14, "bold")]
    longest = max(value for _, value in rows)
    base = dict(rows)["python3"]
    y = top + PANEL_HEAD
    for name, value in rows:
        length = max(2, round((WIDTH - LEFT - RIGHT) * value / longest))
        parts.append(text(LEFT - 10, y + 16, NAMES[name], anchor="end"))
        parts.append(f'<rect x="{LEFT}" y="{y}" width="{length}" height="{BAR}" rx="3"'
                     f' fill="{COLOURS[name]}"/>')
        ratio = f"{value / base:.2f}x" if value / base >= 0.01 else f"1/{base / value:.0f}"
        parts.append(text(LEFT + length + 8, y + 16, f"{milliseconds(value)}   {ratio}"))
        y += BAR + GAP
    return parts, y + PANEL_GAP


def rows_of(report, job):
    rows = [(name, report["outside"][job][name]["p50_ms"]) for name in ("python3", "bubblewrap", "viv")]
    pooled = pooled_ms(report.get("inside"), job)
    if pooled is not None:
        rows.append(("pooled", pooled))
    return rows


def pooled_ms(inside, job):
    """The median of a pooled run of this job, where `viv bench` measured one."""
    for row in (inside or {}).get("figures", []):
        if row["name"].startswith(f"pooled {job}") and row["name"].endswith("p50"):
            return row["value"]
    return None


def draw(report, titles):
    machine = report["machine"]
    told = (f"{machine['cpu']}, {machine['cores']} cores{' (VM)' if machine['virtual'] else ''}, "
            f"{machine['memory_gib']} GiB, Linux {machine['kernel']}, Python {machine['python']}, "
            f"{report['date']}")
    parts, y = [], HEAD
    for job, title in titles.items():
        more, y = panel(y, title, rows_of(report, job))
        parts += more
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y}" viewBox="0 0 {WIDTH} {y}"'
        ' font-family="system-ui, sans-serif">',
        f'<rect width="{WIDTH}" height="{y}" fill="#ffffff"/>',
        text(16, 26, "From start to output, median (shorter is better; x = beside plain python3)", 15,
             "bold"),
        text(16, 46, told, 12, colour="#52606d"),
    ]
    return "\n".join(head + parts + ["</svg>"]) + "\n"


def main():
    import run  # the titles; run imports this module

    with open(sys.argv[1], encoding="utf-8") as file:
        sys.stdout.write(draw(json.load(file), run.JOB_TITLES))


if __name__ == "__main__":
    main()
