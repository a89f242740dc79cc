"""The objects and columns that a statement accesses, reported to observers: before it runs, the objects
(`StatementRequest.on_authorized`); after it ran, the column lineage (`StatementRequest.on_lineage`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum


class Use(StrEnum):
    """How a statement uses an object."""

    READ = "read"
    WRITE = "write"
    CREATE = "create"
    DESCRIBE = "describe"
    # Changes its privileges or its owner.
    GRANT = "grant"
    EXECUTE = "execute"


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """One accessed object. `version` is the table's version that is pinned for the statement; `via_view` names the view
    through which it is reached, with the rights of the view's owner.
    """

    name: str
    kind: str
    use: Use
    version: int | None = None
    via_view: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementAccess:
    """A statement that its principal is allowed to run: its kind, for example `Insert`, and each object once."""

    statement: str
    objects: tuple[Access, ...]


@dataclass(frozen=True, slots=True)
class Commit:
    """A table version that a statement committed."""

    relation: str
    version: int


class Transformation(StrEnum):
    """How the values of a column are used by another column, in OpenLineage's terms."""

    IDENTITY = "IDENTITY"
    TRANSFORMATION = "TRANSFORMATION"
    AGGREGATION = "AGGREGATION"


@dataclass(frozen=True, slots=True)
class ColumnSource:
    """A column that was read. `relation` is the table name as in `Access`."""

    relation: str
    column: str
    transformation: Transformation = Transformation.IDENTITY


@dataclass(frozen=True, slots=True)
class ColumnLineage:
    """The source columns of `column`; `target` is the table, None for a result."""

    target: str | None
    column: str
    sources: tuple[ColumnSource, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineage:
    """The lineage of one query. `others` were read too: they decide which rows are in the result."""

    columns: tuple[ColumnLineage, ...] = ()
    others: tuple[ColumnSource, ...] = ()
    # The name under which later queries of the statement read the rows, if they are stored for these queries alone.
    materialized_as: str | None = None


def resolve_lineage(lineages: Iterable[Lineage]) -> tuple[list[ColumnLineage], list[ColumnSource]]:
    """Returns the columns of tables and results that a statement's queries produced, each once with all its sources,
    and the other columns that were read. Rows that were stored between two queries are replaced by their own sources.
    """
    origins: dict[tuple[str, str], tuple[ColumnSource, ...]] = {}
    sources: dict[tuple[str | None, str], dict[ColumnSource, None]] = {}
    others: dict[ColumnSource, None] = {}

    def own(found: Iterable[ColumnSource]) -> Iterator[ColumnSource]:
        for source in found:
            for first in origins.get((source.relation, source.column), (source,)):
                yield replace(first, transformation=max(first.transformation, source.transformation, key=_ORDER.index))

    for each in lineages:
        others.update(dict.fromkeys(own(each.others)))
        for column in each.columns:
            if each.materialized_as is not None:
                origins[each.materialized_as, column.column] = tuple(own(column.sources))
            else:
                sources.setdefault((column.target, column.column), {}).update(dict.fromkeys(own(column.sources)))
    columns = [ColumnLineage(target, name, tuple(found)) for (target, name), found in sources.items()]
    return columns, list(others)


_ORDER = tuple(Transformation)
