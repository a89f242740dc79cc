"""Reads the columns, constraints and property keys in ALTER TABLE; `spec.py` has the words that begin each action."""

from __future__ import annotations

from typing import TypeAlias

from catalog.conditions import ColumnChangedTwice, StatementNotSupported
from engine.sql.dialect.cursor import Cursor
from engine.statements.alter_table.statement import (
    AddColumns,
    AlterColumn,
    DropColumns,
    ReplaceColumns,
    SyncIdentity,
    TableChange,
    UnsetProperties,
)
from engine.statements.create_table.grammar_clauses import (
    read_column,
    read_default,
    read_dotted_list,
    read_name_list,
    read_property_key,
    read_type,
    take_constraint,
    take_if_exists,
    take_position,
)
from engine.statements.create_table.statement import AddKey, Check, ColumnDef, DropKey
from engine.tables.definition_changes import (
    AddConstraint,
    DropConstraint,
    RenameColumn,
)

_ColumnChange: TypeAlias = SyncIdentity | AlterColumn


def read_add_columns(cursor: Cursor) -> tuple[TableChange, ...]:
    """Reads the text after ADD COLUMN or ADD COLUMNS: definitions, in parentheses or bare."""
    return (AddColumns(columns=_read_columns(cursor)),)


def read_replace_columns(cursor: Cursor) -> tuple[TableChange, ...]:
    """Reads the text after REPLACE COLUMNS: definitions, in parentheses or bare."""
    return (ReplaceColumns(columns=_read_columns(cursor)),)


def _read_columns(cursor: Cursor) -> tuple[ColumnDef, ...]:
    """Reads column definitions, in parentheses or bare."""
    is_wrapped = cursor.take("(")
    columns = [read_column(cursor)]
    while cursor.take(","):
        columns.append(read_column(cursor))
    if is_wrapped:
        cursor.read(")")
    return tuple(columns)


def read_rename_column(cursor: Cursor) -> tuple[TableChange, ...]:
    """Reads the text after RENAME COLUMN: `a.b TO c`. The new name is a single part."""
    parts = cursor.read_names()
    cursor.read("TO")
    return (RenameColumn(path=parts, name=cursor.read_name()),)


def read_drop_columns(cursor: Cursor) -> tuple[TableChange, ...]:
    """Reads the text after DROP COLUMN or DROP COLUMNS: `[IF EXISTS] (a, b.c)`, or the list without parentheses."""
    if_exists = take_if_exists(cursor)
    if cursor.words(1) == ["("]:
        return (DropColumns(columns=read_dotted_list(cursor), if_exists=if_exists),)
    columns = [cursor.read_names()]
    while cursor.take(","):
        columns.append(cursor.read_names())
    return (DropColumns(columns=tuple(columns), if_exists=if_exists),)


def read_alter_columns(cursor: Cursor) -> tuple[TableChange, ...]:
    """Reads `column change, column change, …`; Hive's `CHANGE old new type` is a rename and a change."""
    cursor.take("COLUMN")
    altered = [_alter_column(cursor)]
    while cursor.take(","):
        altered.append(_alter_column(cursor))
    names = [".".join(changes[0].parts) for changes in altered]
    folded = [name.casefold() for name in names]
    for at, name in enumerate(names):
        if folded[at] in folded[:at]:
            raise ColumnChangedTwice(name)
    return tuple(change for changes in altered for change in changes)


def _alter_column(cursor: Cursor) -> tuple[_ColumnChange, *tuple[RenameColumn, ...]]:
    parts = cursor.read_names()
    if cursor.take("SYNC", "IDENTITY"):
        return (SyncIdentity(parts=parts),)
    if cursor.take("TYPE"):
        return (AlterColumn(parts=parts, sql_type=read_type(cursor)),)
    if cursor.take("COMMENT"):
        return (AlterColumn(parts=parts, comment=cursor.read_string()),)
    if cursor.take("SET", "NOT", "NULL"):
        return (AlterColumn(parts=parts, nullable=False),)
    if cursor.take("DROP", "NOT", "NULL"):
        return (AlterColumn(parts=parts, nullable=True),)
    if cursor.take("SET", "DEFAULT"):
        return (AlterColumn(parts=parts, default=read_default(cursor)),)
    if cursor.take("DROP", "DEFAULT"):
        return (AlterColumn(parts=parts, drop_default=True),)
    position = take_position(cursor)
    if position is not None:
        return (AlterColumn(parts=parts, position=position),)
    return _change_column(cursor, parts)


def _change_column(cursor: Cursor, parts: tuple[str, ...]) -> tuple[_ColumnChange, *tuple[RenameColumn, ...]]:
    """Reads Hive's `old new type [COMMENT 'c'] [FIRST|AFTER c]`; the rename comes last, so that the old name is valid
    until then.
    """
    name = cursor.read_name()
    sql_type = read_type(cursor)
    comment = cursor.read_string() if cursor.take("COMMENT") else None
    change = AlterColumn(parts=parts, sql_type=sql_type, comment=comment, position=take_position(cursor))
    return (change,) if name == parts[-1] else (change, RenameColumn(path=parts, name=name))


def take_added(cursor: Cursor) -> AddConstraint | AddKey | None:
    """Reads `ADD [CONSTRAINT name] CHECK … | PRIMARY KEY … | FOREIGN KEY …`; None, reading nothing, for other text.

    Raises `StatementNotSupported` for a CHECK without a name.
    """
    if cursor.words(2) not in (["ADD", word] for word in ("CONSTRAINT", "CHECK", "PRIMARY", "FOREIGN")):
        return None
    cursor.read("ADD")
    added = take_constraint(cursor)
    if added is None:
        raise cursor.fail("KEY is expected")
    if not isinstance(added, Check):
        return AddKey(key=added)
    if added.name is None:
        raise StatementNotSupported("ALTER TABLE … ADD CHECK without a name")
    return AddConstraint(name=added.name, expression=added.expression)


def read_drop_constraint(cursor: Cursor) -> tuple[TableChange, ...]:
    """Reads the text after DROP CONSTRAINT: `[IF EXISTS] name [CASCADE | RESTRICT]`."""
    if_exists = take_if_exists(cursor)
    return (DropConstraint(name=cursor.read_name(), if_exists=if_exists, cascade=_take_cascade(cursor)),)


def read_drop_primary_key(cursor: Cursor) -> tuple[TableChange, ...]:
    """Reads the text after DROP PRIMARY KEY: `[IF EXISTS] [CASCADE | RESTRICT]`."""
    return (DropKey(if_exists=take_if_exists(cursor), cascade=_take_cascade(cursor)),)


def read_drop_foreign_key(cursor: Cursor) -> tuple[TableChange, ...]:
    """Reads the text after DROP FOREIGN KEY: `[IF EXISTS] (a, b)`."""
    if_exists = take_if_exists(cursor)
    return (DropKey(columns=read_name_list(cursor), if_exists=if_exists),)


def _take_cascade(cursor: Cursor) -> bool:
    """Reads CASCADE or RESTRICT, the default."""
    return cursor.take_any("RESTRICT", "CASCADE") == "CASCADE"


def read_unset_properties(cursor: Cursor) -> UnsetProperties:
    """Reads the text after UNSET TBLPROPERTIES."""
    if_exists = take_if_exists(cursor)
    cursor.read("(")
    keys = [read_property_key(cursor)]
    while cursor.take(","):
        keys.append(read_property_key(cursor))
    cursor.read(")")
    return UnsetProperties(keys=tuple(keys), if_exists=if_exists)
