"""Avro data files: read by field name, and rejected with a named error if row positions are required.

`tests/oracle` compares files from Iceberg's own writers.
"""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import pytest

from engine.main import LakeSession
from tests.engine.iceberg.handmade import HandmadeTable, optional
from tests.engine.lake_sessions import refuse, rows

pytestmark = pytest.mark.spark


def column(id: int, name: str, type_: Any) -> dict[str, Any]:
    return {"id": id, "name": name, "required": False, "type": type_}


PLACE = {"type": "struct", "fields": [column(21, "y", "long"), column(22, "x", "string"), column(23, "z", "string")]}
COLUMNS = [
    column(1, "id", "long"),
    column(2, "name", "string"),
    column(3, "d", "double"),
    column(4, "c", "decimal(20, 2)"),
    column(5, "day", "date"),
    column(6, "at", "timestamptz"),
    column(7, "u", "uuid"),
    column(8, "x", "fixed[3]"),
    column(20, "place", PLACE),
    column(30, "l", {"type": "list", "element-id": 31, "element-required": False, "element": "long"}),
    column(
        40, "m", {"type": "map", "key-id": 41, "key": "string", "value-id": 42, "value-required": False, "value": "int"}
    ),
    column(50, "more", "string"),
]
FIELDS = [
    optional(2, "id", "string"),
    optional(1, "_x31_d", "int"),
    optional(3, "more", "float"),
    optional(4, "c", {"type": "fixed", "name": "c", "size": 4, "logicalType": "decimal", "precision": 9, "scale": 2}),
    optional(5, "day", {"type": "int", "logicalType": "date"}),
    optional(6, "at", {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": True}),
    optional(7, "u", {"type": "fixed", "name": "u", "size": 16, "logicalType": "uuid"}),
    optional(8, "x", {"type": "fixed", "name": "x", "size": 3}),
    optional(
        20, "p", {"type": "record", "name": "r20", "fields": [optional(22, "y", "string"), optional(21, "x", "int")]}
    ),
    optional(30, "l", {"type": "array", "items": ["null", "int"], "element-id": 31}),
    optional(40, "m", {"type": "map", "values": ["null", "int"], "key-id": 41, "value-id": 42}),
]
ROW: dict[str, Any] = {
    "id": "a name",
    "_x31_d": 7,
    "more": 0.5,
    "c": Decimal("-12.30"),
    "day": date(1500, 1, 2),
    "at": datetime(1800, 1, 2, 3, 4, 5, 6, tzinfo=UTC),
    "u": bytes(range(16)),
    "x": b"\0\1\2",
    "p": {"y": "x", "x": 8},
    "l": [1, None],
    "m": {"k": 1, "n": None},
}
EXPECTED = (
    *(7, "a name", 0.5, Decimal("-12.30"), date(1500, 1, 2), datetime(1800, 1, 2, 3, 4, 5, 6, tzinfo=UTC)),
    *("00010203-0405-0607-0809-0a0b0c0d0e0f", b"\0\1\2", {"y": 8, "x": "x", "z": None}, [1, None]),
    *([("k", 1), ("n", None)], None),
)


def avro_file(table: HandmadeTable, fields: list[Any], rows: list[Any], codec: str = "deflate") -> dict[str, Any]:
    path = f"{table.location}/data/{len(table.snapshots)}-{len(rows)}.avro"
    local = table.folder / path.removeprefix(f"{table.location}/")
    with local.open("wb") as file:
        fastavro.writer(file, {"type": "record", "name": "table", "fields": fields}, rows, codec=codec)
    size = local.stat().st_size
    return {
        "content": 0,
        "file_path": path,
        "file_format": "avro",
        "record_count": len(rows),
        "file_size_in_bytes": size,
    }


def test_columns_are_found_by_the_ids_of_the_file(session: LakeSession, lake: Path) -> None:
    """Their names now belong to other columns, and they have been promoted."""
    table = HandmadeTable(lake / "avro", columns=COLUMNS)
    old = avro_file(table, FIELDS, [ROW, dict.fromkeys(ROW)])
    table.commit(old)
    table.commit(table.data({"id": [9], "name": ["in Parquet"]}))
    session_rows = rows(session, "SELECT * FROM avro ORDER BY id NULLS FIRST")
    assert session_rows[0] == (None,) * len(COLUMNS) and session_rows[2][:2] == (9, "in Parquet")
    assert session_rows[1] == EXPECTED
    assert rows(session, "SELECT id FROM avro WHERE name = 'a name' AND place.y = 8 AND day < '1582-10-15'") == [(7,)]
    assert rows(session, "SELECT count(*), max(_file) FROM avro WHERE id = 7") == [(1, old["file_path"])]
    table.commit(table.equality({"id": [7]}, [1]), operation="delete")
    assert rows(session, "SELECT id FROM avro ORDER BY id") == [(None,), (9,)]
    assert refuse(session, "SELECT _pos FROM avro").condition.startswith("UNRESOLVED_COLUMN")
    assert refuse(session, "DELETE FROM avro WHERE id = 1").condition == "ICEBERG_ROWS_NOT_CHANGEABLE"


def test_files_without_ids_are_read_by_the_name_mapping(session: LakeSession, lake: Path) -> None:
    mapping = [{"field-id": 1, "names": ["no"]}, {"field-id": 2, "names": ["called"]}]
    properties = {"schema.name-mapping.default": json.dumps(mapping)}
    table = HandmadeTable(lake / "mapped", columns=COLUMNS[:2], properties=properties)
    fields = [{"name": "called", "type": "string"}, {"name": "no", "type": "int"}]
    table.commit(avro_file(table, fields, [{"called": "a", "no": 1}], codec="null"))
    assert rows(session, "SELECT * FROM mapped") == [(1, "a")]


KEYS = {"type": "map", "key-id": 3, "key": "int", "value-id": 4, "value-required": False, "value": "int"}
ENTRY = {
    "type": "record",
    "name": "k3_v4",
    "fields": [{"name": "key", "type": "int", "field-id": 3}, optional(4, "value", "int")],
}
# A map whose keys are no texts, as Iceberg has it in Avro.
PAIRS = {"type": "array", "logicalType": "map", "items": ENTRY}
MOMENT = {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": False}
UNREAD = "FAILED_READ_FILE.UNSUPPORTED_COLUMN"


@pytest.mark.parametrize(
    ("name", "added", "stored", "value", "expected"),
    [
        ("time", column(2, "t", "time"), {"type": "long", "logicalType": "time-micros"}, time(1, 2), "column t"),
        ("moment", column(2, "t", "timestamp"), MOMENT, datetime(2024, 5, 6), "column t"),
        ("keys", column(2, "t", KEYS), PAIRS, [{"key": 1, "value": 2}], "map t without text keys"),
        ("default", {**column(2, "t", "int"), "initial-default": 3}, None, None, "default of t"),
        (
            "inner",
            column(2, "t", {"type": "struct", "fields": [column(5, "s", "string"), column(6, "at", "timestamp")]}),
            {"type": "record", "name": "r2", "fields": [optional(5, "s", "string"), optional(6, "at", MOMENT)]},
            {"s": "a", "at": datetime(2024, 5, 6)},
            "column at",
        ),
    ],
)
def test_file_that_spark_reads_differently_is_rejected(
    session: LakeSession, lake: Path, name: str, added: dict[str, Any], stored: Any, value: Any, expected: str
) -> None:
    """Queries over other columns succeed, and so do tables whose Avro files lack the column."""
    table = HandmadeTable(lake / f"unread_{name}", columns=[COLUMNS[0], added], version=3)
    if stored is None:
        table.commit(avro_file(table, [optional(1, "id", "int")], [{"id": 1}]))
    else:
        table.commit(avro_file(table, [optional(1, "id", "int")], [{"id": 8}, {"id": 9}]))
        assert rows(session, f"SELECT * FROM unread_{name} ORDER BY id") == [(8, None), (9, None)]
        fields = [optional(1, "id", "int"), optional(2, "of the file", stored)]
        table.commit(avro_file(table, fields, [{"id": 1, "of the file": value}]))
    table.commit(table.data({"id": [3]}))
    expected_ids = [(1,), (3,)] if stored is None else [(1,), (3,), (8,), (9,)]
    assert rows(session, f"SELECT id FROM unread_{name} ORDER BY id") == expected_ids
    assert rows(session, f"SELECT count(*), max(id) FROM unread_{name} WHERE id < 8") == [(2, 3)]
    for text in ("SELECT *", "SELECT id, t", "SELECT count(t)", "SELECT id, CAST(t AS STRING)"):
        refused = refuse(session, f"{text} FROM unread_{name}")
        assert refused.condition == UNREAD and f"unread_{name}` contains the {expected}" in str(refused)
    assert refuse(session, f"SELECT id FROM unread_{name} WHERE t IS NOT NULL").condition == UNREAD


def test_a_deleted_position_and_a_broken_file_are_refused(session: LakeSession, lake: Path) -> None:
    with_deletes = HandmadeTable(lake / "marked_avro")
    file = avro_file(with_deletes, [optional(1, "id", "int")], [{"id": 1}])
    with_deletes.commit(file)
    with_deletes.commit(with_deletes.positions([file["file_path"]], [0]), operation="delete")
    assert "position deletes of data files in Avro" in str(refuse(session, "SELECT id FROM marked_avro"))
    broken = HandmadeTable(lake / "broken_avro")
    broken.commit(avro_file(broken, [optional(1, "id", "int")], [{"id": 1}]))
    (broken.folder / "data/0-1.avro").write_bytes(b"Obj\x01\x02")
    assert refuse(session, "SELECT id FROM broken_avro").condition == "ICEBERG_METADATA_MALFORMED"
