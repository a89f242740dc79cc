"""dbt end to end: a project with every kind of node, built twice, its documentation, and read-only commands.

dbt-spark connects by Thrift and by HTTP, dbt-databricks as to a warehouse; each builds into a separate schema.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.clients.environments import client_environment
from tests.clients.fix_server import RealServer
from tests.paths import ROOT

pytestmark = [pytest.mark.clients, pytest.mark.slow, pytest.mark.timeout(1800)]

PROJECT = ROOT / "tests" / "clients" / "dbt_project"
SPARK = ("dbt-thrift", "dbt-core>=1.11,<1.12", "dbt-spark[PyHive]>=1.11,<1.12")
# By profile target: the environment and its packages.
PACKAGES = {
    "thrift": SPARK,
    "http": SPARK,
    "databricks": ("dbt-databricks", "dbt-core>=1.11,<1.12", "dbt-databricks==1.10.9"),
}
RUN_S = 600


class Dbt:
    """The project in a separate folder, against one server."""

    def __init__(self, folder: Path, server: RealServer, target: str) -> None:
        self.folder, self.server, self.target = folder, server, target
        self.schema = f"dbt_{target}"
        shutil.copytree(PROJECT, folder)
        self._dbt = client_environment(*PACKAGES[target]) / "dbt"
        port = server.thrift_port if target == "thrift" else server.http_port
        self._environment = os.environ | {
            "GATEWAY_TEST_PORT": str(port),
            "DBT_PROFILES_DIR": str(folder),
            "SSL_CERT_FILE": str(server.certificate.certificate),
        }

    def run(self, *arguments: str, succeeds: bool = True) -> str:
        """Returns a command's output."""
        done = subprocess.run(
            [self._dbt, *arguments, "--target", self.target],
            cwd=self.folder,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=RUN_S,
        )
        assert (done.returncode == 0) == succeeds, done.stdout + done.stderr
        return done.stdout

    def build(self) -> None:
        """Every node and every test."""
        self.run("build")
        results = json.loads((self.folder / "target" / "run_results.json").read_text())["results"]
        assert {result["status"] for result in results} == {"success", "pass"}, results

    def rows(self, text: str) -> list[list[Any]]:
        """Returns the server's rows; `{s}` is the schema."""
        return [list(row) for row in self.server.http().rows(text.format(s=self.schema))]


@pytest.fixture(scope="module", params=PACKAGES)
def dbt(request: pytest.FixtureRequest, server: RealServer, tmp_path_factory: pytest.TempPathFactory) -> Dbt:
    return Dbt(tmp_path_factory.mktemp("dbt") / "project", server, request.param)


def test_a_project_is_built_twice(dbt: Dbt) -> None:
    assert "All checks passed" in dbt.run("debug")
    dbt.build()
    assert dbt.rows("SELECT count(*) FROM {s}.merged") == [["4"]]
    seed = dbt.folder / "seeds" / "raw_orders.csv"
    seed.write_text(seed.read_text().replace("3,ann,,", "3,ann,9.99,") + "5,eve,1.00,2024-01-02,true\n")
    dbt.build()
    assert dbt.rows("SELECT id, amount, seen_again FROM {s}.merged ORDER BY id") == [
        ["1", "10.5", None],
        ["2", "20.0", None],
        ["3", "9.99", "true"],
        ["4", "7.25", "true"],
        ["5", "1.0", "true"],
    ]
    assert dbt.rows("SELECT count(*) FROM {s}.appended") == [["6"]]
    # dbt-databricks replaces all partitions on a warehouse; dbt-spark sets the session's mode.
    others = [] if dbt.target == "databricks" else [["2024-01-01", "1"], ["2024-01-03", "1"]]
    assert dbt.rows("SELECT day, count(*) FROM {s}.overwritten GROUP BY day ORDER BY day") == sorted(
        [["2024-01-02", "3"], *others]
    )
    history = "SELECT id, amount, dbt_valid_to IS NULL FROM {s}.order_history WHERE id IN (3, 5) ORDER BY ALL"
    assert dbt.rows(history) == [["3", None, "false"], ["3", "9.99", "true"], ["5", "1.0", "true"]]
    assert ["customer", "string", "The customer's name."] in dbt.rows("DESCRIBE {s}.customers")
    if dbt.target == "databricks":
        assert dbt.rows("SELECT id, day FROM {s}.replaced ORDER BY id") == [
            ["1", "2024-01-01"],
            ["2", "2024-01-02"],
            ["3", "2024-01-02"],
            ["4", "2024-01-03"],
            ["5", "2024-01-02"],
        ]
        [key] = dbt.rows("SHOW KEYS IN CATALOG spark_catalog IN SCHEMA {s} IN TABLE keyed")
        assert "id" in key


def test_documentation_is_made(dbt: Dbt) -> None:
    dbt.run("docs", "generate")
    nodes = json.loads((dbt.folder / "target" / "catalog.json").read_text())["nodes"]
    assert list(nodes["model.shop.customers"]["columns"]) == ["customer", "orders", "total"]


def test_commands_that_only_look(dbt: Dbt) -> None:
    assert "5" in dbt.run("show", "--inline", "select count(*) as found from {{ ref('raw_orders') }}")
    dbt.run("source", "freshness")
    assert "model.shop.customers" in dbt.run("list", "--resource-type", "model", "--output", "json")


def test_a_model_that_fails_says_why(dbt: Dbt) -> None:
    (dbt.folder / "models" / "failing.sql").write_text("select nope from {{ ref('raw_orders') }}")
    assert "UNRESOLVED_COLUMN" in dbt.run("run", "--select", "failing", succeeds=False)
    (dbt.folder / "models" / "failing.sql").unlink()


def test_grants_are_given_and_taken(dbt: Dbt) -> None:
    model = dbt.folder / "models" / "granted.sql"
    config = "{{{{ config(materialized='table', grants={{'select': ['{0}']}}) }}}} select 1 as one"
    for name in ("ann", "ben"):
        model.write_text(config.format(name))
        dbt.run("run", "--select", "granted")
        grants = dbt.rows("SHOW GRANTS ON TABLE {s}.granted")
        assert [row[:2] for row in grants if row[0] in ("ann", "ben")] == [[name, "SELECT"]], grants
    model.unlink()
