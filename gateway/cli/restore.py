"""`delta-gateway restore FILE`: see `backup.py`."""

from __future__ import annotations

from gateway.cli.backup import restore_main as main

__all__ = ["main"]
