"""Partition terms, sort orders, identifiers, branches and tags as text: Iceberg's DDL extensions."""

from __future__ import annotations

from typing import Any

import pytest

from catalog.conditions import StatementSyntaxError
from engine.statements.alter_table.statement import AlterTable, ChangeReference, ReferenceAction
from engine.statements.create_table.statement import CreateTable
from engine.statements.parse import parse
from engine.tables.definition_changes import ChangeIdentifiers, ChangePartitioning, SortBy
from engine.types.partition_terms import PartitionTerm, SortTerm

DAY_MS = 86_400_000


def term(*column: str, transform: str = "identity", width: int | None = None, name: str | None = None) -> PartitionTerm:
    return PartitionTerm(column=column, transform=transform, width=width, name=name)


def reference(action: ReferenceAction, name: str = "b", *, tag: bool = False, **limits: Any) -> ChangeReference:
    return ChangeReference(name=name, is_branch=not tag, action=action, **limits)


PARTITIONINGS: list[tuple[str, tuple[str, ...], tuple[PartitionTerm, ...]]] = [
    ("(a, `b c`)", ("a", "b c"), ()),
    ("(a INT, b STRING COMMENT 'x')", ("a", "b"), ()),
    ("(a, days(t))", (), (term("a"), term("t", transform="day"))),
    (
        "(BUCKET(16, a), truncate(s.x, 4))",
        (),
        (term("a", transform="bucket", width=16), term("s", "x", transform="truncate", width=4)),
    ),
    ("(s.x)", (), (term("s", "x"),)),
    ("(date_hour(t), b INT)", (), (term("t", transform="hour"), term("b"))),
]


@pytest.mark.parametrize(("text", "columns", "terms"), PARTITIONINGS)
def test_partitionings(text: str, columns: tuple[str, ...], terms: tuple[PartitionTerm, ...]) -> None:
    statement = parse(f"CREATE TABLE t (x INT) USING iceberg PARTITIONED BY {text}")
    assert isinstance(statement, CreateTable)
    assert (statement.partitioned_by, statement.partition_terms) == (columns, terms)


CHANGES = [
    (
        "ADD PARTITION FIELD bucket(8, id) AS eighth",
        ChangePartitioning(added=term("id", transform="bucket", width=8, name="eighth")),
    ),
    ("DROP PARTITION FIELD year(t)", ChangePartitioning(dropped=term("t", transform="year"))),
    (
        "REPLACE PARTITION FIELD a WITH day(t)",
        ChangePartitioning(dropped=term("a"), added=term("t", transform="day")),
    ),
    (
        "WRITE ORDERED BY a, bucket(4, b) DESC NULLS FIRST",
        SortBy(
            terms=(
                SortTerm(term=term("a")),
                SortTerm(term=term("b", transform="bucket", width=4), descending=True, nulls_first=True),
            ),
            distribution="range",
        ),
    ),
    (
        "WRITE LOCALLY ORDERED BY (a ASC NULLS LAST)",
        SortBy(terms=(SortTerm(term=term("a"), nulls_first=False),), distribution=None),
    ),
    (
        "WRITE DISTRIBUTED BY PARTITION LOCALLY ORDERED BY a",
        SortBy(terms=(SortTerm(term=term("a")),), distribution="hash"),
    ),
    ("WRITE DISTRIBUTED BY PARTITION", SortBy(terms=(), distribution="hash")),
    ("WRITE UNORDERED", SortBy(terms=(), distribution="none")),
    ("SET IDENTIFIER FIELDS a, s.x", ChangeIdentifiers(columns=(("a",), ("s", "x")), dropped=False)),
    ("DROP IDENTIFIER FIELDS a", ChangeIdentifiers(columns=(("a",),), dropped=True)),
    ("CREATE BRANCH b", reference(ReferenceAction.CREATE)),
    (
        "CREATE OR REPLACE TAG b AS OF VERSION 7 RETAIN 2 DAYS",
        reference(ReferenceAction.CREATE_OR_REPLACE, tag=True, snapshot_id=7, max_ref_age_ms=2 * DAY_MS),
    ),
    (
        "CREATE BRANCH IF NOT EXISTS b WITH SNAPSHOT RETENTION 3 SNAPSHOTS 12 HOURS",
        reference(ReferenceAction.CREATE_IF_NOT_EXISTS, min_snapshots_to_keep=3, max_snapshot_age_ms=DAY_MS // 2),
    ),
    (
        "REPLACE BRANCH b RETAIN 30 MINUTES WITH SNAPSHOT RETENTION 5 DAYS",
        reference(ReferenceAction.REPLACE, max_ref_age_ms=1_800_000, max_snapshot_age_ms=5 * DAY_MS),
    ),
    ("DROP TAG b", reference(ReferenceAction.DROP, tag=True)),
    ("DROP BRANCH IF EXISTS b", reference(ReferenceAction.DROP_IF_EXISTS)),
]


@pytest.mark.parametrize(("text", "change"), CHANGES)
def test_changes(text: str, change: Any) -> None:
    statement = parse(f"ALTER TABLE s.t {text}")
    assert statement == AlterTable(table_parts=("s", "t"), changes=(change,))


WRONG = [
    "CREATE TABLE t (x INT) PARTITIONED BY (bucket(a))) ",
    "CREATE TABLE t (x INT) PARTITIONED BY (truncate(a, b))",
    "CREATE TABLE t (x INT) PARTITIONED BY (x.bucket(4, a))",
    "ALTER TABLE t WRITE",
    "ALTER TABLE t WRITE ORDERED BY a NULLS",
    "ALTER TABLE t CREATE BRANCH",
    "ALTER TABLE t CREATE TAG b RETAIN DAYS",
    "ALTER TABLE t CREATE TAG b RETAIN 1.5 DAYS",
    "ALTER TABLE t CREATE TAG b WITH SNAPSHOT RETENTION 3 SNAPSHOTS",
    "ALTER TABLE t REPLACE PARTITION FIELD a",
]


@pytest.mark.parametrize("text", WRONG)
def test_malformed_layout_is_a_syntax_error(text: str) -> None:
    with pytest.raises(StatementSyntaxError):
        parse(text)
