"""The messages to a client, collected until they are sent."""

from __future__ import annotations

from dataclasses import dataclass, field

from gateway.process.byte_stream import ByteStream

_BUFFERED_MAX = 64 << 10


@dataclass(slots=True)
class Output:
    """Collects messages; sends them when they are many, or by `flush`. Not thread-safe."""

    stream: ByteStream
    _pieces: list[bytes | memoryview] = field(default_factory=list)
    _size: int = 0
    # Set while messages may still be replaced by an error: they are then not sent.
    is_held: bool = False

    def add(self, piece: bytes | memoryview) -> None:
        self._pieces.append(piece)
        self._size += len(piece)
        if self._size >= _BUFFERED_MAX and not self.is_held:
            self.flush()

    def flush(self) -> None:
        """Sends everything. Raises `Disconnected`."""
        pieces, self._pieces, self._size = tuple(self._pieces), [], 0
        if pieces:
            self.stream.write(pieces)

    @property
    def position(self) -> int:
        """Returns a place for `cut`."""
        return len(self._pieces)

    def cut(self, position: int) -> None:
        """Drops the messages from `position` on, which were not sent."""
        del self._pieces[position:]
        self._size = sum(map(len, self._pieces))
