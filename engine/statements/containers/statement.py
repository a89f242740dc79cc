"""CREATE, ALTER and DROP for catalogs and schemas, as values before name binding."""

from __future__ import annotations

from dataclasses import dataclass

from engine.runtime.statement import Statement
from engine.sql.query.values import Properties


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateSchema(Statement):
    schema_parts: tuple[str, ...]
    if_not_exists: bool = False
    comment: str | None = None
    location: str | None = None
    properties: Properties = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DropSchema(Statement):
    schema_parts: tuple[str, ...]
    if_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateCatalog(Statement):
    """`CREATE CATALOG [IF NOT EXISTS] c [USING provider] [COMMENT 'c'] [OPTIONS (…)]`"""

    catalog: str
    if_not_exists: bool = False
    comment: str | None = None
    provider: str | None = None
    options: Properties = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterCatalog(Statement):
    """`ALTER CATALOG c [SET] OPTIONS (…)`: other options are kept."""

    catalog: str
    options: Properties


@dataclass(frozen=True, slots=True, kw_only=True)
class DropCatalog(Statement):
    catalog: str
    if_exists: bool = False
    cascade: bool = False
