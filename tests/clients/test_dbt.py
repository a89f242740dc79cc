"""dbt end to end, dbt-spark and dbt-databricks: a project of every kind of node, built twice, and its documentation."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.clients.environments import client_environment
from tests.clients.fix_server import RealServer
from tests.paths import ROOT

pytestmark = [pytest.mark.clients, pytest.mark.slow, pytest.mark.timeout(1800)]

PROJECT = ROOT / "tests" / "clients" / "dbt_project"
PACKAGES = {
    "thrift": ("dbt-core>=1.11,<1.12", "dbt-spark[PyHive]>=1.11,<1.12"),
    "databricks": ("dbt-core>=1.11,<1.12", "dbt-databricks==1.10.9"),
}
"""What each target of the project's profile needs."""
RUN_S = 600


class Dbt:
    """The project in a folder of its own, against one server."""

    def __init__(self, folder: Path, port: int, target: str = "thrift") -> None:
        self.folder = folder
        shutil.copytree(PROJECT, folder)
        self._dbt = client_environment(f"dbt-{target}", *PACKAGES[target]) / "dbt"
        self._target = target
        self._environment = os.environ | {"GATEWAY_TEST_PORT": str(port), "DBT_PROFILES_DIR": str(folder)}

    def run(self, *arguments: str, succeeds: bool = True) -> str:
        """The output of a command."""
        done = subprocess.run(
            [self._dbt, *arguments, "--target", self._target],
            cwd=self.folder,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=RUN_S,
        )
        assert (done.returncode == 0) == succeeds, done.stdout + done.stderr
        return done.stdout

    def statuses(self) -> dict[str, str]:
        """How each node of the last command ended."""
        results = json.loads((self.folder / "target" / "run_results.json").read_text())["results"]
        return {result["unique_id"].split(".", 2)[2]: result["status"] for result in results}


@pytest.fixture(scope="module")
def dbt(server: RealServer, tmp_path_factory: pytest.TempPathFactory) -> Dbt:
    return Dbt(tmp_path_factory.mktemp("dbt") / "project", server.thrift_port)


def rows(server: RealServer, text: str) -> list[list[Any]]:
    found: Sequence[Sequence[Any]] = server.http().rows(text)
    return [list(row) for row in found]


def test_a_project_is_built_twice(dbt: Dbt, server: RealServer) -> None:
    dbt.run("build")
    assert set(dbt.statuses().values()) == {"success", "pass"}, dbt.statuses()
    assert rows(server, "SELECT count(*) FROM dbt_shop.merged") == [["4"]]
    seed = dbt.folder / "seeds" / "raw_orders.csv"
    seed.write_text(seed.read_text().replace("3,ann,,", "3,ann,9.99,") + "5,eve,1.00,2024-01-02,true\n")
    dbt.run("build")
    assert set(dbt.statuses().values()) == {"success", "pass"}, dbt.statuses()
    assert rows(server, "SELECT id, amount, seen_again FROM dbt_shop.merged ORDER BY id") == [
        ["1", "10.5", None],
        ["2", "20.0", None],
        ["3", "9.99", "true"],
        ["4", "7.25", "true"],
        ["5", "1.0", "true"],
    ]
    assert rows(server, "SELECT count(*) FROM dbt_shop.appended") == [["6"]]
    assert rows(server, "SELECT day, count(*) FROM dbt_shop.overwritten GROUP BY day ORDER BY day") == [
        ["2024-01-01", "1"],
        ["2024-01-02", "3"],
        ["2024-01-03", "1"],
    ]
    history = "SELECT id, amount, dbt_valid_to IS NULL FROM dbt_shop.order_history WHERE id IN (3, 5) ORDER BY ALL"
    assert rows(server, history) == [["3", None, "false"], ["3", "9.99", "true"], ["5", "1.0", "true"]]
    assert ["customer", "string", "The customer's name."] in rows(server, "DESCRIBE dbt_shop.customers")


def test_a_project_is_built_twice_by_databricks_adapter(server: RealServer, tmp_path: Path) -> None:
    dbt = Dbt(tmp_path / "project", server.http_port, "databricks")
    for _ in range(2):
        dbt.run("build")
        assert set(dbt.statuses().values()) == {"success", "pass"}, dbt.statuses()
    assert rows(server, "SELECT count(*) FROM dbt_databricks.merged") == [["4"]]
    assert rows(server, "SELECT count(*) FROM dbt_databricks.order_history") == [["4"]]


def test_documentation_is_made(dbt: Dbt) -> None:
    dbt.run("docs", "generate")
    nodes = json.loads((dbt.folder / "target" / "catalog.json").read_text())["nodes"]
    assert list(nodes["model.shop.customers"]["columns"]) == ["customer", "orders", "total"]


def test_grants_are_refused_by_name(dbt: Dbt) -> None:
    """There are none to give; a project that asks for some is told so."""
    (dbt.folder / "models" / "granted.sql").write_text(
        "{{ config(materialized='table', grants={'select': ['ann']}) }} select 1 as one"
    )
    assert "UNSUPPORTED_STATEMENT" in dbt.run("run", "--select", "granted", succeeds=False)
