"""Parses tags, and CREATE POLICY, in Databricks' syntax."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

from catalog.conditions import UnsupportedClause
from catalog.grants.privileges import Kind
from catalog.names import fold, quote
from catalog.policies.policies import ColumnMatch, PolicyArgument, PolicyKind
from catalog.policies.tags import AllOf, AnyOf, HasTag, NoneOf, TagCondition, TagPairs
from engine.runtime.statement import Statement
from engine.sql.dialect.cursor import Cursor
from engine.sql.dialect.dialect import tokenize
from engine.sql.dialect.errors import unsupported_statement
from engine.sql.query.query import parse_query
from engine.statements.create_table.grammar_clauses import take_if_exists
from engine.statements.functions.grammar_calls import read_arguments, read_function
from engine.statements.grants.grammar import read_parts, read_principal, read_securable, take_owner
from engine.statements.grants.statement import AlterOwner, PrincipalName, SecurableName
from engine.statements.policies.statement import (
    AlterColumnMask,
    AlterRowFilter,
    AlterTags,
    CreatePolicy,
    DescribePolicy,
    DropPolicy,
    PolicyCall,
    PolicyStatement,
    ShowPolicies,
)

_MATCHES_MAX = 3
_DEPTH_MAX = 20


def take_tags(cursor: Cursor, kind: Kind, parts: tuple[str, ...]) -> AlterTags | None:
    """Parses the text after an object's name if it is about the object's or a column's tags."""
    securable = SecurableName(kind=kind, parts=parts)
    if cursor.take("SET", "TAGS"):
        return AlterTags(securable=securable, new=_read_pairs(cursor))
    if cursor.take("UNSET", "TAGS"):
        return AlterTags(securable=securable, gone=tuple(key for key, _ in _read_pairs(cursor)))
    ahead = cursor.copy()
    if kind is not Kind.TABLE or not ahead.take("ALTER"):
        return None
    ahead.take("COLUMN")
    if not ahead.is_name():
        return None
    column = ahead.read_names()
    found = take_tags(ahead, Kind.VIEW, parts)
    if found is None:
        return None
    if len(column) > 1:
        raise UnsupportedClause(f"Tags of {'.'.join(column)}", "Columns as a whole have tags, and no fields of them.")
    cursor.skip_to(ahead.offset)
    return AlterTags(securable=securable, column=column[0], new=found.new, gone=found.gone)


def parse_alter_object(cursor: Cursor, kind: Kind) -> AlterOwner | AlterTags:
    """Parses the text after ALTER and the object's kind: an owner, or tags."""
    securable = SecurableName(kind=kind, parts=read_parts(cursor, kind))
    owner = take_owner(cursor)
    if owner is not None:
        return AlterOwner(securable=securable, owner=owner)
    tags = take_tags(cursor, kind, securable.parts)
    if tags is None:
        raise unsupported_statement(f"ALTER {kind} … {' '.join(cursor.words(2))}".rstrip())
    return tags


def _read_pairs(cursor: Cursor) -> TagPairs:
    """Reads `('key' = 'value', 'key', …)`."""
    pairs: dict[str, str] = {}
    cursor.read("(")
    while not pairs or cursor.take(","):
        key = cursor.read_string()
        if key in pairs:
            raise cursor.fail(f"the tag {key} before this is given twice")
        pairs[key] = cursor.read_string() if cursor.take("=") else ""
    cursor.read(")")
    return tuple(pairs.items())


def parse_create_policy(cursor: Cursor, *, or_replace: bool) -> CreatePolicy:
    """Parses the text after POLICY."""
    name = cursor.read_name()
    securable = read_securable(cursor, "")
    comment = cursor.read_string() if cursor.take("COMMENT") else None
    kind = PolicyKind.ROW_FILTER if cursor.take("ROW", "FILTER") else PolicyKind.COLUMN_MASK
    if kind is PolicyKind.COLUMN_MASK:
        cursor.read("COLUMN", "MASK")
    function = read_function(cursor)
    cursor.read("TO")
    to = _read_principals(cursor)
    but = _read_principals(cursor) if cursor.take("EXCEPT") else ()
    cursor.read("FOR", "TABLES")
    when = _read_condition(cursor) if cursor.take("WHEN") else AllOf()
    matches = _read_matches(cursor) if cursor.take("MATCH", "COLUMNS") else ()
    on_column = cursor.read_name() if cursor.take("ON", "COLUMN") else None
    arguments = read_arguments(cursor) if cursor.take("USING", "COLUMNS") else ()
    if (on_column is None) is (kind is PolicyKind.COLUMN_MASK):
        raise cursor.fail("a column mask has ON COLUMN, and a row filter has not")
    known = [fold(match.alias) for match in matches if match.alias is not None]
    used = [each.column for each in arguments if each.column is not None] + ([] if on_column is None else [on_column])
    for alias in used:
        if fold(alias) not in known:
            raise cursor.fail(f"{alias} before this is no alias of MATCH COLUMNS")
    return CreatePolicy(
        name=name,
        securable=securable,
        kind=kind,
        function_parts=function,
        to=to,
        but=but,
        when=when,
        matches=matches,
        on_column=on_column,
        arguments=arguments,
        comment=comment,
        or_replace=or_replace,
    )


def _read_principals(cursor: Cursor) -> tuple[PrincipalName, ...]:
    found = [read_principal(cursor)]
    while cursor.take(","):
        found.append(read_principal(cursor))
    return tuple(found)


def _read_matches(cursor: Cursor) -> tuple[ColumnMatch, ...]:
    """Reads `condition [AS alias], …`."""
    found: list[ColumnMatch] = []
    while not found or cursor.take(","):
        condition = _read_condition(cursor)
        is_named = cursor.take("AS") or (cursor.is_name() and cursor.words(1) not in (["ON"], ["USING"]))
        found.append(ColumnMatch(condition, cursor.read_name() if is_named else None))
    if len(found) > _MATCHES_MAX:
        raise cursor.fail(f"MATCH COLUMNS before this has more than {_MATCHES_MAX} conditions")
    aliases = [fold(match.alias) for match in found if match.alias is not None]
    if len(set(aliases)) < len(aliases):
        raise cursor.fail("an alias before this is given twice")
    return tuple(found)


def _read_condition(cursor: Cursor, depth: int = 0) -> TagCondition:
    found = [_read_all(cursor, depth)]
    while cursor.take("OR"):
        found.append(_read_all(cursor, depth))
    return AnyOf(tuple(found)) if len(found) > 1 else found[0]


def _read_all(cursor: Cursor, depth: int) -> TagCondition:
    found = [_read_one(cursor, depth)]
    while cursor.take("AND"):
        found.append(_read_one(cursor, depth))
    return AllOf(tuple(found)) if len(found) > 1 else found[0]


def _read_one(cursor: Cursor, depth: int) -> TagCondition:
    """Parses `has_tag('key')`, `has_tag_value('key', 'value')`, TRUE, NOT and parentheses."""
    if depth > _DEPTH_MAX:
        raise cursor.fail(f"conditions are nested more than {_DEPTH_MAX} deep here")
    if cursor.take("NOT"):
        return NoneOf(_read_one(cursor, depth + 1))
    if cursor.take("TRUE"):
        return AllOf()
    if cursor.take("("):
        condition = _read_condition(cursor, depth + 1)
        cursor.read(")")
        return condition
    word = cursor.take_any("HAS_TAG", "HASTAG", "HAS_TAG_VALUE", "HASTAGVALUE")
    if word is None:
        raise cursor.fail("has_tag('key') or has_tag_value('key', 'value') is expected")
    cursor.read("(")
    key, value = cursor.read_string(), None
    if word in ("HAS_TAG_VALUE", "HASTAGVALUE"):
        cursor.read(",")
        value = cursor.read_string()
    cursor.read(")")
    return HasTag(key, value)


def parse_drop_policy(cursor: Cursor) -> DropPolicy:
    """Parses the text after DROP POLICY: `[IF EXISTS] p ON kind name`."""
    if_exists = take_if_exists(cursor)
    name = cursor.read_name()
    return DropPolicy(name=name, securable=read_securable(cursor, ""), if_exists=if_exists)


def show_policies(cursor: Cursor, *, effective: bool) -> ShowPolicies:
    """Parses the text after SHOW POLICIES or SHOW EFFECTIVE POLICIES: `ON kind name`."""
    return ShowPolicies(securable=read_securable(cursor, ""), effective=effective)


def parse_describe_policy(cursor: Cursor) -> DescribePolicy:
    """Parses the text after DESCRIBE POLICY."""
    name = cursor.read_name()
    return DescribePolicy(name=name, securable=read_securable(cursor, ""))


def take_policy(cursor: Cursor, table: tuple[str, ...]) -> PolicyStatement | None:
    """Parses the text after the table's name if it is about a policy."""
    if cursor.take("SET", "ROW", "FILTER"):
        function = read_function(cursor)
        cursor.read("ON")
        return AlterRowFilter(table_parts=table, call=_call(table, function, None, read_arguments(cursor)))
    if cursor.take("DROP", "ROW", "FILTER"):
        return AlterRowFilter(table_parts=table, call=None)
    return _take_mask(cursor, table)


def _take_mask(cursor: Cursor, table: tuple[str, ...]) -> AlterColumnMask | None:
    ahead = cursor.copy()
    if not ahead.take("ALTER"):
        return None
    ahead.take("COLUMN")
    column = ahead.read_names()
    if ahead.take("SET", "MASK"):
        function = read_function(ahead)
        arguments = read_arguments(ahead) if ahead.take("USING", "COLUMNS") else ()
        call: PolicyCall | None = _call(table, function, column, arguments)
    elif ahead.take("DROP", "MASK"):
        call = None
    else:
        return None
    cursor.skip_to(ahead.offset)
    return AlterColumnMask(table_parts=table, column_parts=column, call=call)


def _call(
    table: tuple[str, ...],
    function: tuple[str, ...],
    masked: tuple[str, ...] | None,
    arguments: tuple[PolicyArgument, ...],
) -> PolicyCall:
    values = [] if masked is None else [_dotted_name(masked)]
    values += [quote(each.column) if each.column is not None else f"{each.literal}" for each in arguments]
    text = f"SELECT {_dotted_name(function)}({', '.join(values)}) AS policy FROM {_dotted_name(table)}"
    return PolicyCall(function_parts=function, arguments=arguments, probe=parse_query(Cursor(text, tokenize(text))))


def _dotted_name(parts: tuple[str, ...]) -> str:
    return ".".join(map(quote, parts))


LEADING_WORDS: Mapping[tuple[str, ...], Callable[[Cursor], Statement]] = MappingProxyType(
    {
        **{
            ("ALTER", *kind.value.split()): partial(parse_alter_object, kind=kind)
            for kind in (Kind.SCHEMA, Kind.FUNCTION, Kind.LOCATION)
        },
        ("ALTER", "DATABASE"): partial(parse_alter_object, kind=Kind.SCHEMA),
        ("CREATE", "POLICY"): partial(parse_create_policy, or_replace=False),
        ("CREATE", "OR", "REPLACE", "POLICY"): partial(parse_create_policy, or_replace=True),
        ("DROP", "POLICY"): parse_drop_policy,
        ("SHOW", "POLICIES"): partial(show_policies, effective=False),
        ("SHOW", "EFFECTIVE", "POLICIES"): partial(show_policies, effective=True),
    }
)
