"""The hidden column `_metadata`: each row's file, path and row index."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from catalog.errors import SqlError
from engine.delta.spec.deletion_vectors import inline_deletion_vector
from engine.main import EngineOptions, LakeEngine, LakeSession, open_sources
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest
from engine.spark.session import SparkDriver
from tests.handmade import Part, column, mapped, protocol, write_table

pytestmark = pytest.mark.spark

_ID_COLUMN, _VERSION_COLUMN = "_row-id-col-7", "_row-commit-version-col-7"
_TRACKED = {
    "delta.enableRowTracking": "true",
    "delta.rowTracking.materializedRowIdColumnName": _ID_COLUMN,
    "delta.rowTracking.materializedRowCommitVersionColumnName": _VERSION_COLUMN,
}
_FEATURES = ("domainMetadata", "rowTracking")
ROWS = [  # number, row id, commit version, base row id, the file's version, row index
    (1, 0, 3, 0, 3, 0),
    (2, 1, 3, 0, 3, 1),
    (4, 100, 8, 40, 9, 0),
    (5, 41, 9, 40, 9, 1),
    (6, 7, 9, 40, 9, 2),
    (8, 61, 5, 60, 5, 1),
]


def _inline(deleted: list[int]) -> dict[str, Any]:
    vector = inline_deletion_vector(np.array(deleted, np.uint64))
    return {
        "deletionVector": {
            "storageType": vector.storage_type,
            "pathOrInlineDv": vector.path_or_inline_dv,
            "sizeInBytes": vector.size_in_bytes,
            "cardinality": vector.cardinality,
        }
    }


def _ids(*numbers: int | None) -> pa.Array:
    return pa.array(numbers, pa.int64())


def write_tracked(root: Path, mode: str) -> None:
    """Writes three files: new rows, copied rows among new ones, and deleted rows."""
    is_mapped = mode != "none"
    schema = pa.schema([pa.field("c1" if is_mapped else "n", pa.int64(), metadata={"PARQUET:field_id": "1"})])
    taken = schema.append(pa.field(_ID_COLUMN, pa.int64())).append(pa.field(_VERSION_COLUMN, pa.int64()))
    vector = _inline([0, 2])
    write_table(
        root,
        [mapped("n", "long", 1, "c1") if is_mapped else column("n", "long")],
        [
            Part(
                name="new.parquet",
                rows=pa.table([_ids(1, 2)], schema=schema),
                keys={"baseRowId": 0, "defaultRowCommitVersion": 3},
            ),
            Part(
                name="taken%20over.parquet",
                rows=pa.table([_ids(4, 5, 6), _ids(100, None, 7), _ids(8, None, None)], schema=taken),
                keys={"baseRowId": 40, "defaultRowCommitVersion": 9},
            ),
            Part(
                name="cut.parquet",
                rows=pa.table([_ids(7, 8, 9)], schema=schema),
                keys={"baseRowId": 60, "defaultRowCommitVersion": 5, **vector},
            ),
        ],
        configuration={**_TRACKED, "delta.columnMapping.mode": mode},
        table_protocol=protocol("columnMapping", "deletionVectors", writer=_FEATURES),
    )


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("lake")
    for mode in ("none", "name", "id"):
        write_tracked(root / f"by_{mode}", mode)
    rows = pa.table({"n": _ids(1, 2, 3)})
    write_table(root / "plain", [column("n", "long")], [Part(name="a.parquet", rows=rows)])
    write_table(
        root / "cut",
        [column("n", "long")],
        [Part(name="a.parquet", rows=rows, keys=_inline([1]))],
        table_protocol=protocol("deletionVectors"),
    )
    write_table(
        root / "named",
        [column("n", "long"), column("_metadata", "string")],
        [Part(name="a.parquet", rows=rows.append_column("_metadata", pa.array(["x", "y", "z"])), keys=_inline([1]))],
        table_protocol=protocol("deletionVectors"),
    )
    write_table(
        root / "untold",
        [column("n", "long")],
        [Part(name="a.parquet", rows=rows)],
        configuration=_TRACKED,
        table_protocol=protocol(writer=_FEATURES),
    )
    write_table(
        root / "off",
        [column("n", "long")],
        [Part(name="a.parquet", rows=rows, keys={"baseRowId": 5, "defaultRowCommitVersion": 0})],
        table_protocol=protocol(writer=_FEATURES),
    )
    return root


@pytest.fixture(scope="module")
def session(lake: Path, spark_driver: SparkDriver) -> Iterator[LakeSession]:
    engine = LakeEngine(open_sources(EngineOptions(lake_folder=str(lake))), spark_driver)
    opened = engine.open_session(
        Identity("ann"), settings={"spark.sql.session.timeZone": "UTC"}, catalog=None, schema=None
    )
    yield opened
    opened.close()


def rows(session: LakeSession, text: str) -> list[tuple[Any, ...]]:
    result = session.execute(text, StatementRequest(identity=Identity("ann")))
    table = pa.Table.from_batches(result.batches(), result.schema)
    result.close()
    return list(zip(*(values.to_pylist() for values in table.columns), strict=True))


_ALL = ("row_id", "row_commit_version", "base_row_id", "default_row_commit_version", "row_index")


@pytest.mark.parametrize("table", ["by_none", "by_name", "by_id"])
def test_rows_keep_their_ids_and_versions(session: LakeSession, table: str) -> None:
    fields = ", ".join(f"_metadata.{name}" for name in _ALL)
    assert rows(session, f"SELECT n, {fields} FROM {table} ORDER BY n") == ROWS


_SAME = "a._metadata.row_id = b._metadata.row_id"
QUERIES: tuple[tuple[str, list[tuple[Any, ...]]], ...] = (
    ("SELECT * FROM by_none WHERE n = 8", [(8,)]),
    ("SELECT t.* FROM by_none t WHERE t._metadata.row_id = 61", [(8,)]),
    ("SELECT default.by_none._metadata.row_id FROM default.by_none WHERE n = 5", [(41,)]),
    ("SELECT `_METADATA`.`Row_Id` FROM by_none WHERE n = 5", [(41,)]),
    ("SELECT count(*), max(_metadata.row_id), min(_metadata.row_commit_version) FROM by_none", [(6, 100, 3)]),
    (f"SELECT a.n FROM by_none a JOIN by_none b ON {_SAME} WHERE b.n > 5 ORDER BY 1", [(6,), (8,)]),
    (f"SELECT a.n, b.n FROM by_none a JOIN by_id b ON {_SAME} WHERE a.n < 3 ORDER BY 1", [(1, 1), (2, 2)]),
    ("WITH w AS (SELECT n, _metadata.row_id AS r FROM by_name) SELECT n FROM w WHERE r > 50 ORDER BY n", [(4,), (8,)]),
    ("SELECT n FROM by_none WHERE _metadata.row_id = (SELECT max(_metadata.row_id) FROM by_id)", [(4,)]),
    (f"SELECT n FROM by_none a WHERE n > 5 AND EXISTS (SELECT 1 FROM by_id b WHERE {_SAME} AND b.n < 8)", [(6,)]),
    ("SELECT n FROM (SELECT n, _metadata.row_id AS r FROM by_none) WHERE r = 7", [(6,)]),
    ("SELECT * FROM by_none NATURAL JOIN by_id WHERE n = 1", [(1,)]),
    ("SELECT _metadata.row_id FROM by_none VERSION AS OF 0 WHERE n = 2", [(1,)]),
    ("SELECT n, _metadata.row_index FROM plain ORDER BY n", [(1, 0), (2, 1), (3, 2)]),
    ("SELECT n, _metadata.row_index FROM cut ORDER BY n", [(1, 0), (3, 2)]),
    ("SELECT n FROM cut WHERE _metadata.file_name = 'a.parquet' ORDER BY n", [(1,), (3,)]),
    ("SELECT n FROM cut WHERE _metadata.file_name = 'b.parquet'", []),
    ("SELECT n, _metadata FROM named ORDER BY n", [(1, "x"), (3, "z")]),
    ("SELECT * FROM named ORDER BY n", [(1, "x"), (3, "z")]),
)  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), QUERIES, ids=[text for text, _ in QUERIES])
def test_metadata_column_is_visible_on_request(
    session: LakeSession, text: str, expected: list[tuple[Any, ...]]
) -> None:
    assert rows(session, text) == expected


def test_a_row_knows_its_file(session: LakeSession, lake: Path) -> None:
    fields = "file_path, file_name, file_size, file_modification_time, file_block_start, file_block_length".split(", ")
    text = f"SELECT DISTINCT {', '.join(f'_metadata.{name}' for name in fields)} FROM by_name ORDER BY 2"
    moment = dt.datetime(2023, 11, 14, 22, 13, 20, tzinfo=dt.UTC)
    expected = []
    for name, shown in (("cut", "cut"), ("new", "new"), ("taken%20over", "taken%2520over")):
        file = lake / "by_name" / f"{name}.parquet"
        size = file.stat().st_size
        expected.append((f"file:{lake}/by_name/{shown}.parquet", f"{shown}.parquet", size, moment, 0, size))
    assert rows(session, text) == expected


def test_the_column_is_one_struct(session: LakeSession) -> None:
    ((given,),) = rows(session, "SELECT _metadata FROM by_id WHERE n = 4")
    assert {name: given[name] for name in _ALL} == dict(zip(_ALL, ROWS[2][1:], strict=True))
    assert list(given) == [
        *("file_path", "file_name", "file_size", "file_block_start", "file_block_length", "file_modification_time"),
        *("row_index", "row_id", "base_row_id", "default_row_commit_version", "row_commit_version"),
    ]


def test_views_keep_what_they_name_and_hide_the_rest(session: LakeSession) -> None:
    rows(session, "CREATE TEMPORARY VIEW ids AS SELECT n, _metadata.row_id AS r FROM by_none")
    assert rows(session, "SELECT r FROM ids WHERE n = 4") == [(100,)]
    with pytest.raises(SqlError, match="UNRESOLVED_COLUMN"):
        rows(session, "SELECT _metadata.row_id FROM ids")


@pytest.mark.parametrize(
    ("text", "condition", "part"),
    [
        ("SELECT _metadata.row_id FROM plain", "FIELD_NOT_FOUND", "row tracking is not enabled"),
        ("SELECT _metadata.row_commit_version FROM cut", "FIELD_NOT_FOUND", "row tracking is not enabled"),
        ("SELECT _metadata.base_row_id FROM off", "FIELD_NOT_FOUND", "row tracking is not enabled"),
        ("SELECT _metadata.row_id FROM untold", "DELTA_MALFORMED_LOG_ENTRY", "a.parquet"),
        ("SELECT _metadata.nothing FROM by_none", "FIELD_NOT_FOUND", "nothing"),
    ],
)
def test_unavailable_file_metadata_is_rejected(session: LakeSession, text: str, condition: str, part: str) -> None:
    with pytest.raises(SqlError, match=part) as raised:
        rows(session, text)
    assert raised.value.condition == condition


def test_reading_without_the_column_asks_for_no_ids(session: LakeSession) -> None:
    assert rows(session, "SELECT n FROM untold ORDER BY n") == [(1,), (2,), (3,)]


def test_tracked_rows_are_read_where_nobody_asks_for_their_ids(session: LakeSession) -> None:
    rows(session, "CREATE TABLE ruled TBLPROPERTIES ('delta.enableRowTracking' = 'true') AS SELECT 1 AS n")
    rows(session, "ALTER TABLE ruled ADD CONSTRAINT small CHECK (n < 2)")
    with pytest.raises(SqlError, match="DELTA_NEW_CHECK_CONSTRAINT_VIOLATION"):
        rows(session, "ALTER TABLE ruled ADD CONSTRAINT none CHECK (n < 1)")
    assert rows(session, "SELECT a._metadata.row_id, b.n FROM ruled a JOIN ruled b ON a.n = b.n") == [(0, 1)]


def test_files_are_left_out_all_the_same(session: LakeSession) -> None:
    """Filters on the table's columns reach the files below the projection that makes the column."""
    ((plan,),) = rows(session, "EXPLAIN SELECT _metadata.row_id FROM by_none WHERE n = 4")
    assert "PushedFilters: [IsNotNull(n), EqualTo(n,4)]" in plan
