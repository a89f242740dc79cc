"""Settings and variables from unmodified clients: Airflow's hook, JDBC URLs, variables in impyla's scripts."""

from __future__ import annotations

from contextlib import closing

import impala.dbapi
import pytest
from py4j.java_gateway import JavaGateway
from pyhive import hive

from tests.clients.drivers import JdbcDriver, StatementFailed, open_driver
from tests.clients.fix_server import RealServer

pytestmark = [pytest.mark.clients, pytest.mark.spark]

# HiveServer2Hook (apache-airflow-providers-apache-hive, `_get_results`) sends these before a task's statements.
AIRFLOW_CONTEXT = {
    "airflow.ctx.dag_email": "a@example.com,b@example.com",
    "airflow.ctx.dag_owner": "airflow",
    "airflow.ctx.dag_id": "daily",
    "airflow.ctx.task_id": "load",
    "airflow.ctx.execution_date": "2024-01-01T00:00:00+00:00",
    "airflow.ctx.try_number": "1",
    "airflow.ctx.dag_run_id": "manual__2024-01-01T00:00:00+00:00",
    "airflow.ctx.logical_date": "",  # Airflow 3 sends the keys without a value, too
    "airflow.ctx.team_name": "",
}


def test_the_hook_of_airflow_sets_its_context_and_reads_rows(server: RealServer) -> None:
    with closing(hive.connect("127.0.0.1", server.thrift_port, username="ada", database="default")) as connection:
        cursor = connection.cursor()
        for key, value in {**AIRFLOW_CONTEXT, "hive.exec.parallel": "true"}.items():
            cursor.execute(f"set {key}={value}")
        cursor.execute("SELECT count(*) FROM shop.customers")
        assert cursor.fetchall()[0][0] > 100
        cursor.execute("SET")
        assert set(AIRFLOW_CONTEXT.items()) <= set(cursor.fetchall())


def test_pyhive_opens_with_settings_of_an_application_and_reads_the_warning(server: RealServer) -> None:
    configuration = {
        "spark.driver.memory": "2g",
        "spark.yarn.queue": "etl",
        "spark.executor.instances": "4",
        "spark.app.name": "dbt",
        "spark.sql.warehouse.dir": "/tmp/w",
        "set:hiveconf:a": "1",
        "livy.session.name": "s",
        "spark.sql.shuffle.partitions": "3",
    }
    with closing(hive.connect("127.0.0.1", server.thrift_port, configuration=configuration)) as connection:
        cursor = connection.cursor()
        cursor.execute("SELECT ${hiveconf:a} + 1")
        (warning,) = [line for line in cursor.fetch_logs() if line.startswith("WARNING")]
        keys = {key.removeprefix("set:hiveconf:") for key in list(configuration)[:-1]}
        assert warning.partition("settings without effect: ")[2].split(", ") == sorted(keys)
        assert cursor.fetchall() == [(2,)]
        cursor.execute("SET spark.sql.shuffle.partitions")
        assert cursor.fetchall() == [("spark.sql.shuffle.partitions", "3")]
        with pytest.raises(hive.OperationalError, match="CONFIG_NOT_AVAILABLE"):
            cursor.execute("SET spark.driver.memory=2g")
    with pytest.raises(hive.OperationalError, match="CONFIG_NOT_AVAILABLE"):
        hive.connect("127.0.0.1", server.thrift_port, configuration={"spark.sql.nope": "1"})


def test_impyla_sets_the_timeout_of_impala_and_variables(server: RealServer) -> None:
    with closing(impala.dbapi.connect("127.0.0.1", server.thrift_port, auth_mechanism="PLAIN")) as connection:
        cursor = connection.cursor(configuration={"idle_session_timeout": "60"})
        cursor.execute("SET idle_session_timeout=600")
        cursor.execute("SET hivevar:x=5")
        cursor.execute("SELECT id FROM range(10) WHERE id = ${hivevar:x}")
        assert cursor.fetchall() == [(5,)]
        cursor.close()


def test_a_url_of_jdbc_has_variables_and_settings(server: RealServer, jvm: JavaGateway) -> None:
    tail = "default?spark.driver.memory=2g;airflow.ctx.dag_id=d#x=5;day=2024-01-01"
    with closing(JdbcDriver(jvm, f"jdbc:hive2://127.0.0.1:{server.thrift_port}/{tail}")) as driver:
        assert driver.run("SELECT ${x}, ${hivevar:day}, '${day}'") == [["5", "2024-01-01", "${day}"]]
        with pytest.raises(StatementFailed, match=r"UNRESOLVED_VARIABLE.*42883"):
            driver.run("SELECT ${hivevar:nope}")


@pytest.mark.parametrize("kind", ["pyhive", "impyla"])
def test_an_unknown_variable_is_named(server: RealServer, kind: str) -> None:
    with (
        closing(open_driver(kind, server.thrift_port, None)) as driver,
        pytest.raises(StatementFailed, match=r"UNRESOLVED_VARIABLE.*\$\{hivevar:nope\}"),
    ):
        driver.run("SELECT ${hivevar:nope}")
