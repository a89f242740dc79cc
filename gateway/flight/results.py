"""Results by tickets: endpoints of a result, and the streams that send their rows.

A result that has ended and is large has several endpoints, each with its own rows, which a client may read at once. A
ticket may be read again until the result is released: some time after all of its rows were read, or with its session.
"""

from __future__ import annotations

import hashlib
import hmac
import struct
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

import pyarrow as pa

from catalog.conditions import MalformedHandle
from engine.runtime.results import SQL_TYPE
from engine.spool.spool_file import batch_bytes, load_batch, read_batches
from engine.types.sql_types import type_sizes
from gateway.sessions.operation import Operation
from gateway.sessions.session import Session

# Bytes of one message with rows, about: gRPC's clients accept at least 4 MiB.
PAGE_BYTES = 3 << 20
PAGE_ROWS = 1 << 20
# A result with more bytes has several endpoints, of about this size. Each costs a call and the start of its
# stream, about 2.5 ms.
ENDPOINT_BYTES = 64 << 20
ENDPOINTS_MAX = 16
# Time in seconds that a result may be read again after all of its rows were.
READ_AGAIN_S = 60.0
# Bytes of results that were read, above which a session releases the oldest at once.
_READ_BYTES_MAX = 256 << 20
_WAIT_S = 1.0
# Bytes of a batch below which batches are joined.
_SMALL_BYTES = 64 << 10
# Rows as the stream of a ticket takes them: a reader yields its batches without Python.
Batches: TypeAlias = Iterator[pa.RecordBatch | pa.RecordBatchReader]
_TICKET = struct.Struct(">16sqq16s")
_METADATA = "ARROW:FLIGHT:SQL:"


@dataclass(frozen=True, slots=True)
class Ticket:
    """Rows of a result, from `first` to before `end`, or to the last one (-1)."""

    operation_id: uuid.UUID
    first: int
    end: int
    mac: bytes = b""

    def encode(self, secret: str) -> bytes:
        """Returns the ticket's bytes with a MAC, by which only tickets that this server issued are accepted."""
        return _TICKET.pack(self.operation_id.bytes, self.first, self.end, self._mac(secret))

    @classmethod
    def parse(cls, data: bytes) -> Ticket:
        """Raises `MalformedHandle`."""
        if len(data) != _TICKET.size:
            raise MalformedHandle()
        identifier, first, end, mac = _TICKET.unpack(data)
        return cls(uuid.UUID(bytes=identifier), first, end, mac)

    def is_of(self, secret: str) -> bool:
        """Returns True if it was made with the secret of its session."""
        return hmac.compare_digest(self.mac, self._mac(secret))

    def _mac(self, secret: str) -> bytes:
        content = struct.pack(">16sqq", self.operation_id.bytes, self.first, self.end)
        return hmac.digest(secret.encode(), content, hashlib.sha256)[:16]


@dataclass(slots=True, eq=False)
class Result:
    """One result: the tickets whose rows were read to their end, and the number of its readers."""

    operation: Operation
    tickets: int = 1
    read: set[int] = field(default_factory=set)
    readers: int = 0
    used: float = field(default_factory=time.monotonic)

    @property
    def is_read(self) -> bool:
        """Returns True if all tickets were read to their ends and no reader is left."""
        return len(self.read) >= self.tickets and not self.readers


@dataclass(frozen=True, slots=True)
class Page:
    """The next rows of a result, and their number."""

    num_rows: int
    batches: Batches


class Results:
    """The results of one session. Thread-safe."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._found: dict[uuid.UUID, Result] = {}
        self._lock = threading.Lock()

    def add(self, operation: Operation) -> Result:
        """Returns the operation's result, added if it is new."""
        with self._lock:
            return self._found.setdefault(operation.id, Result(operation))

    def find(self, operation: Operation) -> Result:
        """Returns the result of an operation, which a former process may have run."""
        return self.add(operation)

    def tickets(self, result: Result) -> list[Ticket]:
        """Returns the tickets of a result, in the order of its rows."""
        operation = result.operation
        ends = _ends(operation)
        result.tickets = len(ends)
        firsts = [0, *ends[:-1]]
        return [Ticket(operation.id, first, end) for first, end in zip(firsts, ends, strict=True)]

    def rows(self, result: Result, ticket: Ticket, is_active: Callable[[], bool]) -> Batches:
        """Yields the rows of a ticket while the client is there. Raises the statement's error."""
        operation, at = result.operation, ticket.first
        with self._lock:
            result.readers += 1
        try:
            schema = client_schema(operation.schema)
            while ticket.end < 0 or at < ticket.end:
                rows_max = PAGE_ROWS if ticket.end < 0 else min(PAGE_ROWS, ticket.end - at)
                page = _page(operation, at, rows_max, schema)
                self._session.last_used = result.used = time.monotonic()
                if not is_active():
                    return
                if page is None:
                    break
                yield from page.batches
                at += page.num_rows
            result.read.add(ticket.first)
            operation.tell_end()
        finally:
            with self._lock:
                result.readers -= 1
                result.used = time.monotonic()

    def renew(self, operation: Operation) -> None:
        """Postpones the release of a result that was read."""
        self.find(operation).used = operation.last_used = self._session.last_used = time.monotonic()

    def release(self, operation: Operation) -> None:
        """Drops the result and its operation's rows."""
        with self._lock:
            self._found.pop(operation.id, None)
        self._session.forget(operation)

    def release_read(self, *, is_detached: bool) -> None:
        """Releases results that are not needed any more; with `is_detached`, also those that were not read."""
        now = time.monotonic()
        with self._lock:
            found = list(self._found.values())
        read = sorted((one for one in found if one.is_read), key=lambda one: one.used)
        size = sum(one.operation.result_bytes for one in read)
        for one in read:
            if now - one.used > READ_AGAIN_S or size > _READ_BYTES_MAX:
                size -= one.operation.result_bytes
                self.release(one.operation)
        for one in found:
            if one.readers == 0 and (is_detached or self._session.operation(one.operation.id) is None):
                self.release(one.operation)


def _page(operation: Operation, at: int, rows_max: int, schema: pa.Schema) -> Page | None:
    """Returns the next rows, perhaps none while the statement runs; None after the last one."""
    if not operation.state.is_terminal:
        page = operation.page(at, rows_max, PAGE_BYTES, wait_s=_WAIT_S)
        return _joined(page.rows, schema) if page.rows.num_rows or page.has_more else None
    parts = operation.parts(at, rows_max, ENDPOINT_BYTES)
    if not parts:
        return None
    if sum(map(batch_bytes, parts)) < len(parts) * _SMALL_BYTES:
        parts = operation.parts(at, rows_max, PAGE_BYTES)
        return _joined(pa.Table.from_batches(map(load_batch, parts), operation.schema), schema)
    return Page(sum(part.num_rows for part in parts), read_batches(parts, schema))


def _joined(rows: pa.Table, schema: pa.Schema) -> Page:
    """Returns one message for many small batches, each of which costs a call into Python."""
    batches = rows.combine_chunks().to_batches()
    return Page(rows.num_rows, (pa.RecordBatch.from_arrays(batch.columns, schema=schema) for batch in batches))


def _ends(operation: Operation) -> list[int]:
    """Returns the last row of each endpoint; -1 for a result whose number of rows is not known."""
    if not operation.state.is_terminal or not operation.has_rows or not operation.exceeds(ENDPOINT_BYTES):
        return [-1]
    spans = operation.spans(ENDPOINT_BYTES)
    per_endpoint = -(-len(spans) // ENDPOINTS_MAX)
    ends = [first + count for first, count, _ in spans]
    return [*ends[per_endpoint - 1 : -1 : per_endpoint], ends[-1]] if ends else [-1]


def client_schema(schema: pa.Schema) -> pa.Schema:
    """Returns the columns of a result with the names of their SQL types, as Flight SQL's clients read them."""
    return pa.schema([client_field(field) for field in schema])


def client_field(field_: pa.Field) -> pa.Field:
    """Returns the field with the metadata of Flight SQL for its SQL type; unchanged without one."""
    sql_type = (field_.metadata or {}).get(SQL_TYPE, b"").decode()
    if not sql_type:
        return field_
    return field_.with_metadata({SQL_TYPE.decode(): sql_type, **type_metadata(sql_type)})


def type_metadata(sql_type: str) -> dict[str, str]:
    """Returns a column's metadata for its SQL type."""
    found = {f"{_METADATA}TYPE_NAME": sql_type.upper()}
    sizes = type_sizes(sql_type)
    if sizes.precision is not None:
        found[f"{_METADATA}PRECISION"] = str(sizes.precision)
    if sizes.scale is not None:
        found[f"{_METADATA}SCALE"] = str(sizes.scale)
    return found


def table_metadata(catalog: str, schema: str, table: str, remarks: str | None) -> dict[str, str]:
    """Returns the metadata of a table's column that names its table."""
    found = {f"{_METADATA}CATALOG_NAME": catalog, f"{_METADATA}SCHEMA_NAME": schema, f"{_METADATA}TABLE_NAME": table}
    fixed = {"IS_AUTO_INCREMENT": "0", "IS_CASE_SENSITIVE": "0", "IS_READ_ONLY": "0", "IS_SEARCHABLE": "1"}
    found |= {f"{_METADATA}{name}": value for name, value in fixed.items()}
    return found | ({f"{_METADATA}REMARKS": remarks} if remarks else {})
