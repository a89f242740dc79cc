"""A small engine for front-end tests: scripted answers over Arrow tables, with faults, and no Spark.

A statement's text (without a trailing semicolon) is a key in `answers`; the value is an `Answer`:

    engine = ArrowEngine()
    engine.answers["SELECT two"] = rows(table)               # or rows(table, sql_types={"d": "varchar(5)"})
    engine.answers["SELECT slow"] = sleeps(30)               # ends early when the statement is canceled
    engine.answers["SELECT more"] = Streams()                # rows from the test, while the statement runs
    engine.answers["SELECT broken"] = fails(SomeSqlError())  # any exception, not only SqlError

Understood without a script: `SELECT 1`, `ROWS n` (an `id bigint` and a `name string` column, in batches with 1,000
rows), `SLEEP s` (seconds), and USE/SET, which return no rows. Anything else fails like a syntax error. `engine.runs`
has every run's text and context, so that a test can check its cancel token. The catalog is `spark_catalog` with the
views and tables in `tables`: `{("default", "t"): table}`.
"""

from __future__ import annotations

import fnmatch
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypedDict

import msgspec
import pyarrow as pa

from catalog.catalog import Catalog
from catalog.conditions import StatementCancelled
from catalog.errors import declare_error
from catalog.queries.store import QueryStore
from catalog.store.store import MemoryStore
from engine.binding.visibility import visible_to
from engine.editor_help import OWN_FUNCTIONS, user_functions
from engine.engine import TableCount
from engine.runtime.activity import ActivitySource, NoActivity
from engine.runtime.dataframe import DataFramePlan
from engine.runtime.function_help import FunctionHelp, SqlHelp
from engine.runtime.identity import Identity
from engine.runtime.metrics import MetricFamily
from engine.runtime.parameters import Parameter
from engine.runtime.request import StatementRequest
from engine.runtime.results import (
    INT,
    STRING,
    ResultStream,
    RowCounts,
    empty_result,
    small_result,
    sql_field,
    string_rows,
)
from engine.runtime.statement import Statement
from engine.saved_queries import SavedQueries
from engine.statements.describe.statement import DescribeQuery
from engine.statements.listings.statement import (
    ListChecks,
    ListColumns,
    ListForeignKeys,
    ListFunctions,
    ListPrimaryKeys,
    ListSchemas,
    ListTables,
)
from engine.statements.session.statement import UseCatalog, UseSchema
from engine.statements.show.statement import ShowCatalogs, ShowViews
from engine.types.arrow_types import table_schema

Answer = Callable[[StatementRequest], ResultStream]
CATALOG = "spark_catalog"
BATCH_ROWS = 1000
PRIMARY_KEY = {**dict.fromkeys(("catalog", "schema", "table", "column"), STRING), "position": INT, "name": STRING}
_PARENT_AND_CHILD = [f"{side}_{part}" for side in ("pk", "fk") for part in ("catalog", "schema", "table", "column")]
FOREIGN_KEY = {**dict.fromkeys(_PARENT_AND_CHILD, STRING), "position": INT, "fk_name": STRING, "pk_name": STRING}


ScriptSyntaxError = declare_error(
    "PARSE_SYNTAX_ERROR.TEST",
    {
        "class": "ScriptSyntaxError",
        "sqlstate": "42601",
        "parameters": "text: str",
        "message": "Syntax error at or near {text!r}.",
    },
)
SchemaMissing = declare_error(
    "SCHEMA_NOT_FOUND.TEST",
    {
        "class": "SchemaMissing",
        "sqlstate": "42704",
        "parameters": "name: str",
        "message": "The schema {name} cannot be found.",
    },
)


def typed(table: pa.Table, sql_types: Mapping[str, str] | None = None, default: str | None = None) -> pa.Table:
    """`table` with a SQL type on each field: from `sql_types`, else guessed from the Arrow type."""
    guesses = {"int64": "bigint", "int32": "int", "int16": "smallint", "int8": "tinyint", "bool": "boolean"}
    guesses |= {"date32[day]": "date", "timestamp[us]": "timestamp_ntz", "timestamp[us, tz=UTC]": "timestamp"}
    fields = []
    for field_ in table.schema:
        name = str(field_.type).replace("decimal128", "decimal").replace(" ", "")
        sql_type = (sql_types or {}).get(field_.name, guesses.get(str(field_.type), default or name))
        fields.append(sql_field(field_.name, field_.type, sql_type))
    return table.cast(pa.schema(fields))


def rows(table: pa.Table, sql_types: Mapping[str, str] | None = None, *, time_zone: str = "UTC") -> Answer:
    """Answers the rows in `table`."""
    table = typed(table, sql_types)
    return lambda _: ResultStream(schema=table.schema, source=table.to_batches(BATCH_ROWS), time_zone=time_zone)


def modifies(affected: int, inserted: int | None = None, *, defines_table: bool = False) -> Answer:
    """Answer like a DML statement that counted so many rows."""
    counts = RowCounts(affected=affected, inserted=inserted, defines_table=defines_table)

    def answer(request: StatementRequest) -> ResultStream:
        request.on_parsed(False)
        return ResultStream(schema=pa.schema([]), has_rows=False, row_counts=counts)

    return answer


def fails(error: Exception) -> Answer:
    def answer(_: StatementRequest) -> ResultStream:
        raise error

    return answer


def sleeps(seconds: float) -> Answer:
    """Run for `seconds` or until the statement is cancelled."""

    def answer(request: StatementRequest) -> ResultStream:
        cancelled = threading.Event()
        request.cancel.on_cancel(cancelled.set)
        cancelled.wait(seconds)
        request.cancel.ensure_live()
        return rows(pa.table({"slept": [seconds]}), {"slept": "double"})(request)

    return answer


def answer_of_rows(n: int) -> Answer:
    """`n` rows `id bigint, name string`, made as they are pulled."""
    schema = pa.schema([sql_field("id", pa.int64(), "bigint"), sql_field("name", pa.string(), "string")])

    def batches() -> Iterator[pa.RecordBatch]:
        for start in range(0, n, BATCH_ROWS):
            ids = range(start, min(n, start + BATCH_ROWS))
            yield pa.record_batch([pa.array(ids, pa.int64()), pa.array([f"row {i}" for i in ids])], schema=schema)

    return lambda _: ResultStream(schema=schema, source=batches())


class Streams:
    """An answer in pieces: the statement runs until :meth:`end`, and announces its first rows."""

    def __init__(self) -> None:
        self.schema = pa.schema([sql_field("id", pa.int64(), "bigint")])
        self._changed = threading.Condition()
        self._batches: list[pa.RecordBatch] = []
        self._error: Exception | None = None
        self._has_ended = False

    def give(self, *ids: int) -> None:
        with self._changed:
            self._batches.append(pa.record_batch([pa.array(ids, pa.int64())], schema=self.schema))
            self._changed.notify_all()

    def end(self, error: Exception | None = None) -> None:
        with self._changed:
            self._error, self._has_ended = error, True
            self._changed.notify_all()

    def __call__(self, request: StatementRequest) -> ResultStream:
        request.cancel.on_cancel(lambda: self.end(StatementCancelled()))
        stream = ResultStream(schema=self.schema, source=self._pull(), wait_ready=self._wait)
        request.on_columns(stream)
        self._wait(None)
        if request.on_rows and not self._has_ended:
            request.on_rows(stream)
        with self._changed:
            self._changed.wait_for(lambda: self._has_ended)
        if self._error:
            raise self._error
        return stream

    def _wait(self, seconds: float | None) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: bool(self._batches) or self._has_ended, seconds)

    def _pull(self) -> Iterator[pa.RecordBatch]:
        while self._wait(None):
            if self._error:
                raise self._error
            if not self._batches:
                return
            yield self._batches.pop(0)


@dataclass
class Run:
    text: str
    context: StatementRequest
    parameters: tuple[Parameter, ...] = ()


@dataclass
class ArrowEngine:
    """`engine.engine.Engine` for tests; see the module."""

    answers: dict[str, Answer] = field(default_factory=dict)
    tables: dict[tuple[str, str], pa.Table] = field(default_factory=dict)
    runs: list[Run] = field(default_factory=list)
    sessions: list[ArrowSession] = field(default_factory=list)
    closed: bool = False
    # Until it is set, every call that reaches the engine waits, as for a Java that was stopped.
    stalled: threading.Event | None = None

    def stall(self) -> None:
        if self.stalled:
            self.stalled.wait()

    unready_reason: str | None = None
    restarts: list[str] = field(default_factory=list)
    left_statements: dict[str, int] = field(default_factory=dict)

    def restart(self, reason: str) -> None:
        self.restarts.append(reason)

    activity: ActivitySource = NoActivity()
    catalog: Catalog = field(default_factory=lambda: Catalog(MemoryStore()))
    saved_queries: SavedQueries = field(init=False)

    def __post_init__(self) -> None:
        self.saved_queries = SavedQueries(QueryStore(None), self.catalog, lambda name: self.activity.knows_user(name))

    families: tuple[MetricFamily, ...] = ()

    def show_activity(self, activity: ActivitySource) -> None:
        self.activity = activity

    def sql_help(self) -> SqlHelp:
        self.stall()
        return SqlHelp(functions=OWN_FUNCTIONS, keywords=("SELECT", "FROM"))

    def user_functions(self, identity: Identity, catalog: str | None) -> list[FunctionHelp]:
        return list(user_functions(visible_to(self.catalog.view(), identity), catalog))

    def count_tables(self) -> TableCount:
        return TableCount(tables=len(self.tables), schemas=len({schema for schema, _ in self.tables}))

    def metrics(self) -> tuple[MetricFamily, ...]:
        return self.families

    def open_session(
        self,
        identity: Identity,
        *,
        settings: Mapping[str, str],
        catalog: str | None,
        schema: str | None,
        may_lack_schema: bool = False,
    ) -> ArrowSession:
        if not may_lack_schema:
            self._ensure_schema(schema)
        self.stall()
        session = ArrowSession(self, identity, dict(settings), catalog or CATALOG, schema or "default")
        limits = [float(value) for key, value in settings.items() if key.lower() == "statement_timeout"]
        session.statement_timeout_s = sum(limits)
        self.sessions.append(session)
        return session

    def restore_session(self, identity: Identity, saved: Mapping[str, object]) -> ArrowSession:
        self.stall()
        known = msgspec.convert(saved, SavedArrowSession)
        session = ArrowSession(self, identity, known["settings"], known["catalog"], known["schema"])
        session.statement_timeout_s = known["statement_timeout_s"]
        self.sessions.append(session)
        return session

    def close(self) -> None:
        self.closed = True

    def schemas(self) -> list[str]:
        return sorted({"default"} | {schema for schema, _ in self.tables})

    def _ensure_schema(self, schema: str | None) -> None:
        if schema not in (None, *self.schemas()):
            raise SchemaMissing(schema or "")


class SavedArrowSession(TypedDict):
    """The saved state of an `ArrowSession`."""

    settings: dict[str, str]
    catalog: str
    schema: str
    statement_timeout_s: float


@dataclass
class ArrowSession:
    """`engine.engine.EngineSession` for tests."""

    engine: ArrowEngine
    identity: Identity
    settings: dict[str, str]
    current_catalog: str
    current_schema: str
    statement_timeout_s: float = 0.0
    trace_parent: str | None = None
    closed: bool = False
    state_mark: object = field(default_factory=object)

    @property
    def principal(self) -> str:
        return self.identity.principal

    def saved_state(self) -> dict[str, object]:
        return {
            "settings": self.settings,
            "catalog": self.current_catalog,
            "schema": self.current_schema,
            "statement_timeout_s": self.statement_timeout_s,
        }

    def execute(
        self, text: str | DataFramePlan, request: StatementRequest, parameters: Sequence[Parameter] = ()
    ) -> ResultStream:
        text = text.description if isinstance(text, DataFramePlan) else text
        self.engine.runs.append(Run(text, request, tuple(parameters)))
        request.cancel.on_cancel(self.engine.stall)
        self.engine.stall()
        text = text.strip().rstrip("; \n")
        if text in self.engine.answers:
            return self.engine.answers[text](request)
        request.on_parsed(not text.startswith(("USE", "SET")))
        match text.split():
            case [verb, "1"] if verb.upper() == "SELECT":
                return rows(pa.table({"1": pa.array([1], pa.int32())}))(request)
            case ["ROWS", n]:
                return answer_of_rows(int(n))(request)
            case ["SLEEP", seconds]:
                return sleeps(float(seconds))(request)
            case ["USE", name]:
                return self._use(name.split("."))
            case [verb, *_] if verb.upper() in ("USE", "SET"):
                return empty_result()
        raise ScriptSyntaxError(text)

    def run(self, statement: Statement, request: StatementRequest) -> ResultStream:
        self.engine.runs.append(Run(type(statement).__name__, request))
        tables = self.engine.tables
        match statement:
            case UseSchema(parts=parts):
                self.engine._ensure_schema(parts[-1])
                return self._use(list(parts))
            case UseCatalog(catalog=catalog):
                return self._use([catalog, "default"])
            case DescribeQuery(inner=query, as_json=True):
                described = self.execute(query.text, request)
                return string_rows(["json_schema"], [[table_schema(described.schema).to_json()]])
            case ShowCatalogs():
                return string_rows(["catalog"], [[CATALOG]])
            case ShowViews():
                return string_rows(["namespace", "viewName"], [])
            case ListSchemas(schema_pattern=pattern):
                found = [[CATALOG, name] for name in self.engine.schemas() if _like(name, pattern)]
                return string_rows(["catalog", "schema"], found)
            case ListTables(schema_pattern=schemas, table_pattern=names):
                listed = [[CATALOG, s, t, "TABLE", None] for s, t in tables if _like(s, schemas) and _like(t, names)]
                return string_rows(["catalog", "schema", "table", "type", "comment"], listed)
            case ListColumns(schema_pattern=schemas, table_pattern=names, column_pattern=columns):
                selected = [key for key in tables if _like(key[0], schemas) and _like(key[1], names)]
                return _columns([(s, t, tables[s, t]) for s, t in selected], columns)
            case ListPrimaryKeys(table=(_, _, name)):
                keys = [[CATALOG, *key, "id", 1, "pk"] for key in tables if name in (None, key[1])]
                return small_result(PRIMARY_KEY, keys)
            case ListChecks():
                return string_rows(["catalog", "schema", "table", "name", "expression"], [])
            case ListForeignKeys(child=(_, _, name)):
                references = [
                    [CATALOG, "lab", "parent", "id", CATALOG, *key, "parent_id", 1, "fk", None]
                    for key in tables
                    if name in (None, key[1])
                ]
                return small_result(FOREIGN_KEY, references)
            case ListFunctions(pattern=pattern):
                functions = [name for name in ("abs", "concat") if _like(name, pattern)]
                found = [[CATALOG, "lab", name, f"The function {name}."] for name in functions]
                return string_rows(["catalog", "schema", "name", "description"], found)
            case _:
                raise ScriptSyntaxError(type(statement).__name__)

    def _use(self, parts: list[str]) -> ResultStream:
        self.current_catalog, self.current_schema = ([self.current_catalog, *parts])[-2:]
        self.state_mark = object()
        return empty_result()

    def close(self) -> None:
        self.engine.stall()
        self.closed = True


def _columns(tables: list[tuple[str, str, pa.Table]], pattern: str | None) -> ResultStream:
    found = [
        {"catalog": CATALOG, "schema": schema, "table": name, "column": field_.name, "position": position}
        | {"sql_type": field_.metadata[b"sql_type"].decode(), "nullable": field_.nullable}
        | {"comment": None, "default": None, "generated": None}
        for schema, name, table in tables
        for position, field_ in enumerate(typed(table).schema, 1)
        if _like(field_.name, pattern)
    ]
    names = "catalog schema table column sql_type nullable position comment default generated".split()
    other = {"nullable": (pa.bool_(), "boolean"), "position": (pa.int32(), "int")}
    schema_ = pa.schema([sql_field(name, *other.get(name, (pa.string(), "string"))) for name in names])
    return ResultStream(schema=schema_, source=pa.Table.from_pylist(found, schema_).to_batches())


def _like(name: str, pattern: str | None) -> bool:
    """JDBC's `%` and `_`, as far as tests need them."""
    return pattern is None or fnmatch.fnmatchcase(name, pattern.replace("%", "*").replace("_", "?"))
