"""Callbacks for reloaded configuration files."""

from __future__ import annotations

from collections.abc import Callable

# Receives the file, and True if it is usable; called on any thread, and never raises.
OnReload = Callable[[str, bool], None]


def ignore_reload(file: str, is_usable: bool) -> None:
    """Ignores reloads."""
