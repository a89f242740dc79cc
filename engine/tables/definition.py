"""A table's definition: what a format keeps of it besides files, as the planner and the writer hand it on.

A format makes definitions of changes (`engine.tables.definition_changes`): of a new table by `TableFormat.define`, of
one that is there by `TableSnapshot.redefined` and `replaced`. A transaction gives the table its definition. Two that
are equal leave a table as it is.

`TableDetails` is what DESCRIBE and SHOW return of a table besides its columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from engine.tables.rules import TableRules
from engine.types.partition_terms import PartitionTerm, SortTerm


class TableDefinition(Protocol):
    """Of one version of a table. Immutable."""

    def config(self, table: str) -> TableRules:
        """What governs a table of this definition; `table` is its name for messages."""
        ...

    def details(self, table: str) -> TableDetails:
        """What is told of such a table."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TableDetails:
    """What DESCRIBE and SHOW tell of a table besides its columns; None where the format does not record it.

    Times are in milliseconds since the epoch, `clustering_columns` paths of logical names. `partition_terms` are what
    files are divided by in formats without partition columns, `sort_terms` what their rows are sorted by. `versions`
    are those of reader and writer in a format that has them, `features` names that its protocol lists.
    """

    id: str | None = None
    name: str | None = None
    description: str | None = None
    created_ms: int | None = None
    modified_ms: int | None = None
    properties: Mapping[str, str | None] = field(default_factory=dict)
    clustering_columns: tuple[tuple[str, ...], ...] = ()
    partition_terms: tuple[PartitionTerm, ...] = ()
    sort_terms: tuple[SortTerm, ...] = ()
    versions: tuple[int, int] | None = None
    features: tuple[str, ...] = ()
