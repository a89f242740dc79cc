"""What a table demands of its rows, and how they are stored: all that the rules of writing (`engine.enforce`) know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from engine.table.identity import IdentityColumn
from engine.types.schema import StructType


@dataclass(frozen=True, slots=True)
class Constraint:
    """A condition in SQL that every row of a table satisfies; `name` as it is shown."""

    name: str
    expression: str


class TableRules(Protocol):
    """Of one version of a table."""

    @property
    def schema(self) -> StructType: ...

    @property
    def partition_columns(self) -> tuple[str, ...]:
        """Logical names, as the schema spells them."""
        ...

    @property
    def partition_keys(self) -> tuple[str, ...]:
        """What the partition columns are called where the values of files are kept, in their order."""
        ...

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """Conditions that are true of every row."""
        ...

    @property
    def generations(self) -> Mapping[str, str]:
        """SQL of the columns that the table computes, by name."""
        ...

    @property
    def identities(self) -> tuple[IdentityColumn, ...]: ...

    @property
    def is_append_only(self) -> bool: ...

    @property
    def stored_schema(self) -> StructType:
        """The columns as files have them, in the order of `schema`: by name, with field ids where files have these."""
        ...

    @property
    def compression(self) -> str | None:
        """The codec of new files; None: the session's."""
        ...

    @property
    def target_file_size(self) -> int | None:
        """Bytes; None where nothing is said."""
        ...

    @property
    def optimizes_writes(self) -> bool | None:
        """Whether rows are shuffled so that fewer and larger files are written; None where nothing is said."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainRules:
    """Those of a table that demands nothing but its columns; `properties` are for its format to interpret."""

    schema: StructType
    partition_columns: tuple[str, ...] = ()
    comment: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)

    @property
    def partition_keys(self) -> tuple[str, ...]:
        return self.partition_columns

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        return ()

    @property
    def generations(self) -> Mapping[str, str]:
        return {}

    @property
    def identities(self) -> tuple[IdentityColumn, ...]:
        return ()

    @property
    def is_append_only(self) -> bool:
        return False

    @property
    def stored_schema(self) -> StructType:
        return self.schema

    @property
    def compression(self) -> str | None:
        return None

    @property
    def target_file_size(self) -> int | None:
        return None

    @property
    def optimizes_writes(self) -> bool | None:
        return None
