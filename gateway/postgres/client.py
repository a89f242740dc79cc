"""A connection's session: its settings, prepared statements, cursors and transaction block, over a session of the
registry.

`run` starts a statement and returns its result when rows can be read. The connection's thread waits here; a client that
is gone, and a cancel request, end the statement.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, assert_never

import pyarrow as pa

from catalog.conditions import (
    BlockNotSupported,
    BoundValuesMismatch,
    NotInTransactionBlock,
    NoTransactionBlock,
    PostgresFeatureNotSupported,
    PreparedStatementExists,
    PreparedStatementNotFound,
    SessionCursorExists,
    SessionCursorNotFound,
    TableNotFound,
    TooManyPreparedObjects,
    TransactionModeTooLate,
    TransactionReadOnly,
)
from catalog.errors import SqlError
from engine.runtime.accesses import Commit
from engine.runtime.identity import Identity
from engine.runtime.parameters import Parameter
from engine.runtime.request import SqlDialect, StatementRequest, with_changes
from engine.runtime.results import ResultStream
from engine.runtime.settings import TIME_ZONE as ENGINE_ZONE
from engine.runtime.statement import Statement, StatementClass
from engine.spool.spooled_rows import SpooledRows
from engine.sql.postgres.scopes import CatalogSession
from engine.sql.postgres_text import SPARK_TYPES, InsertText
from engine.staged_rows import StagedRows, can_stage
from engine.statements.session.statement import ResetSetting, SetSetting, UseSchema
from gateway.postgres import commands as c
from gateway.postgres.blocks import Block, BlockState, reading_only
from gateway.postgres.client_catalog import ClientCatalog, catalog_columns
from gateway.postgres.cursors import Cursor, fetched
from gateway.postgres.encode import RowEncoder
from gateway.postgres.errors import positions_in
from gateway.postgres.fixed_answers import FIXED_TYPES, Answers, columns_of_calls
from gateway.postgres.inference import Inference, literal_values
from gateway.postgres.parameters import parameter
from gateway.postgres.results import (
    FixedResult,
    OperationResult,
    Result,
    completed,
    completion_tag,
    leading_words,
    texts_result,
)
from gateway.postgres.returning import Returning
from gateway.postgres.settings import (
    APPLICATION_NAME,
    DEFERRABLE,
    ISOLATION,
    READ_ONLY,
    SEARCH_PATH,
    TIME_ZONE,
    TRANSACTION_MODES,
    VERSION_TEXT,
    Parameters,
    SetValues,
    default_of,
    find_parameter,
)
from gateway.postgres.statements import Prepared, SentStatement, TextSettings, read_statement
from gateway.postgres.types import TEXT, TYPES, Column, pg_type
from gateway.postgres.writing import Target, prepare_target, write_rows
from gateway.registry import Registry
from gateway.sessions.operation import Operation
from gateway.sessions.requested import WantedResult
from gateway.sessions.session import Origin, Session

STATEMENTS_MAX, CURSORS_MAX = 5_000, 50
_WAIT_S = 1.0
_SELECT = "SELECT "
_PATH_WITHOUT_EFFECT = frozenset({"$user", "public", "pg_catalog", ""})


@dataclass(slots=True)
class Opening:
    """A connection's login, client, catalog, parameters and dialect; `database` is the name by which the client
    requested the catalog, if it has another one.
    """

    identity: Identity
    origin: Origin
    catalog: str | None
    parameters: Parameters
    dialect: SqlDialect = SqlDialect.SPARK
    database: str = ""


@dataclass(slots=True)
class Client:
    """A connection's session. Not thread-safe, except `cancel`. `watching` ends the block's statement if the client is
    gone.
    """

    registry: Registry
    opening: Opening
    watching: Callable[[Callable[[], None]], AbstractContextManager[None]]
    process_id: int = 0
    catalog: ClientCatalog = field(init=False)
    session: Session = field(init=False)
    block: Block = field(default_factory=Block)
    statements: dict[str, Prepared] = field(default_factory=dict)
    cursors: dict[str, Cursor] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)
    inference: Inference = field(init=False)
    _running: Operation | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _mark: object = None
    _before_block: SetValues = field(default_factory=SetValues)

    def __post_init__(self) -> None:
        self._open()

    @property
    def parameters(self) -> Parameters:
        """Returns the connection's configuration parameters."""
        return self.opening.parameters

    def _open(self) -> None:
        zone = self.parameters.get(TIME_ZONE)
        opening = self.opening
        self.session = self.registry.open_session(
            opening.identity,
            settings={ENGINE_ZONE: zone} if zone else {},
            catalog=opening.catalog,
            schema=_first_schema(self.parameters.get(SEARCH_PATH)),
            may_lack_schema=True,
            origin=opening.origin,
        )
        self._mark = self.session.engine_session.state_mark
        self.inference = Inference(self._described, self._explained)
        self.catalog = ClientCatalog(self.session.identity, self._listed, self._catalog_session)

    def close(self) -> None:
        """Ends the transaction block without a commit and closes the session."""
        self.block.end()
        self.catalog.close()
        self.registry.close_session(self.session.id, self.session.identity)

    def cancel(self) -> None:
        """Cancels the statement that runs now; called by any thread."""
        with self._lock:
            operation = self._running
        if operation is not None:
            operation.cancel()

    # -------------------------------------------------------------------------------------------------- statements

    def read(self, text: str, whole: str, offset: int = 0) -> SentStatement:
        """Reads one statement of the text `whole`."""
        opening = self.opening
        catalogs = {opening.database: self.session.engine_session.current_catalog} if opening.database else {}
        return read_statement(text, whole, offset, self.answers, TextSettings(opening.dialect, catalogs))

    def run(self, statement: SentStatement, parameters: Sequence[Parameter] = ()) -> Result:
        """Starts a statement; returns its result. Raises its error."""
        if not isinstance(statement.command, c.Commit | c.Rollback | c.RollbackToSavepoint):
            self.block.ensure_live()
        if statement.command is not None:
            return self._command(statement.command, statement, parameters)
        self._ensure_may_change(statement)
        if statement.calls:
            return self._answer_calls(statement)
        if statement.may_be_of_catalog and (result := self._answer_from_catalog(statement, parameters)) is not None:
            return result
        self.block.has_run = True
        if statement.returning is not None:
            with positions_in(statement.sent):
                return self._insert_returning(statement, statement.returning, parameters)
        if statement.can_wait and self.block.is_open and can_stage(parameters):
            return self.stage(statement, parameters)
        return self.execute(statement, parameters)

    def execute(self, statement: SentStatement, parameters: Sequence[Parameter] = ()) -> Result:
        """Runs a statement of the engine. In a block, a change waits at its commit for the block's end."""
        with positions_in(statement.sent):
            return self._execute(statement, parameters)

    def _execute(self, statement: SentStatement, parameters: Sequence[Parameter]) -> Result:
        if statement.kind not in (StatementClass.READ, StatementClass.METADATA):
            self.inference.forget()
            self.catalog.forget()
            if self.block.is_open:
                self.write_staged_rows()
        operation = self.session.execute(
            statement.text,
            parameters=parameters,
            timeout_s=self.parameters.statement_timeout_s,
            wanted=self._wanted(streams=True, dialect=statement.dialect),
        )
        # Also for a text that looks like a query: `WITH … INSERT`.
        if (waiting := self._await_change(operation)) is None:
            return OperationResult(self.session, operation, statement.text, types=statement.result_types)
        return completed(completion_tag(statement.text, 0, waiting.rows_modified))

    def _wanted(self, *, streams: bool, dialect: SqlDialect = SqlDialect.SPARK) -> WantedResult:
        block = self.block if self.block.is_open else None
        is_read_only = self.parameters.is_read_only

        def within(request: StatementRequest) -> StatementRequest:
            request = with_changes(request, dialect=dialect)
            request = reading_only(request) if is_read_only else request
            return request if block is None else block.within(request)

        return WantedResult(streams=streams, block=None if block is None else block.engine, within=within)

    def _await_change(self, operation: Operation) -> ResultStream | None:
        """Waits until a change waits at its commit, and returns its result; None if the statement has ended.

        Raises the statement's error, after it is released.
        """
        with self.running(operation):
            while (waiting := operation.wait_until_staged(_WAIT_S)) is None and not operation.state.is_final:
                pass
        if waiting is None:
            self._await(operation)
            if self.block.change is not None and operation.rows_modified is not None:
                self.block.changes += 1  # it has joined the waiting one
            return None
        self.block.change, self.block.changes = operation, 1
        return waiting

    def write_staged_rows(self) -> None:
        """Writes the staged rows as a change of the block."""
        staged = self.block.staged
        if staged is not None and staged.count:
            self.write(staged)
        self.block.note_written()

    def _commit_change(self) -> None:
        """Lets the waiting change commit. Raises its error."""
        operation = self.block.change
        if operation is None:
            return
        self.block.engine.commit()
        try:
            self._await(operation)
        finally:
            self.block.change = None
        self.session.forget(operation)

    @contextmanager
    def running(self, operation: Operation) -> Iterator[None]:
        """Lets cancel requests, and the end of the client, end `operation` within the block."""
        with self._lock:
            self._running = operation
        try:
            with self.watching(operation.cancel):
                yield
        finally:
            with self._lock:
                self._running = None

    def _await(self, operation: Operation) -> None:
        """Waits until rows can be read, or the end. Raises the statement's error, after it is released."""
        with self.running(operation):
            while not operation.wait(_WAIT_S).is_final:
                pass
        if operation.error is not None:
            self.session.forget(operation)
            raise operation.error
        operation.tell_end()

    def call(self, statement: Statement) -> None:
        """Runs a statement value of the front end's own."""
        operation = self.session.request(statement)
        self._await(operation)
        self.session.forget(operation)

    def changed_rows(self, text: str, parameters: Sequence[Parameter], rows: tuple[SpooledRows, ...] = ()) -> int:
        """Runs a statement that changes rows, and may read `rows`; returns their number. Raises its error."""
        return self._changed_rows(text, parameters, replace(self._wanted(streams=False), rows=rows))

    def _changed_rows(self, text: str, parameters: Sequence[Parameter], wanted: WantedResult) -> int:
        operation = self.session.execute(
            text, parameters=parameters, timeout_s=self.parameters.statement_timeout_s, wanted=wanted
        )
        if (waiting := self._await_change(operation)) is not None:
            return waiting.rows_modified or 0
        changed = operation.rows_modified
        self.session.forget(operation)
        return changed or 0

    def rows_of(self, operation: Operation) -> list[dict[str, Any]]:
        self._await(operation)
        try:
            return list(operation.page(0, 1 << 40).rows.to_pylist())
        finally:
            self.session.forget(operation)

    def _described(self, text: str, parameters: Sequence[Parameter], dialect: SqlDialect) -> list[tuple[str, str]]:
        rows = self.rows_of(
            self.session.describe(text, parameters, lambda request: with_changes(request, dialect=dialect))
        )
        return [(row["col_name"], row["data_type"]) for row in rows]

    def _explained(self, text: str, parameters: Sequence[Parameter], dialect: SqlDialect) -> str:
        rows = self.rows_of(
            self.session.explain(text, parameters, lambda request: with_changes(request, dialect=dialect))
        )
        return "\n".join(str(value) for row in rows for value in row.values())

    # ---------------------------------------------------------------------------------------- prepared statements

    def prepare(self, name: str, prepared: Prepared) -> None:
        """Adds a prepared statement; an unnamed one replaces the one before it."""
        if name and name in self.statements:
            raise PreparedStatementExists(name)
        if len(self.statements) >= STATEMENTS_MAX:
            raise TooManyPreparedObjects("prepared statements", STATEMENTS_MAX)
        self.statements[name] = prepared

    def prepared(self, name: str) -> Prepared:
        """Returns a prepared statement; the empty name is the unnamed one. Raises `PreparedStatementNotFound`."""
        found = self.statements.get(name)
        if found is None:
            raise PreparedStatementNotFound(name or '""')
        return found

    def infer(self, prepared: Prepared) -> None:
        """Finds the types of the parameters that the client has not named."""
        if prepared.is_inferred or 0 not in prepared.oids:
            return
        if (described := self._described_by_catalog(prepared)) is not None:
            found = described[1]
            prepared.oids[:] = [oid or found[index] for index, oid in enumerate(prepared.oids)]
        else:
            prepared.oids[:] = self.inference.oids(prepared.statement, prepared.oids)
        prepared.is_inferred = True

    def columns(self, prepared: Prepared) -> Sequence[Column] | None:
        """Returns the columns of a prepared statement without running it; None for one without rows."""
        statement = prepared.statement
        if statement.calls:
            return columns_of_calls(statement.calls, self.answers)
        match statement.command:
            case None:
                pass
            case c.ShowParameter(name):
                return self._show_columns(name)
            case c.Fetch(name, moves=False):
                return self.cursor(name).result.columns
            case c.ExecutePrepared(name):
                return self.columns(self.prepared(name))
            case _:  # commands without rows
                return None
        if statement.returning is not None:
            return self.inference.columns_of(statement.returning.columns_query)
        if (described := self._described_by_catalog(prepared)) is not None:
            return described[0]
        if statement.is_query:
            return self.inference.columns(statement, prepared.oids)
        if statement.kind is StatementClass.METADATA or statement.text.lstrip()[:7].upper() == "EXPLAIN":
            result = self.run(statement, self.inference.nulls(prepared.oids))
            result.close()
            return result.columns
        return None

    def _described_by_catalog(self, prepared: Prepared) -> tuple[Sequence[Column], Sequence[int]] | None:
        statement = prepared.statement
        if not statement.may_be_of_catalog:
            return None
        names = [TYPES[oid].name if oid in TYPES else "" for oid in prepared.oids]
        return self.catalog.describe(statement.source, names)

    def _answer_from_catalog(self, statement: SentStatement, parameters: Sequence[Parameter]) -> Result | None:
        answer = self.catalog.answer(statement.source, parameters)
        if answer is None:
            return None
        for name, value in answer.settings:
            self._set(c.SetParameter(name, value))
        return FixedResult(catalog_columns(answer.columns, answer.rows), answer.rows)

    def _catalog_session(self) -> CatalogSession:
        engine = self.session.engine_session
        settings = {name.lower(): value for name, value in self.parameters.all()}
        settings |= {"version": VERSION_TEXT, "backend_pid": str(self.process_id)}
        return CatalogSession(
            self.session.identity.principal, engine.current_catalog, engine.current_schema, MappingProxyType(settings)
        )

    def _listed(self, statement: Statement) -> Any:
        operation = self.session.request(statement)
        self._await(operation)
        try:
            return operation.page(0, 1 << 40).rows
        finally:
            self.session.forget(operation)

    # --------------------------------------------------------------------------------------------------- commands

    def _command(self, command: c.Command, statement: SentStatement, parameters: Sequence[Parameter]) -> Result:
        match command:
            case c.Begin(modes):
                return self._begin(modes)
            case c.SetTransaction(modes, is_default):
                return self._set_modes(modes, is_default=is_default)
            case c.Commit():
                return self._commit(command)
            case c.Rollback():
                return self._rollback(command)
            case c.Savepoint(name):
                self.block.save(name, self.parameters.snapshot())
                return completed("SAVEPOINT")
            case c.ReleaseSavepoint(name):
                self.block.release(name)
                return completed("RELEASE")
            case c.RollbackToSavepoint(name):
                self._restore(self.block.roll_back_to(name))
                return completed("ROLLBACK")
            case c.SetParameter():
                return self._set(command)
            case c.ResetParameter(name):
                return self._reset(name)
            case c.ShowParameter(name):
                return self._show(name)
            case c.NoEffect(tag):
                return completed(tag)
            case c.Declare():
                return self._declare(command, statement, parameters)
            case c.Fetch():
                return self._fetch(command)
            case c.CloseCursor(name):
                return self._close_cursor(name)
            case c.Prepare() | c.ExecutePrepared() | c.Deallocate():
                return self._prepared_command(command, statement)
            case c.Discard(kind):
                return self._discard(kind)
            case c.Copy():  # the connection has its messages
                raise PostgresFeatureNotSupported("COPY within another statement")
            case _:
                assert_never(command)

    def begin_query(self) -> None:
        """Begins a block for the statements of one simple query, if there is none."""
        if not self.block.is_open:
            self._open_block(is_implicit=True)

    def commit_query(self) -> None:
        """Commits the block that a simple query has begun, unless BEGIN has made it the client's. Raises its error."""
        if self.block.is_implicit:
            self._commit_block()

    def abandon_query(self) -> None:
        """Drops what a simple query has done in the block that it has begun."""
        if self.block.is_implicit:
            self._restore(self._before_block)
            self._end_block()

    def _open_block(self, *, is_implicit: bool = False) -> None:
        self._before_block = self.parameters.snapshot()
        self.block.begin(is_implicit=is_implicit)

    def _begin(self, modes: c.Modes) -> Result:
        if not self.block.is_open:
            self._open_block()
        elif self.block.is_implicit:  # the statements before it belong to the block too
            self.block.is_implicit = False
        else:
            self.notices.append("there is already a transaction in progress")
        self._set_modes(modes)
        return completed("BEGIN")

    def _set_modes(self, modes: c.Modes, *, is_default: bool = False) -> Result:
        """Sets the modes of the transaction, or of later ones."""
        if not self.block.is_open and not is_default:
            self.notices.append("SET TRANSACTION can only be used in transaction blocks")
            return completed("SET")
        given = zip(TRANSACTION_MODES, (modes.isolation, modes.is_read_only, modes.is_deferrable), strict=True)
        for name, value in given:
            if value is not None:
                text = value if isinstance(value, str) else "on" if value else "off"
                self._set(c.SetParameter(default_of(name) if is_default else name, text))
        return completed("SET")

    def _ensure_may_change(self, statement: SentStatement) -> None:
        """Raises `TransactionReadOnly` for a statement that certainly changes something in a read-only transaction; the
        others are checked by what they access.
        """
        if statement.kind in (StatementClass.WRITE, StatementClass.MAINTENANCE):
            self.ensure_not_read_only(" ".join(leading_words(statement.text)).strip())

    def ensure_not_read_only(self, title: str) -> None:
        """Raises `TransactionReadOnly` in a read-only transaction."""
        if self.parameters.is_read_only:
            raise TransactionReadOnly(title)

    def _commit(self, command: c.Commit) -> Result:
        if self.block.state is BlockState.FAILED:
            return self._rollback(c.Rollback(command.chains))
        if not self.block.is_open or self.block.is_implicit:
            self.notices.append("there is no transaction in progress")
        modes = self._modes()
        if self.block.is_open:
            self._commit_block()
        return self._chain("COMMIT", modes, chains=command.chains)

    def _commit_block(self) -> None:
        try:
            self.write_staged_rows()
            self._commit_change()
        finally:
            before = self.parameters.snapshot()
            self.parameters.end_transaction()
            self._apply(before)
            self._end_block()

    def _rollback(self, command: c.Rollback) -> Result:
        if not self.block.is_open or self.block.is_implicit:
            self.notices.append("there is no transaction in progress")
        modes = self._modes()
        if self.block.is_open:
            self._restore(self._before_block)
            self._end_block()
        return self._chain("ROLLBACK", modes, chains=command.chains)

    def _modes(self) -> c.Modes:
        get = self.parameters.get
        return c.Modes(get(ISOLATION), get(READ_ONLY) == "on", get(DEFERRABLE) == "on")

    def _chain(self, tag: str, modes: c.Modes, *, chains: bool) -> Result:
        """Begins the next block, with the modes of the one before it, if COMMIT or ROLLBACK has requested it."""
        if chains:
            self._begin(modes)
        return completed(tag)

    def _end_block(self) -> None:
        waiting = self.block.change
        self.block.end()
        if waiting is not None:
            self.session.forget(waiting)
        for name in [name for name, cursor in self.cursors.items() if not cursor.holds]:
            self.cursors.pop(name).result.close()

    # --------------------------------------------------------------------------------------------------- settings

    def _set(self, command: c.SetParameter) -> Result:
        name, before = find_parameter(command.name).name, self.parameters.snapshot()
        is_mode = name in TRANSACTION_MODES
        if command.is_local and not self.block.is_open:
            self.notices.append("SET LOCAL can only be used in transaction blocks")
            return completed("SET")
        if is_mode and not self.block.is_open:
            return completed("SET")
        if is_mode and self.block.has_run:
            self._ensure_may_set(name, command.value)
        self.parameters.set(name, command.value, is_local=command.is_local or is_mode)
        try:
            self._apply(before)
        except SqlError:
            self.parameters.restore(before)
            raise
        return completed("SET")

    def _ensure_may_set(self, name: str, value: str | None) -> None:
        """Raises `TransactionModeTooLate` for a mode that a transaction with a query cannot change any more."""
        if name == ISOLATION and value != self.parameters.get(ISOLATION):
            raise TransactionModeTooLate("The isolation level")
        if name == READ_ONLY and value == "off" and self.parameters.is_read_only:
            raise TransactionModeTooLate("READ WRITE")

    def _restore(self, values: SetValues) -> None:
        before = self.parameters.snapshot()
        if before != values:
            self.parameters.restore(values)
            self._apply(before)

    def _apply(self, before: SetValues) -> None:
        """Applies changed parameters that the session has too."""
        parameters = self.parameters
        if parameters.has_changed(TIME_ZONE, before):
            self.call(SetSetting(key=ENGINE_ZONE, value=parameters.get(TIME_ZONE)))
        if parameters.has_changed(SEARCH_PATH, before) and (schema := _first_schema(parameters.get(SEARCH_PATH))):
            self.call(UseSchema(parts=(schema,), schema_only=True))
        if parameters.has_changed(APPLICATION_NAME, before):
            name = parameters.get(APPLICATION_NAME) or None
            self.opening.origin = self.session.origin = replace(self.session.origin, user_agent=name)

    def _reset(self, name: str) -> Result:
        before = self.parameters.snapshot()
        if name:
            self.parameters.set(name, None)
        else:
            self.parameters.restore(SetValues())
            if self.session.engine_session.state_mark is not self._mark:
                self.call(ResetSetting(key=None))
                self.call(SetSetting(key=ENGINE_ZONE, value=self.parameters.get(TIME_ZONE)))
                self._mark = self.session.engine_session.state_mark
        self._apply(before)
        return completed("RESET")

    def _show_columns(self, name: str) -> Sequence[Column]:
        if not name:
            return [Column(label, TEXT) for label in ("name", "setting", "description")]
        return [Column(name, TEXT)]

    def _show(self, name: str) -> Result:
        columns = self._show_columns(name)
        if not name:
            rows = [(key, value, "") for key, value in self.parameters.all()]
            return texts_result(columns, rows, "SHOW")
        return texts_result(columns, [(self.parameters.get(name),)], "SHOW")

    @property
    def answers(self) -> Answers:
        """Returns the calls that are answered here."""
        engine = self.session.engine_session
        functions: dict[str, Callable[[tuple[str, ...]], object]] = {
            "version": lambda _: VERSION_TEXT,
            "current_schema": lambda _: engine.current_schema,
            "current_database": lambda _: engine.current_catalog,
            "current_catalog": lambda _: engine.current_catalog,
            "pg_backend_pid": lambda _: self.process_id,
            "pg_is_in_recovery": lambda _: False,
            "pg_advisory_unlock_all": lambda _: "",
            "set_config": self._set_config,
            "current_setting": lambda given: self.parameters.get(given[0] if given else ""),
        }
        return {name: (FIXED_TYPES[name], function) for name, function in functions.items()}

    def _set_config(self, given: tuple[str, ...]) -> str:
        name, value, is_local = (*given, "", "", "")[:3]
        self._set(c.SetParameter(name, value, is_local == "true"))
        return self.parameters.get(name)

    def _answer_calls(self, statement: SentStatement) -> Result:
        known = self.answers
        row = tuple(known[call.name][1](call.arguments) for call in statement.calls)
        return texts_result(columns_of_calls(statement.calls, known), [row])

    def _discard(self, kind: str) -> Result:
        if kind == "ALL":
            if self.block.is_open:
                raise NotInTransactionBlock("DISCARD ALL")
            self.cursors.clear()
            self.statements.clear()
            self.parameters.restore(SetValues())
            old = self.session
            self.catalog.close()
            self._open()
            self.registry.close_session(old.id, old.identity)
        return completed(f"DISCARD {kind}")

    # ---------------------------------------------------------------------------------------------------- cursors

    def _declare(self, command: c.Declare, statement: SentStatement, parameters: Sequence[Parameter]) -> Result:
        if not self.block.is_open and not command.holds:
            raise NoTransactionBlock("DECLARE CURSOR without WITH HOLD")
        if command.name in self.cursors:
            raise SessionCursorExists(command.name)
        if len(self.cursors) >= CURSORS_MAX:
            raise TooManyPreparedObjects("cursors", CURSORS_MAX)
        sent = statement.sent
        inner = self.read(command.query, sent.whole, sent.offset + command.offset)
        result = self.run(inner, parameters)
        if result.columns is None:
            result.close()
            raise PostgresFeatureNotSupported("A cursor of a statement without rows")
        self.cursors[command.name] = Cursor(command.name, result, command.can_scroll, command.holds, command.is_binary)
        return completed("DECLARE CURSOR")

    def cursor(self, name: str) -> Cursor:
        """Returns an open cursor. Raises `SessionCursorNotFound`."""
        found = self.cursors.get(name)
        if found is None:
            raise SessionCursorNotFound(name)
        return found

    def _fetch(self, command: c.Fetch) -> Result:
        return fetched(self.cursor(command.name), command)

    def _close_cursor(self, name: str) -> Result:
        if not name:
            for cursor in self.cursors.values():
                cursor.result.close()
            self.cursors.clear()
            return completed("CLOSE CURSOR ALL")
        self.cursor(name).result.close()
        del self.cursors[name]
        return completed("CLOSE CURSOR")

    def _prepared_command(self, command: c.Prepare | c.ExecutePrepared | c.Deallocate, at: SentStatement) -> Result:
        match command:
            case c.Prepare(name, types, text, offset):
                inner = self.read(text, at.sent.whole, at.sent.offset + offset)
                oids = [_named_oid(one) for one in types]
                self.prepare(name, Prepared(inner, oids))
                return completed("PREPARE")
            case c.ExecutePrepared(name):
                prepared = self.prepared(name)
                return self.run(prepared.statement, self._arguments(command, prepared, at))
            case c.Deallocate(name):
                if name:
                    self.prepared(name)
                    del self.statements[name]
                else:
                    self.statements.clear()
                return completed("DEALLOCATE" if name else "DEALLOCATE ALL")
            case _:
                assert_never(command)

    def _arguments(self, command: c.ExecutePrepared, prepared: Prepared, at: SentStatement) -> Sequence[Parameter]:
        """Returns the values of EXECUTE. Raises `BoundValuesMismatch`."""
        found = literal_values(command.arguments)
        if found is None:
            found = self._evaluated(command, at)
        if len(found) != len(prepared.oids):
            raise BoundValuesMismatch(len(found), len(prepared.oids))
        self.infer(prepared)
        values = [
            parameter(value, 0, oid or kind, number)
            for number, ((value, kind), oid) in enumerate(zip(found, prepared.oids, strict=True), 1)
        ]
        return prepared.with_limits(values)

    def _evaluated(self, command: c.ExecutePrepared, at: SentStatement) -> list[tuple[bytes | None, int]]:
        """Returns the values of expressions as texts, with their types, from a query of them."""
        sent = at.sent
        offset = sent.offset + command.offset - len(_SELECT)
        statement = self.read(f"{_SELECT}{command.arguments}", sent.whole, offset)
        result = self.execute(statement)
        try:
            columns = result.columns or ()
            rows = result.page(1)
            texts = RowEncoder(columns, [0] * len(columns), result.zone).texts(rows)
            values = [text.cast(pa.binary())[0].as_py() for text in texts]
            return [(value, column.type.oid) for value, column in zip(values, columns, strict=True)]
        finally:
            result.close()

    # ----------------------------------------------------------------------------------------------------- writes

    def stage(self, statement: SentStatement, parameters: Sequence[Parameter]) -> Result:
        """Adds the rows of an INSERT … VALUES to those that the block writes at its end."""
        insert = statement.insert
        assert insert is not None
        if self.block.staged is None or not self.block.staged.is_for(insert):
            target = self._target(insert, statement.text, parameters)
            self.begin_rows(target.name, self.new_rows(insert, target.types))
        assert self.block.staged is not None
        self.block.staged.add(insert, statement.text, parameters)
        return completed(f"INSERT 0 {insert.row_count}")

    def _insert_returning(
        self, statement: SentStatement, returning: Returning, parameters: Sequence[Parameter]
    ) -> Result:
        """Runs an INSERT, and returns the rows that its commit has added. The clause's names and privileges are checked
        before. Raises `BlockNotSupported` in a block, whose rows are not committed.
        """
        if self.block.is_open:
            raise BlockNotSupported("RETURNING returns rows that are committed")
        self.inference.forget()
        self.inference.columns_of(returning.columns_query)
        commits: list[Commit] = []
        wanted = self._wanted(streams=False, dialect=statement.dialect)

        def noting(request: StatementRequest) -> StatementRequest:
            def note(commit: Commit) -> None:
                commits.append(commit)
                request.on_commit(commit)  # the operation's, from which history and audit have the version

            return with_changes(request, on_commit=note)

        inserts = replace(wanted, within=_then(wanted.within, noting))
        count = self._changed_rows(statement.text, parameters, inserts)
        version = commits[0].version if commits else None
        text = f"{returning.columns_query} LIMIT 0" if version is None else returning.rows_query(version)
        reads = _then(
            self._wanted(streams=True).within,
            lambda request: with_changes(request, inserted_version=version, caches_results=False),
        )
        operation = self.session.execute(text, wanted=WantedResult(streams=True, within=reads))
        self._await(operation)
        return OperationResult(self.session, operation, statement.text, changed=count)

    def new_rows(self, insert: InsertText, types: Sequence[str] = ()) -> StagedRows:
        """Returns no rows yet for the table of `insert`, whose columns have these types."""
        session = self.session
        return StagedRows(insert.target, insert.columns, types, session.store.spool, session.principal)

    def _target(self, insert: InsertText, text: str, parameters: Sequence[Parameter]) -> Target:
        with self._created_tables():
            return prepare_target(self, insert, text, parameters)

    def copy_target(self, insert: InsertText) -> Target:
        """Returns the target of COPY FROM. Raises the error of its names, privileges and types."""
        with self._created_tables():
            types = self.inference.written_types(insert, is_required=True)
            target = prepare_target(self, insert, f"INSERT INTO {insert.target} {insert.columns} {insert.query}", ())
        return replace(target, types=types)

    @contextmanager
    def _created_tables(self) -> Iterator[None]:
        """Raises `BlockReadsChanges` for a table that the block creates."""
        try:
            yield
        except TableNotFound as error:
            self.block.engine.ensure_exists(error)
            raise

    def begin_rows(self, table: str, staged: StagedRows) -> None:
        """Begins rows for `table` in the block, after those for other columns. Raises `BlockNotSupported`."""
        self.block.ensure_may_write(table)
        self.write_staged_rows()
        self.block.staged, self.block.written = staged, table

    def write(self, staged: StagedRows) -> int:
        """Writes staged rows by one statement; returns their number. Raises its error."""
        return write_rows(self, staged)


def _then(
    first: Callable[[StatementRequest], StatementRequest] | None, second: Callable[[StatementRequest], StatementRequest]
) -> Callable[[StatementRequest], StatementRequest]:
    return second if first is None else lambda request: second(first(request))


def _first_schema(path: str) -> str | None:
    for name in path.split(","):
        found = name.strip().strip('"')
        if found not in _PATH_WITHOUT_EFFECT:
            return found
    return None


def _named_oid(name: str) -> int:
    folded = name.strip().lower()
    return pg_type(SPARK_TYPES.get(folded, folded)).oid
