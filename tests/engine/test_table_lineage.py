"""The edges of lineage that statements make, and the relations and lists that show them."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from catalog.conditions import StatementCancelled
from catalog.lineage.edges import Edge, EndKind
from catalog.system.lineage_tables import LINEAGE_RELATIONS
from engine.concurrency.cancel import CancelToken
from engine.main import EngineOptions, LakeEngine, LakeSession, open_sources
from engine.runtime.accesses import Lineage
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest
from engine.spark.session import SparkDriver
from engine.statements.listings.statement import ListLineage
from tests.engine.lake_sessions import SLOW, begun, refuse, rows, run

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def tables(engine: LakeEngine, lake: Path) -> Iterator[LakeSession]:
    session = engine.open_session(Identity("ann"), settings={}, catalog=None, schema=None)
    for name, using in (("a", "delta"), ("b", "delta"), ("i", "iceberg"), ("t", "delta"), ("ti", "iceberg")):
        run(session, f"CREATE TABLE {name} (id INT, x STRING) USING {using}")
    for name in ("a", "b", "i"):
        run(session, f"INSERT INTO {name} VALUES (1, 'p'), (2, 'q')")
    (lake / "landing").mkdir()
    (lake / "landing/1.csv").write_text("5,r\n")
    for text in (
        "CREATE VIEW v AS SELECT * FROM a",
        "CREATE VIEW w AS SELECT v.* FROM v JOIN i USING (id)",
        "CREATE TEMP VIEW tmp AS SELECT * FROM b WHERE id IN (SELECT id FROM w)",
        "CREATE FUNCTION largest() RETURNS INT RETURN (SELECT max(id) FROM i)",
        "CREATE TABLE mapping (id INT)",
        "CREATE FUNCTION kept(id INT) RETURNS BOOLEAN RETURN id IN (SELECT id FROM mapping)",
        "CREATE TABLE filtered (id INT, x STRING)",
        "INSERT INTO mapping VALUES (1)",
        "INSERT INTO filtered VALUES (1, 'p'), (2, 'q')",
        "ALTER TABLE filtered SET ROW FILTER kept ON (id)",
    ):
        run(session, text)
    yield session
    session.close()


def edges_of(engine: LakeEngine) -> list[Edge]:
    return engine._sources.lineage.load().edges()


def shown(edges: list[Edge]) -> set[str]:
    return {f"{each.source.parts[-1]} {each.statement_type} {each.target.parts[-1]}" for each in edges}


def made(engine: LakeEngine, session: LakeSession, *texts: str) -> set[str]:
    """Returns the edges that statements add or change."""
    before = edges_of(engine)
    for text in texts:
        run(session, text)
    return shown([each for each in edges_of(engine) if each not in before])


STATEMENTS = [
    ("INSERT INTO t VALUES (1, 'x')", ""),
    ("INSERT INTO t SELECT id, 'x' FROM range(2)", ""),
    ("INSERT INTO t SELECT * FROM a", "a INSERT t"),
    ("INSERT INTO ti SELECT a.* FROM a JOIN i USING (id)", "a INSERT ti, i INSERT ti"),
    ("INSERT OVERWRITE t SELECT * FROM a WHERE id IN (SELECT id FROM b)", "a INSERT t, b INSERT t"),
    ("INSERT INTO t REPLACE WHERE id = 1 SELECT * FROM i WHERE id = 1", "i INSERT t"),
    ("INSERT INTO t SELECT * FROM t", ""),
    ("FROM a INSERT INTO t SELECT id, x INSERT INTO ti SELECT id, x", "a INSERT t, a INSERT ti"),
    ("CREATE TABLE c1 AS SELECT * FROM a", "a CREATE TABLE AS SELECT c1"),
    ("CREATE TABLE c2 USING iceberg AS WITH q AS (SELECT * FROM i) SELECT * FROM q", "i CREATE TABLE AS SELECT c2"),
    ("CREATE OR REPLACE TABLE c1 AS SELECT * FROM b", "b CREATE OR REPLACE TABLE AS SELECT c1"),
    ("REPLACE TABLE c2 USING iceberg AS SELECT * FROM a", "a REPLACE TABLE AS SELECT c2"),
    ("CREATE OR REPLACE TABLE c3 AS SELECT 1 AS one", ""),
    ("CREATE TABLE IF NOT EXISTS c3 AS SELECT * FROM a", ""),
    ("CREATE TABLE alike LIKE a", ""),
    ("MERGE INTO t USING a ON t.id = a.id WHEN MATCHED THEN UPDATE SET x = a.x", "a MERGE t"),
    ("MERGE INTO ti USING (SELECT * FROM b) s ON ti.id = s.id + 100 WHEN NOT MATCHED THEN INSERT *", "b MERGE ti"),
    ("UPDATE t SET x = (SELECT max(x) FROM i)", "i UPDATE t"),
    ("UPDATE t SET x = 'y'", ""),
    ("DELETE FROM t WHERE id IN (SELECT id FROM a)", "a DELETE t"),
    ("DELETE FROM ti WHERE EXISTS (SELECT 1 FROM b WHERE b.id = ti.id)", "b DELETE ti"),
    ("COPY INTO t FROM (SELECT CAST(_c0 AS INT) AS id, _c1 AS x FROM '{lake}/landing') FILEFORMAT = CSV",
     "{lake}/landing COPY INTO t"),
    ("INSERT INTO t SELECT CAST(_c0 AS INT), _c1 FROM read_files('{lake}/landing', format => 'csv', header => false)",
     "{lake}/landing INSERT t"),
    ("INSERT INTO t SELECT * FROM delta.`{lake}/default/a`", "a INSERT t"),
    ("CREATE TABLE delta.`{lake}/made` AS SELECT * FROM a", "a CREATE TABLE AS SELECT {lake}/made"),
    ("CREATE TABLE copy1 SHALLOW CLONE a", "a CLONE copy1"),
    ("CREATE OR REPLACE TABLE copy1 DEEP CLONE b", "b CLONE copy1"),
    ("INSERT INTO t SELECT * FROM a VERSION AS OF 1", "a INSERT t"),
    ("INSERT INTO t SELECT * FROM v", "v INSERT t, a INSERT t"),
    ("INSERT INTO t SELECT * FROM w", "w INSERT t, v INSERT t, a INSERT t, i INSERT t"),
    ("INSERT INTO ti SELECT * FROM tmp", "b INSERT ti, w INSERT ti, v INSERT ti, a INSERT ti, i INSERT ti"),
    ("INSERT INTO t SELECT largest(), 'x'", "i INSERT t"),
    ("INSERT INTO t SELECT * FROM filtered", "filtered INSERT t"),
    ("INSERT INTO t (x) SELECT table_name FROM information_schema.tables", ""),
    ("CALL system.snapshot(source_table => 'default.a', table => 'default.snap')", "a CALL snapshot snap"),
    ("CALL system.add_files(table => 'default.ti', source_table => 'default.a')", "a CALL add_files ti"),
    ("BEGIN INSERT INTO t SELECT * FROM a; INSERT INTO ti SELECT * FROM b; END", "a INSERT t, b INSERT ti"),
    ("EXECUTE IMMEDIATE 'INSERT INTO t SELECT * FROM b'", "b INSERT t"),
    ("EXPLAIN INSERT INTO t SELECT * FROM a", ""),
    ("SELECT * FROM a", ""),
    ("CREATE OR REPLACE VIEW v2 AS SELECT * FROM a", ""),
    ("OPTIMIZE t", ""),
    ("ALTER TABLE t ADD COLUMN more INT", ""),
]  # fmt: skip


@pytest.mark.parametrize(("text", "edges"), STATEMENTS, ids=[text[:60] for text, _ in STATEMENTS])
def test_edges_of_a_statement(engine: LakeEngine, tables: LakeSession, lake: Path, text: str, edges: str) -> None:
    expected = {each for each in edges.replace("{lake}", str(lake)).split(", ") if each}
    assert made(engine, tables, text.replace("{lake}", str(lake))) == expected


def test_path_of_a_named_table_is_the_table(engine: LakeEngine, tables: LakeSession, lake: Path) -> None:
    run(tables, f"CREATE TABLE placed (id INT, x STRING) LOCATION '{lake}/places/placed'")
    assert made(engine, tables, f"INSERT INTO delta.`{lake}/places/placed` SELECT * FROM a") == {"a INSERT placed"}
    assert made(engine, tables, f"INSERT INTO t (id, x) SELECT * FROM delta.`{lake}/places/placed`") == {
        "placed INSERT t"
    }


def test_failed_and_cancelled_statements_have_no_edges(engine: LakeEngine, tables: LakeSession, lake: Path) -> None:
    run(tables, "CREATE TABLE checked (id BIGINT CHECK (id < 2))")
    run(tables, "CREATE TABLE sink (id BIGINT)")
    before = edges_of(engine)
    refuse(tables, "INSERT INTO checked SELECT id FROM a")
    refuse(tables, "MERGE INTO checked USING a ON true WHEN NOT MATCHED THEN INSERT (id) VALUES (a.id)")
    refuse(tables, "INSERT INTO sink SELECT id FROM missing")
    cancel = CancelToken()
    with ThreadPoolExecutor() as pool:
        request = StatementRequest(identity=Identity("ann"), cancel=cancel)
        write = pool.submit(tables.execute, f"INSERT INTO sink {SLOW} AND id NOT IN (SELECT -id FROM a)", request)
        begun(write, lake / "default/sink")
        cancel.cancel()
        with pytest.raises(StatementCancelled):
            write.result()
    assert edges_of(engine) == before
    assert made(engine, tables, "INSERT INTO checked SELECT id FROM a WHERE id < 2") == {"a INSERT checked"}


def test_edge_has_the_last_statement_and_the_columns(engine: LakeEngine, tables: LakeSession) -> None:
    run(tables, "CREATE TABLE kept (k INT, l STRING, m STRING)")
    lineages: list[Lineage] = []
    for user, text in (
        ("ann", "SELECT id, x, 'c' FROM a"),
        ("bob", "SELECT a.id + b.id, upper(b.x), a.x FROM v a JOIN b USING (id)"),
    ):
        request = StatementRequest(
            identity=Identity(user), on_lineage=lineages.append, statement_id=uuid.uuid5(uuid.NAMESPACE_URL, user).hex
        )
        tables.execute(f"INSERT INTO kept {text}", request).close()
    assert len(lineages) == 2
    found = {each.source.parts[-1]: each for each in edges_of(engine) if each.target.parts[-1] == "kept"}
    assert found.keys() == {"a", "v", "b"}
    assert (found["a"].count, found["a"].user, found["a"].statement_id) == (
        2,
        "bob",
        str(uuid.uuid5(uuid.NAMESPACE_URL, "bob")),
    )
    assert found["a"].first_ms < found["a"].last_ms
    assert set(found["a"].columns) == {("id", "k"), ("x", "l"), ("x", "m")}
    assert set(found["b"].columns) == {("id", "k"), ("x", "l")}
    assert (found["v"].columns, found["v"].source.kind) == ((), EndKind.VIEW)


def test_relations_and_list_show_the_edges(engine: LakeEngine, tables: LakeSession) -> None:
    run(tables, "CREATE TABLE shown AS SELECT id FROM a")
    columns = "source_table_full_name, source_type, target_table_name, statement_type, statement_count, created_by"
    selected = rows(tables, f"SELECT {columns} FROM system.access.table_lineage WHERE target_table_name = 'shown'")
    assert selected == [("spark_catalog.default.a", "TABLE", "shown", "CREATE TABLE AS SELECT", 1, "ann")]
    days = "event_date = to_date(event_time), first_event_time = event_time, length(record_id)"
    assert rows(tables, f"SELECT {days} FROM system.table_lineage WHERE target_table_name = 'shown'") == [
        (True, True, 32)
    ]
    for name, types in LINEAGE_RELATIONS.items():
        for text in (f"DESCRIBE system.access.{name}", f"DESCRIBE QUERY SELECT * FROM system.access.{name}"):
            assert [row[:2] for row in rows(tables, text)] == list(types)
    listed = _listed(tables, "shown")
    assert listed == [(True, "a", "TABLE", "CREATE TABLE AS SELECT")]
    assert (False, "shown", "TABLE", "CREATE TABLE AS SELECT") in _listed(tables, "a")


def test_renamed_table_keeps_its_edges_and_dropped_one_loses_them(engine: LakeEngine, tables: LakeSession) -> None:
    for text in (
        "CREATE TABLE first AS SELECT id FROM a",
        "CREATE TABLE second AS SELECT id FROM first",
        "ALTER TABLE first RENAME TO renamed",
    ):
        run(tables, text)
    own = {"a CREATE TABLE AS SELECT renamed", "renamed CREATE TABLE AS SELECT second"}
    assert own <= shown(edges_of(engine))
    run(tables, "DROP TABLE renamed")
    assert not [each for each in shown(edges_of(engine)) if "renamed" in each or each.endswith("second")]
    run(tables, "CREATE SCHEMA other")
    assert made(engine, tables, "CREATE TABLE other.o AS SELECT id FROM a") == {"a CREATE TABLE AS SELECT o"}
    run(tables, "DROP SCHEMA other CASCADE")
    assert not [each for each in shown(edges_of(engine)) if each.endswith(" o")]


def test_edges_of_two_servers_outlive_both(tmp_path: Path, spark_driver: SparkDriver) -> None:
    (tmp_path / "lake").mkdir()
    options = EngineOptions(lake_folder=str(tmp_path / "lake"), catalog_folder=str(tmp_path / "catalog"))
    sources = [open_sources(options) for _ in range(3)]
    sessions = [
        LakeEngine(each, spark_driver).open_session(Identity("ann"), settings={}, catalog=None, schema=None)
        for each in sources
    ]
    run(sessions[0], "CREATE TABLE a AS SELECT 1 AS id")
    assert rows(sessions[0], "SELECT * FROM a") == [(1,)]
    assert not (tmp_path / "catalog/lineage").exists(), "nothing is read or written without an edge"
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda at: run(sessions[at], f"CREATE TABLE t{at} AS SELECT * FROM a"), (0, 1)))
    assert {"t0", "t1"} >= {row[1] for row in _listed(sessions[0], "a")} >= {"t0"}
    for each in sources[:2]:
        each.close()
    assert {row[1] for row in _listed(sessions[2], "a")} == {"t0", "t1"}
    for session in sessions:
        session.close()
    sources[2].close()


def _listed(session: LakeSession, table: str) -> list[tuple[Any, ...]]:
    request = StatementRequest(identity=Identity("ann"))
    result = session.run(ListLineage(table_parts=("spark_catalog", "default", table)), request)
    return [
        (row["is_upstream"], row["table"], row["type"], row["statement_type"])
        for batch in result.batches()
        for row in batch.to_pylist()
    ]
