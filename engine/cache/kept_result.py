"""The rows of a result as the cache keeps them: in one piece of memory of their own, which readers share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from engine.runtime.accesses import Lineage
from engine.runtime.results import ResultStream

_OVERHEAD_BYTES, _COLUMN_BYTES = 2_000, 500
"""About what an entry takes besides its rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptResult:
    """The whole result of a query. `lineage` are the columns that it read, if that was asked for and is known."""

    schema: pa.Schema
    batches: tuple[pa.RecordBatch, ...]
    time_zone: str
    num_bytes: int
    lineage: Lineage | None = None

    def stream(self) -> ResultStream:
        """The rows for one more reader."""
        return ResultStream(schema=self.schema, source=self.batches, time_zone=self.time_zone)


def keep(stream: ResultStream, batches: Sequence[pa.RecordBatch], lineage: Lineage | None) -> KeptResult:
    """The result that `stream` had, whose rows are `batches`; these may be in files that go."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, stream.schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    buffer = sink.getvalue()
    with pa.ipc.open_stream(buffer) as reader:
        copied = tuple(reader)
    return KeptResult(
        schema=stream.schema,
        batches=copied,
        time_zone=stream.time_zone,
        num_bytes=buffer.size + _OVERHEAD_BYTES + _COLUMN_BYTES * len(stream.schema),
        lineage=lineage,
    )
