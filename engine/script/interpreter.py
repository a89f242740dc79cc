"""Runs a script: blocks and loops are interpreted here, each statement in them passes through the pipeline separately.

An error is matched against handlers from the innermost block outwards, at the position where it is raised. A CONTINUE
handler runs and the script continues after the failed statement (after the whole IF or loop whose condition failed); an
EXIT handler runs and its block ends. While a handler runs, handlers in its own block do not catch errors. Cancellation,
including a timeout, is never caught, and is checked before each statement and each loop iteration.

The script returns its last query's result; other statements' results are discarded, as in Spark.

A cursor is a query, and its rows while it is open. OPEN runs the query to its end, so a cursor sees the table versions
at that moment regardless of later writes; the query sees the variables in the cursor's declaring block. FETCH assigns
the next row as SET would.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import assert_never

from catalog.conditions import CursorAlreadyOpen, CursorNoMoreRows, CursorNotFound, CursorNotOpen, NotABoolean
from catalog.errors import SqlError
from engine.runtime.parameters import Parameter
from engine.runtime.results import ResultStream, empty_result, sql_type_of
from engine.runtime.statement import Statement
from engine.runtime.variables import RowValues, Scope, Variable
from engine.script.immediate import (
    argument_values,
    assign_row,
    execute_immediate,
    only_value,
    parameters_for,
    values_of,
    with_names,
)
from engine.script.statement_pipeline import Scopes, StatementPipeline
from engine.sql.query.values import Query
from engine.statements.insert.statement import MultiInsert
from engine.statements.scripting.statement import (
    CASE_SCOPE,
    CASE_VALUE,
    Branch,
    CloseCursor,
    Compound,
    ConditionalPart,
    DeclareCursor,
    ExecuteImmediate,
    FetchCursor,
    For,
    Handler,
    HandlerKind,
    Iterate,
    Leave,
    Loop,
    NamedByExpressions,
    OpenCursor,
    RunnableStatement,
    Script,
    ScriptPart,
)
from engine.statements.variables.statement import EvaluateQuery, Names

# SQLSTATE classes that are not exceptions: success, warnings, no data, and internal errors.
_UNCAUGHT_CLASSES = frozenset({"00", "01", "02", "XX"})


def run_script(script: Script, pipeline: StatementPipeline, parameters: Sequence[Parameter] = ()) -> ResultStream:
    """Runs `script` to its end and returns its last query's result."""
    run = _Run(pipeline, parameters)
    try:
        run.compound(script.body)
    except _Uncaught as uncaught:
        run.result.close()
        raise uncaught.error from None
    return run.result


class _Uncaught(Exception):
    """An error without a handler; it ends the script."""

    def __init__(self, error: SqlError) -> None:
        self.error = error


class _Jump(Exception):
    """LEAVE or ITERATE, propagating to the block or loop with its label."""

    def __init__(self, label: str, *, again: bool) -> None:
        self.label = label
        self.again = again


class _Exit(Exception):
    """An EXIT handler ran; propagates to the end of the handler's block."""

    def __init__(self, block: _Block) -> None:
        self.block = block


@dataclass(slots=True, eq=False)
class _Block:
    """A running block, loop or branch, with its variables' current values."""

    scope: Scope
    handlers: tuple[Handler, ...] = ()
    is_handling: bool = field(default=False)
    cursors: dict[str, OpenableCursor] = field(default_factory=dict)


class _Run:
    """One script run; `result` is the result so far."""

    def __init__(self, pipeline: StatementPipeline, parameters: Sequence[Parameter]) -> None:
        self._pipeline = pipeline
        self._parameters = parameters
        self._blocks: list[_Block] = []
        self.result = empty_result()

    def compound(self, compound: Compound) -> None:
        label = compound.label or f"block {len(self._blocks)} of a script"
        with self._block(Scope(label=label), compound.handlers) as block:
            try:
                self._body(compound.body)
            except _Exit as leaving:
                if leaving.block is not block:
                    raise
            except _Jump as jump:
                if jump.label != compound.label:
                    raise

    def _body(self, parts: Sequence[ScriptPart]) -> None:
        for part in parts:
            self._part(part)

    def _part(self, part: ScriptPart) -> None:
        """Runs `part`. Its own error is handled here; errors in inner parts were handled when they were raised."""
        try:
            self._pipeline.cancel.reopen()
            self._run(part)
        except SqlError as error:
            self._handle(error)

    def _run(self, part: ScriptPart) -> None:
        match part:
            case Compound():
                self.compound(part)
            case ConditionalPart():
                self._run_branch(part)
            case Loop():
                self._loop(part)
            case For():
                self._for(part)
            case Leave(label=label):
                raise _Jump(label, again=False)
            case Iterate(label=label):
                raise _Jump(label, again=True)
            case ExecuteImmediate():
                step = execute_immediate(part, self._pipeline, self._scopes, self._parameters)
                self._keep(step.scopes)
                self._answer(step.result, is_query=step.result.has_rows)
            case NamedByExpressions():
                self._take_with_names(part)
            case DeclareCursor(name=name, query=query):
                self._blocks[-1].cursors[name.lower()] = OpenableCursor(name, query)
            case OpenCursor() | FetchCursor() | CloseCursor():
                self._cursor(part)
            case Statement() | MultiInsert():
                self._take(part, self._parameters)
            case _:
                assert_never(part)

    def _take_with_names(self, statement: NamedByExpressions) -> None:
        made, parameters = with_names(statement, self._pipeline, self._scopes, self._parameters)
        assert not isinstance(made, ExecuteImmediate | NamedByExpressions | Script), "a statement of a script by itself"
        self._take(made, parameters)

    def _cursor(self, statement: OpenCursor | FetchCursor | CloseCursor) -> None:
        depth, cursor = self._find_cursor(statement.parts)
        match statement:
            case OpenCursor():
                cursor.open(statement, self._pipeline, self._scopes, self._scopes[: depth + 1], self._parameters)
            case FetchCursor():
                self._keep(cursor.fetch(statement, self._pipeline, self._scopes))
            case CloseCursor():
                cursor.close()
            case _:
                assert_never(statement)

    def _find_cursor(self, parts: Names) -> tuple[int, OpenableCursor]:
        """Returns the innermost cursor with that name, and its block's index."""
        *label, name = [part.lower() for part in parts]
        for depth in range(len(self._blocks) - 1, -1, -1):
            block = self._blocks[depth]
            if name in block.cursors and (not label or block.scope.label.lower() == label[0]):
                return depth, block.cursors[name]
        raise CursorNotFound(".".join(parts))

    def _take(self, statement: RunnableStatement, parameters: Sequence[Parameter]) -> None:
        step = self._pipeline.take(statement, self._scopes, parameters)
        self._keep(step.scopes)
        self._answer(step.result, is_query=isinstance(statement, Query))

    def _answer(self, result: ResultStream, *, is_query: bool) -> None:
        if not is_query:
            result.close()
            return
        self.result.close()
        self.result = result

    def _run_branch(self, part: ConditionalPart) -> None:
        if part.subject is None:
            body = next((branch.body for branch in part.branches if self._is_true(branch)), part.otherwise)
        else:
            values = self._pipeline.take(EvaluateQuery(query=part.subject), self._scopes, self._parameters).values
            assert values is not None, "an EvaluateQuery has values"
            subject = Variable(name=CASE_VALUE, value=values.row(0)[0], default="NULL")
            with self._block(Scope(label=CASE_SCOPE).with_variables([subject])):
                body = next((branch.body for branch in part.branches if self._is_true(branch)), part.otherwise)
        self._body(body)

    def _loop(self, loop: Loop) -> None:
        while loop.before is None or self._is_true(loop.before):
            if not self._run_iteration(loop.body, loop.label) or (loop.after is not None and self._is_true(loop.after)):
                return

    def _for(self, loop: For) -> None:
        values = self._pipeline.take(EvaluateQuery(query=loop.query), self._scopes, self._parameters).values
        assert values is not None, "an EvaluateQuery has values"
        label = loop.variable or f"row {len(self._blocks)} of a script"
        for index in range(len(values.rows)):
            row = [
                Variable(name=name.lower(), value=value, default="NULL")
                for name, value in zip(values.names, values.row(index), strict=True)
            ]
            with self._block(Scope(label=label).with_variables(row)):
                if not self._run_iteration(loop.body, loop.label):
                    return

    def _run_iteration(self, body: Sequence[ScriptPart], label: str | None) -> bool:
        """Runs a loop's body once; returns whether the loop continues."""
        self._pipeline.cancel.reopen()
        try:
            self._body(body)
        except _Jump as jump:
            if jump.label != label:
                raise
            return jump.again
        return True

    def _is_true(self, branch: Branch) -> bool:
        """Returns whether the condition is true; NULL, and a subquery without rows, are not."""
        result = self._pipeline.take(branch.condition, self._scopes, self._parameters).result
        sql_type = sql_type_of(result.schema.field(0))
        value = only_value(result)
        if sql_type != "boolean":
            raise NotABoolean(branch.shown)
        return value is True

    def _handle(self, error: SqlError) -> None:
        """Runs the handler for `error`; returns if the script continues after the failed statement."""
        if self._pipeline.cancel.reason is not None:
            raise _Uncaught(error) from None
        for depth in range(len(self._blocks) - 1, -1, -1):
            block = self._blocks[depth]
            handler = None if block.is_handling else _handler_for(error, block.handlers)
            if handler is None:
                continue
            inner, self._blocks = self._blocks, self._blocks[: depth + 1]
            block.is_handling = True
            try:
                self.compound(handler.body)
            finally:
                block.is_handling = False
                self._blocks = inner
            if handler.kind is HandlerKind.EXIT:
                raise _Exit(block)
            return
        if not isinstance(error, CursorNoMoreRows):  # not an error, unless a handler exists
            raise _Uncaught(error) from None

    @property
    def _scopes(self) -> Scopes:
        return tuple(block.scope for block in self._blocks)

    def _keep(self, scopes: Scopes) -> None:
        for block, scope in zip(self._blocks, scopes, strict=True):
            block.scope = scope

    @contextmanager
    def _block(self, scope: Scope, handlers: tuple[Handler, ...] = ()) -> Iterator[_Block]:
        block = _Block(scope, handlers)
        self._blocks.append(block)
        try:
            yield block
        finally:
            self._blocks.pop()


def _handler_for(error: SqlError, handlers: Sequence[Handler]) -> Handler | None:
    """Returns the most specific handler: by condition, by the condition's part before the dot, by SQLSTATE, by its
    class.
    """
    condition, sqlstate = error.condition.upper(), error.sqlstate.upper()
    main = condition.partition(".")[0]
    tests: tuple[Callable[[Handler], bool], ...] = (
        lambda handler: condition in handler.conditions,
        lambda handler: main in handler.conditions,
        lambda handler: sqlstate in handler.sqlstates,
        lambda handler: handler.not_found and sqlstate.startswith("02"),
        lambda handler: handler.sql_exception and sqlstate[:2] not in _UNCAUGHT_CLASSES,
    )
    return next((handler for test in tests for handler in handlers if test(handler)), None)


@dataclass(slots=True, eq=False)
class OpenableCursor:
    """A cursor. `rows` is None while it is closed; `next_row` is the index for the next FETCH."""

    name: str
    query: Query
    rows: RowValues | None = None
    next_row: int = 0

    def open(
        self,
        statement: OpenCursor,
        pipeline: StatementPipeline,
        scopes: Scopes,
        own_scopes: Scopes,
        parameters: Sequence[Parameter],
    ) -> None:
        """Opens the cursor; `scopes` apply to the arguments in OPEN, `own_scopes` to the declaration."""
        if self.rows is not None:
            raise CursorAlreadyOpen(self.name)
        given = parameters
        if statement.arguments_row is not None:
            values = argument_values(statement.arguments_row, pipeline, scopes, parameters)
            given = parameters_for(self.query.text, statement.arguments, values)
        self.rows = values_of(pipeline.take(EvaluateQuery(query=self.query), own_scopes, given))
        self.next_row = 0

    def fetch(self, statement: FetchCursor, pipeline: StatementPipeline, scopes: Scopes) -> Scopes:
        """Returns the scopes with the next row assigned."""
        if self.rows is None:
            raise CursorNotOpen(self.name)
        if self.next_row >= len(self.rows.rows):
            raise CursorNoMoreRows(self.name)
        row = self.rows.row(self.next_row)
        self.next_row += 1
        return assign_row(statement.targets, row, pipeline, scopes).scopes

    def close(self) -> None:
        """Drops the cursor's rows. Raises `CursorNotOpen` if it is closed."""
        if self.rows is None:
            raise CursorNotOpen(self.name)
        self.rows = None
