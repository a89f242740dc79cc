"""The statements that change something: INSERT, DDL, comments. Values before names are bound.

Types, expressions and defaults are text in Spark's spelling, as the user wrote them; names are without quotes. Those
that have no plan yet are refused by name (`engine/plan/planner.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from engine.statements.alters import RenameTable, SetProperties, UnsetProperties
from engine.statements.queries import FilesAt, Query
from engine.statements.tables import Properties


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateSchema:
    schema_parts: tuple[str, ...]
    if_not_exists: bool = False
    comment: str | None = None
    location: str | None = None
    properties: Properties = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DropSchema:
    schema_parts: tuple[str, ...]
    if_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateCatalog:
    """`CREATE CATALOG [IF NOT EXISTS] c [USING provider] [COMMENT 'c'] [OPTIONS (…)]`"""

    catalog: str
    if_not_exists: bool = False
    comment: str | None = None
    provider: str | None = None
    options: Properties = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterCatalog:
    """`ALTER CATALOG c [SET] OPTIONS (…)`: others stay."""

    catalog: str
    options: Properties


@dataclass(frozen=True, slots=True, kw_only=True)
class DropCatalog:
    catalog: str
    if_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewColumn:
    """A name that a view gives to a column of its query."""

    name: str
    comment: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateView:
    """`CREATE [OR REPLACE] [[GLOBAL] TEMPORARY] VIEW [IF NOT EXISTS] v [(columns)] … AS query`

    `files`: it is `CREATE TEMPORARY VIEW v USING format OPTIONS (path …)`, and the query reads these. `temporary`: it
    is in no catalog; `shared`: it is global, so not the session's own. `alters`: it is `ALTER VIEW v AS query`, which
    needs a view of that name and keeps its comment and properties.
    """

    view_parts: tuple[str, ...]
    query: Query
    or_replace: bool = False
    if_not_exists: bool = False
    temporary: bool = False
    files: FilesAt | None = None
    shared: bool = False
    alters: bool = False
    columns: tuple[ViewColumn, ...] = ()
    comment: str | None = None
    properties: Properties = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterView:
    """`ALTER VIEW v` with any change but its query; None is `WITH SCHEMA TYPE EVOLUTION`, which all views have."""

    view_parts: tuple[str, ...]
    change: RenameTable | SetProperties | UnsetProperties | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DropView:
    view_parts: tuple[str, ...]
    if_exists: bool = False


class Commentable(StrEnum):
    CATALOG = "CATALOG"
    SCHEMA = "SCHEMA"
    TABLE = "TABLE"
    COLUMN = "COLUMN"
    VOLUME = "VOLUME"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommentOn:
    """`COMMENT ON kind name IS 'comment'|NULL`; for a column the last of `parts` is its name."""

    kind: Commentable
    parts: tuple[str, ...]
    comment: str | None
