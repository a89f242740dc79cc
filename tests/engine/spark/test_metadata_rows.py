"""Metadata table rows, with all types, and more than fit into one text."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest

from engine.planning.plans.reads import ReadPlan, RowScan
from engine.planning.reads.metadata_rows import metadata_query, metadata_rows
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest
from engine.spark.session import ExecSession
from engine.tables.snapshot import MetadataTable
from engine.types.schema import ArrayType, DecimalType, MapType, PrimitiveType, StructField, StructType

pytestmark = pytest.mark.spark

PAIRS = MapType(PrimitiveType.INTEGER, PrimitiveType.BINARY)
SCHEMA = StructType(
    (
        StructField("o'dd `name`", PrimitiveType.STRING),
        StructField("at", PrimitiveType.TIMESTAMP),
        StructField("price", DecimalType(9, 2)),
        StructField("list", ArrayType(PrimitiveType.LONG)),
        StructField("bounds", PAIRS),
        StructField("nested", StructType((StructField("x", PrimitiveType.DATE), StructField("m", PAIRS)))),
    )
)
ROW = {
    "o'dd `name`": "'\\\n\"é",
    "at": "2024-05-01T10:00:00Z",
    "price": 1.5,
    "list": [1, None],
    "bounds": [{"key": 1, "value": "AP8="}],
    "nested": {"x": "2024-05-01", "m": []},
}


def read(session: ExecSession, table: MetadataTable, text: str) -> pa.Table:
    given = RowScan(relation="given", label="t.files", rows=metadata_rows(table))
    plan = ReadPlan(text=text.format(f"({metadata_query(table, 'given')})"), scans=(), given=(given,))
    assert len(plan.text) < 10_000
    result = session.run_query(plan, StatementRequest(identity=Identity("alice")))
    return pa.Table.from_batches(list(result.batches()), result.schema)


def test_values_of_all_types(spark: ExecSession) -> None:
    table = MetadataTable(schema=SCHEMA, rows=(ROW, dict.fromkeys(ROW), {}))
    first, *others = read(spark, table, "SELECT * FROM {}").to_pylist()
    assert list(first.values()) == [
        ROW["o'dd `name`"],
        dt.datetime(2024, 5, 1, 10, tzinfo=dt.UTC),
        pa.scalar("1.50").cast(pa.decimal128(9, 2)).as_py(),
        [1, None],
        [(1, b"\x00\xff")],
        {"x": dt.date(2024, 5, 1), "m": []},
    ]
    assert [list(other.values())[:5] for other in others] == [[None] * 5] * 2


def test_more_rows_than_one_text_may_have(spark: ExecSession) -> None:
    """Spark's JSON parser accepts texts up to 20 MB."""
    schema = StructType((StructField("path", PrimitiveType.STRING), StructField("n", PrimitiveType.LONG)))
    table = MetadataTable(schema=schema, rows=tuple({"path": f"{n:01000}", "n": n} for n in range(25_000)))
    found = read(spark, table, "SELECT count(DISTINCT path) AS c, sum(n) AS s FROM {}")
    assert found.to_pylist() == [{"c": 25_000, "s": sum(range(25_000))}]
    assert read(spark, MetadataTable(schema=schema, rows=()), "SELECT count(*) AS c FROM {}").to_pylist() == [{"c": 0}]
