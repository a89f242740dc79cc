"""Counts a thread's Java calls: each py4j call is a round trip that waits for a Java thread."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def counted_calls(gateway: Any) -> Iterator[list[str]]:
    """Yields the commands that this thread sends through py4j within the block."""
    client, sent, thread = gateway._gateway_client, [], threading.get_ident()
    send = client.send_command

    def noting(command: str, *arguments: Any, **named: Any) -> Any:
        if threading.get_ident() == thread:
            sent.append(command)
        return send(command, *arguments, **named)

    client.send_command = noting
    try:
        yield sent
    finally:
        del client.send_command
