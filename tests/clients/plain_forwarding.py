"""A port without TLS in front of one that takes TLS only, for clients that cannot be given a certificate."""

from __future__ import annotations

import asyncio
import ssl
import threading
from contextlib import suppress
from pathlib import Path

_START_S = 10
_BLOCK_BYTES = 1 << 16


def forward_plain(port: int, target: int, authority: Path) -> None:
    """Forwards connections on a local port to `target`, whose certificate is signed by `authority`, while the process
    runs.
    """
    is_open = threading.Event()
    threading.Thread(target=lambda: asyncio.run(_serve(port, target, authority, is_open)), daemon=True).start()
    assert is_open.wait(_START_S), f"the port {port} is not free"


async def _serve(port: int, target: int, authority: Path, is_open: threading.Event) -> None:
    context = ssl.create_default_context(cafile=str(authority))
    context.check_hostname = False
    context.set_alpn_protocols(["h2"])

    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        target_reader, target_writer = await asyncio.open_connection("127.0.0.1", target, ssl=context)
        pumps = [asyncio.create_task(_pump(reader, target_writer)), asyncio.create_task(_pump(target_reader, writer))]
        await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        for pump in pumps:
            pump.cancel()
        writer.close()
        target_writer.close()

    server = await asyncio.start_server(connect, "127.0.0.1", port)
    is_open.set()
    async with server:
        await server.serve_forever()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError, ssl.SSLError):
        while content := await reader.read(_BLOCK_BYTES):
            writer.write(content)
            await writer.drain()
