"""Metadata-only queries, reasons against others, and EXPLAIN for both."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from engine.binding.sources import Sources
from engine.main import EngineOptions, open_sources
from engine.planning.plans.plan import Plan
from engine.planning.plans.reads import AnswerPlan, ExplainPlan, ReadPlan
from engine.runtime.identity import Identity
from engine.runtime.query_settings import DATES_AS_TEXTS
from engine.runtime.session_state import SessionState
from tests.engine.planned import planned

STATE = SessionState(identity=Identity("ann"), catalog="spark_catalog", schema="default")
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
    return make_tables(tmp_path_factory.mktemp("lake"))


def make_tables(root: Path) -> Sources:
    write_deltalake(root / "plain", ROWS)
    write_deltalake(root / "plain", ROWS.slice(0, 1), mode="append")
    write_deltalake(root / "parted", ROWS, partition_by=["day"])
    write_deltalake(root / "empty", ROWS.slice(0, 0))
    write_deltalake(root / "bare", ROWS, configuration={"delta.dataSkippingNumIndexedCols": "0"})
    strip_statistics(root / "bare")
    return open_sources(EngineOptions(lake_folder=str(root)))


def strip_statistics(table: Path) -> None:
    """Removes statistics, as a writer without them."""
    log = table / "_delta_log" / f"{0:020}.json"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for line in lines:
        line.get("add", {}).pop("stats", None)
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))


def plan(sources: Sources, text: str) -> Plan:
    return planned(text, STATE, sources)


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
    ("SELECT count(id), count(small), count(p.day) FROM plain p", (5, 2, 4)),
    ("SELECT count(text), count(at), count(real) FROM plain", (5, 5, 5)),
    ("SELECT count(day), count(*) FROM parted", (3, 4)),
    ("SELECT count(*) FROM parted WHERE day = DATE'2024-01-02'", (2,)),
    ("SELECT count(*), max(id) FROM parted WHERE day >= '2024-01-02'", (2, 9)),
    ("SELECT count(*) FROM parted WHERE day IN ('2024-01-01', '2024-01-02')", (3,)),
    ("SELECT count(*) FROM parted p WHERE p.day IS NULL OR NOT p.day < '2024-01-02'", (3,)),
    ("SELECT count(*) FROM parted WHERE day IS NOT NULL", (3,)),
    ("SELECT count(*), min(id) FROM parted WHERE day BETWEEN '2024-01-02' AND '2024-02-01'", (2, 3)),
    ("SELECT count(*), max(day) FROM parted WHERE day = '2030-01-01'", (0, None)),
    ("SELECT count(*) FROM plain WHERE id > 0 AND id <> -5", (5,)),
    ("SELECT count(*) FROM plain WHERE id > 100", (0,)),
    ("SELECT count(*) FROM plain WHERE text <= 'x'", (5,)),
]

GROUPED: list[tuple[str, set[tuple[Any, ...]]]] = [
    ("SELECT DISTINCT day FROM parted", {(date(2024, 1, 1),), (date(2024, 1, 2),), (None,)}),
    ("SELECT p.day AS d FROM parted p GROUP BY p.day", {(date(2024, 1, 1),), (date(2024, 1, 2),), (None,)}),
    (
        "SELECT count(*) AS n, day FROM parted GROUP BY day",
        {(1, date(2024, 1, 1)), (2, date(2024, 1, 2)), (1, None)},
    ),
    ("SELECT day, count(1) FROM parted WHERE day > '2024-01-01' GROUP BY day", {(date(2024, 1, 2), 2)}),
    ("SELECT day FROM parted WHERE day > '2030-01-01' GROUP BY day", set()),
    ("SELECT count(*) FROM parted GROUP BY day", {(1,), (2,)}),
]


def test_dates_that_are_compared_as_texts_are_read(sources: Sources) -> None:
    """The text of a date after the year 9999 begins with a plus, which sorts before all digits."""
    state = STATE.with_value(DATES_AS_TEXTS, "true")
    text = "SELECT count(*) FROM parted WHERE day < '2024-01-02'"
    assert isinstance(planned(text, STATE, sources), AnswerPlan)
    assert not isinstance(planned(text, state, sources), AnswerPlan)
    assert isinstance(planned("SELECT count(*), max(day) FROM parted", state, sources), AnswerPlan)


@pytest.mark.parametrize(("text", "row"), ANSWERED)
def test_metadata_query_is_answered_from_the_log(sources: Sources, text: str, row: tuple[Any, ...]) -> None:
    found = plan(sources, text)
    assert isinstance(found, AnswerPlan) and found.rows == (row,)


READ = [
    "SELECT count(*) FROM plain WHERE id > 3",
    "SELECT count(*) FROM plain WHERE id > 3.5",
    "SELECT count(*) FROM plain WHERE id = '3'",
    "SELECT count(*) FROM plain WHERE small > 1000",
    "SELECT count(*) FROM parted WHERE day = '2024-1-2'",
    "SELECT count(*) FROM parted WHERE day = NULL",
    "SELECT count(*) FROM parted WHERE day IN (SELECT day FROM plain)",
    "SELECT count(*) FROM parted WHERE year(day) = 2024",
    "SELECT count(*) FROM parted WHERE nope = 1",
    "SELECT count(*) FROM parted WHERE other.day IS NULL",
    "SELECT count(*) FROM parted WHERE day = '2024-01-02' AND id > 3",
    "SELECT DISTINCT text FROM plain",
    "SELECT DISTINCT day, id FROM parted",
    "SELECT DISTINCT day, count(*) FROM parted GROUP BY day",
    "SELECT day, max(id) FROM parted GROUP BY day",
    "SELECT id, count(*) FROM parted GROUP BY day",
    "SELECT day, count(*) FROM parted GROUP BY day HAVING count(*) > 1",
    "SELECT day, count(*) FROM parted GROUP BY ALL",
    "SELECT day, count(*) FROM parted GROUP BY ROLLUP(day)",
    "SELECT day, count(*) FROM parted GROUP BY day WITH CUBE",
    "SELECT day, count(*) FROM parted GROUP BY day ORDER BY day",
    "SELECT count(DISTINCT day) FROM parted",
    "SELECT count(id) FROM bare",
    "SELECT count(id, small) FROM plain",
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
def test_inexact_metadata_query_reads_files(sources: Sources, text: str) -> None:
    assert isinstance(plan(sources, text), ReadPlan)


@pytest.mark.parametrize(("text", "found"), GROUPED, ids=[text for text, _ in GROUPED])
def test_partition_values_are_answered_from_log(sources: Sources, text: str, found: set[tuple[Any, ...]]) -> None:
    answer = plan(sources, text)
    assert isinstance(answer, AnswerPlan) and set(answer.rows) == found


REASONS = (
    ("SELECT id FROM plain", "more than counts, extremes and partition values"),
    ("SELECT max(text) FROM plain", "statistics of this type bound the values"),
    ("SELECT count(*) FROM bare", "files have no count of rows"),
    ("SELECT count(*) FROM plain WHERE id > 3", "may hold for some rows only"),
    ("SELECT count(*) FROM plain WHERE id = '3'", "id is compared with a value of another type"),
    ("SELECT max(ID) FROM plain", "not one of the table's, as they are spelled"),
)


@pytest.mark.parametrize(("text", "reason"), REASONS, ids=[text for text, _ in REASONS])
def test_explain_says_why_the_log_does_not_answer(sources: Sources, text: str, reason: str) -> None:
    explained = plan(sources, f"EXPLAIN {text}")
    assert isinstance(explained, ExplainPlan)
    assert explained.note.startswith("not answered from the log: ") and reason in explained.note


def test_explain_says_that_the_log_answers(sources: Sources) -> None:
    explained = plan(sources, "EXPLAIN SELECT count(*) FROM plain")
    assert isinstance(explained, ExplainPlan)
    assert explained.note == ("answered from the log of `spark_catalog`.`default`.`plain`, version 1: no file is read")
