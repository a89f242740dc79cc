"""GRANT, REVOKE, owners and groups: their effects, lifetimes beyond a name, and races."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from catalog.changes import CreateView
from catalog.entries import FunctionEntry, FunctionParameter, ViewEntry
from catalog.grants.privileges import Privilege
from catalog.grants.right_changes import CreateFunction
from catalog.names import SchemaName, TableName
from engine.runtime.identity import Identity, Method
from engine.runtime.request import StatementRequest
from engine.statements.listings.statement import ListColumns, ListFunctions, ListSchemas, ListTables
from tests.security.guarded_lake import GuardedLake

READ = "SELECT * FROM shop.t"


@pytest.fixture
def lake(tmp_path: Path) -> GuardedLake:
    (tmp_path / "lake").mkdir()
    found = GuardedLake(tmp_path / "lake")
    found.table("shop/t")
    found.table("other/o")
    found.do("root", "GRANT USE CATALOG ON CATALOG TO `account users`", "GRANT USE SCHEMA ON SCHEMA shop TO eve")
    return found


def test_grant_on_a_view_is_shown_with_the_object_type_table(lake: GuardedLake) -> None:
    name = TableName("spark_catalog", "shop", "v")
    lake.sources.catalog.change(CreateView(ViewEntry(name=name, text="SELECT 1 AS id", current=name.schema_name)))
    lake.do("root", "GRANT SELECT ON VIEW shop.v TO eve")
    assert lake.rows("root", "SHOW GRANTS ON VIEW shop.v") == [("eve", "SELECT", "TABLE", "spark_catalog.shop.v")]


def test_granted_privilege_can_be_revoked(lake: GuardedLake) -> None:
    lake.do("root", "GRANT SELECT, MODIFY ON TABLE shop.t TO eve")
    assert lake.outcome("eve", READ) == "R"
    assert lake.rows("eve", "SHOW GRANTS ON shop.t") == [
        ("eve", "SELECT", "TABLE", "spark_catalog.shop.t"),
        ("eve", "MODIFY", "TABLE", "spark_catalog.shop.t"),
    ]
    assert lake.rows("bob", "SHOW GRANTS eve ON CATALOG spark_catalog") == []
    lake.do("root", "REVOKE SELECT ON TABLE shop.t FROM eve")
    assert lake.outcome("eve", READ) == "42501"
    lake.do("root", "REVOKE ALL PRIVILEGES ON TABLE shop.t FROM eve", "REVOKE SELECT ON TABLE shop.t FROM eve")
    assert lake.outcome("eve", READ) == "42P01"


@pytest.mark.parametrize("on", ["SCHEMA shop", "CATALOG", "CATALOG spark_catalog"])
@pytest.mark.parametrize("privilege", ["SELECT", "ALL PRIVILEGES"])
def test_a_privilege_holds_for_what_is_inside(lake: GuardedLake, on: str, privilege: str) -> None:
    lake.do("root", f"GRANT {privilege} ON {on} TO eve")
    assert lake.outcome("eve", READ) == "R"
    lake.table("shop/later")
    assert lake.outcome("eve", "SELECT * FROM shop.later") == "R"


def test_grants_stay_with_a_renamed_table(lake: GuardedLake) -> None:
    """Probe 14."""
    lake.do("root", "GRANT CREATE TABLE, USE SCHEMA ON SCHEMA shop TO ann")
    lake.do("ann", "CREATE TABLE shop.mine (id INT)", "GRANT SELECT ON shop.mine TO eve")
    lake.do("ann", "ALTER TABLE shop.mine RENAME TO shop.yours")
    assert lake.outcome("eve", "SELECT * FROM shop.yours") == "R"
    assert lake.outcome("eve", "SELECT * FROM shop.mine") == "42P01"


def test_another_table_of_the_name_begins_without_grants(lake: GuardedLake) -> None:
    """Probe 15."""
    lake.do("root", "GRANT CREATE TABLE, USE SCHEMA ON SCHEMA shop TO ann", "GRANT CREATE TABLE ON SCHEMA shop TO bob")
    lake.do("root", "GRANT USE SCHEMA ON SCHEMA shop TO bob")
    lake.do("ann", "CREATE TABLE shop.mine (id INT)", "GRANT SELECT ON shop.mine TO eve", "DROP TABLE shop.mine")
    lake.do("bob", "CREATE TABLE shop.mine (id INT)")
    assert lake.outcome("eve", "SELECT * FROM shop.mine") == "42P01"
    assert lake.outcome("ann", "SELECT * FROM shop.mine") == "42P01"


def test_a_moved_table_is_not_found_by_its_folder(lake: GuardedLake) -> None:
    """A table in the served folder has a single name after its first grant."""
    lake.do(
        "root", "GRANT SELECT ON SCHEMA shop TO eve", "ALTER TABLE shop.t OWNER TO ann", "GRANT SELECT ON shop.t TO ann"
    )
    lake.do("root", "GRANT USE SCHEMA ON SCHEMA shop TO ann", "GRANT CREATE TABLE, USE SCHEMA ON SCHEMA other TO ann")
    lake.do("ann", "ALTER TABLE shop.t RENAME TO other.t")
    assert lake.outcome("eve", READ) == "42P01"
    assert lake.outcome("ann", "SELECT * FROM other.t") == "R"
    assert lake.outcome("eve", f"SELECT * FROM delta.`{lake.folder}/shop/t`") == "42501"


def test_a_group_that_was_dropped_left_nothing_to_the_next_of_its_name(lake: GuardedLake) -> None:
    """Probe 85."""
    lake.do("root", "CREATE GROUP staff WITH USER eve", "GRANT SELECT ON shop.t TO staff")
    assert lake.outcome("eve", READ) == "R"
    lake.do("root", "DROP GROUP staff")
    assert lake.outcome("eve", READ) == "42P01"
    lake.do("root", "CREATE GROUP Staff WITH USER eve")
    assert lake.outcome("eve", READ) == "42P01"


def test_groups_in_groups_and_groups_of_the_login(lake: GuardedLake) -> None:
    lake.do("root", "CREATE GROUP inner WITH USER eve GROUP ldap", "CREATE GROUP outer WITH GROUP inner")
    lake.do("root", "ALTER GROUP inner ADD GROUP outer", "GRANT SELECT, USE SCHEMA ON SCHEMA shop TO outer")
    assert lake.outcome("eve", READ) == "R"
    assert lake.outcome(Identity("bob", frozenset({"LDAP"}), method=Method.LDAP), READ) == "R"
    assert lake.outcome(Identity("mal", frozenset({"outer"}), method=Method.LDAP), READ) == "42P01"  # only in name
    lake.do("root", "ALTER GROUP inner DROP USER eve")
    assert lake.outcome("eve", READ) == "42P01"
    assert [name for (name,) in lake.rows("root", "SHOW GROUPS")] == ["inner", "outer"]
    assert lake.rows("eve", "SHOW GROUPS") == []


REFUSED = [
    ("GRANT CREATE SCHEMA ON TABLE shop.t TO eve", "PRIVILEGE_NOT_APPLICABLE", "0LP01"),
    ("GRANT READ FILES ON SCHEMA shop TO eve", "PRIVILEGE_NOT_APPLICABLE", "0LP01"),
    ("GRANT INSERT ON shop.t TO eve", "DELTA_UNKNOWN_PRIVILEGE", "42601"),
    ("GRANT SELECT ON shop.t TO eve WITH GRANT OPTION", "UNSUPPORTED_CLAUSE", "0A000"),
    ("GRANT SELECT ON shop.t TO ROLE r", "UNSUPPORTED_CLAUSE", "0A000"),
    ("GRANT admin TO eve", "UNSUPPORTED_CLAUSE", "0A000"),
    ("CREATE ROLE r", "UNSUPPORTED_CLAUSE", "0A000"),
    ("DENY SELECT ON shop.t TO eve", "UNSUPPORTED_CLAUSE", "0A000"),
    ("GRANT SELECT ON shop.t TO 'eve'", "UNSUPPORTED_CLAUSE", "0A000"),
    ("GRANT SELECT ON shop.nothing TO eve", "TABLE_OR_VIEW_NOT_FOUND", "42P01"),
    ("GRANT SELECT ON VIEW shop.t TO eve", "EXPECT_VIEW_NOT_TABLE", "42809"),
    ("GRANT SELECT ON FUNCTION shop.t TO eve", "ROUTINE_NOT_FOUND", "42883"),
    ("GRANT SELECT ON SCHEMA information_schema TO eve", "FORBIDDEN_OPERATION", "42809"),
    ("DROP GROUP nobody", "PRINCIPAL_DOES_NOT_EXIST", "0P000"),
    ("CREATE GROUP `account users`", "GROUP_NAME_RESERVED", "42939"),
    ("CREATE GROUP eve", "PRINCIPAL_AMBIGUOUS", "0P000"),
    ("GRANT SELECT ON shop.t TO GROUP eve", "PRINCIPAL_AMBIGUOUS", "0P000"),
    ("DROP EXTERNAL LOCATION nowhere", "EXTERNAL_LOCATION_DOES_NOT_EXIST", "42704"),
    ("CREATE EXTERNAL LOCATION l URL '/etc'", "PATH_NOT_ALLOWED", "42501"),
    ("ALTER VIEW shop.t SET TBLPROPERTIES ('a' = 'b')", "EXPECT_VIEW_NOT_TABLE", "42809"),
]


OBJECTS = ("TABLE shop.t", "SCHEMA shop", "CATALOG spark_catalog")
BAD_NAMES = ("", " ", " eve", "eve ", "eve\nbob", "eve\r", "\teve", "eve\u200b", "e" * 257)


@pytest.mark.parametrize("on", OBJECTS)
@pytest.mark.parametrize("text", ["GRANT SELECT ON {on} TO {who}", "ALTER {on} OWNER TO {who}"])
def test_an_unknown_name_takes_its_kind(lake: GuardedLake, text: str, on: str) -> None:
    for unknown in ("stranger", "EVE", "`a group`", "`*`"):
        error = lake.error("root", text.format(on=on, who=unknown))
        assert error is not None and error.condition == "PRINCIPAL_DOES_NOT_EXIST.UNKNOWN_KIND", unknown
        assert unknown.strip("`") in error.message and error.sqlstate == "0P000"
    for kind, name in (("USER", "visitor"), ("GROUP", "visitors")):
        lake.do("root", text.format(on=on, who=f"{kind} {name}"), text.format(on=on, who=name))
    for known in ("root", "eve", "`account users`"):
        lake.do("root", text.format(on=on, who=known))
    names = {row[0] for row in lake.rows("root", f"SHOW GRANTS ON {on}")}
    assert not names & {"stranger", "EVE", "a group", "*"}


@pytest.mark.parametrize("name", BAD_NAMES)
@pytest.mark.parametrize(
    "text",
    [
        "GRANT SELECT ON shop.t TO {who}",
        "GRANT SELECT ON shop.t TO USER {who}",
        "GRANT SELECT ON shop.t TO GROUP {who}",
        "ALTER TABLE shop.t OWNER TO {who}",
        "ALTER TABLE shop.t SET OWNER TO USER {who}",
        "CREATE GROUP g WITH USER {who}",
        "ALTER GROUP staff ADD USER {who}",
    ],
)
def test_principal_names_with_invalid_characters(lake: GuardedLake, text: str, name: str) -> None:
    lake.do("root", "CREATE GROUP staff")
    error = lake.error("root", text.format(who=f"`{name}`"))
    assert error is not None and error.sqlstate == "42602"
    assert "\n" not in error.message and len(error.message) < 400


def test_grant_to_an_invalid_name_can_be_revoked(lake: GuardedLake) -> None:
    for kind in ("", "USER ", "GROUP "):
        lake.do("root", f"REVOKE SELECT ON TABLE shop.t FROM {kind}`eve\nbob`", f"SHOW GRANTS {kind}stranger ON shop.t")


def test_existence_of_name_is_hidden_from_non_grantors(lake: GuardedLake) -> None:
    lake.do("root", "GRANT SELECT ON TABLE shop.t TO eve")
    for text in ("GRANT SELECT ON TABLE shop.t TO {}", "ALTER TABLE shop.t OWNER TO {}"):
        assert {lake.outcome("eve", text.format(name)) for name in ("bob", "stranger")} == {"42501"}


@pytest.mark.parametrize(
    ("text", "is_reported"),
    [
        ("GRANT SELECT ON TABLE shop.t TO stranger", True),
        ("REVOKE SELECT ON TABLE shop.t FROM stranger", True),
        ("ALTER SCHEMA shop OWNER TO stranger", True),
        ("COMMENT ON SCHEMA shop IS 'x'", False),
    ],
)
def test_without_authentication_statements_about_rights_warn(lake: GuardedLake, text: str, is_reported: bool) -> None:
    for identity, expected in ((Identity("any"), is_reported), (lake.identity("root"), False)):
        request = StatementRequest(identity=identity)
        lake.do("root", "GRANT SELECT ON TABLE shop.t TO USER stranger")
        lake.session(identity).execute(text, request).close()
        assert any("authenticates nobody" in line for line in request.profile.log_lines) is expected


@pytest.mark.parametrize(("text", "condition", "sqlstate"), REFUSED)
def test_refused_by_name(lake: GuardedLake, text: str, condition: str, sqlstate: str) -> None:
    error = lake.error("root", text)
    assert error is not None
    assert (error.condition, error.sqlstate) == (condition, sqlstate)


def test_hidden_and_missing_objects_have_the_same_error(lake: GuardedLake) -> None:
    """Probes 1 and 41: only the name differs, also with a similar name nearby."""
    lake.table("shop/orders")
    lake.do("root", "GRANT SELECT ON shop.t TO eve")
    pairs = [
        ("SELECT * FROM shop.orders", "SELECT * FROM shop.orderz"),
        ("DESCRIBE shop.orders", "DESCRIBE shop.orderz"),
        ("SELECT * FROM other.o", "SELECT * FROM othes.o"),
        ("SELECT * FROM o", "SELECT * FROM p"),
        ("USE other", "USE othes"),
        ("SHOW TABLES IN other", "SHOW TABLES IN othes"),
        ("DROP SCHEMA other", "DROP SCHEMA othes"),
        ("DROP SCHEMA IF EXISTS other CASCADE", "DROP SCHEMA IF EXISTS othes CASCADE"),
        ("DROP TABLE IF EXISTS shop.orders", "DROP TABLE IF EXISTS shop.orderz"),
        ("DROP VIEW IF EXISTS shop.orders", "DROP VIEW IF EXISTS shop.orderz"),
        ("CREATE TABLE other.x (id INT)", "CREATE TABLE othes.x (id INT)"),
        ("GRANT SELECT ON other.o TO eve", "GRANT SELECT ON othes.o TO eve"),
        ("COMMENT ON SCHEMA other IS 'x'", "COMMENT ON SCHEMA othes IS 'x'"),
        (f"SELECT * FROM delta.`{lake.folder}/other/o`", f"SELECT * FROM delta.`{lake.folder}/other/p`"),
    ]
    for hidden, absent in pairs:
        one, two = (str(lake.error("eve", text)) for text in (hidden, absent))
        names = (("orders", "orderz"), ("other", "othes"), ("`o`", "`p`"), ("/o'", "/p'"), ("FROM o", "FROM p"))
        for name, other in names:
            one, two = one.replace(name, "X"), two.replace(other, "X").replace(name, "X")
        assert one == two
        assert (one == "None") is ("IF EXISTS" in hidden), hidden


def test_lists_have_what_is_visible(lake: GuardedLake) -> None:
    """Probes 38 and 40."""
    lake.table("shop/u")
    lake.do("root", "GRANT SELECT ON shop.t TO eve")
    every = ListTables(catalog=None, schema_pattern="%", table_pattern="%", types=())
    assert [row[1:3] for row in lake.rows("eve", every)] == [("shop", "t")]
    assert [row[1:3] for row in lake.rows("root", every)] == [("other", "o"), ("shop", "t"), ("shop", "u")]
    columns = ListColumns(catalog=None, schema_pattern=None, table_pattern=None, column_pattern=None)
    assert {row[2] for row in lake.rows("eve", columns)} == {"t"}
    schemas = ListSchemas(catalog=None, schema_pattern=None)
    assert {row[1] for row in lake.rows("eve", schemas)} == {"default", "shop"}
    assert {row[1] for row in lake.rows("bob", schemas)} == {"default"}
    assert lake.rows("eve", "SHOW SCHEMAS") == [("default",), ("shop",)]
    assert lake.rows("eve", "SHOW TABLES IN shop") == [("shop", "t", False)]
    assert [row[1] for row in lake.rows("eve", "SHOW TABLE EXTENDED IN shop LIKE '*'")] == ["t"]
    assert [row[1] for row in lake.rows("eve", "SHOW TABLES IN ALL CATALOGS SCHEMA LIKE '%' TABLE LIKE '%'")] == ["t"]
    assert {row[3] for row in lake.rows("eve", "SHOW COLUMNS IN ALL CATALOGS")} == {"t"}


def test_where_a_table_lies_is_for_those_who_manage_it(lake: GuardedLake) -> None:
    """Probes 37 and 39."""
    lake.do("root", "GRANT SELECT ON shop.t TO eve")
    for text in ("DESCRIBE TABLE EXTENDED shop.t", "DESCRIBE EXTENDED shop.t AS JSON", "DESCRIBE DETAIL shop.t"):
        assert str(lake.folder) not in str(lake.rows("eve", text))
    for text in ("SHOW CREATE TABLE shop.t", "SHOW TABLE EXTENDED IN shop LIKE 't'"):
        assert str(lake.folder) not in str(lake.rows("eve", text))
        assert str(lake.folder) in str(lake.rows("root", text))


def test_browse_shows_without_use(lake: GuardedLake) -> None:
    lake.do("root", "GRANT BROWSE ON CATALOG TO bob")
    assert lake.outcome("bob", "DESCRIBE shop.t") == "R"
    assert lake.rows("bob", "SHOW TABLES IN other") == [("other", "o", False)]
    assert lake.outcome("bob", READ) == "42501"


def test_manager_must_grant_itself_select(lake: GuardedLake) -> None:
    lake.do("root", "GRANT MANAGE ON SCHEMA shop TO ann")
    assert lake.outcome("ann", READ) == "42501"
    lake.do("ann", "GRANT SELECT ON shop.t TO ann")
    assert lake.outcome("ann", READ) == "R"


def test_where_nobody_logs_in_all_is_allowed(lake: GuardedLake) -> None:
    anybody = Identity("mal", is_admin=True)
    assert lake.outcome(anybody, READ) == "R"
    assert lake.outcome(anybody, f"SELECT * FROM delta.`{lake.folder}/other/o`") == "R"
    lake.do(anybody, "GRANT SELECT ON shop.t TO bob")
    assert lake.rows(anybody, "SHOW GRANTS bob ON shop.t") == [("bob", "SELECT", "TABLE", "spark_catalog.shop.t")]


def test_a_revoked_right_to_grant_grants_nothing_more(lake: GuardedLake) -> None:
    """Probe 83: bob had the privilege when his change was bound, but not when it is applied."""
    lake.do("root", "GRANT MANAGE, USE SCHEMA ON SCHEMA shop TO bob")
    is_revoked, late = threading.Event(), []

    def grant() -> None:
        for number in range(40):
            was_revoked = is_revoked.is_set()
            error = lake.error("bob", f"GRANT SELECT ON shop.t TO user{number}")
            if was_revoked and error is None:
                late.append(number)

    threads = [threading.Thread(target=grant) for _ in range(2)]
    for thread in threads:
        thread.start()
    lake.do("root", "REVOKE MANAGE ON SCHEMA shop FROM bob")
    is_revoked.set()
    for thread in threads:
        thread.join()
    assert not late


def test_a_change_looks_at_what_its_principal_may_do_by_then(lake: GuardedLake) -> None:
    """Simulates a race: bound before the revocation, changed after it."""
    lake.do("root", "GRANT MANAGE, USE SCHEMA ON SCHEMA shop TO bob", "GRANT SELECT ON shop.t TO ann")
    change = lake.sources.catalog.change_rights

    def late(*given: object) -> object:
        lake.sources.catalog.change_rights = change  # type: ignore[method-assign]
        lake.do("root", "REVOKE MANAGE ON SCHEMA shop FROM bob")
        return change(*given)  # type: ignore[arg-type]

    lake.sources.catalog.change_rights = late  # type: ignore[method-assign, assignment]
    assert lake.outcome("bob", "GRANT SELECT ON shop.t TO bob") == "42501"
    grants = lake.sources.catalog.view().state.relations
    assert {(grant.principal.name, grant.privilege) for entry in grants.values() for grant in entry.grants} == {
        ("ann", Privilege.SELECT)
    }


def test_another_server_reads_what_was_granted(lake: GuardedLake) -> None:
    (lake.folder.parent / "files").mkdir()
    allowed = (str(lake.folder.parent / "files"),)
    one = GuardedLake(lake.folder, allowed)
    one.do(
        "root",
        "CREATE GROUP staff WITH USER eve GROUP others",
        "GRANT CREATE CATALOG ON SERVER TO staff",
        f"CREATE EXTERNAL LOCATION files URL '{allowed[0]}' COMMENT 'of others'",
        "GRANT READ FILES ON EXTERNAL LOCATION files TO staff",
        "ALTER SCHEMA shop OWNER TO staff",
    )
    one.sources.catalog.change(CreateFunction(FUNCTION))
    one.do("root", "GRANT EXECUTE ON FUNCTION shop.f TO eve")
    every = "SHOW FUNCTIONS IN ALL CATALOGS SCHEMA LIKE '%' LIKE '%'"
    assert one.rows("eve", every) == [("f", "shop", "spark_catalog", "", "SCALAR", "spark_catalog.shop.f")]
    assert one.rows("bob", every) == []
    listed = ListFunctions(catalog=None, schema_pattern="sh%", pattern="f")
    assert one.rows("eve", listed) == [("spark_catalog", "shop", "f", None)]
    assert one.rows("bob", listed) == []
    assert GuardedLake(lake.folder, allowed).sources.catalog.view().state == one.sources.catalog.view().state
    one.do("root", "DROP GROUP staff", "DROP EXTERNAL LOCATION files", "DROP FUNCTION shop.f")
    again = GuardedLake(lake.folder, allowed).sources.catalog.view().state
    assert (again.groups, again.locations, again.functions, again.server.grants) == ({}, {}, {}, ())
    assert again.schemas[SchemaName("spark_catalog", "shop")].owner is None


FUNCTION = FunctionEntry(
    name=TableName("spark_catalog", "shop", "f"),
    parameters=(FunctionParameter(name="x", type="INT", default="1"),),
    returns="INT",
    body="x",
    current=SchemaName("spark_catalog", "shop"),
    owner="ann",
)


def test_grants_at_once_are_all_there(lake: GuardedLake) -> None:
    """Probe 83: two servers' changes over one catalog folder."""
    other = GuardedLake(lake.folder)
    lake.do("root", "GRANT SELECT ON shop.t TO ann")

    def grant(one: GuardedLake, names: range) -> None:
        for number in names:
            one.do("root", f"GRANT SELECT ON shop.t TO user{number}")

    threads = [threading.Thread(target=grant, args=given) for given in ((lake, range(8)), (other, range(8, 16)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(lake.rows("root", "SHOW GRANTS ON shop.t")) == 17
