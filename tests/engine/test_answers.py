"""Answers from the log: the same rows, and the same columns, as reading gives."""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from deltalake import write_deltalake

from engine.binding.sources import Sources
from engine.delta.spec.deletion_vectors import inline_deletion_vector
from engine.main import EngineOptions, open_sources
from engine.planning.plans.reads import AnswerPlan, ReadPlan
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest
from engine.spark.session import ExecSession
from engine.tables.scan import TableRead
from tests.engine.contexts import run_on
from tests.engine.parsed import parse_one
from tests.engine.planning.reads.test_answers import ANSWERED, GROUPED, STATE, make_tables, plan, strip_statistics


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Sources:
    return make_tables(tmp_path_factory.mktemp("lake"))


@pytest.mark.spark
@pytest.mark.parametrize("text", [text for text, _ in (*ANSWERED, *GROUPED)])
def test_an_answer_has_the_columns_and_values_of_a_read(sources: Sources, spark: ExecSession, text: str) -> None:
    def run(statement: str) -> tuple[pa.Table, tuple[TableRead, ...]]:
        request = StatementRequest(identity=Identity("ann"))
        result = run_on(parse_one(statement), STATE, sources, spark, request).result
        return pa.Table.from_batches(result.batches(), result.schema), request.profile.reads

    (answered, none), (read, some) = run(text), run(f"SELECT * FROM ({text}) LIMIT 100")
    assert not none and (some or "empty" in text or "2030" in text)
    assert sorted(map(repr, answered.to_pylist())) == sorted(map(repr, read.to_pylist()))
    assert answered.schema.equals(read.schema, check_metadata=True)


QUERIES = (
    "count(*)", "count(i)", "count(s)", "min(i)", "max(i)", "min(d)", "max(b)", "max(m)", "count(x)", "count(p)",
    "max(p)", "min(q)",
)  # fmt: skip
CONDITIONS = (
    "p = 'a'", "p <> 'a'", "p IS NULL", "q IN (1, 2)", "q >= 1 AND p IS NOT NULL", "NOT q = 0", "q <=> 1", "i < 100",
    "i > 4", "d = '2024-01-02'", "q BETWEEN 1 AND 5 OR p = 'b'", "s >= 'a'", "b IS NULL", "i IS NOT NULL",
)  # fmt: skip


@pytest.mark.spark
def test_random_tables_are_answered_as_they_are_read(tmp_path: Path, spark: ExecSession) -> None:
    """For any missing statistics, the metadata-only answer equals the read rows or is not available."""
    random = Random("answers")
    for number in range(4):
        table = _random_table(random)
        write_deltalake(tmp_path / f"t{number}", table, partition_by=["p", "q"] if number % 2 else ["q"])
        write_deltalake(tmp_path / f"t{number}", table.slice(0, 5), mode="append")
    strip_statistics(tmp_path / "t1")
    _delete_first_rows(tmp_path / "t2")
    sources = open_sources(EngineOptions(lake_folder=str(tmp_path)))
    answers = []
    for number in range(4):
        for _ in range(25):
            where = f" WHERE {random.choice(CONDITIONS)}" if random.random() < 0.7 else ""
            item = random.choice(QUERIES)
            text = f"SELECT {item} AS v FROM t{number}{where}"
            if random.random() < 0.2:
                text = f"SELECT q AS v, count(*) AS n FROM t{number}{where} GROUP BY q"
            found = plan(sources, text)
            if isinstance(found, AnswerPlan):
                answers.append((text, found.rows))
    assert 20 < len(answers) < 90
    for text, rows in answers:
        read = plan(sources, f"SELECT * FROM ({text}) LIMIT 100")
        assert isinstance(read, ReadPlan)
        result = spark.run_query(read, StatementRequest(identity=Identity("ann")))
        table = pa.Table.from_batches(result.batches(), result.schema)
        expected = [tuple(row.values()) for row in table.to_pylist()]
        assert sorted(map(repr, rows)) == sorted(map(repr, expected)), text


def _random_table(random: Random) -> pa.Table:
    def column(values: list[Any], kind: pa.DataType) -> pa.Array:
        return pa.array([random.choice([*values, None]) for _ in range(30)], kind)

    return pa.table(
        {
            "i": column([1, 5, 9], pa.int32()),
            "s": column(["a", "b", ""], pa.string()),
            "d": column([date(2024, 1, 1), date(2024, 1, 2)], pa.date32()),
            "b": column([True, False], pa.bool_()),
            "m": column([Decimal("1.50"), Decimal("-2.25")], pa.decimal128(9, 2)),
            "x": column([float("nan"), 1.0], pa.float64()),
            "p": column(["a", "b", "c d"], pa.string()),
            "q": column([0, 1, 2], pa.int64()),
        }
    )


def _delete_first_rows(table: Path) -> None:
    """Adds a deletion vector to each file in the newest commit, and the protocol that it requires."""
    for log in sorted((table / "_delta_log").glob("*.json")):
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        for line in lines:
            if "protocol" in line:
                features = dict.fromkeys(("readerFeatures", "writerFeatures"), ["deletionVectors"])
                line["protocol"] = {"minReaderVersion": 3, "minWriterVersion": 7, **features}
            if "add" in line and log.name.endswith("1.json"):
                vector = inline_deletion_vector(np.array([0], np.uint64))
                line["add"]["deletionVector"] = vector.to_json()
                line["add"]["stats"] = json.dumps({**json.loads(line["add"]["stats"]), "tightBounds": False})
        log.write_text("".join(json.dumps(line) + "\n" for line in lines))
