"""The responses to an operation, from any position in its result.

A response's id has its position, so that a client continues after the last response that it has received, at any
server that has the operation, and nothing is kept per response: rows are read again from the operation's result.

    <operation id>.<index>.<next row>.<rows>.<chunk>

`index` counts from 0. A batch of `rows` rows may be divided into chunks, of which `chunk` was sent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa
from google.protobuf.message import Message

from catalog.conditions import ConnectPositionNotFound
from gateway.connect.proto import pb2
from gateway.connect.rows import CHUNK_BYTES, PAGE_BYTES, PAGE_ROWS, encode_rows, split_chunks
from gateway.connect.types import schema_type
from gateway.sessions.operation import Operation

_ID = re.compile(r"(.{1,100})\.(\d{1,9})\.(\d{1,18})\.(\d{1,9})\.(\d{1,9})")


@dataclass(frozen=True, slots=True)
class Position:
    """A response: its index, the row after it, and for a chunk the rows of its batch and its number."""

    index: int
    next_row: int = 0
    rows: int = 0
    chunk: int = 0

    def response_id(self, operation_id: str) -> str:
        """Returns the id of the response, from which `parse` reads the position again."""
        return f"{operation_id}.{self.index}.{self.next_row}.{self.rows}.{self.chunk}"

    @classmethod
    def parse(cls, response_id: str, operation_id: str) -> Position:
        """Raises `ConnectPositionNotFound` for an id that no response of this operation has."""
        found = _ID.fullmatch(response_id)
        if found is None or found[1] != operation_id:
            raise ConnectPositionNotFound(response_id)
        return cls(*map(int, found.groups()[1:]))


@dataclass(frozen=True, slots=True)
class Response:
    """A response, and the rows of its batch, which are not copied into the message."""

    message: pb2.ExecutePlanResponse
    rows: bytes = b""

    def encode(self) -> bytes:
        """Returns the message in protobuf's encoding. The rows are in a second part of the batch, which decoders merge
        with the first one (https://protobuf.dev/programming-guides/encoding/#last-one-wins).
        """
        head = bytes(self.message.SerializeToString())
        if not self.rows:
            return head
        field = _DATA_TAG + _varint(len(self.rows))
        return b"".join((head, _BATCH_TAG, _varint(len(field) + len(self.rows)), field, self.rows))


def _varint(number: int) -> bytes:
    content = bytearray()
    while number > 0x7F:
        content.append(number & 0x7F | 0x80)
        number >>= 7
    content.append(number)
    return bytes(content)


def _tag(message: type[Message], field: str) -> bytes:
    """Returns the tag of a field with a length (wire type 2)."""
    return _varint(message.DESCRIPTOR.fields_by_name[field].number << 3 | 2)


_BATCH_TAG = _tag(pb2.ExecutePlanResponse, "arrow_batch")
_DATA_TAG = _tag(pb2.ExecutePlanResponse.ArrowBatch, "data")

Sent = tuple[Position, Response]


class Reply(Protocol):
    """The responses to one operation."""

    def following(self, operation: Operation, last: Position | None) -> Sent | None:
        """Returns the response after `last`, or the first one; None after the end. The operation has a result."""
        ...


@dataclass(frozen=True, slots=True)
class Rows:
    """The schema, then all rows in batches; `chunk_bytes` None: the client does not assemble chunks. `is_shown`: the
    result is the text of `show()`, which is made while the statement runs.
    """

    chunk_bytes: int | None
    is_shown: bool = False

    def following(self, operation: Operation, last: Position | None) -> Sent | None:
        if last is None:
            return Position(0), Response(pb2.ExecutePlanResponse(schema=schema_type(operation.schema)))
        if last.rows:  # a chunk is followed by the next one of its batch
            rows = operation.page(last.next_row - last.rows, last.rows).rows
            if (found := self._batch(rows, last, last.chunk + 1)) is not None:
                return found
        if last.index and not operation.has_rows:
            return None
        page = operation.page(last.next_row, PAGE_ROWS, PAGE_BYTES) if operation.has_rows else None
        rows = page.rows if page is not None else operation.schema.empty_table()
        if not rows.num_rows and last.index:
            return None
        return self._batch(rows, Position(last.index, last.next_row + rows.num_rows, rows.num_rows), 0)

    def _batch(self, rows: pa.Table, at: Position, chunk: int) -> Sent | None:
        """Returns a chunk of `rows`, which end before the row `at.next_row`; None after the last one."""
        data = encode_rows(rows)
        chunks = list(split_chunks(data, self.chunk_bytes or max(1, len(data))))
        if chunk >= len(chunks):
            return None
        message = pb2.ExecutePlanResponse()
        batch = message.arrow_batch
        batch.row_count, batch.start_offset = rows.num_rows, at.next_row - rows.num_rows
        is_divided = len(chunks) > 1
        if is_divided:
            batch.chunk_index, batch.num_chunks_in_batch = chunk, len(chunks)
        position = Position(at.index + 1, at.next_row, rows.num_rows if is_divided else 0, chunk)
        return position, Response(message, chunks[chunk])


@dataclass(frozen=True, slots=True)
class SqlResult:
    """The result of `spark.sql`: the relation whose rows are the result's.

    For a query that is `relation`, which the client sends again when it needs the rows; for other statements, which
    have run, a local relation with their rows.
    """

    relation: pb2.Relation | None

    def following(self, operation: Operation, last: Position | None) -> Sent | None:
        if last is not None:
            return None
        message = pb2.ExecutePlanResponse()
        message.sql_command_result.relation.CopyFrom(self.relation or _local_relation(operation))
        return Position(0), Response(message)


@dataclass(frozen=True, slots=True)
class Nothing:
    """No response but the end: a command without a result."""

    def following(self, operation: Operation, last: Position | None) -> Sent | None:
        return None


_CHUNK_BYTES, _KIND = "chunk_bytes", "reply"


def saved_reply(reply: Reply) -> dict[str, object] | None:
    """Returns a reply as JSON, from which another process can continue; None if the client has to start again."""
    match reply:
        case Rows(chunk_bytes=size, is_shown=False):
            return {_KIND: "rows", _CHUNK_BYTES: size}
        case SqlResult(relation=None):
            return {_KIND: "sql"}
        case Nothing():
            return {_KIND: "nothing"}
        case _:  # one that only this process can continue
            return None


def restored_reply(saved: Mapping[str, object]) -> Reply:
    """Returns the reply of :func:`saved_reply`."""
    match saved.get(_KIND):
        case "rows":
            size = saved.get(_CHUNK_BYTES)
            return Rows(size if isinstance(size, int) else None)
        case "sql":
            return SqlResult(None)
        case _:  # "nothing"
            return Nothing()


def chunk_bytes(options: pb2.ResultChunkingOptions | None) -> int | None:
    """Returns the size of chunks that a client assembles; None for one that does not."""
    if options is None or not options.allow_arrow_batch_chunking:
        return None
    preferred = options.preferred_arrow_chunk_size if options.HasField("preferred_arrow_chunk_size") else CHUNK_BYTES
    return max(1024, min(preferred or CHUNK_BYTES, CHUNK_BYTES))


def _local_relation(operation: Operation) -> pb2.Relation:
    rows = operation.page(0, 1 << 62).rows if operation.has_rows else operation.schema.empty_table()
    relation = pb2.Relation()
    if len(rows.schema):
        relation.local_relation.data = encode_rows(rows)
    else:
        relation.local_relation.data, relation.local_relation.schema = _stream(pa.schema([])), "struct<>"
    return relation


def _stream(schema: pa.Schema) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema):
        pass
    return bytes(sink.getvalue().to_pybytes())
