"""The objects that an authorized statement reads, writes and creates. Pure, over bound values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import assert_never

from catalog.entries import ServerEntry, TableEntry
from catalog.grants.rights import kind_of
from engine.binding.bound import (
    AuthorizedStatement,
    BoundChanges,
    BoundFiles,
    BoundFunction,
    BoundInBody,
    BoundMetadata,
    BoundRelation,
    BoundStatement,
    BoundTable,
    BoundView,
    FreeName,
    TakenName,
    Target,
)
from engine.runtime.accesses import Access, StatementAccess, Use

_TABLE, _VIEW, _FILES, _FUNCTION = "TABLE", "VIEW", "FILES", "FUNCTION"


def access_of(authorized: AuthorizedStatement, own_use: Use) -> StatementAccess:
    """Returns the objects in statement order; objects that views read come after the views.

    `own_use` is how the statement uses its main object.
    """
    bound = authorized.bound
    use = Use.DESCRIBE if own_use is Use.DESCRIBE else Use.READ
    found = [
        *_target(bound.target),
        *_securable(bound, own_use),
        *_relations(bound.relations, use, None),
        *_functions(bound.functions, None),
    ]
    return StatementAccess(statement=type(bound.statement).__name__, objects=tuple(dict.fromkeys(found)))


def _target(target: Target | None) -> Iterator[Access]:
    match target:
        case BoundTable():
            yield _table(target, Use.WRITE, None)
        case FreeName(name=name, location=location, is_path=is_path):
            yield Access(name=f"delta.`{location}`" if is_path else str(name), kind=_TABLE, use=Use.CREATE)
        case TakenName(entry=entry):
            kind = _TABLE if isinstance(entry, TableEntry) else _VIEW
            yield Access(name=str(entry.name), kind=kind, use=Use.WRITE)
        case None:
            return
        case _:
            assert_never(target)


def _securable(bound: BoundStatement, use: Use) -> Iterator[Access]:
    """Yields the object whose privileges or owner the statement concerns."""
    entry = bound.securable
    if entry is None:
        return
    name = "" if isinstance(entry, ServerEntry) else str(entry.name)
    yield Access(name=name, kind=kind_of(entry).value, use=use)


def _functions(functions: Iterable[BoundFunction], via_view: str | None) -> Iterator[Access]:
    for function in functions:
        yield Access(name=str(function.entry.name), kind=_FUNCTION, use=Use.EXECUTE, via_view=via_view)
        yield from _functions(function.functions, via_view)


def _relations(relations: Iterable[BoundRelation], use: Use, via_view: str | None) -> Iterator[Access]:
    for relation in relations:
        match relation:
            case BoundTable(policy=policy):
                yield _table(relation, use, via_view)
                yield from () if policy is None else _relations(policy.relations, use, relation.label)
            case BoundInBody(called=called, relation=named):
                yield from _relations((named,), use, via_view or str(called.name))
            case BoundChanges(table=table) | BoundMetadata(table=table):
                yield _table(table, use, via_view)
            case BoundFiles(root=root, path=path):
                yield Access(name=path or root, kind=_FILES, use=use, via_view=via_view)
            case BoundView(is_unnamed=True, relations=inner, functions=functions):
                yield from _relations(inner, use, via_view)
                yield from _functions(functions, via_view)
            case BoundView(relations=inner, functions=functions):
                yield Access(name=relation.label, kind=_VIEW, use=use, via_view=via_view)
                yield from _relations(inner, use, relation.label)
                yield from _functions(functions, relation.label)
            case _:
                assert_never(relation)


def _table(table: BoundTable, use: Use, via_view: str | None) -> Access:
    return Access(name=table.visible_label, kind=_TABLE, use=use, version=table.snapshot.version, via_view=via_view)
