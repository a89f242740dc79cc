"""Airflow's hook for HiveServer2, its operators for Beeline and for any database, and the hook, operators and sensors
of its Databricks provider, in Airflow's own environment. Connections come from variables of the environment, so that
no database of Airflow is needed.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from pyhive import hive

from tests.clients.drivers import JARS, java
from tests.clients.environments import client_environment
from tests.clients.fix_server import RealServer

pytestmark = [pytest.mark.clients, pytest.mark.slow, pytest.mark.timeout(1800)]

SCRIPT = Path(__file__).with_name("airflow_tasks.py")
PACKAGES = (
    "apache-airflow-providers-apache-hive==9.7.1",
    "apache-airflow-providers-databricks==7.23.0",
    "apache-airflow==3.3.2",
    "pandas<3",
)
PATH = "/sql/1.0/warehouses/any"
PEOPLE = [[1, "ada"], [2, "bob"], [3, "cy"]]
EXPECTED: dict[str, Any] = {
    "hive beeline": [[3]],
    "hive beeline error": "UNRESOLVED_COLUMN",
    "hive checks": True,
    "hive query": [[3]],
    "hive get_pandas_df": [{"a": 1}],
    "hive get_records": [[0], [1], [2]],
    "hive get_results": {"data": [[1]], "header": [["a", "INT_TYPE", None, None, None, None, True]]},
    "hive get_df": [{"a": 1, "b": "x"}],
    "hive to_csv": "a,b\n1,x\n",
    "hive schema": [["airflow_suite"]],
    "hive context": [["airflow.ctx.dag_id", "daily"]],
    "hive run": [[3]],
    "hive get_first": [3],
    "hive test_connection": [True, "Connection successfully tested"],
    "databricks test_connection": [True, "Connection successfully tested"],
    "databricks partition": True,
    "databricks jsonl": '{"id": 1, "name": "ada"}\n{"id": 2, "name": "bob"}\n',
    "databricks start": None,
    "databricks awaited": True,
    "databricks run": [[[1]], [[3]]],
    "databricks get_records": PEOPLE,
    "databricks parameters": [["bob"]],
    "databricks get_df": [{"a": 1, "b": "x"}],
    "databricks operator": [[["n", "bigint", None, None, None, None, None]], [[3]]],
    "databricks file": "id,name\n1,ada\n",
    "databricks sensor": True,
    "databricks copy": [4],
    "databricks warehouse": [1],
    "databricks statement": [5],
    "databricks files": [2],
}


def test_hooks_and_operators_read_and_write(server: RealServer) -> None:
    with hive.connect("127.0.0.1", server.thrift_port) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE SCHEMA airflow_suite")
        cursor.execute("CREATE TABLE airflow_suite.people (id INT, name STRING)")
        cursor.execute("INSERT INTO airflow_suite.people VALUES (1, 'ada'), (2, 'bob'), (3, 'cy')")
        cursor.execute("CREATE TABLE airflow_suite.days (a INT, day DATE) PARTITIONED BY (day)")
        cursor.execute("INSERT INTO airflow_suite.days VALUES (1, DATE '2024-01-01')")
    folder = server.lake / "airflow_files"  # COPY INTO reads below the lake
    folder.mkdir()
    beeline = folder / "beeline"
    beeline.write_text(f'#!/bin/sh\nexec {java()} -cp "{JARS}" org.apache.hive.beeline.BeeLine "$@"\n')
    beeline.chmod(0o755)
    of_beeline = {"conn_type": "hive_cli", "host": "127.0.0.1", "port": server.thrift_port, "schema": "default"}
    of_hive = {"conn_type": "hiveserver2", "host": "127.0.0.1", "port": server.thrift_port, "login": "ada"}
    of_databricks = {"conn_type": "databricks", "host": "127.0.0.1", "port": server.http_port, "schema": "http"}
    environment = os.environ | {
        "AIRFLOW_HOME": str(folder),
        "PATH": os.pathsep.join((str(folder), os.environ["PATH"])),
        "AIRFLOW_CONN_HIVE_CLI_DEFAULT": json.dumps(of_beeline | {"login": "ada", "extra": {"use_beeline": True}}),
        "AIRFLOW_CTX_DAG_ID": "daily",
        "AIRFLOW_CONN_HIVESERVER2_DEFAULT": json.dumps(of_hive),
        "AIRFLOW_CONN_DATABRICKS_DEFAULT": json.dumps(of_databricks | {"password": "any"}),
    }
    uri = f"http://127.0.0.1:{server.http_port}{PATH}"
    command: list[str | Path] = [client_environment("airflow", *PACKAGES) / "python", SCRIPT, folder, PATH, uri]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("RESULTS ")]
    assert json.loads(line.removeprefix("RESULTS ")) == EXPECTED
