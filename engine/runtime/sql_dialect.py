"""The dialects of statement texts."""

from __future__ import annotations

from enum import StrEnum


class SqlDialect(StrEnum):
    """Dialects that the parse stage reads; a front end names the one that its client writes."""

    SPARK = "spark"
    POSTGRES = "postgres"
