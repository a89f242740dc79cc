"""Rows about a table that its format shows as a table of their own: its snapshots, its files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.types.schema import StructType


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataTable:
    """`rows` have values of JSON by column: dates and timestamps as texts of ISO 8601, binary as base64, maps as lists
    of `key` and `value`.
    """

    schema: StructType
    rows: tuple[Mapping[str, Any], ...]
