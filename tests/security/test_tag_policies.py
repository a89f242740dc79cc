"""Tags, and policies by tag: who may set them, their descriptions, and their texts."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from catalog.changes import CreateView
from catalog.entries import FunctionEntry, FunctionParameter, TableEntry, ViewColumn, ViewEntry
from catalog.grants.privileges import EVERYBODY, Kind
from catalog.grants.right_changes import CreateFunction, Securable
from catalog.names import SchemaName, TableName
from catalog.policies.effective_policies import effective_policies
from catalog.policies.policies import NamedPolicy, PolicyArgument, PolicyKind
from catalog.policies.tag_changes import CreatePolicy
from catalog.policies.tags import Tags
from catalog.store.entry_json import from_json, to_json
from tests.security.guarded_lake import GuardedLake

HIDE = "CREATE POLICY hide ON SCHEMA shop COLUMN MASK shop.hide TO `account users` EXCEPT ann, GROUP audit FOR TABLES "
ROUNDS = 40
MATCH = "MATCH COLUMNS has_tag_value('kind', 'ssn') AS s, hasTag('tenant') t ON COLUMN s USING COLUMNS (t, '*')"


@pytest.fixture
def lake(tmp_path: Path) -> GuardedLake:
    """Creates a lake where eve may tag the schema's tables, which ann owns."""
    (tmp_path / "lake").mkdir()
    found = GuardedLake(tmp_path / "lake")
    found.table("shop/t")
    found.do(
        "root",
        "GRANT USE CATALOG ON CATALOG TO `account users`",
        "GRANT USE SCHEMA, SELECT ON SCHEMA shop TO `account users`",
        "GRANT APPLY TAG ON SCHEMA shop TO eve",
        "ALTER SCHEMA shop OWNER TO ann",
    )
    return found


def _function(lake: GuardedLake, name: str, returns: str, *types: str) -> None:
    """Creates a function as CREATE FUNCTION does, without Spark."""
    lake.sources.catalog.change(
        CreateFunction(
            FunctionEntry(
                name=TableName("spark_catalog", "shop", name),
                parameters=tuple(FunctionParameter(name=f"p{at}", type=each) for at, each in enumerate(types)),
                returns=returns,
                body="NULL",
                current=SchemaName("spark_catalog", "shop"),
                owner="ann",
            )
        )
    )


def test_tags_are_set_and_shown(lake: GuardedLake) -> None:
    lake.do(
        "eve",
        "ALTER SCHEMA shop SET TAGS ('zone' = 'eu', 'plain')",
        "ALTER TABLE shop.t SET TAGS ('team' = 'x', 'zone' = 'us')",
        "ALTER TABLE shop.t ALTER COLUMN SSN SET TAGS ('kind' = 'ssn', 'k2')",
        "ALTER TABLE shop.t ALTER ssn UNSET TAGS ('k2', 'none')",
        "ALTER TABLE shop.t UNSET TAGS ('team')",
    )
    found = lake.sources.catalog.view().state.relations[TableName("spark_catalog", "shop", "t")]
    assert isinstance(found, TableEntry)
    assert (found.tags.own, found.tags.columns) == ((("zone", "us"),), (("ssn", (("kind", "ssn"),)),))


def test_tags_of_a_view_and_its_columns_outlive_its_query(lake: GuardedLake) -> None:
    name = TableName("spark_catalog", "shop", "v")
    entry = ViewEntry(
        name=name,
        text="SELECT 1 AS Id",
        current=name.schema_name,
        columns=(ViewColumn(name="Id", source="Id", type="INT"),),
    )
    lake.sources.catalog.change(CreateView(entry))
    _function(lake, "hide", "string", "string", "string", "string")
    assert lake.outcome("bob", "ALTER VIEW shop.v SET TAGS ('a')") == "42501"
    assert lake.outcome("eve", "ALTER TABLE shop.v ALTER COLUMN no SET TAGS ('a')") == "42703"
    assert lake.outcome("ann", HIDE.replace("SCHEMA shop", "TABLE shop.v") + MATCH) == "0A000"
    lake.do("root", "GRANT APPLY TAG ON VIEW shop.v TO bob")
    lake.do(
        "bob",
        "ALTER VIEW shop.v SET TAGS ('team' = 'x', 'gone')",
        "ALTER TABLE shop.v UNSET TAGS ('gone')",
        "ALTER TABLE shop.v ALTER COLUMN id SET TAGS ('kind' = 'key')",
    )
    lake.sources.catalog.change(CreateView(replace(entry, text="SELECT 2 AS Id"), replace=True))
    found = from_json(to_json(lake.sources.catalog.view().state.relations[name]))
    assert isinstance(found, ViewEntry)
    assert (found.text, found.tags) == ("SELECT 2 AS Id", Tags((("team", "x"),), (("Id", (("kind", "key"),)),)))


REFUSED = (
    ("bob", "ALTER TABLE shop.t SET TAGS ('a')", "42501"),
    ("eve", "ALTER CATALOG spark_catalog SET TAGS ('a')", "42501"),
    ("bob", "ALTER TABLE shop.t ALTER COLUMN ssn UNSET TAGS ('a')", "42501"),
    ("eve", "ALTER TABLE shop.t ALTER COLUMN no SET TAGS ('a')", "42703"),
    ("eve", "ALTER TABLE shop.t ALTER COLUMN a.b SET TAGS ('a')", "0A000"),
    ("eve", "ALTER TABLE shop.no SET TAGS ('a')", "42P01"),
    ("eve", "ALTER TABLE shop.t SET TAGS ()", "42601"),
    ("eve", "ALTER TABLE shop.t SET TAGS ('a', 'a')", "42601"),
    ("root", "ALTER FUNCTION shop.hide SET TAGS ('a')", "0A000"),
    ("eve", HIDE + MATCH, "42501"),
    ("eve", "SHOW POLICIES ON SCHEMA shop", "42501"),
    ("eve", "DROP POLICY hide ON SCHEMA shop", "42501"),
    ("ann", "DROP POLICY hide ON SCHEMA shop", "42704"),
    ("ann", "DESCRIBE POLICY hide ON SCHEMA shop", "42704"),
    ("ann", HIDE.replace("shop.hide", "shop.no") + MATCH, "42883"),
    ("ann", HIDE + MATCH.replace("(t, '*')", "(t)"), "0A000"),
    ("ann", HIDE.replace("`account users`", "unknown") + MATCH, "0P000"),
    ("ann", HIDE.replace("COLUMN MASK", "ROW FILTER"), "0A000"),
    ("ann", HIDE + MATCH.replace("ON COLUMN s", ""), "42601"),
    ("ann", HIDE + MATCH.replace("ON COLUMN s", "ON COLUMN x"), "42601"),
    ("ann", HIDE.replace("COLUMN MASK", "ROW FILTER") + MATCH, "42601"),
    ("ann", HIDE + "WHEN has_tag(zone)", "42601"),
    ("ann", HIDE + "WHEN " + "(" * 30 + "TRUE" + ")" * 30, "42601"),
    ("ann", HIDE + "MATCH COLUMNS has_tag('a'), has_tag('b'), has_tag('c'), has_tag('d')", "42601"),
    ("ann", HIDE + "MATCH COLUMNS has_tag('a') AS s, has_tag('b') AS S ON COLUMN s", "42601"),
    ("ann", HIDE.replace("TO `account users` ", "") + MATCH, "42601"),
    ("ann", HIDE.replace("SCHEMA shop", "FUNCTION shop.hide") + MATCH, "0A000"),
)


def test_refused(lake: GuardedLake) -> None:
    _function(lake, "hide", "string", "string", "string", "string")
    for who, text, sqlstate in REFUSED:
        assert lake.outcome(who, text) == sqlstate, text


def test_a_table_without_a_name_has_no_policies(lake: GuardedLake) -> None:
    _function(lake, "keep", "boolean")
    lake.do("root", f"CREATE EXTERNAL LOCATION l URL '{lake.folder}/ext'", "GRANT EXECUTE ON SCHEMA shop TO root")
    error = lake.error("root", f"CREATE TABLE delta.`{lake.folder}/ext/x` (a INT) WITH ROW FILTER shop.keep ON ()")
    assert error is not None
    assert error.condition == "ROW_COLUMN_ACCESS.POLICY_NOT_POSSIBLE"


def test_policies_are_created_and_shown(lake: GuardedLake) -> None:
    _function(lake, "hide", "string", "string", "string", "string")
    _function(lake, "keep", "boolean")
    lake.do(
        "ann",
        HIDE + "WHEN NOT (has_tag('open') OR hasTagValue('zone', 'us')) " + MATCH,
        "CREATE POLICY keep ON shop.t COMMENT 'rows' ROW FILTER shop.keep TO USER bob FOR TABLES",
    )
    assert lake.outcome("ann", HIDE + MATCH) == "42710"
    assert lake.rows("ann", "SHOW POLICIES ON TABLE shop.t") == [
        ("keep", "ROW FILTER", "TABLE", "spark_catalog.shop.t", "rows")
    ]
    assert [row[:4] for row in lake.rows("ann", "SHOW EFFECTIVE POLICIES ON shop.t")] == [
        ("hide", "COLUMN MASK", "SCHEMA", "spark_catalog.shop"),
        ("keep", "ROW FILTER", "TABLE", "spark_catalog.shop.t"),
    ]
    assert dict(lake.rows("ann", "DESCRIBE POLICY HIDE ON SCHEMA shop")) == {
        "Name": "hide",
        "Type": "COLUMN MASK",
        "On": "Schema 'spark_catalog.shop'",
        "Function": "spark_catalog.shop.hide",
        "To": "account users",
        "Except": "ann, audit",
        "When": "NOT (has_tag('open') OR has_tag_value('zone', 'us'))",
        "Match columns": "has_tag_value('kind', 'ssn') AS s, has_tag('tenant') AS t",
        "On column": "s",
        "Using columns": "t, '*'",
        "Comment": None,
    }
    lake.do("ann", "DROP POLICY hide ON SCHEMA shop", "DROP POLICY IF EXISTS hide ON SCHEMA shop")
    assert lake.rows("ann", "SHOW POLICIES ON SCHEMA shop") == []


def test_tags_used_by_a_policy_cannot_be_removed(lake: GuardedLake) -> None:
    """A tagged column keeps its name, and a table the schema whose policies hold for it."""
    _function(lake, "keep", "boolean")
    lake.do("root", "CREATE SCHEMA other", "ALTER SCHEMA other OWNER TO ann")
    lake.do("root", "GRANT MODIFY, SELECT ON shop.t TO ann", "GRANT CREATE TABLE ON SCHEMA other TO ann")
    lake.do("ann", "ALTER TABLE shop.t ALTER COLUMN ssn SET TAGS ('kind')")
    for text in (
        "RENAME COLUMN ssn TO x",
        "DROP COLUMN ssn",
        "ALTER COLUMN ssn TYPE INT",
        "REPLACE COLUMNS (id BIGINT)",
        "ADD COLUMN ssn.x INT",
    ):
        assert lake.outcome("ann", f"ALTER TABLE shop.t {text}") == "2BP01", text
    lake.do("ann", "CREATE TABLE shop.mine (a INT)")
    lake.do("ann", "CREATE POLICY keep ON SCHEMA shop ROW FILTER shop.keep TO `account users` FOR TABLES")
    assert lake.outcome("ann", "ALTER TABLE shop.mine RENAME TO other.mine") == "0A000"
    assert lake.outcome("ann", "DROP FUNCTION shop.keep") == "2BP01"
    lake.do("ann", "ALTER TABLE shop.mine RENAME TO shop.yours")
    for text in ("DESCRIBE DETAIL shop.yours", "DESCRIBE HISTORY shop.yours", "TRUNCATE TABLE shop.yours"):
        assert lake.outcome("ann", text) == "0A000"
    lake.do("ann", "DROP POLICY keep ON SCHEMA shop", "DESCRIBE DETAIL shop.yours")


def test_no_reader_is_shown_more_than_what_was_acknowledged(lake: GuardedLake) -> None:
    """Probe 83: of two servers over one catalog, one changes a policy while the other's readers name the table."""
    _function(lake, "keep", "boolean", "int")
    other = GuardedLake(lake.folder)
    schema = SchemaName("spark_catalog", "shop")
    acknowledged = 0
    seen: list[str] = []

    def change(number: int) -> None:
        nonlocal acknowledged
        policy = NamedPolicy(
            name="rows",
            kind=PolicyKind.ROW_FILTER,
            function=TableName("spark_catalog", "shop", "keep"),
            to=(EVERYBODY,),
            arguments=(PolicyArgument(literal=str(number)),),
        )
        lake.sources.catalog.change(CreatePolicy(Securable(Kind.SCHEMA, schema), policy, replace=True))
        acknowledged = number

    def read() -> None:
        while acknowledged < ROUNDS:
            lower_bound = acknowledged
            view = other.sources.catalog.view()
            entry = view.resolve(TableName("spark_catalog", "shop", "t"))
            assert isinstance(entry, TableEntry)
            found = effective_policies(view.state, entry, {EVERYBODY}, ("id", "ssn")).row_filter
            if found is None or int(f"{found.arguments[0].literal}") < lower_bound:
                seen.append(f"{found} after {lower_bound}")

    change(1)
    with ThreadPoolExecutor(2) as readers:
        reading = [readers.submit(read) for _ in range(2)]
        for number in range(2, ROUNDS + 1):
            change(number)
        for each in reading:
            each.result()
    assert seen == []
