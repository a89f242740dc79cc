"""Tags on catalogs, schemas, tables, views and columns, and conditions over them. Pure.

A tag is a key with a value, which may be empty; both are case-sensitive. A schema inherits its catalog's tags, and a
table its schema's, unless it has the key itself. Columns and views have only their own tags.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import assert_never

from catalog.names import fold

TagPairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Tags:
    """One object's tags, and the column tags for a table or view, as pairs with a column and its tags."""

    own: TagPairs = ()
    columns: tuple[tuple[str, TagPairs], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.own or self.columns)

    def of_column(self, column: str) -> TagPairs:
        """Returns a column's tags; an empty tuple if it has none. The name is case-insensitive."""
        return next((tags for name, tags in self.columns if fold(name) == fold(column)), ())

    def with_changes(self, column: str | None, new: TagPairs, gone: tuple[str, ...]) -> Tags:
        """Returns the tags with the `new` ones and without the keys in `gone`, for a column or for the object
        (None).
        """
        if column is None:
            return Tags(_change_pairs(self.own, new, gone), self.columns)
        tags = _change_pairs(self.of_column(column), new, gone)
        others = tuple(each for each in self.columns if fold(each[0]) != fold(column))
        return Tags(self.own, (*others, (column, tags)) if tags else others)


NO_TAGS = Tags()


def _change_pairs(tags: TagPairs, new: TagPairs, gone: tuple[str, ...]) -> TagPairs:
    remaining = {key: value for key, value in tags if key not in gone}
    return tuple((remaining | dict(new)).items())


@dataclass(frozen=True, slots=True)
class HasTag:
    """`has_tag('key')`, or `has_tag_value('key', 'value')`."""

    key: str
    value: str | None = None


@dataclass(frozen=True, slots=True)
class AllOf:
    """AND; an empty one is true."""

    conditions: tuple[TagCondition, ...] = ()


@dataclass(frozen=True, slots=True)
class AnyOf:
    conditions: tuple[TagCondition, ...]


@dataclass(frozen=True, slots=True)
class NoneOf:
    """NOT"""

    condition: TagCondition


TagCondition = HasTag | AllOf | AnyOf | NoneOf


def is_met(condition: TagCondition, tags: Mapping[str, str]) -> bool:
    """Returns True if the tags satisfy the condition; `HasTag` without a value accepts any value."""
    match condition:
        case HasTag(key, value):
            return key in tags and value in (None, tags[key])
        case AllOf(conditions):
            return all(is_met(each, tags) for each in conditions)
        case AnyOf(conditions):
            return any(is_met(each, tags) for each in conditions)
        case NoneOf(inner):
            return not is_met(inner, tags)
        case _:
            assert_never(condition)


def format_condition(condition: TagCondition) -> str:
    """Returns the condition as SQL."""
    match condition:
        case HasTag(key, None):
            return f"has_tag({_text(key)})"
        case HasTag(key, value):
            return f"has_tag_value({_text(key)}, {_text(value or '')})"
        case AllOf(()):
            return "TRUE"
        case AllOf(conditions):
            return " AND ".join(
                f"({format_condition(each)})" if isinstance(each, AnyOf) else format_condition(each)
                for each in conditions
            )
        case AnyOf(conditions):
            return " OR ".join(map(format_condition, conditions))
        case NoneOf(inner):
            return f"NOT ({format_condition(inner)})"
        case _:
            assert_never(condition)


def _text(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
