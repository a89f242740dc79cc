"""Checks whether statements run here, without Spark and without executing them.

A statement is parsed and, over a lake, bound: tables, columns of constraints, table features. Columns, types and
arguments of functions are Spark's to check, so a statement that passes may still fail there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, fields, is_dataclass, replace
from enum import StrEnum
from typing import Any

from catalog.conditions import SchemaNotFound
from catalog.errors import Position, SqlError
from catalog.names import DEFAULT_CATALOG, DEFAULT_SCHEMA, CatalogName, SchemaName, TableName, fold
from catalog.view import CatalogView
from engine.binding.binder import Binder
from engine.binding.sources import Sources
from engine.binding.time_travel import Constants
from engine.pipeline import bind_statement, parse_statement
from engine.runtime.identity import Identity
from engine.runtime.session_state import SessionState
from engine.runtime.settings import parse_setting
from engine.runtime.statement import Statement
from engine.sql.query.values import Query
from engine.statements.scripting.statement import ExecuteImmediate, NamedByExpressions, Script
from engine.statements.session.statement import SetSetting, UseCatalog, UseSchema

_CREATED = re.compile(
    r"(?is)\bCREATE\s+(?:OR\s+(?:REPLACE|REFRESH)\s+)?(?:\w+\s+){0,3}?(TABLE|VIEW|FUNCTION|SCHEMA|DATABASE)\s+"
    r"(?:IF\s+NOT\s+EXISTS\s+)?((?:`[^`]+`|\w+)(?:\s*\.\s*(?:`[^`]+`|\w+))*)"
)
_TEMPLATE = re.compile(r"\{\{|\{%")
# SQLSTATEs of names that do not exist: schema, table, function, other objects.
_NOT_FOUND = frozenset({"42704", "42P01", "42883", "3F000", "3D000"})


class Verdict(StrEnum):
    RUNS = "runs"
    # Runs if something exists that the check does not know: a function.
    DEPENDS = "depends"
    # A name in it does not exist in the lake.
    MISSING = "missing"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Check:
    """The result for one statement: for all but RUNS with a reason, and if there is one, with what to use instead."""

    verdict: Verdict
    condition: str = ""
    reason: str = ""
    hint: str = ""
    position: Position | None = None


@dataclass
class StatementChecker:
    """Checks statements in the order in which they would run: each may use names that earlier ones create.

    `sources` None: names are not looked up.
    """

    sources: Sources | None = None
    _state: SessionState = field(
        default_factory=lambda: SessionState(identity=Identity("check"), catalog=DEFAULT_CATALOG, schema=DEFAULT_SCHEMA)
    )
    # The last parts of names that the statements so far create.
    _created: set[str] = field(default_factory=set)

    def check(self, text: str) -> Check:
        """Returns whether the statement runs; remembers the names it creates."""
        check = self._check(text)
        if check.verdict is not Verdict.REFUSED:
            self._created |= {_last_part(name) for _, name in _CREATED.findall(text)}
        return check

    def _check(self, text: str) -> Check:
        if _TEMPLATE.search(text):
            hint = "Check the rendered text, for dbt the files in target/compiled."
            return Check(Verdict.REFUSED, "TEMPLATE", "The text is a template, and no SQL.", hint)
        try:
            parsed = parse_statement(text)
            unknown = self._unknown_functions(parsed)
            if not isinstance(parsed, Script | ExecuteImmediate | NamedByExpressions):
                self._bind(parsed)
        except SqlError as error:
            verdict = Verdict.MISSING if self._is_missing(error) else Verdict.REFUSED
            if verdict is Verdict.REFUSED or not self._is_created(error):
                return Check(verdict, error.condition, error.message, error.hint, error.position)
            return Check(Verdict.RUNS)
        if unknown:
            names = ", ".join(unknown)
            hint = "Create it as an SQL function: CREATE FUNCTION f(x INT) RETURN x + 1."
            return Check(Verdict.DEPENDS, "FUNCTION_NOT_BUILT_IN", f"No function of Spark is called {names}.", hint)
        return Check(Verdict.RUNS)

    def _bind(self, statement: Any) -> None:
        if isinstance(statement, SetSetting):
            parse_setting(statement.key, statement.value)
        if self.sources is None or not isinstance(statement, Statement):
            return
        if isinstance(statement, UseSchema | UseCatalog):
            self._use(statement)
            return
        with suppress(_NotEvaluated):
            bind_statement(statement, Binder(self._state, self.sources, Constants(_evaluate), is_known=True))

    def _use(self, statement: UseSchema | UseCatalog) -> None:
        assert self.sources is not None
        view = self.sources.catalog.view()
        if isinstance(statement, UseCatalog):
            name = SchemaName(view.catalog(CatalogName(statement.catalog)).name.catalog, DEFAULT_SCHEMA)
        else:
            name = SchemaName.from_parts(statement.parts, self._state.catalog)
            if fold(name.schema) not in self._created:
                name = self._schema(view, name)
        self._state = replace(self._state, catalog=name.catalog, schema=name.schema)

    def _schema(self, view: CatalogView, name: SchemaName) -> SchemaName:
        """Returns the schema, or the catalog's first one: `USE x` may name a catalog."""
        try:
            return view.schema(name).name
        except SchemaNotFound:
            if not view.has_catalog(catalog := CatalogName(name.schema)):
                raise
            return SchemaName(view.catalog(catalog).name.catalog, DEFAULT_SCHEMA)

    def _unknown_functions(self, parsed: object) -> list[str]:
        """Returns the names of called functions that are neither built in, nor created, nor in the catalog."""
        calls = {call.name_parts for query in _queries_of(parsed) for call in query.calls}
        return sorted(".".join(parts) for parts in calls if not self._has_function(parts))

    def _has_function(self, parts: tuple[str, ...]) -> bool:
        if fold(parts[-1]) in self._created:
            return True
        if self.sources is None:
            return False
        schema = SchemaName(self._state.catalog, self._state.schema)
        return self.sources.catalog.view().find_function(TableName.from_parts(parts, schema)) is not None

    def _is_missing(self, error: SqlError) -> bool:
        return self.sources is not None and error.sqlstate in _NOT_FOUND

    def _is_created(self, error: SqlError) -> bool:
        name = getattr(error, "name", None) or getattr(error, "table", None)
        return isinstance(name, str) and _last_part(name) in self._created


def _queries_of(value: Any) -> Iterator[Query]:
    if isinstance(value, Query):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _queries_of(item)
    elif is_dataclass(value):
        for each in fields(value):
            yield from _queries_of(getattr(value, each.name))


def _last_part(name: str) -> str:
    return fold(name.rpartition(".")[2].strip().strip("`"))


class _NotEvaluated(Exception):
    """An expression for time travel, which only Spark evaluates."""


def _evaluate(_: str) -> tuple[Any, ...]:
    raise _NotEvaluated
