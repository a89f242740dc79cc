"""Hooks and operators of Airflow, run in an environment of its own: airflow_tasks.py FOLDER PATH URI.

Connections come from the environment (`AIRFLOW_CONN_…`). Prints a JSON object: the result of each call by its name.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from airflow.providers.apache.hive.hooks.hive import HiveServer2Hook
from airflow.providers.apache.hive.operators.hive import HiveOperator
from airflow.providers.common.sql.hooks.handlers import fetch_all_handler
from airflow.providers.common.sql.operators.sql import (
    SQLColumnCheckOperator,
    SQLExecuteQueryOperator,
    SQLTableCheckOperator,
)
from airflow.providers.databricks.hooks.databricks_sql import DatabricksSqlHook
from airflow.providers.databricks.operators.databricks import DatabricksSQLStatementsOperator
from airflow.providers.databricks.operators.databricks_sql import DatabricksCopyIntoOperator, DatabricksSqlOperator
from airflow.providers.databricks.operators.warehouse import DatabricksStartWarehouseOperator
from airflow.providers.databricks.sensors.databricks import DatabricksSQLStatementsSensor
from airflow.providers.databricks.sensors.databricks_partition import DatabricksPartitionSensor
from airflow.providers.databricks.sensors.databricks_sql import DatabricksSqlSensor

FOLDER, PATH, URI = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
TABLE = "airflow_suite.people"
COUNT = f"SELECT count(*) AS n FROM {TABLE}"


def hive() -> dict[str, Callable[[], Any]]:
    """Returns the calls of HiveServer2Hook, of the operator for Beeline, and of the operators for any database."""
    hook = HiveServer2Hook()
    connection = {"conn_id": "hiveserver2_default"}
    file = FOLDER / "hive.csv"

    def to_csv() -> str:
        hook.to_csv("SELECT 1 AS a, 'x' AS b", str(file), lineterminator="\n")
        return file.read_text()

    def beeline() -> Any:
        hql = f"CREATE TABLE beeline (a INT);\nINSERT INTO beeline SELECT count(*) FROM {TABLE};"
        HiveOperator(
            task_id="beeline",
            hql=hql,
            schema="airflow_suite",
            mapred_job_name="daily",
            hiveconfs={"hive.exec.dynamic.partition": "true"},
        ).execute({})
        return hook.get_records("SELECT * FROM airflow_suite.beeline")

    def beeline_error() -> str:
        try:
            HiveOperator(task_id="wrong", hql="SELECT nope;", mapred_job_name="daily").execute({})
        except Exception as error:  # noqa: BLE001 - reported to the test
            return re.findall(r"\[([A-Z_]+)", str(error))[0]
        return "no error"

    def checked() -> bool:
        SQLTableCheckOperator(
            task_id="table", table=TABLE, checks={"count": {"check_statement": "count(*) >= 3"}}, **connection
        ).execute({})
        columns = {"id": {"null_check": {"equal_to": 0}, "unique_check": {"equal_to": 0}, "max": {"geq_to": 3}}}
        SQLColumnCheckOperator(task_id="columns", table=TABLE, column_mapping=columns, **connection).execute({})
        return True

    return {
        "hive beeline": beeline,
        "hive beeline error": beeline_error,
        "hive checks": checked,
        "hive query": lambda: SQLExecuteQueryOperator(task_id="query", sql=COUNT, **connection).execute({}),
        "hive get_pandas_df": lambda: hook.get_pandas_df("SELECT 1 AS a").to_dict("records"),
        "hive get_records": lambda: hook.get_records("SELECT id FROM range(3)"),
        "hive get_results": lambda: hook.get_results(["USE default", "SELECT 1 AS a"], hive_conf={"hive.x": "1"}),
        "hive get_df": lambda: hook.get_df("SELECT 1 AS a, 'x' AS b").to_dict("records"),
        "hive to_csv": to_csv,
        "hive schema": lambda: hook.get_records("SELECT current_schema()", schema="airflow_suite"),
        "hive context": lambda: hook.get_records("SET airflow.ctx.dag_id"),
        "hive run": lambda: hook.run(COUNT, handler=fetch_all_handler),
        "hive get_first": lambda: hook.get_first(COUNT),
        "hive test_connection": lambda: hook.test_connection(),
    }


def databricks() -> dict[str, Callable[[], Any]]:
    """Returns the calls of the Databricks provider's hook, operators and sensor."""
    options = {"http_path": PATH, "client_parameters": {"_connection_uri": URI, "enable_telemetry": False}}
    connected = partial(DatabricksSqlHook, http_path=PATH, _connection_uri=URI, enable_telemetry=False)
    hook = connected()
    (FOLDER / "people.csv").write_text("id,name\n4,dora\n")

    def written_file() -> str:
        file = FOLDER / "databricks.csv"
        sql = f"SELECT id, name FROM {TABLE} ORDER BY id LIMIT 1"
        DatabricksSqlOperator(task_id="file", sql=sql, output_path=str(file), output_format="csv", **options).execute(
            {}
        )
        return file.read_text()

    def copied() -> Any:
        DatabricksCopyIntoOperator(
            task_id="copy",
            table_name=TABLE,
            file_location=str(FOLDER / "people.csv"),
            file_format="CSV",
            format_options={"header": "true", "inferSchema": "true"},
            **options,
        ).execute({})
        return connected().get_first(COUNT)

    def statement() -> Any:
        DatabricksSQLStatementsOperator(
            task_id="statement",
            statement=f"INSERT INTO {TABLE} VALUES (5, 'eve')",
            warehouse_id="any",
            polling_period_seconds=1,
            do_xcom_push=False,
        ).execute({})
        return connected().get_first(COUNT)

    def copied_files() -> Any:
        (FOLDER / "more.csv").write_text("id,name\n6,fay\n")
        for _ in range(2):
            DatabricksCopyIntoOperator(
                task_id="files",
                table_name=f"{TABLE}",
                file_location=str(FOLDER),
                file_format="CSV",
                files=["more.csv"],
                format_options={"header": "true", "inferSchema": "true"},
                force_copy=True,
                copy_options={"mergeSchema": "true"},
                **options,
            ).execute({})
        return connected().get_first(f"SELECT count(*) FROM {TABLE} WHERE id = 6")

    def jsonl() -> str:
        file = FOLDER / "databricks.jsonl"
        sql = f"SELECT id, name FROM {TABLE} ORDER BY id LIMIT 2"
        DatabricksSqlOperator(
            task_id="jsonl", sql=sql, output_path=str(file), output_format="jsonl", **options
        ).execute({})
        return file.read_text()

    def partition() -> bool:
        return DatabricksPartitionSensor(
            task_id="partition",
            http_path=PATH,
            catalog="spark_catalog",
            schema="airflow_suite",
            table_name="days",
            partitions={"day": "2024-01-01"},
            client_parameters=options["client_parameters"],
        ).poke({})

    def awaited() -> bool:
        sensor = DatabricksSQLStatementsSensor(
            task_id="awaited", statement=COUNT, warehouse_id="any", do_xcom_push=False, wait_for_termination=True
        )
        sensor.poke_interval = 1
        sensor.execute({})
        return sensor.statement_id != ""

    return {
        "databricks test_connection": lambda: hook.test_connection(),
        "databricks partition": partition,
        "databricks jsonl": jsonl,
        "databricks start": lambda: DatabricksStartWarehouseOperator(task_id="start", warehouse_id="any").execute({}),
        "databricks awaited": awaited,
        "databricks run": lambda: hook.run(["SELECT 1", COUNT], handler=fetch_all_handler, split_statements=False),
        "databricks get_records": lambda: hook.get_records(f"SELECT * FROM {TABLE} ORDER BY id"),
        "databricks parameters": lambda: hook.get_records(
            f"SELECT name FROM {TABLE} WHERE id = :id", parameters={"id": 2}
        ),
        "databricks get_df": lambda: hook.get_df("SELECT 1 AS a, 'x' AS b").to_dict("records"),
        "databricks operator": lambda: DatabricksSqlOperator(task_id="rows", sql=COUNT, **options).execute({}),
        "databricks file": written_file,
        "databricks sensor": lambda: DatabricksSqlSensor(task_id="sensor", sql=COUNT, **options).poke({}),
        "databricks copy": copied,
        "databricks warehouse": lambda: connected(http_path=None, sql_endpoint_name="delta-gateway").get_first(
            "SELECT 1"
        ),
        "databricks statement": statement,
        "databricks files": copied_files,
    }


def main() -> None:
    results: dict[str, Any] = {}
    for name, call in {**hive(), **databricks()}.items():
        try:
            results[name] = call()
        except Exception as error:  # noqa: BLE001 - reported to the test
            results[name] = {"error": f"{type(error).__name__}: {error}"}
    print(
        "RESULTS " + json.dumps(results, default=lambda value: list(value) if isinstance(value, tuple) else str(value))
    )


main()
