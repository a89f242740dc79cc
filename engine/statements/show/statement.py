"""The SHOW statements, as values before name binding.

Pure values. `engine/sql` creates them from text; a front end may create `List…` statements for its metadata calls,
which then pass the same pipeline (bind, authorize, …) as any other statement. `match` over :data:`Statement` ends in
`assert_never`. Offsets refer to `text`, in characters, with an exclusive end.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.runtime.statement import Statement


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowCatalogs(Statement):
    pattern: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowSchemas(Statement):
    """`SHOW SCHEMAS|DATABASES [IN catalog] [LIKE 'pattern']`."""

    catalog: str | None = None
    pattern: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowTables(Statement):
    """`SHOW TABLES [IN schema] [LIKE 'pattern']`; `schema_parts` is empty for the current schema."""

    schema_parts: tuple[str, ...] = ()
    pattern: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowTableExtended(Statement):
    """`SHOW TABLE EXTENDED [IN schema] LIKE 'pattern'`."""

    pattern: str
    schema_parts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowViews(Statement):
    schema_parts: tuple[str, ...] = ()
    pattern: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowColumns(Statement):
    table_parts: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowFunctions(Statement):
    """`SHOW [SYSTEM|USER|ALL] FUNCTIONS [IN schema] [LIKE 'pattern']`: `builtin` are Spark's, `user` the others."""

    schema_parts: tuple[str, ...] = ()
    pattern: str | None = None
    builtin: bool = True
    user: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowCurrentNamespace(Statement):
    """`SHOW CURRENT NAMESPACE`: the session's catalog and schema."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowTblProperties(Statement):
    """`SHOW TBLPROPERTIES t [('key')]`."""

    table_parts: tuple[str, ...]
    key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowPartitions(Statement):
    """`SHOW PARTITIONS t [PARTITION (column = 'value', …)]`: `spec` has the columns and their values as text."""

    table_parts: tuple[str, ...]
    spec: tuple[tuple[str, str | None], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowCreateTable(Statement):
    table_parts: tuple[str, ...]
