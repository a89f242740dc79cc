"""Each result's next row, for clients that fetch without stating a position.

The rows of a response count as delivered when its last byte is about to be sent: the kernel delivers what it has
accepted even if the process is killed. A record in a file would be too late by the time that another thread holds the
interpreter, so the positions are a table in shared memory, a file that is mapped.
"""

from __future__ import annotations

import mmap
import os
import struct
import threading
import uuid
from collections.abc import Mapping
from pathlib import Path

from gateway.results.sent_rows import DIGEST_BYTES, SentRows

_SLOT = struct.Struct(f"<16sqqq{DIGEST_BYTES}s")
_SENT = struct.Struct(f"<qqq{DIGEST_BYTES}s")
_NO_SLOT = bytes(_SLOT.size)
_ID_BYTES = 16
_SLOTS = 1 << 16


class Positions:
    """The table. Thread-safe. A result whose table is full has no position, and is not continued after a crash."""

    def __init__(self, path: Path) -> None:
        """Creates the file. On a full disk the table is not in a file, and nothing is continued after a crash."""
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            # A write to a page of the map that has no block would end the process with SIGBUS.
            os.posix_fallocate(descriptor, 0, _SLOT.size * _SLOTS)
            self._map = mmap.mmap(descriptor, _SLOT.size * _SLOTS)
        except OSError:
            self._map = mmap.mmap(-1, _SLOT.size * _SLOTS)
        finally:
            os.close(descriptor)
        self._lock = threading.Lock()
        self._slots: dict[uuid.UUID, int] = {}
        self._free: list[int] = []

    def store(self, operation_id: uuid.UUID, sent: SentRows) -> None:
        """Writes the position into the operation's slot of the mapped file; has no effect if all slots are taken."""
        slot = self._slots.get(operation_id)
        if slot is None:
            with self._lock:
                slot = self._free.pop() if self._free else len(self._slots)
                if slot >= _SLOTS:
                    return
                self._slots[operation_id] = slot
            _SLOT.pack_into(self._map, slot * _SLOT.size, operation_id.bytes, *sent)
        else:
            _SENT.pack_into(self._map, slot * _SLOT.size + _ID_BYTES, *sent)

    def restore(self, operation_id: uuid.UUID, sent: SentRows) -> None:
        """Stores the position of a restored statement."""
        self.store(operation_id, sent)

    def forget(self, operation_id: uuid.UUID) -> None:
        """Clears and frees the operation's slot, if it has one."""
        if operation_id not in self._slots:
            return
        with self._lock:
            slot = self._slots.pop(operation_id, None)
            if slot is not None:
                self._map[slot * _SLOT.size : (slot + 1) * _SLOT.size] = _NO_SLOT
                self._free.append(slot)

    def close(self) -> None:
        """Unmaps the file."""
        self._map.close()


def write_positions(path: Path, positions: Mapping[uuid.UUID, SentRows]) -> None:
    """Writes positions, as `read_positions` reads them."""
    slots = (
        _SLOT.pack(key.bytes, sent.page_row, sent.next_row, sent.rows, sent.digest) for key, sent in positions.items()
    )
    path.touch(0o600)
    path.write_bytes(b"".join(slots))


def read_positions(path: Path) -> dict[uuid.UUID, SentRows]:
    """Returns the positions in another process's table; an empty mapping if it has none."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return {}
    slots = _SLOT.iter_unpack(content[: len(content) // _SLOT.size * _SLOT.size])
    return {uuid.UUID(bytes=key): SentRows(*values) for key, *values in slots if any(key)}
