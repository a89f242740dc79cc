"""Tables made by hand, with all that a writer may do, through SQL."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from engine.main import LakeSession
from tests.engine.iceberg.handmade import HandmadeTable
from tests.engine.lake_sessions import refuse, rows, run

pytestmark = pytest.mark.spark

ID = {"id": 1, "name": "id", "required": False, "type": "long"}
NAME = {"id": 2, "name": "name", "required": False, "type": "string"}


def new(lake: Path, name: str, **settings: Any) -> HandmadeTable:
    return HandmadeTable(lake / name, **settings)


def answer(session: LakeSession, text: str) -> list[tuple[Any, ...]]:
    return sorted(rows(session, text), key=str)


def column(id: int, name: str, kind: Any, **more: Any) -> dict[str, Any]:
    return {"id": id, "name": name, "required": False, "type": kind, **more}


# --- Columns ----------------------------------------------------------------------------------------------------------


def test_columns_are_found_by_id_whatever_their_names(session: LakeSession, lake: Path) -> None:
    """Two names swapped, one dropped and recreated, one promoted: the old file has other columns with these names."""
    table = new(lake, "swapped", columns=[column(1, "a", "int"), column(2, "b", "string"), column(3, "c", "int")])
    table.commit(table.data({"a": pa.array([1, 2], pa.int32()), "b": ["x", "y"], "c": pa.array([7, 8], pa.int32())}))
    table.evolve([column(1, "b", "long"), column(2, "a", "string"), column(4, "c", "string")])
    table.commit(table.data({"b": pa.array([3], pa.int64()), "a": ["z"], "c": ["new"]}))
    assert answer(session, "SELECT a, b, c FROM swapped") == [("x", 1, None), ("y", 2, None), ("z", 3, "new")]
    assert answer(session, "SELECT b FROM swapped WHERE a > 'x' AND c IS NULL") == [(2,)]
    assert answer(session, "SELECT * FROM swapped VERSION AS OF 1001") == [(1, "x", 7), (2, "y", 8)]


def test_nested_columns_evolve(session: LakeSession, lake: Path) -> None:
    old = {"type": "struct", "fields": [column(3, "x", "int"), column(4, "y", "float")]}
    items = {
        "type": "list",
        "element-id": 6,
        "element-required": False,
        "element": {"type": "struct", "fields": [column(7, "k", "int")]},
    }
    table = new(lake, "nested", columns=[ID, column(2, "s", old), column(5, "items", items)])

    def typed(rows: list[Any], schema: pa.Schema) -> pa.Table:
        return pa.Table.from_pylist(rows, schema)

    def field_with_id(name: str, kind: Any, id: int) -> pa.Field:
        return pa.field(name, kind, metadata={"PARQUET:field_id": str(id)})

    first = pa.schema(
        [
            field_with_id("id", pa.int64(), 1),
            field_with_id("s", pa.struct([field_with_id("x", pa.int32(), 3), field_with_id("y", pa.float32(), 4)]), 2),
            field_with_id(
                "items", pa.list_(field_with_id("element", pa.struct([field_with_id("k", pa.int32(), 7)]), 6)), 5
            ),
        ]
    )
    table.commit(table.data(typed([{"id": 1, "s": {"x": 5, "y": 0.5}, "items": [{"k": 1}, {"k": 2}]}], first)))
    renamed = {
        "type": "struct",
        "fields": [column(4, "x", "double"), column(8, "new", "string"), column(3, "z", "long")],
    }
    wide = {**items, "element": {"type": "struct", "fields": [column(9, "more", "int"), column(7, "key", "long")]}}
    table.evolve([column(2, "s", renamed), column(5, "items", wide)])
    expected = [({"x": 0.5, "new": None, "z": 5}, [{"more": None, "key": 1}, {"more": None, "key": 2}])]
    assert answer(session, "SELECT s, items FROM nested") == expected
    assert answer(session, "SELECT s.z, items[1].key FROM nested WHERE s.x = 0.5D") == [(5, 2)]


DEFAULTS: list[tuple[Any, Any, Any]] = [
    ("boolean", True, True),
    ("int", 7, 7),
    ("long", -(2**40), -(2**40)),
    ("double", 0.5, 0.5),
    ("decimal(9,2)", "14.20", Decimal("14.20")),
    ("string", "it's \\ \u00e9", "it's \\ \u00e9"),
    ("uuid", "f79c3e09-677c-4bbd-a479-3f349cb785e7", "f79c3e09-677c-4bbd-a479-3f349cb785e7"),
    ("time", "22:31:08.123456", "22:31:08.123456"),
    ("binary", "00ff", b"\x00\xff"),
]


def test_files_without_a_column_have_its_default(session: LakeSession, lake: Path) -> None:
    table = new(lake, "defaults", version=3)
    table.commit(table.data({"id": [1]}))
    added = [
        column(10 + at, f"c{at}", kind, **{"initial-default": value}) for at, (kind, value, _) in enumerate(DEFAULTS)
    ]
    table.evolve([ID, *added])
    assert rows(session, "SELECT * EXCEPT (id) FROM defaults") == [tuple(expected for _, _, expected in DEFAULTS)]
    assert rows(session, "SELECT id FROM defaults WHERE c1 = 7 AND c5 LIKE 'it%'") == [(1,)]
    assert rows(session, "SELECT id FROM defaults WHERE c1 = 8") == []


def test_defaults_inside_of_a_column_are_those_of_files_that_lack_them(session: LakeSession, lake: Path) -> None:
    one = {"type": "struct", "fields": [column(3, "x", "int")]}
    table = new(lake, "inner_defaults", version=3, columns=[ID, column(2, "s", one)])

    def file(rows_: list[Any], *fields: tuple[str, Any, int]) -> pa.Table:
        inner = pa.struct([pa.field(name, kind, metadata={"PARQUET:field_id": str(id)}) for name, kind, id in fields])
        schema = pa.schema(
            [
                pa.field("id", pa.int64(), metadata={"PARQUET:field_id": "1"}),
                pa.field("s", inner, metadata={"PARQUET:field_id": "2"}),
            ]
        )
        return pa.Table.from_pylist(rows_, schema)

    table.commit(table.data(file([{"id": 1, "s": {"x": 1}}, {"id": 2, "s": None}], ("x", pa.int32(), 3))))
    two = {"type": "struct", "fields": [column(3, "x", "int"), column(4, "y", "string", **{"initial-default": "old"})]}
    table.evolve([ID, column(2, "s", two)])
    table.commit(table.data(file([{"id": 3, "s": {"x": 3, "y": None}}], ("x", pa.int32(), 3), ("y", pa.string(), 4))))
    assert answer(session, "SELECT id, s FROM inner_defaults") == [
        (1, {"x": 1, "y": "old"}),
        (2, None),
        (3, {"x": 3, "y": None}),
    ]


def test_files_without_ids_are_read_by_the_name_mapping(session: LakeSession, lake: Path) -> None:
    mapping = '[{"field-id": 1, "names": ["id", "key"]}, {"field-id": 2, "names": ["full.name"]}, {"names": ["name"]}]'
    table = new(lake, "mapped", columns=[ID, NAME], properties={"schema.name-mapping.default": mapping})
    table.commit(
        table.data({"key": [1], "full.name": ["a"], "name": ["other"]}, {}),
        table.data({"id": [2], "name": ["other"]}, {}),
        table.data({"id": [3], "name": ["c"]}),
    )
    assert answer(session, "SELECT * FROM mapped") == [(1, "a"), (2, None), (3, "c")]
    assert answer(session, "SELECT id FROM mapped WHERE name = 'c'") == [(3,)]


def test_files_without_ids_are_refused_where_nothing_maps_them(session: LakeSession, lake: Path) -> None:
    table = new(lake, "unmapped")
    table.commit(table.data({"id": [1]}, {}))
    assert refuse(session, "SELECT * FROM unmapped").condition == "FAILED_READ_FILE.NO_FIELD_IDS"


IDENTITY = [{"spec-id": 0, "fields": [{"source-id": 2, "field-id": 1000, "name": "name", "transform": "identity"}]}]


def test_a_column_that_is_in_the_partition_alone_has_its_value(session: LakeSession, lake: Path) -> None:
    """Tables migrated from Hive are stored like this; an empty string is a value."""
    table = new(lake, "migrated", columns=[ID, NAME], specs=IDENTITY, partition=[(1000, "name", "string")])
    table.commit(
        *(table.data({"id": [number]}, partition={"name": name}) for number, name in enumerate(["a", "", None])),
        table.data({"id": [3], "name": ["b"]}, partition={"name": "b"}, value_counts={1: 1, 2: 1}),
    )
    assert answer(session, "SELECT * FROM migrated") == [(0, "a"), (1, ""), (2, None), (3, "b")]
    assert answer(session, "SELECT id FROM migrated WHERE name = ''") == [(1,)]
    assert answer(session, "SELECT id FROM migrated WHERE name IS NULL OR name = 'b'") == [(2,), (3,)]


FILLED: list[tuple[Any, Any, Any, Any]] = [
    ("int", "int", -5, -5),
    ("double", "double", 0.5, 0.5),
    ("boolean", "boolean", False, False),
    ("date", {"type": "int", "logicalType": "date"}, 19000, "2022-01-08"),
    ("timestamp", {"type": "long", "logicalType": "timestamp-micros"}, -1, "1969-12-31 23:59:59.999999"),
    ("timestamptz", "long", 1_000_001, "1970-01-01 00:00:01.000001"),
    ("decimal(9,2)", "bytes", (-1420).to_bytes(2, "big", signed=True), Decimal("-14.20")),
    ("binary", "bytes", b"\xff\x00", b"\xff\x00"),
    ("uuid", {"type": "fixed", "name": "u", "size": 16}, bytes(16), "00000000-0000-0000-0000-000000000000"),
]


@pytest.mark.parametrize(("kind", "avro", "value", "expected"), FILLED, ids=[each[0] for each in FILLED])
def test_partition_values_of_every_type_fill_a_column(
    session: LakeSession, lake: Path, kind: str, avro: Any, value: Any, expected: Any
) -> None:
    name = f"filled_{kind.partition('(')[0]}"
    table = new(lake, name, columns=[ID, column(2, "name", kind)], specs=IDENTITY, partition=[(1000, "name", avro)])
    table.commit(table.data({"id": [1]}, partition={"name": value}))
    shown = "string(name)" if isinstance(expected, str) else "name"
    run(session, "SET TIME ZONE 'UTC'")
    assert rows(session, f"SELECT {shown} FROM {name}") == [(expected,)]


# --- Deletes ----------------------------------------------------------------------------------------------------------


def test_rows_are_deleted_by_position_in_files_that_are_not_newer(session: LakeSession, lake: Path) -> None:
    table = new(lake, "positions")
    first = table.data({"id": list(range(10))})
    table.commit(first)
    second = table.data({"id": [10, 11]})
    table.commit(table.positions([first["file_path"]] * 3, [9, 0, 0]), second)
    table.commit(table.positions([second["file_path"], first["file_path"]], [1, 5]))
    assert answer(session, "SELECT count(*), min(id), max(id), sum(id) FROM positions") == [(8, 1, 10, 41)]
    assert answer(session, "SELECT count(*) FROM positions VERSION AS OF 1001") == [(10,)]
    third = table.data({"id": [20, 21]}, _sequence_number=9)
    table.commit(table.positions([third["file_path"]], [0]), third)
    assert answer(session, "SELECT id FROM positions WHERE id >= 20") == [(20,), (21,)]


def test_rows_are_deleted_by_vectors(session: LakeSession, lake: Path) -> None:
    """Several in one file, and instead of position delete files."""
    table = new(lake, "vectors", version=3)
    first, second = table.data({"id": list(range(10))}), table.data({"id": list(range(10, 20))})
    table.commit(first, second, table.positions([first["file_path"]], [0]))
    table.commit(*table.vectors({first["file_path"]: [1, 2], second["file_path"]: [9]}))
    assert answer(session, "SELECT count(*), sum(id) FROM vectors") == [(17, 190 - 3 - 19)]


EQUALITIES: list[tuple[str, list[int], dict[str, Any], list[tuple[Any, ...]]]] = [
    ("one column", [1], {"id": [1, 4]}, [(2, "b"), (3, None)]),
    ("null equals null", [2], {"name": pa.array([None], pa.string())}, [(1, "a"), (2, "b"), (4, "a")]),
    ("two columns", [1, 2], {"id": [1, 2, 3], "name": ["a", "x", None]}, [(2, "b"), (4, "a")]),
    ("other columns do not count", [1], {"id": [1], "name": ["other"]}, [(2, "b"), (3, None), (4, "a")]),
]


@pytest.mark.parametrize(("name", "by", "deleted", "expected"), EQUALITIES, ids=[each[0] for each in EQUALITIES])
def test_rows_are_deleted_by_equality(
    session: LakeSession, lake: Path, name: str, by: list[int], deleted: dict[str, Any], expected: list[Any]
) -> None:
    called = name.replace(" ", "_")
    table = new(lake, called, columns=[ID, NAME])
    table.commit(table.data({"id": [1, 2, 3, 4], "name": ["a", "b", None, "a"]}))
    table.commit(table.equality(deleted, by), operation="delete")
    assert answer(session, f"SELECT * FROM {called}") == expected
    assert rows(session, f"SELECT count(*) FROM {called}") == [(len(expected),)]
    table.commit(table.data({"id": [1, 3], "name": ["a", None]}))
    assert answer(session, f"SELECT * FROM {called}") == sorted([*expected, (1, "a"), (3, None)], key=str)


def test_equality_deletes_apply_to_their_partition_and_those_of_an_unpartitioned_spec_to_all(
    session: LakeSession, lake: Path
) -> None:
    specs = [{"spec-id": 7, "fields": []}, *IDENTITY]
    table = new(lake, "partitioned", columns=[ID, NAME], specs=specs, partition=[(1000, "name", "string")])
    metrics: dict[str, Any] = {"value_counts": {1: 2, 2: 2}}
    table.commit(
        table.data({"id": [1, 2], "name": ["a", "a"]}, partition={"name": "a"}, **metrics),
        table.data({"id": [1, 2], "name": ["b", "b"]}, partition={"name": "b"}, **metrics),
    )
    table.commit(table.equality({"id": [1]}, [1], partition={"name": "a"}))
    assert answer(session, "SELECT * FROM partitioned") == [(1, "b"), (2, "a"), (2, "b")]
    table.commit(table.equality({"id": [2]}, [1]), spec=7)
    assert answer(session, "SELECT * FROM partitioned") == [(1, "b")]


def test_equality_deletes_hold_after_their_column_was_renamed_and_dropped(session: LakeSession, lake: Path) -> None:
    table = new(lake, "dropped_key", columns=[ID, NAME])
    table.commit(table.data({"id": [1, 2, 3], "name": ["a", "b", None]}))
    table.commit(table.equality({"name": ["b"]}, [2]))
    table.evolve([ID, column(2, "renamed", "string")])
    assert answer(session, "SELECT * FROM dropped_key") == [(1, "a"), (3, None)]
    table.evolve([ID, column(3, "name", "int")])
    assert answer(session, "SELECT * FROM dropped_key") == [(1, None), (3, None)]


def test_deletes_of_all_kinds_together(session: LakeSession, lake: Path) -> None:
    table = new(lake, "together", version=3, columns=[ID, NAME])
    first = table.data({"id": list(range(6)), "name": list("abcdef")})
    second = table.data({"id": list(range(6, 12)), "name": list("ghijkl")})
    table.commit(first, second)
    table.commit(table.equality({"id": [1, 7]}, [1]), table.positions([first["file_path"]], [0]))
    table.commit(*table.vectors({second["file_path"]: [5]}), table.equality({"name": ["c", "l"]}, [2]))
    assert answer(session, "SELECT id FROM together ORDER BY id") == [(10,), (3,), (4,), (5,), (6,), (8,), (9,)]
    assert answer(session, "SELECT count(*) FROM together WHERE id > 4") == [(5,)]


# --- Statements -------------------------------------------------------------------------------------------------------


@pytest.fixture
def made(session: LakeSession, lake: Path) -> LakeSession:
    """Creates a table `made` with three snapshots, a branch and a tag, and a Delta table `plain`."""
    if not (lake / "made").exists():
        table = new(lake, "made", columns=[ID, NAME])
        table.commit(table.data({"id": [1], "name": ["a"]}))
        table.commit(table.data({"id": [2], "name": ["b"]}))
        table.refs = {
            "audit": {"snapshot-id": 1001, "type": "branch"},
            "first": {"snapshot-id": 1001, "type": "tag"},
            "main": {"snapshot-id": 1003, "type": "branch"},
        }
        table.evolve([ID, NAME, column(3, "more", "int")])
        table.commit(table.data({"id": [3], "name": ["c"], "more": pa.array([3], pa.int32())}))
        run(session, "CREATE TABLE plain AS SELECT 2 AS id, 'delta' AS kind")
    return session


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT count(*) FROM made", [(3,)]),
        ("SELECT m.name, p.kind FROM made m JOIN plain p USING (id)", [("b", "delta")]),
        ("SELECT * FROM made VERSION AS OF 1002", [(1, "a"), (2, "b")]),
        ("SELECT * FROM made VERSION AS OF 'first'", [(1, "a")]),
        ("SELECT * FROM made VERSION AS OF 'audit'", [(1, "a", None)]),
        ("SELECT count(*) FROM made FOR SYSTEM_VERSION AS OF 1002", [(2,)]),
        ("SELECT count(*) FROM made TIMESTAMP AS OF timestamp_millis(1700000130000)", [(2,)]),
        ("SELECT a.id FROM made a JOIN made VERSION AS OF 1001 b ON a.id = b.id", [(1,)]),
        ("SELECT id FROM made WHERE name > 'a' AND id < 3", [(2,)]),
        ("SELECT max(id), min(id), count(*) FROM made", [(3, 1, 3)]),
        ("WITH made AS (SELECT 9 AS id) SELECT id FROM made", [(9,)]),
        ("SELECT made.id FROM made WHERE made.more = 3", [(3,)]),
        ("SELECT spark_catalog.default.made.id FROM made WHERE more IS NOT NULL", [(3,)]),
    ],
)
def test_a_query_means_what_it_means_of_any_table(made: LakeSession, text: str, expected: list[Any]) -> None:
    assert answer(made, text) == expected


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("CREATE TABLE copy CLONE made", "DELTA_TABLE_ONLY_OPERATION"),
        ("SELECT * FROM made VERSION AS OF 7", "ICEBERG_SNAPSHOT_NOT_FOUND"),
        ("SELECT * FROM made VERSION AS OF 'none'", "ICEBERG_SNAPSHOT_NOT_FOUND"),
        ("SELECT * FROM made TIMESTAMP AS OF '2001-01-01'", "ICEBERG_SNAPSHOT_NOT_FOUND"),
        ("SELECT * FROM plain VERSION AS OF 'none'", "INVALID_TIME_TRAVEL_SPEC"),
    ],
)
def test_unsupported_iceberg_tables_are_refused(made: LakeSession, text: str, condition: str) -> None:
    assert refuse(made, text).condition == condition


def test_rows_are_copied_into_a_delta_table(made: LakeSession) -> None:
    run(made, "CREATE TABLE copied AS SELECT * FROM made")
    run(made, "MERGE INTO copied USING made ON copied.id = made.id WHEN MATCHED THEN UPDATE SET name = 'm'")
    assert answer(made, "SELECT id, name FROM copied") == [(1, "m"), (2, "m"), (3, "m")]


def test_a_table_is_described(made: LakeSession, lake: Path) -> None:
    assert ("id", "bigint", None) in rows(made, "DESCRIBE made")
    assert ("Provider", "iceberg") in [row[:2] for row in rows(made, "DESCRIBE EXTENDED made")]
    assert [row[1] for row in rows(made, "SHOW TABLES LIKE 'made'")] == ["made"]
    assert rows(made, "SELECT column_name FROM information_schema.columns WHERE table_name = 'made'") == [
        ("id",),
        ("name",),
        ("more",),
    ]
    assert [row[0] for row in rows(made, "DESCRIBE HISTORY made")] == [1003, 1002, 1001]
    assert "USING iceberg" in rows(made, "SHOW CREATE TABLE made")[0][0]


def test_a_metadata_file_is_a_table_as_it_says(made: LakeSession, lake: Path) -> None:
    file = lake / "made/metadata/v2.metadata.json"
    assert answer(made, f"SELECT * FROM iceberg.`{file}`") == [(1, "a"), (2, "b")]


def test_a_moved_table_is_read_where_it_is(session: LakeSession, lake: Path) -> None:
    table = new(lake, "before", columns=[ID, NAME])
    first = table.data({"id": [1, 2], "name": ["a", "b"]})
    table.commit(first, table.positions([first["file_path"]], [0]))
    (lake / "before").rename(lake / "after")
    assert answer(session, "SELECT * FROM after") == [(2, "b")]


METADATA: list[tuple[str, list[Any]]] = [
    (
        "SELECT snapshot_id, parent_id, operation FROM made.snapshots",
        [(1001, None, "append"), (1002, 1001, "append"), (1003, 1002, "append")],
    ),
    ("SELECT unix_millis(made_current_at), is_current_ancestor FROM made.history LIMIT 1", [(1700000060000, True)]),
    (
        "SELECT name, type, snapshot_id FROM made.refs",
        [("audit", "BRANCH", 1001), ("first", "TAG", 1001), ("main", "BRANCH", 1003)],
    ),
    ("SELECT content, partition_spec_id, added_data_files_count FROM made.manifests", [(0, 0, 1)] * 3),
    (
        "SELECT content, record_count, lower_bounds[1], null_value_counts[1] FROM spark_catalog.default.made.files",
        [(0, 1, None, None)] * 3,
    ),
    ("SELECT count(*) FROM default.made.data_files VERSION AS OF 1002", [(2,)]),
    ("SELECT count(*) FROM made.delete_files", [(0,)]),
    (
        "SELECT status, snapshot_id, sequence_number, data_file.record_count FROM made.entries",
        [(1, 1001, 1, 1), (1, 1002, 2, 1), (1, 1003, 3, 1)],
    ),
    ("SELECT spec_id, record_count, file_count FROM made.partitions", [(0, 3, 3)]),
    ("SELECT count(*) FROM made.all_data_files", [(3,)]),
    ("SELECT latest_snapshot_id FROM made.metadata_log_entries", [(None,)]),
    (
        "SELECT s.operation FROM made m JOIN made.snapshots s ON s.snapshot_id = 1000 + m.id WHERE m.id = 2",
        [("append",)],
    ),
]


@pytest.mark.parametrize(("text", "expected"), METADATA)
def test_metadata_is_read_as_tables(made: LakeSession, text: str, expected: list[Any]) -> None:
    assert answer(made, text) == sorted(expected, key=str)


def test_metadata_of_partitioned_tables(session: LakeSession, lake: Path) -> None:
    spec = {"spec-id": 0, "fields": [{"source-id": 3, "field-id": 1000, "name": "d", "transform": "day"}]}
    table = new(
        lake, "by_day", columns=[ID, column(3, "at", "timestamp")], specs=[spec], partition=[(1000, "d", "int")]
    )
    first = table.data({"id": [1]}, partition={"d": 19000}, lower_bounds={1: b"\x01"})
    table.commit(first, table.data({"id": [2, 3]}, partition={"d": None}))
    table.commit(table.positions([first["file_path"]], [0], partition={"d": 19000}))
    assert answer(
        session, "SELECT string(partition.d), record_count, position_delete_file_count FROM by_day.partitions"
    ) == [
        ("2022-01-08", 1, 1),
        (None, 2, 0),
    ]
    assert answer(session, "SELECT content, hex(lower_bounds[1]), partition.d IS NULL FROM by_day.files") == [
        (0, "01", False),
        (0, None, True),
        (1, None, False),
    ]


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("SELECT * FROM made.nothing", "ICEBERG_METADATA_TABLE_NOT_FOUND"),
        ("SELECT * FROM plain.snapshots", "TABLE_OR_VIEW_NOT_FOUND"),
        ("SELECT * FROM none.files", "TABLE_OR_VIEW_NOT_FOUND"),
    ],
)
def test_there_is_no_other_metadata(made: LakeSession, text: str, condition: str) -> None:
    assert refuse(made, text).condition == condition


def test_a_table_that_is_read_by_several_scans_is_the_source_of_writes(session: LakeSession, lake: Path) -> None:
    table = new(lake, "several", columns=[ID, column(2, "key", "uuid")])
    key = pa.array([bytes(15) + bytes([number]) for number in range(4)], pa.binary(16))
    table.commit(table.data({"id": [0, 1, 2, 3], "key": key}))
    table.commit(table.equality({"id": [1]}, [1], {"id": 1}))
    table.commit(table.data({"id": [9], "key": key.slice(0, 1)}))
    run(session, "CREATE TABLE written AS SELECT id, key FROM several WHERE id < 3")
    run(
        session,
        "MERGE INTO written AS t USING several AS s ON t.id = s.id WHEN MATCHED AND s.id = 0 THEN DELETE"
        " WHEN NOT MATCHED THEN INSERT *",
    )
    run(session, "UPDATE written SET key = 'x' WHERE id IN (SELECT max(id) FROM several)")
    run(session, "CREATE VIEW over_several AS SELECT id AS n FROM several")
    ending = "00000000-0000-0000-0000-00000000000"
    assert answer(session, "SELECT id, key FROM written") == [(2, f"{ending}2"), (3, f"{ending}3"), (9, "x")]
    assert answer(session, "SELECT n FROM over_several WHERE n > 2") == [(3,), (9,)]
    assert answer(session, f"SELECT id FROM several WHERE key = '{ending}0'") == [(0,), (9,)]
    assert rows(session, "SELECT max(id), count(DISTINCT key) FROM several") == [(9, 3)]
