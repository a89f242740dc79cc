"""A TCP load balancer whose connections can be cut, paused or left half-open."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from typing import Any

from tests.gateway.http.conftest import eventually

_PIECE = 1 << 16


class _Link:
    """A client's connection with the one to the server."""

    def __init__(self, writers: Sequence[asyncio.StreamWriter]) -> None:
        self.is_silent = False
        self.ended = asyncio.Event()
        self._writers = writers

    def abort(self) -> None:
        self.ended.set()
        for writer in self._writers:
            writer.transport.abort()


class Proxy:
    """Listens on a port per name and connects to `targets` in turn. Its loop runs in a thread of its own."""

    def __init__(self, targets: Mapping[str, Sequence[int]]) -> None:
        self._targets = {name: itertools.cycle(ports) for name, ports in targets.items()}
        self.ports: dict[str, int] = {}
        # Seconds after which a connection is cut, whatever it does; None is never.
        self.cut_after_s: float | None = None
        self._links: set[_Link] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._thread.start()
        self._open = asyncio.Event()
        self._run(self._listen())

    def connect_to(self, targets: Mapping[str, Sequence[int]]) -> None:
        """Sets other targets for new connections."""
        self._targets = {name: itertools.cycle(ports) for name, ports in targets.items()}

    def cut(self) -> None:
        """Resets all connections."""

        def abort() -> None:
            for link in list(self._links):
                link.abort()

        self._call(abort)

    def silence(self) -> None:
        """Discards everything that present connections send, and hides their ends: they are half-open."""

        def silence() -> None:
            for link in self._links:
                link.is_silent = True

        self._call(silence)

    def pause(self) -> None:
        """Forwards nothing until `resume`, in present and new connections."""
        self._call(self._open.clear)

    def resume(self) -> None:
        self._call(self._open.set)

    def close(self) -> None:
        self.resume()
        self.cut()
        eventually(lambda: not self._links, 10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def _call(self, function: Callable[[], object]) -> None:
        async def call() -> None:
            function()

        self._run(call())

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    async def _listen(self) -> None:
        self._open.set()
        for name in self._targets:
            server = await asyncio.start_server(self._handler(name), "127.0.0.1", 0)
            self.ports[name] = server.sockets[0].getsockname()[1]

    def _handler(self, name: str) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[Any, Any, None]]:
        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                other_reader, other_writer = await asyncio.open_connection("127.0.0.1", next(self._targets[name]))
            except OSError:
                writer.transport.abort()
                return
            link = _Link((writer, other_writer))
            self._links.add(link)
            pumps = [self._pump(link, reader, other_writer), self._pump(link, other_reader, writer)]
            with suppress(TimeoutError):
                await asyncio.wait_for(asyncio.gather(*pumps), self.cut_after_s)
            link.abort()
            self._links.discard(link)

        return handle

    async def _pump(self, link: _Link, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        is_reset = False
        try:
            while data := await reader.read(_PIECE):
                await self._open.wait()
                if not link.is_silent:
                    writer.write(data)
                    await writer.drain()
        except OSError:
            is_reset = True
        await self._open.wait()
        if link.is_silent:
            await link.ended.wait()
        # A server that is killed resets the connections from which it has not read: a client that saw no reset would
        # wait until its own time limit.
        if is_reset:
            link.abort()
        elif writer.can_write_eof():
            with suppress(OSError):
                writer.write_eof()
