"""Who is told that a file of the configuration was read again."""

from __future__ import annotations

from collections.abc import Callable

OnReload = Callable[[str, bool], None]
"""Takes the file, and whether it can be used; called on any thread, and never raises."""


def ignore_reload(file: str, is_usable: bool) -> None:
    """Nobody is told."""
