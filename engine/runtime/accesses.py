"""What a statement touches, as told to who watches statements: before it runs which objects
(`StatementRequest.on_authorized`), and when it has run which columns (`StatementRequest.on_lineage`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum


class Use(StrEnum):
    """What happens to an object."""

    READ = "read"
    WRITE = "write"
    CREATE = "create"
    DESCRIBE = "describe"
    GRANT = "grant"
    """Its privileges or its owner change."""
    EXECUTE = "execute"


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """One object. `version` is that of a table which is pinned for the statement; `via_view` names the view through
    which it is reached, with the rights of the view's owner.
    """

    name: str
    kind: str
    use: Use
    version: int | None = None
    via_view: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementAccess:
    """A statement that its principal may run: its kind, such as `Insert`, and each object once."""

    statement: str
    objects: tuple[Access, ...]


@dataclass(frozen=True, slots=True)
class Commit:
    """A version of a table that a statement made."""

    relation: str
    version: int


class Transformation(StrEnum):
    """What becomes of the values of a column on the way to another one, as OpenLineage calls it."""

    IDENTITY = "IDENTITY"
    TRANSFORMATION = "TRANSFORMATION"
    AGGREGATION = "AGGREGATION"


@dataclass(frozen=True, slots=True)
class ColumnSource:
    """A column of a table that was read. `relation` is the name of the table as in `Access`."""

    relation: str
    column: str
    transformation: Transformation = Transformation.IDENTITY


@dataclass(frozen=True, slots=True)
class ColumnLineage:
    """The columns whose values those of `column` are made of; `target` is the table, None for a result."""

    target: str | None
    column: str
    sources: tuple[ColumnSource, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineage:
    """Of one query. `others` were read besides: they decide which rows there are."""

    columns: tuple[ColumnLineage, ...] = ()
    others: tuple[ColumnSource, ...] = ()
    kept: str | None = None
    """The name under which later queries of the statement read the rows, where these are kept for them alone."""


def resolved(told: Iterable[Lineage]) -> tuple[list[ColumnLineage], list[ColumnSource]]:
    """The columns of tables and results that the queries of a statement made, each once, with all their sources, and
    what else was read; rows that were kept on the way are replaced by what they were made of.
    """
    kept: dict[tuple[str, str], tuple[ColumnSource, ...]] = {}
    sources: dict[tuple[str | None, str], dict[ColumnSource, None]] = {}
    others: dict[ColumnSource, None] = {}

    def own(found: Iterable[ColumnSource]) -> Iterator[ColumnSource]:
        for source in found:
            for first in kept.get((source.relation, source.column), (source,)):
                yield replace(first, transformation=max(first.transformation, source.transformation, key=_ORDER.index))

    for each in told:
        others.update(dict.fromkeys(own(each.others)))
        for column in each.columns:
            if each.kept is not None:
                kept[each.kept, column.column] = tuple(own(column.sources))
            else:
                sources.setdefault((column.target, column.column), {}).update(dict.fromkeys(own(column.sources)))
    columns = [ColumnLineage(target, name, tuple(found)) for (target, name), found in sources.items()]
    return columns, list(others)


_ORDER = tuple(Transformation)
