"""SHOW: listings from the catalog and the tables' own schemas, in the columns that Spark's clients expect."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import assert_never

from catalog.entries import Relation, TableEntry, ViewEntry
from catalog.names import CatalogName, SchemaName, like_matcher
from engine.binding.bound import BoundStatement, Outcome
from engine.runtime.results import BOOLEAN, STRING, ResultStream, small_result, string_rows
from engine.runtime.session_state import is_of_session, is_qualified_global, is_temporary
from engine.runtime.settings import HIVE_SHAPE
from engine.sql.dialect.functions import ALLOWED_FUNCTIONS
from engine.statements.show.statement import (
    ShowCatalogs,
    ShowColumns,
    ShowCurrentNamespace,
    ShowFunctions,
    ShowSchemas,
    ShowTables,
    ShowViews,
)

Show = ShowCatalogs | ShowSchemas | ShowTables | ShowViews | ShowColumns | ShowFunctions | ShowCurrentNamespace


def show(bound: BoundStatement, statement: Show) -> Outcome:
    """Returns one SHOW statement's rows."""
    match statement:
        case ShowCatalogs():
            matches = like_matcher(statement.pattern)
            catalogs = [entry.name.catalog for entry in bound.view.catalogs()]
            result = _names("catalog", [name for name in catalogs if matches(name)])
        case ShowSchemas():
            catalog = CatalogName(statement.catalog or bound.state.catalog)
            schemas = bound.view.schemas(catalog, like_matcher(statement.pattern))
            column = "namespace" if statement.catalog is None else "databaseName"  # only Databricks' clients say IN
            result = _names(column, [schema.name.schema for schema in schemas])
        case ShowTables():
            result = _relations(bound, statement, (TableEntry, ViewEntry), "tableName")
        case ShowViews():
            result = _relations(bound, statement, (ViewEntry,), "viewName")
        case ShowColumns():
            result = _names("col_name", [column.name for column in bound.relations[0].columns])
        case ShowCurrentNamespace():
            rows = [(bound.state.catalog, bound.state.schema)]
            result = string_rows(("catalog", "namespace"), rows)
        case ShowFunctions():
            result = _names("function", _functions(bound, statement))
        case _:
            assert_never(statement)
    return Outcome(result=result)


def _functions(bound: BoundStatement, statement: ShowFunctions) -> list[str]:
    """Returns Spark's functions, then the session's, then the schema's with their full names, as in Spark."""
    matches = like_matcher(statement.pattern)
    builtin = [name for name in sorted(ALLOWED_FUNCTIONS) if statement.builtin and matches(name)]
    parts = statement.schema_parts
    schema = SchemaName.from_parts(parts, bound.state.catalog) if parts else bound.state.current
    if statement.user:
        own = (entry.name.table for entry in bound.state.temporary_functions.values())
        builtin += sorted(filter(matches, own))
    if not statement.user or not (parts or bound.view.finds_schema(schema)):  # the session's schema may not exist yet
        return builtin
    return [*builtin, *(".".join(entry.name.parts) for entry in bound.view.functions(schema, matches))]


def _names(column: str, names: list[str]) -> ResultStream:
    return string_rows((column,), ((name,) for name in names))


def _relations(
    bound: BoundStatement, statement: ShowTables | ShowViews, kinds: tuple[type, ...], column: str
) -> ResultStream:
    """Lists the schema's relations, and the session's temporary views, whatever the schema is, as in Spark."""
    state, matches = bound.state, like_matcher(statement.pattern)
    found: Iterable[Relation]
    if is_qualified_global((*statement.schema_parts, "")):
        found = [entry for entry in state.global_views.values() if matches(entry.name.table)]
    else:
        parts = statement.schema_parts or (state.catalog, state.schema)
        found = bound.view.relations(bound.view.schema(SchemaName.from_parts(parts, state.catalog)).name, matches)
    own = (entry for entry in state.temporary_views.values() if matches(entry.name.table))
    entries = [entry for entry in (*found, *own) if isinstance(entry, kinds)]
    return _relation_rows(bound, statement, entries, column)


def _relation_rows(
    bound: BoundStatement, statement: ShowTables | ShowViews, entries: Sequence[Relation], column: str
) -> ResultStream:
    """Returns the rows; the session's own views have no schema, as in Spark."""
    state = bound.state
    names = [entry.name.table for entry in entries]
    if state.value(HIVE_SHAPE) == "true":
        return _names("tab_name", names)
    columns = {"namespace": STRING, column: STRING, "isTemporary": BOOLEAN}
    if state.shows_materialized and isinstance(statement, ShowViews):
        columns["isMaterialized"] = BOOLEAN
    rows = []
    for entry in entries:
        schema = "" if is_of_session(entry.name) else entry.name.schema
        more = (False,) * (len(columns) - 3)
        rows.append((schema, entry.name.table, is_temporary(entry.name), *more))
    return small_result(columns, rows)
