"""ALTER TABLE: one value for each kind of change.

A change that formats fold is a value in `engine.tables.definition_changes`. The classes here are changes that planning
resolves into several (columns whose types are SQL text), or that change no definition.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from engine.runtime.statement import Statement
from engine.sql.query.values import Properties
from engine.statements.create_table.statement import AddKey, ColumnDef, DropKey
from engine.tables.definition_changes import (
    AddConstraint,
    DropConstraint,
    RenameColumn,
    WrittenChange,
)
from engine.types.schema_changes import Position


@dataclass(frozen=True, slots=True, kw_only=True)
class AddColumns:
    columns: tuple[ColumnDef, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceColumns:
    columns: tuple[ColumnDef, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DropColumns:
    columns: tuple[tuple[str, ...], ...]
    if_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterColumn:
    """Changes one column in one or more ways; None leaves a property unchanged. `drop_default` removes the default."""

    parts: tuple[str, ...]
    sql_type: str | None = None
    comment: str | None = None
    position: Position = None
    nullable: bool | None = None
    default: str | None = None
    drop_default: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncIdentity:
    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SetProperties:
    properties: Properties


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsetProperties:
    keys: tuple[str, ...]
    if_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameTable:
    table_parts: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SetLocation:
    location: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DropFeature:
    feature: str
    truncate_history: bool = False


class ReferenceAction(StrEnum):
    """The action on a branch or tag."""

    CREATE = "CREATE"
    CREATE_IF_NOT_EXISTS = "CREATE IF NOT EXISTS"
    CREATE_OR_REPLACE = "CREATE OR REPLACE"
    REPLACE = "REPLACE"
    DROP = "DROP"
    DROP_IF_EXISTS = "DROP IF EXISTS"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeReference:
    """`CREATE | REPLACE | DROP BRANCH | TAG name …`; `snapshot_id` None is the current one, limits in ms."""

    name: str
    is_branch: bool
    action: ReferenceAction
    snapshot_id: int | None = None
    max_ref_age_ms: int | None = None
    min_snapshots_to_keep: int | None = None
    max_snapshot_age_ms: int | None = None


TableChange = (
    AddColumns
    | ReplaceColumns
    | RenameColumn
    | DropColumns
    | AlterColumn
    | SyncIdentity
    | AddConstraint
    | DropConstraint
    | AddKey
    | DropKey
    | SetProperties
    | UnsetProperties
    | RenameTable
    | SetLocation
    | DropFeature
    | ChangeReference
    | WrittenChange
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterTable(Statement):
    """`ALTER TABLE t …`: several changes only for a list of ALTER COLUMN."""

    table_parts: tuple[str, ...]
    changes: tuple[TableChange, ...]
