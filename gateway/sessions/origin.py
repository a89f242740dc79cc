"""Where a session comes from, for those who look after sessions."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Origin:
    """The protocol, the address of the client, and what the client calls itself."""

    wire: str = ""
    peer: str = ""
    user_agent: str | None = None
