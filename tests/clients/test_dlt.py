"""dlt's Databricks destination: each kind of load in an environment of its own, and the statements of one replayed."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from databricks import sql

from tests.clients.environments import client_environment
from tests.clients.fix_server import RealServer

pytestmark = [pytest.mark.clients, pytest.mark.spark]

SCRIPT = Path(__file__).with_name("dlt_loads.py")
PACKAGES = ("dlt[databricks,parquet]==1.31.0", "pandas<3", "sqlglot<28")  # dlt uses an argument that newer ones dropped
PATH = "/sql/1.0/warehouses/any"
MERGED = [[1, "ADA"], [2, "bob"], [3, "cy"]]
EXPECTED: dict[str, Any] = {
    "append parquet": [[4, 4]],
    "append jsonl": [[4, 4]],
    "replace truncate-and-insert": [[2]],
    "replace insert-from-staging": [[2]],
    "replace staging-optimized": [[2]],
    "merge delete-insert": MERGED,
    "merge upsert": MERGED,
    "merge scd2": sorted([[1, "ada"], *MERGED]),
    "types": [
        ["1099511627776", r"b'\x00\xff'", "True", "2024-02-29", "12345.678900000", "1.5", '{"a":[1,{"b":2}]}', "é'\"\\"]
        + ["2024-02-29 12:00:00.123456+00:00"]
    ],
    "new columns": [[1, None, None], [2, "x", 1.5]],
    "adapted": [["one"], ["the 'key'"], ["plain", ""], ["team", "a"]],
    "keys": [["PRIMARY KEY"]],
    "restored": ["people", "people__tags"],
    "dataset": [4, 2],
    "refreshed": [[2]],
    "dropped": [False],
}


def test_files_of_a_load_go_through_a_volume(server: RealServer, tmp_path: Path) -> None:
    """The statements of two loads with a merge: a staged file, COPY INTO a staging table, and a MERGE that deletes."""
    schema, volume = "`spark_catalog`.`dlt_replayed`", "/Volumes/spark_catalog/dlt_replayed/_dlt_staging_load_volume"
    options = {"server_hostname": "127.0.0.1", "http_path": PATH, "access_token": "any", "enable_telemetry": False}
    uri = f"http://127.0.0.1:{server.http_port}{PATH}"
    with (
        sql.connect(**options, _connection_uri=uri, staging_allowed_local_path=str(tmp_path)) as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute(f"CREATE SCHEMA {schema}")
        for table in ("people", "staged"):
            cursor.execute(f"CREATE TABLE {schema}.`{table}` (`id` BIGINT NOT NULL, `name` STRING)")
        for number, people in enumerate(([[1, "ada"], [2, "bob"]], [[1, "ADA"], [3, "cy"]])):
            ids, names = zip(*people, strict=True)
            pq.write_table(pa.table({"id": ids, "name": names}), tmp_path / f"{number}.parquet")
            cursor.execute("CREATE VOLUME IF NOT EXISTS spark_catalog.dlt_replayed._dlt_staging_load_volume")
            cursor.execute(f"PUT '{tmp_path}/{number}.parquet' INTO '{volume}/{number}/people.parquet' OVERWRITE")
            cursor.execute(f"TRUNCATE TABLE {schema}.`staged`")
            cursor.execute(f"COPY INTO {schema}.`staged`\nFROM '{volume}/{number}'\n\nFILEFORMAT = PARQUET\n")
            cursor.execute(
                f"MERGE INTO {schema}.`people` USING {schema}.`staged` ON {schema}.`people`.`id` = "
                f"{schema}.`staged`.`id` WHEN MATCHED THEN DELETE"
            )
            cursor.execute(f"INSERT INTO {schema}.`people`(`id`, `name`) SELECT `id`, `name` FROM {schema}.`staged`")
        cursor.execute(f"SELECT * FROM {schema}.`people` ORDER BY `id`")
        assert [list(row) for row in cursor.fetchall()] == MERGED
        cursor.execute(f"DROP SCHEMA {schema} CASCADE")


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_every_kind_of_load_succeeds(server: RealServer, tmp_path: Path) -> None:
    uri = f"http://127.0.0.1:{server.http_port}{PATH}"
    command: list[str | Path] = [client_environment("dlt", *PACKAGES) / "python", SCRIPT, tmp_path, PATH, uri]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-3000:]
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("RESULTS ")]
    assert json.loads(line.removeprefix("RESULTS ")) == EXPECTED
