"""What a front end with URLs offers to one without: links to rows of a result, which their holder may fetch."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Protocol


class RowLinks(Protocol):
    """Links as one client can reach them."""

    def link(self, operation_id: uuid.UUID, row_offset: int, row_count: int) -> tuple[str, int]:
        """The URL of some rows of an operation's result, and when it expires, since 1970 in the client's unit."""
        ...


@dataclass(frozen=True, slots=True)
class LinkedRows:
    """The rows that a link is for."""

    operation_id: uuid.UUID
    row_offset: int
    row_count: int
