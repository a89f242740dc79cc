"""Names that refer to a metadata table: `<table>.snapshots`.

A table or view with the same name has precedence. Metadata tables contain row values (bounds, partitions), so a
principal cannot read them if a policy hides rows or values from it.
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
    """Resolves a name; `look` finds tables and views, and its error is raised if the name does not resolve."""
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
    """Resolves a name; `t.branch_x` and `t.tag_x` are snapshots of `t` with these references, unless a table has the
    name.

    `look` finds tables and views; its error is raised if the name does not resolve.
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
