"""Conditions of primary and foreign keys; the names are Spark's where it has them."""

from __future__ import annotations

from dataclasses import dataclass

from catalog.errors import SqlError


@dataclass(eq=False)
class SeveralPrimaryKeys(SqlError, condition="MULTIPLE_PRIMARY_KEYS", sqlstate="42P16"):
    table: str
    name: str
    template = "The table {table} can have one primary key only, and {name} is another. Drop the one it has first."


@dataclass(eq=False)
class KeyNameTaken(SqlError, condition="CONSTRAINT_ALREADY_EXISTS", sqlstate="42710"):
    name: str
    template = "The table has a constraint {name} already. Drop it first, or take another name."


@dataclass(eq=False)
class NoSuchKey(SqlError, condition="CONSTRAINT_DOES_NOT_EXIST", sqlstate="42704"):
    table: str
    key: str
    template = "The table {table} has no {key}. IF EXISTS ignores that."


@dataclass(eq=False)
class NullablePrimaryKey(SqlError, condition="PRIMARY_KEY_COLUMN_NULLABLE", sqlstate="42831"):
    column: str
    template = (
        "The column {column} can be null, so it cannot be in a primary key. Make it NOT NULL first: ALTER TABLE … "
        "ALTER COLUMN {column} SET NOT NULL."
    )


@dataclass(eq=False)
class KeyColumnRepeated(SqlError, condition="DUPLICATE_KEY_COLUMN", sqlstate="42701"):
    column: str
    template = "The key names the column {column} twice."


@dataclass(eq=False)
class ForeignKeyMismatch(SqlError, condition="FOREIGN_KEY_MISMATCH", sqlstate="42830"):
    columns: str
    parent: str
    reason: str
    template = "The foreign key ({columns}) cannot reference {parent}: {reason}."


@dataclass(eq=False)
class KeyHoldsColumn(SqlError, condition="KEY_DEPENDENT_COLUMN_CHANGE", sqlstate="42K09"):
    column: str
    keys: str
    template = (
        "The column {column} cannot be renamed, dropped or made nullable: it is in the keys {keys}. Drop them first, "
        "and add them again afterwards."
    )


@dataclass(eq=False)
class KeyIsReferenced(SqlError, condition="PRIMARY_KEY_REFERENCED", sqlstate="42893"):
    name: str
    children: str
    template = (
        "The primary key {name} is referenced by foreign keys: {children}. Drop these first; CASCADE does not reach "
        "other tables here."
    )
