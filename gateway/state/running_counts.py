"""The number of running statements by group and the size of the records, which each gateway writes for the others."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

logger = logging.getLogger(__name__)

_NAME, _HELD_NAME = "running.json", "held.json"
_DECODER = msgspec.json.Decoder(dict[str, int])
_HELD_DECODER = msgspec.json.Decoder(int)

Counts = Mapping[str, int]


def write_counts(folder: Path, counts: Counts) -> None:
    """Writes a gateway's counts into its folder, replacing the former ones."""
    _write(folder, _NAME, msgspec.json.encode(counts))


def write_held_bytes(folder: Path, count: int) -> None:
    """Writes the size of a gateway's records into its folder, replacing the former one."""
    _write(folder, _HELD_NAME, msgspec.json.encode(count))


def _write(folder: Path, name: str, content: bytes) -> None:
    made = folder / f".{name}"
    try:
        descriptor = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with open(descriptor, "wb") as file:
            file.write(content)
        made.rename(folder / name)
    except OSError as error:  # the others count the former ones
        logger.warning("the numbers of running statements and bytes cannot be written: %s", error)


def read_counts(folders: Iterable[Path]) -> Iterator[Counts]:
    """Yields the counts of each gateway that has some."""
    for folder in folders:
        try:
            yield _DECODER.decode((folder / _NAME).read_bytes())
        except (OSError, msgspec.MsgspecError):  # it is starting, has ended, or is being taken over
            continue


def read_held_bytes(folder: Path) -> int:
    """Returns the size of a gateway's records; 0 if it is unknown, as with an older release."""
    try:
        return _HELD_DECODER.decode((folder / _HELD_NAME).read_bytes())
    except (OSError, msgspec.MsgspecError):
        return 0
