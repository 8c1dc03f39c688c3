# SPDX-License-Identifier: Apache-2.0
"""What the daemon costs over HTTP, beside the same in process and beside a Jupyter kernel.

    bench/daemon.py [--build DIR] [--quick] [--results DIR]

Each comparison is interleaved: its contenders take turns in one loop, so that what disturbs the machine
disturbs all of them. Writes bench/results/daemon-DATE.json; figures over their target are told, not failed.
"""

import argparse
import datetime
import json
import os
import statistics
import subprocess
import sys
import threading
import time

import host
from client import Client, Daemon

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
IDLE_S = 0.02  # between two runs of a session: the fork happens in here


def p(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * share))]


def timed(function):
    start = time.perf_counter()
    function()
    return (time.perf_counter() - start) * 1e3


class Kernel:
    """ipykernel by jupyter_client: what a notebook does for one cell."""

    def __init__(self):
        from jupyter_client.manager import start_new_kernel

        self.manager, self.client = start_new_kernel(kernel_name="python3")

    def cell(self, code):
        self.client.execute_interactive(code, store_history=False, output_hook=lambda _m: None)

    def close(self):
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


class Bench:
    def __init__(self, build, quick):
        self.build = build
        self.quick = quick
        self.rows = []
        self.daemon = Daemon(build)
        self.client = Client(self.daemon.port)

    def row(self, name, value, unit, target=None, met=None, note=""):
        self.rows.append({"name": name, "value": value, "unit": unit, "target": target, "met": met,
                          "note": note})
        verdict = "" if met is None else "  met" if met else "  NOT MET"
        print(f"{name:58s} {value:10.3f} {unit:6s} {target or '':24s}{verdict}  {note}", flush=True)

    def cells(self):
        """A trivial cell: plain session, transactional session, a run of its own, a kernel."""
        rounds = 50 if self.quick else 150
        plain = self.client.session(transactional=False)
        safe = self.client.session()
        try:
            kernel = Kernel()
        except ImportError:
            kernel = None
            print("ipykernel is not compared: install python3-ipykernel and python3-jupyter-client")
        jobs = {
            "plain": lambda: self.client.raw("POST", f"/v1/sessions/{plain}/run", {"code": "x = 1"}),
            "safe": lambda: self.client.raw("POST", f"/v1/sessions/{safe}/run", {"code": "x = 1"}),
            "run": lambda: self.client.raw("POST", "/v1/run",
                                           {"code": "print(1)", "runtime": "base"}),
        }
        if kernel:
            jobs["kernel"] = lambda: kernel.cell("x = 1")
        close, apart = ({name: [] for name in jobs} for _ in range(2))
        for i in range(rounds):
            for name, job in jobs.items():
                time.sleep(IDLE_S)
                # What forks or refills a pool afterwards would disturb the one that comes next.
                first, *others = [timed(job) for _ in range(12 if name in ("plain", "kernel") else 1)]
                if i > 5:
                    apart[name].append(first)
                    close[name] += others[1:]
        if kernel:
            kernel.close()
        for session in (plain, safe):  # what follows takes longer than a connection may be idle
            self.client.raw("DELETE", f"/v1/sessions/{session}")
        self.tell_cells(*({name: statistics.median(values) for name, values in times.items() if values}
                          for times in (close, apart)))
        self.client.close()
        self.client = Client(self.daemon.port)

    def tell_cells(self, close, apart):
        """`close`: one right after the other; `apart`: the first one after 20 ms of silence, in which a
        transactional session has made its next fork, and caches have gone cold."""
        self.row("a cell in a session, not transactional, p50", close["plain"], "ms", "<= 0.25 ms",
                 close["plain"] <= 0.25)
        self.row("... after 20 ms of silence", apart["plain"], "ms")
        self.row("a cell in a transactional session after 20 ms, p50", apart["safe"], "ms",
                 "<= 0.2 ms above", apart["safe"] - apart["plain"] <= 0.2)
        if "kernel" in close:
            self.row("the same cell in ipykernel, p50", close["kernel"], "ms")
            self.row("... after 20 ms of silence", apart["kernel"], "ms")
            self.row("a cell is faster than ipykernel's by", close["kernel"] / close["plain"], "x",
                     ">= 10", close["kernel"] / close["plain"] >= 10)
            self.row("... a transactional one after 20 ms by", apart["kernel"] / apart["safe"], "x")
        self.row("POST /v1/run of print(1), p50", apart["run"], "ms")
        inside = self.inside()
        self.row("the same in process (viv bench), p50", inside, "ms", "within 0.4 ms",
                 apart["run"] - inside <= 0.4)

    def inside(self):
        out = subprocess.run([os.path.join(self.build, "viv"), "bench", "--quick", "--json"],
                             stdout=subprocess.PIPE, check=True).stdout
        for figure in json.loads(out)["figures"]:
            if "print(1)" in figure["name"] and figure["unit"] in ("ms", "us"):
                return figure["value"] / (1 if figure["unit"] == "ms" else 1e3)
        raise SystemExit("bench: viv bench has no figure for print(1)")

    def crowd(self):
        """64 clients at once."""
        each = 5 if self.quick else 20
        times, failed, lock = [], [0], threading.Lock()

        def one():
            client = Client(self.daemon.port)
            for _ in range(each):
                start = time.perf_counter()
                status, answer = client.ask("POST", "/v1/run", {"code": "print(1)"})
                took = (time.perf_counter() - start) * 1e3
                with lock:
                    times.append(took)
                    if status != 200 or answer["verdict"]["kind"] != "ok":
                        failed[0] += 1

        threads = [threading.Thread(target=one) for _ in range(64)]
        start = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        took = time.perf_counter() - start
        self.row("64 clients: runs per second", len(times) / took, "1/s")
        self.row("64 clients: runs that failed", failed[0], "", "0", failed[0] == 0)
        self.row("64 clients: p99 over p50", p(times, .99) / p(times, .5), "x", "<= 20",
                 p(times, .99) <= 20 * p(times, .5))

    def frame(self):
        """Checkpoint and rollback with 200 MB of numbers in memory."""
        session = self.client.session(policy="large")
        self.client.run(session, "import numpy as np, pandas as pd\n"
                                 "df = pd.DataFrame({'a': np.arange(25_000_000)})")
        time.sleep(0.5)
        make, back = [], []
        for i in range(5 if self.quick else 15):
            self.client.run(session, f"y = {i}")
            time.sleep(0.2)
            status, answer = self.client.ask("POST", f"/v1/sessions/{session}/checkpoints", {})
            self.client.run(session, "y = -1")
            time.sleep(0.2)
            make.append(timed(lambda: self.client.raw(
                "POST", f"/v1/sessions/{session}/checkpoints", {"name": f"n{i}"})))
            back.append(timed(lambda: self.client.raw(
                "POST", f"/v1/sessions/{session}/rollback", {"checkpoint": answer["id"]})))
            time.sleep(0.2)
        self.client.raw("DELETE", f"/v1/sessions/{session}")
        self.row("checkpoint of a session with a 200 MB DataFrame, p50", statistics.median(make), "ms",
                 "<= 10 ms", statistics.median(make) <= 10)
        self.row("rollback of the same, p50", statistics.median(back), "ms", "<= 10 ms",
                 statistics.median(back) <= 10)

    def output(self):
        """stdout through the daemon to a client that reads."""
        size = (200 if self.quick else 1000) << 20
        code = f"import os\nb = b'x' * 65535 + b'\\n'\nfor _ in range({size} // 65536): os.write(1, b)"
        before = self.daemon.memory()
        start = time.perf_counter()
        total = self.client.stream("/v1/run", {"code": code, "policy": "loud", "runtime": "bare"})
        took = time.perf_counter() - start
        grown = self.daemon.memory() - before
        if total < size:
            raise SystemExit(f"bench: {total} of {size} bytes came")
        self.row("stdout to a reading client", size / took / 1e6, "MB/s", ">= 100", size / took >= 1e8)
        self.row("daemon memory grown by it", grown / 1e6, "MB", "flat", grown < 16e6)

    def many(self):
        """Sessions by the thousand, asleep, and a run beside them."""
        self.client.close()
        self.daemon.close()
        self.daemon = Daemon(self.build, freeze_ms=1500)
        self.client = Client(self.daemon.port)
        steps = (10, 100) if self.quick else (10, 1000, 2000)
        sessions, lat, mem = [], {}, {}
        free = host.memory_available()
        for step in steps:
            while len(sessions) < step:
                session = self.client.session()
                self.client.run(session, "x = 1")
                sessions.append(session)
            time.sleep(5)
            mem[step] = (free - host.memory_available()) / step
            busy = self.client.session()
            self.client.run(busy, "x = 1")
            times = []
            for _ in range(100):
                time.sleep(IDLE_S)
                times.append(timed(lambda: self.client.raw(
                    "POST", f"/v1/sessions/{busy}/run", {"code": "x += 1"})))
            self.client.raw("DELETE", f"/v1/sessions/{busy}")
            lat[step] = statistics.median(times)
            self.row(f"a cell with {step} sessions live, p50", lat[step], "ms")
            if step >= 100:  # few sessions are lost in what else happens to the host's memory
                self.row(f"memory per session with {step} live", mem[step] / 2**20, "MiB")
        top = steps[-1]
        at = 1000 if 1000 in mem else top
        self.row(f"{at} idle sessions take", mem[at] * at / 2**30, "GiB", "<= 6 GiB (1000)",
                 mem[at] * at <= 6 * 2**30)
        self.row(f"a cell with {top} sessions over one with {steps[0]}", lat[top] / lat[steps[0]], "x",
                 "flat", lat[top] <= 1.5 * lat[steps[0]])
        for session in sessions:
            self.client.raw("DELETE", f"/v1/sessions/{session}")

    def soak(self):
        """Mixed work, then: has anything grown?"""
        runs, sessions = (300, 20) if self.quick else (10_000, 500)
        codes = ("print(1)", "1/0", "import os; os._exit(3)", "x = list(range(10000)); sum(x)",
                 "open('f','w').write('x'*1000)")
        held = []
        first = None
        for i in range(runs):
            if i % (runs // sessions) == 0:
                held.append(self.client.session(runtime="bare"))
            if len(held) > 20:
                self.client.raw("DELETE", f"/v1/sessions/{held.pop(0)}")
            self.client.raw("POST", "/v1/run" if i % 3 else f"/v1/sessions/{held[-1]}/run",
                            {"code": codes[i % len(codes)], **({"runtime": "bare"} if i % 3 else {})})
            if i == runs // 5:
                first = (self.daemon.memory(), self.daemon.descriptors())
        for session in held:
            self.client.raw("DELETE", f"/v1/sessions/{session}")
        time.sleep(1)
        grown = self.daemon.memory() - first[0]
        fds = self.daemon.descriptors() - first[1]
        self.row(f"soak of {runs} runs, {sessions} sessions: memory grown", grown / 1e6, "MB", "< 8 MB",
                 grown < 8e6)
        self.row("soak: descriptors grown", fds, "", "<= 0", fds <= 0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--results", default=os.path.join(ROOT, "bench", "results"))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="cells crowd frame output many soak")
    options = parser.parse_args()
    bench = Bench(options.build, options.quick)
    try:
        for part in options.only.split():
            getattr(bench, part)()
    finally:
        bench.daemon.close()
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H%M%SZ")
    path = os.path.join(options.results, f"daemon-{now}.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"when": now, "host": host.describe(), "figures": bench.rows}, file, indent=1)
    print(f"written: {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
