"""How a server of the tests tells where it is, and when it ends."""

from __future__ import annotations

import asyncio
import sys


async def until_input_ends(server: asyncio.Server) -> None:
    """Prints the server's URL, and waits until standard input ends: with whoever started it."""
    loop = asyncio.get_running_loop()
    stop = loop.create_future()
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)

    def look() -> None:
        if not sys.stdin.buffer.read1(1) and not stop.done():
            stop.set_result(None)

    loop.add_reader(sys.stdin, look)
    await stop
