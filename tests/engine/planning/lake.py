"""A lake with logs and without data files: statements are planned from text, and nothing runs.

Statements create its tables; files are actions in their logs, and no test opens them. Spark's analysis of a query is a
value too: the query's columns.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import pytest

from catalog.changes import CreateView
from catalog.entries import ViewColumn, ViewEntry
from catalog.errors import SqlError
from catalog.names import DEFAULT_CATALOG, DEFAULT_SCHEMA, TableName
from engine.binding.binder import Binder
from engine.binding.bound import BoundStatement, BoundTable
from engine.delta.definition.table_draft import Definition
from engine.delta.snapshot.snapshot import Snapshot
from engine.delta.spec.actions import Action, Add
from engine.delta.spec.paths import LOG_DIR, commit_name
from engine.main import EngineOptions, open_sources
from engine.pipeline import analyze_statement, authorize_statement, bind_statement, plan_statement
from engine.planning.analyzed import AnalyzedStatement
from engine.planning.plans.ddl import CreateTablePlan
from engine.planning.plans.format_plan import FormatPlan
from engine.planning.plans.plan import Plan
from engine.planning.plans.reads import QueryColumn, ReadPlan
from engine.runtime.identity import Identity
from engine.runtime.session_state import SessionState
from engine.runtime.settings import parse_setting
from engine.sql.dialect.type_text import parse_type
from engine.tables.definition import TableDefinition
from engine.types.schema import StructType, format_data_type
from engine.types.sql_types import column_sql_type, format_sql_type
from tests.engine.contexts import NO_CONSTANTS
from tests.engine.delta.log_builder import add, json_lines
from tests.engine.parsed import parse_one
from tests.engine.planned import make_table

P = TypeVar("P")


def query_columns(ddl: str) -> tuple[QueryColumn, ...]:
    """Returns a query's columns as Spark would: `query_columns("id BIGINT, at STRUCT<x: INT>")`."""
    if not ddl:
        return ()
    row = parse_type(f"STRUCT<{ddl}>").data_type
    assert isinstance(row, StructType)
    return tuple(
        QueryColumn(field.name, format_sql_type(field.data_type), field.comment, format_data_type(field.data_type))
        for field in row.fields
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedAnswers:
    """An analyzer for which every query has these columns, and reads these variables."""

    columns: tuple[QueryColumn, ...] = ()
    variables: tuple[str, ...] = ()

    def columns_of(self, plan: ReadPlan) -> tuple[QueryColumn, ...]:
        return self.columns

    def variables_of(self, plan: ReadPlan) -> tuple[str, ...]:
        return self.variables

    def setting(self, key: str) -> str | None:
        return None


def delta_definition(definition: TableDefinition | None) -> Definition:
    assert isinstance(definition, Definition)
    return definition


def shown_columns(definition: TableDefinition | None) -> str:
    """`name type [NOT NULL]`, with commas between."""
    assert isinstance(definition, Definition)
    return ", ".join(
        f"{field.name} {column_sql_type(field)}{'' if field.nullable else ' NOT NULL'}"
        for field in definition.config("t").schema.fields
    )


def data_file(path: str, values: Mapping[str, str | None] | None = None, /, **fields: Any) -> Add:
    """Returns a file, with 10 rows by default, in the partition with these `values`."""
    return add(path, **{"partition_values": dict(values or {}), "stats": json.dumps({"numRecords": 10}), **fields})


def statistics(rows: int, **min_max_values: tuple[Any, Any]) -> str:
    """Returns statistics for a file without nulls: column -> minimum and maximum value."""
    lows = {name: low for name, (low, _) in min_max_values.items()}
    highs = {name: high for name, (_, high) in min_max_values.items()}
    return json.dumps(
        {"numRecords": rows, "minValues": lows, "maxValues": highs, "nullCount": dict.fromkeys(min_max_values, 0)}
    )


class PlanningLake:
    """Tables in the schema `default`, and one session."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.sources = open_sources(EngineOptions(lake_folder=str(folder)))
        self.state = SessionState(identity=Identity("ann"), catalog=DEFAULT_CATALOG, schema=DEFAULT_SCHEMA)

    def make(self, ddl: str, *files: Add) -> None:
        """A table; its version 1 has the `files`, if there are any."""
        plan = self.plan(CreateTablePlan, ddl)
        assert plan.entry is not None
        make_table(plan, self.sources.catalog, now_ms=0)
        if files:
            self.commit(plan.entry.name.table, *files)

    def commit(self, table: str, *actions: Action) -> None:
        """Commits a table's next version, as another writer."""
        log = self.path(table) / LOG_DIR
        version = len(list(log.glob("*.json")))
        (log / commit_name(version)).write_bytes(json_lines(actions))

    def make_view(self, name: str, text: str, columns: str) -> None:
        found = tuple(ViewColumn(name=each.name, source=each.name, type="") for each in query_columns(columns))
        table = TableName(DEFAULT_CATALOG, DEFAULT_SCHEMA, name)
        entry = ViewEntry(name=table, text=text, current=self.state.current, columns=found)
        self.sources.catalog.change(CreateView(entry, False))

    def path(self, table: str) -> Path:
        return self.folder / "default" / table

    def snapshot(self, table: str) -> Snapshot:
        found = bound_table(self, table).snapshot
        assert isinstance(found, Snapshot)
        return found

    def bound(self, text: str, settings: Mapping[str, str] = MappingProxyType({})) -> BoundStatement:
        state = self.state
        for key, value in settings.items():
            setting, canonical = parse_setting(key, value)
            state = state.with_value(setting.key, canonical)
        bound = bind_statement(parse_one(text), Binder(state, self.sources, NO_CONSTANTS))
        assert isinstance(bound, BoundStatement), bound
        return bound

    def analyzed(
        self,
        text: str,
        columns: str = "",
        settings: Mapping[str, str] = MappingProxyType({}),
        variables: tuple[str, ...] = (),
    ) -> AnalyzedStatement:
        answers = FixedAnswers(columns=query_columns(columns), variables=variables)
        return analyze_statement(authorize_statement(self.bound(text, settings)), answers)

    def plan(
        self,
        kind: type[P],
        text: str,
        columns: str = "",
        settings: Mapping[str, str] = MappingProxyType({}),
        variables: tuple[str, ...] = (),
    ) -> P:
        """Returns a statement's plan before enforcement, which must have this kind.

        `columns` and `variables` are Spark's analysis of its query.
        """
        plan: Plan = plan_statement(self.analyzed(text, columns, settings, variables))
        own = plan.own if isinstance(plan, FormatPlan) else plan
        assert isinstance(own, kind), own
        return own

    def refuse(
        self,
        text: str,
        columns: str = "",
        settings: Mapping[str, str] = MappingProxyType({}),
        variables: tuple[str, ...] = (),
    ) -> SqlError:
        """Returns the error from a statement that cannot be planned."""
        with pytest.raises(SqlError) as caught:
            plan_statement(self.analyzed(text, columns, settings, variables))
        return caught.value

    def refused(self, text: str, columns: str = "", settings: Mapping[str, str] = MappingProxyType({})) -> str:
        """Its condition."""
        return self.refuse(text, columns, settings).condition


def bound_table(planning: PlanningLake, name: str) -> BoundTable:
    """Returns a table's newest version, as bound in a statement."""
    (found,) = planning.bound(f"SELECT * FROM {name}").relations
    assert isinstance(found, BoundTable)
    return found
