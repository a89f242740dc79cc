"""Names of a query that are no table's and no view's, but of a part of a table's metadata: `<table>.snapshots`.

A table or view of such a name comes first. Parts show values of rows (bounds, partitions), so nobody reads them whom a
policy hides rows or values from.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from catalog.conditions import (
    CatalogNotFound,
    InvalidTimeTravel,
    PolicyForbidsStatement,
    SchemaNotFound,
    TableNotFound,
    TimeTravelOnView,
    TooManyNameParts,
)
from engine.binding.bound import BoundMetadata, BoundTable, NamedRelation
from engine.sql.query.values import AsOfReference, TimeTravel

_REFERENCE = re.compile("(?:branch|tag)_(.+)", re.IGNORECASE | re.DOTALL)
_NOT_FOUND = (CatalogNotFound, SchemaNotFound, TableNotFound, TooManyNameParts)


def relation_or_part(
    parts: tuple[str, ...], look: Callable[[tuple[str, ...]], NamedRelation]
) -> NamedRelation | BoundMetadata:
    """What a name means; `look` finds tables and views, and what it raises is raised where the name means nothing."""
    try:
        return look(parts)
    except _NOT_FOUND:
        found = _part(parts, look) if len(parts) > 1 else None
        if found is None:
            raise
        return found


def branch_or_tag(
    parts: tuple[str, ...], look: Callable[[tuple[str, ...], TimeTravel | None], NamedRelation]
) -> NamedRelation:
    """What a name means; `t.branch_x` and `t.tag_x` are the snapshots of `t` of that name, unless a table has the name.

    `look` finds tables and views; what it raises is raised where the name means nothing.
    """
    try:
        return look(parts, None)
    except _NOT_FOUND:
        named = _REFERENCE.fullmatch(parts[-1])
        if named is None or len(parts) == 1:
            raise
        try:
            return look(parts[:-1], AsOfReference(named[1]))
        except (*_NOT_FOUND, TimeTravelOnView, InvalidTimeTravel):
            pass
        raise


def _part(parts: tuple[str, ...], look: Callable[[tuple[str, ...]], NamedRelation]) -> BoundMetadata | None:
    try:
        table = look(parts[:-1])
    except _NOT_FOUND:
        return None
    content = table.snapshot.metadata_table(parts[-1]) if isinstance(table, BoundTable) else None
    if content is None or not isinstance(table, BoundTable):
        return None
    if table.policy is not None:
        raise PolicyForbidsStatement(f"Reading {parts[-1]}", table.label)
    return BoundMetadata(table=table, part=parts[-1], content=content)
