"""The last-checkpoint hint (`_last_checkpoint`): points to a recent checkpoint and has a checksum over itself.

The hint saves listing the log from its beginning. It may be missing, stale, empty or corrupt, and nothing may depend on
it: `parse_last_checkpoint` returns None if the hint cannot be trusted, and never raises.

Protocol: "Last Checkpoint File", "JSON checksum".
"""

from __future__ import annotations

import json
import operator
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import md5
from typing import Any
from urllib.parse import quote

_CHECKSUM = "checksum"


@dataclass(frozen=True, slots=True, kw_only=True)
class LastCheckpoint:
    version: int
    # Number of actions in the checkpoint.
    size: int
    parts: int | None = None
    size_in_bytes: int | None = None
    num_of_add_files: int | None = None
    # All other fields, such as `checkpointSchema` and `v2Checkpoint`.
    extra: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Returns the object with its checksum, without nulls."""
        value: dict[str, Any] = {
            "version": self.version,
            "size": self.size,
            "parts": self.parts,
            "sizeInBytes": self.size_in_bytes,
            "numOfAddFiles": self.num_of_add_files,
            **self.extra,
        }
        value = {name: item for name, item in value.items() if item is not None and name != _CHECKSUM}
        return {**value, _CHECKSUM: json_checksum(value)}


@lru_cache(maxsize=32)  # while a table grows, the same hint is read several times
def parse_last_checkpoint(data: bytes) -> LastCheckpoint | None:
    """Parses the hint. Returns None if it is unusable: not JSON, no version, duplicate keys, or a checksum mismatch."""
    try:
        # The canonical form keeps numbers as they are spelled, so that the text is parsed
        # twice: once for the checksum, once for the values.
        spelled = json.loads(data, object_pairs_hook=_unique_keys, parse_float=_Number, parse_int=_Number)
        if not isinstance(spelled, dict):
            return None
        recorded = spelled.get(_CHECKSUM)
        # "JSON checksum": optional for writers. With a mismatch the file was torn or
        # changed, and a reader falls back to listing.
        if recorded is not None and recorded != json_checksum(spelled):
            return None
        value = json.loads(data)
        known = {name: value.pop(name, None) for name in ("version", "size", "parts", "sizeInBytes", "numOfAddFiles")}
        if not all(item is None or type(item) is int for item in known.values()):
            return None
        value.pop(_CHECKSUM, None)
        return LastCheckpoint(
            version=operator.index(known["version"]),
            size=known["size"] or 0,
            parts=known["parts"],
            size_in_bytes=known["sizeInBytes"],
            num_of_add_files=known["numOfAddFiles"],
            extra=value,
        )
    except (ValueError, TypeError, RecursionError):
        return None


def json_checksum(value: Mapping[str, Any]) -> str:
    """Returns the canonical form's MD5 digest without the top-level key `checksum`, as 32 hexadecimal digits."""
    return md5(canonical_json(value).encode(), usedforsecurity=False).hexdigest()


def canonical_json(value: Mapping[str, Any]) -> str:
    """Returns all leaves as `path=value`, sorted by the path's bytes, joined by commas."""
    top = {name: item for name, item in value.items() if name != _CHECKSUM}
    found: list[tuple[str, str]] = []
    _add_leaves(top, "", found)
    # "JSON checksum" sorts by the bytes in UTF-8, which for characters outside the BMP
    # differs from the order of strings in Java.
    pairs = sorted(found, key=lambda pair: pair[0].encode())
    return ",".join(f"{path}={text}" for path, text in pairs)


def _add_leaves(value: Any, path: str, found: list[tuple[str, str]]) -> None:
    """Appends path and text for each leaf below `path`."""
    before = f"{path}+" if path else ""
    if isinstance(value, Mapping):
        for name, item in value.items():
            _add_leaves(item, before + _quote(name), found)
    elif isinstance(value, list | tuple):
        for position, item in enumerate(value):
            _add_leaves(item, f"{before}{position}", found)
    else:
        found.append((path, _scalar(value)))


def _scalar(value: Any) -> str:
    if isinstance(value, _Number):
        return value.text
    if isinstance(value, str):
        return _quote(value)
    return json.dumps(value)


@lru_cache(maxsize=1024)  # a schema repeats few names
def _quote(text: str) -> str:
    return f'"{quote(text, safe="-._~")}"'


class _Number:
    """A number in its original spelling, because "numeric values are their own canonical form": 1.0 differs from 1."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("duplicate keys")
    return value
