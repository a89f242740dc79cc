"""What a front end with URLs offers to one without: links to rows of a result, which their holder may fetch, and to
files of volumes.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Protocol

from engine.runtime.identity import Identity
from engine.storage.volume_files import FileTransfer


class RowLinks(Protocol):
    """Links as one client can reach them."""

    def link(self, operation_id: uuid.UUID, row_offset: int, row_count: int) -> tuple[str, int]:
        """The URL of some rows of an operation's result, and when it expires, since 1970 in the client's unit."""
        ...

    def stage(self, identity: Identity, transfer: FileTransfer) -> str:
        """The URL for one transfer of a file of a volume, by one user."""
        ...


@dataclass(frozen=True, slots=True)
class LinkedRows:
    """The rows that a link is for."""

    operation_id: uuid.UUID
    row_offset: int
    row_count: int
