"""Parses ALTER VIEW, in Spark's and Databricks' syntax."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType

from catalog.conditions import TemporaryQualifier, UnsupportedClause
from catalog.entries import SchemaMode
from catalog.grants.privileges import Kind
from engine.runtime.statement import Statement
from engine.sql.dialect.cursor import Cursor
from engine.sql.dialect.errors import unsupported_statement
from engine.sql.dialect.type_text import parse_type
from engine.sql.query.file_calls import file_format, file_kind
from engine.sql.query.names import ensure_temporary, read_table
from engine.sql.query.query import parse_query
from engine.sql.query.values import FilesAt, Properties
from engine.statements.alter_table.grammar import read_unset_properties
from engine.statements.alter_table.statement import RenameTable, SetProperties
from engine.statements.copy_into.grammar import file_query
from engine.statements.create_table.grammar_clauses import (
    read_properties,
    read_type,
    take_if_exists,
    take_if_not_exists,
)
from engine.statements.grants.statement import AlterOwner
from engine.statements.policies.grammar import parse_alter_object
from engine.statements.policies.statement import AlterTags
from engine.statements.views.statement import AlterView, CreateView, DropView, ViewColumn
from engine.types.schema import StructField, StructType

_CHANGES = (("AS",), ("RENAME", "TO"), ("SET", "TBLPROPERTIES"), ("UNSET", "TBLPROPERTIES"), ("WITH", "SCHEMA"))
_QUERY_WORDS = ("SELECT", "WITH", "VALUES", "TABLE", "FROM", "(")  # Spark also takes a query without AS


def parse_alter_view(cursor: Cursor) -> CreateView | AlterView | AlterOwner | AlterTags:
    """Parses the text after ALTER VIEW."""
    ahead = cursor.copy()
    read_table(ahead)
    words = next((words for words in _CHANGES if ahead.take(*words)), None)
    if words is None and ahead.words(1) and ahead.words(1)[0] in _QUERY_WORDS:
        return CreateView(view_parts=read_table(cursor), query=parse_query(cursor), or_replace=True, alters=True)
    if words is None:
        return parse_alter_object(cursor, Kind.VIEW)
    view = read_table(cursor)
    cursor.read(*words)
    match words[0]:
        case "AS":
            return CreateView(view_parts=view, query=parse_query(cursor), or_replace=True, alters=True)
        case "RENAME":
            return AlterView(view_parts=view, change=RenameTable(table_parts=read_table(cursor)))
        case "SET":
            return AlterView(view_parts=view, change=SetProperties(properties=read_properties(cursor)))
        case "UNSET":
            return AlterView(view_parts=view, change=read_unset_properties(cursor))
        case _:  # WITH SCHEMA, the last of these texts
            return AlterView(view_parts=view, change=_read_schema_mode(cursor))


_SCHEMA_MODES = (("BINDING",), ("COMPENSATION",), ("TYPE", "EVOLUTION"), ("EVOLUTION",))


def parse_create_view(cursor: Cursor, *, or_replace: bool, temporary: bool, shared: bool = False) -> CreateView:
    """Parses the text after VIEW."""
    if_not_exists = take_if_not_exists(cursor)
    view = read_table(cursor)
    if shared and len(view) > 1:
        raise TemporaryQualifier("view", view[-1], ".".join(view[:-1]))
    if temporary:
        ensure_temporary(view, "view")
    schema = _take_file_columns(cursor) if temporary and not if_not_exists else None
    if schema is not None:
        files = replace(_read_files(cursor), schema=schema)
        return _create_file_view(view, files, or_replace=or_replace, shared=shared)
    columns = _take_view_columns(cursor)
    comment: str | None = None
    properties: Properties = ()
    schema_mode: SchemaMode | None = None
    while not cursor.take("AS"):
        if comment is None and cursor.take("COMMENT"):
            comment = cursor.read_string()
        elif not properties and cursor.take("TBLPROPERTIES"):
            properties = read_properties(cursor)
        elif cursor.take("WITH", "METRICS") or cursor.take("PARTITIONED", "ON"):
            raise unsupported_statement("CREATE VIEW … WITH METRICS or PARTITIONED ON")
        elif schema_mode is None and cursor.take("WITH", "SCHEMA"):
            schema_mode = _read_schema_mode(cursor)
            if temporary:
                raise UnsupportedClause("WITH SCHEMA in CREATE TEMPORARY VIEW", "Use a view of a catalog.")
        elif temporary and not if_not_exists and not columns and cursor.words(1) == ["USING"]:
            view_of_files = _create_file_view(view, _read_files(cursor), or_replace=or_replace, shared=shared)
            return replace(view_of_files, comment=comment)
        elif cursor.words(2) == ["DEFAULT", "COLLATION"]:
            raise UnsupportedClause("CREATE VIEW … DEFAULT COLLATION", "Use COLLATE in the query of the view.")
        else:
            raise cursor.fail("AS and the query of the view are expected")
    return CreateView(
        view_parts=view,
        query=parse_query(cursor),
        or_replace=or_replace,
        if_not_exists=if_not_exists,
        temporary=temporary,
        shared=shared,
        columns=columns,
        comment=comment,
        properties=properties,
        schema_mode=schema_mode,
    )


def _create_file_view(view: tuple[str, ...], files: FilesAt, *, or_replace: bool, shared: bool) -> CreateView:
    return CreateView(
        view_parts=view, query=file_query(), files=files, or_replace=or_replace, temporary=True, shared=shared
    )


def _take_file_columns(cursor: Cursor) -> StructType | None:
    """Reads `(name type [NOT NULL] [COMMENT 'c'], …)` before USING."""
    ahead = cursor.copy()
    if not (ahead.words(1) == ["("] and ahead.read_parenthesized() and ahead.words(1) == ["USING"]):
        return None
    cursor.read("(")
    columns: list[StructField] = []
    while not columns or cursor.take(","):
        columns.append(_read_file_column(cursor))
    cursor.read(")")
    return StructType(tuple(columns))


def _read_file_column(cursor: Cursor) -> StructField:
    """Reads a column of files, which is nullable even if NOT NULL says otherwise, as in Spark."""
    name, data_type = cursor.read_name(), parse_type(read_type(cursor)).data_type
    cursor.take("NOT", "NULL")
    metadata = {"comment": cursor.read_string()} if cursor.take("COMMENT") else {}
    return StructField(name, data_type, metadata=metadata)


def _read_files(cursor: Cursor) -> FilesAt:
    """Reads `USING format OPTIONS (path '…', …)`."""
    cursor.read("USING")
    kind = file_kind(".".join(cursor.read_names()), "USING")
    options = read_properties(cursor) if cursor.take("OPTIONS") else ()
    paths = [value for name, value in options if name.lower() == "path"]
    if len(paths) != 1:
        raise cursor.fail("OPTIONS (path '…') is expected")
    format_, recursive = file_format(kind, tuple(item for item in options if item[0].lower() != "path"))
    return FilesAt(path=paths[0], format=format_, recursive=recursive)


def _read_schema_mode(cursor: Cursor) -> SchemaMode:
    """Reads the mode after WITH SCHEMA."""
    words = next((words for words in _SCHEMA_MODES if cursor.take(*words)), None)
    if words is None:
        raise cursor.fail("BINDING, COMPENSATION, TYPE EVOLUTION or EVOLUTION is expected")
    return SchemaMode(" ".join(words))


def _take_view_columns(cursor: Cursor) -> tuple[ViewColumn, ...]:
    if not cursor.take("("):
        return ()
    columns: list[ViewColumn] = []
    while not columns or cursor.take(","):
        name = cursor.read_name()
        columns.append(ViewColumn(name=name, comment=cursor.read_string() if cursor.take("COMMENT") else None))
    cursor.read(")")
    return tuple(columns)


def parse_drop_view(cursor: Cursor) -> DropView:
    """Parses the text after DROP VIEW: `[IF EXISTS] v`."""
    if_exists = take_if_exists(cursor)
    return DropView(view_parts=read_table(cursor), if_exists=if_exists)


_TEMPORARY = (("TEMP",), ("TEMPORARY",))
_CREATE = (("CREATE",), ("CREATE", "OR", "REPLACE"))

LEADING_WORDS: Mapping[tuple[str, ...], Callable[[Cursor], Statement]] = MappingProxyType(
    {
        **{
            (*create, *temporary, "VIEW"): partial(
                parse_create_view, or_replace="REPLACE" in create, temporary=bool(temporary)
            )
            for create in _CREATE
            for temporary in ((), *_TEMPORARY)
        },
        **{
            (*create, "GLOBAL", *temporary, "VIEW"): partial(
                parse_create_view, or_replace="REPLACE" in create, temporary=True, shared=True
            )
            for create in _CREATE
            for temporary in _TEMPORARY
        },
        ("ALTER", "VIEW"): parse_alter_view,
        ("DROP", "VIEW"): parse_drop_view,
    }
)
