"""Delivery of one statement's result: limits, chunks, formats, inline or as links.

A chunk is a row range in the held result, so any chunk can be fetched repeatedly while the statement is open. Chunks
have about `_CHUNK_BYTES` of Arrow memory or less: small enough to be created in one piece, large enough that a million
rows take a few dozen requests.

Byte counts are the Arrow rows' sizes, before formatting; a chunk's is its share by rows.
"""

from __future__ import annotations

import uuid
from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import assert_never

import pyarrow as pa

from catalog.conditions import ChunkNotFound
from engine.engine import EngineSession
from engine.runtime.results import ResultStream, counts_as_row
from engine.spool.spool_file import AnyBatch, batch_bytes
from gateway.http.encode import arrow_stream, column_info, csv_bytes, json_bytes, json_rows
from gateway.http.requests import Compression, Disposition, Format, StatementRequest
from gateway.http.staged_links import LinkSigner
from gateway.results.lz4_frames import lz4_frame
from gateway.sessions.operation import Operation
from gateway.sessions.operation_state import OperationState
from gateway.sessions.requested import WantedResult
from gateway.sessions.session import Session


@dataclass(frozen=True, slots=True)
class SessionContext:
    """Refers to the engine's session, which, unlike the session, does not keep its statements alive."""

    session_id: uuid.UUID
    engine_session: EngineSession

    def body(self) -> dict[str, object]:
        """Returns the state after the statements that have ended."""
        engine_session = self.engine_session
        return {
            "session_id": str(self.session_id),
            "catalog": engine_session.current_catalog,
            "schema": engine_session.current_schema,
        }


def context_of(session: Session) -> SessionContext:
    """Returns the session's context for responses: its id, current catalog and schema."""
    return SessionContext(session.id, session.engine_session)


API = "/api/2.0/sql"
# The name of the statement API in the state folder.
FRONT_END = "statements"
_CHUNK_BYTES = 4 << 20
_LONG_MAX = 2**63 - 1
# Databricks' limit for links per response.
_LINKS_MAX = 32

CONTENT_TYPES = {
    Format.JSON_ARRAY: "application/json",
    Format.ARROW_STREAM: "application/vnd.apache.arrow.stream",
    Format.CSV: "text/csv; charset=utf-8",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    index: int
    row_offset: int
    row_count: int
    byte_count: int


class Delivery:
    """A request's result options; created with the request, used with the operation."""

    def __init__(self, request: StatementRequest, context: SessionContext | None = None) -> None:
        self.context = context
        self.format = request.format
        self._disposition = request.disposition
        self._compression = request.compression if request.format is Format.ARROW_STREAM else Compression.NONE
        self._row_limit = request.row_limit
        self._byte_limit = request.byte_limit
        self._is_truncated = False
        self._chunks: list[Chunk] = []

    def saved(self) -> dict[str, object]:
        """Returns the options as JSON values, and whether rows were cut."""
        return {
            "front_end": FRONT_END,
            "format": self.format,
            "disposition": self._disposition,
            "compression": self._compression,
            "row_limit": self._row_limit,
            "byte_limit": self._byte_limit,
            "is_truncated": self._is_truncated,
        }

    @classmethod
    def restored(cls, saved: Mapping[str, object], context: SessionContext) -> Delivery:
        """Returns the options that :meth:`saved` returned; raises ValueError for others."""
        row_limit, byte_limit = saved["row_limit"], saved["byte_limit"]
        delivery = cls(
            StatementRequest(
                text="",
                format=Format(str(saved["format"])),
                disposition=Disposition(str(saved["disposition"])),
                compression=Compression(str(saved["compression"])),
                row_limit=row_limit if isinstance(row_limit, int) else None,
                byte_limit=byte_limit if isinstance(byte_limit, int) else None,
            ),
            context,
        )
        delivery._is_truncated = bool(saved["is_truncated"])
        return delivery

    @property
    def is_truncated(self) -> bool:
        """Returns True if rows were cut."""
        return self._is_truncated

    @property
    def wanted_result(self) -> WantedResult:
        """Returns the required result; one row beyond the limit shows that there are more."""
        row_limit = None if self._row_limit is None else min(self._row_limit + 1, _LONG_MAX)
        return WantedResult(row_limit=row_limit, bytes_wanted=self._byte_limit, shows_materialized=True)

    def cut(self, stream: ResultStream) -> ResultStream:
        """Returns the result as clients see it: its first rows within the limits; a DML statement's counts as a row."""
        if not stream.has_rows and stream.row_counts is not None:
            return counts_as_row(stream)
        return ResultStream(
            schema=stream.schema,
            source=self._within_limits(stream),
            has_rows=stream.has_rows,
            time_zone=stream.time_zone,
            on_close=stream.close,
        )

    def _within_limits(self, stream: ResultStream) -> Iterator[AnyBatch]:
        rows_left = self._row_limit if self._row_limit is not None else 1 << 63
        bytes_left = self._byte_limit if self._byte_limit is not None else 1 << 63
        for batch in stream.pieces():
            if not batch.num_rows:
                continue
            size = batch_bytes(batch)
            # Rows are cut by their average size: the exact size of each would require
            # formatting them.
            fitting = min(batch.num_rows, rows_left, bytes_left * batch.num_rows // max(1, size))
            if fitting:
                yield batch.slice(0, fitting)
            rows_left, bytes_left = rows_left - fitting, bytes_left - size
            if fitting < batch.num_rows:
                self._is_truncated = True
                return

    def manifest(self, operation: Operation) -> dict[str, object]:
        """Returns the `manifest` of the Statement Execution API: format, columns and chunks with their sizes."""
        schema, chunks = operation.schema, self.chunks(operation)
        compression = {} if self._compression is Compression.NONE else {"result_compression": self._compression}
        return compression | {
            "format": self.format,
            "schema": {
                "column_count": len(schema),
                "columns": [column_info(field, position) for position, field in enumerate(schema)],
            },
            "total_chunk_count": len(chunks),
            "total_row_count": operation.row_count(),
            "total_byte_count": operation.result_bytes,
            "truncated": self._is_truncated,
            "from_result_cache": operation.profile.is_from_cache,
            "chunks": [_chunk_info(chunk) for chunk in chunks],
        }

    def chunks(self, operation: Operation) -> list[Chunk]:
        """Returns the chunks: at least one if there are columns, even without rows; none for a statement without a
        result set.
        """
        if not len(operation.schema):
            return []
        if not self._chunks:
            # One empty chunk, so that clients that read the schema from the first chunk
            # find it.
            spans = operation.spans(_CHUNK_BYTES) or [(0, 0, 0)]
            self._chunks = [
                Chunk(index=index, row_offset=start, row_count=rows, byte_count=size)
                for index, (start, rows, size) in enumerate(spans)
            ]
        return self._chunks

    def is_whole(self, operation: Operation) -> bool:
        """Returns True if the response with an ended statement's first chunk is all that its client needs."""
        is_finished = operation.state is OperationState.FINISHED
        return not is_finished or (len(self.chunks(operation)) <= 1 and not self._is_linked(operation))

    def chunk(self, operation: Operation, index: int) -> Chunk:
        """Returns the chunk at this index. Raises `ChunkNotFound`."""
        chunks = self.chunks(operation)
        if not 0 <= index < len(chunks):
            raise ChunkNotFound(index, len(chunks))
        return chunks[index]

    def content(self, operation: Operation, chunk: Chunk, format_: Format) -> bytes:
        """Returns a chunk's rows as a separate document."""
        table = _rows(operation, chunk)
        match format_:
            case Format.JSON_ARRAY:
                return json_bytes(table, operation.time_zone)
            case Format.ARROW_STREAM:
                return self._compress(arrow_stream(table))
            case Format.CSV:
                return csv_bytes(table, operation.time_zone, header=chunk.index == 0)
            case _:
                assert_never(format_)

    def _compress(self, stream: bytes) -> bytes:
        match self._compression:
            case Compression.NONE:
                return stream
            case Compression.LZ4_FRAME:
                return lz4_frame(stream)
            case Compression.ZSTD:
                return bytes(pa.compress(stream, "zstd", asbytes=True))
            case _:
                assert_never(self._compression)

    def result(self, operation: Operation, index: int, signer: LinkSigner, base_url: str) -> dict[str, object]:
        """Returns the `result` object for chunk `index`, empty for a statement without columns.

        With links it includes the following chunks too, up to `_LINKS_MAX` in all: databricks-sql-connector requests
        several chunks' links concurrently, and loses rows if they arrive singly and out of order.
        """
        chunks = self.chunks(operation)
        if not chunks and index == 0:
            return {}
        chunk = self.chunk(operation, index)
        if self._is_linked(operation):
            listed = chunks[index : index + _LINKS_MAX]
            return {"external_links": [self._link(operation, one, len(chunks), signer, base_url) for one in listed]}
        info = _chunk_info(chunk) | _next_chunk(operation, chunk, len(chunks))
        if self.format is Format.JSON_ARRAY:
            return info | {"data_array": json_rows(_rows(operation, chunk), operation.time_zone)}
        if not chunk.row_count:  # Databricks' kernel finds no schema in a stream without rows, and uses the manifest's
            return info
        return info | {"attachment": b64encode(self.content(operation, chunk, self.format)).decode()}

    def _link(
        self, operation: Operation, chunk: Chunk, total: int, signer: LinkSigner, base_url: str
    ) -> dict[str, object]:
        path, expires = signer.sign(f"{API}/results/{operation.id}/{chunk.index}")
        expiration = datetime.fromtimestamp(expires, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        info = _chunk_info(chunk) | _next_chunk(operation, chunk, total)
        return info | {"external_link": base_url + path, "expiration": expiration}

    def _is_linked(self, operation: Operation) -> bool:
        match self._disposition:
            case Disposition.INLINE:
                return False
            case Disposition.EXTERNAL_LINKS:
                return True
            case Disposition.INLINE_OR_EXTERNAL_LINKS:
                return operation.result_bytes > _CHUNK_BYTES or self.format is Format.CSV
            case _:
                assert_never(self._disposition)


def _rows(operation: Operation, chunk: Chunk) -> pa.Table:
    return operation.page(chunk.row_offset, chunk.row_count).rows


def _next_chunk(operation: Operation, chunk: Chunk, total: int) -> dict[str, object]:
    """Returns the location of the chunk after `chunk`, empty for the last one."""
    following = chunk.index + 1
    if following >= total:
        return {}
    path = f"{API}/statements/{operation.id}/result/chunks/{following}"
    return {"next_chunk_index": following, "next_chunk_internal_link": path}


def _chunk_info(chunk: Chunk) -> dict[str, object]:
    return {
        "chunk_index": chunk.index,
        "row_offset": chunk.row_offset,
        "row_count": chunk.row_count,
        "byte_count": chunk.byte_count,
    }
