"""The listed scan: exactly the listed files, constants from the list, nothing from names or folders."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from catalog.conditions import LogPathNotAllowed, SparkFailure
from engine.planning.plans.reads import ReadPlan
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest
from engine.spark.session import ExecSession
from engine.sql.query.values import ExplainMode
from engine.storage.confinement import FilePlaces
from engine.tables.scan import Scan
from tests.engine.spark.scans import DataFile, list_files, query, rows, write_scan

pytestmark = pytest.mark.spark

SALES = {"id": "long", "day": "date", "amount": "double"}


@pytest.fixture
def sales(tmp_path: Path) -> Scan:
    """Returns a scan with the partition column in the middle; folder names are missing or misleading."""
    files = (
        DataFile(path="day=1999-09-09/a.parquet", columns=columns([1, 2]), partition_values={"day": "2024-01-01"}),
        DataFile(path="b.parquet", columns=columns([3]), partition_values={"day": "2024-01-02"}),
        DataFile(path="_c.parquet", columns=columns([4]), partition_values={"day": None}),
    )
    return write_scan(tmp_path, SALES, files, partition_columns=["day"])


def columns(ids: list[int]) -> dict[str, Any]:
    return {"id": ids, "amount": [value + 0.5 for value in ids]}


def test_columns_keep_the_order_of_the_table(spark: ExecSession, sales: Scan) -> None:
    assert rows(spark, "SELECT * FROM __scan_0 ORDER BY id", sales) == [
        (1, dt.date(2024, 1, 1), 1.5),
        (2, dt.date(2024, 1, 1), 2.5),
        (3, dt.date(2024, 1, 2), 3.5),
        (4, None, 4.5),
    ]


FILTERS: tuple[tuple[str, list[int]], ...] = (
    ("day = DATE '2024-01-01'", [1, 2]),
    ("day <> DATE '2024-01-01'", [3]),
    ("day IS NULL", [4]),
    ("day IS NOT NULL AND id > 1", [2, 3]),
    ("day IN (DATE '2024-01-02', DATE '2024-01-03')", [3]),
    ("day > '2024-01-01' OR id = 1", [1, 3]),
    ("year(day) = 2024 AND day < DATE '2024-01-02'", [1, 2]),
    ("NOT (day = DATE '2024-01-01')", [3]),
    ("coalesce(day, DATE '1970-01-01') = DATE '1970-01-01'", [4]),
    ("day = (SELECT max(day) FROM __scan_0)", [3]),
    ("day IN (SELECT day FROM __scan_0 WHERE id = 1)", [1, 2]),
    ("EXISTS (SELECT 1 FROM __scan_0 o WHERE o.day = s.day AND o.id = 3)", [3]),
    ("day = DATE '2030-01-01'", []),
    ("DAY = DATE '2024-01-02'", [3]),
)


@pytest.mark.parametrize(("condition", "expected"), FILTERS, ids=[row[0] for row in FILTERS])
def test_partition_filters(spark: ExecSession, sales: Scan, condition: str, expected: list[int]) -> None:
    """The index has to apply them: Spark does not evaluate them again."""
    found = rows(spark, f"SELECT id FROM __scan_0 s WHERE {condition} ORDER BY id", sales)
    assert [row[0] for row in found] == expected


def test_files_of_other_partitions_are_not_opened(spark: ExecSession, sales: Scan, tmp_path: Path) -> None:
    (tmp_path / "b.parquet").unlink()
    assert rows(spark, "SELECT count(*) FROM __scan_0 WHERE day = DATE '2024-01-01'", sales) == [(2,)]


def test_join_prunes_partitions_while_it_runs(spark: ExecSession, tmp_path: Path) -> None:
    """Dynamic partition pruning: the partitions come from the join's other side."""
    files = [
        DataFile(path=f"{n}.parquet", columns={"id": list(range(n, n + 50))}, partition_values={"part": str(n)})
        for n in range(4)
    ]
    facts = write_scan(tmp_path / "f", {"id": "long", "part": "integer"}, files, partition_columns=["part"])
    keys = write_scan(
        tmp_path / "k",
        {"part": "integer", "name": "string"},
        [DataFile(path="k.parquet", columns={"part": pa.array([2], pa.int32()), "name": ["two"]})],
        relation="__scan_1",
    )
    spark.set_setting("spark.sql.optimizer.dynamicPartitionPruning.reuseBroadcastOnly", "false")
    text = "SELECT count(*) FROM __scan_0 JOIN __scan_1 USING (part) WHERE name = 'two'"
    (tmp_path / "f" / "3.parquet").unlink()
    assert rows(spark, text, facts, keys) == [(50,)]


PARTITION_VALUES: tuple[tuple[str, str | None, Any], ...] = (
    ("integer", "-7", -7),
    ("long", "9223372036854775807", 2**63 - 1),
    ("short", "3", 3),
    ("byte", "-128", -128),
    ("float", "1.5", 1.5),
    ("double", "-Infinity", float("-inf")),
    ("decimal(10,2)", "12.30", Decimal("12.30")),
    ("boolean", "true", True),
    ("string", "a b/ü=%20", "a b/ü=%20"),
    ("binary", "\x00\x01é", b"\x00\x01\xc3\xa9"),
    ("date", "0001-01-01", dt.date(1, 1, 1)),
    ("timestamp", "2024-05-01 10:00:00", dt.datetime(2024, 5, 1, 8, tzinfo=dt.UTC)),
    ("timestamp", "2024-05-01 10:00:00.000001", dt.datetime(2024, 5, 1, 8, 0, 0, 1, tzinfo=dt.UTC)),
    ("timestamp", "2024-05-01T10:00:00.123456Z", dt.datetime(2024, 5, 1, 10, 0, 0, 123456, tzinfo=dt.UTC)),
    ("timestamp_ntz", "2024-05-01 10:00:00.5", dt.datetime(2024, 5, 1, 10, 0, 0, 500000)),
    *((data_type, text, None) for data_type in ("integer", "string", "timestamp", "binary") for text in (None, "")),
)


@pytest.mark.parametrize(("data_type", "text", "value"), PARTITION_VALUES)
def test_partition_values(spark: ExecSession, tmp_path: Path, data_type: str, text: str | None, value: Any) -> None:
    """The protocol defines the texts; a timestamp without an offset is in the session's time zone."""
    spark.set_setting("spark.sql.session.timeZone", "Europe/Berlin")
    file = DataFile(path="a.parquet", columns={"id": [1]}, partition_values={"p": text})
    scan = write_scan(tmp_path, {"p": data_type, "id": "long"}, [file], partition_columns=["p"])
    assert rows(spark, "SELECT p FROM __scan_0", scan) == [(value,)]


def test_a_malformed_partition_value_is_an_error(spark: ExecSession, tmp_path: Path) -> None:
    file = DataFile(path="a.parquet", columns={"id": [1]}, partition_values={"p": "x"})
    scan = write_scan(tmp_path, {"p": "integer", "id": "long"}, [file], partition_columns=["p"])
    with pytest.raises(SparkFailure) as failed:
        rows(spark, "SELECT p FROM __scan_0", scan)
    assert failed.value.condition == "CAST_INVALID_INPUT"


def test_several_partition_columns_and_a_missing_value(spark: ExecSession, tmp_path: Path) -> None:
    files = [
        DataFile(path="a.parquet", columns={"id": [1]}, partition_values={"p": "x", "q": "1"}),
        DataFile(path="b.parquet", columns={"id": [2]}, partition_values={"q": "2"}),
        DataFile(path="c.parquet", columns={"id": [3]}, partition_values={"p": "x", "q": "1"}),
    ]
    scan = write_scan(tmp_path, {"p": "string", "id": "long", "q": "integer"}, files, partition_columns=["q", "p"])
    assert rows(spark, "SELECT * FROM __scan_0 ORDER BY id", scan) == [("x", 1, 1), (None, 2, 2), ("x", 3, 1)]
    assert rows(spark, "SELECT p, count(*) FROM __scan_0 WHERE q < 2 GROUP BY p", scan) == [("x", 2)]


def test_constants_win_over_the_columns_of_a_file(spark: ExecSession, tmp_path: Path) -> None:
    file = DataFile(path="a.parquet", columns={"id": [1], "p": ["in the file"]}, partition_values={"p": "in the log"})
    scan = write_scan(tmp_path, {"id": "long", "p": "string"}, [file], partition_columns=["p"])
    assert rows(spark, "SELECT p FROM __scan_0", scan) == [("in the log",)]


NAMES = (
    "plain.parquet",
    "with blank.parquet",
    "per%cent%20.parquet",
    "plus+.parquet",
    "hash#.parquet",
    "question?.parquet",
    "day=2024-01-01 10:00:00/colon:.parquet",
    "a=b/c=%2F/equals=.parquet",
    "ünïcödé-日本語-😀.parquet",
    "brackets[1]{2}.parquet",
    "quote'\"`.parquet",
    "back\\slash.parquet",
    "star*.parquet",
    "_underscore.parquet",
    ".dot.parquet",
    "no_extension",
)


@pytest.mark.parametrize("name", NAMES)
def test_names_of_files_mean_themselves(spark: ExecSession, tmp_path: Path, name: str) -> None:
    decoy = DataFile(path="decoy.parquet", columns={"id": [99]})
    write_scan(tmp_path, {"id": "long"}, [decoy])
    scan = write_scan(tmp_path, {"id": "long"}, [DataFile(path=name, columns={"id": [1, 2]})])
    assert rows(spark, "SELECT id FROM __scan_0", scan) == [(1,), (2,)]


@pytest.mark.parametrize("scheme", ["", "file:", "file://"], ids=["path", "file:", "file://"])
@pytest.mark.parametrize("absolute", [False, True], ids=["relative", "absolute"])
def test_roots_and_absolute_paths(spark: ExecSession, tmp_path: Path, scheme: str, absolute: bool) -> None:
    folder = tmp_path / "a table%20 #1"
    name = "x y%.parquet"
    write_scan(folder, {"id": "long"}, [DataFile(path=name, columns={"id": [1]})])
    size = (folder / name).stat().st_size
    path = f"{scheme}{folder / name}" if absolute else name
    scan = list_files(f"{scheme}{folder}/", {"id": "long"}, [(path, size, 0, [])])
    assert rows(spark, "SELECT id FROM __scan_0", scan) == [(1,)]


def test_absolute_path_outside_the_root(spark: ExecSession, tmp_path: Path) -> None:
    outside = str(tmp_path / "elsewhere" / "a.parquet")
    scan = write_scan(tmp_path / "table", {"id": "long"}, [DataFile(path=outside, columns={"id": [1]})])
    with pytest.raises(LogPathNotAllowed):
        rows(spark, "SELECT id FROM __scan_0", scan)
    assert rows(spark, "SELECT id FROM __scan_0", replace(scan, file_places=FilePlaces((str(tmp_path),)))) == [(1,)]


def test_columns_that_old_files_lack_are_null(spark: ExecSession, tmp_path: Path) -> None:
    struct = {"type": "struct", "fields": [
        {"name": "a", "type": "long", "nullable": True, "metadata": {}},
        {"name": "b", "type": "string", "nullable": True, "metadata": {}},
    ]}  # fmt: skip
    files = [
        DataFile(path="old.parquet", columns={"id": [1], "s": [{"a": 5}]}),
        DataFile(path="new.parquet", columns={"name": ["x"], "s": [{"b": "y", "a": 6}], "id": [2]}),
    ]
    scan = write_scan(tmp_path, {"id": "long", "name": "string", "s": struct}, files)
    assert rows(spark, "SELECT * FROM __scan_0 ORDER BY id", scan) == [
        (1, None, {"a": 5, "b": None}),
        (2, "x", {"a": 6, "b": "y"}),
    ]


def test_a_table_without_files(spark: ExecSession, tmp_path: Path) -> None:
    scan = write_scan(tmp_path, SALES, [], partition_columns=["day"])
    assert query(spark, "SELECT * FROM __scan_0", scan).schema.names == list(SALES)
    assert rows(spark, "SELECT count(*), max(day) FROM __scan_0 WHERE day IS NOT NULL", scan) == [(0, None)]


def test_only_constants_are_requested(spark: ExecSession, sales: Scan) -> None:
    assert rows(spark, "SELECT DISTINCT day FROM __scan_0 ORDER BY day", sales) == [
        (None,),
        (dt.date(2024, 1, 1),),
        (dt.date(2024, 1, 2),),
    ]
    assert rows(spark, "SELECT count(*) FROM __scan_0", sales) == [(4,)]


def test_equal_scans_share_an_exchange(spark: ExecSession, sales: Scan) -> None:
    """Two scans over the same files in one statement are equal to Spark."""
    again = replace(sales, relation="__scan_1")
    spark.set_setting("spark.sql.adaptive.enabled", "false")
    spark.set_setting("spark.sql.autoBroadcastJoinThreshold", "-1")
    spark.set_setting("spark.sql.shuffle.partitions", "2")  # a query with one task has no exchanges
    counts = "(SELECT id, count(*) AS c FROM {} GROUP BY id)"
    text = f"SELECT a.c + b.c FROM {counts} a JOIN {counts} b USING (id)"
    for second, scans in (("__scan_0", (sales,)), ("__scan_1", (sales, again))):
        plan = ReadPlan(text=text.format("__scan_0", second), scans=scans)
        shown = spark.explain(plan, ExplainMode.SIMPLE, "", StatementRequest(identity=Identity("alice")))
        assert "ReusedExchange" in next(shown.batches()).column(0)[0].as_py()
