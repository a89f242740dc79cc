"""Text → ALTER TABLE: each table change."""

from __future__ import annotations

import pytest

from engine.statements.alter_table.statement import (
    AddColumns,
    AlterColumn,
    AlterTable,
    DropColumns,
    DropFeature,
    RenameTable,
    ReplaceColumns,
    SetLocation,
    SetProperties,
    SyncIdentity,
    TableChange,
    UnsetProperties,
)
from engine.statements.create_table.statement import ColumnDef
from engine.statements.parse import parse
from engine.tables.definition_changes import AddConstraint, ClusterBy, DropConstraint, RenameColumn, RenameConstraint
from engine.types.schema_changes import After, First, Position


def _column(name: str, sql_type: str, **clauses: object) -> ColumnDef:
    return ColumnDef(parts=tuple(name.split(".")), sql_type=sql_type, **clauses)  # type: ignore[arg-type]


def _alter(column: str, **changes: object) -> AlterColumn:
    return AlterColumn(parts=tuple(column.split(".")), **changes)  # type: ignore[arg-type]


def _placed(column: str, sql_type: str, position: Position) -> ColumnDef:
    return _column(column, sql_type, position=position)


CHANGES: list[tuple[str, tuple[TableChange, ...]]] = [
    ("add column a int", (AddColumns(columns=(_column("a", "int"),)),)),
    (
        "add columns (a int comment 'x' first, s.b array<int> after `c d`, e int default 5 not null)",
        (
            AddColumns(
                columns=(
                    _column("a", "int", comment="x", position=First()),
                    _placed("s.b", "array<int>", After("c d")),
                    _column("e", "int", default="5", nullable=False),
                )
            ),
        ),
    ),
    ("add columns a int, b string", (AddColumns(columns=(_column("a", "int"), _column("b", "string"))),)),
    ("replace columns (a int)", (ReplaceColumns(columns=(_column("a", "int"),)),)),
    ("rename column s.a to `b c`", (RenameColumn(path=("s", "a"), name="b c"),)),
    ("rename constraint a to `b c`", (RenameConstraint(name="a", new_name="b c"),)),
    ("rename to s.u", (RenameTable(table_parts=("s", "u")),)),
    ("drop column s.a", (DropColumns(columns=(("s", "a"),)),)),
    ("drop columns if exists (a, s.b)", (DropColumns(columns=(("a",), ("s", "b")), if_exists=True),)),
    ("drop columns a, b", (DropColumns(columns=(("a",), ("b",))),)),
    ("alter column s.a type bigint", (_alter("s.a", sql_type="bigint"),)),
    ("alter a comment 'x'", (_alter("a", comment="x"),)),
    ("alter column a first", (_alter("a", position=First()),)),
    ("change column a after b", (_alter("a", position=After("b")),)),
    ("alter column a set not null", (_alter("a", nullable=False),)),
    ("alter column a drop not null", (_alter("a", nullable=True),)),
    ("alter column a set default f(1, 2) + 1", (_alter("a", default="f(1, 2) + 1"),)),
    ("alter column a drop default", (_alter("a", drop_default=True),)),
    ("alter column a sync identity", (SyncIdentity(parts=("a",)),)),
    (
        "alter column a type bigint, b comment 'x', c.d drop not null",
        (_alter("a", sql_type="bigint"), _alter("b", comment="x"), _alter("c.d", nullable=True)),
    ),
    (
        "change column a b bigint comment 'x' after c",
        (
            _alter("a", sql_type="bigint", comment="x", position=After("c")),
            RenameColumn(path=("a",), name="b"),
        ),
    ),
    ("change a a string first", (_alter("a", sql_type="string", position=First()),)),
    (
        "add constraint c check (a > 0 and b in (1, 2))",
        (AddConstraint(name="c", expression="a > 0 and b in (1, 2)"),),
    ),
    ("drop constraint c", (DropConstraint(name="c"),)),
    ("drop constraint if exists c", (DropConstraint(name="c", if_exists=True),)),
    ("set tblproperties ('a' = 'b', delta.c = true)", (SetProperties(properties=(("a", "b"), ("delta.c", "true"))),)),
    (
        "set tblproperties ('a' 'b', 'c' = 'd' 'e', 'f' 'g' = 1, h 2, 'i' 'j' 'k')",
        (SetProperties(properties=(("a", "b"), ("c", "de"), ("fg", "1"), ("h", "2"), ("i", "jk"))),),
    ),
    ("unset tblproperties ('a', b.c)", (UnsetProperties(keys=("a", "b.c")),)),
    ("unset tblproperties if exists (a)", (UnsetProperties(keys=("a",), if_exists=True),)),
    ("set location '/p'", (SetLocation(location="/p"),)),
    ("cluster by (a, s.b)", (ClusterBy(columns=(("a",), ("s", "b"))),)),
    ("cluster by none", (ClusterBy(),)),
    ("drop feature deletionVectors", (DropFeature(feature="deletionVectors"),)),
    ("drop feature 'v2Checkpoint' truncate history", (DropFeature(feature="v2Checkpoint", truncate_history=True),)),
]


@pytest.mark.parametrize(("text", "changes"), CHANGES, ids=[text for text, _ in CHANGES])
def test_each_change_of_a_table_is_read(text: str, changes: tuple[TableChange, ...]) -> None:
    assert parse(f"ALTER TABLE s.t {text}") == AlterTable(table_parts=("s", "t"), changes=changes)
