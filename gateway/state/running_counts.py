"""The number of running statements by group, which each gateway writes for the others' admission control."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

logger = logging.getLogger(__name__)

_NAME = "running.json"
_DECODER = msgspec.json.Decoder(dict[str, int])

Counts = Mapping[str, int]


def write_counts(folder: Path, counts: Counts) -> None:
    """Writes a gateway's counts into its folder, replacing the former ones."""
    made = folder / f".{_NAME}"
    try:
        descriptor = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with open(descriptor, "wb") as file:
            file.write(msgspec.json.encode(counts))
        made.rename(folder / _NAME)
    except OSError as error:  # the others count the former ones
        logger.warning("the numbers of running statements cannot be written: %s", error)


def read_counts(folders: Iterator[Path]) -> Iterator[Counts]:
    """Yields the counts of each gateway that has some."""
    for folder in folders:
        try:
            yield _DECODER.decode((folder / _NAME).read_bytes())
        except (OSError, msgspec.MsgspecError):  # it is starting, has ended, or is being taken over
            continue
