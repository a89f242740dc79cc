"""Parses COPY INTO in Databricks' grammar; only listed options are accepted, so that none is silently misinterpreted.

The source path is a string in the position of a table in the query. It is replaced by a name, so that the query is read
like any other; the query may read nothing but that name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from catalog.conditions import CopyOptionNotSupported, UnsupportedClause
from engine.sql.dialect.cursor import Cursor
from engine.sql.dialect.dialect import SyntaxFailure, tokenize
from engine.sql.query.file_calls import file_format, file_kind
from engine.sql.query.names import read_table
from engine.sql.query.query import parse_query
from engine.sql.query.values import Properties, Query
from engine.statements.copy_into.statement import CopyInto, Validation
from engine.statements.create_table.grammar_clauses import read_name_list, read_properties
from engine.tables.scan import FileKind

_NAME = "the copied files"
_FILES_MAX = 1000


def parse_copy_into(cursor: Cursor) -> CopyInto:
    """Parses the text after COPY INTO."""
    table = read_table(cursor)
    by_position = cursor.take("BY", "POSITION")
    columns = read_name_list(cursor) if not by_position and cursor.words(1) == ["("] else ()
    cursor.read("FROM")
    source, is_whole, path = _read_source(cursor)
    kind = _read_kind(cursor)
    validation = _take_validation(cursor)
    files, pattern = _take_files(cursor)
    options = _take_options(cursor, "FORMAT_OPTIONS")
    copy_options = _take_options(cursor, "COPY_OPTIONS")
    format_, recursive = file_format(kind, options)
    flags = {"mergeschema": False, "force": False}
    for name, value in copy_options:
        if name.lower() not in flags or value.lower() not in ("true", "false"):
            raise CopyOptionNotSupported(f"{name} = {value}", "COPY_OPTIONS")
        flags[name.lower()] = value.lower() == "true"
    if by_position and (kind is not FileKind.CSV or dict(options).get("header", "false").lower() == "true"):
        raise UnsupportedClause("BY POSITION", "It is for CSV files without headers; name the columns: (a, b).")
    return CopyInto(
        table_parts=table,
        source=source,
        is_whole=is_whole,
        path=path,
        format=format_,
        columns=columns,
        by_position=by_position,
        files=files,
        pattern=pattern,
        recursive=recursive,
        merges_schema=flags["mergeschema"],
        force=flags["force"],
        validation=validation,
    )


def file_query() -> Query:
    """Returns the query for all file columns."""
    text = f"SELECT * FROM `{_NAME}`"
    return parse_query(Cursor(text, tokenize(text)))


def _read_source(cursor: Cursor) -> tuple[Query, bool, str]:
    """Returns the query, True if it selects all columns, and the path."""
    path = cursor.take_string()
    if path is not None:
        return file_query(), True, path
    place = cursor.offset
    text = cursor.read_parenthesized()
    inner = Cursor(text, tokenize(text))
    found = inner.string_behind("FROM") if inner.words(1) == ["SELECT"] else None
    if found is None:
        raise SyntaxFailure("SELECT … FROM 'path' is expected", place + 1)
    start, end, path = found
    text = f"{text[:start]}`{_NAME}`{text[end:]}"
    query = parse_query(Cursor(text, tokenize(text)))
    if len(query.relations) != 1:
        raise UnsupportedClause("Another table in COPY INTO", "The query may read the files alone.")
    return query, False, path


def _read_kind(cursor: Cursor) -> FileKind:
    if cursor.take("WITH"):
        raise UnsupportedClause("WITH (CREDENTIAL …)", "The server's own access to the storage is used.")
    cursor.read("FILEFORMAT")
    cursor.read("=")
    return file_kind(cursor.take_string() or cursor.read_name(), "FILEFORMAT =")


def _take_validation(cursor: Cursor) -> Validation | None:
    if not cursor.take("VALIDATE"):
        return None
    if cursor.take("ALL"):
        return Validation()
    rows = cursor.take_number()
    if rows is not None:
        cursor.read("ROWS")
    return Validation(rows=rows)


def _take_files(cursor: Cursor) -> tuple[tuple[str, ...], str | None]:
    if cursor.take("FILES"):
        cursor.read("=")
        cursor.take("ARRAY")  # Airflow's operator writes the list as an array of the connector's
        cursor.read("(")
        names = [cursor.read_string()]
        while cursor.take(","):
            names.append(cursor.read_string())
        cursor.read(")")
        if len(names) > _FILES_MAX:
            raise UnsupportedClause(f"FILES of more than {_FILES_MAX} names", "Use PATTERN, or several statements.")
        return tuple(names), None
    if cursor.take("PATTERN"):
        cursor.read("=")
        return (), cursor.read_string()
    return (), None


def _take_options(cursor: Cursor, clause: str) -> Properties:
    return read_properties(cursor) if cursor.take(clause) else ()


LEADING_WORDS: Mapping[tuple[str, ...], Callable[[Cursor], CopyInto]] = MappingProxyType(
    {("COPY", "INTO"): parse_copy_into}
)
