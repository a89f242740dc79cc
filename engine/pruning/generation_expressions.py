"""Order-preserving generation expressions for partition columns, as values.

The schema has a column's generation expression as SQL text. The parser returns one of these values, or nothing for
another expression; `engine.pruning.generation_filters` uses them.

Protocol: "Generated Columns".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from engine.pruning.predicates import Path

# Formats whose texts sort in time order, with their spelling in Python.
DATE_FORMATS: Mapping[str, str] = {"yyyy-MM": "%Y-%m", "yyyy-MM-dd": "%Y-%m-%d", "yyyy-MM-dd-HH": "%Y-%m-%d-%H"}


class Part(Enum):
    """The calendar fields that can partition a table, from large to small."""

    YEAR = "YEAR"
    MONTH = "MONTH"
    DAY = "DAY"
    HOUR = "HOUR"


class TruncationUnit(Enum):
    """The units for TRUNC and DATE_TRUNC; the parser resolves synonyms."""

    YEAR = "YEAR"
    QUARTER = "QUARTER"
    MONTH = "MONTH"
    WEEK = "WEEK"
    DAY = "DAY"
    HOUR = "HOUR"


@dataclass(frozen=True, slots=True)
class SameAs:
    """The column itself."""

    base: Path


@dataclass(frozen=True, slots=True)
class DateOf:
    """`CAST(base AS DATE)`."""

    base: Path


@dataclass(frozen=True, slots=True)
class PartOf:
    """`YEAR(base)` and similar functions; all except the year are only useful together with the larger ones."""

    part: Part
    base: Path


@dataclass(frozen=True, slots=True)
class FormattedDate:
    """`DATE_FORMAT(base, format)` with one of :data:`DATE_FORMATS`."""

    base: Path
    format: str


@dataclass(frozen=True, slots=True)
class TruncatedDate:
    """`TRUNC(base, unit)`, a date."""

    base: Path
    unit: TruncationUnit


@dataclass(frozen=True, slots=True)
class TruncatedTimestamp:
    """`DATE_TRUNC(unit, base)`, a timestamp."""

    base: Path
    unit: TruncationUnit


@dataclass(frozen=True, slots=True)
class Beginning:
    """`SUBSTRING(base, 1, length)` (or from 0, which is equivalent), `LEFT(base, length)`."""

    base: Path
    length: int


GenerationExpression: TypeAlias = (
    SameAs | DateOf | PartOf | FormattedDate | TruncatedDate | TruncatedTimestamp | Beginning
)
