"""Columns with types that Spark lacks, written through SQL and read by pyiceberg and DuckDB."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, time
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.conversions import from_bytes
from pyiceberg.table import StaticTable
from pyiceberg.types import PrimitiveType as PyIcebergPrimitive

from catalog.conditions import IcebergFeatureNotSupported
from engine.formats.iceberg.iceberg_format import IcebergFormat
from engine.main import LakeSession
from engine.storage.storage import open_storage
from tests.engine.iceberg.foreign import open_duckdb
from tests.engine.iceberg.handmade import HandmadeTable
from tests.engine.lake_sessions import refuse, rows, run
from tests.samples import with_slow

pytestmark = pytest.mark.spark

U1, U2, U3 = (
    "f79c3e09-677c-4bbd-a479-3f349cb785e7",
    "00000000-0000-0000-0000-00000000000a",
    "ffffffff" + "-ffff" * 3 + ("-" + "f" * 12),
)


def column(id: int, name: str, kind: Any, **more: Any) -> dict[str, Any]:
    return {"id": id, "name": name, "required": False, "type": kind, **more}


def listed(id: int, kind: Any) -> dict[str, Any]:
    return {"type": "list", "element-id": id, "element-required": False, "element": kind}


def mapped(id: int, key: Any, value: Any) -> dict[str, Any]:
    return {"type": "map", "key-id": id, "key": key, "value-id": id + 1, "value-required": False, "value": value}


V2 = [
    column(1, "id", "long"),
    column(2, "u", "uuid"),
    column(3, "f", "fixed[3]"),
    column(4, "t", "time"),
    column(5, "s", {"type": "struct", "fields": [column(6, "u", "uuid"), column(7, "n", "string")]}),
    column(8, "l", listed(9, "uuid")),
    column(10, "m", mapped(11, "string", "time")),
    column(13, "name", "string"),
]
NS = [column(14, "n", "timestamp_ns"), column(15, "z", "timestamptz_ns")]
ROWS = f"""
    (1, '{U1}', X'00ff01', '22:31:08.123456', struct('{U2}', 'x'), array('{U3}', NULL), map('k', '00:00:00'), 'one'),
    (2, '{U2}', X'000000', '00:00:00', struct(NULL, 'y'), array(), map(), 'two'),
    (3, '{U3.upper()}', X'ffffff', '23:59:59.999999', NULL, NULL, NULL, 'three'),
    (4, NULL, NULL, NULL, struct('{U1}', NULL), array(NULL), map('n', NULL, 'o', '12:30:00.5'), 'four')
"""
EXPECTED: list[tuple[Any, ...]] = [
    (1, U1, b"\x00\xff\x01", "22:31:08.123456", {"u": U2, "n": "x"}, [U3, None], [("k", "00:00:00")], "one"),
    (2, U2, bytes(3), "00:00:00", {"u": None, "n": "y"}, [], [], "two"),
    (3, U3, b"\xff\xff\xff", "23:59:59.999999", None, None, None, "three"),
    (4, None, None, None, {"u": U1, "n": None}, [None], [("n", None), ("o", "12:30:00.5")], "four"),
]


def made(lake: Path, name: str, columns: list[dict[str, Any]], **settings: Any) -> HandmadeTable:
    table = HandmadeTable(lake / name, columns=columns, **settings)
    table.write()
    return table


def newest(table: HandmadeTable) -> str:
    folder = table.folder / "metadata"
    return str(folder / f"v{(folder / 'version-hint.text').read_text()}.metadata.json")


def cell(value: Any) -> Any:
    match value:
        case UUID():
            return str(value)
        case time():
            whole, dot, fraction = value.isoformat().partition(".")
            return f"{whole}{dot}{fraction.rstrip('0')}"
        case datetime() if value.tzinfo is not None:
            return value.astimezone(UTC).replace(tzinfo=None)
        case dict():
            return {key: cell(each) for key, each in value.items()}
        case list():
            return [cell(each) for each in value]
        case tuple():
            return tuple(cell(each) for each in value)
        case _:
            return value


def by_duckdb(table: HandmadeTable) -> list[tuple[Any, ...]]:
    found = open_duckdb().execute(f"SELECT * FROM iceberg_scan('{newest(table)}') ORDER BY id").fetchall()
    return [
        tuple(_pairs(cell(value), column) for value, column in zip(row, table.columns, strict=True)) for row in found
    ]


def by_pyiceberg(table: HandmadeTable) -> list[tuple[Any, ...]]:
    found = StaticTable.from_metadata(newest(table)).scan().to_arrow().sort_by("id")
    return cell(list(zip(*(each.to_pylist() for each in found.columns), strict=True)))  # type: ignore[no-any-return]


def _pairs(value: Any, column: Mapping[str, Any]) -> Any:
    is_map = isinstance(column["type"], dict) and column["type"]["type"] == "map"
    return sorted(value.items()) if is_map and value is not None else value


def ours(session: LakeSession, table: HandmadeTable) -> list[tuple[Any, ...]]:
    return rows(session, f"SELECT * FROM {table.folder.name} ORDER BY id")


def files(table: HandmadeTable) -> list[Path]:
    return sorted(table.folder.rglob("*.parquet"))


MODES = [(2, "copy-on-write"), (2, "merge-on-read"), (3, "copy-on-write"), (3, "merge-on-read")]


@pytest.mark.parametrize(("version", "mode"), with_slow(MODES, (0, 3)), ids=lambda each: str(each))
def test_rows_are_written_and_changed(session: LakeSession, lake: Path, version: int, mode: str) -> None:
    modes = {f"write.{each}.mode": mode for each in ("delete", "update", "merge")}
    table = made(lake, f"typed{version}{mode[:4]}", V2, version=version, properties=modes)
    name = table.folder.name

    def check(expected: list[tuple[Any, ...]]) -> None:
        assert cell(ours(session, table)) == expected
        assert by_duckdb(table) == expected
        if version < 3:
            assert by_pyiceberg(table) == expected

    run(session, f"INSERT INTO {name} VALUES {ROWS}")
    check(EXPECTED)
    (file,) = files(table)
    leaves = [
        (each.path, each.physical_type, each.length, each.logical_type.type) for each in pq.ParquetFile(file).schema
    ]
    assert [each for each in leaves if each[3] == "UUID"] == [
        (path, "FIXED_LEN_BYTE_ARRAY", 16, "UUID") for path in ("u", "s.u", "l.list.element")
    ]
    assert {("f", "FIXED_LEN_BYTE_ARRAY", 3, "NONE"), ("t", "INT64", 0, "TIME")} <= {*leaves}
    run(session, f"UPDATE {name} SET name = 'changed', t = '01:02:03.000004' WHERE id = 2")
    changed = [(*row[:3], "01:02:03.000004", *row[4:7], "changed") if row[0] == 2 else row for row in EXPECTED]
    check(changed)
    run(session, f"DELETE FROM {name} WHERE u = '{U1}'")
    check(changed[1:])
    run(
        session,
        f"MERGE INTO {name} t USING (SELECT 3L AS id, '{U1}' AS u UNION ALL SELECT 9L, '{U2}') s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET u = s.u WHEN NOT MATCHED THEN INSERT (id, u) VALUES (s.id, s.u)",
    )
    merged = [(3, U1, *row[2:]) if row[0] == 3 else row for row in changed[1:]]
    merged.append((9, U2, None, None, None, None, None, None))
    check(merged)
    run(session, f"CALL system.rewrite_data_files('{name}', options => map('rewrite-all', 'true'))")
    check(merged)
    assert rows(session, f"SELECT id FROM {name} WHERE u = '{U2}' AND t IS NULL") == [(9,)]
    assert rows(session, f"SELECT min(t), max(u), count(u) FROM {name}") == [("01:02:03.000004", U1, 3)]


def test_bounds_are_those_of_the_values(session: LakeSession, lake: Path) -> None:
    table = made(lake, "bounded", V2)
    run(session, f"INSERT INTO bounded VALUES {ROWS}")
    (task,) = StaticTable.from_metadata(newest(table)).scan().plan_files()
    schema = StaticTable.from_metadata(newest(table)).schema()
    found = {}
    for name in ("u", "f", "t"):
        field = schema.find_field(name)
        assert isinstance(field.field_type, PyIcebergPrimitive)
        low, high = (bounds[field.field_id] for bounds in (task.file.lower_bounds, task.file.upper_bounds))
        found[name] = (from_bytes(field.field_type, low), from_bytes(field.field_type, high))
    assert found == {
        "u": (UUID(U2).bytes, UUID(U3).bytes),
        "f": (bytes(3), b"\xff\xff\xff"),
        "t": (0, 86_399_999_999),
    }
    assert task.file.null_value_counts == {**task.file.null_value_counts, 2: 1, 3: 1, 4: 1}


@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
def test_nanoseconds_are_written_exactly(session: LakeSession, lake: Path, mode: str) -> None:
    modes = {f"write.{each}.mode": mode for each in ("delete", "update", "merge")}
    table = made(lake, f"nanos_{mode[:4]}", [column(1, "id", "long"), *NS], version=3, properties=modes)
    name = table.folder.name
    run(session, "SET TIME ZONE 'America/New_York'")
    moments = ["2024-03-10 02:30:00.123456", "1677-09-21 00:12:43.145225", "2262-04-11 23:47:16.854775"]
    values = ", ".join(f"({k}, TIMESTAMP_NTZ'{each}', TIMESTAMP'{each}Z')" for k, each in enumerate(moments))
    run(session, f"INSERT INTO {name} VALUES {values}, (3, NULL, NULL)")
    expected = [(k, datetime.fromisoformat(each), datetime.fromisoformat(each)) for k, each in enumerate(moments)]
    assert cell(ours(session, table)) == [*expected, (3, None, None)]
    (file,) = files(table)
    stored = pq.read_table(file)
    assert [stored.schema.field(each).type for each in ("n", "z")] == [pa.timestamp("ns"), pa.timestamp("ns", "UTC")]
    micros = [(each - datetime(1970, 1, 1)) for _, each, _ in expected]
    nanos = [(each.days * 86_400 + each.seconds) * 10**9 + each.microseconds * 1000 for each in micros]
    assert stored["n"].cast(pa.int64()).to_pylist() == [*nanos, None] == stored["z"].cast(pa.int64()).to_pylist()
    run(session, f"UPDATE {name} SET n = TIMESTAMP_NTZ'1969-12-31 23:59:59.999999' WHERE id = 3")
    assert rows(session, f"SELECT n FROM {name} WHERE id = 3") == [(datetime(1969, 12, 31, 23, 59, 59, 999999),)]
    assert refuse(session, f"INSERT INTO {name} (id, n) VALUES (5, TIMESTAMP_NTZ'2262-04-12 00:00:00')").condition == (
        "CAST_INVALID_INPUT.STORED_TYPE"
    )
    run(session, "SET TIME ZONE 'UTC'")


def test_a_value_with_nanoseconds_is_never_lost(session: LakeSession, lake: Path) -> None:
    """Files that would need a rewrite stay, and others are read no more than before."""
    table = made(lake, "finer", [column(1, "id", "long"), NS[0]], version=3)
    table.commit(table.data({"id": [1, 2], "n": pa.array([1_700_000_000_000_000_001, 1000], pa.timestamp("ns"))}))
    assert rows(session, "SELECT id FROM finer WHERE id = 1") == [(1,)]
    assert "nanoseconds" in str(refuse(session, "SELECT n FROM finer"))
    assert "nanoseconds" in str(refuse(session, "UPDATE finer SET id = 3 WHERE id = 2"))
    run(session, "INSERT INTO finer VALUES (4, TIMESTAMP_NTZ'2024-01-01 00:00:00')")
    assert rows(session, "SELECT id FROM finer ORDER BY id") == [(1,), (2,), (4,)]


TERMS = (
    *("bucket(16, u)", "bucket(16, f)", "bucket(16, t)", "bucket(16, n)"),
    *("u", "f", "t", "year(n)", "month(n)", "day(n)", "hour(n)", "n"),
)
# Rows, and the partition values in the specification: its vectors, and units before 1970.
PARTS: list[tuple[str, dict[str, Any]]] = [
    (
        f"1, '{U1}', X'00010203', '22:31:08', TIMESTAMP_NTZ'2017-11-16 22:31:08'",
        {
            "u_bucket_16": 12,
            "f_bucket_16": 9,
            "t_bucket_16": 3,
            "n_bucket_16": 7,
            "u": U1,
            "t": "22:31:08",
            "n_hour": 419686,
        },
    ),
    (
        "2, NULL, NULL, '00:00:00', TIMESTAMP_NTZ'1969-12-31 10:00:00.000001'",
        {"u_bucket_16": None, "u": None, "f": None, "t": "00:00:00", "n_year": -1, "n_month": -1, "n_hour": -14},
    ),
    (f"3, '{U2}', X'00000000', NULL, NULL", {"u": U2, "n_bucket_16": None, "n_day": None, "n": None}),
]


def test_partitions_of_these_types(session: LakeSession, lake: Path) -> None:
    kinds = [column(1, "id", "long"), column(2, "u", "uuid"), column(3, "f", "fixed[4]"), column(4, "t", "time"), NS[0]]
    table = made(lake, "parts", kinds, version=3)
    for term in TERMS:
        run(session, f"ALTER TABLE parts ADD PARTITION FIELD {term}")
    run(session, f"INSERT INTO parts VALUES {', '.join(f'({row})' for row, _ in PARTS)}")
    found = rows(session, "SELECT partition FROM parts.partitions")
    shown = rows(session, "SELECT data_file.partition, data_file.lower_bounds[1] FROM parts.entries")
    assert len(found) == len(shown) == len(PARTS)
    by_id = {int.from_bytes(low, "little"): partition for partition, low in shown}
    for number, (_, expected) in enumerate(PARTS, 1):
        partition = {name: str(value) for name, value in by_id[number].items()}
        assert {name: partition[name] for name in expected} == {name: str(each) for name, each in expected.items()}
    assert rows(session, "SELECT u, f, t FROM parts ORDER BY id") == [
        (U1, b"\0\1\2\3", "22:31:08"),
        (None, None, "00:00:00"),
        (U2, bytes(4), None),
    ]
    run(session, f"UPDATE parts SET t = '01:00:00' WHERE u = '{U1}'")
    run(session, "DELETE FROM parts WHERE n < TIMESTAMP_NTZ'1970-01-01 00:00:00'")
    assert rows(session, "SELECT id, t FROM parts ORDER BY id") == [(1, "01:00:00"), (3, None)]
    run(session, "SET spark.sql.sources.partitionOverwriteMode = DYNAMIC")
    run(session, f"INSERT OVERWRITE parts VALUES (4, '{U2}', X'00000000', NULL, NULL)")
    run(session, "SET spark.sql.sources.partitionOverwriteMode = STATIC")
    assert rows(session, "SELECT id FROM parts ORDER BY id") == [(1,), (4,)]
    theirs = open_duckdb().execute(f"SELECT id, u, f, t FROM iceberg_scan('{newest(table)}') ORDER BY id").fetchall()
    assert cell(theirs) == [(1, U1, b"\0\1\2\3", "01:00:00"), (4, U2, bytes(4), None)]


def test_partitions_of_instants_of_nanoseconds(session: LakeSession, lake: Path) -> None:
    made(lake, "instants", [column(1, "id", "long"), NS[1]], version=3)
    for term in ("z", "day(z)"):
        run(session, f"ALTER TABLE instants ADD PARTITION FIELD {term}")
    run(session, "INSERT INTO instants VALUES (1, TIMESTAMP'1969-12-31 23:59:59.999999Z'), (2, NULL)")
    moment = datetime(1969, 12, 31, 23, 59, 59, 999999)
    found = rows(session, "SELECT partition.z, partition.z_day FROM instants.partitions ORDER BY 1 NULLS LAST")
    assert cell(found) == [(moment, moment.date()), (None, None)]
    assert cell(rows(session, "SELECT z FROM instants WHERE id = 1")) == [(moment,)]
    bounds = "partition_summaries[0].lower_bound, partition_summaries[1].upper_bound"
    assert rows(session, f"SELECT {bounds} FROM instants.manifests") == [(f"{moment.isoformat()}Z", "1969-12-31")]
    run(session, "UPDATE instants SET id = 3 WHERE z IS NOT NULL")
    assert cell(rows(session, "SELECT id, z FROM instants ORDER BY id")) == [(2, None), (3, moment)]


def test_changes_of_these_types(session: LakeSession, lake: Path) -> None:
    table = made(lake, "told", V2, properties={"write.update.mode": "merge-on-read"})
    run(session, f"INSERT INTO told VALUES {ROWS}")
    run(session, f"UPDATE told SET u = '{U2}' WHERE id = 3")
    found = rows(session, "SELECT id, u, t, _change_type FROM table_changes('told', 0) WHERE id = 3 ORDER BY u DESC, 4")
    last = "23:59:59.999999"
    assert found == [(3, U3, last, "delete"), (3, U3, last, "insert"), (3, U2, last, "insert")]
    assert len(files(table)) >= 2


def test_defaults_of_these_types(session: LakeSession, lake: Path) -> None:
    """For old rows, new ones, and set by a statement; nanoseconds that Spark cannot represent fail a query over
    them.
    """
    table = made(lake, "own_defaults", [column(1, "id", "long")], version=3)
    table.commit(table.data({"id": [1]}))
    both = {"u": U1, "f": "00ff10", "t": "22:31:08.123456", "n": "2017-11-16T22:31:08.123456000"}
    kinds = {"u": "uuid", "f": "fixed[3]", "t": "time", "n": "timestamp_ns"}
    added = [
        column(10 + at, name, kinds[name], **{"initial-default": value, "write-default": value})
        for at, (name, value) in enumerate(both.items())
    ]
    finer = {"initial-default": "2017-11-16T22:31:08.123456789+00:00"}
    table.evolve([column(1, "id", "long"), *added, column(20, "z", "timestamptz_ns", **finer)])
    run(session, "INSERT INTO own_defaults (id) VALUES (2)")
    moment = datetime(2017, 11, 16, 22, 31, 8, 123456)
    expected = (U1, b"\x00\xff\x10", "22:31:08.123456", moment)
    assert rows(session, "SELECT id, u, f, t, n FROM own_defaults ORDER BY id") == [(1, *expected), (2, *expected)]
    assert "nanoseconds" in str(refuse(session, "SELECT z FROM own_defaults"))
    run(session, f"ALTER TABLE own_defaults ALTER COLUMN u SET DEFAULT '{U3}'")
    run(session, "INSERT INTO own_defaults (id) VALUES (3)")
    assert rows(session, "SELECT u FROM own_defaults WHERE id = 3") == [(U3,)]
    refuse(session, "ALTER TABLE own_defaults ALTER COLUMN u SET DEFAULT 'no uuid'")


# A column with a default, and its value in files that lack it, or a part; the SQL and the value for a new one.
FILLED: list[tuple[Any, Any, Any, str, Any]] = [
    ("binary", {"initial-default": "00ff"}, b"\x00\xff", "X'01'", b"\x01"),
    ("fixed[2]", {"initial-default": "00ff"}, b"\x00\xff", "X'0102'", b"\x01\x02"),
    ("uuid", {"initial-default": U1}, U1, f"'{U2}'", U2),
    (
        {"type": "struct", "fields": [column(11, "x", "int", **{"initial-default": 5})]},
        {},
        {"x": 5},
        "struct(7)",
        {"x": 7},
    ),
]


@pytest.mark.parametrize("at", range(len(FILLED)))
def test_a_column_that_files_lack(session: LakeSession, lake: Path, at: int) -> None:
    """Also when read as the shown type. First all files lack it, then some."""
    kind, default, old, text, new = FILLED[at]
    table = made(lake, f"lacking{at}", [column(1, "id", "long")], version=3)
    data = {"id": pa.array([1, 2])}
    if not default:  # the struct has another field
        inner = pa.struct([pa.field("y", pa.int32(), metadata={"PARQUET:field_id": "12"})])
        data["c"] = pa.array([{"y": 1}, {"y": 2}], inner)
    metadata = [{"PARQUET:field_id": id} for id in ("1", "10")]
    fields = [pa.field(name, data[name].type, metadata=each) for name, each in zip(data, metadata, strict=False)]
    table.commit(table.data(pa.table(data, pa.schema(fields))))
    table.evolve([column(1, "id", "long"), column(10, "c", kind, **default)])
    name = table.folder.name
    assert rows(session, f"SELECT id, c FROM {name} ORDER BY id") == [(1, old), (2, old)]
    assert rows(session, f"SELECT count(*) FROM {name} WHERE c IS NOT NULL") == [(2,)]
    run(session, f"INSERT INTO {name} VALUES (3, {text}), (4, NULL)")
    before = rows(session, f"SELECT id, c, _row_id FROM {name} ORDER BY id")
    assert [row[:2] for row in before] == [(1, old), (2, old), (3, new), (4, None)]
    assert "rewrite_data_files" in str(refuse(session, f"UPDATE {name} SET id = 5 WHERE id = 1"))
    call = f"CALL system.rewrite_data_files(table => '{name}', options => map('rewrite-all', 'true'))"
    assert rows(session, call)[0][:2] == (2, 2)
    assert rows(session, f"SELECT id, c, _row_id FROM {name} ORDER BY id") == before
    run(session, f"UPDATE {name} SET id = 5 WHERE id = 1")
    assert rows(session, f"SELECT id, c FROM {name} ORDER BY id") == [(2, old), (3, new), (4, None), (5, old)]


def test_files_of_others_are_not_read_as_those_that_lack_a_column(lake: Path) -> None:
    """An overtaken commit checks if the new files have rows that concern it."""
    table = made(lake, "overtaken", [column(1, "id", "long")], version=3)
    table.commit(table.data({"id": [1]}))
    table.evolve([column(1, "id", "long"), column(10, "c", "binary", **{"initial-default": "00ff"})])
    snapshot = IcebergFormat(open_storage, 1 << 24).load(str(table.folder))
    with pytest.raises(IcebergFeatureNotSupported):
        snapshot.row_files.readable(snapshot.live_files.data)


def test_rows_in_the_order_of_their_days(session: LakeSession, lake: Path) -> None:
    """Within a day, the order's next column decides."""
    table = made(lake, "days", [column(1, "id", "long"), NS[0]], version=3)
    run(session, "ALTER TABLE days WRITE ORDERED BY day(n), id")
    moments = [(9, "2024-01-01 01:00:00"), (1, "2024-01-01 23:00:00"), (5, "2024-01-01 12:00:00"), (0, "2024-01-02")]
    run(session, "INSERT INTO days VALUES " + ", ".join(f"({id}, TIMESTAMP_NTZ'{at}')" for id, at in moments))
    (file,) = files(table)
    assert pq.read_table(file)["id"].to_pylist() == [1, 5, 9, 0]


REFUSED = [
    ("u", "'f79c3e09-677c-4bbd-a479-3f349cb785e'"),
    ("u", f"'{U1}\\n'"),
    ("u", f"replace('{U1}', '-', '')"),
    ("u", "''"),
    ("f", "X'00'"),
    ("f", "X'00000000'"),
    ("t", "'24:00:00'"),
    ("t", "'7:00:00'"),
    ("t", "'07:00:00.1234567'"),
    ("t", "'noon'"),
    ("s", "struct('no uuid', 'x')"),
    ("l", f"array('{U1}', 'no')"),
    ("m", "map('k', '99:00:00')"),
]


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_value_of_another_type_is_rejected(session: LakeSession, lake: Path, ansi: str) -> None:
    table = made(lake, f"refusing_{ansi}", V2)
    run(session, f"SET spark.sql.ansi.enabled = {ansi}")
    for name, value in REFUSED:
        error = refuse(session, f"INSERT INTO {table.folder.name} (id, {name}) VALUES (1, {value})")
        assert error.condition == "CAST_INVALID_INPUT.STORED_TYPE", (name, value, str(error))
        assert f"`{name}`" in str(error)
    assert files(table) == [] and ours(session, table) == []
    run(session, "RESET spark.sql.ansi.enabled")


def test_new_rows_that_replace_others_have_their_own_values(session: LakeSession, lake: Path) -> None:
    """Not the column's default, which all old files lack."""
    table = made(lake, "lacking", [column(1, "id", "long")], version=3)
    table.commit(table.data({"id": [1]}))
    table.evolve([column(1, "id", "long"), column(10, "c", "binary", **{"initial-default": "00ff"})])
    run(session, "INSERT INTO lacking REPLACE USING (c) VALUES (2, X'01')")
    assert rows(session, "SELECT * FROM lacking ORDER BY id") == [(1, b"\x00\xff"), (2, b"\x01")]
