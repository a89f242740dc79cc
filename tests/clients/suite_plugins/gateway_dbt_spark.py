"""Leads PyHive to the server at GATEWAY_PORT, also for the profile `databricks_cluster`, whose tests use Delta."""

import importlib
import os
from typing import Any

from pyhive import hive

_FIXTURES = "tests.functional.fixtures"
_connect = hive.connect


def _connect_to_gateway(**settings: Any) -> Any:
    return _connect(**settings | {"host": "127.0.0.1", "port": int(os.environ["GATEWAY_PORT"])})


hive.connect = _connect_to_gateway


def pytest_collection() -> None:
    profiles = importlib.import_module(f"{_FIXTURES}.profiles")
    profiles.databricks_cluster_target = profiles.apache_spark_target
    importlib.import_module(f"{_FIXTURES}.start_databricks_cluster")._wait_for_databricks_cluster = lambda: None
