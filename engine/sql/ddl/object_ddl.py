"""DDL of schemas, catalogs and views; DROP and TRUNCATE of tables; COMMENT ON."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from catalog.privileges import Kind
from engine.sql.ddl.clauses import read_properties, take_if_exists, take_if_not_exists
from engine.sql.ddl.copies import file_query
from engine.sql.ddl.tag_ddl import parse_alter_object
from engine.sql.dialect.cursor import Cursor
from engine.sql.dialect.errors import TemporaryQualifier, UnsupportedClause, UnsupportedStatement
from engine.sql.query.file_formats import file_format, file_kind
from engine.sql.query.names import ensure_temporary, read_catalog, read_schema, read_table, read_table_or_path
from engine.sql.query.query import parse_query
from engine.statements.catalog import (
    AlterCatalog,
    Commentable,
    CommentOn,
    CreateCatalog,
    CreateSchema,
    CreateView,
    DropCatalog,
    DropSchema,
    DropView,
    ViewColumn,
)
from engine.statements.queries import FilesAt
from engine.statements.rights import AlterOwner, AlterTags
from engine.statements.tables import DropTable, Properties
from engine.statements.writes import TruncateTable

_COMMENTABLE: Mapping[str, Commentable] = MappingProxyType(
    {
        "CATALOG": Commentable.CATALOG,
        "SCHEMA": Commentable.SCHEMA,
        "DATABASE": Commentable.SCHEMA,
        "NAMESPACE": Commentable.SCHEMA,
        "TABLE": Commentable.TABLE,
        "COLUMN": Commentable.COLUMN,
        "VOLUME": Commentable.VOLUME,
    }
)


_OTHER_MODES = ("BINDING", "COMPENSATION", "EVOLUTION")
_OTHER_COMMENTABLE = ("CONNECTION", "FUNCTION", "PROVIDER", "RECIPIENT", "SHARE", "VIEW")


def parse_create_schema(cursor: Cursor) -> CreateSchema:
    """What follows CREATE SCHEMA: `[IF NOT EXISTS] s [COMMENT 'c'] [LOCATION 'p'] [WITH DBPROPERTIES (…)]`."""
    if_not_exists = take_if_not_exists(cursor)
    schema = read_schema(cursor)
    comment: str | None = None
    location: str | None = None
    properties: Properties = ()
    while not cursor.is_done:
        if comment is None and cursor.take("COMMENT"):
            comment = cursor.read_string()
        elif location is None and (cursor.take("LOCATION") or cursor.take("MANAGED", "LOCATION")):
            location = cursor.read_string()
        elif not properties and (cursor.take("WITH", "DBPROPERTIES") or cursor.take("WITH", "PROPERTIES")):
            properties = read_properties(cursor)
        else:
            break
    return CreateSchema(
        schema_parts=schema, if_not_exists=if_not_exists, comment=comment, location=location, properties=properties
    )


def parse_drop_schema(cursor: Cursor) -> DropSchema:
    if_exists = take_if_exists(cursor)
    schema = read_schema(cursor)
    return DropSchema(schema_parts=schema, if_exists=if_exists, cascade=_take_cascade(cursor))


def parse_create_catalog(cursor: Cursor) -> CreateCatalog:
    if_not_exists = take_if_not_exists(cursor)
    catalog = read_catalog(cursor)
    provider = cursor.read_name() if cursor.take("USING") else None
    comment: str | None = None
    options: Properties = ()
    while not cursor.is_done:
        if comment is None and cursor.take("COMMENT"):
            comment = cursor.read_string()
        elif not options and cursor.take_any("OPTIONS", "WITH"):
            options = read_properties(cursor)
        else:
            break
    return CreateCatalog(
        catalog=catalog, if_not_exists=if_not_exists, comment=comment, provider=provider, options=options
    )


def parse_alter_catalog(cursor: Cursor) -> AlterCatalog | AlterOwner | AlterTags:
    ahead = cursor.copy()
    catalog = read_catalog(ahead)
    ahead.take("SET")
    if not ahead.take("OPTIONS"):
        return parse_alter_object(cursor, Kind.CATALOG)
    read_catalog(cursor)
    cursor.take("SET")
    cursor.read("OPTIONS")
    return AlterCatalog(catalog=catalog, options=read_properties(cursor))


def parse_drop_catalog(cursor: Cursor) -> DropCatalog:
    if_exists = take_if_exists(cursor)
    catalog = read_catalog(cursor)
    return DropCatalog(catalog=catalog, if_exists=if_exists, cascade=_take_cascade(cursor))


def _take_cascade(cursor: Cursor) -> bool:
    return cursor.take_any("CASCADE", "RESTRICT") == "CASCADE"


def parse_create_view(cursor: Cursor, *, or_replace: bool, temporary: bool, shared: bool = False) -> CreateView:
    """What follows VIEW."""
    if_not_exists = take_if_not_exists(cursor)
    view = read_table(cursor)
    if shared and len(view) > 1:
        raise TemporaryQualifier("view", view[-1], ".".join(view[:-1]))
    if temporary:
        ensure_temporary(view, "view")
    _refuse_file_columns(cursor)
    columns = _take_view_columns(cursor)
    comment: str | None = None
    properties: Properties = ()
    while not cursor.take("AS"):
        if comment is None and cursor.take("COMMENT"):
            comment = cursor.read_string()
        elif not properties and cursor.take("TBLPROPERTIES"):
            properties = read_properties(cursor)
        elif cursor.take("WITH", "METRICS") or cursor.take("PARTITIONED", "ON"):
            raise UnsupportedStatement("CREATE VIEW … WITH METRICS or PARTITIONED ON")
        elif not temporary and cursor.take("WITH", "SCHEMA"):
            read_schema_mode(cursor, "CREATE VIEW")
        elif temporary and not if_not_exists and cursor.words(1) == ["USING"]:
            files = _read_files(cursor)
            return CreateView(
                view_parts=view,
                query=file_query(),
                files=files,
                or_replace=or_replace,
                temporary=True,
                shared=shared,
                columns=columns,
                comment=comment,
            )
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
    )


def _refuse_file_columns(cursor: Cursor) -> None:
    ahead = cursor.copy()
    if ahead.words(1) == ["("] and ahead.read_parenthesized() and ahead.words(1) == ["USING"]:
        raise UnsupportedClause(
            "CREATE TEMPORARY VIEW … USING with columns",
            "Leave the columns out; set the option inferSchema, or CAST them in a view over this one.",
        )


def _read_files(cursor: Cursor) -> FilesAt:
    """`USING format OPTIONS (path '…', …)`"""
    cursor.read("USING")
    kind = file_kind(cursor.read_name(), "USING")
    options = read_properties(cursor) if cursor.take("OPTIONS") else ()
    paths = [value for name, value in options if name.lower() == "path"]
    if len(paths) != 1:
        raise cursor.fail("OPTIONS (path '…') is expected")
    format_, recursive = file_format(kind, tuple(item for item in options if item[0].lower() != "path"))
    return FilesAt(path=paths[0], format=format_, recursive=recursive)


def read_schema_mode(cursor: Cursor, statement: str) -> None:
    """Reads the mode that follows WITH SCHEMA. Raises `UnsupportedClause` for another than TYPE EVOLUTION."""
    mode = cursor.take_any(*_OTHER_MODES)
    if mode is None:
        cursor.read("TYPE", "EVOLUTION")
    else:
        raise UnsupportedClause(
            f"WITH SCHEMA {mode} in {statement}",
            "Use WITH SCHEMA TYPE EVOLUTION, as which all views work: their columns follow the types of their tables. "
            "ALTER VIEW … AS query takes up new columns, and CAST in the query keeps a type.",
        )


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
    if_exists = take_if_exists(cursor)
    return DropView(view_parts=read_table(cursor), if_exists=if_exists)


def parse_drop_table(cursor: Cursor) -> DropTable:
    if_exists = take_if_exists(cursor)
    table = read_table(cursor)
    return DropTable(table_parts=table, if_exists=if_exists, purge=cursor.take("PURGE"))


def parse_truncate_table(cursor: Cursor) -> TruncateTable:
    table = read_table_or_path(cursor)
    if cursor.take("PARTITION"):
        raise UnsupportedClause("PARTITION in TRUNCATE TABLE", "Use DELETE FROM with a condition on the partition.")
    return TruncateTable(table_parts=table)


def parse_comment_on(cursor: Cursor) -> CommentOn:
    """What follows COMMENT ON."""
    word = cursor.take_any(*_COMMENTABLE)
    if word is None:
        other = cursor.take_any(*_OTHER_COMMENTABLE)
        if other is None:
            raise cursor.fail_among([(known,) for known in (*_COMMENTABLE, *_OTHER_COMMENTABLE)])
        raise UnsupportedStatement(f"COMMENT ON {other}")
    kind = _COMMENTABLE[word]
    match kind:
        case Commentable.CATALOG:
            parts: tuple[str, ...] = (read_catalog(cursor),)
        case Commentable.SCHEMA:
            parts = read_schema(cursor)
        case Commentable.TABLE | Commentable.VOLUME:
            parts = read_table(cursor)
        case Commentable.COLUMN:
            parts = cursor.read_names()
            if len(parts) < 2:
                raise cursor.fail("the column before this needs its table")
    cursor.read("IS")
    return CommentOn(kind=kind, parts=parts, comment=None if cursor.take("NULL") else cursor.read_string())
