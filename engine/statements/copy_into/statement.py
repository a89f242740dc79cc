"""Statements that load existing files into tables."""

from __future__ import annotations

from dataclasses import dataclass

from engine.runtime.statement import Statement
from engine.sql.query.values import Query
from engine.statements.insert.statement import Insert
from engine.tables.scan import FileFormat


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """`VALIDATE [ALL | n ROWS]`: nothing is written."""

    rows: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyInto(Statement):
    """`COPY INTO t [BY POSITION | (columns)] FROM 'path' | (SELECT … FROM 'path') FILEFORMAT = kind …`

    `source` reads one relation, the files at `path`; with `is_whole` it selects all their columns. `files` are names
    below the path, `pattern` is a glob for names. `recursive` includes all folders below.
    """

    table_parts: tuple[str, ...]
    source: Query
    is_whole: bool
    path: str
    format: FileFormat
    columns: tuple[str, ...] = ()
    by_position: bool = False
    files: tuple[str, ...] = ()
    pattern: str | None = None
    recursive: bool = False
    merges_schema: bool = False
    force: bool = False
    validation: Validation | None = None

    @property
    def insert(self) -> Insert:
        """Returns the equivalent INSERT for the rows."""
        return Insert(
            table_parts=self.table_parts,
            source=self.source,
            columns=self.columns,
            by_name=not self.columns and not self.by_position,
            schema_evolution=self.merges_schema,
        )
