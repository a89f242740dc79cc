"""Whole results as records: rows in memory become part of the record if they are few, and files otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path

import pyarrow as pa

from engine.runtime.results import ResultStream, RowCounts
from engine.spool.spool import Spool
from engine.spool.spool_file import AnyBatch, SpoolFile, StoredBatch
from gateway.state.records import SavedBatch, SavedResult

# Limit for rows in a record.
_INLINE_BYTES_MAX = 64 << 10


def saved_result(
    stream: ResultStream, batches: list[AnyBatch], num_bytes: int, spool: Spool, owner: str, *, is_from_cache: bool
) -> tuple[SavedResult, list[SpoolFile]]:
    """Returns the record of `batches` with `num_bytes`, and the files that were written for it; raises the spool's
    errors.
    """
    inline, stored, files = tuple[bytes, ...](), tuple[SavedBatch, ...](), list[SpoolFile]()
    in_memory = [batch for batch in batches if not isinstance(batch, StoredBatch)]
    if num_bytes <= _INLINE_BYTES_MAX and len(in_memory) == len(batches):
        inline = tuple([bytes(batch.serialize()) for batch in in_memory])
    else:
        stored, files = _in_files(stream, batches, spool, owner)
    result = SavedResult(
        schema=bytes(stream.schema.serialize()),
        has_rows=stream.has_rows,
        inline=inline,
        batches=stored,
        row_counts=None if stream.row_counts is None else asdict(stream.row_counts),
        time_zone=stream.time_zone,
        is_from_cache=is_from_cache,
    )
    return result, files


def _in_files(
    stream: ResultStream, batches: list[AnyBatch], spool: Spool, owner: str
) -> tuple[tuple[SavedBatch, ...], list[SpoolFile]]:
    has_rows_in_memory = not all(isinstance(batch, StoredBatch) for batch in batches)
    writer = spool.writer(stream.schema, owner) if has_rows_in_memory else None
    stored = []
    for batch in batches:
        if not isinstance(batch, StoredBatch):
            assert writer is not None
            batch = writer.add(batch)
        stored.append(_saved(batch))
    return tuple(stored), [] if writer is None else [writer.file]


def restored_stream(saved: SavedResult, files: Mapping[str, SpoolFile]) -> ResultStream:
    """Returns the result; `files` are the ones that it names."""
    schema = pa.ipc.read_schema(pa.py_buffer(saved.schema))
    counts = saved.row_counts
    return ResultStream(
        schema=schema,
        source=list(_batches(saved, schema, files)),
        has_rows=saved.has_rows,
        row_counts=None if counts is None else RowCounts(**counts),  # type: ignore[arg-type]
        time_zone=saved.time_zone,
    )


def file_names(saved: SavedResult) -> set[str]:
    """Returns the names of the files that the result needs."""
    return {batch.file for batch in saved.batches}


def _batches(saved: SavedResult, schema: pa.Schema, files: Mapping[str, SpoolFile]) -> Iterator[AnyBatch]:
    for message in saved.inline:
        yield pa.ipc.read_record_batch(pa.py_buffer(message), schema)
    for one in saved.batches:
        yield StoredBatch(
            files[one.file],
            schema,
            one.offset,
            one.length,
            one.stored_rows,
            one.stored_bytes,
            one.first,
            one.num_rows,
            one.checksum,
        )


def _saved(batch: StoredBatch) -> SavedBatch:
    return SavedBatch(
        file=Path(batch.file.path).name,
        offset=batch.offset,
        length=batch.length,
        stored_rows=batch.stored_rows,
        stored_bytes=batch.stored_bytes,
        first=batch.first,
        num_rows=batch.num_rows,
        checksum=batch.checksum,
    )
