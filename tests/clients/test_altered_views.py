"""Views as dbt alters and lists them: its adapters' statements, through the clients that they use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import impala.dbapi
import pytest
from pyhive import hive

from tests.clients.fix_server import RealServer
from tests.clients.test_databricks_connector import connect

pytestmark = [pytest.mark.clients, pytest.mark.spark]


@pytest.fixture(scope="module")
def schema(server: RealServer) -> Iterator[str]:
    http = server.http()
    http.run("CREATE SCHEMA IF NOT EXISTS dbt_views")
    yield "dbt_views"
    http.run("DROP SCHEMA dbt_views CASCADE")


def test_dbt_databricks_renames_and_lists_views(server: RealServer, schema: str) -> None:
    """`databricks__rename_relation`, `alter_view` and `list_relations` in dbt-databricks; SQLAlchemy's view names."""
    with closing(connect(server.http_port, schema=schema)) as connection:
        cursor = connection.cursor()
        for text in (
            "create or replace view `spark_catalog`.`dbt_views`.`m__dbt_tmp` as select 1 as id",
            "ALTER VIEW `spark_catalog`.`dbt_views`.`m__dbt_tmp` RENAME TO `spark_catalog`.`dbt_views`.`m`",
            "ALTER VIEW `spark_catalog`.`dbt_views`.`m` AS ( select 2 as id )",
            "ALTER VIEW `spark_catalog`.`dbt_views`.`m` SET TBLPROPERTIES ('k' = 'v')",
        ):
            cursor.execute(text)
        cursor.execute("SELECT id FROM m")
        assert [tuple(row) for row in cursor.fetchall()] == [(2,)]
        cursor.execute("SHOW VIEWS FROM `spark_catalog`.`dbt_views`")
        assert [each[0] for each in cursor.description] == ["namespace", "viewName", "isTemporary", "isMaterialized"]
        assert [tuple(row) for row in cursor.fetchall()] == [("dbt_views", "m", False, False)]
        cursor.execute("DROP VIEW m")


def test_clients_of_hive_rename_views_and_list_them_in_three_columns(server: RealServer, schema: str) -> None:
    connections = (
        hive.connect("127.0.0.1", server.thrift_port),
        impala.dbapi.connect("127.0.0.1", server.thrift_port, auth_mechanism="PLAIN"),
    )
    for number, connection in enumerate(connections):
        with closing(connection):
            cursor = connection.cursor()
            cursor.execute(f"create view dbt_views.a{number} as select 1 as id")
            cursor.execute(f"alter view dbt_views.a{number} rename to dbt_views.b{number}")
            cursor.execute(f"SHOW VIEWS IN dbt_views LIKE 'b{number}'")
            assert cursor.fetchall() == [("dbt_views", f"b{number}", False)]
            cursor.execute(f"DROP VIEW dbt_views.b{number}")
            cursor.close()
