"""Effective policies for a principal and a table, by tags; and causes that make the table unreadable."""

from __future__ import annotations

from dataclasses import replace

import pytest

from catalog.changes import apply
from catalog.entries import FunctionEntry, GroupEntry, SchemaEntry, TableEntry
from catalog.errors import SqlError
from catalog.grants.privileges import EVERYBODY, Kind, Principal, group, user
from catalog.grants.right_changes import DropFunction, DropGroup, Securable
from catalog.names import CatalogName, SchemaName, TableName
from catalog.policies.effective_policies import effective_policies
from catalog.policies.policies import (
    ColumnMask,
    ColumnMatch,
    NamedPolicy,
    Policies,
    PolicyArgument,
    PolicyFunction,
    PolicyKind,
)
from catalog.policies.tag_changes import CreatePolicy, DropPolicy, SetTags
from catalog.policies.tags import AllOf, AnyOf, HasTag, NoneOf, TagCondition, TagPairs, format_condition, is_met
from catalog.state import INITIAL_STATE, CatalogState
from catalog.store.entry_json import MalformedEntry, from_json, to_json

CATALOG, SCHEMA = CatalogName("spark_catalog"), SchemaName("spark_catalog", "shop")
TABLE, F, G = (TableName("spark_catalog", "shop", name) for name in "tfg")
COLUMNS = ("id", "Email", "phone")
EVE = (user("eve"), group("staff"), EVERYBODY)
ON = {"c": Securable(Kind.CATALOG, CATALOG), "s": Securable(Kind.SCHEMA, SCHEMA), "t": Securable(Kind.TABLE, TABLE)}
PII = ColumnMatch(HasTag("pii"), "a")


def state() -> CatalogState:
    functions = {
        name: FunctionEntry(name=name, parameters=(), returns="boolean", body="TRUE", current=SCHEMA) for name in (F, G)
    }
    return replace(
        INITIAL_STATE,
        schemas={SCHEMA: SchemaEntry(name=SCHEMA)},
        relations={TABLE: TableEntry(name=TABLE, location="/l")},
        functions=functions,
    )


def mask(
    name: str = "m", function: TableName = F, to: tuple[Principal, ...] = (EVERYBODY,), **more: object
) -> NamedPolicy:
    values: dict[str, object] = {"matches": (PII,), "on_column": "A", **more}
    return NamedPolicy(name=name, kind=PolicyKind.COLUMN_MASK, function=function, to=to, **values)  # type: ignore[arg-type]


def row_filter(name: str = "r", function: TableName = F, **more: object) -> NamedPolicy:
    values: dict[str, object] = {"to": (EVERYBODY,), **more}
    return NamedPolicy(name=name, kind=PolicyKind.ROW_FILTER, function=function, **values)  # type: ignore[arg-type]


def with_all(
    tags: dict[str, TagPairs], *policies: tuple[str, NamedPolicy], own: Policies | None = None
) -> CatalogState:
    """Returns entries with all tags; `tags` are a level's, or a column's."""
    found = state()
    for where, pairs in tags.items():
        column = None if where in ON else where
        found = apply(found, SetTags(ON["t" if column else where], column, pairs))
    for where, policy in policies:
        found = apply(found, CreatePolicy(ON[where], policy))
    if own is not None:
        entry = found.relations[TABLE]
        assert isinstance(entry, TableEntry)
        found = replace(found, relations={TABLE: replace(entry, policies=own)})
    return found


def effective(found: CatalogState, principals: tuple[Principal, ...] = EVE) -> Policies:
    entry = found.relations[TABLE]
    assert isinstance(entry, TableEntry)
    return effective_policies(found, entry, principals, COLUMNS)


CALL = PolicyFunction(F)
PII_EMAIL: dict[str, TagPairs] = {"Email": (("pii", ""),)}
HOLD: tuple[tuple[CatalogState, Policies], ...] = (
    (with_all({}), Policies()),
    (with_all(PII_EMAIL, ("c", mask())), Policies(masks=(ColumnMask("Email", CALL),))),
    (
        with_all(PII_EMAIL | {"phone": (("pii", "x"),)}, ("s", mask())),
        Policies(masks=(ColumnMask("Email", CALL), ColumnMask("phone", CALL))),
    ),
    (with_all({}, ("s", mask())), Policies()),
    (with_all({"t": (("pii", ""),)}, ("s", mask())), Policies()),
    (with_all({}, ("t", row_filter())), Policies(CALL)),
    (with_all({"c": (("zone", "eu"),)}, ("s", row_filter(when=HasTag("zone", "eu")))), Policies(CALL)),
    (
        with_all({"c": (("zone", "eu"),), "t": (("zone", "us"),)}, ("s", row_filter(when=HasTag("zone", "eu")))),
        Policies(),
    ),
    (with_all({}, ("s", row_filter(to=(group("STAFF"),)))), Policies(CALL)),
    (with_all({}, ("s", row_filter(but=(user("eve"),)))), Policies()),
    (with_all({}, ("s", row_filter(to=(user("bob"),)))), Policies()),
    (
        with_all(
            PII_EMAIL,
            ("s", row_filter(matches=(PII,), arguments=(PolicyArgument(column="A"), PolicyArgument(literal="1")))),
        ),
        Policies(PolicyFunction(F, (PolicyArgument(column="Email"), PolicyArgument(literal="1")))),
    ),
    (with_all({}, ("c", row_filter()), ("t", row_filter("again"))), Policies(CALL)),
    (with_all({}, ("c", row_filter(to=(user("bob"),))), own=Policies(PolicyFunction(G))), Policies(PolicyFunction(G))),
)


@pytest.mark.parametrize(("found", "expected"), HOLD)
def test_effective_policies_of_a_table(found: CatalogState, expected: Policies) -> None:
    assert effective(found) == expected


UNREADABLE = (
    (with_all({}, ("c", row_filter()), ("s", row_filter(function=G))), "MULTIPLE_FILTERS"),
    (with_all({}, ("c", row_filter()), own=Policies(PolicyFunction(G))), "MULTIPLE_FILTERS"),
    (with_all(PII_EMAIL, ("c", mask()), ("t", mask("other", G))), "MULTIPLE_FILTERS"),
    (with_all({"gone": (("pii", ""),)}, ("s", mask())), "POLICY_NOT_CLEAR"),
    (
        with_all(
            PII_EMAIL | {"phone": (("pii", ""),)},
            ("s", row_filter(matches=(PII,), arguments=(PolicyArgument(column="a"),))),
        ),
        "POLICY_NOT_CLEAR",
    ),
)


@pytest.mark.parametrize(("found", "condition"), UNREADABLE)
def test_ambiguous_policies_prevent_reads(found: CatalogState, condition: str) -> None:
    with pytest.raises(SqlError) as caught:
        effective(found)
    assert caught.value.condition.endswith(condition)
    assert effective(replace(found, catalogs=state().catalogs, schemas=state().schemas), (user("bob"),)) is not None


def test_policy_for_other_principals_does_not_apply() -> None:
    """Who is exempt reads the table, whatever is not clear for others."""
    found = with_all({"gone": (("pii", ""),)}, ("s", mask(but=(user("eve"),))))
    assert effective(found) == Policies()


CONDITIONS: tuple[tuple[TagCondition, dict[str, str], bool, str], ...] = (
    (AllOf(), {}, True, "TRUE"),
    (HasTag("a"), {"a": "x"}, True, "has_tag('a')"),
    (HasTag("a", "y"), {"a": "x"}, False, "has_tag_value('a', 'y')"),
    (HasTag("A"), {"a": "x"}, False, "has_tag('A')"),
    (
        AllOf((HasTag("a"), AnyOf((HasTag("b"), HasTag("c"))))),
        {"a": "", "c": ""},
        True,
        "has_tag('a') AND (has_tag('b') OR has_tag('c'))",
    ),
    (NoneOf(HasTag("it's")), {}, True, "NOT (has_tag('it\\'s'))"),
)


def test_conditions() -> None:
    for condition, tags, expected, text in CONDITIONS:
        assert is_met(condition, tags) is expected
        assert format_condition(condition) == text


def test_entries_as_json() -> None:
    """In both directions; unknown content makes the entry unreadable, since it may hide something."""
    policy = mask(
        but=(user("ann"),),
        when=AnyOf((HasTag("a", "b"), NoneOf(AllOf()))),
        arguments=(PolicyArgument(column="a"), PolicyArgument(literal="'x'")),
        comment="c",
    )
    found = with_all({"c": (("k", "v"),), **PII_EMAIL}, ("c", policy), ("s", row_filter()), ("t", policy))
    for entry in (found.catalogs[CATALOG], found.schemas[SCHEMA], found.relations[TABLE]):
        assert from_json(to_json(entry)) == entry
    for key, value in (
        ("tags", {"own": {}, "columns": {}, "more": 1}),
        ("tags", {"own": {"a": 1}, "columns": {}}),
        ("named_policies", [{**to_json(found.relations[TABLE])["named_policies"][0], "new": 1}]),  # type: ignore[index]
        ("named_policies", [{**to_json(found.relations[TABLE])["named_policies"][0], "when": ["xor"]}]),  # type: ignore[index]
        ("named_policies", [{**to_json(found.relations[TABLE])["named_policies"][0], "kind": "GRANT"}]),  # type: ignore[index]
    ):
        with pytest.raises(MalformedEntry):
            from_json({**to_json(found.relations[TABLE]), key: value})


def test_changes() -> None:
    found = with_all({"t": (("a", "1"), ("b", ""))}, ("s", row_filter()))
    changed = apply(apply(found, SetTags(ON["t"], None, (("a", "2"),))), SetTags(ON["t"], None, (), ("b", "no")))
    assert changed.relations[TABLE].tags.own == (("a", "2"),)
    assert effective(apply(found, CreatePolicy(ON["s"], row_filter("R", G), True))) == Policies(PolicyFunction(G))
    assert effective(apply(found, DropPolicy(ON["s"], "R"))) == Policies()
    for change, sqlstate in (
        (CreatePolicy(ON["s"], row_filter("R")), "42710"),
        (CreatePolicy(ON["s"], row_filter("x", TableName("spark_catalog", "shop", "no"))), "42883"),
        (CreatePolicy(Securable(Kind.FUNCTION, F), row_filter()), "0A000"),
        (DropPolicy(ON["t"], "r"), "42704"),
        (DropFunction(F), "2BP01"),
    ):
        with pytest.raises(SqlError) as caught:
            apply(found, change)
        assert caught.value.sqlstate == sqlstate


def test_a_group_that_a_policy_names_stays() -> None:
    """Another group with that name would be exempt."""
    found = with_all({}, ("s", row_filter(but=(group("staff"),))))
    found = replace(found, groups={"staff": GroupEntry(name="staff")})
    with pytest.raises(SqlError) as caught:
        apply(found, DropGroup("Staff"))
    assert caught.value.sqlstate == "2BP01"
