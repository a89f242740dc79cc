"""Superset's engine specs for Hive and Databricks, in Superset's own process with a separate database."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.clients.environments import client_environment
from tests.clients.fix_server import RealServer

pytestmark = [pytest.mark.clients, pytest.mark.slow, pytest.mark.timeout(1800)]

SCRIPT = Path(__file__).with_name("superset_specs.py")
PACKAGES = (
    "apache-superset[databricks,hive]==6.1.0",
    "flask-caching==2.3.1",  # which its own lock file has; newer ones do not go with it
    *("cachetools", "pure-sasl", "thrift-sasl"),
)
PATH = "/sql/1.0/warehouses/any"
TABLES = ["customers", "order_items", "orders", "products", "stock"]


def superset_report(server: RealServer, folder: Path, name: str) -> Any:
    """Returns Superset's output for the sample lake."""
    python = client_environment("superset", *PACKAGES) / "python"
    if name == "hive":
        uri = f"hive://ada@127.0.0.1:{server.thrift_port}/default"
        settings = {"gateway.show_tables.hive_shape": "true", "spark.sql.legacy.timeParserPolicy": "LEGACY"}
        arguments: dict[str, Any] = {"configuration": settings}
    else:
        uri = (
            f"databricks://token:any@127.0.0.1:{server.http_port}?http_path={PATH}&catalog=spark_catalog&schema=default"
        )
        connection_uri = f"http://127.0.0.1:{server.http_port}{PATH}"
        arguments = {"http_path": PATH, "enable_telemetry": False, "_connection_uri": connection_uri}
    extra = json.dumps({"engine_params": {"connect_args": arguments}})
    command: list[str | Path] = [python, SCRIPT, folder, name, uri, extra]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("name", ["hive", "databricks"])
def test_superset_works_end_to_end(server: RealServer, tmp_path: Path, name: str) -> None:
    found = superset_report(server, tmp_path, name)
    assert {"default", "shop"} <= set(found["schemas"])
    assert (found["tables"], found["views"], found["key"], found["foreign keys"]) == (TABLES, [], [], [])
    assert [column for column, _ in found["columns"]] == ["product_id", "warehouse", "quantity"]
    assert found["has table"] == [True, False] and found["preview"] == 5
    assert set(found["grains"].values()) == {2} and len(found["grains"]) > 8
    assert json.loads(found["rows"])["order_id"] == {"0": 1, "1": 2}
    (counted, rows), (failed, error), (made, _), (dropped, _) = found["lab"]
    assert (counted, rows, made, dropped) == ("success", [{"n": 4}], "success", "success")
    assert failed == "failed" and "UNRESOLVED_COLUMN" in error
    if name == "hive":
        assert found["functions"] and found["metadata"]["partitions"]["latest"].keys() == {"order_date"}
        assert found["stopped"][0] == "stopped"
