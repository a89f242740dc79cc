"""Streaming results: announced rows before a query's end, without Spark."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from engine.runtime.results import ResultStream
from engine.spark.streaming_result import StreamingResult
from engine.spool.budget import SpoolBudget
from engine.spool.spool import OwnedSpool

COLUMNS = {"columns": [{"name": "n", "type": "long", "ddl": "bigint"}], "time_zone": "UTC"}
ROWS = pa.record_batch({"n": [7, 8]})


class Query:
    """One whose two rows are in a file."""

    def __init__(self, folder: Path) -> None:
        path = folder / "part"
        path.write_bytes(ROWS.serialize())
        self.segment = [str(path), 0, path.stat().st_size]
        self.streams: list[ResultStream] = []
        self.spool = OwnedSpool(str(folder), SpoolBudget(1 << 20))
        self.result = StreamingResult(lambda _: None, self.tell, lambda *_: None, self.spool, "ann")

    def tell(self, stream: ResultStream) -> None:
        self.streams.append(stream)

    @property
    def line(self) -> bytes:
        return f"{json.dumps(self.segment)}\n".encode()

    def complete(self) -> ResultStream:
        more: dict[str, Any] = {
            "segments": [self.segment],
            "rows": 2,
            "repeatable": "always",
            "steps_us": {},
            "rules": {},
        }
        header = json.dumps(COLUMNS | more).encode()
        return self.result.complete(len(header).to_bytes(4, "big") + header)


@pytest.fixture
def query(tmp_path: Path) -> Iterator[Query]:
    made = Query(tmp_path)
    yield made
    made.spool.close()


def test_no_rows_are_streamed_after_query_end(query: Query) -> None:
    ended: list[ResultStream] = []

    def lines() -> Iterator[bytes]:
        ended.append(query.complete())  # while the connection's thread is between the header and the first line
        yield query.line

    query.result.read_segments(COLUMNS, lines())
    assert query.streams == []
    assert pa.Table.from_batches(ended[0].batches()).to_pydict() == {"n": [7, 8]} and ended[0].rows_made == 2


def test_query_end_waits_for_row_announcement(query: Query) -> None:
    ended = threading.Event()

    def end() -> None:
        query.complete()
        ended.set()

    ending = threading.Thread(target=end)
    seen: list[bool] = []

    def tell(stream: ResultStream) -> None:
        ending.start()
        seen.append(ended.wait(0.2))
        query.tell(stream)

    query.result = StreamingResult(lambda _: None, tell, lambda *_: None, query.spool, "ann")
    query.result.read_segments(COLUMNS, [query.line])
    ending.join(60)
    assert seen == [False] and ended.is_set()
    assert pa.Table.from_batches(query.streams[0].batches()).to_pydict() == {"n": [7, 8]}
