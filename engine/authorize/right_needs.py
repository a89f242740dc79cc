"""What statements about privileges take: to manage the object, or to administer the server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from catalog.conditions import AdminNeed, AnyNeed, Need, OwnerNeed
from catalog.entries import FunctionEntry, ServerEntry, ViewEntry
from catalog.names import TableName
from catalog.privileges import Privilege
from catalog.right_changes import principal_of
from engine.bind.bound import BoundStatement
from engine.statements.grants.statement import (
    AlterGroup,
    AlterOwner,
    CreateGroup,
    CreateLocation,
    DropGroup,
    DropLocation,
    GrantRights,
    RevokeRights,
    RightStatement,
)
from engine.statements.policies.statement import AlterTags, CreatePolicy, DropPolicy


def right_needs(bound: BoundStatement, statement: RightStatement) -> Iterator[AnyNeed]:
    match statement:
        case GrantRights() | RevokeRights() | DropLocation():
            yield from _managed(bound)
        case AlterOwner(owner=owner):
            yield from _managed(bound)
            if isinstance(bound.securable, ViewEntry | FunctionEntry):
                yield OwnerNeed(principal_of(bound.view.state, owner.name, owner.kind))
        case CreateGroup() | AlterGroup() | DropGroup():
            yield AdminNeed()
        case AlterTags():
            assert bound.securable is not None
            yield Need(Privilege.APPLY_TAG, bound.securable)
        case CreatePolicy(function_parts=parts):
            yield from _managed(bound)
            function = bound.view.find_function(TableName.from_parts(parts, bound.state.current))
            if function is not None:
                yield Need(Privilege.EXECUTE, function)
        case DropPolicy():
            yield from _managed(bound)
        case CreateLocation():
            yield Need(Privilege.CREATE_EXTERNAL_LOCATION, bound.view.state.server)
        case _:
            assert_never(statement)


def _managed(bound: BoundStatement) -> Iterator[AnyNeed]:
    if isinstance(bound.securable, ServerEntry):
        yield AdminNeed()
    elif bound.securable is not None:
        yield Need(Privilege.MANAGE, bound.securable)
