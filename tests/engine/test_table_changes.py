"""`table_changes`: the rows, the errors, and its positions in a statement.

Tables from deltalake are compared cell by cell with its own change data reader.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from catalog.errors import SqlError
from engine.main import EngineOptions, LakeEngine, LakeSession, open_sources
from engine.runtime.identity import Identity
from engine.runtime.parameters import Parameter
from engine.runtime.request import StatementRequest
from engine.spark.session import SparkDriver
from tests.engine.feed_tables import FEED, time_of
from tests.engine.logged_changes import LOGGED, set_commit_times, write_sales
from tests.paths import DAT, GOLDEN, TESTDATA

pytestmark = pytest.mark.spark

OWN = ("_change_type", "_commit_version", "_commit_timestamp")
Row = tuple[Any, ...]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("lake")
    write_sales(root / "shop" / "sales")
    for name, write in LOGGED.items():
        write(root / "logged" / name)
    return root


@pytest.fixture(scope="module")
def engine(lake: Path, spark_driver: SparkDriver) -> LakeEngine:
    return LakeEngine(open_sources(EngineOptions(lake_folder=str(lake), allowed_roots=(str(TESTDATA),))), spark_driver)


@pytest.fixture(scope="module")
def session(engine: LakeEngine) -> Iterator[LakeSession]:
    opened = engine.open_session(Identity("ann"), settings={}, catalog=None, schema="logged")
    yield opened
    opened.close()


def run(session: LakeSession, text: str, *parameters: Parameter) -> pa.Table:
    result = session.execute(text, StatementRequest(identity=Identity("ann")), parameters)
    table = pa.Table.from_batches(result.batches(), result.schema)
    result.close()
    return table


def rows(session: LakeSession, text: str, *parameters: Parameter) -> list[Row]:
    table = run(session, text, *parameters)
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def by_deltalake(table: Path, first: int, last: int | None = None) -> list[dict[str, Any]]:
    feed = pa.table(DeltaTable(table).load_cdf(starting_version=first, ending_version=last).read_all())
    at = feed.schema.get_field_index("_commit_timestamp")
    stamps = feed["_commit_timestamp"].cast(pa.timestamp("us", "UTC"))
    rows: list[dict[str, Any]] = feed.set_column(at, "_commit_timestamp", stamps).to_pylist()
    return rows


def canonical(found: list[dict[str, Any]]) -> list[str]:
    return sorted(repr(sorted(row.items())) for row in found)


@pytest.mark.parametrize(("first", "last"), [(0, None), (0, 0), (2, 2), (3, 5), (4, 4), (5, 6), (8, 8)])
def test_changes_written_by_deltalake_match_its_own_reader(
    session: LakeSession, lake: Path, first: int, last: int | None
) -> None:
    end = "" if last is None else f", {last}"
    found = run(session, f"SELECT * FROM table_changes('shop.sales', {first}{end})")
    assert found.column_names == ["id", "name", "day", *OWN]
    assert canonical(found.to_pylist()) == canonical(by_deltalake(lake / "shop" / "sales", first, last))


@pytest.mark.foreign
@pytest.mark.parametrize("table", [DAT / "cdf", GOLDEN / "commit-info-containing-arbitrary-operationParams-types"])
def test_tables_of_other_engines(session: LakeSession, table: Path) -> None:
    """Commit times are not stored, so they are left out."""
    found = run(session, f"SELECT * EXCEPT (_commit_timestamp) FROM table_changes_by_path('{table}/delta', 0)")
    expected = by_deltalake(table / "delta", 0)
    assert expected
    for row in expected:
        del row["_commit_timestamp"]
    assert canonical(found.to_pylist()) == canonical(expected)


# --- Deletion vectors, commits without change data files, and commits that do not count -------------------------------


VECTORS: tuple[tuple[int, list[tuple[int, str]]], ...] = (
    (1, [(1, "delete"), (2, "delete")]),
    (2, [(1, "insert"), (3, "delete")]),
    (3, [(2, "insert"), (3, "insert")]),
    (4, [(number, "insert") for number in (101, 102, 103)]),
    (5, [(number, "delete") for number in (*range(10), 101, 102, 103)]),
    (6, [(number, "insert") for number in (*range(10), *range(100, 105))]),
    (7, []),
    (8, []),
    (9, [(3, "update_postimage"), (3, "update_preimage")]),
    (10, []),
    (11, [(100, "insert"), (101, "delete")]),
)


@pytest.mark.parametrize(("version", "expected"), VECTORS)
def test_a_commit_tells_the_rows_whose_state_it_changed(
    session: LakeSession, version: int, expected: list[Row]
) -> None:
    found = rows(session, f"SELECT id, _change_type FROM table_changes('vectors', {version}, {version})")
    assert sorted(found) == expected


def test_a_whole_history_replays_to_the_table(session: LakeSession) -> None:
    """Inserts and postimages minus deletes and preimages, up to versions that do not record their changes."""
    text = (
        "SELECT id FROM table_changes('vectors', 0, 6) GROUP BY id"
        " HAVING sum(IF(_change_type = 'insert', 1, -1)) = 1 ORDER BY id"
    )
    assert rows(session, text) == rows(session, "SELECT id FROM logged.vectors VERSION AS OF 6 ORDER BY id")
    stamps = rows(session, "SELECT DISTINCT _commit_version, _commit_timestamp FROM table_changes('vectors', 0)")
    assert sorted(stamps) == [(version, time_of(version)) for version in (*range(7), 9, 11)]


# --- Schemas ----------------------------------------------------------------------------------------------------------

LEAP = date(2024, 2, 29)
READS: tuple[tuple[str, str, list[Row]], ...] = (
    ("'partitions', 1, 1", "id, day, _change_type", [(1, LEAP, "insert"), (2, LEAP, "insert")]),
    ("'partitions', 2, 2", "id, day, _change_type", [(1, None, "delete"), (2, None, "insert")]),
    ("'partitions', 3", "id, day, _change_type", [(1, LEAP, "delete"), (2, LEAP, "delete")]),
    # columns from the range's last version, if a version has column mapping
    ("'mapped', 0, 2", "a, b", [(1, 1), (2, 2)]),
    (
        "'mapped', 1, 3",
        "a, b, c, _commit_version",
        [(1, 1, 1, 3), (1, 1, None, 1), (2, 2, 2, 3), (2, 2, None, 1)],
    ),
    ("'mapped', 4, 4", "a, b, c, _change_type", [(1, None, 1, "delete"), (2, None, 2, "insert")]),
    ("'mapped', 5, 6", "a, z", [(1, 1), (2, 2)]),
    ("'mapped', 7", "a, c, _change_type", [(1, 1, "delete"), (2, 2, "delete")]),
    ("'by_id', 0, 1", "x, s.y, _change_type", [(1, 5, "insert"), (2, None, "insert")]),
    ("'by_id', 2", "_change_type, s.y, x", [("delete", 5, 1), ("insert", None, 2)]),
    # columns from the latest version otherwise
    ("'widened', 1, 1", "a + 4294967296, s", [(4294967297, None), (4294967298, None)]),
    ("'widened', 2", "a, s, _change_type", [(n, None, kind) for n in (1, 2) for kind in ("delete", "insert")]),
    ("'switched', 2, 4", "a, _change_type", [(1, "delete"), (2, "delete")]),
    ("'switched', 4, 4", "*", []),
    ("'replaced', 3, 3", "*", []),
)


@pytest.mark.parametrize(("arguments", "columns", "expected"), READS)
def test_rows_have_the_columns_of_one_version(
    session: LakeSession, arguments: str, columns: str, expected: list[Row]
) -> None:
    assert sorted(rows(session, f"SELECT {columns} FROM table_changes({arguments})"), key=repr) == expected


REFUSED = (
    ("table_changes('shop.sales', 99)", "DELTA_CDC_START_VERSION_AFTER_LATEST", "22003"),
    ("table_changes('shop.sales', 3, 2)", "DELTA_INVALID_CDC_RANGE", "22003"),
    ("table_changes('shop.sales', -1)", "DELTA_VERSION_NOT_FOUND", "22003"),
    ("table_changes('shop.sales', NULL)", "DELTA_CDC_READ_NULL_RANGE_BOUNDARY", "22004"),
    ("table_changes('shop.sales', 0, CAST(NULL AS TIMESTAMP))", "DELTA_CDC_READ_NULL_RANGE_BOUNDARY", "22004"),
    ("table_changes('shop.sales', 1.5)", "DELTA_UNSUPPORTED_EXPRESSION", "0A000"),
    ("table_changes('shop.sales', true)", "DELTA_UNSUPPORTED_EXPRESSION", "0A000"),
    ("table_changes('shop.sales', 'soon')", "DELTA_TIMESTAMP_INVALID", "42816"),
    ("table_changes('shop.sales', '2999-01-01')", "DELTA_TIMESTAMP_GREATER_THAN_COMMIT", "42816"),
    ("table_changes('shop.sales', 0, '2999-01-01')", "DELTA_TIMESTAMP_GREATER_THAN_COMMIT", "42816"),
    ("table_changes('shop.sales', 0, '1999-01-01')", "DELTA_TIMESTAMP_EARLIER_THAN_COMMIT_RETENTION", "42816"),
    ("table_changes('shop.sales', ?)", "UNSUPPORTED_CLAUSE", "0A000"),
    ("table_changes('shop.sales', :unknown)", "UNBOUND_SQL_PARAMETER", "42P02"),
    ("table_changes('shop.sales', nope(1))", "UNRESOLVED_ROUTINE", "42883"),
    ("table_changes('nope', 0)", "TABLE_OR_VIEW_NOT_FOUND", "42P01"),
    ("table_changes_by_path('/etc', 0)", "PATH_NOT_ALLOWED", "42501"),
    ("table_changes('switched', 1, 3)", "DELTA_MISSING_CHANGE_DATA", "KD002"),
    ("table_changes('switched', 3)", "DELTA_MISSING_CHANGE_DATA", "KD002"),
    ("table_changes('mapped', 4, 6)", "DELTA_CHANGE_DATA_FEED_INCOMPATIBLE_DATA_SCHEMA", "0AKDC"),
    ("table_changes('mapped', 6, 7)", "DELTA_CHANGE_DATA_FEED_INCOMPATIBLE_DATA_SCHEMA", "0AKDC"),
    ("table_changes('replaced', 1, 3)", "DELTA_CHANGE_DATA_FEED_INCOMPATIBLE_SCHEMA_CHANGE", "0AKDC"),
    ("table_changes('replaced', 4, 4)", "DELTA_REMOVE_FILE_CDC_MISSING_EXTENDED_METADATA", "XXKDS"),
    ("table_changes('replaced', 5)", "FAILED_READ_FILE.FILE_NOT_EXIST", "KD001"),
)


@pytest.mark.parametrize(("source", "condition", "sqlstate"), REFUSED)
def test_unreadable_changes_are_rejected_with_error(
    session: LakeSession, source: str, condition: str, sqlstate: str
) -> None:
    with pytest.raises(SqlError) as caught:
        rows(session, f"SELECT * FROM {source}")
    assert (caught.value.condition, caught.value.sqlstate) == (condition, sqlstate)
    assert "__" not in str(caught.value)


@pytest.mark.parametrize("versions", ["9, 9", "9, 11"])
def test_messages_call_the_table_by_its_name(session: LakeSession, versions: str) -> None:
    """Plans with one scan and with two."""
    with pytest.raises(SqlError) as caught:
        rows(session, f"SELECT nope FROM table_changes('vectors', {versions})")
    assert (caught.value.condition, "__" in str(caught.value)) == ("UNRESOLVED_COLUMN.WITH_SUGGESTION", False)
    with pytest.raises(SqlError) as caught:
        rows(session, "SELECT * FROM table_changes('replaced', 5)")
    assert "The data file `spark_catalog`.`logged`.`replaced`/g does not exist" in str(caught.value)


# --- Ranges by time ---------------------------------------------------------------------------------------------------

HOURS: tuple[tuple[str, str, list[int]], ...] = (
    ("'2024-01-01 02:00:00'", "'2024-01-01 03:00:00'", [2, 3]),
    ("'2024-01-01 01:00:00.001'", "'2024-01-01 03:59:59.999'", [2, 3]),
    ("TIMESTAMP'2024-01-01 02:00:00'", "TIMESTAMP'2024-01-01 02:00:00' + INTERVAL 1 HOUR", [2, 3]),
    ("'1999-01-01'", "2", [0, 1, 2]),
    ("2", "TIMESTAMP'2024-01-01 02:30:00'", [2]),
    ("DATE'2024-01-01'", "1L", [0, 1]),
    ("CAST(1 + 1 AS SMALLINT)", "2", [2]),
    ("'2024-01-01 02:10:00'", "'2024-01-01 02:20:00'", []),
    ("9", "1000", [9, 11]),
)


@pytest.mark.parametrize(("start", "end", "versions"), HOURS)
def test_ranges_by_version_and_by_time(session: LakeSession, start: str, end: str, versions: list[int]) -> None:
    text = f"SELECT DISTINCT _commit_version FROM table_changes('vectors', {start}, {end}) ORDER BY 1"
    assert rows(session, text) == [(version,) for version in versions]


def test_times_are_of_the_session_s_zone_and_may_be_parameters(engine: LakeEngine) -> None:
    settings = {"spark.sql.session.timeZone": "America/New_York"}
    opened = engine.open_session(Identity("ann"), settings=settings, catalog=None, schema="logged")
    text = "SELECT DISTINCT _commit_version FROM table_changes('vectors', :start, :end) ORDER BY 1"
    named = [Parameter(name=name, value=f"2023-12-31 {hour}:00:00") for name, hour in (("start", 21), ("end", 22))]
    assert rows(opened, text, *named) == [(2,), (3,)]
    numbers = [Parameter(name=name, value="4", sql_type="bigint") for name in ("start", "end")]
    assert rows(opened, text, *numbers) == [(4,)]
    opened.close()


def test_a_start_after_the_latest_version_may_be_set_to_have_no_rows(engine: LakeEngine) -> None:
    key = "spark.databricks.delta.changeDataFeed.timestampOutOfRange.enabled"
    opened = engine.open_session(Identity("ann"), settings={key: "true"}, catalog=None, schema="logged")
    for arguments in ("12", "'2999-01-01'", "99, 100", "'2999-01-01', '2999-01-02'"):
        found = run(opened, f"SELECT * FROM table_changes('vectors', {arguments})")
        assert (found.num_rows, found.column_names) == (0, ["id", *OWN])
    assert rows(opened, "SELECT count(*) FROM table_changes('vectors', 11, '2999-01-01')") == [(2,)]
    opened.close()


# --- Places in a statement --------------------------------------------------------------------------------------------

PLACES = (
    ("SELECT count(*) FROM table_changes('vectors', 1, 2)", [(4,)]),
    ("SELECT min(id), max(id) FROM table_changes('vectors', 1, 2)", [(1, 3)]),
    ("SELECT c.id FROM table_changes('vectors', 1, 1) AS c ORDER BY c.id", [(1,), (2,)]),
    ("SELECT c.x, t FROM table_changes('vectors', 1, 1) c(x, t, v, s) ORDER BY x", [(1, "delete"), (2, "delete")]),
    ("SELECT id FROM `Table_Changes`('`logged`.vectors', 1, 1) WHERE _change_type = 'delete' AND id > 1", [(2,)]),
    ("SELECT id FROM table_changes('vectors', 0) WHERE _commit_version = 11 ORDER BY id", [(100,), (101,)]),
    (
        "SELECT id FROM table_changes('vectors', 0) WHERE _commit_timestamp = TIMESTAMP'2024-01-01 02:00:00Z'"
        " AND _change_type IN ('insert', 'update_preimage')",
        [(1,)],
    ),
    ("SELECT id FROM table_changes('vectors', 9, 9) WHERE _change_type LIKE '%post%'", [(3,)]),
    ("WITH c AS (FROM table_changes('vectors', 1, 1)) SELECT sum(c.id) FROM c, c d", [(6,)]),
    (
        "SELECT vectors.id, _change_type FROM vectors VERSION AS OF 0 JOIN table_changes('vectors', 1, 2) c"
        " ON vectors.id = c.id WHERE logged.vectors.id = 3",
        [(3, "delete")],
    ),
    (
        "SELECT vectors.id, _change_type FROM vectors VERSION AS OF 0 JOIN table_changes('vectors', 1, 2) USING (id)"
        " WHERE vectors.id = 3",
        [(3, "delete")],
    ),
    (
        "SELECT (SELECT count(*) FROM table_changes('vectors', 4, 5)),"
        " EXISTS (SELECT 1 FROM table_changes('vectors', 7, 7))",
        [(16, False)],
    ),
    ("SELECT a.id FROM table_changes('vectors', 1, 1) a JOIN table_changes('vectors', 2, 2) b ON a.id = b.id", [(1,)]),
    ("SELECT count(*) FROM table_changes('vectors', 1, 1) JOIN table_changes('vectors', 1, 1)", [(4,)]),
    ("FROM table_changes('vectors', 1, 1) |> WHERE id = 2 |> SELECT id", [(2,)]),
    (
        "SELECT * FROM (SELECT id, _change_type k FROM table_changes('vectors', 2, 2))"
        " PIVOT (max(id) FOR k IN ('insert', 'delete'))",
        [(1, 3)],
    ),
    ("SELECT count(*) FROM table_changes('delta.`{lake}/logged/vectors`', 1, 1)", [(2,)]),
    ("SELECT count(*) FROM table_changes_by_path('{lake}/logged/vectors', 1, 1)", [(2,)]),
)


@pytest.mark.parametrize(("text", "expected"), PLACES)
def test_changes_stand_wherever_a_table_does(session: LakeSession, lake: Path, text: str, expected: list[Row]) -> None:
    assert rows(session, text.format(lake=lake)) == expected


def test_views_see_the_changes_of_their_day(session: LakeSession, lake: Path) -> None:
    write_deltalake(lake / "shop" / "growing", pa.table({"id": [1]}), configuration=FEED)
    run(session, "CREATE VIEW v AS SELECT id, _change_type AS kind FROM table_changes('shop.growing', 0)")
    run(session, "CREATE TEMPORARY VIEW t AS SELECT kind, id FROM v")
    assert rows(session, "SELECT * FROM v") == [(1, "insert")]
    DeltaTable(lake / "shop" / "growing").delete()
    assert sorted(rows(session, "SELECT * FROM t")) == [("delete", 1), ("insert", 1)]
    with pytest.raises(SqlError) as caught:
        rows(session, "SELECT * FROM table_changes('v', 0)")
    assert caught.value.condition == "EXPECT_TABLE_NOT_VIEW"
    with pytest.raises(SqlError) as caught:
        named = (Parameter(name="start", value="0", sql_type="int"),)
        rows(session, "CREATE VIEW w AS SELECT id FROM table_changes('shop.growing', :start)", *named)
    assert caught.value.condition == "UNBOUND_SQL_PARAMETER"


def test_changes_can_be_explained_described_and_inserted(session: LakeSession, lake: Path) -> None:
    ((plan,),) = rows(session, "EXPLAIN SELECT id FROM table_changes('vectors', 9, 11)")
    assert "the changes of `spark_catalog`.`logged`.`vectors`" in plan and "__scan" not in plan and "__view" not in plan
    described = rows(session, "DESCRIBE QUERY SELECT * FROM table_changes('shop.sales', 0)")
    types = ["bigint", "string", "date", "string", "bigint", "timestamp"]
    assert [row[:2] for row in described] == list(zip(("id", "name", "day", *OWN), types, strict=True))
    run(session, "CREATE TABLE shop.audit AS SELECT * FROM table_changes('vectors', 0, 2)")
    run(session, "INSERT INTO shop.audit SELECT * FROM table_changes('vectors', 3, 9)")
    audit = DeltaTable(lake / "shop" / "audit").to_pyarrow_table()
    expected = run(session, "SELECT * FROM table_changes('vectors', 0, 9)")
    assert canonical(audit.to_pylist()) == canonical(expected.to_pylist())


# --- Files that are left out ------------------------------------------------------------------------------------------

PRUNED: tuple[tuple[str, list[int], int, int], ...] = (
    # condition, rows, and the files read out of 4 data files and one change data file
    ("id IS NOT NULL", [1, 1, 1, 2, 2, 2, 11, 11, 12], 4, 1),
    ("id = 11", [11, 11], 3, 1),
    ("id < 5", [1, 1, 1, 2, 2, 2], 3, 1),
    ("_commit_version = 1", [1, 2, 11, 12], 2, 0),
    ("_commit_version = 1 AND id > 5", [11, 12], 1, 0),
    ("_commit_timestamp >= TIMESTAMP'2024-01-01 03:00:00Z'", [1, 2, 11], 1, 1),
    ("_change_type = 'delete'", [1, 1, 2, 11], 2, 1),
    ("_change_type = 'update_preimage'", [], 0, 1),
)


@pytest.mark.parametrize(("condition", "expected", "data_files", "change_files"), PRUNED)
def test_files_that_cannot_match_are_left_out(
    session: LakeSession, condition: str, expected: list[int], data_files: int, change_files: int
) -> None:
    request = StatementRequest(identity=Identity("ann"))
    text = f"SELECT id FROM table_changes('counted', 1) WHERE {condition} ORDER BY id"
    result = session.execute(text, request)
    found = pa.Table.from_batches(result.batches(), result.schema)
    result.close()
    assert found["id"].to_pylist() == expected
    data, change = sorted(request.profile.reads, key=lambda read: -read.files_total)
    assert ((data.files_total, data.files), (change.files_total, change.files)) == ((4, data_files), (1, change_files))
    assert str(data).startswith("the changes of `spark_catalog`.`logged`.`counted`: versions 1 to 4, 4 files, ")


# --- Tables that we write ---------------------------------------------------------------------------------------------

WRITTEN = (
    "CREATE TABLE written (id BIGINT, p STRING) PARTITIONED BY (p) TBLPROPERTIES (delta.enableChangeDataFeed = true)",
    "INSERT INTO written VALUES (1, 'a'), (2, 'a'), (3, 'b'), (4, NULL)",
    "INSERT OVERWRITE written PARTITION (p = 'a') VALUES (5)",
    "INSERT INTO written REPLACE WHERE p = 'b' VALUES (6, 'b'), (7, 'b')",
    "INSERT OVERWRITE written VALUES (8, 'c')",
    "TRUNCATE TABLE written",
    "INSERT INTO written SELECT id, concat(p, p) FROM table_changes('written', 1, 1)",
)


def test_our_changes_are_read_by_deltalake(session: LakeSession, lake: Path) -> None:
    for statement in WRITTEN:
        run(session, statement)
    set_commit_times(lake / "logged" / "written")
    found = run(session, "SELECT * FROM table_changes('written', 0)")
    assert canonical(found.to_pylist()) == canonical(by_deltalake(lake / "logged" / "written", 0))
    changed = sorted(zip(*(found[name].to_pylist() for name in ("_commit_version", "_change_type", "id")), strict=True))
    assert changed == [
        *[(1, "insert", number) for number in (1, 2, 3, 4)],
        *[(2, "delete", 1), (2, "delete", 2), (2, "insert", 5)],
        *[(3, "delete", 3), (3, "insert", 6), (3, "insert", 7)],
        *[(4, "delete", number) for number in (4, 5, 6, 7)],
        *[(4, "insert", 8), (5, "delete", 8)],
        *[(6, "insert", number) for number in (1, 2, 3, 4)],
    ]
