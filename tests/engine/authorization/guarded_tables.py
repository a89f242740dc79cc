"""A lake whose views, functions and policies are put into the catalog directly, so that no Spark is needed.

`root` owns everything; eve may read `shop.t`, the views, the functions and the tables with policies, but not
`shop.hidden`, which some of them read.
"""

from __future__ import annotations

from pathlib import Path

from deltalake import DeltaTable

from catalog.changes import CreateView
from catalog.entries import FunctionColumn, FunctionEntry, FunctionParameter, ViewColumn, ViewEntry
from catalog.grants.right_changes import CreateFunction
from catalog.names import DEFAULT_CATALOG, SchemaName, TableName
from catalog.policies.policies import PolicyArgument, PolicyFunction
from catalog.policies.policy_changes import SetColumnMask, SetRowFilter
from engine.binding.binder import Binder
from engine.binding.bound import BoundStatement
from engine.pipeline import bind_statement, parse_statement
from engine.runtime.session_state import SessionState
from engine.runtime.statement import Statement
from tests.engine.contexts import NO_CONSTANTS
from tests.security.guarded_lake import GuardedLake

SHOP = SchemaName(DEFAULT_CATALOG, "shop")
TABLES = ("t", "hidden", "filtered", "masked", "checked", "looked")


def named(name: str) -> TableName:
    return TableName(DEFAULT_CATALOG, "shop", name)


def function(name: str, body: str, *parameters: str, **more: object) -> FunctionEntry:
    fields = {
        "name": named(name),
        "parameters": tuple(FunctionParameter(name=each, type="STRING") for each in parameters),
        "returns": "STRING",
        "body": body,
        "current": SHOP,
        "owner": "root",
    }
    return FunctionEntry(**(fields | more))  # type: ignore[arg-type]


FUNCTIONS = (
    function("one", "'1'"),
    function("calls_one", "shop.one()"),
    function("total", "(SELECT max(ssn) FROM shop.hidden)", columns=(("ssn",),)),
    function("own_total", "(SELECT max(ssn) FROM shop.t)", columns=(("ssn",),)),
    function("calls_total", "shop.total()"),
    function(
        "rows_of",
        "(SELECT ssn FROM shop.seen)",
        returns="TABLE",
        table_columns=(FunctionColumn(name="ssn", type="STRING"),),
        columns=(("ssn",),),
    ),
    function("kept", "x = 'x'", "x", returns="BOOLEAN"),
    function(
        "looks_up", "EXISTS (SELECT 1 FROM shop.hidden WHERE ssn = x)", "x", returns="BOOLEAN", columns=(("ssn",),)
    ),
    function("stars", "'***'", "x"),
)
VIEWS = {
    "seen": "SELECT * FROM shop.hidden",
    "outer_view": "SELECT * FROM shop.seen",
    "calling": "SELECT shop.calls_one() AS c FROM shop.t",
    "plain": "SELECT * FROM shop.t",
}


def guarded_tables(folder: Path) -> GuardedLake:
    folder.mkdir()
    lake = GuardedLake(folder)
    for name in TABLES:
        lake.table(f"shop/{name}")
    DeltaTable(folder / "shop" / "checked").alter.add_constraint({"c": "ssn <> ''"})
    change = lake.sources.catalog.change
    for entry in FUNCTIONS:
        change(CreateFunction(entry))
    for name, text in VIEWS.items():
        names = ("c",) if name == "calling" else ("id", "ssn")
        columns = tuple(ViewColumn(name=each, source=each, type="STRING") for each in names)
        change(CreateView(ViewEntry(name=named(name), text=text, current=SHOP, columns=columns, owner="root")))
    change(SetRowFilter(named("filtered"), PolicyFunction(named("kept"), (PolicyArgument(column="ssn"),))))
    change(SetRowFilter(named("looked"), PolicyFunction(named("looks_up"), (PolicyArgument(column="ssn"),))))
    for table in ("masked", "checked"):
        change(SetColumnMask(named(table), "ssn", PolicyFunction(named("stars"))))
    lake.do(
        "root",
        "GRANT USE CATALOG ON CATALOG spark_catalog TO `account users`",
        "GRANT USE SCHEMA, EXECUTE ON SCHEMA shop TO `account users`",
        "GRANT SELECT, MODIFY ON SCHEMA shop TO root",
        *(f"GRANT SELECT, MODIFY ON TABLE shop.{name} TO eve" for name in TABLES if name != "hidden"),
        *(f"GRANT SELECT ON VIEW shop.{name} TO eve" for name in VIEWS),
    )
    return lake


def bound_statement(lake: GuardedLake, who: str, text: str, **settings: str) -> BoundStatement:
    statement = parse_statement(text)
    assert isinstance(statement, Statement)
    state = SessionState(identity=lake.identity(who), catalog=DEFAULT_CATALOG, schema="shop", values=settings)
    return bind_statement(statement, Binder(state, lake.sources, NO_CONSTANTS))
