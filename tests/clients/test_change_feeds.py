"""The change data feed over the wire: the same rows and types by Thrift and by HTTP."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path

import deltalake
import pyarrow as pa
import pytest

from tests.clients.drivers import StatementFailed, open_driver
from tests.clients.fix_server import RealServer

pytestmark = [pytest.mark.clients, pytest.mark.spark]


@pytest.fixture
def table(server: RealServer) -> Iterator[str]:
    """Creates two rows, updates the second and then deletes the first."""
    folder: Path = server.lake / f"feed_{uuid.uuid4().hex[:8]}"
    written = pa.table({"id": pa.array([1, 2], pa.int64()), "name": ["a", "b"]})
    feed = {"delta.enableChangeDataFeed": "true"}
    deltalake.write_deltalake(folder / "t", written, configuration=feed)
    deltalake.DeltaTable(folder / "t").update(updates={"name": "'c'"}, predicate="id = 2")
    deltalake.DeltaTable(folder / "t").delete("id = 1")
    yield f"{folder.name}.t"
    shutil.rmtree(folder)


def test_rows_of_the_feed(server: RealServer, table: str) -> None:
    text = (
        "SELECT id, name, _change_type, _commit_version, _commit_timestamp IS NOT NULL AS stamped"
        f" FROM table_changes('{table}', 0) ORDER BY _commit_version, id, _change_type"
    )
    expected = [
        ["1", "a", "insert", "0", "true"],
        ["2", "b", "insert", "0", "true"],
        ["2", "c", "update_postimage", "1", "true"],
        ["2", "b", "update_preimage", "1", "true"],
        ["1", "a", "delete", "2", "true"],
    ]
    thrift = open_driver("pyhive", server.thrift_port, None)
    assert thrift.run(text) == expected
    with pytest.raises(StatementFailed, match="DELTA_CDC_START_VERSION_AFTER_LATEST"):
        thrift.run(f"SELECT * FROM table_changes('{table}', 3)")
    thrift.close()
    http = server.http()
    assert http.rows(text) == expected
    types, found = http.arrow(f"SELECT * FROM table_changes('{table}', 1, 1)")
    assert list(types.values()) == ["bigint", "string", "string", "bigint", "timestamp"]
    assert sorted(found["_change_type"].to_pylist()) == ["update_postimage", "update_preimage"]
