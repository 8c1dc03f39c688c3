# SPDX-License-Identifier: Apache-2.0
"""Things that both generations of MCP's Python SDK must be able to do here.

    talk.py legacy|modern|auto http URL | stdio COMMAND ARGUMENT...

Prints `ok NAME` or `not ok NAME: why` for each check, and the number of those that were tried.
"""

import asyncio
import base64
import contextlib
import importlib.metadata
import os
import sys

IS_FIRST = importlib.metadata.version("mcp").startswith("1.")
PNG = bytes.fromhex("89504e470d0a1a0a")


def text_of(result):
    return "\n".join(item.text for item in result.content if item.type == "text")


class Peer:
    """The two generations, spoken to alike: structured content and errors have two spellings."""

    def __init__(self, session):
        self.session = session

    async def tools(self):
        return {tool.name: tool for tool in (await self.session.list_tools()).tools}

    async def call(self, name, arguments, on_line=None):
        return await self.session.call_tool(name, arguments, progress_callback=on_line)

    @staticmethod
    def is_error(result):
        return bool(result.isError if IS_FIRST else result.is_error)

    @staticmethod
    def data_of(result):
        return result.structuredContent if IS_FIRST else result.structured_content

    async def good(self, name, arguments, on_line=None):
        result = await self.call(name, arguments, on_line)
        assert not self.is_error(result), f"{name}: {text_of(result)}"
        return self.data_of(result)

    async def read(self, uri):
        return (await self.session.read_resource(uri)).contents


async def every_tool_is_listed(peer):
    tools = await peer.tools()
    for name in ("run_python", "create_session", "list_sessions", "close_session", "checkpoint", "rollback",
                 "fork_session", "list_checkpoints", "write_file", "read_file", "list_files", "list_variables", "explore"):
        assert name in tools, f"{name} is not listed"
        assert tools[name].description, f"{name} has no description"


async def what_code_prints_comes_back(peer):
    data = await peer.good("run_python", {"code": "print(6 * 7, 'ä€😀')"})
    assert data["stdout"] == "42 ä€😀\n", data


async def an_exception_is_an_error_of_the_tool(peer):
    result = await peer.call("run_python", {"code": "1 / 0"})
    assert peer.is_error(result)
    assert "ZeroDivisionError" in text_of(result), text_of(result)


async def a_run_past_its_timeout_is_an_error_of_the_tool(peer):
    result = await peer.call("run_python", {"code": "while True: pass", "timeout_ms": 300})
    assert peer.is_error(result)


async def wrong_arguments_are_named(peer):
    result = None
    try:
        result = await peer.call("run_python", {"code": ["print(1)"]})
    except Exception as error:  # pylint: disable=broad-except # each generation has its own
        told = str(error)
    if result is not None:
        assert peer.is_error(result), "it was not refused"
        told = text_of(result)
    assert "code" in told, told


async def a_session_keeps_its_variables(peer):
    session = (await peer.good("create_session", {}))["session_id"]
    await peer.good("run_python", {"code": "x = 41", "session_id": session})
    data = await peer.good("run_python", {"code": "print(x + 1)", "session_id": session})
    assert data["stdout"] == "42\n", data
    names = [one["name"] for one in (await peer.good("list_variables", {"session_id": session}))["vars"]]
    assert "x" in names, names
    await peer.good("close_session", {"session_id": session})


async def a_figure_is_an_image(peer):
    code = "import matplotlib.pyplot as plt\nplt.plot([1, 3, 2])\nplt.show()"
    result = await peer.call("run_python", {"code": code})
    image = next(item for item in result.content if item.type == "image")
    assert base64.b64decode(image.data).startswith(PNG)


async def a_new_file_is_a_link_that_can_be_read(peer):
    session = (await peer.good("create_session", {}))["session_id"]
    result = await peer.call("run_python", {"code": "open('out.bin', 'wb').write(bytes(range(256)))",
                                            "session_id": session})
    link = next(item for item in result.content if item.type == "resource_link")
    (item,) = await peer.read(link.uri)
    assert base64.b64decode(item.blob) == bytes(range(256))
    await peer.good("close_session", {"session_id": session})


async def lines_are_progress(peer):
    lines = []

    async def on_line(progress, _total, message):
        lines.append((progress, message or ""))

    await peer.good("run_python", {"code": "for i in range(3): print('line', i, flush=True)"}, on_line)
    told = "".join(message for _, message in lines)
    assert "line 0" in told and "line 2" in told, lines
    numbers = [number for number, _ in lines]
    assert numbers == sorted(set(numbers)), numbers


async def calls_at_the_same_time_are_each_answered(peer):
    async def one(i):
        return (await peer.good("run_python", {"code": f"print({i})"}))["stdout"]

    got = await asyncio.gather(*(one(i) for i in range(8)))
    assert got == [f"{i}\n" for i in range(8)], got


CHECKS = (every_tool_is_listed, what_code_prints_comes_back, an_exception_is_an_error_of_the_tool,
          a_run_past_its_timeout_is_an_error_of_the_tool, wrong_arguments_are_named,
          a_session_keeps_its_variables, a_figure_is_an_image, a_new_file_is_a_link_that_can_be_read,
          lines_are_progress, calls_at_the_same_time_are_each_answered)


@contextlib.asynccontextmanager
async def first_generation(way, target, arguments):
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client
    from mcp.client.streamable_http import streamable_http_client
    if way == "stdio":
        streams = stdio_client(StdioServerParameters(command=target, args=arguments, env=dict(os.environ)))
    else:
        streams = streamable_http_client(target)
    async with streams as (read, write, *_), ClientSession(read, write) as session:
        await session.initialize()
        yield session


@contextlib.asynccontextmanager
async def second_generation(era, way, target, arguments):
    from mcp import Client, StdioServerParameters
    from mcp.client.stdio import stdio_client
    if way == "stdio":
        target = stdio_client(StdioServerParameters(command=target, args=arguments, env=dict(os.environ)))
    async with Client(target, mode="2026-07-28" if era == "modern" else era) as client:
        is_modern = client.protocol_version == "2026-07-28"
        assert is_modern == (era != "legacy"), client.protocol_version
        yield client


async def main():
    era, way, target, *arguments = sys.argv[1:]
    opened = first_generation(way, target, arguments) if IS_FIRST else \
        second_generation(era, way, target, arguments)
    async with opened as session:
        peer = Peer(session)
        for check in CHECKS:
            try:
                await check(peer)
                print(f"ok {check.__name__}", flush=True)
            except Exception as error:  # pylint: disable=broad-except # the next one is tried all the same
                print(f"not ok {check.__name__}: {type(error).__name__} {error}".replace("\n", " | "), flush=True)
    print(f"{len(CHECKS)} tried", flush=True)


asyncio.run(main())
