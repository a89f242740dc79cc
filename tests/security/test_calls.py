"""CALL requires the same privileges as the equivalent statement: by name and by path, and never applies to a table with
policies.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from catalog.conditions import PolicyForbidsStatement
from catalog.entries import FunctionEntry, FunctionParameter
from catalog.grants.right_changes import CreateFunction
from catalog.names import SchemaName, TableName
from catalog.policies.policies import PolicyArgument, PolicyFunction
from catalog.policies.policy_changes import SetRowFilter
from engine.authorization.policies import ensure_hides
from engine.binding.binder import Binder
from engine.binding.bound import BoundStatement, BoundTable
from engine.pipeline import bind_statement
from engine.runtime.session_state import SessionState
from engine.statements.procedures.statement import Call
from engine.statements.registry import spec_of
from tests.engine.contexts import NO_CONSTANTS
from tests.engine.iceberg.handmade import HandmadeTable
from tests.engine.parsed import parse_one
from tests.security.guarded_lake import GuardedLake, ensure_authorized


@pytest.fixture
def lake(tmp_path: Path) -> GuardedLake:
    folder = tmp_path / "lake"
    folder.mkdir()
    for name in ("t", "other"):
        # Files in `other` may be added to another table: no table that references them deletes them.
        properties = {"gc.enabled": "false"} if name == "other" else {}
        table = HandmadeTable(folder / "shop" / name, properties=properties)
        for number in range(2):
            table.commit(table.data({"id": [number]}))
    found = GuardedLake(folder)
    found.do(
        "root",
        "GRANT USE CATALOG ON CATALOG spark_catalog TO `account users`",
        *(f"GRANT USE SCHEMA ON SCHEMA shop TO {who}" for who in ("ann", "eve", "mod", "both", "mal")),
        "ALTER TABLE shop.t OWNER TO ann",
        "GRANT SELECT ON shop.t TO eve",
        "GRANT MODIFY ON shop.t TO mod",
        "GRANT SELECT, MODIFY ON shop.t TO both",
        "GRANT SELECT, MODIFY ON shop.other TO mal",
    )
    return found


CALLS = [
    ("ancestors_of('{t}')", {"ann", "eve", "both"}),
    ("expire_snapshots('{t}')", {"ann", "mod", "both"}),
    ("remove_orphan_files('{t}')", {"ann", "mod", "both"}),
    ("rewrite_manifests('{t}')", {"ann", "mod", "both"}),
    ("rewrite_position_delete_files('{t}')", {"ann", "mod", "both"}),
    ("fast_forward('{t}', 'main', 'main')", {"ann", "both"}),
    ("cherrypick_snapshot('{t}', 1001)", {"ann", "both"}),
    ("set_current_snapshot('{t}', 1002)", {"ann"}),
    ("rollback_to_snapshot('{t}', 1002)", {"ann"}),
]


@pytest.mark.parametrize(("call", "allowed"), CALLS, ids=[call for call, _ in CALLS])
def test_each_procedure_takes_its_privilege(lake: GuardedLake, call: str, allowed: set[str]) -> None:
    for table in ("shop.t", f"iceberg.`{lake.folder}/shop/t`"):
        text = f"CALL spark_catalog.system.{call.format(t=table)}"
        for who in ("eve", "mod", "both", "ann"):
            if who in allowed:
                ensure_authorized(lake, who, text)
            else:
                assert lake.outcome(who, text) == "42501", (who, text)
        assert lake.outcome("mal", text) == ("42P01" if table == "shop.t" else "42501"), text


def test_a_name_without_schema_is_looked_up_in_the_catalog_of_the_procedure(lake: GuardedLake) -> None:
    assert lake.outcome("ann", "CALL nosuch.system.ancestors_of('shop.t')") == "42P08"
    assert lake.outcome("ann", "CALL nosuch.system.ancestors_of('t')") == "42P08"


def test_registering_takes_the_right_to_make_a_table_in_its_schema(lake: GuardedLake) -> None:
    file = f"{lake.folder}/shop/t/metadata/v2.metadata.json"
    text = f"CALL spark_catalog.system.register_table('shop.again', '{file}')"
    assert lake.outcome("eve", text) == "42501"
    lake.do("root", "CREATE SCHEMA other", "GRANT USE SCHEMA, CREATE TABLE ON SCHEMA other TO eve")
    assert lake.outcome("eve", text) == "42501"
    assert lake.outcome("eve", text.replace("shop.again", "other.again")) == "42501"


def ensure_hidden(bound: BoundStatement) -> None:
    ensure_hides(bound, spec_of(bound.statement).policy_effects(bound, bound.statement))


def test_a_snapshot_takes_the_rows_of_its_source_and_a_place(lake: GuardedLake) -> None:
    """SELECT on the source, CREATE TABLE in the schema; and no row filters or masks on the files' columns."""
    write_deltalake(lake.folder / "shop" / "d", pa.table({"id": [1]}))
    lake.do(
        "root",
        "CREATE SCHEMA eves",
        *(f"GRANT USE SCHEMA, CREATE TABLE ON SCHEMA eves TO {who}" for who in ("eve", "mod")),
        "GRANT SELECT ON shop.d TO eve",
        "GRANT SELECT ON shop.d TO mal",
        "GRANT MODIFY ON shop.d TO mod",
    )
    for who, source, expected in (
        ("mal", "shop.d", "42704"),
        ("mod", "shop.d", "42501"),
        ("mod", f"delta.`{lake.folder}/shop/d`", "42501"),
        ("eve", "shop.d", "R"),
    ):
        assert lake.outcome(who, f"CALL spark_catalog.system.snapshot('{source}', 'eves.t')") == expected, (who, source)
    statement = parse_one("CALL system.snapshot('shop.d', 'eves.other')")
    state = SessionState(identity=lake.identity("eve"), catalog="spark_catalog", schema="default")
    bound = bind_statement(statement, Binder(state, lake.sources, NO_CONSTANTS))
    assert isinstance(bound, BoundStatement)
    (relation,) = bound.relations
    assert isinstance(relation, BoundTable)
    ensure_hidden(bound)
    with pytest.raises(PolicyForbidsStatement):
        ensure_hidden(replace(bound, relations=(replace(relation, is_protected=True),)))


def test_files_of_a_table_take_its_rows(lake: GuardedLake) -> None:
    """MODIFY on the one table, SELECT on the other, which has no row filters or masks."""
    for who in ("both", "eve", "mal"):
        found = lake.outcome(who, "CALL spark_catalog.system.add_files('shop.t', 'shop.other')")
        assert found == "42P01", (who, found)
    lake.do("root", "GRANT SELECT ON shop.other TO both")
    for source in ("shop.other", f"iceberg.`{lake.folder}/shop/other`"):
        text = f"CALL spark_catalog.system.add_files('shop.t', '{source}', map(), false)"
        assert lake.outcome("eve", text) == ("42P01" if source == "shop.other" else "42501")
        assert lake.outcome("both", text) == "R", source
    state = SessionState(identity=lake.identity("both"), catalog="spark_catalog", schema="default")
    bound = bind_statement(
        parse_one("CALL system.add_files('shop.t', 'shop.other')"), Binder(state, lake.sources, NO_CONSTANTS)
    )
    assert isinstance(bound, BoundStatement)
    (source_table,) = bound.relations
    assert isinstance(source_table, BoundTable)
    ensure_hidden(bound)
    with pytest.raises(PolicyForbidsStatement):
        ensure_hidden(replace(bound, relations=(replace(source_table, is_protected=True),)))


def test_converting_takes_what_dropping_takes(lake: GuardedLake) -> None:
    for table in ("shop.t", f"iceberg.`{lake.folder}/shop/t`"):
        for who in ("mal", "eve", "mod", "both"):
            expected = "42P01" if (who, table) == ("mal", "shop.t") else "42501"
            assert lake.outcome(who, f"CONVERT TO DELTA {table}") == expected, (who, table)
    assert lake.outcome("ann", "CONVERT TO DELTA shop.t") == "R"


def test_policies_are_of_the_columns_that_a_converted_table_has_now(lake: GuardedLake) -> None:
    """Earlier versions are not readable: columns may have had other names."""
    lake.do("ann", "CONVERT TO DELTA shop.t")
    path = f"{lake.folder}/shop/t"
    text = f"SELECT * FROM iceberg.`{path}`"
    assert lake.outcome("eve", text) == "R"
    schema = SchemaName("spark_catalog", "shop")
    few = FunctionEntry(
        name=TableName("spark_catalog", "shop", "few"),
        parameters=(FunctionParameter(name="id", type="BIGINT"),),
        returns="BOOLEAN",
        body="id < 2",
        current=schema,
    )
    lake.sources.catalog.change(CreateFunction(few))
    call = PolicyFunction(few.name, (PolicyArgument(column="id"),))
    lake.sources.catalog.change(SetRowFilter(TableName("spark_catalog", "shop", "t"), call))
    assert lake.outcome("eve", text) == "0A000"
    assert lake.outcome("eve", f"SELECT * FROM iceberg.`{path}`.files") == "0A000"
    assert lake.outcome("eve", "SELECT * FROM shop.t") == "R"
    assert lake.outcome("eve", f"SELECT * FROM delta.`{path}`") == "R"


TELLING = [
    ("ancestors_of('shop.t')", True),
    ("rollback_to_snapshot('shop.t', 1001)", True),
    ("fast_forward('shop.t', 'main', 'main')", True),
    ("remove_orphan_files(table => 'shop.t', dry_run => true)", True),
    ("rewrite_data_files(table => 'shop.t', where => 'id > 5')", True),
    ("rewrite_data_files('shop.t')", False),
    ("remove_orphan_files('shop.t')", False),
    ("expire_snapshots('shop.t')", False),
]


@pytest.mark.parametrize(("call", "is_refused"), TELLING, ids=[call for call, _ in TELLING])
def test_procedures_tell_nothing_of_a_table_with_policies(lake: GuardedLake, call: str, is_refused: bool) -> None:
    state = SessionState(identity=lake.identity("ann"), catalog="spark_catalog", schema="default")
    statement = parse_one(f"CALL system.{call}")
    assert isinstance(statement, Call)
    bound = bind_statement(statement, Binder(state, lake.sources, NO_CONSTANTS))
    assert isinstance(bound, BoundStatement)
    assert isinstance(bound.target, BoundTable)
    protected = replace(bound, target=replace(bound.target, is_protected=True))
    assert spec_of(statement).reports_work
    if is_refused:
        with pytest.raises(PolicyForbidsStatement):
            ensure_hidden(protected)
    else:
        ensure_hidden(protected)


def test_statement_that_declares_no_effect_is_rejected(lake: GuardedLake) -> None:
    """Its spec is wrong: a statement that nobody thought about must not pass."""
    state = SessionState(identity=lake.identity("ann"), catalog="spark_catalog", schema="default")
    bound = bind_statement(
        parse_one("CALL system.expire_snapshots('shop.t')"), Binder(state, lake.sources, NO_CONSTANTS)
    )
    assert isinstance(bound, BoundStatement)
    ensure_hidden(bound)
    with pytest.raises(ValueError, match="declares no effect"):
        ensure_hides(bound, ())
