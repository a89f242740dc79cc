"""Decodes many manifests in batches: while one batch is walked, other threads read and decompress the next.

A batch is large enough for the lockstep walk to pay off, and bounds memory in addition to the results.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pyarrow as pa

from engine.iceberg.manifests.avro import AvroBlocks, read_blocks
from engine.iceberg.manifests.manifest import decode_manifests

# Compressed size; manifests are compressed to about a third.
_BATCH_BYTES = 24 << 20
_THREADS = 4

_Batch = list[tuple[Future[AvroBlocks], str]]


def decode_all(files: Iterable[tuple[str, bytes]]) -> Iterator[pa.Table]:
    """Yields a table for each manifest, in order; `files` has names for messages and bytes.

    Raises `MalformedIcebergFile`, and errors from `files`.
    """
    with ThreadPoolExecutor(_THREADS, "manifests") as threads:
        before: _Batch = []
        for batch in _batches(files, threads):
            yield from _decode(before)
            before = batch
        yield from _decode(before)


def _batches(files: Iterable[tuple[str, bytes]], threads: ThreadPoolExecutor) -> Iterator[_Batch]:
    batch: _Batch = []
    size = 0
    for name, data in files:
        batch.append((threads.submit(read_blocks, data, name), name))
        size += len(data)
        if size >= _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    yield batch


def _decode(batch: _Batch) -> Iterator[pa.Table]:
    yield from decode_manifests([(future.result(), name) for future, name in batch])
