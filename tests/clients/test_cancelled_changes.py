"""Statements that change or maintain tables, cancelled from another connection when they are well under way.

The tables are as before, as deltalake reads them and file by file; the session that sent the statement goes on.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from deltalake import DeltaTable, write_deltalake

from tests.clients.fix_server import RealServer
from tests.clients.http_client import HttpClient
from tests.clients.test_kill_writes import ENDLESS
from tests.clients.test_sessions import IDLE, processors_used
from tests.gateway.http.conftest import eventually

pytestmark = [pytest.mark.clients, pytest.mark.spark]

# Copied or removed files: many more than change between two looks at a folder.
FILES = 10_000
ROWS = 500_000


@dataclass(frozen=True)
class Cut:
    """A canceled statement: `text` names the table `{t}`, whose folder is passed to `is_begun`, which is true when the
    work has begun, if folders show it.
    """

    text: str
    is_begun: Callable[[Path], bool] | None
    # Versions that the statement commits nevertheless, to record its progress.
    versions: int = 0


def parquet(folder: Path) -> int:
    return sum(name.endswith(".parquet") for name in os.listdir(folder)) if folder.exists() else 0


CUTS = {
    "MERGE": Cut(
        f"MERGE INTO {{t}} USING (SELECT CAST(id AS INT) AS k, 'x' AS x FROM ({ENDLESS})) s ON {{t}}.k = s.k "
        "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT *",
        None,
    ),
    "OPTIMIZE": Cut("OPTIMIZE {t} ZORDER BY (x)", lambda folder: parquet(folder) > 4),
    "VACUUM": Cut("VACUUM {t} RETAIN 0 HOURS", lambda folder: parquet(folder) < FILES, versions=2),
    "CLONE": Cut("CREATE TABLE {t}_clone DEEP CLONE {t}", lambda folder: parquet(Path(f"{folder}_clone")) > 0),
}


@pytest.fixture
def client(server: RealServer) -> Iterator[HttpClient]:
    opened = server.http(**{"spark.databricks.delta.retentionDurationCheck.enabled": "false"})
    yield opened
    opened.close()


def made(lake: Path, name: str) -> Path:
    """Returns a table on which the statement works for a while."""
    folder = lake / "default" / f"cancelled_{name.lower()}"
    count, random = ROWS if name == "OPTIMIZE" else 1, np.random.default_rng(0)
    for first in range(4):
        texts = pa.array(random.integers(0, 1 << 60, count)).cast(pa.string())
        some = pa.table({"k": pa.array(np.arange(count, dtype=np.int32) + first * ROWS), "x": texts})
        write_deltalake(folder, some, mode="append")
    (first_file,) = (unquote(path) for path in DeltaTable(folder).file_uris()[:1])
    if name == "VACUUM":
        linked(Path(first_file), folder)
        os.utime(first_file, (time.time() - 86_400,) * 2)
    if name == "CLONE":
        status = Path(first_file).stat()
        adds = [
            {"path": path, "size": status.st_size, "modificationTime": 1, "partitionValues": {}, "dataChange": True}
            for path in linked(Path(first_file), folder)
        ]
        log = folder / "_delta_log" / f"{4:020}.json"
        log.write_text("".join(json.dumps({"add": add}) + "\n" for add in adds))
    return folder


def linked(file: Path, folder: Path) -> list[str]:
    names = [f"linked-{number}.parquet" for number in range(FILES)]
    for each in names:
        os.link(file, folder / each)
    return names


def rows_of(folder: Path) -> tuple[int, int]:
    """Returns the rows' number and sum."""
    table = DeltaTable(folder).to_pyarrow_table(columns=["k"])
    return table.num_rows, pc.sum(table["k"]).as_py()


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name == "CLONE" else ()) for name in CUTS]
)
def test_cancelled_change_changes_nothing_and_the_session_continues(
    server: RealServer, client: HttpClient, name: str
) -> None:
    cut, folder = CUTS[name], made(server.lake, name)
    before, version = rows_of(folder), DeltaTable(folder).version()
    answer = client.submit(cut.text.format(t=folder.name), wait="0s")
    is_begun = cut.is_begun
    if is_begun is None:
        assert eventually(lambda: processors_used(server.process) > IDLE)
    else:
        assert eventually(lambda: is_begun(folder))
    HttpClient(server.http_port).ask("POST", f"/statements/{answer['statement_id']}/cancel", {})
    assert client.wait(answer | {"status": {"state": "RUNNING"}})["status"]["state"] == "CANCELED"
    assert eventually(lambda: DeltaTable(folder).version() == version + cut.versions)
    assert rows_of(folder) == before
    if name == "VACUUM":
        assert 4 < parquet(folder) < FILES
    else:
        assert eventually(lambda: parquet(folder) == len(DeltaTable(folder).file_uris()))
        assert not parquet(Path(f"{folder}_clone"))
    assert client.rows(f"SELECT count(*), sum(k) FROM {folder.name}") == [[str(each) for each in before]]
    assert client.rows(f"SHOW TABLES LIKE '{folder.name}*'") == [["default", folder.name, "false"]]
    client.run(f"INSERT INTO {folder.name} VALUES (-1, 'x')")
    assert rows_of(folder) == (before[0] + 1, before[1] - 1)
