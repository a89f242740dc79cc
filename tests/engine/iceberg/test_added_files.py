"""CALL system.add_files: other writers' Parquet files become data files, checked by pyiceberg and DuckDB."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.table import StaticTable

from engine.main import LakeSession
from tests.engine.bare_lake import BareLake
from tests.engine.iceberg.test_tables import read_by_all
from tests.engine.lake_sessions import refuse, rows, run


def write(folder: Path, name: str, columns: dict[str, Any] | pa.Table, **options: Any) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(columns if isinstance(columns, pa.Table) else pa.table(columns), path, **options)
    return path


@pytest.fixture
def bare(tmp_path: Path) -> BareLake:
    """Folders whose names begin with an underscore are not tables; `files` is in one."""
    return BareLake(tmp_path)


@pytest.fixture
def files(bare: BareLake) -> Path:
    return bare.folder / "landing" / "files"


def added(bare: BareLake, folder: Path, more: str = "") -> list[tuple[Any, ...]]:
    return bare.rows(f"CALL system.add_files('t', 'parquet.`{folder}`'{more})")


def read(bare: BareLake) -> list[dict[str, Any]]:
    """Returns the rows that pyiceberg reads."""
    metadata = bare.path("t") / "metadata"
    path = metadata / f"v{(metadata / 'version-hint.text').read_text()}.metadata.json"
    found: list[dict[str, Any]] = StaticTable.from_metadata(str(path)).scan().to_arrow().to_pylist()
    return sorted(found, key=str)


def test_files_are_added_where_they_are(bare: BareLake, files: Path) -> None:
    bare.answer("CREATE TABLE t (id BIGINT, s STRING, nested STRUCT<a: BIGINT, b: ARRAY<STRING>>) USING iceberg")
    one = {"id": pa.array([1, 2], pa.int32()), "nested": [{"a": 1, "b": ["x"]}, None]}
    write(files, "a/1.parquet", one)
    write(files, "2.parquet", {"s": ["y"], "id": [3]})
    write(files, "empty.parquet", {"s": pa.array([], pa.string())})
    write(files, "_temporary/3.parquet", {"id": [9]})
    before = {path: path.read_bytes() for path in files.rglob("*.parquet")}
    assert added(bare, files) == [(2, 1)]
    assert read(bare) == [
        {"id": 1, "s": None, "nested": {"a": 1, "b": ["x"]}},
        {"id": 2, "s": None, "nested": None},
        {"id": 3, "s": "y", "nested": None},
    ]
    assert {path: path.read_bytes() for path in files.rglob("*.parquet")} == before
    snapshot = bare.sources.formats["iceberg"].load(str(bare.path("t")))
    assert snapshot.num_files == 2
    (line,) = bare.rows("CALL system.ancestors_of('t')")
    assert line[0] == snapshot.version
    error = bare.refuse(f"CALL system.add_files('t', 'parquet.`{files}`')")
    assert error.condition == "ICEBERG_PROCEDURE_REFUSED" and "2 of the files already" in str(error)
    assert added(bare, files, ", check_duplicate_files => false") == [(2, 1)]
    assert len(read(bare)) == 6


def test_partitions_are_those_of_folders(bare: BareLake, files: Path) -> None:
    bare.answer(
        "CREATE TABLE t (id INT, day DATE, s STRING, d DECIMAL(9,2), ok BOOLEAN) USING iceberg "
        "PARTITIONED BY (day, s, d, ok)"
    )
    write(files, "day=2024-01-02/s=a%2Fb c/d=1.50/ok=true/1.parquet", {"id": pa.array([1], pa.int32())})
    null = "__HIVE_DEFAULT_PARTITION__"
    write(files, f"day={null}/s={null}/d={null}/ok={null}/1.parquet", {"id": pa.array([2], pa.int32())})
    write(files, "day=1969-12-30/s=z/d=-0.01/ok=false/1.parquet", {"id": pa.array([3], pa.int32())})
    assert added(bare, files, ", partition_filter => map('day', '1969-12-30')") == [(1, 1)]
    assert added(bare, files, ", map('S', 'a/b c')") == [(1, 1)]
    found = [tuple(row.values()) for row in read(bare)]
    assert (1, dt.date(2024, 1, 2), "a/b c", Decimal("1.50"), True) in found
    assert (3, dt.date(1969, 12, 30), "z", Decimal("-0.01"), False) in found


REFUSED: list[tuple[str, str, str, dict[str, Any], str]] = [
    ("id INT", "", "1.parquet", {"id": [1]}, "has the type int64"),
    ("id INT", "", "1.parquet", {"ID": pa.array([1], pa.int32())}, "spelled otherwise"),
    ("id INT", "", "1.parquet", {"x": [1]}, "no column of the table"),
    ("id BIGINT NOT NULL", "", "1.parquet", {"id": [None, 1]}, "has nulls"),
    ("id BIGINT NOT NULL, x BIGINT", "", "1.parquet", {"x": [1]}, "has no column id"),
    ("id BIGINT, p INT", "p", "1.parquet", {"id": [1]}, "partitioned by p"),
    ("id BIGINT", "", "p=1/1.parquet", {"id": [1]}, "values of the columns p"),
    ("id BIGINT, p INT", "p", "p=x/1.parquet", {"id": [1]}, "is no int"),
    ("id BIGINT, p INT", "p", "p=1/1.parquet", {"id": [1], "p": [1]}, "names of its folders say"),
    ("id BIGINT", "bucket(4, id)", "1.parquet", {"id": [1]}, "partition field id_bucket"),
    ("id BIGINT, at TIMESTAMP", "", "1.parquet", {"at": [dt.datetime(2024, 1, 1)]}, "has the type timestamp"),
    ("d DECIMAL(9,2)", "", "1.parquet", {"d": [Decimal("1.5")]}, "has the type decimal"),
]


@pytest.mark.parametrize(("columns", "partitions", "name", "content", "reason"), REFUSED)
def test_files_that_no_table_can_have(
    bare: BareLake, files: Path, columns: str, partitions: str, name: str, content: dict[str, Any], reason: str
) -> None:
    bare.answer(f"CREATE TABLE t ({columns}) USING iceberg" + (f" PARTITIONED BY ({partitions})" if partitions else ""))
    write(files, name, content)
    error = bare.refuse(f"CALL system.add_files('t', 'parquet.`{files}`')")
    assert error.condition == "ICEBERG_PROCEDURE_REFUSED" and reason in str(error), error
    assert read(bare) == []


def test_files_with_ids_and_of_tables_are_refused(bare: BareLake, files: Path) -> None:
    bare.answer("CREATE TABLE t (id BIGINT) USING iceberg")
    field = pa.field("id", pa.int64(), metadata={"PARQUET:field_id": "7"})
    write(files, "1.parquet", pa.table([pa.array([1])], schema=pa.schema([field])))
    assert "field id" in str(bare.refuse(f"CALL system.add_files('t', 'parquet.`{files}`')"))
    bare.append("d", {"id": [1]})
    for text, condition in (
        (f"parquet.`{bare.path('d')}`", "SOURCE_FILES_NOT_READABLE"),
        (f"parquet.`{bare.path('t')}`", "SOURCE_FILES_NOT_READABLE"),
        ("parquet.`/etc`", "PATH_NOT_ALLOWED"),
    ):
        assert bare.refuse(f"CALL system.add_files('t', '{text}')").condition == condition
    assert "no data files" in str(bare.refuse(f"CALL system.add_files('t', 'parquet.`{files}/none`')"))
    for text in ("orc.`/x`", "parquet.`/x", ""):
        assert "source_table" in str(bare.refuse(f"CALL system.add_files('t', '{text}')"))


def test_existing_name_mapping_is_unchanged(bare: BareLake, files: Path) -> None:
    bare.answer("CREATE TABLE t (id BIGINT, s STRING) USING iceberg")
    write(files, "1.parquet", {"id": [1], "s": ["x"]})
    added(bare, files)
    bare.answer("ALTER TABLE t RENAME COLUMN s TO text")
    assert read(bare) == [{"id": 1, "text": "x"}]
    write(files, "more/2.parquet", {"id": [2], "text": ["y"]})
    assert added(bare, files / "more") == [(1, 1)]
    both = [{"field-id": 1, "names": ["id"]}, {"field-id": 2, "names": ["s", "text"]}]
    assert json.loads(dict(bare.rows("SHOW TBLPROPERTIES t"))["schema.name-mapping.default"]) == both
    assert read(bare) == [{"id": 1, "text": "x"}, {"id": 2, "text": "y"}]
    bare.answer("ALTER TABLE t ADD COLUMN st STRUCT<a: INT>")
    bare.answer("ALTER TABLE t ADD COLUMN st.b INT")
    write(files, "nested/3.parquet", {"id": [3], "st": pa.array([{"b": 5}], pa.struct([("b", pa.int32())]))})
    assert added(bare, files / "nested") == [(1, 1)]
    assert read(bare)[2] == {"id": 3, "text": None, "st": {"a": None, "b": 5}}


def test_names_that_files_have_for_something_else(bare: BareLake, files: Path) -> None:
    """Neither a column that had the name earlier, nor an unknown one, is read as a new column."""
    bare.answer("CREATE TABLE t (id BIGINT, s STRING) USING iceberg")
    write(files, "1.parquet", {"id": [1], "s": ["x"], "other": [9]})
    added(bare, files)
    bare.answer("ALTER TABLE t ADD COLUMN other BIGINT")
    write(files, "more/2.parquet", {"id": [2], "other": [5]})
    text = f"CALL system.add_files('t', 'parquet.`{files / 'more'}`')"
    assert "was none of the table's when it was added" in str(bare.refuse(text))
    bare.answer("ALTER TABLE t DROP COLUMN other")
    bare.answer("ALTER TABLE t RENAME COLUMN s TO text")
    bare.answer("ALTER TABLE t ADD COLUMN s BIGINT")
    assert "for another one that was called so" in str(bare.refuse(text))
    mapping = json.loads(dict(bare.rows("SHOW TBLPROPERTIES t"))["schema.name-mapping.default"])
    assert [each["names"] for each in mapping] == [["id"], ["s"]]


def test_a_file_has_one_name_of_a_column(bare: BareLake, files: Path) -> None:
    """Existing files, added files, and files added by others."""
    bare.answer("CREATE TABLE t (k BIGINT, old BIGINT) USING iceberg")
    write(files, "1.parquet", {"k": [1], "old": [10], "new": [666]})
    added(bare, files)
    bare.answer("ALTER TABLE t RENAME COLUMN old TO new")
    write(files, "more/2.parquet", {"k": [2], "new": [20]})
    text = f"CALL system.add_files('t', 'parquet.`{files}/more`')"
    assert "its columns old and new are both the field 2" in str(bare.refuse(text))
    mapping = json.loads(dict(bare.rows("SHOW TBLPROPERTIES t"))["schema.name-mapping.default"])
    assert [each["names"] for each in mapping] == [["k"], ["old"]]
    bare.answer("TRUNCATE TABLE t")
    added(bare, files / "more")
    for number, column in enumerate((["x"], [30])):
        write(files, f"{number}/3.parquet", {"k": [3], "old": column})
        text = f"CALL system.add_files('t', 'parquet.`{files}/{number}`')"
        assert "its column old would be read as new" in str(bare.refuse(text))
    write(files, "both/3.parquet", {"k": [3], "new": [30], "old": [40]})
    assert "are both the field 2" in str(bare.refuse(f"CALL system.add_files('t', 'parquet.`{files}/both`')"))
    assert read(bare) == [{"k": 2, "new": 20}]


def test_files_of_others_stay(bare: BareLake, files: Path) -> None:
    """Iceberg's own engines would remove them with the table."""
    bare.answer("CREATE TABLE t (id BIGINT) USING iceberg")
    write(files, "a=1/a=2/1.parquet", {"id": [1]})
    assert "two values of the column a" in str(bare.refuse(f"CALL system.add_files('t', 'parquet.`{files}`')"))
    added(bare, files / "a=1" / "a=2")
    bare.answer("DROP TABLE t PURGE")
    assert (files / "a=1/a=2/1.parquet").exists() and not bare.path("t").exists()


@pytest.mark.spark
def test_added_files_are_read_and_changed(session: LakeSession, lake: Path) -> None:
    folder = lake / "landing" / "of_spark"
    at = pa.array([dt.datetime(2024, 1, 2, 3, 4, 5, 6, dt.UTC)], pa.timestamp("us", "UTC"))
    for number in range(2):
        columns = {"id": pa.array([number], pa.int64()), "at": at, "tags": [["x"]], "other": [7]}
        write(folder, f"k={number}/1.parquet", columns, use_deprecated_int96_timestamps=number == 1)
    run(session, "CREATE TABLE t (id BIGINT, k INT, at TIMESTAMP, tags ARRAY<STRING>) USING iceberg PARTITIONED BY (k)")
    assert rows(session, f"CALL system.add_files('t', 'parquet.`{folder}`')") == [(2, 2)]
    when = rows(session, "SELECT TIMESTAMP'2024-01-02 03:04:05.000006 UTC'")[0][0]
    assert rows(session, "SELECT * FROM t ORDER BY id") == [(0, 0, when, ["x"]), (1, 1, when, ["x"])]
    assert rows(session, "SELECT id FROM t WHERE at > TIMESTAMP'2024-01-01 00:00:00' AND k = 1") == [(1,)]
    run(session, "INSERT INTO t VALUES (5, 0, NULL, NULL)")
    run(session, "DELETE FROM t WHERE id = 1")  # some files have field ids, and some do not
    assert rows(session, "SELECT * FROM t ORDER BY id") == [(0, 0, when, ["x"]), (5, 0, None, None)]
    run(session, "ALTER TABLE t RENAME COLUMN tags TO labels")
    run(session, "INSERT INTO t VALUES (6, 2, NULL, array('z'))")
    error = refuse(session, "UPDATE t SET labels = array('y') WHERE id = 0")  # which files call otherwise
    assert error.condition == "ICEBERG_ROWS_NOT_CHANGEABLE"
    run(session, "CALL system.rewrite_data_files('t', options => map('rewrite-all', 'true'))")
    run(session, "UPDATE t SET labels = array('y') WHERE id = 0")
    run(session, "ALTER TABLE t DROP COLUMN at")
    assert read_by_all(session, "t") == [(0, 0, ["y"]), (5, 0, None), (6, 2, ["z"])]
    assert len(list(folder.rglob("*.parquet"))) == 2


@pytest.mark.spark
def test_rows_of_added_files_are_changed_beside_others(session: LakeSession, lake: Path) -> None:
    """Files without field ids, with different columns, along with files with ids, whose rows have row ids."""
    folder = lake / "landing" / "mixed"
    inner = [{"a": 1, "b": ["x"]}, None]
    for number, columns in enumerate(({"id": [1, 2], "s": inner}, {"text": ["t"], "id": [3], "unknown": [9]})):
        write(folder, f"{number}.parquet", columns)
    run(
        session,
        "CREATE TABLE m (id BIGINT, s STRUCT<a: BIGINT, b: ARRAY<STRING>>, text STRING) USING iceberg TBLPROPERTIES"
        " ('format-version' = '3', 'write.delete.mode' = 'merge-on-read')",
    )
    run(session, "INSERT INTO m VALUES (4, named_struct('a', 5, 'b', array('y')), 'u')")
    rows(session, f"CALL system.add_files('m', 'parquet.`{folder}`')")
    before = {path: path.read_bytes() for path in folder.rglob("*.parquet")}
    run(session, "DELETE FROM m WHERE id IN (1, 4)")
    run(session, "UPDATE m SET text = concat(coalesce(text, ''), '!') WHERE id > 1")
    run(
        session,
        "MERGE INTO m USING (VALUES (2, 'new'), (7, 'more')) AS n (id, text) ON m.id = n.id"
        " WHEN MATCHED THEN UPDATE SET text = n.text WHEN NOT MATCHED THEN INSERT (id, text) VALUES (n.id, n.text)",
    )
    assert read_by_all(session, "m") == [(2, None, "new"), (3, None, "t!"), (7, None, "more")]
    assert {path: path.read_bytes() for path in folder.rglob("*.parquet")} == before
