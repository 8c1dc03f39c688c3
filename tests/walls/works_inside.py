# SPDX-License-Identifier: Apache-2.0
"""Things that people do in a notebook, done behind the walls: all of it must work under the allow-list.

Read from stdin by the program with_walls. Each function below is one test; its name says what works.
"""

import os
import sys
import traceback


def the_walls_stand():
    """Otherwise all that follows proves nothing."""
    import ctypes
    import errno
    with open("/proc/self/status", encoding="ascii") as file:
        assert "Seccomp:\t2\n" in file.read()
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.unshare(0) == -1 and ctypes.get_errno() == errno.EPERM
    try:
        with open("/outside", "w", encoding="ascii"):
            raise AssertionError("/ can be written")
    except OSError as error:
        assert error.errno in (errno.EACCES, errno.EROFS), error


def numpy_linear_algebra():
    import numpy as np
    a = np.random.default_rng(1).normal(size=(200, 200))
    assert np.allclose(np.linalg.inv(a) @ a, np.eye(200), atol=1e-6)


def numpy_memory_maps():
    import numpy as np
    m = np.memmap("/workspace/m.bin", dtype="f8", mode="w+", shape=(1000,))
    m[:] = 2
    m.flush()
    assert np.fromfile("/workspace/m.bin").sum() == 2000


def pandas_files():
    import pandas as pd
    df = pd.DataFrame({"a": range(1000), "b": ["x", "y"] * 500})
    df.to_csv("t.csv", index=False)
    df.to_excel("t.xlsx", index=False)
    df.to_json("t.json")
    df.to_pickle("t.pkl")
    assert pd.read_csv("t.csv").groupby("b").a.sum().tolist() == [249500, 250000]
    assert len(pd.read_excel("t.xlsx")) == 1000


def matplotlib_savefig():
    import matplotlib.pyplot as plt
    _, ax = plt.subplots()
    ax.plot([1, 2, 3])
    for suffix in ("png", "pdf", "svg"):
        plt.savefig("f." + suffix)
        assert os.path.getsize("f." + suffix) > 1000


def seaborn_plots():
    import pandas as pd
    import seaborn as sns
    data = pd.DataFrame({"x": [1, 2, 3, 4], "y": [2, 4, 8, 16]})
    sns.regplot(data=data, x="x", y="y").figure.savefig("s.png")


def plotly_figures():
    import plotly.express as px
    assert '"data"' in px.line(x=[1, 2], y=[3, 4]).to_json()


def scipy_statistics():
    from scipy import optimize, stats
    assert stats.ttest_ind([1, 2, 3], [4, 5, 6]).pvalue < 0.05
    assert abs(optimize.brentq(lambda x: x * x - 2, 0, 2) - 2 ** 0.5) < 1e-9


def sklearn_in_two_processes():
    from joblib import Parallel, delayed
    from sklearn.datasets import make_classification
    from sklearn.ensemble import RandomForestClassifier
    x, y = make_classification(n_samples=300, random_state=1)
    assert RandomForestClassifier(20, n_jobs=2).fit(x, y).score(x, y) > 0.9
    assert Parallel(n_jobs=2)(delayed(abs)(-i) for i in range(8)) == list(range(8))


def sympy_algebra():
    import sympy
    x = sympy.symbols("x")
    assert sympy.solve(x ** 2 - 4, x) == [-2, 2]


def sqlite_on_disk_and_in_memory():
    import sqlite3
    for place in ("t.db", ":memory:"):
        with sqlite3.connect(place) as db:
            db.execute("pragma journal_mode=wal")
            db.execute("create table t(a)")
            db.executemany("insert into t values(?)", [(i,) for i in range(1000)])
            assert db.execute("select sum(a) from t").fetchone() == (499500,)


def pillow_and_lxml():
    from lxml import etree
    from PIL import Image
    Image.new("RGB", (64, 64), "red").resize((32, 32)).save("p.jpg")
    assert Image.open("p.jpg").size == (32, 32)
    assert etree.fromstring("<a><b>1</b></a>").findtext("b") == "1"


def subprocesses():
    import signal
    import subprocess
    assert subprocess.run(["echo", "hi"], capture_output=True, check=True).stdout == b"hi\n"
    script = "for i in 1 2 3; do echo $i; done | sort -r | head -1; ls -l / >/dev/null"
    assert subprocess.check_output(script, shell=True, text=True).split() == ["3"]
    with subprocess.Popen(["sleep", "100"], start_new_session=True) as child:
        os.killpg(child.pid, signal.SIGKILL)
        assert child.wait() == -9
    try:
        subprocess.run(["sleep", "100"], timeout=0.05, check=False)
    except subprocess.TimeoutExpired:
        pass


def shell_tools():
    import subprocess
    script = """set -e
    mkdir -p d/e; echo text > d/a; cp -a d f; mv d/a d/b; ln -s b d/l; ln d/b d/h; touch d/t; chmod 600 d/b
    tar cf t.tar d; tar xf t.tar; gzip -c t.tar | gunzip | cmp - t.tar; find d | sort | wc -l
    sed -i s/text/TEXT/ d/b; grep -q TEXT d/b; awk '{print}' d/b; stat d/b; df . ; id; date; mkfifo p; rm -r d f
    timeout 5 true; nproc; du -s .; dd if=/dev/zero of=z bs=1k count=4; sha256sum z; env; sleep 0.01
    """
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def threads():
    import threading
    from concurrent.futures import ThreadPoolExecutor
    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(abs, range(-100, 0))) == 5050
    timer = threading.Timer(0.01, lambda: None)
    timer.start()
    timer.join()


def multiprocessing_pools():
    import multiprocessing
    context = multiprocessing.get_context("fork")
    with context.Pool(2) as pool:
        assert pool.map(abs, range(-4, 0)) == [4, 3, 2, 1]
    queue = context.Queue()
    child = context.Process(target=queue.put, args=("hi",))
    child.start()
    assert queue.get() == "hi"
    child.join()
    with context.Manager() as manager:
        shared = manager.dict(a=1)
        assert dict(shared) == {"a": 1}


def shared_memory_and_locks():
    from multiprocessing import Lock, Value, shared_memory
    block = shared_memory.SharedMemory(create=True, size=4096)
    block.buf[0] = 7
    block.close()
    block.unlink()
    value = Value("i", 3)
    with Lock(), value.get_lock():
        value.value += 1
    assert value.value == 4


def asyncio_tasks_and_children():
    import asyncio

    async def serve_and_call():
        async def answer(reader, writer):
            writer.write(await reader.readline())
            writer.close()
        async with await asyncio.start_unix_server(answer, "/tmp/socket"):
            reader, writer = await asyncio.open_unix_connection("/tmp/socket")
            writer.write(b"hi\n")
            assert await reader.readline() == b"hi\n"
            writer.close()

    async def main():
        child = await asyncio.create_subprocess_exec("echo", "hi", stdout=-1)
        assert (await child.communicate())[0] == b"hi\n"
        await asyncio.gather(*(asyncio.sleep(0.001) for _ in range(10)))
        await serve_and_call()
        assert await asyncio.to_thread(abs, -3) == 3
    asyncio.run(main())


def files_of_all_kinds():
    import pathlib
    import shutil
    import tempfile
    import zipfile
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "a")
        source.write_bytes(os.urandom(100000))
        shutil.copy2(source, folder + "/b")
        shutil.copytree(folder, "/workspace/tree")
        shutil.move("/workspace/tree/a", "/workspace/tree/c")
        assert shutil.disk_usage("/workspace").total > 0
        with zipfile.ZipFile("t.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.write("/workspace/tree/c")
        os.mkfifo(folder + "/fifo")
        os.chown(folder + "/b", os.getuid(), os.getgid())
    shutil.rmtree("/workspace/tree")
    with tempfile.NamedTemporaryFile() as file:
        file.truncate(10)
        os.posix_fallocate(file.fileno(), 0, 4096)
    with open("/dev/null", "w", encoding="ascii") as null:
        null.write("x")


def signals_timers_and_limits():
    import faulthandler
    import resource
    import select
    import signal
    import time
    faulthandler.enable()
    signal.signal(signal.SIGALRM, lambda *_: None)
    signal.setitimer(signal.ITIMER_REAL, 0.001)
    signal.pause()
    resource.setrlimit(resource.RLIMIT_NOFILE, resource.getrlimit(resource.RLIMIT_NOFILE))
    resource.getrusage(resource.RUSAGE_CHILDREN)
    select.select([], [], [], 0)
    time.sleep(0.001)
    os.nice(1)
    assert len(os.sched_getaffinity(0)) >= 1


def no_network_is_a_clean_error():
    """An agent reads the message; it must be an ordinary error of the library, soon."""
    import socket
    import urllib.request

    import requests
    for call in (lambda: socket.create_connection(("127.0.0.1", 1)),
                 lambda: socket.getaddrinfo("example.com", 80),
                 lambda: urllib.request.urlopen("http://127.0.0.1:1/"),
                 lambda: requests.get("http://127.0.0.1:1/", timeout=5),
                 lambda: requests.get("https://example.com/", timeout=5)):
        try:
            call()
        except OSError as error:
            assert not isinstance(error, TimeoutError), error
        else:
            raise AssertionError("there is a network")


def memory_that_is_executable():
    """ffi and just-in-time compilers need it."""
    import ctypes
    compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
    numbers = (ctypes.c_int * 4)(4, 2, 3, 1)
    ctypes.CDLL(None).qsort(numbers, 4, 4, compare(lambda a, b: a[0] - b[0]))
    assert list(numbers) == [1, 2, 3, 4]


def the_rest_of_the_list():
    import bs4
    import jinja2
    import jsonschema
    import tabulate
    import uuid
    import yaml
    assert bs4.BeautifulSoup("<p>x</p>", "html.parser").p.text == "x"
    assert jinja2.Template("{{ a }}").render(a=1) == "1"
    jsonschema.validate(1, {"type": "integer"})
    assert tabulate.tabulate([[1]]) and yaml.safe_load("a: 1") == {"a": 1}
    assert uuid.uuid1() != uuid.uuid4()


def main():
    tests = [test for name, test in list(globals().items())
             if isinstance(test, type(main)) and name != "main"]
    failed = []
    for test in tests:
        try:
            test()
        except BaseException:  # also SystemExit: every test is heard
            traceback.print_exc()
            failed.append(test.__name__)
    print(f"{len(tests) - len(failed)} of {len(tests)} work", *failed, sep="\n", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
