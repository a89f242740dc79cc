"""Primary and foreign keys: informational constraints, for tools and users.

They are not enforced. Log formats cannot store them (Unity Catalog keeps them in its own database), so each is a table
property, which other writers preserve:

    gateway.constraints.<name in lower case> =
        {"name": …, "type": "PRIMARY KEY", "columns": ["id"], "rely": false}
    gateway.constraints.<name in lower case> =
        {"name": …, "type": "FOREIGN KEY", "columns": ["customer"], "rely": false,
         "parent": ["catalog", "schema", "table"], "parent_columns": ["id"]}

Columns are top-level ones by their logical names. Other writers may store anything there, or rename a key's column: a
key that cannot be parsed, or that names a missing column, is ignored.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

KEY_PREFIX = "gateway.constraints."


@dataclass(frozen=True, slots=True, kw_only=True)
class PrimaryKey:
    """A primary key. `rely`: the optimizer may assume that it holds."""

    name: str
    columns: tuple[str, ...]
    rely: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignKey:
    """A foreign key: `columns` refer to `parent_columns` in the table `parent` (catalog, schema, table), in order."""

    name: str
    columns: tuple[str, ...]
    parent: tuple[str, str, str]
    parent_columns: tuple[str, ...]
    rely: bool = False


TableKey: TypeAlias = PrimaryKey | ForeignKey


def property_of(key: TableKey) -> tuple[str, str]:
    """Returns the property for `key`."""
    value: dict[str, Any] = {"name": key.name, "type": "PRIMARY KEY", "columns": key.columns, "rely": key.rely}
    if isinstance(key, ForeignKey):
        value |= {"type": "FOREIGN KEY", "parent": key.parent, "parent_columns": key.parent_columns}
    return f"{KEY_PREFIX}{key.name.lower()}", json.dumps(value, ensure_ascii=False)


def is_key_property(name: str) -> bool:
    """Returns True if a property stores a key."""
    return name.lower().startswith(KEY_PREFIX)


def keys_of(properties: Mapping[str, str | None], columns: Iterable[str]) -> tuple[TableKey, ...]:
    """Returns a table's keys from its properties and columns, by name, the primary key first."""
    present = set(columns)
    read = (_read(text) for name, text in properties.items() if text is not None and name.startswith(KEY_PREFIX))
    found = [key for key in read if key is not None and present.issuperset(key.columns)]
    return tuple(sorted(found, key=lambda key: (isinstance(key, ForeignKey), key.name)))


def primary_key(keys: Iterable[TableKey]) -> PrimaryKey | None:
    """Returns the primary key, of which a table has at most one; None without one."""
    return next((key for key in keys if isinstance(key, PrimaryKey)), None)


def _read(text: str) -> TableKey | None:
    try:
        value = json.loads(text)
        name = value["name"]
        columns = tuple(value["columns"])
        rely = value.get("rely") is True
        if not _are_names((name, *columns)) or not columns:
            return None
        if value["type"] == "PRIMARY KEY":
            return PrimaryKey(name=name, columns=columns, rely=rely)
        (catalog, schema, table), parent_columns = value["parent"], tuple(value["parent_columns"])
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    if not _are_names((catalog, schema, table, *parent_columns)) or len(columns) != len(parent_columns):
        return None
    parent = (catalog, schema, table)
    return ForeignKey(name=name, columns=columns, parent=parent, parent_columns=parent_columns, rely=rely)


def _are_names(parts: Iterable[object]) -> bool:
    return all(isinstance(part, str) and part for part in parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class PrimaryKeyDef:
    """`[CONSTRAINT name] PRIMARY KEY (columns) [NOT ENFORCED] [RELY]`"""

    name: str | None
    columns: tuple[str, ...]
    rely: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignKeyDef:
    """`[CONSTRAINT name] FOREIGN KEY (columns) REFERENCES t [(columns)] [NOT ENFORCED] [RELY]`

    `parent_columns` is empty for the other table's primary key.
    """

    name: str | None
    columns: tuple[str, ...]
    parent_parts: tuple[str, ...]
    parent_columns: tuple[str, ...] = ()
    rely: bool = False


KeyDef = PrimaryKeyDef | ForeignKeyDef
