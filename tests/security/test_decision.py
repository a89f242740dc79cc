"""The authorization decision compared with a naive implementation of the rules, over random catalogs."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from catalog.entries import CatalogEntry, GroupEntry, SchemaEntry, SecurableEntry, TableEntry, ViewEntry
from catalog.grants.privileges import DATA, PRIVILEGES, Grant, Kind, Principal, PrincipalKind, Privilege, group, user
from catalog.grants.rights import Login, Rights, caller_of, kind_of
from catalog.names import CatalogName, SchemaName, TableName
from catalog.state import INITIAL_STATE, CatalogState

USERS = ("ann", "bob", "eve")
GROUPS = ("g", "h", "k")
PRINCIPALS = [*map(user, USERS), *map(group, GROUPS), group("Account Users"), group("outside")]
CATALOG, SCHEMAS = CatalogName("c"), (SchemaName("c", "s"), SchemaName("c", "r"))


@dataclass(frozen=True)
class Tree:
    state: CatalogState
    login: Login


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    def owned(kind: Kind) -> dict[str, object]:
        grants = draw(
            st.lists(
                st.builds(Grant, st.sampled_from(PRINCIPALS), st.sampled_from(sorted(PRIVILEGES[kind]))), max_size=3
            )
        )
        owner = draw(st.sampled_from([None, *PRINCIPALS[:6]]))
        if owner is None:
            return {"grants": tuple(grants)}
        return {"grants": tuple(grants), "owner": owner.name, "owner_kind": owner.kind}

    groups = {
        name: GroupEntry(name=name, members=tuple(draw(st.lists(st.sampled_from(PRINCIPALS), max_size=3))))
        for name in GROUPS
    }
    catalog = CatalogEntry(name=CATALOG, **owned(Kind.CATALOG))  # type: ignore[arg-type]
    schemas = {name: SchemaEntry(name=name, **owned(Kind.SCHEMA)) for name in SCHEMAS}  # type: ignore[arg-type]
    relations: dict[TableName, TableEntry | ViewEntry] = {}
    for schema in SCHEMAS:
        table, view = (TableName("c", schema.schema, name) for name in ("t", "v"))
        relations[table] = TableEntry(name=table, location="/x", **owned(Kind.TABLE))  # type: ignore[arg-type]
        relations[view] = ViewEntry(name=view, text="", current=schema, **owned(Kind.VIEW))  # type: ignore[arg-type]
    state = CatalogState(generation=1, catalogs={CATALOG: catalog}, schemas=schemas, relations=relations, groups=groups)
    login = Login(
        draw(st.sampled_from(USERS)),
        frozenset(draw(st.lists(st.sampled_from(["outside", "g", "OUTSIDE"]), max_size=2))),
        draw(st.sampled_from([False, False, False, True])),
    )
    return Tree(state, login)


def naive_principals(tree: Tree) -> set[tuple[str, str]]:
    """Returns kind and lower-case name for all principals of the login."""
    found = {("user", tree.login.name), ("group", "account users")}
    found |= {("group", name.lower()) for name in tree.login.groups if name.lower() not in tree.state.groups}
    for _ in GROUPS:
        for entry in tree.state.groups.values():
            if any(naive(member) in found for member in entry.members):
                found.add(("group", entry.name))
    return found


def naive(principal: Principal) -> tuple[str, str]:
    is_group = principal.kind is PrincipalKind.GROUP
    return ("group", principal.name.lower()) if is_group else ("user", principal.name)


def naive_privileges(tree: Tree, entry: SecurableEntry) -> set[Privilege]:
    """Returns all that the login holds on an object itself."""
    who = naive_principals(tree)
    own = PRIVILEGES[kind_of(entry)] | {Privilege.BROWSE}
    above = above_of(tree, entry)
    held: set[Privilege] = set()
    for level in (entry, *above):
        for grant in level.grants:
            if naive(grant.principal) in who:
                held |= (own - {Privilege.MANAGE}) if grant.privilege is Privilege.ALL else {grant.privilege} & own
        if owns(level, who):
            held |= own if level is entry else {Privilege.MANAGE}
    if tree.login.is_admin or Privilege.MANAGE in held:
        held |= own - DATA
    return held


def above_of(tree: Tree, entry: SecurableEntry) -> list[SecurableEntry]:
    if isinstance(entry, TableEntry | ViewEntry):
        return [tree.state.schemas[entry.name.schema_name], tree.state.catalogs[CATALOG]]
    return [tree.state.catalogs[CATALOG]] if isinstance(entry, SchemaEntry) else []


def owns(entry: SecurableEntry, who: set[tuple[str, str]]) -> bool:
    assert isinstance(entry, CatalogEntry | SchemaEntry | TableEntry | ViewEntry)
    return entry.owner is not None and naive(Principal(entry.owner_kind, entry.owner)) in who


def naive_visible(tree: Tree, entry: SecurableEntry) -> bool:
    below = [each for each in tree.state.entries() if hasattr(each, "grants") and entry in above_of(tree, each)]  # type: ignore[arg-type]
    return bool(naive_privileges(tree, entry)) or any(naive_privileges(tree, each) for each in below)  # type: ignore[arg-type]


USE = {CatalogEntry: Privilege.USE_CATALOG, SchemaEntry: Privilege.USE_SCHEMA}


@given(trees())
@settings(deadline=None)
def test_rights_equal_the_naive_model(tree: Tree) -> None:
    rights = Rights(tree.state, caller_of(tree.state, tree.login))
    for entry in (*tree.state.catalogs.values(), *tree.state.schemas.values(), *tree.state.relations.values()):
        held = naive_privileges(tree, entry)
        can_reach = all(USE[type(level)] in naive_privileges(tree, level) for level in above_of(tree, entry))
        for privilege in PRIVILEGES[kind_of(entry)] - {Privilege.ALL}:
            assert rights.holds(privilege, entry) == (privilege in held)
            assert (rights.find_missing(privilege, entry) is None) == (privilege in held and can_reach)
        assert rights.manages(entry) == (Privilege.MANAGE in held)
        assert rights.is_visible(entry) == naive_visible(tree, entry)


def test_the_initial_catalog_is_open_to_nobody() -> None:
    rights = Rights(INITIAL_STATE, caller_of(INITIAL_STATE, Login("eve")))
    entries: list[CatalogEntry | SchemaEntry] = [*INITIAL_STATE.catalogs.values(), *INITIAL_STATE.schemas.values()]
    for entry in entries:
        assert rights.is_visible(entry)  # where sessions begin
        assert not any(rights.holds(privilege, entry) for privilege in PRIVILEGES[kind_of(entry)])
