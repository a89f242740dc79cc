"""Answers from the log: the same rows as reading gives, and a read wherever the log is not exact."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from engine.authorize import authorize
from engine.binder import Sources, bind
from engine.context import StatementContext
from engine.exec.session import ExecSession
from engine.main import EngineOptions, open_sources
from engine.plan.planner import plan_statement
from engine.plan.plans import AnswerPlan, Plan, ReadPlan
from engine.session_state import SessionState
from engine.sql.parser import parse
from engine.statement import run_statement

STATE = SessionState(principal="ann", catalog="spark_catalog", schema="default")
ROWS = pa.table(
    {
        "id": pa.array([5, 3, 9, 1], pa.int64()),
        "small": pa.array([None, None, 2, 1], pa.int8()),
        "day": [date(2024, 1, 1), date(2024, 1, 2), date(2024, 1, 2), None],
        "text": ["b", "a", "c", "d"],
        "real": [1.5, float("nan"), -0.0, 0.0],
        "price": pa.array([Decimal("1.10"), Decimal("2.20"), None, Decimal("0.30")], pa.decimal128(9, 2)),
        "at": pa.array([datetime(2024, 1, 1, tzinfo=UTC)] * 4, pa.timestamp("us", "UTC")),
    }
)


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Sources:
    root = tmp_path_factory.mktemp("lake")
    write_deltalake(root / "plain", ROWS)
    write_deltalake(root / "plain", ROWS.slice(0, 1), mode="append")
    write_deltalake(root / "parted", ROWS, partition_by=["day"])
    write_deltalake(root / "empty", ROWS.slice(0, 0))
    write_deltalake(root / "bare", ROWS, configuration={"delta.dataSkippingNumIndexedCols": "0"})
    _strip_statistics(root / "bare")
    return open_sources(EngineOptions(lake_folder=str(root)))


def _strip_statistics(table: Path) -> None:
    """As a writer without statistics leaves it."""
    log = table / "_delta_log" / f"{0:020}.json"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for line in lines:
        line.get("add", {}).pop("stats", None)
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))


def plan(sources: Sources, text: str) -> Plan:
    return plan_statement(authorize(bind(parse(text), STATE, sources, lambda expression: None)))


ANSWERED: list[tuple[str, tuple[Any, ...]]] = [
    ("SELECT count(*) FROM plain", (5,)),
    ("SELECT Count(1) AS n FROM default.plain AS p", (5,)),
    ("SELECT count(*) FROM plain VERSION AS OF 0", (4,)),
    ("SELECT count(*), min(id), max(plain.id) AS top FROM plain", (5, 1, 9)),
    ("SELECT min(small), max(small) FROM plain", (1, 2)),
    ("SELECT max(price) FROM plain", (Decimal("2.20"),)),
    ("SELECT min(day), max(day) FROM plain", (date(2024, 1, 1), date(2024, 1, 2))),
    ("SELECT min(day), max(day), count(*) FROM parted", (date(2024, 1, 1), date(2024, 1, 2), 4)),
    ("SELECT max(id), count(*) FROM empty", (None, 0)),
    ("SELECT max(day) FROM empty", (None,)),
]


@pytest.mark.parametrize(("text", "row"), ANSWERED)
def test_what_the_log_knows_is_answered_from_it(sources: Sources, text: str, row: tuple[Any, ...]) -> None:
    found = plan(sources, text)
    assert isinstance(found, AnswerPlan) and found.row == row


READ = [
    "SELECT count(id) FROM plain",
    "SELECT count(*) FROM plain WHERE id > 3",
    "SELECT count(*) FROM plain LIMIT 0",
    "SELECT DISTINCT count(*) FROM plain",
    "SELECT count(*) FROM plain HAVING count(*) > 9",
    "SELECT count(*) FROM plain TABLESAMPLE (1 ROWS)",
    "SELECT count(*) FROM plain, parted",
    "SELECT count(*) OVER () FROM plain",
    "SELECT count(DISTINCT id) FROM plain",
    "SELECT count(*) FILTER (WHERE id > 3) FROM plain",
    "SELECT count(*) FROM plain AS p(a, b, c, d, e, f, g)",
    "SELECT count(*) + 1 FROM plain",
    "SELECT max(text) FROM plain",
    "SELECT min(real) FROM plain",
    "SELECT max(at) FROM plain",
    "SELECT max(ID) FROM plain",
    "SELECT max(id + 1) FROM plain",
    "SELECT max(nope) FROM plain",
    "SELECT max(other.id) FROM plain",
    "SELECT count(*) FROM bare",
    "SELECT count(*), max(text) FROM plain",
]


@pytest.mark.parametrize("text", READ)
def test_what_the_log_does_not_know_exactly_is_read(sources: Sources, text: str) -> None:
    assert isinstance(plan(sources, text), ReadPlan)


@pytest.mark.spark
@pytest.mark.parametrize("text", [text for text, _ in ANSWERED])
def test_an_answer_has_the_columns_and_values_of_a_read(sources: Sources, spark: ExecSession, text: str) -> None:
    def run(statement: str) -> pa.Table:
        context = StatementContext(principal="ann")
        result = run_statement(parse(statement), STATE, sources, spark, context).result
        return pa.Table.from_batches(result.batches(), result.schema)

    answered, read = run(text), run(text + " WHERE true")
    assert answered.to_pydict() == read.to_pydict()
    assert answered.schema.equals(read.schema, check_metadata=True)
