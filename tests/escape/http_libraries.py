# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: net
# walls: net seccomp
# unwalled: safe
"""The way programs usually go out: urllib, http.client, asyncio, ftp."""
import asyncio
import ftplib
import http.client
import urllib.request

url = f"http://127.0.0.1:{_args['tcp_port']}/"


def by_http():
    connection = http.client.HTTPConnection("127.0.0.1", _args["tcp_port"], timeout=2)
    connection.request("GET", "/")
    return connection.getresponse().read()


async def by_asyncio():
    reader, writer = await asyncio.open_connection("127.0.0.1", _args["tcp_port"])
    return await reader.read(200)


for what, function in (("urllib", lambda: urllib.request.urlopen(url, timeout=2).read()),
                       ("http.client", by_http),
                       ("ftplib", lambda: ftplib.FTP("127.0.0.1", timeout=2)),
                       ("file url",
                        lambda: urllib.request.urlopen("file://" + _args["tmp_secret"]).read()),
                       ("asyncio", lambda: asyncio.run(by_asyncio()))):
    try:
        breach(f"{what}: {function()!r}")
    except Exception as error:
        held(f"{what}: {type(error).__name__}")
