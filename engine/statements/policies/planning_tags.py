"""Plans tags and tag-based policies: each is one catalog change."""

from __future__ import annotations

from typing import assert_never

from catalog.conditions import FunctionNotFound, PolicyNotFound, PolicyNotPossible
from catalog.entries import FunctionEntry, ServerEntry, TableEntry, ViewEntry
from catalog.grants.right_changes import Securable
from catalog.grants.rights import kind_of
from catalog.names import TableName, fold
from catalog.policies.policies import NamedPolicy, PolicyKind
from catalog.policies.tag_changes import CreatePolicy as CreatePolicyChange
from catalog.policies.tag_changes import DropPolicy as DropPolicyChange
from catalog.policies.tag_changes import SetTags
from engine.binding.bound import BoundStatement, BoundTable
from engine.binding.policies import NOT_DETERMINISTIC
from engine.errors.table_errors import column_not_found
from engine.planning.plans.ddl import CatalogPlan
from engine.sql.query.bodies import is_deterministic
from engine.statements.grants.planning import named_principal
from engine.statements.policies.statement import AlterTags, CreatePolicy, DropPolicy, TagStatement
from engine.types.sql_types import is_same_sql_type


def plan_tags(bound: BoundStatement, statement: TagStatement) -> CatalogPlan:
    """Plans a statement. Raises `ColumnNotFound`, `FunctionNotFound`, `PolicyNotPossible`.

    An error that concerns a single table makes that table unreadable (`catalog.policies.effective_policies`).
    """
    entry = bound.securable
    assert entry is not None
    on = Securable(kind_of(entry), None if isinstance(entry, ServerEntry) else entry.name)
    match statement:
        case AlterTags(new=new, gone=gone):
            change = SetTags(on, _column(bound, statement), new, gone)
            return CatalogPlan(change=change, condition=bound.condition)
        case CreatePolicy():
            created = CreatePolicyChange(on, _policy(bound, statement), statement.or_replace)
            return CatalogPlan(change=created, condition=bound.condition)
        case DropPolicy(name=name):
            tolerated = (PolicyNotFound,) if statement.if_exists else ()
            return CatalogPlan(change=DropPolicyChange(on, name), tolerated=tolerated, condition=bound.condition)
        case _:
            assert_never(statement)


def _column(bound: BoundStatement, statement: AlterTags) -> str | None:
    """Returns a column as spelled in the table or view. Tags on a dropped column can be removed."""
    if statement.column is None:
        return None
    entry: TableEntry | ViewEntry
    if isinstance(bound.target, BoundTable):
        entry, names = bound.target.entry, tuple(bound.target.snapshot.schema.names)
    else:
        assert isinstance(bound.securable, ViewEntry)
        entry, names = bound.securable, tuple(column.name for column in bound.securable.columns)
    found = next((name for name in names if fold(name) == fold(statement.column or "")), None)
    if found is None and (statement.new or not entry.tags.of_column(statement.column)):
        raise column_not_found(statement.column, names)
    return found or statement.column


def _policy(bound: BoundStatement, statement: CreatePolicy) -> NamedPolicy:
    name = TableName.from_parts(statement.function_parts, bound.state.current)
    function = bound.view.find_function(name)
    if function is None:
        raise FunctionNotFound(str(name))
    reason = _unsuitable_reason(function, statement)
    if reason is not None:
        raise PolicyNotPossible(str(name), statement.name, reason)
    return NamedPolicy(
        name=statement.name,
        kind=statement.kind,
        function=name,
        to=tuple(named_principal(bound, each) for each in statement.to),
        but=tuple(named_principal(bound, each) for each in statement.but),
        when=statement.when,
        matches=statement.matches,
        on_column=statement.on_column,
        arguments=statement.arguments,
        comment=statement.comment,
    )


def _unsuitable_reason(function: FunctionEntry, statement: CreatePolicy) -> str | None:
    given = len(statement.arguments) + (statement.kind is PolicyKind.COLUMN_MASK)
    if given != len(function.parameters):
        return f"it takes {len(function.parameters)} arguments, and {given} are given"
    if statement.kind is PolicyKind.ROW_FILTER and not is_same_sql_type(function.returns, "boolean"):
        return f"it gives {function.returns}, and boolean is needed"
    return None if is_deterministic(function.body) else NOT_DETERMINISTIC
