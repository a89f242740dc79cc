"""Privileges that several statement families require, through views, functions and policies, and for paths."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from catalog.changes import CreateView
from catalog.entries import ForeignView, LocationEntry, ViewColumn, ViewEntry
from catalog.grants.conditions import Definer, RequiredPrivilege, Requirement
from catalog.grants.privileges import Privilege, user
from catalog.grants.right_changes import CreateFunction
from catalog.grants.rights import label_of
from engine.authorization.required_privileges import (
    definer_of,
    executions,
    managed_schema,
    new_table,
    on_owner,
    on_securable,
    on_table,
    on_target,
    reads,
)
from engine.binding.bound import BoundStatement, BoundTable, BoundView, FreeName
from engine.runtime.session_state import temporary_name
from tests.engine.authorization.guarded_tables import SHOP, bound_statement, function, guarded_tables, named
from tests.security.guarded_lake import GuardedLake


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> GuardedLake:
    lake = guarded_tables(tmp_path_factory.mktemp("privileges") / "lake")
    lake.do("root", f"CREATE EXTERNAL LOCATION landing URL '{lake.folder}/files'")
    (lake.folder / "files").mkdir()
    (lake.folder / "files" / "a.csv").write_text("1\n")
    change = lake.sources.catalog.change
    change(CreateFunction(function("owned_by_ann", "shop.one()", owner="ann")))
    columns = tuple(ViewColumn(name=each, source=each, type="STRING") for each in ("id", "ssn"))
    view = ViewEntry(name=named("of_ann"), text="SELECT * FROM shop.seen", current=SHOP, columns=columns, owner="ann")
    change(CreateView(view))
    lake.do("root", "GRANT SELECT ON VIEW shop.seen TO ann")
    return lake


def described(required: Iterable[Requirement]) -> list[tuple[str, str, str | None, str | None]]:
    """Returns privileges, objects, the users that must have them, and the objects that messages name."""
    found = []
    for each in required:
        assert isinstance(each, RequiredPrivilege)
        label = (
            "" if each.definer is None else (each.definer.label or "").replace("`", "").replace("spark_catalog.", "")
        )
        owner = None if each.definer is None or each.definer.owner is None else each.definer.owner.name
        on = label_of(each.on).replace("spark_catalog.", "")
        found.append((each.privilege.value, on, owner, label or None))
    return found


LANDING = "External Location 'landing'"
ANN = Definer(user("ann"), "outer")
T = ("SELECT", "Table 'shop.t'", None, None)


@pytest.mark.parametrize(
    ("text", "definer", "expected"),
    [
        ("SELECT * FROM t", None, [T]),
        ("SELECT * FROM t", ANN, [("SELECT", "Table 'shop.t'", "ann", "outer")]),
        ("SELECT * FROM t, masked", None, [T, ("SELECT", "Table 'shop.masked'", None, None)]),
        ("SELECT * FROM table_changes('shop.t', 0)", None, [T]),
        (
            "SELECT * FROM seen",
            None,
            [("SELECT", "View 'shop.seen'", None, None), ("SELECT", "Table 'shop.hidden'", "root", "View 'shop.seen'")],
        ),
        (
            "SELECT * FROM of_ann",
            None,
            [
                ("SELECT", "View 'shop.of_ann'", None, None),
                ("SELECT", "View 'shop.seen'", "ann", "View 'shop.of_ann'"),
                ("SELECT", "Table 'shop.hidden'", "root", "View 'shop.of_ann'"),
            ],
        ),
        (
            "SELECT * FROM calling",
            None,
            [
                ("SELECT", "View 'shop.calling'", None, None),
                ("EXECUTE", "Function 'shop.calls_one'", "root", "View 'shop.calling'"),
                ("EXECUTE", "Function 'shop.one'", "root", "View 'shop.calling'"),
                ("SELECT", "Table 'shop.t'", "root", "View 'shop.calling'"),
            ],
        ),
        ("SELECT total()", None, [("SELECT", "Table 'shop.hidden'", "root", "Function 'shop.total'")]),
        ("SELECT calls_total()", None, [("SELECT", "Table 'shop.hidden'", "root", "Function 'shop.calls_total'")]),
        ("SELECT total()", ANN, [("SELECT", "Table 'shop.hidden'", "root", "outer")]),
        (
            "SELECT * FROM looked",
            None,
            [("SELECT", "Table 'shop.looked'", None, None), ("SELECT", "Table 'shop.hidden'", "root", "shop.looked")],
        ),
        (
            "SELECT * FROM looked",
            ANN,
            [("SELECT", "Table 'shop.looked'", "ann", "outer"), ("SELECT", "Table 'shop.hidden'", "root", "outer")],
        ),
        ("SELECT * FROM delta.`{lake}/shop/t`", None, [T]),
        (
            "SELECT * FROM read_files('{files}', format => 'csv')",
            None,
            [("READ FILES", "External Location 'landing'", None, None)],
        ),
        ("SELECT * FROM system.information_schema.tables", None, []),
    ],
)
def test_reading_requires_select_of_reader_or_owner(
    lake: GuardedLake, text: str, definer: Definer | None, expected: list[tuple[str, str, str | None, str | None]]
) -> None:
    assert described(reads(_bound(lake, text).relations, definer)) == expected


def test_view_without_owner_is_read_as_its_reader(lake: GuardedLake) -> None:
    (view,) = _bound(lake, "SELECT * FROM seen").relations
    assert isinstance(view, BoundView)
    foreign = replace(view, entry=replace(view.entry, foreign=ForeignView()))
    assert described(reads([foreign])) == [
        ("SELECT", "View 'shop.seen'", None, None),
        ("SELECT", "Table 'shop.hidden'", None, None),
    ]


def test_temporary_view_requires_privileges_for_its_query(lake: GuardedLake) -> None:
    (view,) = _bound(lake, "SELECT * FROM calling").relations
    assert isinstance(view, BoundView)
    temporary = replace(view, entry=replace(view.entry, name=temporary_name("calling")))
    assert described(reads([temporary])) == [
        ("EXECUTE", "Function 'shop.calls_one'", None, None),
        ("EXECUTE", "Function 'shop.one'", "root", "Function 'shop.calls_one'"),
        T,
    ]


@pytest.mark.parametrize(
    ("text", "definer", "expected"),
    [
        ("SELECT one()", None, [("EXECUTE", "Function 'shop.one'", None, None)]),
        ("SELECT one()", ANN, [("EXECUTE", "Function 'shop.one'", "ann", "outer")]),
        (
            "SELECT owned_by_ann()",
            None,
            [
                ("EXECUTE", "Function 'shop.owned_by_ann'", None, None),
                ("EXECUTE", "Function 'shop.one'", "ann", "Function 'shop.owned_by_ann'"),
            ],
        ),
        (
            "SELECT owned_by_ann()",
            Definer(user("eve"), "outer"),
            [
                ("EXECUTE", "Function 'shop.owned_by_ann'", "eve", "outer"),
                ("EXECUTE", "Function 'shop.one'", "ann", "outer"),
            ],
        ),
        (
            "SELECT owned_by_ann()",
            Definer(user("eve")),
            [
                ("EXECUTE", "Function 'shop.owned_by_ann'", "eve", None),
                ("EXECUTE", "Function 'shop.one'", "ann", "Function 'shop.owned_by_ann'"),
            ],
        ),
        ("SELECT 1", None, []),
    ],
)
def test_calling_requires_execute_of_caller_or_owner(
    lake: GuardedLake, text: str, definer: Definer | None, expected: list[tuple[str, str, str | None, str | None]]
) -> None:
    assert described(executions(_bound(lake, text).functions, definer)) == expected


def test_temporary_function_requires_privileges_for_its_body(lake: GuardedLake) -> None:
    (called,) = _bound(lake, "SELECT calls_one()").functions
    temporary = replace(called, entry=replace(called.entry, name=temporary_name("calls_one")))
    assert described(executions([temporary, called], None)) == [
        ("EXECUTE", "Function 'shop.one'", None, None),
        ("EXECUTE", "Function 'shop.calls_one'", None, None),
        ("EXECUTE", "Function 'shop.one'", "root", "Function 'shop.calls_one'"),
    ]


CREATE = ("CREATE TABLE", "Schema 'shop'", None, None)


@pytest.mark.parametrize(
    ("text", "replaces", "expected"),
    [
        ("CREATE TABLE fresh (a INT)", False, [CREATE]),
        (
            "CREATE TABLE fresh (a INT) LOCATION '{files}/x'",
            False,
            [CREATE, ("CREATE EXTERNAL TABLE", LANDING, None, None)],
        ),
        (
            "CREATE TABLE delta.`{files}/x` (a INT)",
            False,
            [("CREATE EXTERNAL TABLE", LANDING, None, None), ("WRITE FILES", LANDING, None, None)],
        ),
        ("CREATE TABLE IF NOT EXISTS t (a INT)", False, [CREATE]),
        ("CREATE TABLE IF NOT EXISTS t (a INT)", True, [CREATE, ("MANAGE", "Table 'shop.t'", None, None)]),
        ("CREATE OR REPLACE TABLE t (a INT)", True, [CREATE, ("MANAGE", "Table 'shop.t'", None, None)]),
    ],
)
def test_new_table_requires_privileges_on_its_schema_and_location(
    lake: GuardedLake, text: str, replaces: bool, expected: list[tuple[str, str, str | None, str | None]]
) -> None:
    bound = _bound(lake, text)
    is_path = isinstance(bound.target, FreeName) and bound.target.is_path
    parts = ("delta", "/path") if is_path else ("shop", "fresh")
    assert described(new_table(bound, parts, **({"replaces": True} if replaces else {}))) == expected


def test_new_table_without_a_target_requires_its_schema(lake: GuardedLake) -> None:
    bound = replace(_bound(lake, "CREATE TABLE fresh (a INT)"), target=None)
    assert described(new_table(bound, ("shop", "fresh"))) == [CREATE]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("DELETE FROM t", [("MODIFY", "Table 'shop.t'", None, None)]),
        ("DROP TABLE t", [("MODIFY", "Table 'shop.t'", None, None)]),
        ("DELETE FROM delta.`{lake}/shop/t`", [("MODIFY", "Table 'shop.t'", None, None)]),
        ("CREATE TABLE fresh (a INT)", []),
        ("DROP TABLE IF EXISTS fresh", []),
    ],
)
def test_target_requires_a_privilege_if_it_exists(
    lake: GuardedLake, text: str, expected: list[tuple[str, str, str | None, str | None]]
) -> None:
    assert described(on_target(_bound(lake, text), Privilege.MODIFY)) == expected


@pytest.mark.parametrize(
    ("privilege", "expected"),
    [(Privilege.SELECT, "READ FILES"), (Privilege.MODIFY, "WRITE FILES"), (Privilege.MANAGE, "WRITE FILES")],
)
def test_table_at_an_external_location_requires_privileges_on_it(
    lake: GuardedLake, privilege: Privilege, expected: str
) -> None:
    (table,) = _bound(lake, "SELECT * FROM t").relations
    assert isinstance(table, BoundTable)
    location = lake.sources.catalog.view().external_location(f"{lake.folder}/files/x")
    assert isinstance(location, LocationEntry)
    at_path = replace(table, name=None, owners=(location, table.entry))
    assert described(on_table(at_path, privilege, ANN)) == [
        (expected, LANDING, "ann", "outer"),
        (privilege.value, "Table 'shop.t'", "ann", "outer"),
    ]
    assert described([on_owner(location, privilege, None)]) == [(expected, LANDING, None, None)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("CREATE VIEW fresh AS SELECT * FROM t", Definer(user("root"))),
        ("CREATE TEMPORARY VIEW fresh AS SELECT * FROM t", None),
        ("SELECT * FROM t", None),
    ],
)
def test_stored_text_is_checked_for_its_future_owner(lake: GuardedLake, text: str, expected: Definer | None) -> None:
    assert definer_of(_bound(lake, text)) == expected


def test_securable_requires_the_privilege_if_it_exists(lake: GuardedLake) -> None:
    bound = _bound(lake, "SHOW GRANTS ON SCHEMA shop")
    assert described(on_securable(bound, Privilege.MANAGE)) == [("MANAGE", "Schema 'shop'", None, None)]
    assert on_securable(replace(bound, securable=None), Privilege.MANAGE) == []


@pytest.mark.parametrize(
    ("name", "expected"), [("shop", [("MANAGE", "Schema 'shop'", None, None)]), ("information_schema", [])]
)
def test_information_schema_requires_no_management(
    lake: GuardedLake, name: str, expected: list[tuple[str, str, str | None, str | None]]
) -> None:
    schema = lake.sources.catalog.view().schema(replace(SHOP, schema=name))
    assert described(managed_schema(schema)) == expected


def _bound(lake: GuardedLake, text: str) -> BoundStatement:
    return bound_statement(
        lake, "root", text.replace("{lake}", str(lake.folder)).replace("{files}", f"{lake.folder}/files")
    )
