"""Columns listed for many tables: tables with one schema share their column descriptions."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.binding.binder import Binder
from engine.binding.bound import BoundStatement
from engine.pipeline import bind_statement
from engine.statements.listings.execution import list_objects
from engine.statements.listings.statement import ListColumns
from tests.engine.contexts import NO_CONSTANTS
from tests.engine.planning.lake import PlanningLake

ALIKE, OTHER = "k INT NOT NULL, s STRING COMMENT 'a text'", "x DECIMAL(9, 2)"
TABLES = {"a": ALIKE, "b": OTHER, "c": ALIKE, "d": ALIKE, "e": OTHER}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> PlanningLake:
    made = PlanningLake(tmp_path_factory.mktemp("a lake of columns"))
    for name, columns in TABLES.items():
        made.make(f"CREATE TABLE {name} ({columns})")
    made.make_view("cv", "SELECT 1 AS k, 2 AS z", "k INT, z INT")
    return made


@pytest.mark.parametrize(
    ("tables", "pattern", "expected"),
    [
        (None, None, "a.k a.s b.x c.k c.s cv.k cv.z d.k d.s e.x"),
        (None, "k", "a.k c.k cv.k d.k"),
        (None, "x", "b.x e.x"),
        ("d", None, "d.k d.s"),
        ("b", "k", ""),
        ("none", None, ""),
    ],
)
def test_columns_are_those_of_their_tables(
    lake: PlanningLake, tables: str | None, pattern: str | None, expected: str
) -> None:
    statement = ListColumns(catalog=None, schema_pattern=None, table_pattern=tables, column_pattern=pattern)
    bound = bind_statement(statement, Binder(lake.state, lake.sources, NO_CONSTANTS))
    assert isinstance(bound, BoundStatement)
    (batch,) = list_objects(bound, statement).result.batches()
    rows = batch.to_pylist()
    assert " ".join(sorted(f"{row['table']}.{row['column']}" for row in rows)) == expected
    facts = {"k": ("int", False, 1, None), "s": ("string", True, 2, "a text"), "x": ("decimal(9,2)", True, 1, None)}
    for row in rows:
        found = (row["sql_type"], row["nullable"], row["position"], row["comment"])
        assert row["table"] == "cv" or found == facts[row["column"]]


def test_a_table_with_a_type_of_another_engine_hides_no_other(tmp_path: Path) -> None:
    lake = PlanningLake(tmp_path)
    for name in ("known", "unknown"):
        lake.make(f"CREATE TABLE {name} (a INT)")
    log = next(tmp_path.rglob("unknown/_delta_log/*0.json"))
    log.write_text(log.read_text().replace("integer", "geometry(4326)"))
    statement = ListColumns(catalog=None, schema_pattern=None, table_pattern=None, column_pattern=None)
    bound = bind_statement(statement, Binder(lake.state, lake.sources, NO_CONSTANTS))
    assert isinstance(bound, BoundStatement)
    (batch,) = list_objects(bound, statement).result.batches()
    assert batch.column("table").to_pylist() == ["known"]
