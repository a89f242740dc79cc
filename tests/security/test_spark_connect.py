"""Rights, row filters and column masks of Spark Connect's DataFrames."""

from __future__ import annotations

import signal
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pyspark.sql.connect.functions as F
import pytest
from pyspark.errors.exceptions.connect import (
    AnalysisException,
    SparkConnectGrpcException,
    UnsupportedOperationException,
)
from pyspark.sql.connect.observation import Observation
from pyspark.sql.connect.session import SparkSession

from tests.clients.connect_sessions import delta_table_class, remote_session
from tests.gateway.authenticators.users import make_users
from tests.server_process import ServerProcess

pytestmark = [pytest.mark.clients, pytest.mark.spark]

SETUP = (
    "CREATE SCHEMA s",
    "CREATE TABLE s.open (id INT, region STRING) USING delta",
    "CREATE TABLE s.secret (id INT) USING delta",
    "CREATE TABLE s.governed (id INT, region STRING, email STRING) USING delta",
    "INSERT INTO s.open VALUES (1, 'north'), (2, 'south')",
    "INSERT INTO s.secret VALUES (7)",
    "INSERT INTO s.governed VALUES (1, 'north', 'a@x'), (2, 'south', 'b@x')",
    "CREATE FUNCTION s.in_north(r STRING) RETURNS BOOLEAN RETURN r = 'north'",
    "CREATE FUNCTION s.hidden(v STRING) RETURNS STRING RETURN '***'",
    "ALTER TABLE s.governed SET ROW FILTER s.in_north ON (region)",
    "ALTER TABLE s.governed ALTER COLUMN email SET MASK s.hidden",
    "GRANT USE CATALOG ON CATALOG spark_catalog TO bob",
    "GRANT USE SCHEMA ON SCHEMA s TO bob",
    "GRANT SELECT ON TABLE s.open TO bob",
    "GRANT SELECT ON TABLE s.governed TO bob",
)


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], SparkSession]]:
    """Yields a function that opens a session of a user; ann is the administrator."""
    folder = tmp_path_factory.mktemp("governed")
    (folder / "lake").mkdir()
    (folder / "catalog").mkdir(mode=0o700)
    process = ServerProcess(
        folder,
        str(folder / "lake"),
        GATEWAY_LAKE_CATALOG_FOLDER=str(folder / "catalog"),
        GATEWAY_AUTHENTICATION_METHODS='["password"]',
        GATEWAY_AUTHENTICATION_PASSWORD_FILE=str(make_users(folder / "passwords")),
        GATEWAY_AUTHENTICATION_ADMINS='["ann"]',
        GATEWAY_SERVER_CONNECT_PORT="0",
    )
    with ExitStack() as opened:
        port = process.ports()["connect"]

        def session(user: str, **parameters: str) -> SparkSession:
            header = f"Basic {b64encode(f'{user}:{user * 2}'.encode()).decode()}"
            return opened.enter_context(remote_session(port, parameters={"authorization": header, **parameters}))

        ann = session("ann")
        for text in SETUP:
            ann.sql(text)
        yield session
    process.popen.send_signal(signal.SIGTERM)
    process.end()


@pytest.fixture(scope="module")
def bob(sessions: Callable[[str], SparkSession]) -> SparkSession:
    return sessions("bob")


Run = Callable[[Any], Any]
# Each is denied for the table s.secret, and allowed for s.open.
READS: dict[str, Callable[[Any, str], Any]] = {
    "table": lambda s, t: s.table(t).collect(),
    "filter": lambda s, t: s.table(t).filter("id > 0").collect(),
    "join": lambda s, t: s.table("s.open").join(s.table(t), "id").collect(),
    "SQL": lambda s, t: s.sql(f"SELECT * FROM {t}").collect(),
    "SQL within a DataFrame": lambda s, t: s.sql(f"SELECT id FROM {t}").groupBy().count().collect(),
    "subquery": lambda s, t: (
        s.range(1).where(F.col("id").isin(1) | s.table(t).select("id").limit(1).exists()).collect()
    ),
    "schema": lambda s, t: s.table(t).schema,
    "explain": lambda s, t: s.table(t).explain(),
    "show": lambda s, t: s.table(t).show(),
    "view": lambda s, t: s.table(t).createOrReplaceTempView("v"),
    "older version": lambda s, t: s.read.option("versionAsOf", 1).table(t).collect(),
    "write": lambda s, t: s.table(t).createTempView(f"w_{t[2:]}"),
    "columns": lambda s, t: s.catalog.listColumns(t),
    "input files": lambda s, t: s.table(t).inputFiles(),
    "observed": lambda s, t: s.table(t).observe("m", F.count("*").alias("rows")).collect(),
    "cached": lambda s, t: s.catalog.cacheTable(t),
}


@pytest.mark.parametrize("case", READS)
def test_table_without_privilege_is_denied_in_every_form(bob: SparkSession, case: str) -> None:
    READS[case](bob, "s.open")
    with pytest.raises(AnalysisException) as caught:
        READS[case](bob, "s.secret")
    assert caught.value.getSqlState() in ("42501", "42P01")


def test_name_of_a_hidden_table_is_not_listed(bob: SparkSession) -> None:
    listed = [table.name for table in bob.catalog.listTables("s") if not table.isTemporary]
    assert listed == ["governed", "open"]
    assert not bob.catalog.tableExists("s.secret") and bob.catalog.tableExists("s.open")


GOVERNED: dict[str, tuple[Run, list[tuple[Any, ...]]]] = {
    "all": (lambda t: t, [(1, "north", "***")]),
    "filtered": (lambda t: t.filter("region = 'south'"), []),
    "counted": (lambda t: t.groupBy().count(), [(1,)]),
    "by its mask": (lambda t: t.filter("email = 'a@x'"), []),
    "aggregated": (lambda t: t.agg(F.max("id"), F.max("email")), [(1, "***")]),
    "joined with itself": (lambda t: t.alias("a").join(t.alias("b")).select("a.id", "b.email"), [(1, "***")]),
    "grouped": (lambda t: t.groupBy("email").count(), [("***", 1)]),
}


@pytest.mark.parametrize("case", GOVERNED)
def test_filter_and_mask_apply_to_dataframes(bob: SparkSession, case: str) -> None:
    run, expected = GOVERNED[case]
    assert [tuple(row) for row in run(bob.table("s.governed")).collect()] == expected


def test_input_files_of_a_protected_table_are_rejected(bob: SparkSession) -> None:
    with pytest.raises(UnsupportedOperationException, match="a table with a row filter or column masks"):
        bob.table("s.governed").inputFiles()
    with pytest.raises(AnalysisException, match="_metadata"):
        bob.sql("SELECT _metadata.file_path FROM s.governed").collect()
    assert len(bob.table("s.open").inputFiles()) > 0


def test_observed_metrics_are_those_of_visible_rows(bob: SparkSession) -> None:
    for number, condition in enumerate(("true", "region = 'south'")):
        metrics = Observation(f"rows {number}")
        observed = bob.table("s.governed").observe(metrics, F.count("*").alias("rows"), F.max("email").alias("email"))
        observed.filter(condition).collect()
        assert metrics.get == {"rows": 1, "email": "***"}


def test_view_over_a_dataframe_has_filter_and_mask(bob: SparkSession) -> None:
    bob.table("s.governed").createOrReplaceTempView("mine")
    assert [tuple(row) for row in bob.sql("SELECT * FROM mine").collect()] == [(1, "north", "***")]


WRITES: dict[str, Run] = {
    "append": lambda s: s.range(1).selectExpr("id", "'x' AS region").write.mode("append").saveAsTable("s.open"),
    "insert": lambda s: s.table("s.open").write.insertInto("s.open"),
    "create": lambda s: s.range(1).write.saveAsTable("s.new"),
    "replace": lambda s: s.range(1).writeTo("s.open").createOrReplace(),
    "merge": lambda s: s.table("s.open").alias("o").mergeInto("s.open", F.expr("false")).whenMatched().delete().merge(),
    "drop": lambda s: s.catalog.dropTable("s.open"),
    "truncate": lambda s: s.sql("TRUNCATE TABLE s.open"),
}


@pytest.mark.parametrize("case", WRITES)
def test_write_without_privilege_is_denied(bob: SparkSession, case: str) -> None:
    with pytest.raises(AnalysisException) as caught:
        WRITES[case](bob)
    assert caught.value.getSqlState() == "42501"
    assert bob.table("s.open").count() == 2


def test_path_and_files_without_privilege_are_denied(
    bob: SparkSession, sessions: Callable[[str], SparkSession]
) -> None:
    detail = sessions("ann").sql("DESCRIBE DETAIL s.secret").collect()[0]
    for read in (bob.read.format("delta").load(detail.location), bob.read.parquet(detail.location)):
        with pytest.raises(AnalysisException):
            read.collect()
    with pytest.raises(AnalysisException):
        bob.range(1).write.format("delta").mode("append").save(detail.location)


def test_session_id_of_another_user_gives_no_access(sessions: Callable[..., SparkSession]) -> None:
    ann = sessions("ann")
    ann.sql("CREATE TEMP VIEW private AS SELECT 1 AS x")
    stolen = sessions("bob", session_id=ann.session_id)
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        stolen.sql("SELECT * FROM private").collect()
    assert ann.sql("SELECT * FROM private").collect()[0].x == 1


def test_wrong_password_is_rejected(sessions: Callable[..., SparkSession], bob: SparkSession) -> None:
    header = f"Basic {b64encode(b'bob:wrong').decode()}"
    port = int(bob.client.host.rpartition(":")[2]) if ":" in bob.client.host else bob.client._builder._port
    with pytest.raises(SparkConnectGrpcException, match="AUTHENTICATION_FAILED"):
        with remote_session(port, parameters={"authorization": header}) as session:
            session.range(1).collect()


# Each is denied for the table s.secret, and allowed for s.open.
DELTA_READS: dict[str, Run] = {
    "rows": lambda t: t.toDF().collect(),
    "within a query": lambda t: t.alias("a").toDF().filter("a.id > 0").collect(),
    "schema": lambda t: t.toDF().schema,
    "history": lambda t: t.history().collect(),
    "detail": lambda t: t.detail().collect(),
    "schema of the detail": lambda t: t.detail().schema,
}


@pytest.mark.parametrize("case", DELTA_READS)
def test_delta_table_without_privilege_is_not_read(bob: SparkSession, case: str) -> None:
    api = delta_table_class()
    DELTA_READS[case](api.forName(bob, "s.open"))
    with pytest.raises(AnalysisException) as caught:
        DELTA_READS[case](api.forName(bob, "s.secret"))
    assert caught.value.getSqlState() in ("42501", "42P01")


def _merge(table: Any) -> None:
    source = table.toDF().alias("n")
    table.alias("o").merge(source, "o.id = n.id").whenMatchedDelete().execute()


DELTA_WRITES: dict[str, Run] = {
    "delete": lambda t: t.delete(),
    "update": lambda t: t.update(set={"id": "9"}),
    "merge": _merge,
    "optimize": lambda t: t.optimize().executeCompaction(),
    "vacuum": lambda t: t.vacuum(),
    "restore": lambda t: t.restoreToVersion(0),
    "generate": lambda t: t.generate("symlink_format_manifest"),
    "feature": lambda t: t.addFeatureSupport("deletionVectors"),
    "dropped feature": lambda t: t.dropFeatureSupport("deletionVectors"),
    "protocol": lambda t: t.upgradeTableProtocol(3, 7),
    "clone": lambda t: t.clone("s.cloned", isShallow=True),
}


@pytest.mark.parametrize("case", DELTA_WRITES)
def test_delta_table_without_privilege_is_not_changed(
    bob: SparkSession, sessions: Callable[[str], SparkSession], case: str
) -> None:
    with pytest.raises(AnalysisException) as caught:
        DELTA_WRITES[case](delta_table_class().forName(bob, "s.open"))
    assert caught.value.getSqlState() == "42501"
    history = sessions("ann").sql("DESCRIBE HISTORY s.open").collect()
    assert [row.operation for row in history] == ["WRITE", "CREATE TABLE"]


def test_delta_table_has_filter_and_mask(bob: SparkSession, sessions: Callable[[str], SparkSession]) -> None:
    table = delta_table_class().forName(bob, "s.governed")
    assert [tuple(row) for row in table.toDF().collect()] == [(1, "north", "***")]
    assert [tuple(row) for row in table.alias("g").toDF().select("g.email").collect()] == [("***",)]
    location = sessions("ann").sql("DESCRIBE DETAIL s.open").collect()[0].location.removesuffix("open") + "governed"
    assert [tuple(row) for row in delta_table_class().forPath(bob, location).toDF().collect()] == [(1, "north", "***")]
