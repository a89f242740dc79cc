"""A cached result's rows: in separate memory that readers share, or in a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from engine.runtime.accesses import Lineage
from engine.runtime.profile import Profile
from engine.runtime.results import ResultStream
from engine.spool.spool import Spool
from engine.spool.spool_file import AnyBatch, SpoolFile, StoredBatch, load_batch

# Approximate size of an entry besides its rows.
_OVERHEAD_BYTES, _COLUMN_BYTES = 2_000, 500


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedResult:
    """A query's complete result. `lineage` contains the columns that it read, if requested and known.

    `num_bytes` is its size in memory. `principal` ran the statement with this `profile`.
    """

    schema: pa.Schema
    batches: tuple[pa.RecordBatch, ...]
    time_zone: str
    num_bytes: int
    lineage: Lineage | None = None
    principal: str = ""
    profile: Profile = field(default_factory=Profile, compare=False)

    def stream(self) -> ResultStream:
        """Returns the rows for one more reader."""
        return ResultStream(schema=self.schema, source=self.batches, time_zone=self.time_zone)


def keep(stream: ResultStream, pieces: Sequence[AnyBatch], lineage: Lineage | None) -> CachedResult:
    """Returns the result of `stream`, whose rows are `pieces`."""
    batches = [load_batch(piece) for piece in pieces]
    counted = pa.MockOutputStream()  # a growing sink would hold up to twice the bytes
    _write(counted, stream.schema, batches)
    buffer = pa.allocate_buffer(counted.size())
    _write(pa.FixedSizeBufferWriter(buffer), stream.schema, batches)
    with pa.ipc.open_stream(buffer) as reader:
        copied = tuple(reader)
    return CachedResult(
        schema=stream.schema,
        batches=copied,
        time_zone=stream.time_zone,
        num_bytes=buffer.size + _OVERHEAD_BYTES + _COLUMN_BYTES * len(stream.schema),
        lineage=lineage,
    )


def _write(sink: pa.NativeFile, schema: pa.Schema, batches: Sequence[pa.RecordBatch]) -> None:
    with sink, pa.ipc.new_stream(sink, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredResult:
    """A result whose rows are in `file`."""

    # The result without its rows.
    result: CachedResult
    rows: tuple[StoredBatch, ...]
    file: SpoolFile

    @classmethod
    def write(cls, result: CachedResult, spool: Spool) -> StoredResult:
        """Writes the result to a file. Raises `DiskFull`, `SpoolFull` or `SpooledRowsLost`, and then leaves no file."""
        writer = spool.writer(result.schema, is_compressed=True)
        try:
            rows = tuple(map(writer.add, result.batches))
        except BaseException:
            writer.file.close()
            raise
        return cls(result=replace(result, batches=()), rows=rows, file=writer.file)

    def read(self) -> CachedResult:
        """Reads the result into memory and removes the file. Raises `SpooledRowsLost`."""
        try:
            return replace(self.result, batches=tuple(row.read() for row in self.rows))
        finally:
            self.file.close()
