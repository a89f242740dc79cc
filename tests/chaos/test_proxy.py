"""The load balancer forwards, cuts, pauses, and leaves connections half-open."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest

from tests.chaos.proxy import Proxy

WAIT_S = 20


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    """Yields a proxy to a server that sends back what it receives."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve(connection: socket.socket) -> None:
        with suppress(OSError), connection:
            while data := connection.recv(1024):
                connection.sendall(data)

    def accept() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    opened = Proxy({"echo": [listener.getsockname()[1]]})
    yield opened
    opened.close()
    listener.close()


def connect(proxy: Proxy) -> socket.socket:
    return socket.create_connection(("127.0.0.1", proxy.ports["echo"]), WAIT_S)


def answer(connection: socket.socket) -> bytes:
    connection.sendall(b"ping")
    return connection.recv(1024)


def is_cut(connection: socket.socket) -> bool:
    try:
        return connection.recv(1024) == b""
    except ConnectionError:
        return True


def test_cut_ends_open_connections_and_no_later_ones(proxy: Proxy) -> None:
    with connect(proxy) as first:
        assert answer(first) == b"ping"
        proxy.cut()
        assert is_cut(first)
    with connect(proxy) as second:
        assert answer(second) == b"ping"


def test_connection_is_cut_after_its_time(proxy: Proxy) -> None:
    proxy.cut_after_s = 0.2
    with connect(proxy) as first:
        assert answer(first) == b"ping" and is_cut(first)


def test_paused_proxy_delivers_after_it_resumes(proxy: Proxy) -> None:
    with connect(proxy) as first:
        assert answer(first) == b"ping"
        proxy.pause()
        first.sendall(b"later")
        first.settimeout(0.3)
        with pytest.raises(TimeoutError):
            first.recv(1024)
        proxy.resume()
        first.settimeout(WAIT_S)
        assert first.recv(1024) == b"later"


def test_client_sees_the_reset_of_a_server_that_has_not_read() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        proxy = Proxy({"echo": [listener.getsockname()[1]]})
        with connect(proxy) as first:
            first.sendall(b"request")
            accepted, _ = listener.accept()
            assert accepted.recv(7, socket.MSG_PEEK | socket.MSG_WAITALL) == b"request"
            accepted.close()  # with unread data, which resets the connection
            assert is_cut(first)
        proxy.close()


def test_half_open_connection_is_silent_and_new_ones_work(proxy: Proxy) -> None:
    with connect(proxy) as first, connect(proxy) as second:
        assert answer(first) == answer(second) == b"ping"
        proxy.silence()
        first.settimeout(0.3)
        with pytest.raises(TimeoutError):
            answer(first)
        with connect(proxy) as third:
            assert answer(third) == b"ping"
