"""DESCRIBE for tables, schemas, catalogs, histories, details and queries, as values before name binding."""

from __future__ import annotations

from dataclasses import dataclass

from engine.runtime.statement import Statement
from engine.sql.query.values import Query


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeTable(Statement):
    """`DESCRIBE [TABLE] [EXTENDED|FORMATTED] t [column] [AS JSON]`; metadata calls may request an older `version`."""

    table_parts: tuple[str, ...]
    extended: bool = False
    column_parts: tuple[str, ...] = ()
    as_json: bool = False
    version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeSchema(Statement):
    schema_parts: tuple[str, ...]
    extended: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeCatalog(Statement):
    """`DESCRIBE CATALOG [EXTENDED] c`"""

    catalog: str
    extended: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeHistory(Statement):
    """`DESCRIBE HISTORY t|'/path' [LIMIT n]`; a path is `("delta", path)`."""

    table_parts: tuple[str, ...]
    limit: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeDetail(Statement):
    """`DESCRIBE DETAIL t|'/path'`; a path is `("delta", path)`."""

    table_parts: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeQuery(Statement):
    """`DESCRIBE [QUERY] SELECT …`: returns the result's columns, without running the query.

    `as_json`, which no text has: one row with the schema in Spark's JSON, for protocols that have nullability.
    """

    inner: Query
    as_json: bool = False
