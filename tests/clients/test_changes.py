"""A lake that changes under a running server: every statement sees the tables as they are in that moment."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path

import deltalake
import pyarrow as pa
import pytest

from tests.clients.drivers import Driver, StatementFailed, open_driver
from tests.clients.fix_server import RealServer

pytestmark = [pytest.mark.clients, pytest.mark.spark]


@pytest.fixture(scope="module")
def client(server: RealServer) -> Iterator[Driver]:
    opened = open_driver("pyhive", server.thrift_port, None)
    yield opened
    opened.close()


@pytest.fixture
def folder(server: RealServer) -> Iterator[Path]:
    """Yields a separate schema."""
    made = server.lake / f"lab_{uuid.uuid4().hex[:8]}"
    yield made
    shutil.rmtree(made, ignore_errors=True)


def numbers(*values: int) -> pa.Table:
    return pa.table({"n": pa.array(values, pa.int64())})


def write(folder: Path, rows: pa.Table, mode: str = "append", **options: str) -> None:
    deltalake.write_deltalake(str(folder), rows, mode=mode, **options)  # type: ignore[call-overload]


def test_a_new_table_and_its_commits(client: Driver, folder: Path) -> None:
    query = f"SELECT n FROM {folder.name}.t ORDER BY n"
    with pytest.raises(StatementFailed, match="TABLE_OR_VIEW_NOT_FOUND"):
        client.run(query)
    write(folder / "t", numbers(1))
    assert client.run(query) == [["1"]]
    assert [folder.name] in client.run("SHOW SCHEMAS")
    write(folder / "t", numbers(2))
    assert client.run(query) == [["1"], ["2"]]
    write(folder / "t", numbers(3), mode="overwrite")
    assert client.run(query) == [["3"]]
    deltalake.DeltaTable(str(folder / "t")).delete("n = 3")
    assert client.run(query) == []
    assert client.run(f"SELECT n FROM {folder.name}.t@v1 ORDER BY n") == [["1"], ["2"]]


def test_a_new_column(client: Driver, folder: Path) -> None:
    write(folder / "t", numbers(1))
    assert client.run(f"SELECT * FROM {folder.name}.t") == [["1"]]
    wider = numbers(2).append_column("s", pa.array(["x"]))
    write(folder / "t", wider, schema_mode="merge")
    assert client.run(f"SELECT n, s FROM {folder.name}.t ORDER BY n") == [["1", "NULL"], ["2", "x"]]
    assert [row[:2] for row in client.run(f"DESCRIBE {folder.name}.t")] == [["n", "bigint"], ["s", "string"]]
    write(folder / "t", pa.table({"s": ["only"]}), mode="overwrite", schema_mode="overwrite")
    assert client.run(f"SELECT * FROM {folder.name}.t") == [["only"]]


@pytest.mark.parametrize("versions", [1, 2, 3, 5])
def test_recreated_table_has_only_its_own_changes(client: Driver, folder: Path, versions: int) -> None:
    for number in range(3):
        write(folder / "t", numbers(number))
    assert len(client.run(f"SELECT * FROM {folder.name}.t")) == 3
    shutil.rmtree(folder / "t")
    for number in range(versions):
        write(folder / "t", pa.table({"other": [f"new {number}"]}))
    expected = [[f"new {number}"] for number in range(versions)]
    if versions == 3:
        assert client.run(f"SELECT other FROM {folder.name}.t VERSION AS OF 2 ORDER BY 1") == expected
    assert client.run(f"SELECT other FROM {folder.name}.t ORDER BY 1") == expected


def test_a_table_that_vanishes_and_comes_back(client: Driver, folder: Path) -> None:
    write(folder / "t", numbers(1))
    write(folder / "other", numbers(7))
    query = f"SELECT * FROM {folder.name}.t"
    assert client.run(query) == [["1"]]
    shutil.rmtree(folder / "t")
    for _ in range(2):
        with pytest.raises(StatementFailed, match=r"TABLE_OR_VIEW_NOT_FOUND.*42P01"):
            client.run(query)
    assert client.run(f"SHOW TABLES IN {folder.name}") == [[folder.name, "other", "false"]]
    write(folder / "t", numbers(2))
    assert client.run(query) == [["2"]]


def test_a_data_file_that_vanished_is_an_error_of_the_table(client: Driver, server: RealServer, folder: Path) -> None:
    write(folder / "t", numbers(1))
    next((folder / "t").glob("*.parquet")).unlink()
    with pytest.raises(StatementFailed) as raised:
        client.run(f"SELECT sum(n) FROM {folder.name}.t")
    assert "NOT_EXIST" in str(raised.value) and str(server.lake) not in str(raised.value)


@pytest.mark.parametrize(
    ("damage", "condition"),
    [
        ("{not json", "DELTA_MALFORMED_LOG_ENTRY"),
        ('{"add":{"path":1}}\n', "DELTA_MALFORMED_LOG_ENTRY"),
        ('{"protocol":{"minReaderVersion":99,"minWriterVersion":7}}\n', "DELTA_INVALID_PROTOCOL_VERSION"),
    ],
)
def test_a_damaged_log_is_named_and_the_session_goes_on(
    client: Driver, server: RealServer, folder: Path, damage: str, condition: str
) -> None:
    write(folder / "t", numbers(1))
    assert client.run(f"SELECT * FROM {folder.name}.t") == [["1"]]
    (folder / "t" / "_delta_log" / f"{1:020}.json").write_text(damage)
    for text in (f"SELECT * FROM {folder.name}.t", f"DESCRIBE {folder.name}.t"):
        with pytest.raises(StatementFailed) as raised:
            client.run(text)
        assert f"[{condition}]" in str(raised.value) and str(server.lake) not in str(raised.value)
    assert client.run("SELECT 1") == [["1"]]
    assert [folder.name, "t", "false"] in client.run(f"SHOW TABLES IN {folder.name}")


NAMES = ["größe 漢字 🎉", "with space", "per%20cent", "a#b", "dot.ted", "quo'te", "a`b", "_hidden", "x=1"]


@pytest.mark.parametrize("name", NAMES)
def test_quoted_names(client: Driver, folder: Path, name: str) -> None:
    write(folder / "other", numbers(0))
    write(folder / "plain", numbers(1, 2))
    (folder / "plain").rename(folder / name)  # by hand, since writers treat a percent sign differently
    quoted = "`" + name.replace("`", "``") + "`"
    if name in ("_hidden", "x=1"):  # hidden, or a partition
        with pytest.raises(StatementFailed, match="TABLE_OR_VIEW_NOT_FOUND"):
            client.run(f"SELECT * FROM {folder.name}.{quoted}")
        return
    assert client.run(f"SELECT sum(x.n) FROM {folder.name}.{quoted} AS x") == [["3"]]
    assert client.run(f"SELECT count({folder.name}.{quoted}.n) FROM {folder.name}.{quoted}") == [["2"]]
    assert [folder.name, name, "false"] in client.run(f"SHOW TABLES IN {folder.name}")


_INSERTED = ["num_affected_rows", "num_inserted_rows"]
COUNTED = [
    ("CREATE TABLE {t} AS SELECT id AS n FROM range(3)", _INSERTED, None),  # as Databricks answers
    ("CREATE OR REPLACE TABLE {t} AS SELECT id AS n FROM range(3)", _INSERTED, None),
    ("INSERT INTO {t} VALUES (4), (5)", _INSERTED, ["2", "2"]),
    ("INSERT INTO {t} SELECT n FROM {t} WHERE false", _INSERTED, ["0", "0"]),
    ("INSERT INTO {t} REPLACE WHERE n < 3 VALUES (2)", _INSERTED, ["1", "1"]),
    ("INSERT OVERWRITE {t} VALUES (7), (8), (9), (10)", _INSERTED, ["4", "4"]),
    ("UPDATE {t} SET n = n + 1 WHERE n < 9", ["num_affected_rows"], ["2"]),
    ("DELETE FROM {t} WHERE n = 10", ["num_affected_rows"], ["1"]),
    (
        "MERGE INTO {t} AS t USING (VALUES (8), (9), (1)) AS s (n) ON t.n = s.n WHEN MATCHED AND s.n = 8 THEN DELETE "
        "WHEN MATCHED THEN UPDATE SET n = 0 WHEN NOT MATCHED THEN INSERT *",
        ["num_affected_rows", "num_updated_rows", "num_deleted_rows", "num_inserted_rows"],
        ["4", "2", "1", "1"],
    ),
]


def test_written_rows_are_counted(server: RealServer, folder: Path) -> None:
    client = server.http()
    client.run(f"CREATE SCHEMA {folder.name} LOCATION '{folder}'")
    try:
        for text, names, counts in COUNTED:
            answer = client.run(text.format(t=f"{folder.name}.counted"))
            columns = [column["name"] for column in answer["manifest"]["schema"]["columns"]]
            assert (columns, answer["result"]["data_array"]) == (names, [counts] if counts else []), text
    finally:
        client.run(f"DROP SCHEMA {folder.name} CASCADE")
        client.close()
