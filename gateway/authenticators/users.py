"""Where users can be looked up who are not there to log in."""

from __future__ import annotations

from typing import Protocol

from engine.runtime.identity import Identity


class UserDirectory(Protocol):
    def find(self, user: str) -> Identity | None:
        """The user as they are now; None for nobody."""
        ...
