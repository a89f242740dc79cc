"""A table's definition: what a format keeps of it besides files, as the planner and the writer hand it on.

A format makes definitions of changes (`engine.tables.definition_changes`): of a new table by `TableFormat.define`, of
one that is there by `TableSnapshot.redefined` and `replaced`. A transaction gives the table its definition. Two that
are equal leave a table as it is.
"""

from __future__ import annotations

from typing import Protocol

from engine.tables.details import TableDetails
from engine.tables.rules import TableRules


class TableDefinition(Protocol):
    """Of one version of a table. Immutable."""

    def config(self, table: str) -> TableRules:
        """What governs a table of this definition; `table` is its name for messages."""
        ...

    def details(self, table: str) -> TableDetails:
        """What is told of such a table."""
        ...
