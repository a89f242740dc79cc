"""Table definitions: a format's table metadata without files, as passed from the planner to the writer.

A format creates definitions from changes (`engine.tables.definition_changes`): for a new table by `TableFormat.define`,
for an existing one by `TableSnapshot.change_definition` and `replace_definition`. A transaction commits the definition.
Setting an equal definition changes nothing.

`TableDetails` has the table attributes that DESCRIBE and SHOW return besides columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from engine.tables.config import TableConfig
from engine.types.partition_terms import PartitionTerm, SortTerm


class TableDefinition(Protocol):
    """One table version's definition. Immutable."""

    def config(self, table: str) -> TableConfig:
        """Returns the configuration of a table with this definition; `table` is its name in messages."""
        ...

    def details(self, table: str) -> TableDetails:
        """Returns the table's details."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TableDetails:
    """Attributes that DESCRIBE and SHOW return besides columns; None if the format does not record them.

    Times are in milliseconds since the epoch; `clustering_columns` are paths with logical names. `partition_terms` are
    the partition transforms in formats without partition columns, `sort_terms` the sort order. `versions` are the
    reader and writer versions in a format that has them; `features` are the table features in the protocol.
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
