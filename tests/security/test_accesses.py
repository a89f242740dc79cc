"""Objects in audit records: by their own names, through views and functions, and in grants."""

from __future__ import annotations

from pathlib import Path

import pytest

from catalog.entries import FunctionEntry
from catalog.grants.right_changes import CreateFunction
from catalog.grants.right_differences import RightDifference
from catalog.names import DEFAULT_CATALOG, SchemaName, TableName
from engine.runtime.accesses import StatementAccess
from engine.runtime.request import StatementRequest
from tests.security.guarded_lake import GuardedLake, Reached


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> GuardedLake:
    folder: Path = tmp_path_factory.mktemp("accesses") / "lake"
    folder.mkdir()
    lake = GuardedLake(folder)
    lake.table("shop/t")
    lake.do(
        "root",
        "GRANT USE CATALOG ON CATALOG TO `account users`",
        "GRANT USE SCHEMA, SELECT, MODIFY ON SCHEMA shop TO root",
        f"CREATE EXTERNAL LOCATION landing URL '{folder}'",
    )
    shop = SchemaName(DEFAULT_CATALOG, "shop")
    name = TableName(DEFAULT_CATALOG, "shop", "one")
    function = FunctionEntry(name=name, parameters=(), returns="INT", body="1", current=shop, owner="root")
    lake.sources.catalog.change(CreateFunction(function))
    return lake


def accesses_of(lake: GuardedLake, who: str, text: str) -> list[tuple[str, str, str, str | None]]:
    found: list[StatementAccess] = []
    identity = lake.identity(who)
    request = StatementRequest(identity=identity, on_authorized=found.append)
    try:
        lake.session(identity).execute(text, request)
    except Reached:
        pass
    plain = [
        (one.name.replace("`", "").removeprefix("spark_catalog."), one.kind, str(one.use), one.via_view)
        for access in found
        for one in access.objects
    ]
    return plain


@pytest.mark.parametrize(
    ("text", "objects"),
    [
        ("SELECT * FROM shop.t", [("shop.t", "TABLE", "read", None)]),
        ("INSERT INTO shop.t SELECT * FROM shop.t", [("shop.t", "TABLE", "write", None)]),
        ("DESCRIBE shop.t", [("shop.t", "TABLE", "describe", None)]),
        ("GRANT SELECT ON TABLE shop.t TO eve", [("shop.t", "TABLE", "grant", None)]),
        ("ALTER TABLE shop.t OWNER TO root", [("shop.t", "TABLE", "grant", None)]),
        ("SHOW GRANTS ON SCHEMA shop", [("shop", "SCHEMA", "describe", None)]),
        ("GRANT CREATE CATALOG ON SERVER TO eve", [("", "SERVER", "grant", None)]),
        ("DESCRIBE FUNCTION shop.one", [("shop.one", "FUNCTION", "describe", None)]),
        ("DROP FUNCTION shop.one", [("shop.one", "FUNCTION", "write", None)]),
        ("DROP EXTERNAL LOCATION landing", [("landing", "EXTERNAL LOCATION", "write", None)]),
    ],
)
def test_objects_of_a_statement(lake: GuardedLake, text: str, objects: list[tuple[str, str, str, str | None]]) -> None:
    found = accesses_of(lake, "root", text)
    assert set(objects) <= set(found), found


@pytest.mark.parametrize(
    ("text", "removed", "added"),
    [
        ("GRANT SELECT, MODIFY ON TABLE shop.t TO bob", (), ("SELECT TO USER bob", "MODIFY TO USER bob")),
        ("REVOKE SELECT ON TABLE shop.t FROM bob", ("SELECT TO USER bob",), ()),
        ("REVOKE SELECT ON TABLE shop.t FROM bob", None, None),
        ("ALTER TABLE shop.t OWNER TO bob", ("OWNER USER root",), ("OWNER USER bob",)),
        ("CREATE GROUP team WITH USER ann", (), ("MEMBER USER ann",)),
        ("ALTER GROUP team ADD USER eve", (), ("MEMBER USER eve",)),
        ("DROP GROUP team", ("MEMBER USER ann", "MEMBER USER eve"), ()),
        ("GRANT CREATE CATALOG ON SERVER TO bob", (), ("CREATE CATALOG TO USER bob",)),
    ],
)
def test_privilege_changes_of_a_statement(
    lake: GuardedLake, text: str, removed: tuple[str, ...] | None, added: tuple[str, ...] | None
) -> None:
    found: list[RightDifference] = []
    lake.session(lake.identity("root")).execute(
        text, StatementRequest(identity=lake.identity("root"), on_rights=found.extend)
    )
    assert [(each.removed, each.added) for each in found] == ([] if removed is None else [(removed, added)])
