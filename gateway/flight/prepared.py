"""Prepared statements: a text, what is known about it without running it, and the values of its parameters."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from catalog.conditions import FlightParametersMismatch, MalformedLogEntry, UnsupportedDataType
from catalog.errors import SqlError
from engine.errors.statement_errors import TEXT_LENGTH_MAX
from engine.pipeline import parse_statement
from engine.runtime.dataframe import DataFramePlan, PlanInput
from engine.runtime.parameters import Parameter
from engine.runtime.results import sql_field
from engine.runtime.statement import Statement
from engine.sql.parameters import find_markers
from engine.sql.query.dataframes import dataframe_query
from engine.sql.query.values import Query
from engine.statements.describe.statement import DescribeQuery
from engine.statements.registry import may_answer_rows
from engine.types.arrow_types import arrow_type
from engine.types.schema import parse_schema
from engine.types.sql_types import column_sql_type
from gateway.flight.inference import Inference, limits
from gateway.flight.messages import new_message
from gateway.flight.parameters import row_parameters
from gateway.flight.results import client_schema
from gateway.sessions.session import Session
from gateway.sessions.waiting import run_call

_INPUT = "gateway_input_0"
_VARIABLE = "${"
# Queries of a session whose columns are known.
_KNOWN_MAX = 100
# An error of these classes does not depend on the values of parameters: syntax, missing objects and rights.
_CERTAIN = ("42601", "42P01", "42704", "42501", "42703", "42883", "0A", "28")


@dataclass(slots=True, eq=False)
class Prepared:
    """A prepared statement. `columns` is empty if they are not known before it runs."""

    text: str
    columns: pa.Schema
    is_update: bool
    markers: int = 0
    names: tuple[str, ...] = ()
    # The types of the parameters, as far as they are known.
    types: Sequence[pa.DataType] = ()
    # The bound values: a row for each run.
    values: pa.Table | None = None
    handle: bytes = field(default_factory=lambda: secrets.token_bytes(24))

    @property
    def parameters(self) -> pa.Schema:
        """Returns a column for each parameter."""
        names = self.names or [f"parameter_{number}" for number in range(1, self.markers + 1)]
        kinds = self.types or [pa.string()] * len(names)
        return pa.schema([pa.field(name, kind) for name, kind in zip(names, kinds, strict=False)])

    def bind(self, values: pa.Table) -> None:
        """Raises `FlightParametersMismatch`."""
        expected = len(self.names) + self.markers
        if expected != values.num_columns:
            raise FlightParametersMismatch(expected, values.num_columns)
        self.values = values

    def runs(self) -> Iterator[tuple[Parameter, ...]]:
        """Yields the parameters of each run: one without parameters, or one for each bound row."""
        if self.values is None:
            if expected := len(self.names) + self.markers:
                raise FlightParametersMismatch(expected, 0)
            yield ()
            return
        values = self.values
        if self.names and set(self.names) == set(values.column_names):
            values = values.select(list(self.names))
        yield from row_parameters(values, self.names or (None,) * self.markers, limits(self.text))


class KnownColumns:
    """The columns of queries that name no object, such as the `SELECT 1` of connection pools: these follow from the
    text and the session's state, while ADBC's driver prepares every text before it runs. Thread-safe.
    """

    def __init__(self) -> None:
        self._found: OrderedDict[tuple[str, str], pa.Schema] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, session: Session, query: Query, find: Callable[[], pa.Schema]) -> pa.Schema:
        """Returns the columns of a query, by `find` if they are not known. Raises its errors."""
        if query.relations or query.calls:
            return find()
        key = query.text, repr(session.engine_session.saved_state())
        with self._lock:
            known = self._found.get(key)
        if known is None:
            known = find()
            with self._lock:
                self._found[key] = known
                while len(self._found) > _KNOWN_MAX:
                    self._found.popitem(last=False)
        return known


def prepare(session: Session, text: str, is_active: Callable[[], bool], known: KnownColumns | None = None) -> Prepared:
    """Returns a text as a prepared statement. Raises the errors of its syntax, of missing objects and of rights."""
    known = known or KnownColumns()
    if len(text) > TEXT_LENGTH_MAX or _VARIABLE in text:
        return Prepared(text, pa.schema([]), is_update=False)
    parsed = parse_statement(text)
    markers, names = find_markers(text)
    columns, is_update = pa.schema([]), isinstance(parsed, Statement) and not may_answer_rows(parsed)
    if isinstance(parsed, Query):
        columns = known.of(session, parsed, lambda: _columns(session, parsed, (markers, names), is_active))
        is_update = False
    found = Prepared(text, columns, is_update=is_update, markers=markers, names=names)
    if markers or names:

        def describe(query: Query) -> pa.Schema:
            return described_columns(session, query, is_active)

        found.types = Inference(session, text, names, markers, describe, is_active).types()
    return found


def _columns(
    session: Session, query: Query, markers: tuple[int, tuple[str, ...]], is_active: Callable[[], bool]
) -> pa.Schema:
    """Returns the columns of a query; none if they depend on the values of its parameters."""
    parameters = _nulls(*markers)
    if not parameters:
        return described_columns(session, query, is_active)
    inner = dataframe_query(query_plan(query.text, parameters))
    try:
        return described_columns(session, inner, is_active)
    except SqlError as error:
        if error.sqlstate.startswith(_CERTAIN):
            raise
        return pa.schema([])


def unknown_values(text: str) -> tuple[Parameter, ...]:
    """Returns a null for each marker in a text; none for one that is not understood."""
    try:
        return _nulls(*find_markers(text))
    except SqlError:
        return ()


def _nulls(positional: int, names: tuple[str, ...]) -> tuple[Parameter, ...]:
    return (
        *(Parameter(value=None, sql_type="void", name=name) for name in names),
        *(Parameter(value=None, sql_type="void") for _ in range(positional)),
    )


def query_plan(text: str, parameters: tuple[Parameter, ...]) -> DataFramePlan:
    """Returns a query with parameters as a plan, for statements that do not run it."""
    named = new_message("NamedTable", unparsed_identifier=_INPUT)
    relation = new_message("Relation", read=new_message("Read", named_table=named))
    source = PlanInput(name=_INPUT, text=text, parameters=parameters)
    return DataFramePlan(plan=relation.SerializeToString(), inputs=(source,), description="DataFrame: sql")


def described_columns(session: Session, query: Query, is_active: Callable[[], bool]) -> pa.Schema:
    """Returns the columns of a query, without running it; none if a type has no equivalent."""
    rows = run_call(session, DescribeQuery(inner=query, as_json=True), is_active).to_pylist()
    try:
        found = parse_schema(rows[0]["json_schema"])
        fields = [sql_field(one.name, arrow_type(one.data_type), column_sql_type(one)) for one in found.fields]
    except (UnsupportedDataType, MalformedLogEntry):
        return pa.schema([])
    return client_schema(pa.schema(fields))
