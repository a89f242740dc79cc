"""Each result's next row in an object store, for clients that fetch without stating a position.

A request for each response would be expensive. So the store has the position only while no response was sent for
`QUIET_S` seconds. Before the first response after that it is marked as unknown, and the response waits for that. If the
process ends meanwhile, the result is not continued: its client could miss rows, or receive some twice.
"""

from __future__ import annotations

import threading
import time
import uuid

from gateway.results.sent_rows import SentRows
from gateway.state.replica import UNKNOWN_POSITION, Positioned, Replica

QUIET_S = 1.0


class RemotePositions:
    """The positions. Thread-safe."""

    def __init__(self, replica: Replica) -> None:
        self._replica = replica
        self._lock = threading.Lock()
        # Positions that the store does not have yet, and when they changed last.
        self._unknown: dict[uuid.UUID, tuple[SentRows, float]] = {}

    def store(self, operation_id: uuid.UUID, sent: SentRows) -> None:
        """Notes the position; called before a response's last byte is sent."""
        with self._lock:
            is_unknown = operation_id in self._unknown
            self._unknown[operation_id] = sent, time.monotonic()
            if not is_unknown:
                self._replica.add(Positioned(str(operation_id), None))
        if not is_unknown:
            self._replica.flush()

    def restore(self, operation_id: uuid.UUID, sent: SentRows) -> None:
        """Stores the position of a restored statement."""
        self._replica.add(_positioned(operation_id, sent))

    def store_quiet(self) -> None:
        """Stores the positions of results to which no response was sent recently."""
        with self._lock:
            now = time.monotonic()
            for operation_id, (sent, changed) in list(self._unknown.items()):
                if now - changed >= QUIET_S and self._replica.add(_positioned(operation_id, sent)):
                    del self._unknown[operation_id]

    def forget(self, operation_id: uuid.UUID) -> None:
        """Forgets the position; it is not stored again."""
        with self._lock:
            self._unknown.pop(operation_id, None)
        self._replica.forget_position(operation_id)

    def close(self) -> None:
        """Does nothing: the replica is closed by its owner."""


def _positioned(operation_id: uuid.UUID, sent: SentRows) -> Positioned:
    is_known = sent.page_row != UNKNOWN_POSITION.page_row
    values = (sent.page_row, sent.next_row, sent.rows, sent.digest) if is_known else None
    return Positioned(str(operation_id), values)
