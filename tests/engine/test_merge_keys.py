"""MERGE keys: the part of its condition that concerns only the table's columns, and the files that this prunes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import engine.execution.writes.dml.merge as merge_module
import engine.execution.writes.dml.source_keys as source_keys_module
from engine.delta.snapshot.snapshot import load_snapshot
from engine.main import LakeSession
from engine.planning.plans.reads import QueryColumn, ReadPlan
from engine.planning.plans.writes import MergePlan
from engine.pruning.predicates import Predicate, conjuncts
from engine.runtime.identity import Identity
from engine.types.schema import DataType, DecimalType, PrimitiveType
from tests.engine.bare_lake import BareLake
from tests.engine.lake_sessions import actions, run
from tests.engine.planned import planned


class Columns:
    """The source's columns, as Spark would report them."""

    def columns_of(self, plan: ReadPlan) -> tuple[QueryColumn, ...]:
        (scan,) = plan.scans
        fields = json.loads(scan.schema.to_json())["fields"]
        return tuple(QueryColumn(field["name"], "", None, field["type"]) for field in fields)

    def variables_of(self, plan: ReadPlan) -> tuple[str, ...]:
        return ()

    def setting(self, key: str) -> str | None:
        return None


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> BareLake:
    bare = BareLake(tmp_path_factory.mktemp("lake"))
    bare.answer("CREATE SCHEMA b")
    bare.answer("CREATE TABLE t (k INT, s STRING, r STRUCT<f: BIGINT>, x DOUBLE, m DECIMAL(9,2), d DATE)")
    bare.answer("CREATE TABLE u (k BIGINT, s STRING, o STRING, z INT, x DOUBLE, m DECIMAL(9,2), d TIMESTAMP)")
    bare.answer("CREATE TABLE b.t (k INT, v INT)")
    return bare


KEYS = [
    ("t USING u ON t.k = u.k", [("k", "k")]),
    ("t USING u ON u.k = T.K AND (t.s = u.s /* c */ AND t.k > 3) AND u.z < 1", [("k", "k"), ("s", "s")]),
    ("t AS a USING u AS b ON a.k == b.z AND a.m = b.m", [("k", "z"), ("m", "m")]),
    ("t USING u ON t.s = o AND r.f = z", [("s", "o"), ("r.f", "z")]),
    ("default.t USING b.t ON default.t.k = b.t.v", [("k", "v")]),
    ("spark_catalog.default.t USING b.t ON v = default.t.k AND spark_catalog.b.t.k = r.f", [("k", "v"), ("r.f", "k")]),
    ("t USING (SELECT * FROM u) u ON t.k = u.k", [("k", "k")]),
    ("t USING u ON t.k = u.k OR t.s = u.s", []),
    ("t USING u ON NOT (t.k = u.k) AND t.k <=> u.k AND t.k = u.k + 1 AND t.k = t.k AND u.z = u.k", []),
    ("t USING u ON t.s = u.k AND t.x = u.x AND t.d = u.d AND t.m = u.z", []),
    ("t USING u ON t.k IN (SELECT u.k) AND t.k = (SELECT u.k)", []),
]  # fmt: skip


@pytest.mark.parametrize(("text", "keys"), KEYS, ids=[text for text, _ in KEYS])
def test_columns_that_equal_one_of_the_source(bare: BareLake, text: str, keys: list[tuple[str, str]]) -> None:
    plan = planned(f"MERGE INTO {text} WHEN MATCHED THEN DELETE", bare.state, bare.sources, Columns())
    assert isinstance(plan, MergePlan)
    given = [(".".join(key.path), key.of_source.partition(".")[2].replace("`", "")) for key in plan.keys]
    assert sorted(given) == sorted(keys)
    lone = f"MERGE INTO {text} WHEN NOT MATCHED BY SOURCE THEN DELETE"
    without_keys = planned(lone, bare.state, bare.sources, Columns())
    assert isinstance(without_keys, MergePlan) and without_keys.keys == ()


def test_ranges_keep_the_widest_gaps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_keys_module, "_RANGES_MAX", 3)
    joined = source_keys_module._merge_ranges
    assert joined([(1, 2), (4, 4), (9, 9)]) == [(1, 2), (4, 4), (9, 9)]
    assert joined([(1, 2), (4, 4), (9, 9), (30, 31), (33, 33)]) == [(1, 4), (9, 9), (30, 33)]
    assert joined([(1, 40), (4, 4), (9, 9), (30, 31), (90, 93)]) == [(1, 40), (30, 40), (90, 93)]


SPREAD: dict[str, tuple[DataType, list[object]]] = {
    "whole": (PrimitiveType.LONG, [-(2**63), -7, 0, 1, 2, 3, 9, 10, 11, 2**62, 2**63 - 1]),
    "int": (PrimitiveType.INTEGER, [5, 4, 3, 2, 1, 100, 200]),
    "decimal": (DecimalType(38, 2), [Decimal("1.25"), Decimal("-9.75"), Decimal("99999999999999999999.01")] * 2),
    "date": (PrimitiveType.DATE, [date(1960, 1, 1), date(1970, 1, 2), date(2024, 2, 29), date(9999, 12, 31)]),
    "timestamp": (PrimitiveType.TIMESTAMP, [datetime(1, 1, 1), datetime(2024, 1, 1), datetime(9999, 12, 31, 23, 59)]),
    "text": (PrimitiveType.STRING, ["b", "a", "\U0001f600", "\uffff", "zz"]),
    "many": (PrimitiveType.LONG, [number * number for number in range(3000)]),
}


@pytest.mark.parametrize("name", SPREAD)
@pytest.mark.parametrize("ranges_max", [1, 2, 3, 256])
def test_key_ranges_contain_all_source_values(name: str, ranges_max: int) -> None:
    """Values as in `Literal`: dates are days, times microseconds; texts compare by bytes, as in Spark."""
    data_type, values = SPREAD[name]
    column = pc.unique(pa.array(values))
    plain = column
    if data_type in (PrimitiveType.DATE, PrimitiveType.TIMESTAMP):
        column = column.cast(pa.date32() if data_type is PrimitiveType.DATE else pa.timestamp("us"))
        plain = column.cast(pa.int32() if data_type is PrimitiveType.DATE else pa.int64())

    def order(value: Any) -> Any:
        return value.encode() if data_type is PrimitiveType.STRING else value

    ranges = source_keys_module._ranges_of(column, data_type, ranges_max)
    assert 1 <= len(ranges) <= ranges_max
    ends = [order(end) for pair in ranges for end in pair]
    assert ends == sorted(ends)
    given = plain.to_pylist()
    assert {end for pair in ranges for end in pair} <= set(given)
    assert all(any(order(low) <= order(value) <= order(high) for low, high in ranges) for value in given)
    if data_type is not PrimitiveType.STRING:
        ordered = sorted(given)
        gaps = sorted((float(after) - float(before) for before, after in pairwise(ordered)), reverse=True)
        between = sorted((float(low) - float(high) for (_, high), (low, _) in pairwise(ranges)), reverse=True)
        assert between == gaps[: ranges_max - 1]


# --- With Spark ------------------------------------------------------------------------------------------------------

VALUES = {
    "k": "id",
    "w": "CAST(id AS SMALLINT)",
    "s": "concat('x', lpad(id, 3, '0'), repeat('y', 40))",
    "d": "date_add(DATE'1960-01-01', CAST(id AS INT) * 400)",
    "at": "timestamp_micros((id - 12) * 100000000000000 + id)",
    "n": "CAST(timestamp_micros((id - 12) * 100000000000000 + id) AS TIMESTAMP_NTZ)",
    "m": "CAST(id AS DECIMAL(9, 2)) / 4",
    "x": "CAST(id AS DOUBLE)",
}
# 24 rows, three in each of 8 files.
WANTED = (4, 5, 13, 14, 15)


@pytest.fixture(scope="module")
def keyed(engine: Any) -> Iterator[None]:
    session = engine.open_session(Identity("ann"), settings={}, catalog=None, schema=None)
    items = ", ".join(f"{value} AS {name}" for name, value in VALUES.items())
    clauses = "PARTITIONED BY (p) TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
    run(session, f"CREATE TABLE keyed {clauses} AS SELECT {items}, 0 AS h, id DIV 3 AS p FROM range(24)")
    yield
    session.close()


@pytest.mark.spark
@pytest.mark.parametrize("listed_max", [20_000, 2])
def test_files_without_any_key_are_not_read(
    session: LakeSession, lake: Path, keyed: None, monkeypatch: pytest.MonkeyPatch, listed_max: int
) -> None:
    """The source has nulls and keys that no file has; with and without lists."""
    found: list[Predicate] = []

    def noted(*args: Any) -> Predicate:
        found.append(source_keys_module.source_keys(*args))
        return found[-1]

    monkeypatch.setattr(merge_module, "source_keys", noted)
    monkeypatch.setattr(source_keys_module, "FILES_MIN", 2)
    monkeypatch.setattr(source_keys_module, "_LISTED_MAX", listed_max)
    items = ", ".join(f"{value} AS {name}" for name, value in VALUES.items())
    ids = ", ".join(f"({number}L)" for number in (*WANTED, 900))
    source = f"(SELECT {items} FROM VALUES {ids} AS v (id) UNION ALL SELECT {', '.join(['NULL'] * len(VALUES))})"
    condition = " AND ".join(f"t.{name} = n.{name}" for name in VALUES)
    run(session, "SET spark.sql.autoBroadcastJoinThreshold = -1")
    before = len(list((lake / "default/keyed/_delta_log").glob("*.json")))
    text = f"MERGE INTO keyed t USING {source} AS n ON {condition} WHEN MATCHED THEN UPDATE SET h = h + 1 "
    assert run(session, f"{text} WHEN NOT MATCHED AND n.k IS NULL THEN INSERT (k, p) VALUES (-1, 99)") == 6
    parts = list(conjuncts(found[0]))
    snapshot = load_snapshot(str(lake / "default/keyed"), before - 1)
    left = [int(np.count_nonzero(snapshot.pruning(None).prune(part))) for part in parts]
    assert len(parts) == len(VALUES) - 1
    assert sorted(left)[:-1] == [3] * (len(parts) - 1)
    assert (max(left) == 3) is (listed_max > 2)  # above the limit, only the minimum and maximum texts are known
    metrics = actions(lake, "keyed", before)[0]["commitInfo"]["operationMetrics"]
    assert int(metrics["materializeSourceTimeMs"]) <= int(metrics["executionTimeMs"])
    assert metrics["numSourceRows"] == "7" and metrics["numTargetRowsUpdated"] == "5"
    assert int(metrics["numTargetFilesAfterSkipping"]) < int(metrics["numTargetFilesBeforeSkipping"])
