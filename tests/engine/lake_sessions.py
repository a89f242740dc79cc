"""Runs statements in a session with the real engine, and reads the resulting log."""

from __future__ import annotations

import json
import time
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from catalog.errors import SqlError
from engine.main import LakeSession
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest

# A task writes one row, 0, immediately, and then needs a second or more. Without the hint, small results are shuffled
# first and written at the end.
SLOW = (
    "SELECT /*+ COALESCE(2) */ id FROM range(0, 50000, 1, 2) "
    "WHERE id = 0 OR length(repeat(sha2(string(id), 512), 60)) < 1"
)


def begun(write: Future[Any], folder: Path) -> None:
    """Returns when a statement that writes `SLOW` into the table at `folder`, which has no rows yet, is under way."""
    while not list(folder.glob("*.parquet")) and not write.done():
        time.sleep(0.01)


def table(session: LakeSession, text: str) -> pa.Table:
    result = session.execute(text, StatementRequest(identity=Identity("ann")))
    try:
        return pa.Table.from_batches(result.batches(), result.schema)
    finally:
        result.close()


def rows(session: LakeSession, text: str) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in table(session, text).columns), strict=True))


def run(session: LakeSession, text: str) -> int | None:
    """Returns the number of affected rows."""
    result = session.execute(text, StatementRequest(identity=Identity("ann")))
    result.close()
    return result.rows_modified


def refuse(session: LakeSession, text: str) -> SqlError:
    """Returns the error that a failing statement raises."""
    with pytest.raises(SqlError) as caught:
        run(session, text)
    return caught.value


def table_of(lake: Path, name: str) -> pa.Table:
    """Returns the table as deltalake reads it."""
    return DeltaTable(lake / "default" / name).to_pyarrow_table()


def version_of(lake: Path, name: str) -> int:
    return DeltaTable(lake / "default" / name).version()


def actions(lake: Path, name: str, version: int) -> list[dict[str, Any]]:
    """Returns the actions in a commit."""
    log = lake / "default" / name / "_delta_log" / f"{version:020}.json"
    return [json.loads(line) for line in log.read_text().splitlines()]
