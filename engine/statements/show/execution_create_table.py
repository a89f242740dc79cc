"""SHOW CREATE TABLE: the statement that creates an equal table or view, which delta-spark does not support for tables.

The gateway accepts its output: names are quoted, struct fields keep their case, NOT NULL and comments, table features
that nothing else implies are set explicitly, and properties that statements cannot set are omitted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from catalog.conditions import StatementNotSupported, TableExpected
from catalog.entries import SchemaMode, ViewEntry
from catalog.names import quote
from catalog.system.system_views import is_system_schema
from engine.binding.bound import BoundStatement, BoundTable, BoundView, FileView, FrameView, Outcome
from engine.binding.visibility import visible_keys
from engine.runtime.results import string_rows
from engine.runtime.session_state import is_global, is_temporary
from engine.statements.listings.execution_keys import key_clause
from engine.statements.show.execution_types import declared_type, literal
from engine.statements.show.statement import ShowCreateTable
from engine.tables.column_metadata import DEFAULT, generation_clause
from engine.types.schema import StructField


def show_create_table(bound: BoundStatement, statement: ShowCreateTable) -> Outcome:
    """Returns the statement that creates an equal table here, or an equal view if the current schema is the view's."""
    (relation,) = bound.named
    lines = (
        _view_lines(relation)
        if isinstance(relation, BoundView)
        else _lines(bound, relation, with_location=bound.tells_all(relation))
    )
    text = "\n".join(lines) + "\n"
    return Outcome(result=string_rows(("createtab_stmt",), [(text,)]))


def _view_lines(view: BoundView) -> Iterator[str]:
    entry = view.entry
    if is_system_schema(entry.name.schema_name):
        raise TableExpected(view.label)
    if isinstance(entry, FrameView):
        raise StatementNotSupported("SHOW CREATE TABLE of a view over a DataFrame")
    is_own = is_temporary(entry.name)
    name = quote(entry.name.table) if is_own else view.label
    columns = ",\n".join(f"  {element}" for element in _view_columns(entry))
    kind = "GLOBAL TEMPORARY " if is_global(entry.name) else "TEMPORARY " if is_own else ""
    yield f"CREATE {kind}VIEW {name}" + (f" (\n{columns})" if columns else "")
    if entry.comment:
        yield f"COMMENT {literal(entry.comment)}"
    if entry.properties:
        yield _properties(entry.properties)
    if entry.foreign is None and not is_own:
        yield f"WITH SCHEMA {entry.schema_mode.value}"
    if isinstance(entry, FileView):
        recursive = (("recursiveFileLookup", "true"),) if entry.files.recursive else ()
        options = (("path", entry.files.path), *entry.files.format.options, *recursive)
        listed = ", ".join(f"{literal(key)} {literal(value)}" for key, value in options)
        yield f"USING {entry.files.format.kind} OPTIONS ({listed})"
    else:
        yield f"AS {entry.text}"


def _view_columns(entry: ViewEntry) -> Iterator[str]:
    """Yields the columns that a view was created with; columns of files have types."""
    if isinstance(entry, FileView):
        yield from map(_column, entry.files.schema.fields if entry.files.schema else ())
    elif entry.schema_mode is not SchemaMode.EVOLUTION:
        for column in entry.columns:
            yield quote(column.name) + (f" COMMENT {literal(column.comment)}" if column.comment else "")


def _properties(properties: Iterable[tuple[str, str | None]]) -> str:
    pairs = (f"  {literal(key)} = {literal(value or '')}" for key, value in properties)
    return "TBLPROPERTIES (\n" + ",\n".join(pairs) + ")"


def _lines(bound: BoundStatement, table: BoundTable, *, with_location: bool) -> Iterator[str]:
    snapshot, details = table.snapshot, table.snapshot.details
    elements = [_column(column) for column in snapshot.schema.fields]
    elements += [
        f"CONSTRAINT {quote(constraint.name)} CHECK ({constraint.expression})" for constraint in snapshot.checks
    ]
    keys = visible_keys(bound.view, table)
    elements += [f"CONSTRAINT {quote(key.name)} {key_clause(key, ' NOT ENFORCED')}" for key in keys]
    columns = ",\n".join(f"  {element}" for element in elements)
    yield f"CREATE TABLE {table.label} (\n{columns})" if elements else f"CREATE TABLE {table.label}"
    yield f"USING {snapshot.format}"
    if snapshot.partition_columns:
        yield f"PARTITIONED BY ({', '.join(map(quote, snapshot.partition_columns))})"
    if details.partition_terms:
        yield f"PARTITIONED BY ({', '.join(map(str, details.partition_terms))})"
    if details.sort_terms:  # the write distribution is a property
        yield f"WRITE LOCALLY ORDERED BY {', '.join(map(str, details.sort_terms))}"
    if details.clustering_columns:
        yield f"CLUSTER BY ({', '.join('.'.join(map(quote, path)) for path in details.clustering_columns)})"
    if details.description:
        yield f"COMMENT {literal(details.description)}"
    if with_location and not table.entry.managed:
        yield f"LOCATION {literal(table.location)}"
    properties = snapshot.creating_properties(table.label)
    if properties:
        yield _properties(properties)


def _column(column: StructField) -> str:
    parts = [quote(column.name), declared_type(column)]
    if not column.nullable:
        parts.append("NOT NULL")
    if (clause := generation_clause(column)) is not None:
        parts.append(clause)
    if DEFAULT in column.metadata:
        parts.append(f"DEFAULT {column.metadata[DEFAULT]}")
    if column.comment:
        parts.append(f"COMMENT {literal(column.comment)}")
    return " ".join(parts)
