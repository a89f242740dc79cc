"""Statements in a session of the real engine, and the log that they leave."""

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

SLOW = (
    "SELECT /*+ COALESCE(2) */ id FROM range(0, 100000, 1, 2) "
    "WHERE id = 0 OR length(repeat(sha2(string(id), 512), 60)) < 1"
)
"""One row, 0, which a task writes at once, and then a second or more of work. Without the hint few rows are shuffled
first, and written when the work is done.
"""


def begun(write: Future[Any], folder: Path) -> None:
    """Returns when a statement that writes `SLOW` into the table at `folder`, which has no rows yet, is under way."""
    while not list(folder.glob("*.parquet")) and not write.done():
        time.sleep(0.01)


def table(session: LakeSession, text: str) -> pa.Table:
    """What a statement answers."""
    result = session.execute(text, StatementRequest(identity=Identity("ann")))
    try:
        return pa.Table.from_batches(result.batches(), result.schema)
    finally:
        result.close()


def rows(session: LakeSession, text: str) -> list[tuple[Any, ...]]:
    """The rows of a query."""
    return list(zip(*(column.to_pylist() for column in table(session, text).columns), strict=True))


def run(session: LakeSession, text: str) -> int | None:
    """The number of rows that a statement changed."""
    result = session.execute(text, StatementRequest(identity=Identity("ann")))
    result.close()
    return result.rows_modified


def refuse(session: LakeSession, text: str) -> SqlError:
    """The error of a statement that must fail."""
    with pytest.raises(SqlError) as caught:
        run(session, text)
    return caught.value


def table_of(lake: Path, name: str) -> pa.Table:
    """What deltalake reads."""
    return DeltaTable(lake / "default" / name).to_pyarrow_table()


def version_of(lake: Path, name: str) -> int:
    return DeltaTable(lake / "default" / name).version()


def actions(lake: Path, name: str, version: int) -> list[dict[str, Any]]:
    """A commit of the table."""
    log = lake / "default" / name / "_delta_log" / f"{version:020}.json"
    return [json.loads(line) for line in log.read_text().splitlines()]
