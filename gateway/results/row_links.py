"""Links from a front end with URLs, for use by a front end without: to result rows, which any holder may fetch, and to
volume files.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Protocol

from engine.runtime.identity import Identity
from engine.storage.volume_files import FileTransfer


class RowLinks(Protocol):
    """Links with URLs that one client can reach."""

    @property
    def base_url(self) -> str:
        """Returns the server's URL as the client reaches it."""
        ...

    def link(self, operation_id: uuid.UUID, row_offset: int, row_count: int) -> tuple[str, int]:
        """Returns the URL for some rows in an operation's result, and its expiry since 1970 in the client's unit."""
        ...

    def stage(self, identity: Identity, transfer: FileTransfer) -> str:
        """Returns the URL for one user's transfer of a volume file."""
        ...


@dataclass(frozen=True, slots=True)
class LinkedRows:
    """The rows that a link refers to."""

    operation_id: uuid.UUID
    row_offset: int
    row_count: int
