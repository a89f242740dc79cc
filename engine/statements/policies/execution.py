"""SHOW POLICIES and DESCRIBE POLICY, for principals with MANAGE on the object."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import assert_never

from catalog.conditions import PolicyNotFound, PolicyOnKind
from catalog.entries import CatalogEntry, SchemaEntry, TableEntry
from catalog.grants.privileges import Principal
from catalog.grants.rights import kind_of, label_of
from catalog.policies.effective_policies import Level, levels_of
from catalog.policies.policies import NamedPolicy
from catalog.policies.tags import AllOf, format_condition
from engine.binding.bound import BoundStatement, Outcome
from engine.runtime.results import string_rows
from engine.statements.grants.execution import key_of
from engine.statements.policies.statement import DescribePolicy, PolicyListing, ShowPolicies


def answer_policies(bound: BoundStatement, statement: PolicyListing) -> Outcome:
    """Returns one statement's rows. Raises `PolicyNotFound`, `PolicyOnKind`."""
    level = _level(bound)
    match statement:
        case ShowPolicies(effective=effective):
            levels = _levels(bound, level) if effective else (level,)
            rows = [
                (policy.name, policy.kind.value, kind_of(each).value, key_of(each), policy.comment)
                for each in levels
                for policy in each.named_policies
            ]
            return Outcome(result=string_rows(("name", "type", "on_type", "on_name", "comment"), rows))
        case DescribePolicy(name=name):
            found = next((each for each in level.named_policies if each.key == name.casefold()), None)
            if found is None:
                raise PolicyNotFound(name, label_of(level))
            return Outcome(result=string_rows(("info_name", "info_value"), _describe_policy(level, found)))
        case _:
            assert_never(statement)


def _level(bound: BoundStatement) -> Level:
    found = bound.securable
    if not isinstance(found, CatalogEntry | SchemaEntry | TableEntry):
        raise PolicyOnKind("none" if found is None else kind_of(found).value.lower())
    return found


def _levels(bound: BoundStatement, level: Level) -> Sequence[Level]:
    state = bound.view.state
    match level:
        case TableEntry():
            return levels_of(state, level)
        case SchemaEntry(name=name):
            catalog = state.catalogs.get(name.catalog_name)
            return (level,) if catalog is None else (catalog, level)
        case CatalogEntry():
            return (level,)
        case _:
            assert_never(level)


def _describe_policy(level: Level, policy: NamedPolicy) -> list[tuple[str, str | None]]:
    matches = [
        format_condition(each.condition) + (f" AS {each.alias}" if each.alias else "") for each in policy.matches
    ]
    return [
        ("Name", policy.name),
        ("Type", policy.kind.value),
        ("On", label_of(level)),
        ("Function", ".".join(policy.function.parts)),
        ("To", _list_principals(policy.to)),
        ("Except", _list_principals(policy.but)),
        ("When", None if policy.when == AllOf() else format_condition(policy.when)),
        ("Match columns", ", ".join(matches) or None),
        ("On column", policy.on_column),
        ("Using columns", ", ".join(each.column or f"{each.literal}" for each in policy.arguments) or None),
        ("Comment", policy.comment),
    ]


def _list_principals(principals: Iterable[Principal]) -> str | None:
    return ", ".join(each.name for each in principals) or None
