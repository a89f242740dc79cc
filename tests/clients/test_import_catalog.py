"""`delta-gateway import-catalog` against a server: objects exist afterwards, and a second run changes nothing."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from hive_metastore.ttypes import HiveObjectPrivilege, HiveObjectRef, StorageDescriptor, Table

from gateway.__main__ import main
from tests.clients.fix_server import RealServer
from tests.gateway.catalog_import.hive_server import Handler, metastore

pytestmark = [pytest.mark.clients, pytest.mark.spark]

DUMP = """
CREATE SCHEMA moved COMMENT 'from elsewhere';
USE moved;
CREATE VIEW total AS SELECT sum(n) AS n FROM doubled;
CREATE VIEW doubled AS SELECT 2 * id AS n FROM numbers;
CREATE TABLE numbers (id BIGINT) USING delta LOCATION 's3a://old/imported/numbers';
CREATE TABLE missing (id BIGINT) USING delta LOCATION 's3a://old/imported/missing';
CREATE TABLE raw (id BIGINT) USING csv LOCATION 's3a://old/raw';
GRANT SELECT ON TABLE numbers TO `ann@example.com`;
"""


def test_dump_is_imported_once_and_repeated(
    server: RealServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_deltalake(str(server.lake / "imported" / "numbers"), pa.table({"id": [1, 2, 3]}))
    dump = tmp_path / "dump.sql"
    dump.write_text(DUMP)
    arguments = [
        "import-catalog",
        str(dump),
        "--server",
        f"http://127.0.0.1:{server.http_port}",
        "--relocate",
        f"s3a://old={server.lake}",
    ]
    assert main([*arguments, "--dry-run"]) == 0
    shown = capsys.readouterr().out
    assert (
        f"CREATE TABLE IF NOT EXISTS `moved`.`numbers` USING delta LOCATION '{server.lake}/imported/numbers';" in shown
    )
    assert "-- skipped moved.raw: the format csv is not served\n" in shown
    http = server.http()
    assert http.rows("SHOW SCHEMAS LIKE 'moved'") == []
    for _ in range(2):
        assert main(arguments) == 1  # because of the missing table
        lines = capsys.readouterr().out.splitlines()
        assert lines[-1] == "5 imported, 1 skipped, 1 failed"
        assert [line for line in lines if line.startswith("failed")][0].startswith("failed table moved.missing: ")
        assert http.rows("SELECT n FROM moved.total") == [["12"]]
    assert http.rows("SHOW GRANTS ON TABLE moved.numbers")


class LakeHandler(Handler):
    """A metastore whose tables are in a server's lake."""

    def __init__(self, tables: list[Table]) -> None:
        self.tables = {table.tableName: table for table in tables}

    def get_all_databases(self) -> list[str]:
        return ["from_hive"]

    def list_privileges(self, principal: str, kind: int, on: HiveObjectRef) -> list[HiveObjectPrivilege]:
        return []


def test_tables_of_a_metastore_are_imported_and_read(server: RealServer, capsys: pytest.CaptureFixture[str]) -> None:
    http = server.http()
    write_deltalake(str(server.lake / "hive" / "d"), pa.table({"id": [1, 2]}))
    delta = Table(
        tableName="d",
        tableType="EXTERNAL_TABLE",
        sd=StorageDescriptor(location=f"file:{server.lake}/hive/d"),
        parameters={"spark.sql.sources.provider": "delta"},
    )
    view = Table(
        tableName="v",
        tableType="VIRTUAL_VIEW",
        viewOriginalText="SELECT max(id) AS top FROM d",
        sd=StorageDescriptor(),
        parameters={},
    )
    with metastore(LakeHandler([view, delta])) as port:
        for _ in range(2):
            source = f"hive://127.0.0.1:{port}"
            assert main(["import-catalog", source, "--server", f"http://127.0.0.1:{server.http_port}"]) == 0
            assert capsys.readouterr().out.splitlines()[-1] == "3 imported, 0 skipped, 0 failed"
            assert http.rows("SELECT top FROM from_hive.v") == [["2"]]
