"""Primary and foreign keys as statements declare and drop them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PrimaryKeyDef:
    """`[CONSTRAINT name] PRIMARY KEY (columns) [NOT ENFORCED] [RELY]`"""

    name: str | None
    columns: tuple[str, ...]
    rely: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignKeyDef:
    """`[CONSTRAINT name] FOREIGN KEY (columns) REFERENCES t [(columns)] [NOT ENFORCED] [RELY]`

    `parent_columns` is empty where the statement means those of the other table's primary key.
    """

    name: str | None
    columns: tuple[str, ...]
    parent_parts: tuple[str, ...]
    parent_columns: tuple[str, ...] = ()
    rely: bool = False


KeyDef = PrimaryKeyDef | ForeignKeyDef


@dataclass(frozen=True, slots=True, kw_only=True)
class AddKey:
    """`ADD [CONSTRAINT name] PRIMARY KEY … | FOREIGN KEY …`"""

    key: KeyDef


@dataclass(frozen=True, slots=True, kw_only=True)
class DropKey:
    """`DROP PRIMARY KEY [IF EXISTS]`, `DROP FOREIGN KEY [IF EXISTS] (columns)`: no columns for a primary key."""

    columns: tuple[str, ...] = ()
    if_exists: bool = False
