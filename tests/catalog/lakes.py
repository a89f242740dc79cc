"""Folders that are tables, for tests of names: each has only a version in its log."""

from __future__ import annotations

from pathlib import Path

FIRST_VERSION = f"{0:020}.json"


def make_tables(root: Path, *paths: str) -> None:
    for path in paths:
        log = root / path / "_delta_log"
        log.mkdir(parents=True)
        (log / FIRST_VERSION).touch()
