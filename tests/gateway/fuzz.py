"""Random bytes for a listening port: seeded, so that a failure can be repeated; half garbage, half damaged requests.

A sequence is one write to a connection. Connections are reused as long as the server keeps them, and several are open
at the same time, so that sequences meet every connection state.
"""

from __future__ import annotations

import contextlib
import random
import select
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass

CONNECTIONS = 8
_ROUNDS_PER_CONNECTION = 40
_WAIT_S = 0.001


@dataclass
class Fuzzer:
    """Sends to `port`; `samples` are whole protocol messages, which are cut, damaged, repeated and joined."""

    port: int
    samples: Sequence[bytes]
    seed: int
    greet: Callable[[socket.socket], None] = lambda connection: None
    bytes_answered: int = 0

    def run(self, count: int) -> int:
        """Sends `count` sequences; returns how many used an already used connection."""
        chance, reused = random.Random(self.seed), 0
        places: list[tuple[socket.socket, int] | None] = [None] * CONNECTIONS
        for _ in range(count):
            place = chance.randrange(CONNECTIONS)
            held = places[place]
            if held and (held[1] >= _ROUNDS_PER_CONNECTION or self._is_over(held[0])):
                _leave(held[0], chance)
                held = None
            reused += held is not None
            connection, round_count = held or (self._connect(chance), 0)
            with contextlib.suppress(OSError):
                connection.sendall(self._sequence(chance))
                select.select([connection], [], [], _WAIT_S)
            if chance.random() < 0.02:
                _leave(connection, chance)
                places[place] = None
            else:
                places[place] = connection, round_count + 1
        for held in places:
            if held:
                held[0].close()
        return reused

    def _connect(self, chance: random.Random) -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        if chance.random() < 0.5:
            with contextlib.suppress(OSError):
                self.greet(connection)
        return connection

    def _is_over(self, connection: socket.socket) -> bool:
        """Returns if the server closed it; its responses are counted and discarded."""
        while select.select([connection], [], [], 0)[0]:
            try:
                received = connection.recv(1 << 16)
            except OSError:
                return True
            if not received:
                return True
            self.bytes_answered += len(received)
        return False

    def _sequence(self, chance: random.Random) -> bytes:
        kind = chance.randrange(6)
        sample = chance.choice(self.samples)
        if kind == 0:
            return chance.randbytes(chance.choice((1, 2, 5, 40, 3000)))
        if kind == 1:
            return sample
        if kind == 2:
            return sample * chance.randrange(2, 5)
        if kind == 3:
            return sample[: chance.randrange(len(sample) + 1)]
        if kind == 4:
            return sample + chance.choice(self.samples)[chance.randrange(8) :]
        damaged = bytearray(sample)
        for _ in range(chance.randrange(1, 6)):
            damaged[chance.randrange(len(damaged))] = chance.choice(
                (0, 10, 13, 32, 45, 58, 127, 255, chance.randrange(256))
            )
        return bytes(damaged)


def _leave(connection: socket.socket, chance: random.Random) -> None:
    if chance.random() < 0.5:  # with a reset
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    connection.close()
