"""COPY INTO: each file is loaded once, with the table's types; a failed statement loads nothing."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine.main import LakeEngine, LakeSession
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest
from tests.engine.lake_sessions import actions, refuse, rows, run, table, table_of, version_of
from tests.engine.peer_readers import PEERS

pytestmark = pytest.mark.spark


@pytest.fixture
def source(lake: Path) -> Iterator[Path]:
    """Yields a folder for files, by itself for each test."""
    folder = lake / "landing"
    number = len(list(folder.glob("*"))) if folder.exists() else 0
    made = folder / f"in {number} é"
    made.mkdir(parents=True)
    yield made


def counts(session: LakeSession, text: str) -> tuple[int, int]:
    result = session.execute(text, StatementRequest(identity=Identity("ann")))
    named = result.row_counts.named if result.row_counts else {}
    result.close()
    assert list(named) == ["num_affected_rows", "num_inserted_rows", "num_skipped_corrupt_files"]
    return named["num_affected_rows"], named["num_skipped_corrupt_files"]


def files_of(lake: Path, name: str) -> set[str]:
    folder = lake / "default" / name
    return {str(path.relative_to(folder)) for path in folder.rglob("*.parquet") if "checkpoint" not in path.name}


def test_each_file_is_loaded_once(session: LakeSession, lake: Path, source: Path) -> None:
    run(
        session,
        "CREATE TABLE once (k INT NOT NULL, v STRING, at TIMESTAMP, d DECIMAL(9,2), day DATE DEFAULT '2020-01-01')"
        " TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported')",
    )
    (source / "1.csv").write_text("v,k,at,d\nx,1,2024-01-02T03:04:05Z,1.5\n,2,,\n")
    (source / "_hidden.csv").write_text("no")
    copy = f"COPY INTO once FROM '{source}' FILEFORMAT = CSV FORMAT_OPTIONS ('header' = 'true')"
    assert counts(session, copy) == (2, 0)
    assert counts(session, copy) == (0, 0)
    (source / "2.csv").write_text("v,k,at,d\ny,3,2024-01-02T03:04:05Z,2\n")
    assert counts(session, copy) == (1, 0)
    assert counts(session, copy) == (0, 0) and version_of(lake, "once") == 2
    day, at = dt.date(2020, 1, 1), dt.datetime(2024, 1, 2, 3, 4, 5, tzinfo=dt.UTC)
    assert sorted(rows(session, "SELECT k, v, at, d, day FROM once")) == [
        (1, "x", at, Decimal("1.50"), day),
        (2, None, None, None, day),
        (3, "y", at, Decimal("2.00"), day),
    ]
    assert PEERS["deltalake"](lake / "default" / "once", ["k"]) == PEERS["duckdb"](lake / "default" / "once", ["k"])
    info = actions(lake, "once", 2)[0]["commitInfo"]
    assert (info["operation"], info["operationMetrics"]["numLoadedFiles"]) == ("COPY INTO", "1")
    forced = f"{copy} COPY_OPTIONS ('force' = 'true')"
    assert counts(session, forced) == (3, 0) and counts(session, copy) == (0, 0)


def test_a_load_that_fails_loads_nothing(session: LakeSession, lake: Path, source: Path) -> None:
    run(session, "CREATE TABLE strict (k INT NOT NULL, CONSTRAINT small CHECK (k < 10 OR k IS NULL))")
    (source / "1.csv").write_text("k\n1\n")
    copy = f"COPY INTO strict FROM '{source}' FILEFORMAT = CSV FORMAT_OPTIONS ('header' = 'true')"
    for text, condition in (
        ("k\n99\n", "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES"),
        ('k\n""\n', "DELTA_NOT_NULL_CONSTRAINT_VIOLATED"),
        ("k\nx\n", None),
        ("other\n1\n", None),
    ):
        (source / "2.csv").write_text(text)
        for statement in (copy, copy.replace("FORMAT_OPTIONS", "VALIDATE FORMAT_OPTIONS")):
            error = refuse(session, statement)
            assert condition is None or error.condition == condition, error
        assert files_of(lake, "strict") == set() and version_of(lake, "strict") == 0, text
    (source / "2.csv").write_text("k\n2\n")
    shown = table(session, copy.replace("FORMAT_OPTIONS", "VALIDATE 1 ROWS FORMAT_OPTIONS"))
    assert shown.num_rows == 1 and files_of(lake, "strict") == set() and version_of(lake, "strict") == 0
    assert counts(session, copy) == (2, 0)


def test_json_and_parquet_by_name(session: LakeSession, lake: Path, source: Path) -> None:
    run(session, "CREATE TABLE mixed (k BIGINT, place STRUCT<x: DOUBLE, y: STRING>, tags ARRAY<STRING>)")
    (source / "1.json").write_text('{"k": 1, "place": {"x": 1.5, "y": "a"}, "tags": ["p"]}\n{"k": 2}\n')
    assert counts(session, f"COPY INTO mixed FROM '{source}/1.json' FILEFORMAT = JSON") == (2, 0)
    for number, columns in enumerate(({"k": [3]}, {"K": [4], "tags": [["q", None]]})):
        pq.write_table(pa.table(columns), source / f"{number}.parquet")
    copy = f"COPY INTO mixed FROM '{source}' FILEFORMAT = PARQUET PATTERN = '*.parquet'"
    assert counts(session, copy) == (2, 0)
    pq.write_table(pa.table({"k": [5], "more": ["new"]}), source / "9.parquet")
    refuse(session, copy)
    assert counts(session, f"{copy} COPY_OPTIONS ('mergeSchema' = 'true')") == (1, 0)
    found = sorted(rows(session, "SELECT k, place, tags, more FROM mixed"))
    assert found == [
        (1, {"x": 1.5, "y": "a"}, ["p"], None),
        (2, None, None, None),
        (3, None, None, None),
        (4, None, ["q", None], None),
        (5, None, None, "new"),
    ]
    assert table_of(lake, "mixed").num_rows == 5


def test_a_query_over_the_files(session: LakeSession, source: Path) -> None:
    run(session, "CREATE TABLE queried (k INT, v STRING, f STRING)")
    (source / "a b.csv").write_text("1|x\n2|y\n")
    statement = (
        f"COPY INTO queried (v, k, f) FROM (SELECT upper(_c1), CAST(_c0 AS INT), _metadata.file_name "
        f"FROM '{source}' WHERE _c0 > 1) "
        "FILEFORMAT = CSV FILES = ('a b.csv') FORMAT_OPTIONS ('sep' = '|')"
    )
    assert counts(session, statement) == (1, 0)
    [(k, v, name)] = rows(session, "SELECT * FROM queried")
    assert (k, v) == (2, "Y") and "a" in name
    (source / "c.csv").write_text("7,seven\n")
    listed = f"COPY INTO queried (k, v) FROM '{source}' FILEFORMAT = CSV FILES = ('c.csv')"
    assert counts(session, listed) == (1, 0)
    assert rows(session, "SELECT k, v FROM queried WHERE k = 7") == [(7, "seven")]


def test_several_at_once_load_each_file_once(engine: LakeEngine, session: LakeSession, source: Path) -> None:
    run(session, "CREATE TABLE raced (k INT)")
    for number in range(4):
        (source / f"{number}.csv").write_text(f"{number}\n")
    copy = f"COPY INTO raced (k) FROM '{source}' FILEFORMAT = CSV"

    def load(_: int) -> int:
        own = engine.open_session(Identity("ann"), settings={}, catalog=None, schema=None)
        try:
            return counts(own, copy)[0]
        finally:
            own.close()

    with ThreadPoolExecutor(3) as threads:
        assert sorted(threads.map(load, range(3))) == [0, 0, 4]
    assert rows(session, "SELECT count(*), count(DISTINCT k) FROM raced") == [(4, 4)]


REFUSED: list[tuple[str, str]] = [
    ("FROM '/etc' FILEFORMAT = CSV", "PATH_NOT_ALLOWED"),
    ("FROM '{source}/../../../../../etc' FILEFORMAT = CSV", "PATH_NOT_ALLOWED"),
    ("FROM '{source}/nothing' FILEFORMAT = CSV", "PATH_NOT_FOUND"),
    ("FROM '{source}' FILEFORMAT = CSV FILES = ('no.csv')", "PATH_NOT_FOUND"),
    ("FROM '{source}' FILEFORMAT = CSV PATTERN = '*.no'", "PATH_NOT_FOUND"),
    ("FROM '{source}/link' FILEFORMAT = CSV", "PATH_NOT_ALLOWED"),
    ("FROM '{source}' FILEFORMAT = CSV", "COPY_INTO_PARTITION_FOLDERS"),
    ("FROM '{lake}/default/target' FILEFORMAT = PARQUET", "SOURCE_FILES_NOT_READABLE"),
    ("FROM '{lake}/default/target/_delta_log' FILEFORMAT = JSON", "SOURCE_FILES_NOT_READABLE"),
    ("FROM '{lake}/default' FILEFORMAT = PARQUET", "DELTA_TABLE_INSIDE_FOLDER"),
    ("FROM '{source}/empty.csv' FILEFORMAT = CSV", "UNABLE_TO_INFER_SCHEMA"),
]


def test_files_that_copy_into_does_not_read(session: LakeSession, lake: Path, source: Path) -> None:
    run(session, "CREATE TABLE target (k INT)")
    run(session, "INSERT INTO target VALUES (1)")
    (source / "p=1").mkdir()
    (source / "p=1" / "x.csv").write_text("1\n")
    (source / "link").symlink_to("/etc")
    (source / "empty.csv").touch()
    for text, condition in REFUSED:
        error = refuse(session, f"COPY INTO target {text.format(source=source, lake=lake)}")
        assert error.condition == condition, text
    assert version_of(lake, "target") == 1
    recursive = f"COPY INTO target (k) FROM '{source}' FILEFORMAT = CSV FORMAT_OPTIONS ('recursiveFileLookup' = 'true')"
    assert counts(session, recursive) == (1, 0)


def test_options_reach_the_reader(session: LakeSession, source: Path) -> None:
    run(session, "CREATE TABLE options (k INT, d DATE, v STRING)")
    (source / "1.csv").write_bytes("k;d;v\n# no row\n1;02/01/2024;'é;\n2'\n".encode("latin-1"))
    options: dict[str, Any] = {
        "header": "true",
        "sep": ";",
        "quote": "''",
        "comment": "#",
        "encoding": "ISO-8859-1",
        "dateFormat": "dd/MM/yyyy",
        "multiLine": "true",
    }
    listed = ", ".join(f"'{key}' = '{value}'" for key, value in options.items())
    copy = f"COPY INTO options FROM '{source}' FILEFORMAT = CSV FORMAT_OPTIONS ({listed})"
    assert counts(session, copy) == (1, 0)
    assert rows(session, "SELECT * FROM options") == [(1, dt.date(2024, 1, 2), "é;\n2")]
    (source / "1.json").write_text('{"k": 1}\nbroken\n{"k": 3}\n')
    json = f"COPY INTO options FROM '{source}' FILEFORMAT = JSON FILES = ('1.json')"
    refuse(session, json)
    assert counts(session, f"{json} FORMAT_OPTIONS ('mode' = 'DROPMALFORMED')") == (2, 0)
