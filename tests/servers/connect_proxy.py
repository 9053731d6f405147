#!/usr/bin/env python3
"""A proxy that opens ways to servers (CONNECT), for HTTPS_PROXY.

connect_proxy.py [STATUS]   listens on a free port of 127.0.0.1, prints its URL, and ends when its standard input is
                            closed; with STATUS it opens none, and answers so
"""

from __future__ import annotations

import asyncio
import contextlib
import sys

from standing import until_input_ends

STATUS = int(sys.argv[1]) if len(sys.argv) > 1 else 200


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    writer.close()


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    method, target, _ = head.split("\r\n")[0].split(" ")
    status = STATUS if method == "CONNECT" else 405
    writer.write(f"HTTP/1.1 {status} {'Connection established' if status == 200 else 'Refused'}\r\n".encode())
    writer.write(b"Via: 1.1 proxy\r\n\r\n" if status == 200 else b"Content-Length: 0\r\n\r\n")
    await writer.drain()
    if status != 200:
        writer.close()
        return
    host, _, port = target.rpartition(":")
    to = await asyncio.open_connection(host.strip("[]"), int(port))
    await asyncio.gather(pump(reader, to[1]), pump(to[0], writer))


async def main() -> None:
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    await until_input_ends(server)


if __name__ == "__main__":
    asyncio.run(main())
