# SPDX-License-Identifier: Apache-2.0
"""What a run costs beside plain python3 and bubblewrap, measured in one interleaved run.

    bench/run.py [--build DIR] [--rounds N] [--runs N] [--quick] [--no-inside] [--results DIR]

Two halves. `viv bench` looks from inside: pooled runs, spawns, memory, leaks; beside it stands what the
kernel alone charges for a sandbox (bench/floor.c). This script looks from outside: whole commands, as
somebody at a terminal would start them. Every round runs each contender once, in a new order, so that
what disturbs the machine disturbs all of them; figures are medians, and the ones to quote are ratios.
Writes JSON and a chart into bench/results/.
"""

import argparse
import datetime
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

import chart
import host
import table
from table import CONTENDERS

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PYTHON = "/usr/bin/python3"

JOBS = {
    "print": "print(1)\n",
    "groupby": """
import numpy as np
import pandas as pd
rng = np.random.default_rng(1)
df = pd.DataFrame({"key": rng.integers(0, 50, 10_000), "value": rng.random(10_000)})
print(len(df.groupby("key")["value"].agg(["mean", "sum", "max"])))
""",
    "plot": """
import io
import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
figure, axes = plt.subplots()
axes.plot([x * x for x in range(100)])
picture = io.BytesIO()
figure.savefig(picture)
plt.close(figure)
print(len(picture.getvalue()) > 1000)
""",
}
JOB_TITLES = {"print": "print(1)", "groupby": "groupby of 10,000 rows, with imports",
              "plot": "line plot to PNG, with imports"}


def bubblewrap(folder):
    """The usual recipe: read-only /usr, fresh /tmp, all namespaces. No seccomp, no limits."""
    argv = ["bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--clearenv",
            "--ro-bind", "/usr", "/usr", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp",
            "--ro-bind", "/etc/alternatives", "/etc/alternatives",
            "--ro-bind", "/etc/matplotlibrc", "/etc/matplotlibrc",
            "--ro-bind", folder, "/job", "--bind", os.path.join(folder, "mpl"), "/job/mpl",
            "--setenv", "MPLCONFIGDIR", "/job/mpl", "--chdir", "/tmp"]
    for name in ("bin", "lib", "lib64", "sbin"):
        if os.path.islink("/" + name):
            argv += ["--symlink", os.readlink("/" + name), "/" + name]
        elif os.path.isdir("/" + name):
            argv += ["--ro-bind", "/" + name, "/" + name]
    return argv + [PYTHON, "-I"]


def commands(viv, folder):
    """Contender -> job -> argv. All get matplotlib's font list ready-made: nobody pays for it."""
    def of(job):
        path = os.path.join(folder, job + ".py")
        return {"python3": [PYTHON, "-I", path],
                "bubblewrap": bubblewrap(folder) + [f"/job/{job}.py"],
                "viv": [viv, "run", "--no-daemon", path]}
    return {job: of(job) for job in JOBS}


def time_ms(argv, env):
    begin = time.perf_counter()
    done = subprocess.run(argv, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False)
    took = (time.perf_counter() - begin) * 1000
    if done.returncode != 0 or not done.stdout.strip():
        sys.exit(f"bench: {' '.join(argv)} ended with {done.returncode}:\n{done.stderr.decode()}")
    return took


def summary(times):
    ordered = sorted(times)
    return {"n": len(ordered), "p50_ms": round(statistics.median(ordered), 3),
            "p95_ms": round(ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))], 3)}


def measure_outside(viv, rounds):
    """Job -> contender -> summary and the ratios of medians."""
    with tempfile.TemporaryDirectory(prefix="viv-bench-") as folder:
        os.chmod(folder, 0o755)
        os.makedirs(os.path.join(folder, "mpl"))
        for job, code in JOBS.items():
            with open(os.path.join(folder, job + ".py"), "w", encoding="utf-8") as file:
                file.write(code)
        env = {"PATH": "/usr/bin:/bin", "HOME": folder, "LANG": "C.UTF-8",
               "MPLCONFIGDIR": os.path.join(folder, "mpl")}
        result = {}
        for job, argvs in commands(viv, folder).items():
            times = {name: [] for name in CONTENDERS}
            for name in CONTENDERS:
                time_ms(argvs[name], env)  # the first one fills caches
            for _ in range(rounds if job == "print" else max(5, rounds // 3)):
                for name in random.sample(CONTENDERS, len(CONTENDERS)):
                    times[name].append(time_ms(argvs[name], env))
            result[job] = {name: summary(times[name]) for name in CONTENDERS}
            for name in CONTENDERS:
                mine = result[job][name]
                for other in ("python3", "bubblewrap"):
                    mine["x_" + other] = round(mine["p50_ms"] / result[job][other]["p50_ms"], 2)
        return result


def measure_inside(viv, quick, runs):
    argv = [viv, "bench", "--json"] + (["--quick"] if quick else ["--runs", str(runs)])
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False)
    if done.returncode != 0:
        sys.exit(f"bench: {' '.join(argv)} ended with {done.returncode}")
    return json.loads(done.stdout)


def measure_floor(build, quick):
    """What the kernel alone charges for a sandbox, wall by wall; None where it cannot be measured."""
    argv = [os.path.join(build, "bench", "floor"), "100" if quick else "400"]
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False)
    return json.loads(done.stdout)["floor"] if done.returncode == 0 else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build", help="where viv has been built")
    parser.add_argument("--rounds", type=int, default=40, help="rounds of the shortest job")
    parser.add_argument("--runs", type=int, default=20000, help="runs of the leak check")
    parser.add_argument("--quick", action="store_true", help="fewer rounds, for a first look")
    parser.add_argument("--no-inside", action="store_true", help="leave out `viv bench`")
    parser.add_argument("--results", default=os.path.join(ROOT, "bench", "results"))
    args = parser.parse_args()
    viv = os.path.abspath(os.path.join(args.build, "viv"))

    machine = host.describe()
    print(f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']} GiB, "
          f"Linux {machine['kernel']}, Python {machine['python']}\n", flush=True)
    report = {"date": datetime.date.today().isoformat(), "machine": machine}
    report["outside"] = measure_outside(viv, 15 if args.quick else args.rounds)
    table.print_outside(report["outside"])
    if not args.no_inside:
        report["floor"] = measure_floor(args.build, args.quick)
        report["inside"] = measure_inside(viv, args.quick, args.runs)
        table.print_inside(report["inside"])
        table.print_floor(report["floor"])

    os.makedirs(args.results, exist_ok=True)
    stem = os.path.join(args.results, f"{report['date']}-{host.kind(machine)}")
    with open(stem + ".json", "w", encoding="utf-8") as file:
        json.dump(report, file, indent=1)
        file.write("\n")
    with open(stem + ".svg", "w", encoding="utf-8") as file:
        file.write(chart.draw(report, JOB_TITLES))
    print(f"\nwritten: {os.path.relpath(stem)}.json and .svg")


if __name__ == "__main__":
    main()
