"""ORC data files: read by column name, and rejected with a named error if row positions are required.

`tests/oracle` compares files from Iceberg's own writers; these files have no field ids, and a name mapping instead.
"""

from __future__ import annotations

import json
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc as po
import pytest

from engine.iceberg.manifests.metrics import METRICS, encode_map
from engine.iceberg.snapshot.file_kinds import unread_in_orc
from engine.iceberg.snapshot.footers import FileColumns
from engine.iceberg.spec.types import IcebergField, Kind, SimpleType
from engine.main import LakeSession
from engine.tables.scan import FileKind
from tests.engine.iceberg.handmade import HandmadeTable
from tests.engine.lake_sessions import refuse, rows, run

pytestmark = pytest.mark.spark

COLUMNS: list[dict[str, Any]] = [
    {"id": 1, "name": "id", "required": False, "type": "long"},
    {
        "id": 2,
        "name": "place",
        "required": False,
        "type": {
            "type": "struct",
            "fields": [
                {"id": 3, "name": "y", "required": False, "type": "long"},
                {"id": 4, "name": "x", "required": False, "type": "string"},
                {"id": 5, "name": "z", "required": False, "type": "string"},
            ],
        },
    },
    {"id": 6, "name": "name", "required": False, "type": "string"},
    {"id": 7, "name": "gone", "required": False, "type": "string"},
]
MAPPING = [
    {"field-id": 1, "names": ["id"]},
    {"field-id": 2, "names": ["p"], "fields": [{"field-id": 3, "names": ["x"]}, {"field-id": 4, "names": ["w"]}]},
    {"field-id": 6, "names": ["gone"]},
]


def orc_file(table: HandmadeTable, rows: pa.Table, **entry: Any) -> dict[str, Any]:
    path = f"{table.location}/data/{rows.num_columns}-{rows.num_rows}.orc"
    local = table.folder / path.removeprefix(f"{table.location}/")
    po.write_table(rows, str(local))
    kind = {"content": 0, "file_path": path, "file_format": "ORC", "record_count": rows.num_rows}
    return {**kind, "file_size_in_bytes": local.stat().st_size, **entry}


def _new(lake: Path, name: str, version: int = 2) -> tuple[HandmadeTable, dict[str, Any]]:
    """Returns a file in ORC whose names are other columns' now, and one in Parquet."""
    properties = {"schema.name-mapping.default": json.dumps(MAPPING), "write.delete.mode": "copy-on-write"}
    table = HandmadeTable(lake / name, columns=COLUMNS, version=version, properties=properties)
    places = pa.array([{"w": "w1", "x": 7}, None], pa.struct([("w", pa.string()), ("x", pa.int32())]))
    old = orc_file(table, pa.table({"gone": ["n1", "n2"], "p": places, "id": pa.array([1, 2], pa.int32())}))
    table.commit(old)
    table.commit(table.data({"id": [3], "name": ["n3"]}))
    return table, old


def test_columns_are_found_by_the_names_of_the_file(session: LakeSession, lake: Path) -> None:
    table, old = _new(lake, "mixed")
    expected = [(1, {"y": 7, "x": "w1", "z": None}, "n1", None), (2, None, "n2", None), (3, None, "n3", None)]
    assert rows(session, "SELECT * FROM mixed ORDER BY id") == expected
    assert rows(session, "SELECT id FROM mixed WHERE name = 'n2' OR place.y = 7 ORDER BY id") == [(1,), (2,)]
    assert rows(session, "SELECT count(*), max(_file) FROM mixed WHERE id < 3") == [(2, old["file_path"])]
    assert refuse(session, "SELECT _pos FROM mixed").condition.startswith("UNRESOLVED_COLUMN")
    assert refuse(session, "DELETE FROM mixed WHERE id = 1").condition == "ICEBERG_ROWS_NOT_CHANGEABLE"
    assert "changes of" in str(refuse(session, "SELECT * FROM table_changes('mixed', 1001)"))
    table.commit(table.equality({"id": [2]}, [1]), operation="delete")
    assert rows(session, "SELECT id FROM mixed ORDER BY id") == [(1,), (3,)]
    assert refuse(session, "DELETE FROM mixed WHERE id = 1").condition == "ICEBERG_ROWS_NOT_CHANGEABLE"
    run(session, "CALL system.rewrite_data_files(table => 'mixed', options => map('rewrite-all', 'true'))")
    assert run(session, "DELETE FROM mixed WHERE id = 3") == 1
    assert rows(session, "SELECT id, place.x FROM mixed") == [(1, "w1")]


@pytest.mark.parametrize(
    ("type_", "bound", "is_read"),
    [
        (Kind.DATE, (-141427).to_bytes(4, "little", signed=True), True),
        (Kind.DATE, (-141428).to_bytes(4, "little", signed=True), False),
        (Kind.TIMESTAMPTZ, (-2208988800000000).to_bytes(8, "little", signed=True), True),
        (Kind.TIMESTAMPTZ, (-2208988800000001).to_bytes(8, "little", signed=True), False),
        (Kind.DATE, None, False),
    ],
)
def test_old_dates_are_refused(type_: Kind, bound: bytes | None, is_read: bool) -> None:
    column = IcebergField(id=1, name="d", type=SimpleType(type_), required=False)
    maps = {"lower_bounds": None if bound is None else encode_map([{"key": 1, "value": bound}])}
    data = pa.table({name: pa.array([maps.get(name)], pa.binary()) for name in METRICS})
    for has_column, refused in ((True, not is_read), (False, False)):
        columns = [FileColumns(frozenset([1] if has_column else []), ((1, "d"),), kind=FileKind.ORC)]
        assert ("column d" in (unread_in_orc(column, data, columns) or "")) == refused


def test_a_column_that_is_not_read_is_refused_alone(session: LakeSession, lake: Path) -> None:
    """Files have neither the bounds that a date needs, nor a distinction between timestamps with and without a time
    zone.
    """
    added = [{"id": id, "name": name, "required": False, "type": name} for id, name in ((8, "timestamp"), (9, "date"))]
    mapping = [{"field-id": each["id"], "names": [each["name"]]} for each in (COLUMNS[0], *added)]
    properties = {"schema.name-mapping.default": json.dumps(mapping)}
    table = HandmadeTable(lake / "unread", columns=[COLUMNS[0], *added], properties=properties)
    table.commit(orc_file(table, pa.table({"id": [1, 2]})))
    assert rows(session, "SELECT * FROM unread ORDER BY id") == [(1, None, None), (2, None, None)]
    moments = pa.array([datetime(2024, 5, 6, 7), None, None], pa.timestamp("us"))
    days = pa.array([date(2024, 5, 6), None, None])
    table.commit(orc_file(table, pa.table({"timestamp": moments, "date": days, "id": [3, 4, 5]})))
    table.commit(table.data({"id": [6]}))
    assert rows(session, "SELECT id FROM unread ORDER BY id") == [(each,) for each in range(1, 7)]
    assert rows(session, "SELECT count(*), sum(id) FROM unread WHERE id > 2") == [(4, 18)]
    for column in ("timestamp", "date"):
        for text in (f"SELECT id, `{column}` FROM unread", f"SELECT id FROM unread WHERE `{column}` IS NULL"):
            refused = refuse(session, text)
            assert refused.condition == "FAILED_READ_FILE.UNSUPPORTED_COLUMN"
            assert f"unread` contains the column {column} of data files in ORC" in str(refused)
    run(session, "CREATE VIEW of_unread AS SELECT id, `timestamp` AS t FROM unread")
    assert rows(session, "SELECT max(id) FROM of_unread") == [(6,)]
    assert refuse(session, "SELECT t FROM of_unread").condition == "FAILED_READ_FILE.UNSUPPORTED_COLUMN"
    text = "CALL system.rewrite_data_files(table => 'unread', options => map('rewrite-all', 'true'))"
    assert refuse(session, text).condition == "FAILED_READ_FILE.UNSUPPORTED_COLUMN"


def test_row_position_is_rejected_for_orc(session: LakeSession, lake: Path) -> None:
    table, old = _new(lake, "marked")
    table.commit(table.positions([old["file_path"]], [0]), operation="delete")
    assert "position deletes of data files in ORC" in str(refuse(session, "SELECT id FROM marked"))
    by_position, _ = _new(lake, "numbered")
    by_position.commit(orc_file(by_position, pa.table({"_col0": [1]})))
    assert "begin with _col" in str(refuse(session, "SELECT id FROM numbered"))
    lance, _ = _new(lake, "lance")
    lance.commit({**old, "file_path": f"{lance.location}/data/1.lance", "file_format": "LANCE"})
    assert "data files of the format LANCE" in str(refuse(session, "SELECT id FROM lance"))
