"""Parses DDL on catalogs and schemas."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from catalog.conditions import UnsupportedClause
from catalog.grants.privileges import Kind
from engine.runtime.statement import Statement
from engine.sql.dialect.cursor import Cursor
from engine.sql.query.names import SCHEMA_WORDS, read_catalog, read_schema
from engine.sql.query.values import Properties
from engine.statements.containers.statement import AlterCatalog, CreateCatalog, CreateSchema, DropCatalog, DropSchema
from engine.statements.create_table.grammar_clauses import read_properties, take_if_exists, take_if_not_exists
from engine.statements.grants.statement import AlterOwner
from engine.statements.policies.grammar import parse_alter_object
from engine.statements.policies.statement import AlterTags


def parse_create_schema(cursor: Cursor) -> CreateSchema:
    """Parses the text after CREATE SCHEMA: `[IF NOT EXISTS] s [COMMENT 'c'] [LOCATION 'p'] [WITH DBPROPERTIES (…)]`."""
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
        elif cursor.words(2) == ["DEFAULT", "COLLATION"]:
            raise UnsupportedClause("CREATE SCHEMA … DEFAULT COLLATION", "Give columns a collation of their own.")
        else:
            break
    return CreateSchema(
        schema_parts=schema, if_not_exists=if_not_exists, comment=comment, location=location, properties=properties
    )


def parse_drop_schema(cursor: Cursor) -> DropSchema:
    """Parses the text after DROP SCHEMA: `[IF EXISTS] s [CASCADE | RESTRICT]`."""
    if_exists = take_if_exists(cursor)
    schema = read_schema(cursor)
    return DropSchema(schema_parts=schema, if_exists=if_exists, cascade=_take_cascade(cursor))


def parse_create_catalog(cursor: Cursor) -> CreateCatalog:
    """Parses the text after CREATE CATALOG: `[IF NOT EXISTS] c [USING p] [COMMENT 'c'] [OPTIONS | WITH (…)]`."""
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
    """Parses the text after ALTER CATALOG: `c [SET] OPTIONS (…)`, or a change of its owner or tags."""
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
    """Parses the text after DROP CATALOG: `[IF EXISTS] c [CASCADE | RESTRICT]`."""
    if_exists = take_if_exists(cursor)
    catalog = read_catalog(cursor)
    return DropCatalog(catalog=catalog, if_exists=if_exists, cascade=_take_cascade(cursor))


def _take_cascade(cursor: Cursor) -> bool:
    return cursor.take_any("CASCADE", "RESTRICT") == "CASCADE"


LEADING_WORDS: Mapping[tuple[str, ...], Callable[[Cursor], Statement]] = MappingProxyType(
    {
        ("CREATE", "CATALOG"): parse_create_catalog,
        ("ALTER", "CATALOG"): parse_alter_catalog,
        ("DROP", "CATALOG"): parse_drop_catalog,
        **{("CREATE", word): parse_create_schema for word in SCHEMA_WORDS},
        **{("DROP", word): parse_drop_schema for word in SCHEMA_WORDS},
    }
)
