"""One client's connection: its messages, the simple and the extended query protocol, and COPY's messages.

Responses are collected and sent at Sync, Flush, and when they are many. After an error in the extended protocol
everything is discarded until Sync. Rules that clients depend on:

* Describe of a prepared statement analyzes a query and does not run it; Describe of a portal starts the portal, whose
  rows Execute then returns, because most drivers send both together;
* executions of INSERT … VALUES between two Syncs without a block become one write at Sync. They are answered then: an
  error replaces their completions;
* a portal ends with its transaction: at Sync, or with its block;
* each change of a reported parameter is sent before the completion of the statement that caused it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from catalog.conditions import (
    BoundValuesMismatch,
    CopyFailed,
    IdleInTransactionTimeout,
    IdleSessionTimeout,
    PostgresFeatureNotSupported,
    PostgresProtocolViolation,
    PreparedStatementExists,
    QueryNotOneTransaction,
    SessionCursorNotFound,
    TooManyPreparedObjects,
)
from catalog.errors import Position, SqlError
from engine.runtime.parameters import Parameter
from engine.staged_rows import StagedRows, can_stage
from gateway.postgres import commands as c
from gateway.postgres import messages as m
from gateway.postgres.client import Client
from gateway.postgres.copying import CopyIn, CopyOptions, CopyOut
from gateway.postgres.encode import RowEncoder
from gateway.postgres.errors import SentText, error_response, is_fatal, notice, positions_in, text_of
from gateway.postgres.inference import array_casts
from gateway.postgres.parameters import bound_parameters
from gateway.postgres.results import Result, completed, pages
from gateway.postgres.statements import Prepared, SentStatement, split_query
from gateway.postgres.types import BINARY_FORMAT
from gateway.process.byte_stream import ByteStream, DeadlineExceeded, Disconnected

_BUFFERED_MAX = 64 << 10


@dataclass(slots=True)
class Output:
    """Collects messages; sends them when they are many, or by `flush`. Not thread-safe."""

    stream: ByteStream
    _pieces: list[bytes | memoryview] = field(default_factory=list)
    _size: int = 0
    # Set while messages may still be replaced by an error: they are then not sent.
    is_held: bool = False

    def add(self, piece: bytes | memoryview) -> None:
        """Adds a message, and sends the messages so far when they are large, except while output is held."""
        self._pieces.append(piece)
        self._size += len(piece)
        if self._size >= _BUFFERED_MAX and not self.is_held:
            self.flush()

    def flush(self) -> None:
        """Sends everything. Raises `Disconnected`."""
        pieces, self._pieces, self._size = tuple(self._pieces), [], 0
        if pieces:
            self.stream.write(pieces)

    @property
    def position(self) -> int:
        """Returns a place for `cut`."""
        return len(self._pieces)

    def cut(self, position: int) -> None:
        """Drops the messages from `position` on, which were not sent."""
        del self._pieces[position:]
        self._size = sum(map(len, self._pieces))


logger = logging.getLogger(__name__)

# From a message's first byte to its last.
MESSAGE_S = 120.0
# Between two messages of COPY FROM.
COPY_S = 600.0
# Between two messages of a transaction block with a change.
CHANGE_IDLE_S = 300.0
MESSAGE_BYTES_MAX = 64 << 20
PORTALS_MAX = 100
_TERMINATE = b"X"
_NOT_IN_BLOCK = "TRANSACTION_BLOCK_NOT_SUPPORTED"
_SHOWN_MAX = 60


@dataclass(slots=True)
class Portal:
    """A prepared statement with its parameters, and its result once it has begun."""

    prepared: Prepared
    parameters: Sequence[Parameter]
    formats: Sequence[int]
    result: Result | None = None
    rows: int = 0
    is_done: bool = False

    def close(self) -> None:
        """Closes the result, if the portal has begun."""
        if self.result is not None:
            self.result.close()


@dataclass(slots=True)
class Batch:
    """Inserts between two Syncs, which are written at the second; `position` is that of their first completion."""

    staged: StagedRows
    position: int
    sent: SentText


@dataclass(slots=True)
class Connection:
    """The messages of one client after its login."""

    stream: ByteStream
    client: Client
    output: Output = field(init=False)
    _portals: dict[str, Portal] = field(default_factory=dict)
    _batch: Batch | None = None
    _discards: bool = False
    _idle_s: float | None = None
    # True while the last statement of a simple query runs.
    _ends_query: bool = False
    _handlers: Mapping[bytes, Callable[[m.Reader], None]] = field(init=False)

    def __post_init__(self) -> None:
        self.output = Output(self.stream)
        self._idle_s = self.client.registry.limits.session_idle_s
        self._handlers = {
            b"P": self._parse,
            b"B": self._bind,
            b"D": self._describe,
            b"E": self._execute,
            b"C": self._close,
            b"H": self._flush,
        }

    def begin(self, key: bytes) -> None:
        """Sends the reported parameters, and the key with which the client can cancel statements."""
        self._report()
        self.output.add(m.backend_key(self.client.process_id, key))

    def serve(self) -> None:
        """Answers messages until the client ends. Raises `Disconnected`; other errors after the client has them."""
        self._ready()
        while True:
            try:
                self._await_message()
            except (IdleInTransactionTimeout, IdleSessionTimeout) as error:
                self.output.add(error_response(error, is_fatal=True))
                self.output.flush()
                return
            kind, content = self._read()
            if kind == _TERMINATE:
                return
            try:
                self._answer(kind, m.Reader(content))
            except m.MalformedMessage as error:
                self.output.add(error_response(PostgresProtocolViolation(str(error)), is_fatal=True))
                self.output.flush()
                return

    def _await_message(self) -> None:
        """Waits for the next message. Raises `IdleInTransactionTimeout` and `IdleSessionTimeout`.

        A block with a change holds a thread and the table's locks.
        """
        if self.stream.has_bytes:  # clients send several messages at once
            return
        client = self.client
        is_open = client.block.is_open
        own_s = client.parameters.idle_in_transaction_s if is_open else client.parameters.idle_session_s
        limit_s = min(filter(None, (self._idle_s, own_s, CHANGE_IDLE_S if client.block.change else None)), default=None)
        try:
            self.stream.set_deadline(limit_s)
            self.stream.peek()
        except DeadlineExceeded:
            raise (IdleInTransactionTimeout if is_open else IdleSessionTimeout)(limit_s or 0.0) from None

    def close(self) -> None:
        """Releases the portals and what is staged; the client's session is closed by its owner."""
        self._drop_batch()
        self._end_portals()

    # --------------------------------------------------------------------------------------------------- messages

    def _read(self) -> tuple[bytes, bytes]:
        self.stream.set_deadline(MESSAGE_S)
        kind = self.stream.take(1)
        length = m.Reader(self.stream.take(4)).int32()
        if not 4 <= length <= MESSAGE_BYTES_MAX:
            error = PostgresProtocolViolation("the length of a message is invalid")
            self.output.add(error_response(error, is_fatal=True))
            self.output.flush()
            raise Disconnected()
        return kind, self.stream.take(length - 4)

    def _answer(self, kind: bytes, reader: m.Reader) -> None:
        if kind == b"Q":
            self._discards = False
            self._simple(reader)
        elif kind == b"S":
            self._sync()
        elif kind in self._handlers:
            if not self._discards:
                self._guarded(lambda: self._handlers[kind](reader))
        elif kind in (b"d", b"c", b"f"):  # the rest of a COPY that has failed
            return
        elif kind == b"F":
            if not self._discards:
                self._fail(PostgresFeatureNotSupported("A function call of the protocol", "Use SELECT."))
            self._ready()
        else:
            raise m.MalformedMessage(f"the message type {kind!r} is not known")

    def _guarded(self, step: Callable[[], None]) -> None:
        """Runs a step of the extended protocol; after an error, messages are discarded until Sync."""
        try:
            step()
        except (Disconnected, m.MalformedMessage):
            raise
        except Exception as error:  # noqa: BLE001 - the client gets every error
            self._drop_batch()
            self._fail(error)
            self._discards = True
            self.output.flush()  # a client that has sent Flush waits for the error before it sends Sync

    def _fail(self, error: BaseException, sent: SentText | None = None) -> None:
        fatal = is_fatal(error)
        self.client.block.fail()
        self.output.add(error_response(error, text_of(error) or sent, is_fatal=fatal))
        if fatal:
            self.output.flush()
            raise Disconnected()

    def _ready(self) -> None:
        self._report()
        self.output.add(m.ready(self.client.block.state.value))
        self.output.flush()

    def _report(self) -> None:
        for name, value in self.client.parameters.changes():
            self.output.add(m.parameter_status(name, value))
        for text in self.client.notices:
            self.output.add(notice(text, "01000", "WARNING"))
        self.client.notices.clear()

    # ------------------------------------------------------------------------------------------------ simple query

    def _simple(self, reader: m.Reader) -> None:
        text = reader.text()
        reader.end()
        self._end_portals()
        statement: SentStatement | None = None
        try:
            pieces = split_query(text, self.client.opening.dialect)
            if not pieces:
                self.output.add(m.EMPTY_QUERY)
            for number, (piece, offset) in enumerate(pieces, 1):
                statement = None
                if len(pieces) > 1:
                    self.client.begin_query()
                self._ends_query = number == len(pieces)
                statement = self.client.read(piece, text, offset)
                self._run_simple(statement)
            self.client.commit_query()
        except (Disconnected, m.MalformedMessage):
            raise
        except Exception as error:  # noqa: BLE001 - the client gets every error
            is_implicit = self.client.block.is_implicit
            error = _named(error, statement) if is_implicit and statement is not None else error
            self._fail(error, None if statement is None else statement.sent)
            self.client.abandon_query()
        finally:
            self._ends_query = False
        self._ready()

    def _run_simple(self, statement: SentStatement) -> None:
        if isinstance(statement.command, c.Copy):
            self._copy(statement.command, statement)
            return
        result = self.client.run(statement)
        try:
            if result.columns is not None:
                formats = [BINARY_FORMAT] if result.is_binary else []
                self.output.add(m.row_description(result.columns, formats))
                self._complete(result, self._send_rows(result, formats, None))
            else:
                self._complete(result, 0)
        finally:
            result.close()

    def _send_rows(self, result: Result, formats: Sequence[int], rows_max: int | None) -> int:
        columns = result.columns or ()
        encoder = RowEncoder(columns, [m.format_of(formats, index) for index in range(len(columns))], result.zone)
        sent = 0
        for rows in pages(result, rows_max):
            self.output.add(encoder.data_rows(rows))
            sent += rows.num_rows
        return sent

    def _complete(self, result: Result, rows: int) -> None:
        tag = result.tag(rows)
        if self._ends_query:  # an error of the commit is that of the last statement
            self.client.commit_query()
        self._report()
        self.output.add(m.command_complete(tag))

    # -------------------------------------------------------------------------------------------- extended protocol

    def _parse(self, reader: m.Reader) -> None:
        given = m.Parse.of(reader)
        reader.end()
        pieces = split_query(given.text, self.client.opening.dialect)
        text, offset = pieces[0] if len(pieces) == 1 else (given.text, 0)
        statement = self.client.read(text if pieces else "", given.text, offset)
        if given.name and given.name in self.client.statements:
            raise PreparedStatementExists(given.name)
        self.client.prepare(given.name, Prepared(statement, list(given.oids), is_empty=not pieces))
        self.output.add(m.PARSE_COMPLETE)

    def _bind(self, reader: m.Reader) -> None:
        given = m.Bind.of(reader)
        reader.end()
        prepared = self.client.prepared(given.statement)
        self.client.block.ensure_may_bind(prepared.statement.command)
        if len(given.values) != len(prepared.oids):
            raise BoundValuesMismatch(len(given.values), len(prepared.oids))
        if len(given.formats) not in (0, 1, len(given.values)):
            raise m.MalformedMessage("the number of formats is not that of the values")
        if any(form not in (0, 1) for form in (*given.formats, *given.result_formats)):
            raise m.MalformedMessage("a format is not known")
        if prepared.statement.insert is not None:
            self.client.infer(prepared)
        if given.portal in self._portals:
            self._portals.pop(given.portal).close()
        if len(self._portals) >= PORTALS_MAX:
            raise TooManyPreparedObjects("portals", PORTALS_MAX)
        casts = array_casts(prepared.statement.spark_text) if 0 in prepared.oids else {}
        oids = [oid or casts.get(number, 0) for number, oid in enumerate(prepared.oids, 1)]
        parameters = prepared.with_limits(bound_parameters(given.values, given.formats, oids))
        self._portals[given.portal] = Portal(prepared, parameters, given.result_formats)
        self.output.add(m.BIND_COMPLETE)

    def _describe(self, reader: m.Reader) -> None:
        kind, name = reader.take(1), reader.text()
        reader.end()
        if kind == b"S":
            prepared = self.client.prepared(name)
            with positions_in(prepared.statement.sent):
                self.client.infer(prepared)
                columns = None if prepared.is_empty else self.client.columns(prepared)
            self.output.add(m.parameter_description(prepared.oids))
            self.output.add(m.NO_DATA if columns is None else m.row_description(columns, ()))
            return
        if kind != b"P":
            raise m.MalformedMessage("neither a statement nor a portal is described")
        if name in self.client.cursors and name not in self._portals:
            cursor = self.client.cursors[name]
            formats = [BINARY_FORMAT] if cursor.is_binary else []
            self.output.add(m.row_description(cursor.result.columns or (), formats))
            return
        portal = self._portal(name)
        if portal.prepared.is_empty or portal.prepared.is_write:
            self.output.add(m.NO_DATA)
            return
        result = self._begin(portal)
        columns = result.columns
        self.output.add(m.NO_DATA if columns is None else m.row_description(columns, portal.formats))

    def _execute(self, reader: m.Reader) -> None:
        name, rows_max = reader.text(), reader.int32()
        reader.end()
        portal = self._portal(name)
        statement = portal.prepared.statement
        if portal.prepared.is_empty:
            self.output.add(m.EMPTY_QUERY)
            return
        if portal.is_done:
            self.output.add(m.command_complete("SELECT 0"))
            return
        if isinstance(statement.command, c.Copy):
            self._write_batch()
            with positions_in(statement.sent):
                self._copy(statement.command, statement)
            portal.is_done = True
            return
        if self._is_batched(portal):
            with positions_in(statement.sent):
                self._add_to_batch(portal)
            return
        result = self._begin(portal)
        limit = rows_max if rows_max > 0 else None
        if result.columns is not None:
            with positions_in(statement.sent):
                portal.rows += self._send_rows(result, portal.formats, limit)
            if result.has_more():
                self.output.add(m.PORTAL_SUSPENDED)
                return
        self._complete(result, portal.rows)
        portal.is_done = True
        portal.close()

    def _begin(self, portal: Portal) -> Result:
        if portal.result is None:
            self._write_batch()
            with positions_in(portal.prepared.statement.sent):
                portal.result = self.client.run(portal.prepared.statement, portal.parameters)
        return portal.result

    def _portal(self, name: str) -> Portal:
        found = self._portals.get(name)
        if found is None:
            cursor = self.client.cursors.get(name)
            if cursor is None:
                raise SessionCursorNotFound(name or '""')
            raise PostgresFeatureNotSupported("Executing a cursor of SQL as a portal", "Use FETCH.")
        return found

    def _close(self, reader: m.Reader) -> None:
        kind, name = reader.take(1), reader.text()
        reader.end()
        if kind == b"S":
            self.client.statements.pop(name, None)
        elif name in self._portals:
            self._portals.pop(name).close()
        self.output.add(m.CLOSE_COMPLETE)

    def _flush(self, reader: m.Reader) -> None:
        reader.end()
        self._write_batch()
        self.output.flush()

    def _sync(self) -> None:
        if not self._discards:
            self._guarded(self._write_batch)
        self._discards = False
        if not self.client.block.is_open:
            self._end_portals()
        self._ready()

    def _end_portals(self) -> None:
        for portal in self._portals.values():
            portal.close()
        self._portals.clear()

    # ------------------------------------------------------------------------------------------------------ writes

    def _is_batched(self, portal: Portal) -> bool:
        statement = portal.prepared.statement
        is_insert = statement.can_wait and portal.result is None
        return is_insert and not self.client.block.is_open and can_stage(portal.parameters)

    def _add_to_batch(self, portal: Portal) -> None:
        statement = portal.prepared.statement
        insert = statement.insert
        assert insert is not None
        batch = self._batch
        if batch is not None and (batch.staged.target, batch.staged.columns) != (insert.target, insert.columns):
            self._write_batch()
            batch = None
        if batch is None:
            staged = self.client.new_rows(insert)
            batch = self._batch = Batch(staged, self.output.position, statement.sent)
            self.output.is_held = True
        elif batch.staged.count and not batch.staged.types:
            batch.staged.types = self.client.inference.written_types(insert)
        batch.staged.add(insert, statement.text, portal.parameters)
        portal.is_done = True
        self.output.add(m.command_complete(f"INSERT 0 {insert.row_count}"))

    def _write_batch(self) -> None:
        """Writes the inserts since the last Sync. An error replaces their completions."""
        batch, self._batch, self.output.is_held = self._batch, None, False
        if batch is None:
            return
        try:
            with positions_in(batch.sent):
                self.client.write(batch.staged)
        except Exception:
            self.output.cut(batch.position)
            raise
        finally:
            batch.staged.close()

    def _drop_batch(self) -> None:
        """Drops the inserts since the last Sync, as they belong to the transaction that has failed."""
        if self._batch is not None:
            self.output.cut(self._batch.position)
            self._batch.staged.close()
        self._batch, self.output.is_held = None, False

    # -------------------------------------------------------------------------------------------------------- COPY

    def _copy(self, command: c.Copy, statement: SentStatement) -> None:
        self.client.block.ensure_live()
        options = CopyOptions.of(command.options)
        if command.is_from:
            self.client.ensure_not_read_only("COPY FROM")
            self._copy_in(command, options, statement)
        else:
            self._copy_out(command, options, statement)

    def _copy_out(self, command: c.Copy, options: CopyOptions, statement: SentStatement) -> None:
        query = self.client.read(command.query, statement.sent.whole, statement.sent.offset + command.offset)
        result = self.client.run(query)
        try:
            if result.columns is None:
                raise PostgresFeatureNotSupported("COPY of a statement without rows")
            out = CopyOut(options, result.columns, result.zone)
            self.output.add(m.copy_response(b"H", options.wire_format, len(result.columns)))
            self.output.add(out.begin())
            for rows in pages(result, None):
                for piece in out.rows(rows):
                    self.output.add(piece)
            self.output.add(out.end())
            self.output.add(m.COPY_DONE)
            self._complete(completed(f"COPY {out.count}"), 0)
        finally:
            result.close()

    def _copy_in(self, command: c.Copy, options: CopyOptions, statement: SentStatement) -> None:
        target = self.client.read(command.target_text, command.target_text, 0)
        insert = target.insert
        assert insert is not None
        name = self.client.copy_target(insert)
        types = name.types
        block = self.client.block
        if block.is_open:
            block.ensure_may_write(name.name)
        self.output.add(m.copy_response(b"G", options.wire_format, len(types)))
        self.output.flush()
        staged = block.staged
        if staged is None or not staged.is_for(insert):
            staged = self.client.new_rows(insert, types)
            if block.is_open:
                self.client.begin_rows(name.name, staged)
        rows = CopyIn(options, types, staged.add_rows)
        try:
            self._receive(rows)
            rows.finish()
            if not block.is_open and rows.count:
                self.client.write(staged)
        finally:
            if not block.is_open:
                staged.close()
        self._complete(completed(f"COPY {rows.count}"), 0)

    def _receive(self, rows: CopyIn) -> None:
        """Reads CopyData until its end. Raises `CopyFailed`; after an error the rest of the data is discarded."""
        while True:
            self.stream.set_deadline(COPY_S)
            self.stream.peek()
            kind, content = self._read()
            match kind:
                case b"d":
                    rows.receive(content)
                case b"c":
                    return
                case b"f":
                    raise CopyFailed(m.Reader(content).text())
                case b"H" | b"S":
                    continue
                case _:  # PostgreSQL's protocol has no other message here
                    raise m.MalformedMessage(f"the message type {kind!r} is not one of COPY")


def _named(error: Exception, statement: SentStatement) -> Exception:
    """Returns the error with the statement's name, if a transaction of several statements cannot have it."""
    if not isinstance(error, SqlError) or not error.condition.startswith(_NOT_IN_BLOCK):
        return error
    text = " ".join(statement.source.split())
    shown = text if len(text) <= _SHOWN_MAX else f"{text[:_SHOWN_MAX]}…"
    reason = error.message if error.position is None else error.message.replace(f" ({error.position})", "")
    return QueryNotOneTransaction(shown, reason).at(Position.in_text(statement.text, 0))
