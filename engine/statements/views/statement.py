"""CREATE VIEW, ALTER VIEW and DROP VIEW as values before name binding."""

from __future__ import annotations

from dataclasses import dataclass

from catalog.entries import SchemaMode
from engine.runtime.dataframe import DataFramePlan
from engine.runtime.statement import Statement
from engine.sql.query.dataframes import dataframe_query
from engine.sql.query.values import FilesAt, Properties, Query
from engine.statements.alter_table.statement import RenameTable, SetProperties, UnsetProperties


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewColumn:
    """A view's name for a column in its query."""

    name: str
    comment: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateView(Statement):
    """`CREATE [OR REPLACE] [[GLOBAL] TEMPORARY] VIEW [IF NOT EXISTS] v [(columns)] … AS query`

    `files`: it is `CREATE TEMPORARY VIEW v [(columns with types)] USING format OPTIONS (path …)`, and the query reads
    these. `temporary`: it is not in a catalog; `shared`: it is global, so not the session's own. `frame`: it is
    temporary, and `query` reads this DataFrame. `alters`: it is `ALTER VIEW v AS query`, which requires an existing
    view and keeps its comment and properties.
    """

    view_parts: tuple[str, ...]
    query: Query
    or_replace: bool = False
    if_not_exists: bool = False
    temporary: bool = False
    files: FilesAt | None = None
    frame: DataFramePlan | None = None
    shared: bool = False
    alters: bool = False
    columns: tuple[ViewColumn, ...] = ()
    comment: str | None = None
    properties: Properties = ()
    schema_mode: SchemaMode | None = None


def create_dataframe_view(
    view_parts: tuple[str, ...], frame: DataFramePlan, *, or_replace: bool, shared: bool = False
) -> CreateView:
    """Returns the statement that creates a temporary view over a DataFrame; `shared`: a global one."""
    query = dataframe_query(frame)
    return CreateView(
        view_parts=view_parts, query=query, frame=frame, or_replace=or_replace, temporary=True, shared=shared
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterView(Statement):
    """`ALTER VIEW v` with any change except its query; a mode is `WITH SCHEMA …`."""

    view_parts: tuple[str, ...]
    change: RenameTable | SetProperties | UnsetProperties | SchemaMode


@dataclass(frozen=True, slots=True, kw_only=True)
class DropView(Statement):
    view_parts: tuple[str, ...]
    if_exists: bool = False
