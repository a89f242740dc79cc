"""Declared primary and foreign keys: resolves names, checks columns, and names each key.

A primary key's columns become NOT NULL in CREATE TABLE, as in Databricks, and must already be NOT NULL in ALTER TABLE.
A foreign key references another table's primary key, or its own, with columns of the same types, or of any integral
types.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from catalog.conditions import (
    ForeignKeyMismatch,
    KeyColumnRepeated,
    KeyIsReferenced,
    NoSuchKey,
    NullablePrimaryKey,
    StatementNotSupported,
)
from catalog.names import TableName
from engine.binding.bound import BoundTable, references
from engine.errors.table_errors import column_not_found
from engine.statements.create_table.statement import AddKey, DropKey
from engine.tables import definition_changes as changes
from engine.tables.definition_changes import DropConstraint
from engine.tables.keys import ForeignKey, ForeignKeyDef, KeyDef, PrimaryKey, PrimaryKeyDef, TableKey, primary_key
from engine.types.schema import StructField, StructType
from engine.types.sql_types import column_sql_type

_INTEGRAL_TYPES = frozenset({"tinyint", "smallint", "int", "bigint"})


def with_not_nulls(schema: StructType, keys: Iterable[KeyDef]) -> StructType:
    """Returns a new table's columns, with the primary key's columns NOT NULL."""
    names = {name.casefold() for key in keys if isinstance(key, PrimaryKeyDef) for name in key.columns}
    return StructType(
        tuple(replace(field, nullable=field.nullable and field.name.casefold() not in names) for field in schema.fields)
    )


def new_keys(
    name: TableName, schema: StructType, written: Sequence[KeyDef], parents: Sequence[BoundTable]
) -> tuple[changes.AddKey, ...]:
    """Returns a new table's keys; `parents` are the other tables that its foreign keys reference, in order."""
    made: list[TableKey] = []
    others = iter(parents)
    # the table's own primary key comes first
    for key in sorted(written, key=lambda key: isinstance(key, ForeignKeyDef)):
        if isinstance(key, PrimaryKeyDef):
            made.append(_primary(name.table, schema, key, made))
        else:
            is_own = TableName.from_parts(key.parent_parts, name.schema_name) == name
            made.append(_foreign(name, schema, key, made, None if is_own else next(others)))
    return tuple(changes.AddKey(key=key) for key in made)


def added_key(table: BoundTable, change: AddKey, parents: Sequence[BoundTable]) -> changes.AddKey:
    """Plans ADD [CONSTRAINT name] PRIMARY KEY … | FOREIGN KEY …"""
    if table.name is None:
        raise StatementNotSupported("A key of a table that is named by its path")
    schema, key = table.snapshot.schema, change.key
    if isinstance(key, PrimaryKeyDef):
        return changes.AddKey(key=_primary(table.name.table, schema, key, table.keys))
    return changes.AddKey(key=_foreign(table.name, schema, key, table.keys, parents[0]))


def dropped_key(
    table: BoundTable, change: DropKey | DropConstraint, children: Sequence[BoundTable]
) -> Iterator[DropConstraint]:
    """Plans DROP PRIMARY KEY, FOREIGN KEY or CONSTRAINT. Raises for a primary key that `children` reference."""
    if isinstance(change, DropConstraint):
        name = change.name
    else:
        wanted = tuple(column.casefold() for column in change.columns)
        found = primary_key(table.keys) if not wanted else _foreign_of(table, wanted)
        if found is None and change.if_exists:
            return
        if found is None:
            raise NoSuchKey(table.label, f"foreign key ({', '.join(change.columns)})" if wanted else "primary key")
        name = found.name
    own = dropped_primary_key(table, change)
    if own is not None:
        _ensure_not_referenced(table, own, children)
    yield DropConstraint(name=name, if_exists=change.if_exists)


def dropped_primary_key(table: BoundTable, change: DropKey | DropConstraint) -> PrimaryKey | None:
    """Returns the table's primary key if the change drops it."""
    own = primary_key(table.keys)
    if isinstance(change, DropKey):
        return None if change.columns else own
    return own if own is not None and own.name.casefold() == change.name.casefold() else None


def cascaded_key(
    table: BoundTable, change: DropKey | DropConstraint, children: Sequence[BoundTable]
) -> tuple[BoundTable, DropConstraint] | None:
    """Returns the next foreign key that CASCADE drops before the primary key, and its table; None if none is left."""
    if not change.cascade or table.name is None or dropped_primary_key(table, change) is None:
        return None
    keys = ((child, key) for child in children for key in child.keys if references(key, table.name))
    return next(((child, DropConstraint(name=key.name)) for child, key in keys), None)


def _foreign_of(table: BoundTable, columns: tuple[str, ...]) -> ForeignKey | None:
    for key in table.keys:
        if isinstance(key, ForeignKey) and tuple(column.casefold() for column in key.columns) == columns:
            return key
    return None


def _ensure_not_referenced(table: BoundTable, key: PrimaryKey, children: Sequence[BoundTable]) -> None:
    assert table.name is not None, "children are looked for by name"
    names = [
        f"{each.name} of {child.label}" for child in children for each in child.keys if references(each, table.name)
    ]
    if names:
        raise KeyIsReferenced(key.name, ", ".join(names))


def _primary(table: str, schema: StructType, key: PrimaryKeyDef, present: Iterable[TableKey]) -> PrimaryKey:
    columns = _columns(schema, key.columns)
    for column in columns:
        if column.nullable:
            raise NullablePrimaryKey(column.name)
    name = key.name or _free_name(f"{table}_pk", present)
    return PrimaryKey(name=name, columns=tuple(column.name for column in columns), rely=key.rely)


def _foreign(
    name: TableName, schema: StructType, key: ForeignKeyDef, present: Iterable[TableKey], other: BoundTable | None
) -> ForeignKey:
    """Returns a foreign key; `other` is the referenced table, None for the table itself, whose keys are `present`."""
    present = tuple(present)
    columns = _columns(schema, key.columns)
    parent, parent_schema = (name, schema) if other is None else (other.name, other.snapshot.schema)
    if parent is None:
        raise StatementNotSupported("A foreign key to a table that is named by its path")
    wanted = primary_key(present if other is None else other.keys)

    def mismatch(reason: str) -> ForeignKeyMismatch:
        return ForeignKeyMismatch(", ".join(key.columns), str(parent), reason)

    if wanted is None:
        raise mismatch("it has no primary key")
    parent_columns = _columns(parent_schema, key.parent_columns or wanted.columns)
    if {column.name for column in parent_columns} != set(wanted.columns):
        raise mismatch(f"its primary key is ({', '.join(wanted.columns)})")
    if len(columns) != len(parent_columns):
        raise mismatch(f"its primary key has {len(parent_columns)} columns, the foreign key {len(columns)}")
    for column, its in zip(columns, parent_columns, strict=True):
        # A key of an identity column is BIGINT, whatever integral type its clients use for references.
        are_integral = {column_sql_type(column), column_sql_type(its)} <= _INTEGRAL_TYPES
        if not are_integral and column_sql_type(column) != column_sql_type(its):
            types = f"{column.name} is {column_sql_type(column)}, {its.name} is {column_sql_type(its)}"
            raise mismatch(f"{types}, and types have to be the same")
    return ForeignKey(
        name=key.name or _free_name(f"{name.table}_{parent.table}_fk", present),
        columns=tuple(column.name for column in columns),
        parent=(parent.catalog, parent.schema, parent.table),
        parent_columns=tuple(column.name for column in parent_columns),
        rely=key.rely,
    )


def _columns(schema: StructType, names: Sequence[str]) -> list[StructField]:
    """Returns the columns as spelled in the table."""
    found: list[StructField] = []
    for name in names:
        column = schema.field(name)
        if column is None:
            raise column_not_found(name, schema.names)
        if column in found:
            raise KeyColumnRepeated(name)
        found.append(column)
    return found


def _free_name(name: str, present: Iterable[TableKey]) -> str:
    taken = {key.name.lower() for key in present}
    number, free = 1, name
    while free.lower() in taken:
        number += 1
        free = f"{name}_{number}"
    return free
