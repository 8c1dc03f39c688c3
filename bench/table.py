# SPDX-License-Identifier: Apache-2.0
"""The bench's figures as text for a terminal, and as Markdown for the README and docs/measurements.md.

    bench/table.py REPORT.json   prints the Markdown of a report by bench/run.py, daemon.py or page.py
    bench/table.py --docs        puts the newest report of each into docs/measurements.md, and the README's table beside it
"""

import glob
import json
import os
import re
import sys

CONTENDERS = ("python3", "bubblewrap", "viv")
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TITLES = {"run": None, "daemon": "over HTTP on loopback", "page": "the page, in Chromium on loopback"}

# The README's table: which report has the figure, its name there, and the words it gets.
README_ROWS = (
    ("run", "pooled print(1), p50", "`print(1)` in a fresh sandbox from the pool"),
    ("run", "pooled groupby of 10k rows, p50", "a groupby of 10,000 rows in a fresh sandbox from the pool"),
    ("run", "pooled groupby is faster by", "... faster than bubblewrap + python3 by"),
    ("run", "private memory of an idle sandbox", "memory of an idle sandbox"),
    ("daemon", "POST /v1/run of print(1), p50", "`POST /v1/run` of `print(1)`"),
    ("daemon", "64 clients: runs per second", "runs per second for 64 clients"),
    ("daemon", "a cell in a session, not transactional, p50", "a cell in a session that is not transactional"),
    ("daemon", "a cell is faster than ipykernel's by", "... faster than ipykernel's by"),
    ("daemon", "a cell in a transactional session after 20 ms, p50", "a cell in a transactional session, 20 ms after the last"),
    ("daemon", "... a transactional one after 20 ms by", "... faster than ipykernel's by"),
    ("daemon", "memory per session with 1000 live", "memory of a session, with 1000 live"),
    ("page", "from opening to the result of an example by one click, p50", "from opening the page to an example's chart"),
)
COLD_BOUND = 1.15  # a cold `viv run` beside bubblewrap + python3, print(1)


def print_outside(outside):
    print(f"{'whole commands':<38} {'p50 ms':>9} {'p95 ms':>9} {'x python3':>10} {'x bubblewrap':>13}")
    for job, rows in outside.items():
        for name in CONTENDERS:
            row = rows[name]
            title = f"{job:<8} {'viv run, cold' if name == 'viv' else name}"
            print(f"{title:<38} {row['p50_ms']:>9.1f} {row['p95_ms']:>9.1f} {row['x_python3']:>10.2f}"
                  f" {row['x_bubblewrap']:>13.2f}")
    cold = outside["print"]["viv"]["x_bubblewrap"]
    word = "met" if cold <= COLD_BOUND else "MISSED"
    print(f"cold print(1) beside bubblewrap: {cold:.2f}x, at most {COLD_BOUND}: {word}")


def print_inside(inside):
    """What `viv bench --json` found; rows as in bench/inside/figures.c."""
    print(f"\n{'from the pool':<44} {'':>13} {'beside':<30} target")
    for row in inside["figures"]:
        beside = f"{row['ratio']:.2f}x {row['against']}" if row.get("ratio") is not None else ""
        target = ""
        if row.get("target") is not None:
            target = f"{row['relation']} {row['target']:g}: {'met' if row['met'] else 'MISSED'}"
        print(f"{row['name']:<44} {row['value']:>9.2f} {row['unit']:<3} {beside:<30} {target}".rstrip())

    print(f"\n{'live sandboxes':<16} {'p50 ms':>10} {'p99 ms':>10} {'spawns/s':>12} {'bare forks/s':>14}")
    for row in inside["live"]:
        if "skipped" in row:
            print(f"{row['live']:<16} skipped: {row['skipped']}")
        else:
            print(f"{row['live']:<16} {row['p50_ms']:>10.2f} {row['p99_ms']:>10.2f}"
                  f" {row['spawns_per_s']:>12.0f} {row['forks_per_s']:>14.0f}")

    leaks = inside["leaks"]
    print(f"\nafter {leaks['runs']} runs ({leaks['runs_per_s']:.0f}/s): "
          f"{'something has GROWN' if leaks['grown'] else 'nothing has grown'}")
    for row in leaks["held"]:
        print(f"  {row['name']:<26} {row['before']:>12} -> {row['after']}{'  GROWN' if row['grown'] else ''}")


def print_floor(floor):
    """What bench/floor.c found: each row is all above it and one thing more."""
    if not floor:
        return
    print(f"\n{'the kernel alone, processor time':<58} {'ms':>6} {'adds':>6}")
    for row, before in zip(floor, [floor[0]] + floor):
        print(f"{row['name']:<58} {row['ms']:>6.2f} {row['ms'] - before['ms']:>6.2f}")
    print(f"{'all walls, without a line of ours':<58} {'':>6} {floor[-1]['ms'] - floor[0]['ms']:>6.2f}")


def rest_of(inside, floor):
    """In a sentence each: many live sandboxes, what many runs left behind, the kernel's own price."""
    if not inside:
        return []
    live = [row for row in inside["live"] if "skipped" not in row]
    counts = ", ".join(str(row["live"]) for row in live)
    times = ", ".join(f"{row['p50_ms']:.2f}" for row in live)
    rates = ", ".join(f"{row['spawns_per_s']:.0f}" for row in live)
    forks = ", ".join(f"{row['forks_per_s']:.0f}" for row in live)
    leaks = inside["leaks"]
    lines = ["", f"With {counts} live sandboxes a pooled `print(1)` takes {times} ms (median), and {rates} more are "
             f"made per second (bare forks, as ready: {forks}). After {leaks['runs']} runs "
             + ("something has **grown**" if leaks["grown"] else "nothing has grown")
             + " (processes, descriptors, cgroups, mounts, network namespaces, memory of launch)."]
    if floor:
        lines[-1] += (f" The kernel alone charges {floor[-1]['ms'] - floor[0]['ms']:.2f} ms of processor time for "
                      "the same walls around an empty process (`bench/floor.c`).")
    return lines


def markdown(report):
    machine = report["machine"]
    lines = ["| whole commands, median | python3 | bubblewrap + python3 | `viv run`, cold | beside bubblewrap |",
             "|---|---|---|---|---|"]
    for job, rows in report["outside"].items():
        times = " | ".join(f"{rows[name]['p50_ms']:.0f} ms" for name in CONTENDERS)
        beside = rows["viv"]["x_bubblewrap"]
        target = ""
        if job == "print":
            target = f", at most {COLD_BOUND}: {'met' if beside <= COLD_BOUND else '**missed**'}"
        lines.append(f"| {job} | {times} | {beside:.2f}x{target} |")
    lines += ["", "| from the pool | | beside | target |", "|---|---|---|---|"]
    for row in report.get("inside", {}).get("figures", []):
        if row.get("target") is None:
            continue
        beside = f"{row['ratio']:.2f}x {row['against']}" if row.get("ratio") is not None else ""
        met = "met" if row["met"] else "**missed**"
        lines.append(f"| {row['name']} | {row['value']:.2f} {row['unit']} | {beside} | "
                     f"{row['relation']} {row['target']:g}: {met} |")
    lines += rest_of(report.get("inside"), report.get("floor"))
    lines += ["", f"{machine['cpu']}, {machine['cores']} cores{' (VM)' if machine['virtual'] else ''}, "
              f"{machine['memory_gib']} GiB, Linux {machine['kernel']}, Python {machine['python']}, "
              f"{'root' if machine['root'] else 'ordinary user'}, {report['date']}."]
    return "\n".join(lines)


def figures_markdown(report, title):
    """What bench/daemon.py or bench/page.py found."""
    lines = [f"| {title} | | target |", "|---|---|---|"]
    for row in report["figures"]:
        target = ""
        if row.get("met") is not None:
            target = f"{row['target']}: {'met' if row['met'] else '**missed**'}"
        lines.append(f"| {row['name']} | {row['value']:.{0 if row['unit'] in ('', '1/s', 'MB/s') else 2}f} "
                     f"{row['unit']} | {target} |")
    machine = report["host"]
    lines += ["", f"{machine['cpu']}, {machine['cores']} cores{' (VM)' if machine['virtual'] else ''}, "
              f"Linux {machine['kernel']}, {'root' if machine['root'] else 'ordinary user'}, {report['when'][:10]}."]
    return "\n".join(lines)


def put_into(path, text, mark):
    with open(path, encoding="utf-8") as file:
        page = file.read()
    marks = re.compile(rf"(<!-- {mark} -->\n).*?(<!-- /{mark} -->)", re.S)
    if not marks.search(page):
        sys.exit(f"{path} has no <!-- {mark} --> marks")
    with open(path, "w", encoding="utf-8") as file:
        file.write(marks.sub(lambda found: found.group(1) + text + found.group(2), page))


def newest_reports():
    """Kind and path of the newest report of each; those of bench/run.py begin with their date."""
    newest = {}
    for path in sorted(glob.glob(os.path.join(ROOT, "bench", "results", "*.json"))):
        kind = os.path.basename(path).split("-")[0]
        newest[kind if kind in TITLES else "run"] = path
    return newest


def text_of(path):
    with open(path, encoding="utf-8") as file:
        report = json.load(file)
    title = TITLES.get(os.path.basename(path).split("-")[0])
    return report, (figures_markdown(report, title) if title else markdown(report)) + "\n"


def readme_table(reports):
    figures = {kind: {row["name"]: row for row in (report.get("inside") or report)["figures"]} for kind, report in reports.items()}
    lines = ["| median | |", "|---|---|"]
    for kind, name, words in README_ROWS:
        row = figures[kind][name]
        digits = 0 if row["value"] >= 100 else 1 if row["value"] >= 10 else 2
        unit = "times" if row["unit"] == "x" else row["unit"].replace("1/s", "")
        lines.append(f"| {words} | {row['value']:.{digits}f} {unit}".rstrip() + " |")
    machine = reports["run"]["machine"]
    lines += ["", f"{machine['cpu']}, {machine['cores']} cores{' (VM)' if machine['virtual'] else ''}, Linux {machine['kernel']}, "
              f"{'root' if machine['root'] else 'ordinary user'}, {reports['run']['date']}."]
    return "\n".join(lines) + "\n"


def put_into_docs():
    page, readme = os.path.join(ROOT, "docs", "measurements.md"), os.path.join(ROOT, "README.md")
    reports = {}
    for kind, path in newest_reports().items():
        reports[kind], text = text_of(path)
        if kind == "run":
            picture = os.path.relpath(os.path.splitext(path)[0] + ".svg", os.path.dirname(page))
            text += f"\n![The same as a chart]({picture})\n"
        put_into(page, text, "bench" if kind == "run" else f"bench {kind}")
    put_into(readme, readme_table(reports), "figures")


def main():
    if sys.argv[1:] == ["--docs"]:
        put_into_docs()
    else:
        print(text_of(sys.argv[1])[1], end="")


if __name__ == "__main__":
    main()
