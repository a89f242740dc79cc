"""Conversion between tags, tag-based policies, and JSON. Pure.

"tags": {"own": {"pii": ""}, "columns": {"email": {"kind": "contact"}}},
"named_policies": [{"name": "hide", "kind": "COLUMN MASK", "function": ["c", "s", "f"], "to": [{"group": "staff"}],
  "but": [], "when": ["all"], "matches": [{"condition": ["tag", "kind", "contact"], "alias": "a"}],
  "on_column": "a", "arguments": [{"literal": "'*'"}], "comment": null}]
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict, assert_never

from catalog.entries import CatalogEntry, SchemaEntry, TableEntry, ViewEntry
from catalog.grants.privileges import Principal, PrincipalKind
from catalog.names import TableName
from catalog.policies.policies import ColumnMatch, NamedPolicy, PolicyArgument, PolicyKind
from catalog.policies.tags import AllOf, AnyOf, HasTag, NoneOf, TagCondition, TagPairs, Tags

TAG_KEYS = ("tags", "named_policies")


class TagFields(TypedDict):
    tags: Tags
    named_policies: tuple[NamedPolicy, ...]


def tags_json(entry: CatalogEntry | SchemaEntry | TableEntry | ViewEntry) -> dict[str, object]:
    """Returns the fields for tags and policies; empty if there are none."""
    found: dict[str, object] = {}
    if entry.tags:
        columns = {column: dict(tags) for column, tags in entry.tags.columns}
        found["tags"] = {"own": dict(entry.tags.own), "columns": columns}
    if not isinstance(entry, ViewEntry) and entry.named_policies:
        found["named_policies"] = [_policy_json(policy) for policy in entry.named_policies]
    return found


def tags_from_json(found: Mapping[str, Any]) -> TagFields:
    """Parses tags and policies strictly: raises `KeyError`, `TypeError` and `ValueError` for unrecognized content."""
    tags = dict(found.get("tags") or {"own": {}, "columns": {}})
    own = _pairs(tags.pop("own"))
    columns = tags.pop("columns")
    _ensure_nothing(tags)
    return {
        "tags": Tags(own, tuple((_text(column), _pairs(each)) for column, each in columns.items())),
        "named_policies": tuple(_policy(dict(each)) for each in found.get("named_policies") or ()),
    }


def _policy_json(policy: NamedPolicy) -> dict[str, object]:
    return {
        "name": policy.name,
        "kind": policy.kind.value,
        "function": list(policy.function.parts),
        "to": [{each.kind.value: each.name} for each in policy.to],
        "but": [{each.kind.value: each.name} for each in policy.but],
        "when": _condition_json(policy.when),
        "matches": [{"condition": _condition_json(each.condition), "alias": each.alias} for each in policy.matches],
        "on_column": policy.on_column,
        "arguments": [
            {"literal": each.literal} if each.column is None else {"column": each.column} for each in policy.arguments
        ],
        "comment": policy.comment,
    }


def _policy(value: dict[str, Any]) -> NamedPolicy:
    policy = NamedPolicy(
        name=_text(value.pop("name")),
        kind=PolicyKind(value.pop("kind")),
        function=TableName(*map(_text, value.pop("function"))),
        to=tuple(_principal(each) for each in value.pop("to")),
        but=tuple(_principal(each) for each in value.pop("but")),
        when=_condition(value.pop("when")),
        matches=tuple(_match(dict(each)) for each in value.pop("matches")),
        on_column=_optional_text(value.pop("on_column")),
        arguments=tuple(_argument(dict(each)) for each in value.pop("arguments")),
        comment=_optional_text(value.pop("comment")),
    )
    _ensure_nothing(value)
    return policy


def _condition_json(condition: TagCondition) -> list[object]:
    match condition:
        case HasTag(key, None):
            return ["tag", key]
        case HasTag(key, value):
            return ["tag", key, value]
        case AllOf(conditions):
            return ["all", *map(_condition_json, conditions)]
        case AnyOf(conditions):
            return ["any", *map(_condition_json, conditions)]
        case NoneOf(inner):
            return ["not", _condition_json(inner)]
        case _:
            assert_never(condition)


def _condition(value: Any) -> TagCondition:
    match value:
        case ["tag", str() as key]:
            return HasTag(key)
        case ["tag", str() as key, str() as text]:
            return HasTag(key, text)
        case ["all", *conditions]:
            return AllOf(tuple(map(_condition, conditions)))
        case ["any", *conditions]:
            return AnyOf(tuple(map(_condition, conditions)))
        case ["not", inner]:
            return NoneOf(_condition(inner))
        case _:  # the JSON comes from a file
            raise ValueError(f"{value!r} is no condition over tags")


def _match(value: dict[str, Any]) -> ColumnMatch:
    match = ColumnMatch(_condition(value.pop("condition")), _optional_text(value.pop("alias")))
    _ensure_nothing(value)
    return match


def _argument(value: dict[str, Any]) -> PolicyArgument:
    made = PolicyArgument(_optional_text(value.pop("column", None)), _optional_text(value.pop("literal", None)))
    _ensure_nothing(value)
    if (made.column is None) == (made.literal is None):
        raise ValueError("an argument is neither a column nor a literal")
    return made


def _principal(value: Mapping[str, Any]) -> Principal:
    ((kind, name),) = value.items()
    return Principal(PrincipalKind(kind), _text(name))


def _pairs(value: Mapping[str, Any]) -> TagPairs:
    return tuple((_text(key), _text(text)) for key, text in value.items())


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def _optional_text(value: Any) -> str | None:
    return None if value is None else _text(value)


def _ensure_nothing(left: Mapping[str, Any]) -> None:
    """Rejects unrecognized fields, because ignoring them might reveal protected data."""
    if left:
        raise ValueError(f"{next(iter(left))!r} is not known")
