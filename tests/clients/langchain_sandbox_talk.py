# SPDX-License-Identifier: Apache-2.0
"""langchain-sandbox as its users have it; `deno` in PATH is our stand-in."""

import asyncio
import sys

from langchain_sandbox import PyodideSandbox, PyodideSandboxTool, SyncPyodideSandbox

tried = 0


def check(name, is_good, said=None):
    global tried
    tried += 1
    print(f"ok {name}" if is_good else f"not ok {name}: {said}", flush=True)


async def main():
    fresh = PyodideSandbox(allow_net=True, allow_read=["/tmp"])
    got = await fresh.execute("print(1); print(2)\n[1, (2, 3), {4}]")
    check("result", (got.status, got.stdout, got.stderr, got.result, got.session_bytes)
          == ("success", "1\n2\n", None, [1, [2, 3], [4]], None), got)
    got = await fresh.execute("1/0")
    check("failure", got.status == "error" and "ZeroDivisionError" in got.stderr, got)
    got = await fresh.execute("while True: pass", timeout_seconds=1)
    check("timeout", (got.status, got.stderr) == ("error", "Execution timed out after 1 seconds"), got)

    kept = PyodideSandbox(stateful=True)
    first = await kept.execute("import numpy as np\nx = 5\ndef f(): return x * 2")
    check("packages", first.session_metadata["packages"] == ["numpy"], first)
    second = await kept.execute("x += 1; int(np.ones(f()).sum())", session_bytes=first.session_bytes,
                                session_metadata=first.session_metadata)
    check("state", second.result == 12, second)
    check("created", second.session_metadata["created"] == first.session_metadata["created"], second)
    failed = await kept.execute("x = 0; 1/0", session_bytes=second.session_bytes,
                                session_metadata=second.session_metadata)
    check("kept", failed.status == "error" and failed.session_bytes == second.session_bytes, failed)

    tool = PyodideSandboxTool()
    check("tool", await tool.ainvoke({"code": "print('hi')"}) == "hi\n")
    said = await tool.ainvoke({"code": "1/0"})
    check("tool_failure", said.startswith("Error during execution: Traceback"), said)


asyncio.run(main())
got = SyncPyodideSandbox().execute("{1: 'é'}")
check("sync", got.result == {"1": "é"}, got)
print(f"{tried} tried")
sys.exit(0)
