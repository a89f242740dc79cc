"""databricks-sql-connector over the statement API: with its kernel, and its older backend; it lists metadata by SQL."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from engine.main import EngineOptions, LakeEngine, open_sources
from tests.clients.conftest import Served
from tests.clients.environments import client_environment
from tests.gateway.arrow_engine import rows
from tests.gateway.http.conftest import serving_http
from tests.paths import ROOT

pytestmark = [pytest.mark.clients, pytest.mark.slow, pytest.mark.timeout(900)]

PACKAGES = ("databricks-sql-connector==4.9.0", "databricks-sql-kernel==1.3.0")


class NoSpark:
    """Replaces Spark's driver and its sessions, which these calls do not need."""

    unready_reason = None

    def open_session(self) -> NoSpark:
        return self

    def set_current_schema(self, catalog: str, schema: str) -> None: ...

    def set_setting(self, key: str, value: str | None) -> None: ...

    def close(self) -> None: ...


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    sources = open_sources(EngineOptions(lake_folder=str(tmp_path)))
    with serving_http(over=LakeEngine(sources, NoSpark())) as live:  # type: ignore[arg-type]
        yield live.port


def run_script(script: str, port: int, backend: str) -> Any:
    """Returns a script's last output in the connector's environment."""
    python = client_environment("kernel", *PACKAGES) / "python"
    file = ROOT / "tests" / "clients" / script
    done = subprocess.run([python, file, str(port), backend], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def listed(port: int, backend: str) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = run_script("kernel_metadata.py", port, backend)
    return found


def test_the_kernel_lists_objects_and_takes_results_without_rows(port: int) -> None:
    found = listed(port, "use_kernel")
    assert found["catalogs"] == [{"TABLE_CAT": "spark_catalog"}]
    assert found["schemas"] == [{"TABLE_SCHEM": "meta", "TABLE_CATALOG": "spark_catalog"}]
    assert [(row["TABLE_NAME"], row["TABLE_TYPE"], row["REMARKS"]) for row in found["tables"]] == [
        ("items", "TABLE", "What is sold"),
        ("orders", "TABLE", ""),
    ]
    columns = ("COLUMN_NAME", "DATA_TYPE", "COLUMN_SIZE", "NULLABLE", "REMARKS")
    assert [tuple(row[key] for key in columns) for row in found["columns"]] == [
        ("id", -5, 19, 0, ""),
        ("price", 3, 9, 1, "net"),
    ]
    assert found["no tables"] == found["no rows"] == found["no columns"] == []


def test_the_older_backend_lists_objects(port: int) -> None:
    found = listed(port, "use_sea")
    assert found["catalogs"] == [{"catalog": "spark_catalog"}] and found["schemas"] == [{"databaseName": "meta"}]
    assert [(row["tableName"], row["remarks"]) for row in found["tables"]] == [
        ("items", "What is sold"),
        ("orders", ""),
    ]
    assert [(row["col_name"], row["columnType"]) for row in found["columns"]] == [
        ("id", "BIGINT"),
        ("price", "DECIMAL(9,2)"),
    ]
    assert found["no tables"] == found["no rows"] == found["no columns"] == []


@pytest.mark.parametrize("backend", ["use_kernel", "use_sea"])
def test_rows_parameters_errors_limits_and_reconnecting(served: Served, backend: str) -> None:
    served.engine.answers["SELECT :a"] = rows(pa.table({"x": [5]}))
    found = run_script("kernel_rows.py", served.http_port, backend)
    values, nulls = found["types"]
    assert values[:5] == ["True", "-128", "-32768", "2147483647", "-9223372036854775808"]
    assert (values[7], values[8], values[10]) == ("-1.50", 'é "q" 日本', "2024-02-29")
    assert nulls == ["None"] * len(values)
    assert found["many"] == [1_000_000, 499_999_500_000]
    assert found["parameter"] == ["5"] and found["again"] == ["1"] and found["another connection"] == ["1"]
    assert "PARSE_SYNTAX_ERROR.TEST" in found["error"]
    assert found["limited"] == 7
    assert found["cancel"] == "Invalid result format" if backend == "use_sea" else "cancel" in found["cancel"].lower()
    assert "STATEMENT_TIMEOUT" in found["timeout"] and found["after it"] == ["1"]
    assert all(run.context.cancel.reason for run in served.engine.runs if run.text == "SLEEP 300")
    [run, *_] = [run for run in served.engine.runs if run.text == "SELECT :a"]
    assert [(parameter.name, parameter.value) for parameter in run.parameters] == [("a", "5")]
    served.engine.runs.remove(run)
